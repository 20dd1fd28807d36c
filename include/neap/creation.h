// Making arrays: from scalars and C++ containers, filled, counted, and from files.
#pragma once

#include <neap/array.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#if defined(__has_include)
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#endif

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

using Loc = std::source_location;

/// Returns an array of zeros (false, of bool).
Array zeros(const Shape& shape, DType dtype = f32, Loc loc = Loc::current());
/// Returns an array of ones (true, of bool).
Array ones(const Shape& shape, DType dtype = f32, Loc loc = Loc::current());
/// Returns an array whose elements all equal `value`; dtype is the operand's own unless given.
Array full(const Shape& shape, const Operand& value, std::optional<DType> dtype = {}, Loc loc = Loc::current());
/// Returns zeros of the shape and dtype of x.
Array zeros_like(const Operand& x);
/// Returns ones of the shape and dtype of x.
Array ones_like(const Operand& x);

/// Returns the numbers start, start + step, ... below stop; dtype is i32 unless given or a bound is floating (then
/// f32).
Array arange(const Operand& stop, std::optional<DType> dtype = {});
Array arange(const Operand& start, const Operand& stop, const Operand& step = 1, std::optional<DType> dtype = {});
/// Returns `count` evenly spaced numbers from start to stop, both included.
Array linspace(const Operand& start, const Operand& stop, int64_t count, DType dtype = f32);
/// Returns an array each of whose elements is its index along `axis`.
Array iota(const Shape& shape, int64_t axis, DType dtype = i32, Loc loc = Loc::current());
/// Returns a matrix [n, m] with ones on the diagonal and zeros elsewhere; m is n unless given.
Array eye(int64_t n, std::optional<int64_t> m = {}, DType dtype = f32, Loc loc = Loc::current());

namespace detail {
Array from_host(const void* data, const Shape& shape, DType dtype, Loc loc);
/// Returns a handle to the memory of the elements: while it lives nobody takes them, donated as x may be.
std::shared_ptr<const void> memory_of(const Array& x, Loc loc);
Array scalar_constant(double real, int64_t integer, DType dtype, Loc loc, double imag = 0);
}  // namespace detail

/// Returns a scalar of the dtype that the C++ type names (float: f32, double: f64, int: i32, std::complex<float>: c64,
/// ...).
template <Scalar T>
Array array(T value, Loc loc = Loc::current()) {
  if constexpr (std::integral<T>)
    return detail::scalar_constant(static_cast<double>(value), static_cast<int64_t>(value), dtype_of<T>(), loc);
  else if constexpr (ComplexScalar<T>)
    return detail::scalar_constant(value.real(), 0, dtype_of<T>(), loc, value.imag());
  else
    return detail::scalar_constant(static_cast<double>(value), 0, dtype_of<T>(), loc);
}
/// Copies the elements (row-major). There is one axis unless `shape` is given; ShapeError when its size is not the
/// count.
template <Scalar T>
Array array(std::span<const T> values, std::optional<Shape> shape = {}, Loc loc = Loc::current());
template <Scalar T>
Array array(const std::vector<T>& values, std::optional<Shape> shape = {}, Loc loc = Loc::current()) {
  if constexpr (std::same_as<T, bool>) {
    std::vector<uint8_t> bytes(values.begin(), values.end());
    return array(std::span<const bool>(reinterpret_cast<const bool*>(bytes.data()), bytes.size()), shape, loc);
  } else {
    return array(std::span<const T>(values), shape, loc);
  }
}
template <Scalar T>
Array array(std::initializer_list<T> values, std::optional<Shape> shape = {}, Loc loc = Loc::current()) {
  return array(std::span<const T>(values.begin(), values.size()), shape, loc);
}
/// Does the same for what a span can be made of: std::span<T>, std::array<T, n>.
template <Scalar T, size_t N>
Array array(std::span<T, N> values, std::optional<Shape> shape = {}, Loc loc = Loc::current()) {
  return array(std::span<const T>(values), shape, loc);
}
template <Scalar T, size_t N>
Array array(const std::array<T, N>& values, std::optional<Shape> shape = {}, Loc loc = Loc::current()) {
  return array(std::span<const T>(values), shape, loc);
}
/// Copies nested vectors, of any depth: [[..], [..]] -> [n, m]. Throws ShapeError where their lengths differ.
template <class T>
  requires(!Scalar<T>)
Array array(const std::vector<T>& rows, Loc loc = Loc::current());
#if defined(__cpp_lib_mdspan)
/// Copies the elements of an mdspan of any layout, in the order of its indices.
template <class T, class Extents, class Layout, class Accessor>
Array array(std::mdspan<T, Extents, Layout, Accessor> values, Loc loc = Loc::current());
#endif
/// Copies a matrix, row by row.
template <Scalar T>
Array array(std::initializer_list<std::initializer_list<T>> rows, Loc loc = Loc::current());

