// Array: a cheap value, and Operand, what operators and functions take.
//
// An Array is a handle. It is concrete (holds elements in memory), traced (stands for a value of a graph that is being
// built), or a spec (shape and dtype only, for planning). Arrays never change after they are made.
#pragma once

#include <neap/dtype.h>
#include <neap/error.h>
#include <neap/shape.h>

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

class Array;
class Operand;
namespace detail {
struct ArrayImpl;
template <class...>
inline constexpr bool kNever = false;  // of what no program may ask for: a static_assert says why
}  // namespace detail

/// ComplexScalar is a complex element type of C++.
template <class T>
concept ComplexScalar = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
/// Scalar is an element type of C++: what dtypes are of, and what stands beside an array in an operation.
template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::same_as<T, float16> || std::same_as<T, bfloat16> || ComplexScalar<T>;

/// Slice is start : stop : step along one axis, as in Python; negative bounds count from the end.
struct Slice {
  std::optional<int64_t> start, stop;  // its bounds; none: from the first, to the last
  int64_t step = 1;                    // its step, negative to go backwards
};
/// slice() takes everything, slice(n) the first n, slice(a, b) a <= i < b.
inline Slice slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1) {
  return {start, stop, step};
}
inline Slice slice(int64_t stop) { return {std::nullopt, stop, 1}; }

/// NewAxis is the type of newaxis.
struct NewAxis {};
/// Ellipsis is the type of ellipsis.
struct Ellipsis {};
inline constexpr NewAxis newaxis{};    // in x[...]: an axis of extent 1
inline constexpr Ellipsis ellipsis{};  // in x[...]: all axes that the other entries leave
/// none is no axis (VmapOptions), or no bound: slice(none, none, 2).
inline constexpr std::nullopt_t none = std::nullopt;
inline constexpr std::nullopt_t end = std::nullopt;  // slice(1, end): to the last

/// An Index is one entry of x[...]: an integer, a slice, newaxis, ellipsis, or an integer array.
using Index = std::variant<int64_t, Slice, NewAxis, Ellipsis, std::shared_ptr<detail::ArrayImpl>>;

/// IndexList holds everything between the brackets of x[...], and the caller's line.
class IndexList {
 public:
  /// Entry is one of them.
  struct Entry {
    Index index;
    Entry(std::integral auto i) : index(static_cast<int64_t>(i)) {}
    Entry(Slice s) : index(s) {}
    Entry(NewAxis n) : index(n) {}
    Entry(Ellipsis e) : index(e) {}
    Entry(const Array& a);
  };
  IndexList(std::initializer_list<Entry> entries, std::source_location loc = std::source_location::current());
  /// Makes a list whose length the program decides: x[entries], x.at(entries).
  IndexList(const std::vector<Entry>& entries, std::source_location loc = std::source_location::current());
  IndexList(std::integral auto i, std::source_location loc = std::source_location::current())
      : IndexList(Entry(i), loc) {}
  IndexList(Slice s, std::source_location loc = std::source_location::current()) : IndexList(Entry(s), loc) {}
  IndexList(NewAxis n, std::source_location loc = std::source_location::current()) : IndexList(Entry(n), loc) {}
  IndexList(Ellipsis e, std::source_location loc = std::source_location::current()) : IndexList(Entry(e), loc) {}
  IndexList(const Array& a, std::source_location loc = std::source_location::current());
  IndexList(std::floating_point auto) NEAP_DELETE("neap: an index is an integer, a slice, newaxis, ellipsis or Array");

  /// Returns the entries, in order.
  const std::vector<Index>& entries() const { return entries_; }
  /// Returns the line that errors name.
  std::source_location loc() const { return loc_; }

 private:
  IndexList(const Entry& entry, std::source_location loc) : entries_{entry.index}, loc_(loc) {}
  std::vector<Index> entries_;
  std::source_location loc_;
};

