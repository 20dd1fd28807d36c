// Ops that move elements, reductions and products.
#include "trace/reference/reference_values.h"

namespace neap::tracing {

Ints other_axes(int64_t ndim, const Ints& axes) {
  Ints result;
  for (int64_t axis = 0; axis < ndim; ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) result.push_back(axis);
  }
  return result;
}

std::vector<int64_t> offsets_along(const Shape& shape, const Ints& axes) {
  const Shape strides = row_major_strides(shape);
  std::vector<int64_t> offsets{0};
  for (const int64_t axis : axes) {
    std::vector<int64_t> finer;
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < shape[axis]; ++i) finer.push_back(offset + i * strides[axis]);
    }
    offsets = std::move(finer);
  }
  return offsets;
}

std::vector<int64_t> decode_integers(const HostValue& value) {
  if (!is_unsigned(value.aval.dtype)) return decode<int64_t>(value);
  std::vector<int64_t> out;
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  for (const uint64_t x : decode<uint64_t>(value)) out.push_back(static_cast<int64_t>(std::min(x, kMax)));
  return out;
}

namespace {

using Position = std::vector<int64_t>;

// Writes element source(position) of x to each position of the result; a source of -1 leaves the element as it is.
template <class Source>
void move_elements(HostValue& result, const HostValue& x, Source source) {
  Position position;
  for (int64_t i = 0; i < result.aval.size(); ++i) {
    unravel(i, result.aval.shape, position);
    const int64_t from = source(position);
    if (from >= 0) copy_element(result, i, x, from);
  }
}

void broadcast(HostValue& result, const HostValue& x, const Ints& axes) {
  const Shape strides = row_major_strides(x.aval.shape);
  move_elements(result, x, [&](const Position& to) {
    int64_t from = 0;
    for (size_t i = 0; i < axes.size(); ++i) from += x.aval.shape[i] == 1 ? 0 : to[axes[i]] * strides[i];
    return from;
  });
}

void transpose(HostValue& result, const HostValue& x, const Ints& permutation) {
  const Shape strides = row_major_strides(x.aval.shape);
  move_elements(result, x, [&](const Position& to) {
    int64_t from = 0;
    for (size_t i = 0; i < to.size(); ++i) from += to[i] * strides[permutation[i]];
    return from;
  });
}

void slice(HostValue& result, const HostValue& x, const Ints& start, const Ints& stride) {
  const Shape strides = row_major_strides(x.aval.shape);
  move_elements(result, x, [&](const Position& to) {
    int64_t from = 0;
    for (size_t i = 0; i < to.size(); ++i) from += (start[i] + to[i] * stride[i]) * strides[i];
    return from;
  });
}

void pad(HostValue& result, const HostValue& x, const HostValue& value, const Ints& low, const Ints& interior) {
  const Shape strides = row_major_strides(x.aval.shape);
  move_elements(result, value, [](const Position&) { return 0; });
  move_elements(result, x, [&](const Position& to) -> int64_t {
    int64_t from = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      const int64_t k = to[i] - low[i];
      if (k < 0 || k % (interior[i] + 1) != 0 || k / (interior[i] + 1) >= x.aval.shape[i]) return -1;
      from += k / (interior[i] + 1) * strides[i];
    }
    return from;
  });
}

void concatenate(HostValue& result, std::span<const HostValue> in, int64_t axis) {
  int64_t begin = 0;
  for (const HostValue& x : in) {
    const Shape strides = row_major_strides(x.aval.shape);
    const int64_t extent = x.aval.shape[axis];
    move_elements(result, x, [&](Position to) {
      to[axis] -= begin;
      return to[axis] >= 0 && to[axis] < extent ? dot(to, strides) : -1;
    });
    begin += extent;
  }
}

void reverse(HostValue& result, const HostValue& x, const Ints& axes) {
  const Shape strides = row_major_strides(x.aval.shape);
  move_elements(result, x, [&](Position to) {
    for (const int64_t axis : axes) to[axis] = x.aval.shape[axis] - 1 - to[axis];
    return dot(to, strides);
  });
}

Position clamped_start(const HostValue& start, const Shape& whole, const Shape& window) {
  Position result = decode_integers(start);
  for (size_t i = 0; i < result.size(); ++i) result[i] = std::clamp<int64_t>(result[i], 0, whole[i] - window[i]);
  return result;
}

}  // namespace

HostValue reference_layout(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  const HostValue& x = in[0];
  HostValue result = make_value(std::move(out));
  switch (op) {
    case Op::broadcast_in_dim: broadcast(result, x, attrs.ints(Attr::axes)); break;
    case Op::reshape: std::memcpy(result.data->data(), x.data->data(), x.aval.bytes()); break;
    case Op::transpose: transpose(result, x, attrs.ints(Attr::permutation)); break;
    case Op::slice: slice(result, x, attrs.ints(Attr::start), attrs.ints(Attr::stride)); break;
    case Op::pad: pad(result, x, in[1], attrs.ints(Attr::low), attrs.ints(Attr::interior)); break;
    case Op::concatenate: concatenate(result, in, attrs.integer(Attr::axis)); break;
    case Op::reverse: reverse(result, x, attrs.ints(Attr::axes)); break;
    case Op::dynamic_slice: {
      const Position start = clamped_start(in[1], x.aval.shape, result.aval.shape);
      slice(result, x, start, Ints(start.size(), 1));
      break;
    }
    case Op::dynamic_update_slice: {
      const Shape& window = in[1].aval.shape;
      const Position start = clamped_start(in[2], x.aval.shape, window);
      const Shape strides = row_major_strides(x.aval.shape);
      std::memcpy(result.data->data(), x.data->data(), x.aval.bytes());
      Position position;
      for (int64_t i = 0; i < in[1].aval.size(); ++i) {
        unravel(i, window, position);
        copy_element(result, dot(position, strides) + dot(start, strides), in[1], i);
      }
      break;
    }
    default: throw InternalError("no layout op");
  }
  return result;
}

}  // namespace neap::tracing
