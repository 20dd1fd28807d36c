#include <neap/array.h>
#include <neap/creation.h>
#include <neap/ops.h>
#include <neap/safetensors.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "core/at_line.h"
#include "core/convert.h"
#include "core/dispatch.h"
#include "core/npy.h"
#include "core/safetensors.h"
#include "trace/ops/ops_common.h"

namespace neap {

using detail::ArrayImpl;
using tracing::apply;
using tracing::Attr;
using tracing::check_extents;
using tracing::Op;
using tracing::user_line;

// Where tools/debuggers/neap_text.py looks; the bytes of a Buffer come first in it.
static_assert(sizeof(void*) != 8 || sizeof(Shape) != 24 ||
              (offsetof(ArrayImpl, aval) == 0 && offsetof(Aval, dtype) == 24 && offsetof(ArrayImpl, kind) == 32 &&
               offsetof(ArrayImpl, data) == 40));

const Aval& Array::aval(Loc loc) const { return tracing::aval_of(*this, user_line(loc)); }

int64_t Array::shape(int64_t axis, Loc loc) const {
  return shape(loc)[normalize_axis(axis, ndim(loc), "shape", user_line(loc))];
}

bool Array::is_concrete() const { return impl_ && impl_->kind == ArrayImpl::Kind::concrete; }

void Array::wait(std::source_location loc) const { tracing::concrete_buffer(*this, "wait", loc); }

std::span<const std::byte> Array::raw(std::source_location loc) const {
  return {tracing::concrete_buffer(*this, "raw", loc)->data(), bytes()};
}

const void* Array::raw_data(DType wanted, std::source_location loc) const {
  const BufferPtr& buffer = tracing::concrete_buffer(*this, "data", loc);
  if (wanted != dtype())
    throw_user<DTypeError>("data", "the array is " + to_string(aval()), std::string(name(wanted)),
                           "read it as its own type, or convert it with astype", loc);
  return buffer->data();
}

namespace {

// Converts the elements of x. Throws where complex numbers would be read as real ones.
void read(const Array& x, DType as, void* to, std::string_view op, std::source_location loc) {
  if (is_complex(x.dtype()) && !is_complex(as)) {
    throw_user<DTypeError>(op, "the array is " + to_string(x.aval()), "std::complex<float> or std::complex<double>",
                           "or take real(), imag() or abs() of it first", loc);
  }
  const BufferPtr& buffer = tracing::concrete_buffer(x, op, loc);
  const auto count = static_cast<size_t>(x.size());
  dispatch_all(as, [&]<class T>() {
    T* result = static_cast<T*>(to);
    dispatch_all(x.dtype(), [&]<class S>() {
      const S* source = buffer->as<S>();
      for (size_t i = 0; i < count; ++i) result[i] = convert_element<T>(source[i]);
    });
  });
}

}  // namespace

void Array::read_element(DType as, void* to, std::source_location loc) const {
  tracing::concrete_buffer(*this, "item", loc);
  if (size() != 1)
    throw_user<ShapeError>("item", "the array is " + to_string(aval()), "one element",
                           "index it first, or read it with to_vector", loc);
  read(*this, as, to, "item", loc);
}

size_t Array::count_elements(std::source_location loc) const {
  tracing::concrete_buffer(*this, "to_vector", loc);
  return static_cast<size_t>(size());
}

void Array::read_elements(DType as, void* to, std::source_location loc) const { read(*this, as, to, "to_vector", loc); }

Array Array::Rows::operator*() const { return array_[IndexList(at_, loc_)]; }

Array::Rows Array::begin(Loc loc) const {
  if (ndim(loc) == 0)
    throw_user<IndexError>("a loop over rows", "a scalar", "an array with an axis", "read it with item",
                           user_line(loc));
  return Rows(*this, 0, loc);
}

Array::Rows Array::end(Loc loc) const { return Rows(*this, shape(0, loc), loc); }

Array Array::astype(DType dtype, std::source_location loc) const { return convert(Operand(*this, loc), dtype); }

const Shape& Operand::shape() const {
  static const Shape& scalar = *new Shape;
  return scalar_ ? scalar : array_.shape(loc_);
}

Array Operand::as(DType dtype) const {
  if (!scalar_ && is_complex(array_.dtype(loc_)) && dtype == DType::bool_) return *this != 0;
  if (!scalar_) return array_.dtype() == dtype ? array_ : apply(Op::convert, {array_}, {{Attr::dtype, dtype}}, loc_);
  tracing::check_fits(*this, dtype);
  return detail::scalar_constant(real_, integer_, dtype, loc_, imag_);
}

void tracing::check_extents(std::string_view op, const Shape& shape, DType dtype, Loc loc) {
  for (const int64_t n : shape)
    if (n < 0)
      throw_user<ShapeError>(op, "shape " + to_string(shape) + " has a negative extent", "extents of 0 or more",
                             "a NaN or an overflow cast to an integer also looks like this", loc);
  try {
    Aval{shape, dtype}.bytes();
  } catch (const InternalError&) {
    throw_user<ShapeError>(op, "shape " + to_string(shape) + " has more than 2^63 bytes", "a smaller shape", "", loc);
  }
}

Array spec(const Shape& shape, DType dtype, Loc loc) {
  check_extents("spec", shape, dtype, loc);
  return detail::make_spec({shape, dtype});
}

void tracing::check_fits(const Operand& scalar, DType dtype) {
  if (scalar.kind() == WeakKind::complex && !is_complex(dtype))
    throw_user<DTypeError>("scalar", "a complex number is not a number of " + std::string(name(dtype)), "",
                           "convert the array to a complex dtype first, or give the dtype", user_line(scalar.loc()));
  if (scalar.kind() == WeakKind::floating || !is_integer(dtype)) return;
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_signed(dtype) ? 1 : 0);
  const int64_t value = scalar.integer();
  const bool fits = scalar.real() < 0 ? is_signed(dtype) && (bits == 63 || value >> bits == -1)
                                      : bits == 64 || static_cast<uint64_t>(value) >> bits == 0;
  if (fits) return;
  const std::string number = scalar.real() < 0 ? std::to_string(value) : std::to_string(static_cast<uint64_t>(value));
  throw_user<DTypeError>("scalar", number + " is not a number of " + std::string(name(dtype)), "",
                         "convert the array to a wider dtype first, or give the dtype", user_line(scalar.loc()));
}