/// GatherMode says what happens to an index in an array that is out of range, after negative indices have counted from
/// the end.
enum class GatherMode {
  clip,               // read the nearest element; drop the update
  fill,               // read NaN (integers: the lowest value; unsigned: the highest); drop the update
  promise_in_bounds,  // the caller promises that it does not happen; still never outside the array
};

class IndexUpdate;

/// Array is a handle to elements, to a value of a trace, or to a shape and dtype alone. Copies share what they hold,
/// and what they hold never changes.
class Array {
 public:
  Array() = default;  // no value; using it is a UserError
  explicit Array(std::shared_ptr<detail::ArrayImpl> impl) : impl_(std::move(impl)) {}
  Array(const Array&) = default;
  Array(Array&&) = default;
  ~Array() = default;
  Array& operator=(const Array&) & = default;
  Array& operator=(Array&&) & = default;
  template <Scalar T>
      void operator=(T) & NEAP_DELETE("neap: a number is no Array: write x = array(y), or x = full(x.shape(), y)");
  template <class T>
      void operator=(T&&) && NEAP_DELETE("neap: x[i] = y changes nothing: write x = x.at(i).set(y)");

  using Loc = std::source_location;
  /// Returns the extents; none of a scalar.
  const Shape& shape(Loc loc = Loc::current()) const { return aval(loc).shape; }
  /// Returns the extent of one axis; negative axes count from the end.
  int64_t shape(int64_t axis, Loc loc = Loc::current()) const;
  /// Returns the element type.
  DType dtype(Loc loc = Loc::current()) const { return aval(loc).dtype; }
  /// Returns the number of axes.
  int64_t ndim(Loc loc = Loc::current()) const { return static_cast<int64_t>(shape(loc).size()); }
  /// Returns the number of elements.
  int64_t size(Loc loc = Loc::current()) const { return element_count(shape(loc)); }
  /// Returns the bytes of all elements.
  size_t bytes(Loc loc = Loc::current()) const { return aval(loc).bytes(); }
  /// Returns shape and dtype. It and the functions above throw UserError for an array without a value.
  const Aval& aval(Loc loc = Loc::current()) const;

  /// Returns true when the array holds elements: it is neither traced, nor a spec, nor donated away, nor empty-handed.
  bool is_concrete() const;

  /// Returns the one element, converted to T. Throws TracerError for a traced array, ShapeError when there are several,
  /// DTypeError for a complex one as a real T.
  template <Scalar T>
  T item(std::source_location loc = std::source_location::current()) const {
    T element;
    read_element(dtype_of<T>(), &element, loc);
    return element;
  }
  /// Returns all elements in row-major order, converted to T.
  template <Scalar T>
  std::vector<T> to_vector(std::source_location loc = std::source_location::current()) const {
    if constexpr (std::same_as<T, bool>) {  // whose vector is one of bits
      const std::vector<uint8_t> bytes = to_vector<uint8_t>(loc, DType::bool_);
      return {bytes.begin(), bytes.end()};
    } else {
      return to_vector<T>(loc, dtype_of<T>());
    }
  }
  /// Returns the elements themselves, row-major; throws DTypeError unless T is the array's dtype. They are valid while
  /// the array lives.
  template <Scalar T>
  const T* data(std::source_location loc = std::source_location::current()) const {
    return static_cast<const T*>(raw_data(dtype_of<T>(), loc));
  }
  /// Returns the elements themselves as data() does, as a span. Of an array that ends with the expression there is
  /// none.
  template <Scalar T>
  std::span<const T> span(std::source_location loc = std::source_location::current()) const& {
    return {data<T>(loc), static_cast<size_t>(size())};
  }
  template <Scalar T>
  std::span<const T> span(std::source_location loc = std::source_location::current()) const&& = delete;
  /// Returns the elements as bytes.
  std::span<const std::byte> raw(std::source_location loc = std::source_location::current()) const;
  /// Returns when the elements are there. (On the CPU they are, when a call returns.)
  void wait(std::source_location loc = std::source_location::current()) const;

