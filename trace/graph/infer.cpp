#include "trace/graph/infer.h"

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "trace/graph/host_call.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {
namespace {

// Returns whether the attribute holds the alternative of AttrValue that it should.
bool right_kind(Attr attr, const AttrValue& value) {
  switch (attr) {
    case Attr::adds:
    case Attr::after:
    case Attr::axis:
    case Attr::copy:
    case Attr::descending:
    case Attr::full:
    case Attr::length:
    case Attr::lower:
    case Attr::marks:
    case Attr::masked:
    case Attr::mode:
    case Attr::num_carry:
    case Attr::num_consts:
    case Attr::packed:
    case Attr::region:
    case Attr::reverse:
    case Attr::transposed:
    case Attr::unit:
    case Attr::vectors: return std::holds_alternative<int64_t>(value);
    case Attr::value: return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    case Attr::dtype: return std::holds_alternative<DType>(value);
    case Attr::callee:
      return std::holds_alternative<HostFunctionPtr>(value) && std::get<HostFunctionPtr>(value) != nullptr;
    case Attr::mesh_axis: return std::holds_alternative<MeshAxisPtr>(value) && std::get<MeshAxisPtr>(value) != nullptr;
    case Attr::label:
    case Attr::saveable: return std::holds_alternative<std::string>(value);
    case Attr::backward:
    case Attr::body:
    case Attr::derivative:
    case Attr::forward:
    case Attr::matvec:
    case Attr::otherwise: return std::holds_alternative<GraphPtr>(value) && std::get<GraphPtr>(value) != nullptr;
    default: return std::holds_alternative<Ints>(value);
  }
}

bool fits_int64(const Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  int64_t count = 1;
  return std::ranges::none_of(shape, [&](int64_t n) { return __builtin_mul_overflow(count, n, &count); });
}

}  // namespace

void check_attrs(Op op, const Attrs& attrs) {
  for (const Attr attr : op_info(op).required) {
    NEAP_CHECK(attrs.has(attr), "{}: attribute {} is missing", name(op), name(attr));
  }
  for (const auto& [attr, value] : attrs.items()) {
    NEAP_CHECK(allows_attr(op, attr), "{}: takes no attribute {}", name(op), name(attr));
    NEAP_CHECK(right_kind(attr, value), "{}: attribute {} is of the wrong kind", name(op), name(attr));
  }
}

namespace {
std::vector<Aval> results_of(const Site& site) {
  switch (op_info(site.op).family) {
    case Family::elementwise: return {infer_elementwise(site)};
    case Family::leaf: return {infer_leaf(site)};
    case Family::convert: return {infer_convert(site)};
    case Family::complex: return {infer_complex(site)};
    case Family::fft: return {infer_fft(site)};
    case Family::layout: return {infer_layout(site)};
    case Family::reduce: return {infer_reduce(site)};
    case Family::argreduce: return {infer_argreduce(site)};
    case Family::sort: return {infer_sort(site)};
    case Family::cumulative: return {infer_cumulative(site)};
    case Family::dot: return {infer_dot(site)};
    case Family::convolution: return {infer_convolution(site)};
    case Family::factor: return {infer_factor(site)};
    case Family::gather: return {infer_gather(site)};
    case Family::scatter: return {infer_scatter(site)};
    case Family::random: return {infer_random(site)};
    case Family::control: return site.op == Op::cond ? infer_cond(site) : infer_loop(site);
    case Family::call: return infer_call(site);
    case Family::host: return {infer_host_call(site)};
    case Family::collective: return infer_collective(site);
  }
  detail::check_failed("family has a rule", std::string(name(site.op)), std::source_location::current());
}
}  // namespace

