// Functions on arrays. Elementwise functions broadcast as NumPy does and promote as JAX does; C++ scalars are weak.
#pragma once

#include <neap/array.h>

#include <string_view>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

// --- elementwise: one function for each row of the op table (see ops.def for the meaning of each).
#define NEAP_UNARY(name, ...) Array name(const Operand& x);
#define NEAP_BINARY(name, ...) Array name(const Operand& x, const Operand& y);
#define NEAP_TERNARY(name, ...) Array name(const Operand& x, const Operand& y, const Operand& z);
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY

Array operator-(const Operand& x);
Array operator~(const Operand& x);
Array operator!(const Operand& x);
Array operator+(const Operand& x, const Operand& y);
Array operator-(const Operand& x, const Operand& y);
Array operator*(const Operand& x, const Operand& y);
Array operator/(const Operand& x, const Operand& y);  // true division: integers give f32
Array operator%(const Operand& x, const Operand& y);  // mod: the sign of y
Array operator&(const Operand& x, const Operand& y);
Array operator|(const Operand& x, const Operand& y);
Array operator^(const Operand& x, const Operand& y);
Array operator&&(const Operand& x, const Operand& y);  // both sides are evaluated
Array operator||(const Operand& x, const Operand& y);
Array operator<<(const Operand& x, const Operand& y);
Array operator>>(const Operand& x, const Operand& y);
Array operator==(const Operand& x, const Operand& y);
Array operator!=(const Operand& x, const Operand& y);
Array operator<(const Operand& x, const Operand& y);
Array operator<=(const Operand& x, const Operand& y);
Array operator>(const Operand& x, const Operand& y);
Array operator>=(const Operand& x, const Operand& y);
inline Array& operator+=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) + y; }
inline Array& operator-=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) - y; }
inline Array& operator*=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) * y; }
inline Array& operator/=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) / y; }

Array where(const Operand& condition, const Operand& x, const Operand& y);  // condition: bool, or compared with 0
Array clamp(const Operand& x, const Operand& low, const Operand& high);     // min(max(x, low), high)
Array clip(const Operand& x, const Operand& low, const Operand& high);
Array floor_divide(const Operand& x, const Operand& y);  // integers: by 0 as divide
Array mod(const Operand& x, const Operand& y);           // x - floor_divide(x, y) * y
Array power(const Operand& x, const Operand& y);         // pow; an integer scalar exponent multiplies repeatedly
Array logaddexp(const Operand& x, const Operand& y);
Array relu(const Operand& x);  // derivative 0 at 0
Array softplus(const Operand& x);
Array gelu(const Operand& x);  // with erf
Array silu(const Operand& x);
Array signbit(const Operand& x);
Array logical_and(const Operand& x, const Operand& y);
Array logical_or(const Operand& x, const Operand& y);
Array logical_not(const Operand& x);

Array real(const Operand& x);                         // of a real array: itself
Array imag(const Operand& x);                         // of a real array: zeros
Array conj(const Operand& x);                         // of a real array: itself
Array complex(const Operand& re, const Operand& im);  // re + i im
Array angle(const Operand& z);                        // in (-pi, pi], radians

/// Converts to another dtype. Complex numbers become real by their real part (bool: whether they are not 0).
Array convert(const Operand& x, DType dtype);
Array bitcast(const Operand& x, DType dtype);  // to a dtype of the same width

// --- shape
Array broadcast_to(const Operand& x, const Shape& shape);
/// Operand axis i becomes axis axes[i] of `shape` (ascending).
Array broadcast_in_dim(const Operand& x, const Shape& shape, const Shape& axes);
Array reshape(const Operand& x, Shape shape);  // one extent may be -1
Array ravel(const Operand& x);
Array transpose(const Operand& x, std::optional<Shape> permutation = {});  // reversed axes unless given
Array swapaxes(const Operand& x, int64_t a, int64_t b);
Array moveaxis(const Operand& x, int64_t from, int64_t to);
Array expand_dims(const Operand& x, int64_t axis);
Array squeeze(const Operand& x, std::optional<int64_t> axis = {});
Array flip(const Operand& x, std::optional<int64_t> axis = {});
Array reverse(const Operand& x, const Shape& axes);
/// Takes the elements start + i * stride below limit, along every axis.
Array strided_slice(const Operand& x, const Shape& start, const Shape& limit, std::optional<Shape> stride = {});
/// Takes start <= i < limit along one axis; negative bounds count from the end.
Array slice_in_dim(const Operand& x, int64_t start, int64_t limit, int64_t axis);
/// Pads each axis with `value`. low and high may be negative (cut); interior: elements between neighbours.
Array pad(const Operand& x, const Shape& low, const Shape& high, const Operand& value = 0,
          std::optional<Shape> interior = {});
