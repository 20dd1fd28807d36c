// Random steps of layout, index and elementwise ops, ending in a map, a reduction or a scatter.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/backends/lowering.h"

namespace neap::backends {

class Program {
 public:
  explicit Program(unsigned seed) : rng_(seed) {
    for (int i = 0; i < 3; ++i) graph_.add_input({random_shape(), i == 2 ? i32 : f32});
    const int ops = pick(3, 12);
    for (int i = 0; i < ops; ++i) grow();
  }

  PlanStep finish() {
    const ValueId last = some();
    const int64_t rank = graph_.aval(last).ndim();
    switch (pick(0, 3)) {
      case 0: {
        Ints axes;
        for (int64_t d = 0; d < rank; ++d) {
          if (pick(0, 1)) axes.push_back(d);
        }
        static constexpr Op kOps[] = {Op::reduce_sum, Op::reduce_max, Op::reduce_min};
        graph_.outputs = {graph_.add(kOps[pick(0, 2)], {last}, {{Attr::axes, axes}})};
        return step_of(graph_, PlanStep::Kind::reduce, pick(0, 1) ? 7 : 1);
      }
      case 1:
        if (rank > 0) {
          scatter(last);
          return step_of(graph_, PlanStep::Kind::scatter);
        }
        [[fallthrough]];
      default: graph_.outputs = {last, static_cast<ValueId>(graph_.values.size() - 1), some()};
    }
    return step_of(graph_);
  }

  std::vector<HostValue> inputs() { return random_inputs(graph_, rng_); }

 private:
  int pick(int lo, int hi) { return lo + static_cast<int>(rng_() % static_cast<unsigned>(hi - lo + 1)); }
  // A value to compute with: not an index, not a condition.
  ValueId some() {
    while (true) {
      const ValueId v = pick(0, static_cast<int>(graph_.values.size()) - 1);
      if (graph_.aval(v).dtype == f32 || graph_.aval(v).dtype == i32) return v;
    }
  }
  Shape random_shape() {
    Shape shape(pick(0, 3));
    for (int64_t& n : shape) n = pick(0, 20) == 0 ? 0 : pick(1, 7);
    return shape;
  }
  const Shape& shape(ValueId v) const { return graph_.aval(v).shape; }

