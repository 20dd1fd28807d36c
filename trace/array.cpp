#include <neap/array.h>
#include <neap/creation.h>
#include <neap/ops.h>

#include <cstring>

#include "core/dispatch.h"
#include "core/npy.h"
#include "core/safetensors.h"
#include "trace/tracing.h"

namespace neap {

using detail::ArrayImpl;
using trace::apply;
using trace::Attr;
using trace::Op;

const Aval& Array::aval() const { return trace::aval_of(*this, std::source_location::current()); }

int64_t Array::shape(int64_t axis) const { return shape()[normalize_axis(axis, ndim(), "shape")]; }

bool Array::is_concrete() const { return impl_ && impl_->kind == ArrayImpl::Kind::concrete; }

void Array::wait(std::source_location loc) const { trace::concrete_buffer(*this, "wait", loc); }

std::span<const std::byte> Array::raw(std::source_location loc) const {
  return {trace::concrete_buffer(*this, "raw", loc)->data(), bytes()};
}

const void* Array::raw_data(DType wanted, std::source_location loc) const {
  const BufferPtr& buffer = trace::concrete_buffer(*this, "data", loc);
  if (wanted != dtype())
    throw_user<DTypeError>("data", "the array is " + to_string(aval()), std::string(name(wanted)),
                           "read it as its own type, or convert it with astype", loc);
  return buffer->data();
}

template <Scalar T>
std::vector<T> Array::to_vector(std::source_location loc) const {
  const BufferPtr& buffer = trace::concrete_buffer(*this, "to_vector", loc);
  std::vector<T> result(static_cast<size_t>(size()));
  dispatch(dtype(), [&]<class S>() {
    const S* source = buffer->as<S>();
    for (size_t i = 0; i < result.size(); ++i) {
      if constexpr (std::is_class_v<T> || std::is_class_v<S>)
        result[i] = T(static_cast<float>(source[i]));
      else
        result[i] = static_cast<T>(source[i]);
    }
  });
  return result;
}

template <Scalar T>
T Array::item(std::source_location loc) const {
  const BufferPtr& buffer = trace::concrete_buffer(*this, "item", loc);
  if (size() != 1)
    throw_user<ShapeError>("item", "the array is " + to_string(aval()), "one element",
                           "index it first, or read it with to_vector", loc);
  return dispatch(dtype(), [&]<class S>() {
    if constexpr (std::is_class_v<T> || std::is_class_v<S>)
      return T(static_cast<float>(*buffer->as<S>()));
    else
      return static_cast<T>(*buffer->as<S>());
  });
}

#define NEAP_READ(T)                                                    \
  template std::vector<T> Array::to_vector(std::source_location) const; \
  template T Array::item(std::source_location) const;
NEAP_READ(bool)
NEAP_READ(int8_t)
NEAP_READ(int16_t)
NEAP_READ(int32_t)
NEAP_READ(int64_t)
NEAP_READ(long long)
NEAP_READ(uint8_t)
NEAP_READ(uint16_t)
NEAP_READ(uint32_t)
NEAP_READ(uint64_t)
NEAP_READ(unsigned long long)
NEAP_READ(float16)
NEAP_READ(bfloat16)
NEAP_READ(float)
NEAP_READ(double)
#undef NEAP_READ

Array Array::astype(DType dtype, std::source_location loc) const { return convert(Operand(*this, loc), dtype); }

const Shape& Operand::shape() const {
  static const Shape scalar;
  return scalar_ ? scalar : array_.shape();
}

Array Operand::as(DType dtype) const {
  if (!scalar_) return array_.dtype() == dtype ? array_ : apply(Op::convert, {array_}, {{Attr::dtype, dtype}}, loc_);
  return detail::scalar_constant(real_, kind_ == WeakKind::floating ? 0 : integer_, dtype, loc_);
}

Array spec(const Shape& shape, DType dtype, std::source_location loc) {
  for (const int64_t n : shape)
    if (n < 0)
      throw_user<ShapeError>("spec", "shape " + to_string(shape) + " has a negative extent", "extents of 0 or more",
                             "a NaN or an overflow cast to an integer also looks like this", loc);
  Aval aval{shape, dtype};
  try {
    aval.bytes();
  } catch (const InternalError&) {
    throw_user<ShapeError>("spec", "shape " + to_string(shape) + " has more than 2^63 bytes", "a smaller shape", "",
                           loc);
  }
  return detail::make_spec(std::move(aval));
}

// --- creation

namespace detail {

Array scalar_constant(double real, int64_t integer, DType dtype, Loc loc) {
  const trace::AttrValue value = integer != 0 ? trace::AttrValue(integer) : trace::AttrValue(real);
  return apply(Op::constant, {}, {{Attr::value, value}, {Attr::dtype, dtype}, {Attr::shape, Shape{}}}, loc);
}

void check_count(int64_t count, const Shape& shape, Loc loc) {
  if (count != element_count(shape))
    throw_user<ShapeError>("array", std::to_string(count) + " values for shape " + to_string(shape),
                           std::to_string(element_count(shape)) + " values", "", loc);
}

Array from_host(const void* data, const Shape& shape, DType dtype, Loc loc) {
  const Array checked = spec(shape, dtype, loc);
  BufferPtr buffer = allocate(checked.bytes(), "array");
  if (checked.bytes()) std::memcpy(buffer->data(), data, checked.bytes());
  return make_concrete(checked.aval(), std::move(buffer));
}

}  // namespace detail

Array full(const Shape& shape, const Operand& value, std::optional<DType> dtype, Loc loc) {
  const DType type = dtype.value_or(value.dtype());
  spec(shape, type, loc);  // checks the extents
  if (!value.is_scalar()) return broadcast_to(Operand(value.as(type), loc), shape);
  const trace::AttrValue v =
      value.kind() == WeakKind::floating ? trace::AttrValue(value.real()) : trace::AttrValue(value.integer());
  return apply(Op::constant, {}, {{Attr::value, v}, {Attr::dtype, type}, {Attr::shape, shape}}, loc);
}

Array zeros(const Shape& shape, DType dtype, Loc loc) { return full(shape, 0, dtype, loc); }
Array ones(const Shape& shape, DType dtype, Loc loc) { return full(shape, 1, dtype, loc); }
Array zeros_like(const Operand& x) { return full(x.shape(), 0, x.dtype(), x.loc()); }
Array ones_like(const Operand& x) { return full(x.shape(), 1, x.dtype(), x.loc()); }

Array iota(const Shape& shape, int64_t axis, DType dtype, Loc loc) {
  const int64_t a = normalize_axis(axis, static_cast<int64_t>(shape.size()), "iota", loc);
  return apply(Op::iota, {}, {{Attr::shape, shape}, {Attr::axis, a}, {Attr::dtype, dtype}}, loc);
}

Array arange(const Operand& start, const Operand& stop, const Operand& step, std::optional<DType> dtype) {
  for (const Operand* x : {&start, &stop, &step})
    if (!x->is_scalar())
      throw_user<UserError>("arange", "a bound is an array", "C++ numbers", "the number of elements must be known",
                            stop.loc());
  const bool floating =
      start.kind() == WeakKind::floating || stop.kind() == WeakKind::floating || step.kind() == WeakKind::floating;
  const DType type = dtype.value_or(floating ? f32 : i32);
  if (step.real() == 0) throw_user<UserError>("arange", "step is 0", "another step", "", stop.loc());
  const double count = std::ceil((stop.real() - start.real()) / step.real());
  if (!(count < 9e18)) throw_user<UserError>("arange", "the bounds are not finite", "finite numbers", "", stop.loc());
  const int64_t n = count > 0 ? static_cast<int64_t>(count) : 0;
  Array i = iota({n}, 0, type, stop.loc());
  if (step.real() != 1) i = i * step.as(type);
  if (start.real() != 0) i = i + start.as(type);
  return i;
}
Array arange(const Operand& stop, std::optional<DType> dtype) { return arange(Operand(0, stop.loc()), stop, 1, dtype); }

Array linspace(const Operand& start, const Operand& stop, int64_t count, DType dtype) {
  if (count < 0) throw_user<ShapeError>("linspace", "count " + std::to_string(count), "0 or more", "", start.loc());
  const Array a = start.as(dtype), b = stop.as(dtype);
  if (count == 1) return broadcast_to(a, {1});
  const Array t = iota({count}, 0, dtype, start.loc()) / static_cast<double>(std::max<int64_t>(count - 1, 1));
  return a * (1 - t) + b * t;
}

Array eye(int64_t n, std::optional<int64_t> m, DType dtype, Loc loc) {
  const Shape shape{n, m.value_or(n)};
  return convert(Operand(iota(shape, 0, i32, loc) == iota(shape, 1, i32, loc), loc), dtype);
}

Array load_npy(const std::filesystem::path& path, Loc loc) {
  HostArray host = read_npy(path, loc);
  return detail::make_concrete(std::move(host.aval), std::move(host.data));
}

void save_npy(const std::filesystem::path& path, const Array& array, Loc loc) {
  write_npy(path, {array.aval(), trace::concrete_buffer(array, "save_npy", loc)}, loc);
}

std::map<std::string, Array> load_safetensors(const std::filesystem::path& path, Loc loc) {
  std::map<std::string, Array> arrays;
  for (auto& [name, host] : read_safetensors(path, loc))
    arrays.emplace(name, detail::make_concrete(std::move(host.aval), std::move(host.data)));
  return arrays;
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Array>& arrays, Loc loc) {
  std::map<std::string, HostArray> host;
  for (const auto& [name, array] : arrays)
    host.emplace(name, HostArray{array.aval(), trace::concrete_buffer(array, "save_safetensors", loc)});
  write_safetensors(path, host, loc);
}

}  // namespace neap
