// Programs at random with transforms at random on top of them: the graph of grad(vmap(f)), of checkpoint(jvp(f)), ...
#pragma once

#include <neap/control.h>
#include <neap/ops.h>
#include <neap/transforms.h>

#include <utility>

#include "tests/conformance/random_program.h"

namespace neap::conformance {

/// With those in the graphs of its nodes.
inline size_t nodes_in(const Graph& graph) {
  size_t nodes = graph.nodes.size();
  for (const tracing::Node& node : graph.nodes)
    for (const auto& [attr, value] : node.attrs.items())
      if (const auto* body = std::get_if<tracing::GraphPtr>(&value)) nodes += nodes_in(**body);
  return nodes;
}

class Transformer {
 public:
  explicit Transformer(uint64_t seed) : random_(seed ^ 0x9e3779b97f4a7c15) {
    ProgramMaker maker(seed, /*for_users=*/true);
    maker.make();
    graph = std::move(maker.graph), inputs = std::move(maker.inputs);
  }
  /// Of a program that has most_nodes at most, in loops too, as one of its transforms.
  Transformer(uint64_t seed, Graph program, Arrays its_inputs, size_t most_nodes)
      : graph(std::move(program)),
        inputs(std::move(its_inputs)),
        random_(seed ^ 0x9e3779b97f4a7c15),
        most_nodes_(most_nodes) {}

  Graph graph;
  Arrays inputs;
  std::string said = "f";  // "grad(vmap(f))"

  /// Puts one to three transforms on top, as long as what comes out is not too large.
  void transform() {
    for (size_t i = 0, n = 1 + pick(3); i < n && nodes_in(graph) < most_nodes_; ++i) transform_once();
  }

 private:
  static constexpr int64_t kMostElements = 60'000;

  size_t pick(size_t n) { return random_() % n; }
  bool chance(size_t one_in) { return pick(one_in) == 0; }

  /// The graph's function on (floating inputs, others).
  auto function() const {
    return [g = graph](const Arrays& floats, const Arrays& rest) {
      Arrays all;
      size_t f = 0, r = 0;
      for (const ValueId v : g.inputs) all.push_back(is_float(g.aval(v).dtype) ? floats[f++] : rest[r++]);
      return tracing::inline_graph(g, all);
    };
  }

  struct Parts {
    Arrays floats, rest;
  };
  static Parts parts(const Arrays& all) {
    Parts p;
    for (const Array& a : all) (is_float(a.dtype()) ? p.floats : p.rest).push_back(a);
    return p;
  }

  /// Takes f(its inputs, then those of the avals more) in the place of the graph; false if it grew too large.
  bool take(const std::string& name, const Arrays& now, const std::function<Arrays(const Arrays&)>& f) {
    std::vector<Aval> avals;
    for (const Array& a : now) avals.push_back(a.aval());
    Graph next;
    try {
      next = tracing::trace_closed(avals, f);
    } catch (const UserError& e) {
      if (std::string(e.what()).find("while_loop") == std::string::npos) throw;
      return false;  // it has no way back
    }
    int64_t elements = 0;
    for (const tracing::Node& node : next.nodes)
      for (const ValueId v : node.outputs) elements = std::max(elements, next.aval(v).size());
    if (elements > kMostElements || nodes_in(next) > 3 * most_nodes_) return false;
    graph = std::move(next), inputs = now;
    said = name + "(" + said + ")";
    return true;
  }

  static Array total(const Arrays& all) {
    Array sum_of_all = full({}, 0.0, f32);
    for (const Array& a : all)
      if (is_float(a.dtype())) sum_of_all = sum_of_all + sum(a).astype(f32);
    return sum_of_all;
  }

  /// New inputs like the floating ones of a list.
  Arrays like_floats(const std::vector<Aval>& avals) {
    Arrays made;
    for (const Aval& a : avals)
      if (is_float(a.dtype)) made.push_back(random_array(a, Fill::tame, random_));
    return made;
  }