// --- creation

namespace detail {

Array scalar_constant(double real, int64_t integer, DType dtype, Loc loc, double imag) {
  if (imag != 0 || std::signbit(imag))  // NaN too; -0, the other side of a branch cut
    return apply(Op::complex,
                 {scalar_constant(real, 0, real_dtype(dtype), loc), scalar_constant(imag, 0, real_dtype(dtype), loc)},
                 {}, loc);
  // An integer says more than its double, unless it is a u64 that a floating dtype would read as negative.
  const tracing::AttrValue value =
      integer != 0 && !is_inexact(dtype) ? tracing::AttrValue(integer) : tracing::AttrValue(real);
  return apply(Op::constant, {}, {{Attr::value, value}, {Attr::dtype, dtype}, {Attr::shape, Shape{}}}, loc);
}

void check_count(int64_t count, const Shape& shape, Loc loc) {
  check_extents("array", shape, DType::u8, loc);
  if (count != element_count(shape))
    throw_user<ShapeError>("array", std::to_string(count) + " values for shape " + to_string(shape),
                           std::to_string(element_count(shape)) + " values", "", loc);
}

void check_row(int64_t length, int64_t expected, Loc loc) {
  if (length == expected) return;
  throw_user<ShapeError>("array",
                         "rows of " + std::to_string(expected) + " and of " + std::to_string(length) + " values",
                         "rows of one length", "", loc);
}

Array from_host(const void* data, const Shape& shape, DType dtype, Loc loc) {
  check_extents("array", shape, dtype, loc);
  Aval aval{shape, dtype};
  BufferPtr buffer = at_line(loc, [&] { return allocate(aval.bytes(), "array"); });
  if (aval.bytes()) std::memcpy(buffer->data(), data, aval.bytes());
  return make_concrete(std::move(aval), std::move(buffer));
}

std::shared_ptr<const void> memory_of(const Array& x, Loc loc) { return tracing::concrete_buffer(x, "data", loc); }

}  // namespace detail

