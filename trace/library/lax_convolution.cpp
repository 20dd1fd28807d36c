// Convolutions with axes in any order and of any number, and groups of the batch, as conv_general().
#include <neap/creation.h>
#include <neap/lax.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap::lax {

using namespace tracing;
using Loc = std::source_location;

namespace {

constexpr int64_t kMostSpatial = 3;  // of conv_general()

Shape order_of(const Shape& given, int64_t rank, std::string_view what, Loc loc) {
  Shape order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (given.empty()) return order;
  Shape sorted = given;
  std::ranges::sort(sorted);
  if (sorted != order)
    throw_user<ShapeError>("conv_general_dilated", fmt::format("axes {} of {}", to_string(given), what),
                           fmt::format("each of its {} axes once", rank), "", loc);
  return given;
}

// What conv_general() checks of its axes, for any number of them.
void check_windows(const Windows& windows, const Shape& window, Loc loc) {
  const auto refuse = [&](std::string got, std::string expected) {
    throw_user<ShapeError>("conv_general_dilated", std::move(got), std::move(expected), "", loc);
  };
  const auto is_small = [](int64_t n) { return n < 1; };
  for (const auto& [what, list] : {std::pair{"stride", &windows.stride},
                                   {"dilation", &windows.dilation},
                                   {"input dilation", &windows.input_dilation}})
    if (!list->empty() && (list->size() != window.size() || std::ranges::any_of(*list, is_small)))
      refuse(fmt::format("{} {}", what, to_string(*list)), fmt::format("{} numbers of 1 and more", window.size()));
  if (std::ranges::any_of(window, is_small)) refuse("window " + to_string(window), "extents of 1 and more");
  if (!windows.padding.empty() && windows.padding.size() != window.size())
    refuse(fmt::format("{} paddings", windows.padding.size()), fmt::format("{}", window.size()));
  if (windows.same && !windows.padding.empty()) refuse("both `same` and a padding", "one of them");
}

// The first spatial axis of a list, taken away.
template <class List>
List without_first(const List& list) {
  return list.empty() ? list : List(list.begin() + 1, list.end());
}
int64_t first_or(const Shape& list, int64_t otherwise) { return list.empty() ? otherwise : list[0]; }

// x [b, c, s...] and w [o, i, k...] with any number of spatial axes.
Array convolved(const Array& x, const Array& w, const Windows& windows, Loc loc) {
  const int64_t spatial = x.ndim() - 2;
  if (spatial == 0) {
    Windows one;
    one.groups = windows.groups;
    return squeeze(conv_general(expand_dims(x, 2), expand_dims(w, 2), one), 2);
  }
  if (spatial <= kMostSpatial) return conv_general(x, w, windows);
  // The windows' positions along the first axis go with the batch; what each of its taps gives is added up.
  Windows rest = windows;
  rest.stride = without_first(windows.stride), rest.dilation = without_first(windows.dilation);
  rest.input_dilation = without_first(windows.input_dilation), rest.padding = without_first(windows.padding);
  const int64_t stride = first_or(windows.stride, 1), dilation = first_or(windows.dilation, 1);
  const int64_t inner = first_or(windows.input_dilation, 1), taps = w.shape(2);
  const int64_t n = x.shape(2) == 0 ? 0 : (x.shape(2) - 1) * inner + 1, reach = (taps - 1) * dilation + 1;
  int64_t low = windows.padding.empty() ? 0 : windows.padding[0].first;
  int64_t high = windows.padding.empty() ? 0 : windows.padding[0].second;
  if (windows.same) {
    const int64_t all = std::max<int64_t>(0, ((n + stride - 1) / stride - 1) * stride + reach - n);
    low = all / 2, high = all - low;
  }
  const int64_t lacking = std::max<int64_t>(0, reach - (n + low + high));  // of a window that fits nowhere
  high += lacking;
  Shape lows(static_cast<size_t>(x.ndim()), 0), highs = lows, between = lows;
  lows[2] = low, highs[2] = high, between[2] = inner - 1;
  const Array padded = pad(x, lows, highs, zeros({}, x.dtype()), between);
  const int64_t count = (padded.shape(2) - reach) / stride + 1;  // one where none fits: it is cut at the end
  const DType sums = wide(x.dtype());
  Array total;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Shape start(static_cast<size_t>(x.ndim()), 0), limit = padded.shape(), step(static_cast<size_t>(x.ndim()), 1);
    start[2] = tap * dilation, limit[2] = start[2] + (count - 1) * stride + 1, step[2] = stride;
    const Array read = moveaxis(strided_slice(padded, start, limit, step), 2, 1);  // [b, count, c, rest...]
    Shape flat(read.shape().begin() + 1, read.shape().end());
    flat[0] = read.shape(0) * count;
    Array part = convolved(reshape(read, flat).astype(sums), squeeze(slice_in_dim(w, tap, tap + 1, 2), 2).astype(sums),
                           rest, loc);
    total = total.impl() ? total + part : part;
  }
  Shape apart = total.shape();
  apart[0] = count;
  apart.insert(apart.begin(), x.shape(0));
  const Array result = moveaxis(reshape(total, apart), 1, 2).astype(x.dtype());
  return lacking > 0 ? slice_in_dim(result, 0, 0, 2) : result;
}

}  // namespace

Array conv_general_dilated(const Operand& x, const Operand& w, const Windows& windows, const ConvDims& dims,
                           int64_t batch_groups) {
  const AtLine line(x.loc());
  const Loc loc = user_line(x.loc());
  const Arrays both = promoted({x.as_array(), w.as_array()}, loc);
  const int64_t rank = both[0].ndim();
  const auto refuse = [&](std::string got, std::string expected) {
    throw_user<ShapeError>("conv_general_dilated", std::move(got), std::move(expected), "", loc);
  };
  if (rank < 2 || both[1].ndim() != rank)
    refuse(fmt::format("{} and {}", to_string(both[0].aval()), to_string(both[1].aval())),
           "as many axes, a batch and features at least");
  Array a = transpose(both[0], order_of(dims.lhs, rank, "the operand", loc));
  const Array b = transpose(both[1], order_of(dims.rhs, rank, "the window", loc));
  check_windows(windows, Shape(b.shape().begin() + 2, b.shape().end()), loc);
  Windows each = windows;
  if (batch_groups < 1 || (batch_groups > 1 && windows.groups != 1))
    refuse(fmt::format("{} groups of the batch, {} of the features", batch_groups, windows.groups), "1 of one of them");
  if (batch_groups > 1) {
    if (a.shape(0) % batch_groups != 0 || b.shape(0) % batch_groups != 0 || b.shape(1) != a.shape(1))
      refuse(
          fmt::format("{} groups of the batch of {} with {}", batch_groups, to_string(a.aval()), to_string(b.aval())),
          "equal parts of the batch and of the features of the result, and as many features in both");
    // The groups' images become groups of features.
    Shape apart = a.shape();
    apart[0] /= batch_groups;
    apart.insert(apart.begin(), batch_groups);
    Shape joined = a.shape();
    joined[0] /= batch_groups, joined[1] *= batch_groups;
    a = reshape(moveaxis(reshape(a, apart), 0, 1), joined);
    each.groups = batch_groups;
  }
  return transpose(convolved(a, b, each, loc), inverse(order_of(dims.out, rank, "the result", loc)));
}

}  // namespace neap::lax
