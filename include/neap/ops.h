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

// --- operators
/// Returns negative(x).
Array operator-(const Operand& x);
/// Returns bitwise_not(x).
Array operator~(const Operand& x);
/// Returns logical_not(x), as bool.
Array operator!(const Operand& x);
/// Returns add(x, y).
Array operator+(const Operand& x, const Operand& y);
/// Returns subtract(x, y).
Array operator-(const Operand& x, const Operand& y);
/// Returns multiply(x, y): element by element, as all operators.
Array operator*(const Operand& x, const Operand& y);
/// Returns x / y, the true quotient: integers give f32.
Array operator/(const Operand& x, const Operand& y);
/// Returns mod(x, y), with the sign of y.
Array operator%(const Operand& x, const Operand& y);
/// Returns bitwise_and(x, y).
Array operator&(const Operand& x, const Operand& y);
/// Returns bitwise_or(x, y).
Array operator|(const Operand& x, const Operand& y);
/// Returns bitwise_xor(x, y).
Array operator^(const Operand& x, const Operand& y);
/// Returns logical_and(x, y), as bool; both sides are evaluated.
Array operator&&(const Operand& x, const Operand& y);
/// Returns logical_or(x, y), as bool; both sides are evaluated.
Array operator||(const Operand& x, const Operand& y);
/// Returns shift_left(x, y).
Array operator<<(const Operand& x, const Operand& y);
/// Returns shift_right(x, y).
Array operator>>(const Operand& x, const Operand& y);
/// Returns equal(x, y): a bool for each element, not one for both arrays (array_equal()).
Array operator==(const Operand& x, const Operand& y);
/// Returns not_equal(x, y).
Array operator!=(const Operand& x, const Operand& y);
/// Returns less(x, y).
Array operator<(const Operand& x, const Operand& y);
/// Returns less_equal(x, y).
Array operator<=(const Operand& x, const Operand& y);
/// Returns greater(x, y).
Array operator>(const Operand& x, const Operand& y);
/// Returns greater_equal(x, y).
Array operator>=(const Operand& x, const Operand& y);
/// Makes x the array x + y; other arrays that were equal to x stay as they are.
inline Array& operator+=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) + y; }
/// Makes x the array x - y.
inline Array& operator-=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) - y; }
/// Makes x the array x * y.
inline Array& operator*=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) * y; }
/// Makes x the array x / y.
inline Array& operator/=(Array& x, const Operand& y) { return x = Operand(x, y.loc()) / y; }

namespace detail {
template <class T>
concept Element = std::same_as<T, Array> || std::same_as<T, IndexUpdate>;  // x[i] or x.at(i)
}  // namespace detail
template <detail::Element T>
void operator+=(T&&, const Operand&) NEAP_DELETE("neap: x[i] += y changes nothing: write x = x.at(i).add(y)");
template <detail::Element T>
void operator-=(T&&, const Operand&) NEAP_DELETE("neap: x[i] -= y changes nothing: write x = x.at(i).add(-y)");
template <detail::Element T>
void operator*=(T&&, const Operand&) NEAP_DELETE("neap: x[i] *= y changes nothing: write x = x.at(i).mul(y)");
template <detail::Element T>
void operator/=(T&&, const Operand&) NEAP_DELETE("neap: x[i] /= y changes nothing: write x = x.at(i).mul(1 / y)");