Array borrow(const void* data, const Shape& shape, DType dtype, std::function<void(const void*)> deleter, Loc loc) {
  check_extents("borrow", shape, dtype, loc);
  Aval aval{shape, dtype};
  const size_t bytes = aval.bytes(), alignment = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  if (!data && bytes > 0)
    throw_user<UserError>("borrow", "a null pointer", "the elements of " + to_string(aval), "", loc);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
    throw_user<UserError>("borrow",
                          "memory that does not begin at a multiple of " + std::to_string(alignment) + " bytes",
                          "memory aligned as " + std::string(name(dtype)) + " is", "or copy it with array()", loc);
  struct Loan {
    const void* data;
    std::function<void(const void*)> deleter;
    ~Loan() {
      if (deleter) deleter(data);
    }
  };
  auto loan = std::make_shared<Loan>(data, nullptr);
  static constexpr std::byte nothing{};
  BufferPtr buffer = at_line(loc, [&] { return lend(data ? data : &nothing, bytes, loan, "borrow"); });
  Array array = detail::make_concrete(std::move(aval), std::move(buffer));
  loan->deleter = std::move(deleter);  // after all that may throw
  return array;
}

Array full(const Shape& shape, const Operand& value, std::optional<DType> dtype, Loc loc) {
  const DType type = dtype.value_or(value.dtype());
  check_extents("full", shape, type, user_line(loc));
  if (!value.is_scalar()) return broadcast_to(Operand(value.as(type), loc), shape);
  tracing::check_fits(value, type);
  if (value.imag() != 0 || std::signbit(value.imag())) return broadcast_to(Operand(value.as(type), loc), shape);
  const tracing::AttrValue v = value.kind() >= WeakKind::floating || is_inexact(type)
                                   ? tracing::AttrValue(value.real())
                                   : tracing::AttrValue(value.integer());
  return apply(Op::constant, {}, {{Attr::value, v}, {Attr::dtype, type}, {Attr::shape, shape}}, loc);
}

Array zeros(const Shape& shape, DType dtype, Loc loc) {
  check_extents("zeros", shape, dtype, user_line(loc));
  return full(shape, 0, dtype, loc);
}
Array ones(const Shape& shape, DType dtype, Loc loc) {
  check_extents("ones", shape, dtype, user_line(loc));
  return full(shape, 1, dtype, loc);
}
Array zeros_like(const Operand& x) { return full(x.shape(), 0, x.dtype(), x.loc()); }
Array ones_like(const Operand& x) { return full(x.shape(), 1, x.dtype(), x.loc()); }

Array iota(const Shape& shape, int64_t axis, DType dtype, Loc loc) {
  const int64_t a = normalize_axis(axis, static_cast<int64_t>(shape.size()), "iota", user_line(loc));
  return apply(Op::iota, {}, {{Attr::shape, shape}, {Attr::axis, a}, {Attr::dtype, dtype}}, loc);
}

namespace {

// Returns the scalar's exact value: of a u64 beyond int64, integer() is negative and real() is not.
__int128 exact(const Operand& x) {
  return x.real() < 0 ? __int128{x.integer()} : __int128{static_cast<uint64_t>(x.integer())};
}

// Returns how many integers there are from start on, below stop; the last of them is a number of the dtype.
int64_t count_integers(const Operand& start, const Operand& stop, const Operand& step, DType dtype) {
  const __int128 first = exact(start), by = exact(step);
  const __int128 way = by > 0 ? exact(stop) - first : first - exact(stop), stride = by > 0 ? by : -by;
  const __int128 count = way > 0 ? (way + stride - 1) / stride : 0;
  if (count > std::numeric_limits<int64_t>::max())
    throw_user<ShapeError>("arange", "more than 2^63 numbers", "fewer", "", user_line(stop.loc()));
  if (count == 0) return 0;
  const __int128 last = first + (count - 1) * by;
  tracing::check_fits(
      last < 0 ? Operand(static_cast<int64_t>(last), stop.loc()) : Operand(static_cast<uint64_t>(last), stop.loc()),
      dtype);
  return static_cast<int64_t>(count);
}

// Returns the scalar modulo 2^bits of an integer dtype. Counting wraps, so that a step which the dtype does not hold,
// as -1 of u8, counts right too.
Array wrapped(const Operand& x, DType dtype) {
  const int unused = 64 - 8 * static_cast<int>(size_of(dtype));
  const uint64_t high = static_cast<uint64_t>(x.integer()) << unused;
  const int64_t value = is_signed(dtype) ? static_cast<int64_t>(high) >> unused : static_cast<int64_t>(high >> unused);
  return detail::scalar_constant(static_cast<double>(value), value, dtype, x.loc());
}

}  // namespace