  void transform_once() {
    const auto f = function();
    const Parts in = parts(inputs);
    std::vector<Aval> outputs, floats;
    for (const ValueId v : graph.outputs) outputs.push_back(graph.aval(v));
    for (const Array& a : in.floats) floats.push_back(a.aval());
    const bool can =
        !in.floats.empty() && std::ranges::any_of(outputs, [](const Aval& a) { return is_float(a.dtype); });
    const auto scalar = [f](const Arrays& x, const Arrays& r) { return total(f(x, r)); };
    switch (can ? pick(9) : 8) {
      case 0:
        take("grad", inputs, [&](const Arrays& all) {
          const Parts p = parts(all);
          return grad(scalar)(p.floats, p.rest);
        });
        return;
      case 1:
        take("value_and_grad", inputs, [&](const Arrays& all) {
          const Parts p = parts(all);
          auto [value, g] = value_and_grad(scalar)(p.floats, p.rest);
          g.push_back(value);
          return g;
        });
        return;
      case 2: {
        Arrays now = inputs, tangents = like_floats(floats);
        now.insert(now.end(), tangents.begin(), tangents.end());
        const bool linear = chance(2);
        take(linear ? "linearize" : "jvp", now, [&](const Arrays& all) {
          const auto split = all.begin() + static_cast<std::ptrdiff_t>(inputs.size());
          const Parts p = parts({all.begin(), split});
          const Arrays t(split, all.end());
          const auto of = [&](const Arrays& x) { return f(x, p.rest); };
          Arrays value, tangent;
          if (linear) {
            auto [at, map] = linearize(of, p.floats);
            value = at, tangent = map(t);
          } else {
            auto both = jvp(of, std::tuple(p.floats), std::tuple(t));
            value = both.value, tangent = both.tangent;
          }
          value.insert(value.end(), tangent.begin(), tangent.end());
          return value;
        });
        return;
      }
      case 3: {
        Arrays now = inputs;
        for (const Aval& a : outputs) now.push_back(random_array(a, Fill::tame, random_));
        take("vjp", now, [&](const Arrays& all) {
          const auto split = all.begin() + static_cast<std::ptrdiff_t>(inputs.size());
          const Parts p = parts({all.begin(), split});
          auto [value, pullback] = vjp([&](const Arrays& x) { return f(x, p.rest); }, p.floats);
          const Arrays g = pullback(Arrays(split, all.end()));
          value.insert(value.end(), g.begin(), g.end());
          return value;
        });
        return;
      }
      case 4: {
        static const CheckpointPolicy kPolicies[] = {checkpoint_policies::nothing_saveable,
                                                     checkpoint_policies::everything_saveable,
                                                     checkpoint_policies::dots_saveable};
        const auto again = checkpoint(scalar, kPolicies[pick(3)]);
        take("grad(checkpoint", inputs,
             [&](const Arrays& all) {
               const Parts p = parts(all);
               return grad(again)(p.floats, p.rest);
             }) &&
            (said += ")", true);
        return;
      }
      case 5: {
        int64_t elements = 0;
        for (const Aval& a : floats) elements += a.size();
        if (elements == 0 || elements > 8 || graph.nodes.size() > 150) return;
        const bool forward = chance(2);
        take(forward ? "hessian" : "jacrev(grad)", inputs, [&](const Arrays& all) {
          const Parts p = parts(all);
          const auto of = [&](const Arrays& x) { return scalar(x, p.rest); };
          Arrays flat;
          const auto rows = forward ? hessian(of)(p.floats) : jacrev(grad(of))(p.floats);
          for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
          return flat;
        });
        return;
      }
      case 6: {  // a loop whose carry is what f makes of it
        for (size_t o = 0; o < outputs.size(); ++o)
          for (size_t i = 0; i < in.floats.size(); ++i) {
            if (outputs[o] != floats[i]) continue;
            const auto steps = static_cast<int64_t>(1 + pick(4));
            const bool counted = !chance(3);  // else as many as an array says
            take(counted ? "fori_loop" : "while_loop", inputs, [&](const Arrays& all) {
              const Parts p = parts(all);
              const auto body = [&](const Array&, const Array& carry) {
                Arrays x = p.floats;
                x[i] = carry;
                return f(x, p.rest)[o];
              };
              if (counted) return Arrays{fori_loop(0, steps, body, p.floats[i])};
              const Array last = clip(sum(p.floats[i]), 0, 3).astype(i32);
              return Arrays{fori_loop(0, last, body, p.floats[i])};
            });
            return;
          }
        return;
      }
      case 7: {
        take("cond", inputs, [&](const Arrays& all) {
          const Parts p = parts(all);
          const auto other = [&](const Arrays& x, const Arrays& r) {
            Arrays doubled;
            for (const Array& a : x) doubled.push_back(a * 2);
            return f(doubled, r);
          };
          return cond(sum(p.floats[0]) > 1, f, other, p.floats, p.rest);
        });
        return;
      }
      default: return batch(f, in);
    }
  }

  // vmap over some of the inputs, or map in batches over all of them.
  template <class F>
  void batch(const F& f, const Parts& in) {
    const auto rows = static_cast<int64_t>(2 + pick(3));
    const bool loop = chance(3);
    // 0: the floating inputs, 1: the others, 2: all.
    const size_t one = in.floats.empty() ? 1 : in.rest.empty() ? 0 : pick(2);
    const size_t which = loop || (chance(2) && !in.rest.empty() && !in.floats.empty()) ? 2 : one;
    const bool last = !loop && chance(3);
    const std::optional<int64_t> size = loop && chance(2) ? std::optional<int64_t>(2) : std::nullopt;
    Arrays now;
    for (const Array& a : inputs) {
      const bool is_batched = which == 2 || (which == 0) == is_float(a.dtype());
      if (!is_batched) {
        now.push_back(a);
        continue;
      }
      Arrays stacked;
      for (int64_t i = 0; i < rows; ++i) stacked.push_back(i == 0 ? a : random_array(a.aval(), Fill::tame, random_));
      now.push_back(stack(stacked, last ? -1 : 0));
    }
    const int64_t axis = last ? -1 : 0;
    const auto in_axis = [&](size_t part) {
      return which == 2 || which == part ? std::optional(axis) : std::optional<int64_t>();
    };
    take(loop   ? "map"
         : last ? "vmap<-1>"
                : "vmap",
         now, [&](const Arrays& all) {
           const Parts p = parts(all);
           if (!loop) return vmap(f, {.in_axes = {in_axis(0), in_axis(1)}, .out_axes = axis})(p.floats, p.rest);
           return map([&](const std::pair<Arrays, Arrays>& x) { return f(x.first, x.second); },
                      std::pair(p.floats, p.rest), size);
         });
  }

  Random random_;
  size_t most_nodes_ = 700;
};

}  // namespace neap::conformance