// --- elementwise, made of these
/// Takes x where the condition is true, else y; all three broadcast. The condition is bool, or compared with 0.
Array where(const Operand& condition, const Operand& x, const Operand& y);
/// Returns min(max(x, low), high).
Array clamp(const Operand& x, const Operand& low, const Operand& high);
/// Returns clamp(x, low, high), by NumPy's name.
Array clip(const Operand& x, const Operand& low, const Operand& high);
/// Returns x / y rounded down; of a zero quotient the sign stays, and of an infinite x it is infinite. Integers are
/// divided by 0 as divide() does.
Array floor_divide(const Operand& x, const Operand& y);
/// Returns x - floor_divide(x, y) * y: the remainder, with the sign of y, a zero too.
Array mod(const Operand& x, const Operand& y);
/// Returns x to the y, as pow; where y is an integer C++ scalar, by repeated multiplication. Of integer arrays it is an
/// integer, which wraps; of a negative exponent 1 / x^-y, truncated, and 0 where x is 0.
Array power(const Operand& x, const Operand& y);
/// Returns log(exp(x) + exp(y)) without overflow.
Array logaddexp(const Operand& x, const Operand& y);
/// Returns max(x, 0), NaN where x is; the derivative at 0 is 0.
Array relu(const Operand& x);
/// Returns log(1 + exp(x)) without overflow.
Array softplus(const Operand& x);
/// Returns x * ndtr(x), exactly (gelu_tanh() approximates it).
Array gelu(const Operand& x);
/// Returns x * sigmoid(x).
Array silu(const Operand& x);
/// Returns whether the sign bit is set: of negative numbers, -0.0 too.
Array signbit(const Operand& x);
/// Returns whether both are true (not 0), as bool.
Array logical_and(const Operand& x, const Operand& y);
/// Returns whether one of the two is true (not 0), as bool.
Array logical_or(const Operand& x, const Operand& y);
/// Returns whether x is false (0), as bool.
Array logical_not(const Operand& x);

/// Returns the real part; a real array is its own.
Array real(const Operand& x);
/// Returns the imaginary part; zeros of a real array.
Array imag(const Operand& x);
/// Returns the complex conjugate; a real array is its own.
Array conj(const Operand& x);
/// Returns re + i im: c128 where a part is f64, else c64.
Array complex(const Operand& re, const Operand& im);
/// Returns the angle of z in (-pi, pi], radians.
Array angle(const Operand& z);

/// Converts to another dtype. Complex numbers become real by their real part (bool: whether they are not 0).
Array convert(const Operand& x, DType dtype);
/// Returns the same bits as another dtype. Where its elements are narrower, those of one are a new last axis, lowest
/// bits first; where they are wider, those of the last axis become one (ShapeError unless it has just as many). Widths
/// of bool and complex numbers do not change (DTypeError).
Array bitcast(const Operand& x, DType dtype);
/// Rounds floats to those of a format with so many exponent bits (1 or more) and mantissa bits, halves to even, and
/// keeps their dtype: what is too large becomes infinite, what would be subnormal 0, NaN stays. The derivative is 1.
Array reduce_precision(const Operand& x, int exponent_bits, int mantissa_bits);

// --- shape
/// Stretches x to `shape` by NumPy's rule: its axes, aligned at the last, are equal to those of `shape` or 1; else
/// ShapeError.
Array broadcast_to(const Operand& x, const Shape& shape);
/// Makes axis i of x axis axes[i] of `shape` (ascending), of equal length or stretched from 1.
Array broadcast_in_dim(const Operand& x, const Shape& shape, const Shape& axes);
/// Returns the same elements, row-major, in another shape, one extent of which may be -1; ShapeError where their number
/// differs.
Array reshape(const Operand& x, Shape shape);
/// Returns the elements, row-major, along one axis.
Array ravel(const Operand& x);
/// Puts axis permutation[i] at place i; the axes are reversed unless a permutation is given.
Array transpose(const Operand& x, std::optional<Shape> permutation = {});
/// Exchanges two axes.
Array swapaxes(const Operand& x, int64_t a, int64_t b);
/// Moves one axis to another place; the others stay in order.
Array moveaxis(const Operand& x, int64_t from, int64_t to);
/// Inserts an axis of extent 1, which is axis `axis` of the result.
Array expand_dims(const Operand& x, int64_t axis);
/// Drops one axis of extent 1 (ShapeError where it is longer), or all such axes.
Array squeeze(const Operand& x, std::optional<int64_t> axis = {});
/// Turns round the order along one axis, or along all.
Array flip(const Operand& x, std::optional<int64_t> axis = {});
/// Turns round the order along each of these axes.
Array reverse(const Operand& x, const Shape& axes);
/// Takes the elements start + i * stride below limit, along every axis.
Array strided_slice(const Operand& x, const Shape& start, const Shape& limit, std::optional<Shape> stride = {});
/// Takes start <= i < limit along one axis; negative bounds count from the end.
Array slice_in_dim(const Operand& x, int64_t start, int64_t limit, int64_t axis);
/// Pads each axis with `value`. low and high may be negative (cut); interior: elements between neighbours.
Array pad(const Operand& x, const Shape& low, const Shape& high, const Operand& value = 0,
          std::optional<Shape> interior = {});