  /// This is NumPy's basic and advanced indexing: x[0], x[{slice(1, 3), newaxis}], x[{i, j, k}], x[{ellipsis, 0}].
  /// Integer arrays are broadcast together; their axes come first unless they stand side by side. A C++ number out of
  /// range is an IndexError; in an array it is clipped.
  Array operator[](const IndexList& index) const;
  /// Makes updates: x.at(i).add(y) is x with y added at x[i]; x itself does not change.
  IndexUpdate at(const IndexList& index, GatherMode mode = GatherMode::fill) const;

  /// Rows is what `for (const Array& row : x)` goes over: x[0], x[1], ... of the first axis.
  class Rows;
  /// Returns the place of x[0]. Throws IndexError for a scalar.
  Rows begin(Loc loc = Loc::current()) const;
  /// Returns the place behind the last.
  Rows end(Loc loc = Loc::current()) const;

  /// Returns convert(x, dtype): the array itself where it has that dtype.
  Array astype(DType dtype, std::source_location loc = std::source_location::current()) const;

  const std::shared_ptr<detail::ArrayImpl>& impl() const { return impl_; }

 private:
  template <class T>
  std::vector<T> to_vector(std::source_location loc, DType as) const {
    std::vector<T> elements(count_elements(loc));
    read_elements(as, elements.data(), loc);
    return elements;
  }

  const void* raw_data(DType dtype, std::source_location loc) const;
  void read_element(DType as, void* to, std::source_location loc) const;
  size_t count_elements(std::source_location loc) const;
  void read_elements(DType as, void* to, std::source_location loc) const;
  std::shared_ptr<detail::ArrayImpl> impl_;
};

/// Rows is an iterator over the first axis. Each row is an array of its own.
class Array::Rows {
 public:
  using value_type = Array;
  using difference_type = std::ptrdiff_t;

  Rows() = default;
  Rows(const Array& array, int64_t at, Loc loc) : array_(array), at_(at), loc_(loc) {}
  Array operator*() const;
  Rows& operator++() {
    ++at_;
    return *this;
  }
  Rows operator++(int) { return Rows(array_, at_++, loc_); }
  bool operator==(const Rows& other) const { return at_ == other.at_; }

 private:
  Array array_;
  int64_t at_ = 0;
  Loc loc_;  // of the loop
};

/// IndexUpdate is x.at(i): its functions update x at an index, and each gives a new array. Rows of repeated indices all
/// count (set: the last wins).
class IndexUpdate {
 public:
  IndexUpdate(Array array, IndexList index, GatherMode mode)
      : array_(std::move(array)), index_(std::move(index)), mode_(mode) {}
  /// Returns x with y in the place of x[i].
  Array set(const Operand& y) const;
  /// Returns x with y added to x[i].
  Array add(const Operand& y) const;
  /// Returns x with x[i] multiplied by y.
  Array mul(const Operand& y) const;
  /// Returns x with y taken from x[i].
  Array subtract(const Operand& y) const;
  /// Returns x with x[i] divided by y, the true quotient: of integers all of x is f32. Of repeated indices the product
  /// divides.
  Array divide(const Operand& y) const;
  /// Returns x with x[i] to the power y (of repeated indices to their product), in the dtype of x.
  Array power(const Operand& y) const;
  /// Returns x with f(x[i]) in the place of x[i], once for all repeated indices.
  Array apply(const std::function<Array(const Array&)>& f) const;
  /// Returns x[i], where an index in an array that is out of range is clipped, or reads what `mode` says.
  Array get(GatherMode mode = GatherMode::clip) const;
  /// Returns x with the smaller of x[i] and y there.
  Array min(const Operand& y) const;
  /// Returns x with the larger of x[i] and y there.
  Array max(const Operand& y) const;
  IndexUpdate(const IndexUpdate&) = default;
  IndexUpdate(IndexUpdate&&) = default;
  ~IndexUpdate() = default;
  IndexUpdate& operator=(const IndexUpdate&) & = default;
  IndexUpdate& operator=(IndexUpdate&&) & = default;
  template <class T>
      void operator=(T&&) && NEAP_DELETE("neap: x.at(i) = y changes nothing: write x = x.at(i).set(y)");

