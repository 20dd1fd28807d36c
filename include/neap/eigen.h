// Eigen's matrices and Neap's arrays. An array is row-major; matrices of either order are copied into it, element (i,
// j) to element (i, j). For programs that use Eigen; nothing else includes this.
#pragma once

#include <neap/creation.h>

#include <Eigen/Core>

#include <memory>
#include <type_traits>
#include <utility>

namespace neap {

/// Copies a matrix or an expression of any order: [rows, columns]; a vector (known as one by its type): [n].
template <class Derived>
Array array(const Eigen::DenseBase<Derived>& x, Loc loc = Loc::current()) {
  using T = typename Derived::Scalar;
  if constexpr (Derived::IsVectorAtCompileTime) {
    const Eigen::Array<T, Eigen::Dynamic, 1> flat = x.derived().reshaped().array();
    return array(std::span<const T>(flat.data(), static_cast<size_t>(flat.size())), {}, loc);
  } else {
    const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = x.derived().array();
    return array(std::span<const T>(rows.data(), static_cast<size_t>(rows.size())), Shape{rows.rows(), rows.cols()},
                 loc);
  }
}

namespace detail {

template <class Derived>
Shape shape_to_lend(const Eigen::PlainObjectBase<Derived>& x) {
  static_assert(Derived::IsVectorAtCompileTime || Derived::IsRowMajor,
                "neap: borrow: a column-major matrix lies in another order than an array; copy it with array()");
  return Derived::IsVectorAtCompileTime ? Shape{x.size()} : Shape{x.rows(), x.cols()};
}

}  // namespace detail

/// Lends a row-major matrix, or a vector, to an array, without a copy; it must outlive the array (see borrow()). A
/// matrix that is moved in lives as long as the array.
template <class Derived>
Array borrow(const Eigen::PlainObjectBase<Derived>& x, Loc loc = Loc::current()) {
  return borrow(x.data(), detail::shape_to_lend(x), {}, loc);
}
template <class Derived>
  requires std::is_base_of_v<Eigen::PlainObjectBase<Derived>, Derived>
Array borrow(Derived&& x, Loc loc = Loc::current()) {
  const auto kept = std::make_shared<const Derived>(std::move(x));
  return borrow(kept->data(), detail::shape_to_lend(*kept), [kept](const void*) {}, loc);
}

template <class Derived>
Array borrow(const Eigen::PlainObjectBase<Derived>&&, Loc = Loc::current()) = delete;  // it ends with the expression

/// Returns a view of the elements of x [n, m] as a matrix; a vector [n] is a matrix of one column. T is x's own element
/// type (DTypeError). It is valid while an array of these elements lives.
template <Scalar T>
Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> as_matrix(
    const Array& x, Loc loc = Loc::current()) {
  if (x.ndim() != 1 && x.ndim() != 2) {
    throw_user<ShapeError>("as_matrix", "the array is " + to_string(x.aval()), "one axis or two", "", loc);
  }
  return {x.data<T>(loc), x.shape()[0], x.ndim() == 2 ? x.shape()[1] : 1};
}
template <Scalar T>
auto as_matrix(Array&&, Loc = Loc::current()) = delete;  // the array ends with the expression

/// Returns the same as one column, of any shape.
template <Scalar T>
Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> as_vector(const Array& x, Loc loc = Loc::current()) {
  return {x.data<T>(loc), x.size()};
}
template <Scalar T>
auto as_vector(Array&&, Loc = Loc::current()) = delete;

}  // namespace neap
