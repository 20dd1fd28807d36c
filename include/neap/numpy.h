// More of NumPy's and jax.nn's names, each made of the functions in ops.h: so all have derivatives, batches and plans.
//
// Broadcasting, promotion and weak scalars are those of ops.h. Half types are computed in their own precision where a
// function is elementwise, in f32 where it adds up. Where JAX has an argument of static size (`size`, `length`,
// `total`), so have these. Values are compared with JAX's: tests/golden/numpy.json.
#pragma once

#include <neap/ops.h>

#include <string_view>
#include <utility>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

// --- elementwise
Array round(const Operand& x, int64_t decimals = 0);  // halves to even
Array fix(const Operand& x);                          // toward zero
Array positive(const Operand& x);
Array fmod(const Operand& x, const Operand& y);  // the sign of x
Array float_power(const Operand& x, const Operand& y);
std::pair<Array, Array> divmod(const Operand& x, const Operand& y);  // floor_divide, mod
std::pair<Array, Array> modf(const Operand& x);          // fractional part (of infinity: NaN), integral part
Array ldexp(const Operand& x, const Operand& exponent);  // x * 2^exponent
Array fmax(const Operand& x, const Operand& y);          // where one is NaN, the other
Array fmin(const Operand& x, const Operand& y);
Array heaviside(const Operand& x, const Operand& at_zero);
Array sinc(const Operand& x);  // sin(pi x) / (pi x)
Array deg2rad(const Operand& x);
Array rad2deg(const Operand& x);
Array logaddexp2(const Operand& x, const Operand& y);
Array logical_xor(const Operand& x, const Operand& y);
Array isposinf(const Operand& x);
Array isneginf(const Operand& x);
/// Replaces NaN by `nan`, and infinities by the largest finite values unless given.
Array nan_to_num(const Operand& x, double nan = 0, std::optional<double> posinf = {},
                 std::optional<double> neginf = {});
