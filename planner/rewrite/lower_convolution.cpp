#include "planner/rewrite/lower_convolution.h"

#include <neap/creation.h>
#include <neap/ops.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "trace/graph/call.h"
#include "trace/graph/convolution.h"
#include "trace/graph/infer.h"
#include "trace/graph/op_table.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/interpret.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kMostSpace = 3;       // axes of space that a step has
constexpr int64_t kLongWindow = 32;    // where a sum over the window could be one step in place of so many products,
constexpr int64_t kFewProducts = 4;    // and each place of the operand is multiplied by no more than so many weights
constexpr int64_t kMostClasses = 256;  // of results, beyond which zeros are written between the operand's elements

Ints in_order(size_t n) {
  Ints axes(n);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// A convolution whose axes are in the order of their roles: operand [group, batch, in, space...], window [group, out,
// in, window...], result [group, batch, out, space...].
struct Site {
  Array x, w;
  std::vector<Window> windows;
  bool is_step;  // where there are no zeros between elements; else it becomes products
  std::source_location loc;

  size_t rank() const { return x.shape().size(); }
  int64_t count(size_t i) const { return windows[i].count(x.shape()[3 + i]); }
  Array step() const {
    const Ints axes = in_order(rank());
    return apply(Op::convolution, {x, w}, convolution_attrs(axes, axes, axes, windows), loc);
  }
};

// One with the zeros between the operand's elements and around it.
Site padded(const Site& site) {
  Ints low(site.rank()), high = low, interior = low;
  Site result = site;
  for (size_t i = 0; i < site.windows.size(); ++i) {
    Window& w = result.windows[i];
    low[3 + i] = w.low, high[3 + i] = w.high, interior[3 + i] = w.interior;
    w.low = w.high = w.interior = 0;
  }
  result.x = pad(site.x, low, high, 0, interior);
  return result;
}

// What a place of the window, or the window at a place of the result, reads of each example.
enum class Reads : uint8_t { tap, window };
Array read(const Site& site, const Shape& place, Reads reads) {
  Shape start(site.rank(), 0), limit = site.x.shape(), stride(site.rank(), 1);
  for (size_t i = 0; i < site.windows.size(); ++i) {
    const Window& w = site.windows[i];
    const auto [first, count, step] = reads == Reads::tap ? std::array{place[i] * w.dilation, site.count(i), w.stride}
                                                          : std::array{place[i] * w.stride, w.size, w.dilation};
    start[3 + i] = first, limit[3 + i] = first + (count - 1) * step + 1, stride[3 + i] = step;
  }
  return strided_slice(site.x, start, limit, stride);
}

Shape place_of(int64_t number, const Shape& shape) {
  Shape place(shape.size());
  for (size_t i = shape.size(); i-- > 0; number /= shape[i]) place[i] = number % shape[i];
  return place;
}

// With the batch before the features of the result.
Array in_order_of_results(const Array& features_first) {
  Ints order = in_order(features_first.shape().size());
  std::swap(order[1], order[2]);
  return transpose(features_first, order);
}

// A sum of products, one for each place of the window.
Array by_taps(const Site& plain) {
  const Site site = padded(plain);
  Array total;  // [group, out, batch, space...]
  const Shape window(site.w.shape().begin() + 3, site.w.shape().end());
  for (int64_t tap = 0; tap < element_count(window); ++tap) {
    const Shape place = place_of(tap, window);
    Shape from(site.rank(), 0), to = site.w.shape();
    for (size_t i = 0; i < place.size(); ++i) from[3 + i] = place[i], to[3 + i] = place[i] + 1;
    const Array weights = reshape(strided_slice(site.w, from, to), Shape(to.begin(), to.begin() + 3));
    const Array product = dot_general(weights, read(site, place, Reads::tap), {2}, {2}, {0}, {0});
    if (tap > 0) {
      total = total + product;
    } else {
      const bool single = weights.shape()[2] == 1 && is_float(product.dtype());
      total = single ? product + 0 : product;  // a sum starts from 0, so that of -0 is 0
    }
  }
  return in_order_of_results(total);
}

// A product for each place of the result, where these are fewer than the window has.
Array by_results(const Site& plain) {
  const Site site = padded(plain);
  Shape counts;
  Ints contracted{2};
  for (size_t i = 0; i < site.windows.size(); ++i) {
    counts.push_back(site.count(i));
    contracted.push_back(static_cast<int64_t>(3 + i));
  }
  Arrays products;
  for (int64_t p = 0; p < element_count(counts); ++p) {
    const Array window = read(site, place_of(p, counts), Reads::window);
    products.push_back(expand_dims(dot_general(site.w, window, contracted, contracted, {0}, {0}), 3));
  }
  Shape shape{site.x.shape()[0], site.w.shape()[1], site.x.shape()[1]};
  shape.insert(shape.end(), counts.begin(), counts.end());
  return in_order_of_results(reshape(concatenate(products, 3), shape));
}

// Along one axis of space, as one sum over the windows, each read where it lies.
Array by_windows(const Site& plain) {
  const Site site = padded(plain);
  const Window& w = site.windows[0];
  const Shape indices{site.count(0), w.size};
  const Array at = iota(indices, 0, DType::i64) * w.stride + iota(indices, 1, DType::i64) * w.dilation;
  const Array read = expand_dims(take(site.x, at, 3), 2);        // [group, batch, 1, in, count, window]
  const Array weights = expand_dims(expand_dims(site.w, 1), 4);  // [group, 1, out, in, 1, window]
  return sum(read * weights, {3, 5}).astype(site.x.dtype());
}

// One without zeros between elements.
Array lowered(const Site& site) {
  if (site.is_step) return site.step();
  int64_t taps = 1, results = 1;
  for (size_t i = 0; i < site.windows.size(); ++i) taps *= site.windows[i].size, results *= site.count(i);
  const int64_t products = site.w.shape()[1] * site.x.shape()[1] * site.x.shape()[2];
  if (site.windows.size() == 1 && std::min(taps, results) > kLongWindow && products <= kFewProducts)
    return by_windows(site);
  return results < taps ? by_results(site) : by_taps(site);
}

Array without_zeros(const Site& site);

// Results p with p - low = stride u - rest, stride being that of the zeros, read places of the window rest, rest +
// stride, ... of the operand from u on. Rests that have as many places are further features of one convolution.
Array phase_by_phase(const Site& site, size_t i) {
  const Window w = site.windows[i];
  const auto axis = static_cast<int64_t>(3 + i);
  const int64_t step = w.interior + 1, most = (w.size + step - 1) / step, with_most = w.size - (most - 1) * step;
  const int64_t count = site.count(i), extent = site.x.shape()[axis];
  const int64_t first = -floor_div(w.low, step), last = -floor_div(w.low - (count - 1), step), steps = last - first + 1;

  Ints high(site.rank(), 0);
  high[axis] = most * step - w.size;
  Shape split = site.w.shape();
  split[axis] = most;
  split.insert(split.begin() + axis + 1, step);
  const Array places = reshape(pad(site.w, Ints(site.rank(), 0), high, 0), split);

  Arrays parts;  // [group, batch, out, rest..., space...], the largest rest first
  for (const auto& [begin, end, size] : {std::array{with_most, step, most - 1}, {int64_t{0}, with_most, most}}) {
    if (begin == end) continue;
    Shape shape = site.x.shape();
    shape[2] = site.w.shape()[1];
    for (size_t j = 0; j < site.windows.size(); ++j) shape[3 + j] = j == i ? steps : site.count(j);
    shape.insert(shape.begin() + 3, end - begin);
    if (size == 0) {
      parts.push_back(zeros(shape, site.x.dtype()));
      continue;
    }
    const Array chosen =
        reverse(slice_in_dim(slice_in_dim(places, 0, size, axis), begin, end, axis + 1), Ints{axis + 1});
    const Array moved = moveaxis(chosen, axis + 1, 2);
    Shape merged(moved.shape().begin(), moved.shape().end());
    merged[1] *= end - begin;
    merged.erase(merged.begin() + 2);
    Site part = site;
    part.w = reshape(moved, merged);
    part.windows[i] = {.size = size, .low = -first, .high = steps - 1 + size - extent + first};
    parts.push_back(reshape(without_zeros(part), shape));
  }
  const Array all = moveaxis(parts.size() == 1 ? parts[0] : concatenate(parts, 3), 3, axis + 1);  // behind its axis
  Shape joined(all.shape().begin(), all.shape().end());
  joined[axis] *= step;
  joined.erase(joined.begin() + axis + 1);
  const int64_t begin = step - 1 - (step * first + w.low);
  return slice_in_dim(reshape(all, joined), begin, begin + count, axis);
}

// In general, the results p = classes u + rest read the places first + every v of the window, and of the operand the
// elements stride u + dilation v + begin: each class of results is a convolution without zeros.
Array class_by_class(const Site& site, size_t i) {
  const Window w = site.windows[i];
  const auto axis = static_cast<int64_t>(3 + i);
  const int64_t step = w.interior + 1, classes = step / std::gcd(w.stride, step),
                every = step / std::gcd(w.dilation, step);
  if (classes > kMostClasses) return without_zeros(padded(site));
  const int64_t count = site.count(i), extent = site.x.shape()[axis], most = (count + classes - 1) / classes;
  Shape shape = site.x.shape();
  shape[2] = site.w.shape()[1];
  for (size_t j = 0; j < site.windows.size(); ++j) shape[3 + j] = j == i ? most : site.count(j);
  Arrays parts;
  for (int64_t rest = 0; rest < classes; ++rest) {
    const auto from = [&](int64_t place) { return rest * w.stride + place * w.dilation - w.low; };
    int64_t first = 0;
    while (first < every && from(first) % step != 0) ++first;
    const int64_t steps = (count - rest + classes - 1) / classes;
    if (first == every || first >= w.size || steps <= 0) {
      parts.push_back(expand_dims(zeros(shape, site.x.dtype()), axis + 1));
      continue;
    }
    Site part = site;
    Shape start(site.rank(), 0), stride(site.rank(), 1);
    start[axis] = first, stride[axis] = every;
    part.w = strided_slice(site.w, start, site.w.shape(), stride);
    Window& of = part.windows[i];
    of = {part.w.shape()[axis], classes * w.stride / step, every * w.dilation / step, -from(first) / step, 0, 0};
    of.high = (steps - 1) * of.stride + of.reach().value() - extent - of.low;
    Ints none(site.rank(), 0), high = none;
    high[axis] = most - steps;
    parts.push_back(expand_dims(pad(without_zeros(part), none, high, 0), axis + 1));
  }
  Shape joined = shape;
  joined[axis] *= classes;
  return slice_in_dim(reshape(concatenate(parts, axis + 1), joined), 0, count, axis);
}

Array without_zeros(const Site& site) {
  for (size_t i = 0; i < site.windows.size(); ++i) {
    const Window& w = site.windows[i];
    if (w.interior == 0) continue;
    return w.stride == 1 && w.dilation == 1 ? phase_by_phase(site, i) : class_by_class(site, i);
  }
  return lowered(site);
}

Array lower(const Node& node, const Arrays& in, const Target& target) {
  const ConvolutionView view{node.attrs};
  const DType dtype = in[0].dtype(), computed = wide(dtype);
  const bool steps = !target.gpu && is_float(dtype) && view.space() <= kMostSpace;
  std::vector<Window> windows;
  bool zeros_between = false;
  for (size_t i = 0; i < view.space(); ++i) {
    windows.push_back(view.window(i, in[1].shape()[view.rhs()[3 + i]]));
    if (in[0].shape()[view.lhs()[3 + i]] == 1) windows[i].interior = 0;
    zeros_between = zeros_between || windows[i].interior > 0;
  }
  const Array x = in[0].astype(computed), w = in[1].astype(computed);
  const Shape& lhs = in[0].shape();
  bool nothing = lhs[view.lhs()[0]] == 0 || lhs[view.lhs()[1]] == 0 || lhs[view.lhs()[2]] == 0 ||
                 in[1].shape()[view.rhs()[1]] == 0;
  for (size_t i = 0; i < windows.size(); ++i) nothing = nothing || windows[i].count(lhs[view.lhs()[3 + i]]) == 0;
  if (nothing) {
    const Aval out = infer(node.op, std::array{in[0].aval(), in[1].aval()}, node.attrs, node.loc)[0];
    return zeros(out.shape, dtype);
  }
  if (steps && !zeros_between) {
    const auto axes = convolution_attrs(view.lhs(), view.rhs(), view.out(), windows);
    return apply(node.op, {x, w}, axes, node.loc).astype(dtype);
  }
  const Site site{transpose(x, view.lhs()), transpose(w, view.rhs()), windows, steps, node.loc};
  return transpose(without_zeros(site), inverse(view.out())).astype(dtype);
}

bool has_convolution(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    if (node.op == Op::convolution) return true;
    return std::ranges::any_of(node.attrs.items(), [](const auto& item) {
      const GraphPtr* body = std::get_if<GraphPtr>(&item.second);
      return body && *body && has_convolution(**body);
    });
  });
}

}  // namespace

Graph lower_convolutions(Graph with_calls, const Target& target) {
  if (!has_convolution(with_calls)) return with_calls;
  const Graph graph = inline_calls(eliminate_dead_code(with_calls));
  const auto rule = [&](const Node& node, const Arrays& in) -> Arrays {
    if (node.op == Op::convolution) return {lower(node, in, target)};
    Attrs attrs = node.attrs;
    for (const Attr body : {Attr::body, Attr::otherwise}) {
      if (!attrs.has(body) || !has_convolution(*attrs.graph(body))) continue;
      attrs.set(body, std::make_shared<const Graph>(lower_convolutions(*attrs.graph(body), target)));
    }
    return apply_many(node.op, in, std::move(attrs), node.loc);
  };
  Graph lowered = trace_closed(
      graph.avals(graph.inputs), [&](const Arrays& in) { return pick(interpret(graph, in, rule), graph.outputs); },
      graph.name);
  lowered.num_captured = graph.num_captured;
  return lowered;
}

}  // namespace neap::planner