Array concatenate(const std::vector<Array>& arrays, int64_t axis = 0,
                  std::source_location loc = std::source_location::current());
Array stack(const std::vector<Array>& arrays, int64_t axis = 0,
            std::source_location loc = std::source_location::current());
std::vector<Array> split(const Operand& x, int64_t parts, int64_t axis = 0);  // equal parts, at most 2^20
Array tile(const Operand& x, const Shape& repeats);
/// Takes a window of `shape` starting at `start` (integers [ndim]). Negative starts count from the end; then the window
/// is moved so that it fits.
Array dynamic_slice(const Operand& x, const Operand& start, const Shape& shape);
/// Returns x with such a window, of the update's shape, replaced.
Array dynamic_update_slice(const Operand& x, const Operand& update, const Operand& start);

// --- reductions
/// Axes names the axes of a reduction: none given means all; negative count from the end.
class Axes {
 public:
  Axes() = default;
  Axes(std::integral auto axis) : axes_(Shape{static_cast<int64_t>(axis)}) {}
  Axes(std::initializer_list<int64_t> axes) : axes_(Shape(axes)) {}
  Axes(Shape axes) : axes_(std::move(axes)) {}
  Shape resolve(int64_t ndim, std::string_view op, std::source_location loc) const;

 private:
  std::optional<Shape> axes_;
};
Array sum(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // bool and small integers: i32 (u32)
Array prod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array max(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // NaN if any is; of nothing: ShapeError
Array min(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // likewise
Array any(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array all(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array reduce_xor(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // bitwise, of integers
Array mean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array var(const Operand& x, const Axes& axes = {}, bool keepdims = false);  // of the population (ddof 0)
Array std(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array logsumexp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Array argmax(const Operand& x, std::optional<int64_t> axis = {},
             bool keepdims = false);  // i32; of the flat array unless axis
Array argmin(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Array softmax(const Operand& x, int64_t axis = -1);
Array log_softmax(const Operand& x, int64_t axis = -1);

// --- sorting
struct SortOptions {
  bool descending = false;  // largest first
};
/// Sorts x along one axis: shape and dtype of x, any dtype; false < true. It is stable: elements that compare equal, as
/// -0.0 and 0.0 do, keep their order, also where descending. NaN is larger than anything: last, or first where
/// descending. IndexError where x has no such axis; UserError on a GPU for 2^31 elements and more along it. Derivatives
/// move as the elements do; among equal ones each keeps its own.
Array sort(const Operand& x, int64_t axis = -1, SortOptions options = {});
/// Returns the index (i32) along the axis of each element of sort(x, axis, options): the shape of x, at most 2^31 - 1
/// along the axis. take_along_axis(x, argsort(x), -1) is sort(x).
Array argsort(const Operand& x, int64_t axis = -1, SortOptions options = {});

// --- linear algebra
/// Contracts and batches the named axes; the result has batch axes, free axes of x, free axes of y.
Array dot_general(const Operand& x, const Operand& y, const Shape& x_contract, const Shape& y_contract,
                  const Shape& x_batch = {}, const Shape& y_batch = {});
Array matmul(const Operand& x, const Operand& y);  // NumPy's, with batch axes broadcast
Array dot(const Operand& x, const Operand& y);     // NumPy's
Array outer(const Operand& x, const Operand& y);

// --- indexing
/// Takes one element of x for each index row: x f32[d0, ..., dk-1], index integer[n..., k] -> f32[n...]. An index with
/// fewer columns than x has axes is a ShapeError; whole slices, x[d0, ..., dk-1, rest...] -> [n..., rest...], are
/// reached by x[{i, j}].
Array gather(const Operand& x, const Operand& index, GatherMode mode = GatherMode::clip);
/// Returns x with updates[n...] added at index[n..., k]. Rows out of range are dropped.
Array scatter_add(const Operand& x, const Operand& index, const Operand& updates, GatherMode mode = GatherMode::clip);
/// Takes slices of x along axis: the result has shape x.shape[:axis] + index.shape + x.shape[axis + 1:].
Array take(const Operand& x, const Operand& index, int64_t axis = 0, GatherMode mode = GatherMode::clip);
/// Takes result[..., j, ...] = x[..., index[..., j, ...], ...] along axis; other axes broadcast.
Array take_along_axis(const Operand& x, const Operand& index, int64_t axis, GatherMode mode = GatherMode::clip);
/// Writes 1 where the class is the index, else 0; indices out of range give a row of zeros.
Array one_hot(const Operand& index, int64_t classes, DType dtype = f32);

}  // namespace neap

#pragma GCC visibility pop
