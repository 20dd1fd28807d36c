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
/// Rounds to so many decimals (-1: to tens), halves to even.
Array round(const Operand& x, int64_t decimals = 0);
/// Rounds toward zero.
Array fix(const Operand& x);
/// Returns x.
Array positive(const Operand& x);
/// Returns the remainder of truncated division, with the sign of x.
Array fmod(const Operand& x, const Operand& y);
/// Returns x to the y, integers as f32.
Array float_power(const Operand& x, const Operand& y);
/// Returns floor_divide(x, y) and mod(x, y); of an infinite x both are NaN.
std::pair<Array, Array> divmod(const Operand& x, const Operand& y);
/// Returns the fractional part (of infinity: NaN) and the integral part.
std::pair<Array, Array> modf(const Operand& x);
/// Returns x * 2^exponent, right also where 2^exponent alone is out of range.
Array ldexp(const Operand& x, const Operand& exponent);
/// Returns the larger of the two; where one is NaN, the other.
Array fmax(const Operand& x, const Operand& y);
/// Returns the smaller of the two; where one is NaN, the other.
Array fmin(const Operand& x, const Operand& y);
/// Returns 0 where x is below 0, 1 above, `at_zero` at 0, NaN where x is.
Array heaviside(const Operand& x, const Operand& at_zero);
/// Returns sin(pi x) / (pi x), 1 at 0.
Array sinc(const Operand& x);
/// Converts degrees to radians.
Array deg2rad(const Operand& x);
/// Converts radians to degrees.
Array rad2deg(const Operand& x);
/// Returns log2(2^x + 2^y) without overflow.
Array logaddexp2(const Operand& x, const Operand& y);
/// Returns whether just one of the two is true (not 0), as bool.
Array logical_xor(const Operand& x, const Operand& y);
/// Returns the greatest common divisor of integers (DTypeError for others), not negative; of 0 and 0 it is 0.
Array gcd(const Operand& x, const Operand& y);
/// Returns the least common multiple of integers (DTypeError for others), not negative; 0 where one is 0.
Array lcm(const Operand& x, const Operand& y);
/// Returns the fraction, in [0.5, 1) by its magnitude, and the exponent (i32) with x = fraction * 2^exponent; of 0,
/// infinity and NaN x itself and 0.
std::pair<Array, Array> frexp(const Operand& x);
/// Returns whether x is positive infinity.
Array isposinf(const Operand& x);
/// Returns whether x is negative infinity.
Array isneginf(const Operand& x);
/// Replaces NaN by `nan`, and infinities by the largest finite values unless given.
Array nan_to_num(const Operand& x, double nan = 0, std::optional<double> posinf = {},
                 std::optional<double> neginf = {});