std::vector<Aval> infer(Op op, std::span<const Aval> operands, const Attrs& attrs, std::source_location loc) {
  const OpInfo& info = op_info(op);
  NEAP_CHECK(info.arity < 0 || operands.size() == static_cast<size_t>(info.arity), "{}: {} operands, not {}", info.name,
             operands.size(), info.arity);
  check_attrs(op, attrs);
  const Site site{op, operands, attrs, loc};
  if (!op_info(op).complex) {
    const auto complex = std::ranges::find_if(operands, [](const Aval& x) { return is_complex(x.dtype); });
    if (complex != operands.end()) {
      site.fail<DTypeError>(to_string(*complex), "a real dtype", "take abs(), real() or imag() of it");
    }
  }
  std::vector<Aval> results = results_of(site);
  for (const Aval& aval : results) {
    int64_t bytes = aval.size();
    if (__builtin_mul_overflow(bytes, static_cast<int64_t>(size_of(aval.dtype)), &bytes)) {
      site.fail<ShapeError>(fmt::format("{} has more than 2^63 bytes", to_string(aval)), "", "make it smaller");
    }
  }
  return results;
}

const Shape& Site::check_shape(const Shape& shape) const {
  if (std::ranges::any_of(shape, [](int64_t n) { return n < 0; })) {
    fail<ShapeError>(fmt::format("shape {} has a negative extent", to_string(shape)), "extents of 0 or more");
  }
  if (!fits_int64(shape)) {
    fail<ShapeError>(fmt::format("shape {} has more than 2^63 elements", to_string(shape)), "", "make it smaller");
  }
  return shape;
}

void Site::check_axis(int64_t axis, int64_t ndim) const {
  if (axis >= 0 && axis < ndim) return;
  fail<IndexError>(fmt::format("axis {} of an operand of {} dimensions", axis, ndim),
                   ndim == 0 ? "no axis: it is a scalar" : fmt::format("0 to {}", ndim - 1));
}

void Site::check_axes(const Ints& axes, int64_t ndim, bool ascending) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    check_axis(axes[i], ndim);
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail<IndexError>(fmt::format("axis {} twice in {}", axes[i], to_string(axes)), "each axis once");
    }
    if (ascending && i > 0 && axes[i] < axes[i - 1]) {
      fail<IndexError>(fmt::format("axes {}", to_string(axes)), "axes in ascending order");
    }
  }
}

void Site::check_length(const Ints& list, int64_t ndim, Attr attr) const {
  if (static_cast<int64_t>(list.size()) == ndim) return;
  fail<ShapeError>(fmt::format("{} {} for {} dimensions ({})", name(attr), to_string(list), ndim, to_string(in[0])),
                   "one entry for each dimension");
}

void Site::check_same_dtype(size_t first) const {
  for (size_t i = first + 1; i < in.size(); ++i) {
    if (in[i].dtype == in[first].dtype) continue;
    fail<DTypeError>(fmt::format("{} and {}", to_string(in[first]), to_string(in[i])), "equal dtypes",
                     fmt::format("convert one of them, for example with astype({})",
                                 neap::name(promote(in[first].dtype, in[i].dtype))));
  }
}

Aval infer_elementwise(const Site& site) {
  const TypeRule rule = op_info(site.op).types;
  const auto in = site.in;
  const bool is_select = rule == TypeRule::select;
  if (is_select && in[0].dtype != DType::bool_) {
    site.fail<DTypeError>(fmt::format("the condition is {}", to_string(in[0])), "bool", "compare it: x != 0");
  }
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i].shape == in[0].shape) continue;
    site.fail<ShapeError>(fmt::format("{} and {}", to_string(in[0]), to_string(in[i])), "equal shapes",
                          broadcast_shapes(in[0].shape, in[i].shape) ? "broadcast one to the other first" : "");
  }
  site.check_same_dtype(is_select ? 1 : 0);
  const DType dtype = in[is_select ? 1 : 0].dtype;
  if (!accepts(rule, dtype) && !is_complex(dtype)) {
    const bool wants_float = rule == TypeRule::floating || rule == TypeRule::predicate;
    const bool wants_bits = rule == TypeRule::integral;
    site.fail<DTypeError>(
        to_string(in[0]),
        wants_float  ? "a floating dtype"
        : wants_bits ? "an integer dtype or bool"
                     : "a floating or integer dtype",
        wants_bits
            ? "bitcast the array to an unsigned dtype of its width"
            : fmt::format("convert it first, for example with astype({})",
                          neap::name(promote_weak(dtype, wants_float ? WeakKind::floating : WeakKind::integer))));
  }
  return {in[0].shape, result_dtype(rule, dtype)};
}