/// Makes an array of memory that is lent, without a copy: `data` holds the elements of `shape`, row-major, and is
/// aligned as an element is. It must stay as it is while this array lives, or another that shares its memory (what a
/// jitted function returns as it got it, or has captured), and on a GPU until the calls that read it are done
/// (synchronize()). It is read and never written: to donate it is a UserError. When nothing needs it any more,
/// `deleter`, which must not throw, is called with `data`, on any thread. It is counted, in plans and by
/// memory::live_bytes(), as every array. Throws UserError where data is null or misaligned, and then does not call the
/// deleter.
Array borrow(const void* data, const Shape& shape, DType dtype, std::function<void(const void*)> deleter = {},
             Loc loc = Loc::current());
template <Scalar T>
Array borrow(const T* data, const Shape& shape, std::function<void(const void*)> deleter = {},
             Loc loc = Loc::current()) {
  return borrow(static_cast<const void*>(data), shape, dtype_of<T>(), std::move(deleter), loc);
}

/// Reads a NumPy .npy file. Throws UserError when it is missing, damaged or of a type that Neap does not have.
Array load_npy(const std::filesystem::path& path, Loc loc = Loc::current());
/// Writes a NumPy .npy file, which appears whole or not at all.
void save_npy(const std::filesystem::path& path, const Array& array, Loc loc = Loc::current());

// --- implementation of the templates

namespace detail {
void check_count(int64_t count, const Shape& shape, Loc loc);
// Throws ShapeError where the rows of nested vectors have several lengths.
void check_row(int64_t length, int64_t expected, Loc loc);
template <class T>
inline constexpr size_t depth_of = 0;
template <class T>
inline constexpr size_t depth_of<std::vector<T>> = 1 + depth_of<T>;
}  // namespace detail

template <Scalar T>
Array array(std::span<const T> values, std::optional<Shape> shape, Loc loc) {
  Shape s = shape ? *shape : Shape{static_cast<int64_t>(values.size())};
  detail::check_count(static_cast<int64_t>(values.size()), s, loc);
  return detail::from_host(values.data(), s, dtype_of<T>(), loc);
}

namespace detail {

template <class T>
struct Flat {
  Shape shape;
  std::vector<T> values;

  template <class Rows>
  void add(const Rows& rows, size_t depth, Loc loc) {
    const auto extent = static_cast<int64_t>(rows.size());
    if (shape.size() == depth) shape.push_back(extent);
    check_row(extent, shape[depth], loc);
    if constexpr (Scalar<typename Rows::value_type>) {
      values.insert(values.end(), rows.begin(), rows.end());
    } else {
      for (const auto& row : rows) add(row, depth + 1, loc);
    }
  }
};

template <class T>
struct ScalarOf {
  using type = T;
};
template <class T>
struct ScalarOf<std::vector<T>> : ScalarOf<T> {};

}  // namespace detail

template <class T>
  requires(!Scalar<T>)
Array array(const std::vector<T>& rows, Loc loc) {
  using Element = typename detail::ScalarOf<T>::type;
  static_assert(Scalar<Element>, "neap: array: expected vectors of vectors of numbers");
  if constexpr (Scalar<Element>) {
    using Held = std::conditional_t<std::same_as<Element, bool>, uint8_t, Element>;  // std::vector<bool> is one of bits
    detail::Flat<Held> flat;
    flat.add(rows, 0, loc);
    for (size_t depth = flat.shape.size(); depth < detail::depth_of<std::vector<T>>; ++depth) flat.shape.push_back(0);
    return detail::from_host(flat.values.data(), flat.shape, dtype_of<Element>(), loc);
  }
}

#if defined(__cpp_lib_mdspan)
template <class T, class Extents, class Layout, class Accessor>
Array array(std::mdspan<T, Extents, Layout, Accessor> values, Loc loc) {
  Shape shape;
  for (size_t i = 0; i < values.rank(); ++i) shape.push_back(static_cast<int64_t>(values.extent(i)));
  std::vector<std::remove_cv_t<T>> flat;
  flat.reserve(values.size());
  std::array<typename Extents::index_type, Extents::rank()> at{};
  const auto add = [&](auto& self, size_t axis) -> void {
    if (axis == values.rank()) return flat.push_back(values[at]);
    for (at[axis] = 0; at[axis] < values.extent(axis); ++at[axis]) self(self, axis + 1);
  };
  add(add, 0);
  return detail::from_host(flat.data(), shape, dtype_of<T>(), loc);
}
#endif

template <Scalar T>
Array array(std::initializer_list<std::initializer_list<T>> rows, Loc loc) {
  std::vector<T> flat;
  const int64_t columns = rows.size() ? static_cast<int64_t>(rows.begin()->size()) : 0;
  for (const auto& row : rows) {
    detail::check_row(static_cast<int64_t>(row.size()), columns, loc);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  return array(std::span<const T>(flat), Shape{static_cast<int64_t>(rows.size()), columns}, loc);
}

}  // namespace neap

#pragma GCC visibility pop