Array arange(const Operand& start, const Operand& stop, const Operand& step, std::optional<DType> dtype) {
  for (const Operand* x : {&start, &stop, &step})
    if (!x->is_scalar())
      throw_user<UserError>("arange", "a bound is an array", "C++ numbers", "the number of elements must be known",
                            user_line(stop.loc()));
  for (const Operand* x : {&start, &stop, &step})
    if (x->kind() == WeakKind::complex)
      throw_user<DTypeError>("arange", "a complex bound", "real numbers", "complex numbers have no order",
                             user_line(stop.loc()));
  const bool floating =
      start.kind() >= WeakKind::floating || stop.kind() >= WeakKind::floating || step.kind() >= WeakKind::floating;
  const DType type = dtype.value_or(floating ? f32 : i32);
  if (step.real() == 0) throw_user<UserError>("arange", "step is 0", "another step", "", user_line(stop.loc()));
  int64_t n = 0;
  if (floating) {
    const double count = std::ceil((stop.real() - start.real()) / step.real());
    if (!(count < 0x1p63))
      throw_user<UserError>(
          "arange", std::isinf(count) || std::isnan(count) ? "bounds that are not finite" : "more than 2^63 numbers",
          "finite bounds, fewer numbers", "", user_line(stop.loc()));
    n = count > 0 ? static_cast<int64_t>(count) : 0;
  } else {
    n = count_integers(start, stop, step, type);
  }
  check_extents("arange", {n}, type, user_line(stop.loc()));
  Array i = iota({n}, 0, type, stop.loc());
  if (step.real() != 1 && n > 1) i = i * (floating || !is_integer(type) ? step.as(type) : wrapped(step, type));
  if (start.real() != 0 && n > 0) i = i + start.as(type);
  return i;
}
Array arange(const Operand& stop, std::optional<DType> dtype) { return arange(Operand(0, stop.loc()), stop, 1, dtype); }

Array linspace(const Operand& start, const Operand& stop, int64_t count, DType dtype) {
  const tracing::AtLine line(start.loc());
  if (count < 0)
    throw_user<ShapeError>("linspace", "count " + std::to_string(count), "0 or more", "", user_line(start.loc()));
  // Neither an integer nor a half type holds the steps between.
  const DType t = dtype == f64 ? f64 : f32;
  check_extents("linspace", {count}, t, user_line(start.loc()));
  const Array a = start.as(t), b = stop.as(t);
  Array x = broadcast_to(a, {count});
  if (count > 1) {
    const Array part = iota({count}, 0, t) / static_cast<double>(count - 1);
    x = a * (1 - part) + b * part;
  }
  return convert(is_integer(dtype) ? floor(x) : x, dtype);
}

Array eye(int64_t n, std::optional<int64_t> m, DType dtype, Loc loc) {
  const Shape shape{n, m.value_or(n)};
  check_extents("eye", shape, dtype, user_line(loc));
  return convert(Operand(iota(shape, 0, i32, loc) == iota(shape, 1, i32, loc), loc), dtype);
}

Array load_npy(const std::filesystem::path& path, Loc loc) {
  HostArray host = at_line(loc, [&] { return read_npy(path, loc); });
  return detail::make_concrete(std::move(host.aval), std::move(host.data));
}

void save_npy(const std::filesystem::path& path, const Array& array, Loc loc) {
  BufferPtr data = tracing::concrete_buffer(array, "save_npy", loc);
  write_npy(path, {array.aval(), std::move(data)}, loc);
}

std::map<std::string, Array> load_safetensors(const std::filesystem::path& path, Loc loc) {
  std::map<std::string, Array> arrays;
  auto read = at_line(loc, [&] { return read_safetensors(path, loc); });
  for (auto& [name, host] : read)
    arrays.emplace(name, detail::make_concrete(std::move(host.aval), std::move(host.data)));
  return arrays;
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Array>& arrays, Loc loc) {
  std::map<std::string, HostArray> host;
  for (const auto& [name, array] : arrays) {
    BufferPtr data = tracing::concrete_buffer(array, "save_safetensors", loc);
    host.emplace(name, HostArray{array.aval(), std::move(data)});
  }
  write_safetensors(path, host, loc);
}

}  // namespace neap
