// Convolutions and poolings of numpy.h: a sum, or an extreme, over the taps of a window.
#include <neap/creation.h>
#include <neap/reduce.h>
#include <neap/transforms.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "trace/graph/convolution.h"
#include "trace/library/taps.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

std::string key_of(std::string_view name, const Shape& window, const Windows& w) {
  std::string key = fmt::format("{} {} {} {} {} {} {}", name, to_string(window), to_string(w.stride), w.same,
                                to_string(w.dilation), to_string(w.input_dilation), w.groups);
  for (const auto& [low, high] : w.padding) key += fmt::format(" {} {}", low, high);
  return key;
}

Array pool(std::string_view name, const Operand& x, const Shape& window, const Windows& windows, double outside,
           const std::function<Array(const Array&, const Array&)>& join, bool average = false) {
  const AtLine line(x.loc());
  const Array a = x.as_array();
  if (window.empty() || window.size() > a.shape().size())
    throw_user<ShapeError>(name, fmt::format("window {} over {}", to_string(window), to_string(a.aval())),
                           "one to as many axes as the array has", "", user_line(x.loc()));
  if (!windows.input_dilation.empty() || windows.groups != 1)
    throw_user<ShapeError>(name, "an input dilation or groups", "neither: they are conv_general's", "",
                           user_line(x.loc()));
  const Taps taps(name, a.shape(), window, windows, user_line(x.loc()));
  if (taps.empty()) {
    Shape none(a.shape().begin(), a.shape().end() - std::ssize(window));
    none.insert(none.end(), taps.count().begin(), taps.count().end());
    return zeros(none, a.dtype());
  }
  return composite(key_of(name, window, windows), {a}, [&](const Arrays& in) {
    const DType dtype = in[0].dtype();  // half types are added up in f32
    const Array padded = taps.padded(in[0].astype(wide(dtype)), outside);
    Array result = taps.read(padded, taps.position(0));
    for (int64_t tap = 1; tap < taps.size(); ++tap) result = join(result, taps.read(padded, taps.position(tap)));
    return (average ? result * (1.0 / static_cast<double>(taps.size())) : result).astype(dtype);
  });
}

}  // namespace

Array conv_general(const Operand& x, const Operand& w, const Windows& windows) {
  const AtLine line(x.loc());
  const std::array<const Operand*, 2> operands{&x, &w};
  const DType dtype = common_dtype(operands), computed = dtype == DType::bool_ ? DType::i32 : dtype;
  const Array a = x.as(dtype), kernel = w.as(dtype);
  const int64_t spatial = a.ndim() - 2, groups = windows.groups;
  const auto refuse = [&](const std::string& expected) {
    throw_user<ShapeError>(
        "conv_general", fmt::format("{} with {} in {} groups", to_string(a.aval()), to_string(kernel.aval()), groups),
        expected, "", user_line(x.loc()));
  };
  if (spatial < 1 || spatial > 3 || kernel.ndim() != a.ndim())
    refuse("[batch, channels, space...] with [out, channels / groups, window...], one to three spatial axes");
  if (groups < 1 || a.shape(1) % groups != 0 || kernel.shape(0) % groups != 0 || kernel.shape(1) != a.shape(1) / groups)
    refuse("channels and outputs that the groups divide, and the kernel's share of the channels");
  const Shape window(kernel.shape().begin() + 2, kernel.shape().end());
  const Taps taps("conv_general", a.shape(), window, windows, user_line(x.loc()));
  const int64_t batch = a.shape(0), in_group = kernel.shape(1), out_group = kernel.shape(0) / groups;
  Shape result{batch, groups * out_group};
  result.insert(result.end(), taps.count().begin(), taps.count().end());
  check_extents("conv_general", result, dtype, user_line(x.loc()));
  if (taps.empty()) return zeros(result, dtype);
  // With an axis of the groups: [batch, group, channels of it, space...] and [group, out of it, channels, window...].
  const auto grouped = [](const Array& v, const Shape& first, int64_t from) {
    Shape shape = first;
    shape.insert(shape.end(), v.shape().begin() + from, v.shape().end());
    return reshape(v, shape);
  };
  Ints image{1, 0, 2}, filter{0, 1, 2};
  for (int64_t i = 0; i < spatial; ++i) image.push_back(3 + i), filter.push_back(3 + i);
  const Array out = apply(Op::convolution,
                          {grouped(a.astype(computed), {batch, groups, in_group}, 2),
                           grouped(kernel.astype(computed), {groups, out_group}, 1)},
                          convolution_attrs(image, filter, image, taps.windows()), x.loc());
  return reshape(out, result).astype(dtype);
}