/// Joins arrays along an axis. Their other extents are equal (ShapeError); their dtypes promote.
Array concatenate(const std::vector<Array>& arrays, int64_t axis = 0,
                  std::source_location loc = std::source_location::current());
/// Joins arrays of one shape along a new axis, which is axis `axis` of the result.
Array stack(const std::vector<Array>& arrays, int64_t axis = 0,
            std::source_location loc = std::source_location::current());
/// Cuts x along an axis into equal parts, at most 2^20; ShapeError where they would not be equal (array_split()).
std::vector<Array> split(const Operand& x, int64_t parts, int64_t axis = 0);
/// Repeats x repeats[i] times along axis i, both aligned at the last axis.
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
  /// Returns the axes of an array of `ndim` axes, ascending, each in [0, ndim). Throws IndexError, naming `op`.
  Shape resolve(int64_t ndim, std::string_view op, std::source_location loc) const;

 private:
  std::optional<Shape> axes_;
};
/// Adds up the elements along these axes, all unless given. bool and small integers add up as i32 (u32); of nothing 0.
Array sum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Multiplies the elements, in the dtypes of sum(); of nothing 1.
Array prod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the largest element, NaN if any is; of nothing ShapeError.
Array max(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the smallest element, NaN if any is; of nothing ShapeError.
Array min(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns whether any element is true (not 0); of nothing false.
Array any(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns whether all elements are true (not 0); of nothing true.
Array all(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the bitwise exclusive or of integers.
Array reduce_xor(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the arithmetic mean; integers give f32.
Array mean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the variance of the population (ddof 0); real, of complex numbers too.
Array var(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the standard deviation, sqrt(var).
Array std(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns log(sum(exp(x))) without overflow; of nothing -inf.
Array logsumexp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Returns the index (i32) of the first largest element along an axis, unless given of the flat array; the first NaN
/// wins.
Array argmax(const Operand& x, std::optional<int64_t> axis = {},
             bool keepdims = false);  // i32; of the flat array unless axis
/// Returns the index (i32) of the first smallest element along an axis, unless given of the flat array; the first NaN
/// wins.
Array argmin(const Operand& x, std::optional<int64_t> axis = {}, bool keepdims = false);
/// Returns exp(x) / sum(exp(x)) along an axis, without overflow.
Array softmax(const Operand& x, int64_t axis = -1);
/// Returns log(softmax(x)) along an axis, without its underflow.
Array log_softmax(const Operand& x, int64_t axis = -1);

// --- sorting
/// SortOptions says in which order sort() and argsort() put the elements.
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
/// Multiplies matrices as NumPy does: [..., m, k] and [..., k, n] -> [..., m, n], batch axes broadcast; a vector is a
/// row on the left, a column on the right, without that axis in the result. ShapeError where k differs.
Array matmul(const Operand& x, const Operand& y);
/// Contracts the last axis of x with the last but one of y (of a vector: its axis), as NumPy's; scalars multiply.
Array dot(const Operand& x, const Operand& y);
/// Multiplies each element of x with each of y, both flat: [size of x, size of y].
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