/// Returns whether |x - y| <= atol + rtol * |y|, or both are the same infinity.
Array isclose(const Operand& x, const Operand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
Array allclose(const Operand& x, const Operand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
Array array_equal(const Operand& x, const Operand& y);  // bool[]: same shape, all elements equal

// --- special functions
Array logit(const Operand& x);
Array expit(const Operand& x);                    // sigmoid
Array xlogy(const Operand& x, const Operand& y);  // x * log(y), 0 where x is
Array xlog1py(const Operand& x, const Operand& y);
Array entr(const Operand& x);  // -x * log(x); below 0: -inf
Array rel_entr(const Operand& x, const Operand& y);
Array kl_div(const Operand& x, const Operand& y);
Array betaln(const Operand& x, const Operand& y);
Array ndtr(const Operand& x);  // the normal distribution's cumulative function

// --- activations
Array leaky_relu(const Operand& x, const Operand& slope = 0.01f);
Array elu(const Operand& x, const Operand& alpha = 1.0f);
Array celu(const Operand& x, const Operand& alpha = 1.0f);
Array selu(const Operand& x);
Array gelu_tanh(const Operand& x);  // gelu by a tanh
Array relu6(const Operand& x);
Array hard_tanh(const Operand& x);
Array hard_sigmoid(const Operand& x);
Array hard_silu(const Operand& x);
Array log_sigmoid(const Operand& x);
Array soft_sign(const Operand& x);
Array squareplus(const Operand& x, const Operand& b = 4.0f);
Array mish(const Operand& x);
Array glu(const Operand& x, int64_t axis = -1);  // first half * sigmoid(second half)
/// Computes (x - mean) / sqrt(var + epsilon) over the axes.
Array standardize(const Operand& x, const Axes& axes = -1, double epsilon = 1e-5);

// --- making
Array full_like(const Operand& x, const Operand& value, std::optional<DType> dtype = {});
Array tri(int64_t n, std::optional<int64_t> m = {}, int64_t k = 0, DType dtype = f32,
          std::source_location loc = std::source_location::current());
Array logspace(const Operand& start, const Operand& stop, int64_t count, double base = 10, DType dtype = f32);
Array geomspace(const Operand& start, const Operand& stop, int64_t count, DType dtype = f32);
/// Returns powers of x [n] as columns: [n, columns], the highest first unless increasing.
Array vander(const Operand& x, std::optional<int64_t> columns = {}, bool increasing = false);
/// Returns one array for each axis, all of the grid's shape. matrix: the first axis is the first array's; else the
/// second.
std::vector<Array> meshgrid(const std::vector<Array>& axes, bool matrix = false,
                            std::source_location loc = std::source_location::current());
Array indices(const Shape& shape, DType dtype = i32, std::source_location loc = std::source_location::current());

// --- shape
Array roll(const Operand& x, int64_t shift, std::optional<int64_t> axis = {});  // of the flat array unless axis
Array rot90(const Operand& x, int64_t times = 1, std::pair<int64_t, int64_t> axes = {0, 1});
Array fliplr(const Operand& x);
Array flipud(const Operand& x);
Array atleast_1d(const Operand& x);
Array atleast_2d(const Operand& x);
Array atleast_3d(const Operand& x);
Array hstack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
Array vstack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
Array dstack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
Array column_stack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
Array append(const Operand& x, const Operand& y, std::optional<int64_t> axis = {});
std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays,
                                    std::source_location loc = std::source_location::current());
/// Splits into nearly equal parts, at most 2^20.
std::vector<Array> array_split(const Operand& x, int64_t parts, int64_t axis = 0);
std::vector<Array> split_at(const Operand& x, const Shape& positions, int64_t axis = 0);
Array repeat(const Operand& x, int64_t times, std::optional<int64_t> axis = {});
/// Repeats slice i of the axis counts[i] times, `total` slices in all: what is beyond is cut, the last one fills what
/// is left (there must be one).
Array repeat(const Operand& x, const Array& counts, int64_t total, int64_t axis = 0);
enum class PadMode {
  edge,       // a a | a b c | c c
  reflect,    // c b | a b c | b a
  symmetric,  // b a | a b c | c b
  wrap,       // b c | a b c | a b
};
/// Pads by {before, after} for each axis.
Array pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, PadMode mode);
Array tril(const Operand& x, int64_t k = 0);  // of the last two axes
Array triu(const Operand& x, int64_t k = 0);
Array diagonal(const Operand& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);  // it becomes the last axis
Array diag(const Operand& x, int64_t k = 0);  // of a vector: the matrix; of a matrix: the vector
Array diff(const Operand& x, int64_t times = 1, int64_t axis = -1);
/// Takes central differences in the middle, one-sided ones at the ends.
Array gradient(const Operand& x, double spacing = 1, int64_t axis = -1);

