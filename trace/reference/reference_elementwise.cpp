// Elementwise ops, from the `reference` column of <neap/ops.def>, and conversions.
#include <cmath>

#include "trace/graph/op_table.h"
#include "trace/reference/reference_math.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {
namespace {

// Whether a rule takes operands that are computed in C; the rows are compiled for those only.
template <TypeRule rule, class C>
inline constexpr bool kTakes = rule == TypeRule::numeric                                   ? !std::same_as<C, bool>
                               : rule == TypeRule::floating || rule == TypeRule::predicate ? std::same_as<C, double>
                               : rule == TypeRule::integral                                ? !std::same_as<C, double>
                                                                                           : true;

template <TypeRule rule, class C>
using Result = std::conditional_t<rule == TypeRule::predicate || rule == TypeRule::compare, bool, C>;

// One struct for each row. `bits` is the width of the operands' dtype in bits (1 for bool), `type` the dtype.
namespace rows {
#define NEAP_UNARY(name, types, dx, kernel, reference, ...)                                             \
  template <class C>                                                                                    \
  struct name##_row {                                                                                   \
    using R = Result<TypeRule::types, C>;                                                               \
    static R eval(C x, [[maybe_unused]] int bits, [[maybe_unused]] DType type) { return R(reference); } \
  };
#define NEAP_BINARY(name, types, dx, dy, kernel, reference, ...)                                             \
  template <class C>                                                                                         \
  struct name##_row {                                                                                        \
    using R = Result<TypeRule::types, C>;                                                                    \
    static R eval(C x, C y, [[maybe_unused]] int bits, [[maybe_unused]] DType type) { return R(reference); } \
  };
#define NEAP_TERNARY(name, types, dx, dy, dz, kernel, reference, ...)               \
  template <class C>                                                                \
  struct name##_row {                                                               \
    using First = std::conditional_t<TypeRule::types == TypeRule::select, bool, C>; \
    using R = Result<TypeRule::types, C>;                                           \
    static R eval(First x, C y, C z, int, DType) { return R(reference); }           \
  };
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
}  // namespace rows

template <class C>
struct Evaluator {
  std::span<const HostValue> in;
  Aval out;
  DType type = in.back().aval.dtype;
  int bits = type == DType::bool_ ? 1 : static_cast<int>(8 * size_of(type));
  size_t count = static_cast<size_t>(out.size());

  template <class Row>
  HostValue unary() const {
    const std::vector<C> x = decode<C>(in[0]);
    std::vector<typename Row::R> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = Row::eval(x[i], bits, type);
    return encode(result, out);
  }
  template <class Row>
  HostValue binary() const {
    const std::vector<C> x = decode<C>(in[0]);
    const std::vector<C> y = decode<C>(in[1]);
    std::vector<typename Row::R> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = Row::eval(x[i], y[i], bits, type);
    return encode(result, out);
  }
  template <class Row>
  HostValue ternary() const {
    const std::vector<typename Row::First> x = decode<typename Row::First>(in[0]);
    const std::vector<C> y = decode<C>(in[1]);
    const std::vector<C> z = decode<C>(in[2]);
    std::vector<typename Row::R> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = Row::eval(x[i], y[i], z[i], bits, type);
    return encode(result, out);
  }

  HostValue run(Op op) const {
    switch (op) {
#define NEAP_UNARY(name, types, ...)          \
  case Op::name:                              \
    if constexpr (kTakes<TypeRule::types, C>) \
      return unary<rows::name##_row<C>>();    \
    else                                      \
      break;
#define NEAP_BINARY(name, types, ...)         \
  case Op::name:                              \
    if constexpr (kTakes<TypeRule::types, C>) \
      return binary<rows::name##_row<C>>();   \
    else                                      \
      break;
#define NEAP_TERNARY(name, types, ...)        \
  case Op::name:                              \
    if constexpr (kTakes<TypeRule::types, C>) \
      return ternary<rows::name##_row<C>>();  \
    else                                      \
      break;
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
      default: break;
    }
    throw InternalError(fmt::format("{} of {} in the reference interpreter", name(op), neap::name(type)));
  }
};

}  // namespace

HostValue reference_elementwise(Op op, std::span<const HostValue> in, Aval out) {
  if (is_complex(in.back().aval.dtype)) return reference_complex_elementwise(op, in, std::move(out));
  return dispatch(in.back().aval.dtype, [&]<class T>() { return Evaluator<Compute<T>>{in, std::move(out)}.run(op); });
}

HostValue reference_convert(Op op, const HostValue& x, Aval out) {
  HostValue result = make_value(std::move(out));
  if (op == Op::bitcast) {
    std::memcpy(result.data->data(), x.data->data(), x.aval.bytes());
    return result;
  }
  dispatch_all(x.aval.dtype, [&]<class From>() {
    dispatch_all(result.aval.dtype, [&]<class To>() {
      const auto from = elements<From>(x);
      const auto to = elements<To>(result);
      for (size_t i = 0; i < to.size(); ++i) to[i] = convert_element<To>(from[i]);
    });
  });
  return result;
}

HostValue reference_leaf(Op op, const Attrs& attrs, Aval out) {
  HostValue result = make_value(std::move(out));
  dispatch_all(result.aval.dtype, [&]<class T>() {
    const auto to = elements<T>(result);
    if (op == Op::iota) {
      const auto axis = static_cast<size_t>(attrs.integer(Attr::axis));
      std::vector<int64_t> position;
      for (size_t i = 0; i < to.size(); ++i) {
        unravel(static_cast<int64_t>(i), result.aval.shape, position);
        to[i] = convert_element<T>(position[axis]);
      }
    } else if (const AttrValue* value = attrs.find(Attr::value); std::holds_alternative<int64_t>(*value)) {
      std::ranges::fill(to, convert_element<T>(std::get<int64_t>(*value)));
    } else {
      std::ranges::fill(to, convert_element<T>(std::get<double>(*value)));
    }
  });
  return result;
}

}  // namespace neap::tracing