Aval infer_leaf(const Site& site) {
  const Shape& shape = site.check_shape(site.attrs.ints(Attr::shape));
  const DType dtype = site.attrs.dtype(Attr::dtype);
  if (site.op == Op::iota) {
    site.check_axis(site.attrs.integer(Attr::axis), static_cast<int64_t>(shape.size()));
    if (dtype == DType::bool_ || is_complex(dtype)) {
      site.fail<DTypeError>(fmt::format("dtype {}", neap::name(dtype)), "a floating or integer dtype");
    }
  }
  return {shape, dtype};
}

Aval infer_convert(const Site& site) {
  const Aval& x = site.in[0];
  const DType to = site.attrs.dtype(Attr::dtype);
  if (site.op == Op::bitcast) {
    if (size_of(to) != size_of(x.dtype)) {
      site.fail<DTypeError>(fmt::format("{} to {}", to_string(x), neap::name(to)), "dtypes of equal width",
                            fmt::format("{} has elements of {} bytes", neap::name(x.dtype), size_of(x.dtype)));
    }
    if ((to == DType::bool_) != (x.dtype == DType::bool_)) {
      site.fail<DTypeError>(fmt::format("{} to {}", to_string(x), neap::name(to)), "no bool",
                            "bool is one bit: use astype, or compare with != 0");
    }
  }
  const bool loses = is_complex(x.dtype) && !is_complex(to), makes = is_complex(to) && site.op == Op::bitcast;
  if (loses || makes) {
    site.fail<DTypeError>(fmt::format("{} to {}", to_string(x), neap::name(to)), "",
                          "real() and imag() are the parts of a complex number, complex() makes one of them");
  }
  return {x.shape, to};
}

Aval infer_complex(const Site& site) {
  const Aval& x = site.in[0];
  if (site.op != Op::complex) {
    if (!is_complex(x.dtype)) site.fail<DTypeError>(to_string(x), "a complex dtype");
    return {x.shape, real_dtype(x.dtype)};
  }
  site.check_same_dtype();
  if (x.dtype != DType::f32 && x.dtype != DType::f64) site.fail<DTypeError>(to_string(x), "f32 or f64");
  if (x.shape != site.in[1].shape) {
    site.fail<ShapeError>(fmt::format("{} and {}", to_string(x), to_string(site.in[1])), "equal shapes");
  }
  return {x.shape, complex_dtype(x.dtype)};
}

namespace {
Aval infer_fft_of_pairs(const Site& site) {
  Aval x = site.in[0];
  if (x.dtype != DType::f32 && x.dtype != DType::f64) site.fail<DTypeError>(to_string(x), "f32 or f64");
  const int64_t axis = site.attrs.integer(Attr::axis);
  if (site.op == Op::rfft_pairs) {
    site.check_axis(axis, x.ndim());
    int64_t& n = x.shape[axis];
    if (n < 2 || n % 2 != 0) site.fail<ShapeError>(to_string(site.in[0]), "an even number of elements along the axis");
    n = n / 2 + 1;
    x.shape.push_back(2);
    return x;
  }
  if (x.shape.empty() || x.shape.back() != 2) site.fail<ShapeError>(to_string(x), "pairs along the last axis");
  site.check_axis(axis, x.ndim() - 1);
  if (site.op == Op::fft_pairs) return x;
  x.shape.pop_back();
  int64_t& n = x.shape[axis];
  if (n < 2) site.fail<ShapeError>(to_string(site.in[0]), "two elements along the axis, or more");
  n = 2 * (n - 1);
  return x;
}
}  // namespace

Aval infer_fft(const Site& site) {
  const Aval& x = site.in[0];
  if (site.op != Op::fft) return infer_fft_of_pairs(site);
  if (!is_complex(x.dtype)) site.fail<DTypeError>(to_string(x), "a complex dtype", "convert it with astype(c64)");
  site.check_axis(site.attrs.integer(Attr::axis), x.ndim());
  return x;
}

}  // namespace neap::tracing