 private:
  Array array_;
  IndexList index_;
  GatherMode mode_;
};

/// Operand is an argument of an operator or function: an array or a C++ scalar, with the caller's line. Scalars are
/// weakly typed: they take the dtype of the array they meet (an integer array meeting a float becomes f32).
class Operand {
 public:
  Operand(const Array& array, std::source_location loc = std::source_location::current()) : array_(array), loc_(loc) {}
  template <Scalar T>
  Operand(T value, std::source_location loc = std::source_location::current())
      : scalar_(true),
        kind_(std::same_as<T, bool> ? WeakKind::bool_
              : std::integral<T>    ? WeakKind::integer
              : ComplexScalar<T>    ? WeakKind::complex
                                    : WeakKind::floating),
        loc_(loc) {
    if constexpr (ComplexScalar<T>) {
      real_ = value.real();
      imag_ = value.imag();
    } else {
      real_ = static_cast<double>(value);
      if constexpr (std::integral<T>) integer_ = static_cast<int64_t>(value);
    }
  }

  /// Returns whether it is a C++ scalar.
  bool is_scalar() const { return scalar_; }
  /// Returns the array; one without a value of a scalar.
  const Array& array() const { return array_; }
  /// Returns the scalar's kind.
  WeakKind kind() const { return kind_; }
  /// Returns the scalar, or its real part, as a double.
  double real() const { return real_; }
  /// Returns the scalar's imaginary part.
  double imag() const { return imag_; }
  /// Returns an integer scalar, of which a double may not hold all digits.
  int64_t integer() const { return integer_; }
  /// Returns the line that errors name.
  std::source_location loc() const { return loc_; }
  /// Returns the array's dtype, or the scalar's default (bool, i32, f32, c64).
  DType dtype() const { return scalar_ ? default_dtype(kind_) : array_.dtype(loc_); }
  /// Returns the array's shape; a scalar has no axes.
  const Shape& shape() const;
  /// Returns an array of `dtype` (the scalar's value, or the array converted).
  Array as(DType dtype) const;
  /// Returns the array, or one of the scalar in its default dtype.
  Array as_array() const { return scalar_ || !array_.impl() ? as(dtype()) : array_; }  // dtype() throws without a value

 private:
  Array array_;
  bool scalar_ = false;
  WeakKind kind_ = WeakKind::bool_;
  double real_ = 0, imag_ = 0;
  int64_t integer_ = 0;
  std::source_location loc_;
};

inline IndexList::Entry::Entry(const Array& a) : index(a.impl()) {}
inline IndexList::IndexList(const Array& a, std::source_location loc) : IndexList(Entry(a), loc) {}

/// Returns all elements of x in row-major order, converted to T.
template <Scalar T>
std::vector<T> to_vector(const Array& x, std::source_location loc = std::source_location::current()) {
  return x.to_vector<T>(loc);
}

/// Returns the one element of x, converted to T: x.item<T>().
template <Scalar T>
T item(const Array& x, std::source_location loc = std::source_location::current()) {
  return x.item<T>(loc);
}

/// Writes dtype, shape and elements, these in NumPy's layout: at most three at either end of an axis where there are
/// more than a thousand in all, lines of 75 columns. Of an array without elements (traced, a spec, donated,
/// empty-handed) it says which it is, and never throws for that.
std::string to_string(const Array& x);
/// Writes what to_string() gives.
std::ostream& operator<<(std::ostream& out, const Array& x);

/// Returns an array of shape and dtype only, for jit(f).plan(...). Throws UserError when an extent is negative (or NaN
/// was cast to one).
Array spec(const Shape& shape, DType dtype, std::source_location loc = std::source_location::current());

}  // namespace neap

#pragma GCC visibility pop