namespace {
void refuse_complex(std::string_view name, const Operand& x) {
  if (is_complex(x.dtype()))
    throw_user<DTypeError>(name, to_string(x.as_array().aval()), "a real dtype", "complex numbers have no order",
                           user_line(x.loc()));
}

// The first element of a window that reaches its maximum has all of the derivative, as JAX has it; the padding has
// none.
Array largest(std::string_view name, const Operand& x, const Shape& window, const Windows& windows) {
  const double lowest = lowest_of(x.dtype());
  const std::string op(name);
  const auto values = [=](const Array& a) {
    return pool(op, Operand(a, {}), window, windows, lowest,
                [](const Array& p, const Array& q) { return maximum(p, q); });
  };
  const AtLine line(x.loc());
  const Array given = x.as_array();
  if (!is_float(given.dtype())) return values(given);
  return custom_jvp(
      values,
      [=](const Array& a, const Array& da) {
        const Taps taps(op, a.shape(), window, windows, {});
        const Array most = values(a);
        if (taps.empty()) return zeros(most.shape(), da.dtype());
        const Array padded = taps.padded(a, lowest), t = taps.padded(da.astype(wide(da.dtype())), 0);
        const Array inside = taps.padded(ones(a.shape(), DType::bool_), 0);
        const DType number = taps.size() < 255 ? DType::u8 : DType::i32;
        const Array none = full({}, static_cast<double>(taps.size()), number);
        Array first = broadcast_to(none, most.shape());
        for (int64_t tap = taps.size() - 1; tap >= 0; --tap) {
          const auto read = [&](const Array& of) { return taps.read(of, taps.position(tap)); };
          const Array value = read(padded), reaches = (value == most) | isnan(value);
          first = where(read(inside) & reaches, full({}, static_cast<double>(tap), number), first);
        }
        Array result = zeros(most.shape(), t.dtype());
        for (int64_t tap = 0; tap < taps.size(); ++tap) {
          const Array is_this = first == full({}, static_cast<double>(tap), number);
          result = result + where(is_this, taps.read(t, taps.position(tap)), zeros(most.shape(), t.dtype()));
        }
        return result.astype(da.dtype());
      },
      user_line({}))(given);
}
}  // namespace

Array max_pool(const Operand& x, const Shape& window, const Windows& windows) {
  refuse_complex("max_pool", x);
  return largest("max_pool", x, window, windows);
}
Array min_pool(const Operand& x, const Shape& window, const Windows& windows) {
  const AtLine line(x.loc());
  refuse_complex("min_pool", x);
  if (!is_float(x.dtype())) return ~largest("min_pool", Operand(~x, x.loc()), window, windows);
  return -largest("min_pool", Operand(-x, x.loc()), window, windows);
}
Array sum_pool(const Operand& x, const Shape& window, const Windows& windows) {
  const AtLine line(x.loc());
  const Array a = x.as(sum_dtype(x.dtype()));
  return pool("sum_pool", Operand(a, x.loc()), window, windows, 0,
              [](const Array& p, const Array& q) { return p + q; });
}
Array avg_pool(const Operand& x, const Shape& window, const Windows& windows) {
  const AtLine line(x.loc());
  const Array a = x.as(to_float_dtype(x.dtype()));
  return pool(
      "avg_pool", Operand(a, x.loc()), window, windows, 0, [](const Array& p, const Array& q) { return p + q; }, true);
}

}  // namespace neap