// --- reductions
/// Counts the elements that are not zero, as i32; as i64 where there are 2^31 elements or more to count.
Array count_nonzero(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array ptp(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // max - min, in x's dtype
Array nansum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array nanprod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array nanmax(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // NaN where all are
Array nanmin(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array nanmean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array nanvar(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array nanstd(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array average(const Operand& x, const Array& weights, std::optional<int64_t> axis = {});
/// Interpolates linearly between sorted elements; q [..] is in 0 to 1. The result has q's shape, then what is left of
/// x's. It is NaN where any element is. axis is one axis, or all.
Array quantile(const Operand& x, const Operand& q, std::optional<int64_t> axis = {}, bool keepdims = false);
Array percentile(const Operand& x, const Operand& q, std::optional<int64_t> axis = {}, bool keepdims = false);
Array median(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Takes variables in rows, observations in columns: x [v, n] -> [v, v].
Array cov(const Operand& x);
Array corrcoef(const Operand& x);
Array trapezoid(const Operand& y, double spacing = 1, int64_t axis = -1);

// --- running results along an axis (of the flat array unless given): the same shape
Array cumsum(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
Array cumprod(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
Array cummax(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
Array cummin(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
Array cumlogsumexp(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);

// --- searching
/// Returns where each v would go into a sorted x [n]: before equal elements, or after them where `right`. It is i32;
/// i64 where n is 2^31 or more.
Array searchsorted(const Operand& x, const Operand& v, bool right = false);
Array digitize(const Operand& x, const Operand& bins, bool right = false);  // bins rise or fall
/// Counts how often 0, 1, ..., length - 1 occur, or sums their weights; negative numbers count as 0, larger ones do
/// not. Without weights it is i32; i64 for 2^31 numbers or more.
Array bincount(const Operand& x, int64_t length);
Array bincount(const Operand& x, const Array& weights, int64_t length);
/// Returns counts and the bins + 1 edges between low and high; f32, of an f64 x f64.
std::pair<Array, Array> histogram(const Operand& x, int64_t bins, double low, double high);
/// Returns the `size` smallest distinct elements, sorted; the smallest again where there are fewer, unless `fill` is
/// given.
Array unique(const Operand& x, int64_t size, std::optional<double> fill = {});
/// Returns one array [size] for each axis: where x is not zero, row-major; `fill` where there are fewer. It is i32; i64
/// where x or `size` has 2^31 elements or more.
std::vector<Array> nonzero(const Operand& x, int64_t size, int64_t fill = 0);
/// Returns the k largest along the last axis, largest first, and their indices (i32).
std::pair<Array, Array> top_k(const Operand& x, int64_t k);
Array interp(const Operand& x, const Operand& xp, const Operand& fp);  // piecewise linear, constant outside

// --- products
/// Works as NumPy's: "ij,jk->ik", "...ij->...ji", "ii". The pair with the smallest result is multiplied first.
Array einsum(std::string_view formula, const std::vector<Array>& arrays,
             std::source_location loc = std::source_location::current());
Array tensordot(const Operand& x, const Operand& y, int64_t axes = 2);
Array tensordot(const Operand& x, const Operand& y, const Shape& x_axes, const Shape& y_axes);
Array inner(const Operand& x, const Operand& y);
Array vdot(const Operand& x, const Operand& y);
Array kron(const Operand& x, const Operand& y);
Array cross(const Operand& x, const Operand& y, int64_t axis = -1);  // of three elements
Array polyval(const Operand& coefficients, const Operand& x);        // the highest power first
enum class ConvolveMode { full, same, valid };
Array convolve(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full);
Array correlate(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::valid);

/// Windows describes the windows of a convolution or a pooling; each list has one entry for each spatial axis, or is
/// empty for the default. Where a window is longer than the padded input there is none: the result is empty. A window
/// has at most 2^16 elements.
struct Windows {
  Shape stride = {};                                      // 1
  std::vector<std::pair<int64_t, int64_t>> padding = {};  // {before, after}: 0
  bool same = false;                                      // pad so that ceil(n / stride) windows fit; no `padding` then
  Shape dilation = {};                                    // of the window: 1
  Shape input_dilation = {};                              // of the input (conv_general): 1
  int64_t groups = 1;                                     // of channels (conv_general)
};
/// Convolves x [batch, channels, space...] with w [out, channels / groups, window...] -> [batch, out, windows...];
/// there are one to three spatial axes. As in machine learning the window is not flipped.
Array conv_general(const Operand& x, const Operand& w, const Windows& windows = {});
/// Pools over the last axes of x, as many as `window` has.
Array max_pool(const Operand& x, const Shape& window, const Windows& windows = {});
Array min_pool(const Operand& x, const Shape& window, const Windows& windows = {});
Array avg_pool(const Operand& x, const Shape& window, const Windows& windows = {});  // padding counts, as zeros

}  // namespace neap

#pragma GCC visibility pop