  // A value of this shape and dtype: one that exists, else a constant.
  ValueId like(const Aval& aval) {
    std::vector<ValueId> found;
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].aval == aval) found.push_back(static_cast<ValueId>(v));
    }
    if (pick(0, 3) == 0) return graph_.constant(pick(-3, 3), aval.dtype, aval.shape);
    return found.empty() ? graph_.add_input(aval) : found[rng_() % found.size()];
  }

  void grow() {
    const ValueId x = some();
    const Shape& s = shape(x);
    const int64_t rank = static_cast<int64_t>(s.size());
    if (graph_.aval(x).size() > 3000) return;
    switch (pick(0, 15)) {
      case 0: graph_.add(Op::add, {x, like(graph_.aval(x))}); break;
      case 1: graph_.add(Op::subtract, {like(graph_.aval(x)), x}); break;
      case 2: graph_.add(Op::maximum, {x, like(graph_.aval(x))}); break;
      case 3: graph_.add(Op::convert, {x}, {{Attr::dtype, graph_.aval(x).dtype == f32 ? i32 : f32}}); break;
      case 4: {
        Shape to = s;
        std::shuffle(to.begin(), to.end(), rng_);
        if (pick(0, 1)) to.insert(to.begin() + pick(0, static_cast<int>(rank)), 1);
        if (to.size() > 1 && pick(0, 1)) {
          to[1] *= to[0];
          to.erase(to.begin());
        }
        if (!to.empty() && to[0] > 1 && to[0] % 2 == 0 && pick(0, 1)) {
          to[0] /= 2;
          to.insert(to.begin() + 1, 2);
        }
        graph_.add(Op::reshape, {x}, {{Attr::shape, to}});
        break;
      }
      case 5: {
        Ints permutation(rank);
        std::iota(permutation.begin(), permutation.end(), 0);
        std::shuffle(permutation.begin(), permutation.end(), rng_);
        graph_.add(Op::transpose, {x}, {{Attr::permutation, permutation}});
        break;
      }
      case 6: {
        Ints start, limit, stride;
        for (int64_t n : s) {
          start.push_back(pick(0, static_cast<int>(n) / 2));
          limit.push_back(pick(static_cast<int>(start.back()), static_cast<int>(n)));
          if (limit.back() == start.back() && n > 0) limit.back() = start.back() + 1;
          stride.push_back(pick(1, 3));
        }
        graph_.add(Op::slice, {x}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}});
        break;
      }
      case 7: {
        Ints low, high, interior;
        for (int64_t n : s) {
          interior.push_back(pick(0, 2));
          low.push_back(pick(n > 2 ? -2 : 0, 3));
          high.push_back(pick(n > 4 ? -2 : 0, 3));
        }
        graph_.add(Op::pad, {x, like({{}, graph_.aval(x).dtype})},
                   {{Attr::low, low}, {Attr::high, high}, {Attr::interior, interior}});
        break;
      }
      case 8:
        if (rank > 0) {
          graph_.add(Op::concatenate, {x, like(graph_.aval(x)), x},
                     {{Attr::axis, pick(0, static_cast<int>(rank) - 1)}});
        }
        break;
      case 9: {
        Ints axes;
        for (int64_t d = 0; d < rank; ++d) {
          if (pick(0, 1)) axes.push_back(d);
        }
        graph_.add(Op::reverse, {x}, {{Attr::axes, axes}});
        break;
      }
      case 10: {
        Shape to;
        Ints axes;
        for (int64_t d = 0; d < rank; ++d) {
          if (pick(0, 2) == 0) to.push_back(pick(1, 3));
          axes.push_back(static_cast<int64_t>(to.size()));
          to.push_back(s[d] == 1 ? pick(1, 4) : s[d]);
        }
        if (pick(0, 2) == 0) to.push_back(pick(1, 3));
        graph_.add(Op::broadcast_in_dim, {x}, {{Attr::shape, to}, {Attr::axes, axes}});
        break;
      }
      case 11: {
        Shape window;
        for (int64_t n : s) window.push_back(pick(std::min<int>(1, static_cast<int>(n)), static_cast<int>(n)));
        graph_.add(Op::dynamic_slice, {x, graph_.add_input({{rank}, i64})}, {{Attr::shape, window}});
        break;
      }
      case 12: {
        Shape window;
        for (int64_t n : s) window.push_back(pick(std::min<int>(1, static_cast<int>(n)), static_cast<int>(n)));
        const ValueId update = like({window, graph_.aval(x).dtype});
        graph_.add(Op::dynamic_update_slice, {x, update, graph_.add_input({{rank}, i64})});
        break;
      }
      case 13:
        if (rank > 0 && graph_.aval(x).size() > 0) {
          Ints axes = some_axes(rank);
          const ValueId index = indices(axes);
          graph_.add(Op::gather, {x, index}, {{Attr::axes, axes}, {Attr::mode, pick(0, 1)}});
        }
        break;
      case 14:
        if (rank > 0) {
          const ValueId i = graph_.add(Op::iota, {},
                                       {{Attr::dtype, graph_.aval(x).dtype},
                                        {Attr::shape, s},
                                        {Attr::axis, pick(0, static_cast<int>(rank) - 1)}});
          graph_.add(Op::add, {x, i});
        }
        break;
      default: {
        const ValueId y = like(graph_.aval(x));
        graph_.add(Op::select, {graph_.add(Op::less, {x, y}), y, x});
      }
    }
  }

  Ints some_axes(int64_t rank) {
    Ints axes;
    for (int64_t d = 0; d < rank; ++d) {
      if (pick(0, 1)) axes.push_back(d);
    }
    if (axes.empty()) axes.push_back(pick(0, static_cast<int>(rank) - 1));
    return axes;
  }

  ValueId indices(const Ints& axes) {
    const DType type = pick(0, 1) ? i32 : i16;
    const auto columns = static_cast<int64_t>(axes.size());
    const Shape batch{pick(1, 5), pick(1, 4)};
    if (pick(0, 1)) return graph_.add_input({{batch[0], batch[1], columns}, type});
    std::vector<ValueId> parts;
    for (int64_t c = 0; c < columns; ++c) parts.push_back(graph_.add_input({{batch[0], batch[1], 1}, type}));
    return graph_.add(Op::concatenate, parts, {{Attr::axis, 2}});
  }

  void scatter(ValueId operand) {
    const Ints axes = some_axes(graph_.aval(operand).ndim());
    const ValueId index = indices(axes);
    Shape updates(shape(index).begin(), shape(index).end() - 1);
    for (int64_t d = 0; d < graph_.aval(operand).ndim(); ++d) {
      if (std::ranges::find(axes, d) == axes.end()) updates.push_back(shape(operand)[d]);
    }
    const ValueId update = like({updates, graph_.aval(operand).dtype});
    graph_.outputs = {graph_.add(pick(0, 1) ? Op::scatter_add : Op::scatter_set, {operand, index, update},
                                 {{Attr::axes, axes}, {Attr::mode, pick(0, 1)}})};
  }

  std::mt19937 rng_;
  Graph graph_;
};

}  // namespace neap::backends