/// Returns whether |x - y| <= atol + rtol * |y|, or both are the same infinity.
Array isclose(const Operand& x, const Operand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Returns whether isclose() is true everywhere, a bool scalar.
Array allclose(const Operand& x, const Operand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Returns whether shapes and all elements are equal, a bool scalar.
Array array_equal(const Operand& x, const Operand& y);

// --- special functions
/// Returns log(x / (1 - x)), the inverse of sigmoid, for x in [0, 1]; NaN outside.
Array logit(const Operand& x);
/// Returns sigmoid(x), by SciPy's name.
Array expit(const Operand& x);
/// Returns x * log(y), 0 where x is 0.
Array xlogy(const Operand& x, const Operand& y);
/// Returns x * log(1 + y), 0 where x is 0.
Array xlog1py(const Operand& x, const Operand& y);
/// Returns -x * log(x), 0 at 0; below 0: -inf.
Array entr(const Operand& x);
/// Returns x * log(x / y), 0 where x is 0 and y is not negative; infinite where x or y is out of range.
Array rel_entr(const Operand& x, const Operand& y);
/// Returns x * log(x / y) - x + y, y where x is 0; infinite where x or y is out of range.
Array kl_div(const Operand& x, const Operand& y);
/// Returns the logarithm of the beta function, gamma(x) gamma(y) / gamma(x + y).
Array betaln(const Operand& x, const Operand& y);
/// Returns the standard normal distribution's cumulative function.
Array ndtr(const Operand& x);

// --- activations
/// Returns x where it is not negative, else slope * x.
Array leaky_relu(const Operand& x, const Operand& slope = 0.01f);
/// Returns x where it is positive, else alpha * (exp(x) - 1).
Array elu(const Operand& x, const Operand& alpha = 1.0f);
/// Returns max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).
Array celu(const Operand& x, const Operand& alpha = 1.0f);
/// Returns 1.0507 elu(x, 1.6733), with the constants of self-normalizing networks.
Array selu(const Operand& x);
/// Returns x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which approximates gelu(x).
Array gelu_tanh(const Operand& x);
/// Returns min(max(x, 0), 6); the derivative is 0 at both bends.
Array relu6(const Operand& x);
/// Returns x cut to [-1, 1].
Array hard_tanh(const Operand& x);
/// Returns relu6(x + 3) / 6.
Array hard_sigmoid(const Operand& x);
/// Returns x * hard_sigmoid(x).
Array hard_silu(const Operand& x);
/// Returns log(sigmoid(x)) without overflow.
Array log_sigmoid(const Operand& x);
/// Returns x / (1 + |x|).
Array soft_sign(const Operand& x);
/// Returns (x + sqrt(x^2 + b)) / 2.
Array squareplus(const Operand& x, const Operand& b = 4.0f);
/// Returns x * tanh(softplus(x)).
Array mish(const Operand& x);
/// Returns the first half of x along an axis times sigmoid of the second; the extent is even (ShapeError).
Array glu(const Operand& x, int64_t axis = -1);
/// Computes (x - mean) / sqrt(var + epsilon) over the axes.
Array standardize(const Operand& x, const Axes& axes = -1, double epsilon = 1e-5);

// --- making
/// Returns an array of the shape of x whose elements all equal `value`; its dtype is that of x unless given.
Array full_like(const Operand& x, const Operand& value, std::optional<DType> dtype = {});
/// Returns a matrix [n, m] with ones up to diagonal k and zeros above it; m is n unless given.
Array tri(int64_t n, std::optional<int64_t> m = {}, int64_t k = 0, DType dtype = f32,
          std::source_location loc = std::source_location::current());
/// Returns `count` numbers base^e, e evenly spaced from start to stop, both included.
Array logspace(const Operand& start, const Operand& stop, int64_t count, double base = 10, DType dtype = f32);
/// Returns `count` numbers from start to stop, both included, each the same multiple of the one before.
Array geomspace(const Operand& start, const Operand& stop, int64_t count, DType dtype = f32);
/// Returns powers of x [n] as columns: [n, columns], the highest first unless increasing.
Array vander(const Operand& x, std::optional<int64_t> columns = {}, bool increasing = false);
/// Returns one array for each axis, all of the grid's shape. matrix: the first axis is the first array's; else the
/// second.
std::vector<Array> meshgrid(const std::vector<Array>& axes, bool matrix = false,
                            std::source_location loc = std::source_location::current());
/// Returns each element's index in an array of `shape`: [axes of shape, shape...].
Array indices(const Shape& shape, DType dtype = i32, std::source_location loc = std::source_location::current());

/// Returns a window of n numbers that rises from 0 to 1 and falls again, along straight lines. Of one number it is 1.
Array bartlett(int64_t n, DType dtype = f32, std::source_location loc = std::source_location::current());
/// Returns Hann's window, (1 - cos(2 pi i / (n - 1))) / 2.
Array hanning(int64_t n, DType dtype = f32, std::source_location loc = std::source_location::current());
/// Returns Hamming's window, 0.54 - 0.46 cos(2 pi i / (n - 1)).
Array hamming(int64_t n, DType dtype = f32, std::source_location loc = std::source_location::current());
/// Returns Blackman's window, 0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi i / (n - 1)).
Array blackman(int64_t n, DType dtype = f32, std::source_location loc = std::source_location::current());
/// Returns the rows and the columns of the elements of a matrix [n, m] up to diagonal k, row-major; m is n unless
/// given.
std::pair<Array, Array> tril_indices(int64_t n, int64_t k = 0, std::optional<int64_t> m = {},
                                     std::source_location loc = std::source_location::current());
/// Returns those of the elements from diagonal k on.
std::pair<Array, Array> triu_indices(int64_t n, int64_t k = 0, std::optional<int64_t> m = {},
                                     std::source_location loc = std::source_location::current());

// --- shape
/// Moves elements on by `shift` along an axis, round its end; in the flat array unless an axis is given.
Array roll(const Operand& x, int64_t shift, std::optional<int64_t> axis = {});
/// Turns the plane of two axes by 90 degrees, `times` times, from the first axis towards the second.
Array rot90(const Operand& x, int64_t times = 1, std::pair<int64_t, int64_t> axes = {0, 1});
/// Turns round the order of the columns, axis 1; x has two axes or more (ShapeError).
Array fliplr(const Operand& x);
/// Turns round the order of the rows, axis 0; x has one axis or more (ShapeError).
Array flipud(const Operand& x);
/// Returns x; a scalar as [1].
Array atleast_1d(const Operand& x);
/// Returns x; a scalar as [1, 1], a vector [n] as [1, n].
Array atleast_2d(const Operand& x);
/// Returns x; a scalar as [1, 1, 1], a vector [n] as [1, n, 1], a matrix [m, n] as [m, n, 1].
Array atleast_3d(const Operand& x);
/// Joins arrays along axis 1, vectors along axis 0.
Array hstack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
/// Joins arrays along axis 0, vectors as rows.
Array vstack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
/// Joins what atleast_3d() makes of the arrays along axis 2.
Array dstack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
/// Joins arrays along axis 1, vectors as columns.
Array column_stack(const std::vector<Array>& arrays, std::source_location loc = std::source_location::current());
/// Joins y to x along an axis; the flat arrays unless it is given.
Array append(const Operand& x, const Operand& y, std::optional<int64_t> axis = {});
/// Returns the arrays in the shape that all of them broadcast to; ShapeError where there is none.
std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays,
                                    std::source_location loc = std::source_location::current());
/// Splits into nearly equal parts, at most 2^20.
std::vector<Array> array_split(const Operand& x, int64_t parts, int64_t axis = 0);
/// Cuts x along an axis before each of these positions, in one part more than there are; negative ones count from the
/// end.
std::vector<Array> split_at(const Operand& x, const Shape& positions, int64_t axis = 0);
/// Repeats each slice along an axis `times` times; each element of the flat array unless an axis is given.
Array repeat(const Operand& x, int64_t times, std::optional<int64_t> axis = {});
/// Repeats slice i of the axis counts[i] times, `total` slices in all: what is beyond is cut, the last one fills what
/// is left (there must be one).
Array repeat(const Operand& x, const Array& counts, int64_t total, int64_t axis = 0);
/// PadMode says what an array goes on with beyond its ends.
enum class PadMode {
  edge,       // a a | a b c | c c
  reflect,    // c b | a b c | b a
  symmetric,  // b a | a b c | c b
  wrap,       // b c | a b c | a b
};
/// Pads by {before, after} for each axis.
Array pad(const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& widths, PadMode mode);
/// Returns x with zeros above diagonal k of the last two axes.
Array tril(const Operand& x, int64_t k = 0);
/// Returns x with zeros below diagonal k of the last two axes.
Array triu(const Operand& x, int64_t k = 0);
/// Takes a diagonal of two axes, `offset` above the main one; it becomes the last axis.
Array diagonal(const Operand& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// Adds up the diagonal that diagonal() takes; dtypes as in sum(). (Of a function, neap/trace.h: its graph.)
Array trace(const Operand& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// Returns the matrix with a vector on diagonal k, or of a matrix its diagonal k.
Array diag(const Operand& x, int64_t k = 0);
/// Returns x with slices of `values` along an axis (in the flat array unless given) before each of these places of x;
/// negative ones count from the end. Values broadcast to what is inserted; before one place there may be several.
Array insert(const Operand& x, const Shape& places, const Operand& values, std::optional<int64_t> axis = {});
/// Returns x without the slices at these places along an axis, of the flat array unless given (NumPy's delete).
Array delete_(const Operand& x, const Shape& places, std::optional<int64_t> axis = {});
/// Returns x with x[..., index[..., j, ...], ...] along axis replaced by values[..., j, ...]; of equal places the last
/// wins, those out of range are dropped. Other extents are those of x, or 1.
Array put_along_axis(const Operand& x, const Operand& index, const Operand& values, int64_t axis);
/// Takes each element from the first choice whose condition is true, `otherwise` where none is (numpy.select). All
/// broadcast, and choices promote. There are as many conditions as choices, one or more (ShapeError).
Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices, const Operand& otherwise = 0,
             std::source_location loc = std::source_location::current());
/// Returns each 8 elements along an axis, of the flat array unless given, as the bits of a u8 (1 where not 0), the
/// first one highest unless `little`; zeros fill the last.
Array packbits(const Operand& x, std::optional<int64_t> axis = {}, bool little = false);
/// Returns the bits of u8 elements along an axis, as u8: `count` of them, cut or filled with zeros, all unless given.
Array unpackbits(const Operand& x, std::optional<int64_t> axis = {}, std::optional<int64_t> count = {},
                 bool little = false);
/// Subtracts each element from the next in the flat array.
Array ediff1d(const Operand& x);
/// Adds multiples of the period so that neighbours along an axis differ by half a period at most; smaller steps than
/// `discont`, half a period unless given, stay.
Array unwrap(const Operand& x, std::optional<double> discont = {}, int64_t axis = -1,
             double period = 6.283185307179586);
/// Subtracts each element along an axis from the next, `times` times over; the axis is shorter by `times`.
Array diff(const Operand& x, int64_t times = 1, int64_t axis = -1);
/// Takes central differences in the middle, one-sided ones at the ends.
Array gradient(const Operand& x, double spacing = 1, int64_t axis = -1);

// --- reductions
/// Counts the elements that are not zero, as i32; as i64 where there are 2^31 elements or more to count.
Array count_nonzero(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns max(x) - min(x), in the dtype of x.
Array ptp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns sum() of the elements that are not NaN.
Array nansum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns prod() of the elements that are not NaN.
Array nanprod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns max() of the elements that are not NaN; NaN where all are.
Array nanmax(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns min() of the elements that are not NaN; NaN where all are.
Array nanmin(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns mean() of the elements that are not NaN; NaN where all are.
Array nanmean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns var() of the elements that are not NaN; NaN where all are.
Array nanvar(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns std() of the elements that are not NaN; NaN where all are.
Array nanstd(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns argmax() of the elements that are not NaN; -1 where all are.
Array nanargmax(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Returns argmin() of the elements that are not NaN; -1 where all are.
Array nanargmin(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Returns sum(x * weights) / sum(weights) along an axis, or of all. weights have the shape of x, or of that axis
/// (ShapeError).
Array average(const Operand& x, const Array& weights, std::optional<int64_t> axis = {});
/// Interpolates linearly between sorted elements; q [..] is in 0 to 1. The result has q's shape, then what is left of
/// x's. It is NaN where any element is. axis is one axis, or all.
Array quantile(const Operand& x, const Operand& q, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Returns quantile(x, q / 100).
Array percentile(const Operand& x, const Operand& q, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Returns quantile(x, 0.5).
Array median(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Returns covariances. Variables are rows, observations columns: x [v, n] -> [v, v].
Array cov(const Operand& x);
/// Returns correlation coefficients, from -1 to 1, of what cov() takes.
Array corrcoef(const Operand& x);
/// Integrates along an axis by the trapezoidal rule, `spacing` between neighbours.
Array trapezoid(const Operand& y, double spacing = 1, int64_t axis = -1);

// --- running results along an axis (of the flat array unless given): the same shape
/// Adds up from the first element to each (reverse: from each to the last); dtypes as in sum().
Array cumsum(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
/// Multiplies from the first element to each; dtypes as in sum().
Array cumprod(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
/// Returns cumsum() with NaN as 0.
Array nancumsum(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
/// Returns cumprod() with NaN as 1.
Array nancumprod(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
/// Returns the largest element so far, NaN from the first NaN on.
Array cummax(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
/// Returns the smallest element so far, NaN from the first NaN on.
Array cummin(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);
/// Returns logsumexp() of the elements so far.
Array cumlogsumexp(const Operand& x, std::optional<int64_t> axis = {}, bool reverse = false);

// --- searching
/// Returns where each v would go into a sorted x [n]: before equal elements, or after them where `right`. It is i32;
/// i64 where n is 2^31 or more.
Array searchsorted(const Operand& x, const Operand& v, bool right = false);
/// Returns the number of the bin in which each element lies (i32), 0 before the first edge; bins rise or fall. right:
/// bins hold their right edges.
Array digitize(const Operand& x, const Operand& bins, bool right = false);
/// Counts how often 0, 1, ..., length - 1 occur, or sums their weights; negative numbers count as 0, larger ones do
/// not. Without weights it is i32; i64 for 2^31 numbers or more.
Array bincount(const Operand& x, int64_t length);
Array bincount(const Operand& x, const Array& weights, int64_t length);
/// Returns counts and the bins + 1 edges between low and high; f32, of an f64 x f64.
std::pair<Array, Array> histogram(const Operand& x, int64_t bins, double low, double high);
/// Returns the bins + 1 edges of bins between the smallest and the largest element (0.5 around them where all are
/// equal).
Array histogram_bin_edges(const Operand& x, int64_t bins = 10);
/// Returns the `size` smallest distinct elements, sorted; the smallest again where there are fewer, unless `fill` is
/// given.
Array unique(const Operand& x, int64_t size, std::optional<double> fill = {});
/// Returns one array [size] for each axis: where x is not zero, row-major; `fill` where there are fewer. It is i32; i64
/// where x or `size` has 2^31 elements or more.
std::vector<Array> nonzero(const Operand& x, int64_t size, int64_t fill = 0);
/// Returns the k largest along the last axis, largest first, and their indices (i32).
std::pair<Array, Array> top_k(const Operand& x, int64_t k);
/// Returns the rows [size, axes of x] of indices where x is not zero, row-major; `fill` where there are fewer. dtypes
/// as nonzero()'s.
Array argwhere(const Operand& x, int64_t size, int64_t fill = 0);
/// Returns the indices (i32) that sort by several keys along an axis, of one shape (ShapeError): by the last, where
/// those are equal by the last but one, and so on. It is stable.
Array lexsort(const std::vector<Array>& keys, int64_t axis = -1,
              std::source_location loc = std::source_location::current());
/// Returns the index along each axis of an array of `shape` for indices of the flat array, one array for each axis.
/// What is out of range after negative ones have counted from the end is moved to the nearest element.
std::vector<Array> unravel_index(const Operand& index, const Shape& shape);
/// IndexRange says what happens to an index outside of 0 to n - 1: it is the nearest one, or counts round and round.
enum class IndexRange { clip, wrap };
/// Inverts unravel_index(): indices along each axis of `shape`, broadcast together, give those of the flat array. JAX's
/// default, to raise an error, would have to read them.
Array ravel_multi_index(const std::vector<Array>& index, const Shape& shape, IndexRange range = IndexRange::clip,
                        std::source_location loc = std::source_location::current());
/// Interpolates linearly between the points (xp, fp), xp ascending; beyond them the outermost fp.
Array interp(const Operand& x, const Operand& xp, const Operand& fp);

// --- sets: arrays as their distinct elements, of which there are `size`, sorted; then `fill`
/// Returns whether each element of x is one of `test` (invert: is none). NaN is none.
Array isin(const Operand& x, const Operand& test, bool invert = false);
/// Returns those of x or y; `fill` is the smallest unless given, as unique()'s.
Array union1d(const Operand& x, const Operand& y, int64_t size, std::optional<double> fill = {});
/// Returns those of x and y; `fill` is the smallest of them unless given, and 0 where there are none.
Array intersect1d(const Operand& x, const Operand& y, int64_t size, std::optional<double> fill = {});
/// Returns those of x that are not in y, in the dtype of x.
Array setdiff1d(const Operand& x, const Operand& y, int64_t size, double fill = 0);

// --- products
/// Works as NumPy's: "ij,jk->ik", "...ij->...ji", "ii". The pair with the smallest result is multiplied first.
Array einsum(std::string_view formula, const std::vector<Array>& arrays,
             std::source_location loc = std::source_location::current());
/// Contracts the last `axes` axes of x with as many first ones of y.
Array tensordot(const Operand& x, const Operand& y, int64_t axes = 2);
/// Contracts axis x_axes[i] of x with axis y_axes[i] of y; the result has the other axes of x, then of y.
Array tensordot(const Operand& x, const Operand& y, const Shape& x_axes, const Shape& y_axes);
/// Contracts the last axes of x and y; the result has the other axes of x, then of y. Scalars multiply.
Array inner(const Operand& x, const Operand& y);
/// Returns dot() of the flat arrays, x conjugated: a scalar.
Array vdot(const Operand& x, const Operand& y);
/// Returns the Kronecker product: each element of x times all of y.
Array kron(const Operand& x, const Operand& y);
/// Returns cross products of the vectors of three elements along an axis (else ShapeError).
Array cross(const Operand& x, const Operand& y, int64_t axis = -1);
/// Returns the value at x of the polynomial with these coefficients [n], the highest power first.
Array polyval(const Operand& coefficients, const Operand& x);
/// Adds polynomials: of vectors of coefficients, the highest power first, as all functions of these.
Array polyadd(const Operand& x, const Operand& y);
/// Subtracts polynomials.
Array polysub(const Operand& x, const Operand& y);
/// Multiplies polynomials.
Array polymul(const Operand& x, const Operand& y);
/// Returns the derivative of a polynomial, `times` times over.
Array polyder(const Operand& coefficients, int64_t times = 1);
/// Returns an integral of a polynomial, 0 at 0, `times` times over.
Array polyint(const Operand& coefficients, int64_t times = 1);
/// Returns the polynomial [degree + 1] (of y [n, k]: [degree + 1, k]) with the least sum of squares of its differences
/// from y at x [n], each multiplied by its weight [n] before, if there are some. Powers are scaled to columns of length
/// 1; singular values below rcond * the largest count as zero; rcond is n * epsilon unless given.
Array polyfit(const Operand& x, const Operand& y, int64_t degree, std::optional<double> rcond = {},
              const std::optional<Array>& weights = {});
/// ConvolveMode says which places of two vectors, of n and m elements, count: all where they overlap (n + m - 1), as
/// many as the longer has, or those where the shorter lies within (|n - m| + 1).
enum class ConvolveMode { full, same, valid };
/// Convolves two vectors, neither of them empty (ShapeError).
Array convolve(const Operand& x, const Operand& y, ConvolveMode mode = ConvolveMode::full);
/// Correlates two vectors: convolves x with y conjugated and turned round.
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
/// there are one to three spatial axes. As in machine learning the window is not flipped. Padding counts as zeros that
/// are multiplied; zeros that an input dilation puts between elements are not. Transposes of x or of the result (images
/// with their channels last) are part of it, and move nothing. Half types are computed in f32 and rounded once.
Array conv_general(const Operand& x, const Operand& w, const Windows& windows = {});
/// Returns the largest element of each window over the last axes of x, as many as `window` has.
Array max_pool(const Operand& x, const Shape& window, const Windows& windows = {});
/// Returns the smallest element of each such window.
Array min_pool(const Operand& x, const Shape& window, const Windows& windows = {});
/// Returns the mean of each such window; padding counts, as zeros.
Array avg_pool(const Operand& x, const Shape& window, const Windows& windows = {});

}  // namespace neap

#pragma GCC visibility pop
