// while_loop, cond and switch_ on leaves.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/ops.h>

#include <limits>
#include <memory>

#include <fmt/format.h>

#include "trace/graph/effects.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/shared_consts.h"

namespace neap::detail {

using namespace tracing;

namespace {

using Loc = std::source_location;

void check_leaves(std::string_view op, const Arrays& leaves, Loc loc) {
  for (const Array& leaf : leaves) check_usable(leaf, op, loc);
}

void check_condition(const Graph& condition, Loc loc) {
  const Aval aval = condition.aval(condition.outputs[0]);
  const std::string got = fmt::format("the condition returns {}", to_string(aval));
  if (!aval.shape.empty())
    throw_user<ShapeError>("while_loop", got, "a bool scalar", "reduce it with any() or all()", loc);
  if (aval.dtype != DType::bool_)
    throw_user<DTypeError>("while_loop", got, "a bool scalar", "compare it, as in x != 0", loc);
}

// Throws unless the branches give the same arrays.
void check_results(std::string_view op, const SharedConsts& functions, size_t count, Loc loc) {
  const auto branch = [&](size_t i) {
    return op == "cond" ? std::string(i == 0 ? "true_fn" : "false_fn") : fmt::format("branch {}", i);
  };
  const Graph& first = functions.added(0);
  for (size_t i = 1; i < count; ++i) {
    const Graph& other = functions.added(i);
    if (other.outputs.size() != first.outputs.size())
      throw_user<ShapeError>(
          op,
          fmt::format("{} returns {} arrays, {} {}", branch(0), first.outputs.size(), branch(i), other.outputs.size()),
          "as many of each", "", loc);
    for (size_t j = 0; j < first.outputs.size(); ++j) {
      const Aval &a = first.aval(first.outputs[j]), &b = other.aval(other.outputs[j]);
      if (a == b) continue;
      const std::string got =
          fmt::format("result {} is {} of {} and {} of {}", j, to_string(a), branch(0), to_string(b), branch(i));
      if (a.shape != b.shape) throw_user<ShapeError>(op, got, "one shape", "broadcast one to the other's", loc);
      throw_user<DTypeError>(op, got, "one dtype", "convert one with astype()", loc);
    }
  }
}

// Branches with effects alone give a flag that nobody reads.
LeafFunction with_flag(const LeafFunction& f) {
  return [&f](const Arrays& in) {
    f(in);
    return Arrays{zeros({}, DType::bool_)};
  };
}

Array scalar_of(std::string_view op, std::string_view what, const Operand& x) {
  const Array array = x.as_array();
  check_usable(array, op, x.loc());
  if (!array.shape().empty())
    throw_user<ShapeError>(op, fmt::format("the {} is {}", what, to_string(array.aval())), "a scalar",
                           "where() chooses for each element", x.loc());
  return array;
}

// Returns the graph (index, constants, leaves) -> results of the branch with that number, counted from `begin`: it is a
// cond in a cond.
Graph chosen(const SharedConsts& functions, const std::vector<Aval>& parameters, size_t begin, size_t end, Loc loc) {
  return trace_closed(parameters, [&](const Arrays& in) {
    if (end - begin == 1) return inline_graph(*functions.graph(begin), Arrays(in.begin() + 1, in.end()));
    const size_t middle = (begin + end) / 2;
    Arrays operands{less(in[0], static_cast<int>(middle))};
    operands.insert(operands.end(), in.begin(), in.end());
    const auto half = [&](size_t from, size_t to) {
      return std::make_shared<const Graph>(chosen(functions, parameters, from, to, loc));
    };
    return apply_many(Op::cond, operands, {{Attr::body, half(begin, middle)}, {Attr::otherwise, half(middle, end)}},
                      loc);
  });
}

}  // namespace

std::vector<Array> while_of(std::string_view op, size_t counters, const LeafFunction& condition,
                            const LeafFunction& body, const std::vector<Array>& init, Loc loc) {
  const AtLine line(loc);
  check_leaves(op, init, loc);
  SharedConsts functions(init);
  functions.add(neap::tracing::trace(functions.avals, condition));
  check_condition(functions.added(0), loc);
  functions.add(neap::tracing::trace(functions.avals, body));
  check_carry(op, functions.added(1), functions.avals, loc, counters);
  if (init.empty()) return {};

  // The first carry of the op is whether to go on: each step computes it of the carry that it makes.
  const GraphPtr test = functions.graph(0), step = functions.graph(1);
  const auto consts = static_cast<std::ptrdiff_t>(functions.consts());
  const Arrays operands = functions.operands();
  const auto with_test = [&](const Arrays& in) {
    Arrays all = in;
    all.insert(all.begin() + consts, inline_graph(*test, in)[0]);
    return all;
  };
  std::vector<Aval> parameters = avals_of(operands, loc);
  const Graph whole = trace_closed(parameters, [&](const Arrays& in) {
    std::vector<Aval> inner = parameters;
    inner.insert(inner.begin() + consts, Aval{{}, DType::bool_});
    Graph loop = trace_closed(inner, [&](Arrays state) {
      state.erase(state.begin() + consts);
      const Arrays next = inline_graph(*step, state);
      std::ranges::copy(next, state.begin() + consts);
      const Arrays all = with_test(state);
      return Arrays(all.begin() + consts, all.end());
    });
    Arrays results = apply_many(Op::while_loop, with_test(in),
                                {{Attr::body, std::make_shared<const Graph>(std::move(loop))},
                                 {Attr::num_consts, functions.consts()},
                                 {Attr::num_carry, 1 + std::ssize(init)}},
                                loc);
    results.erase(results.begin());
    return results;
  });
  return stage_or_run(whole, operands);
}

std::vector<Array> cond_of(const Operand& predicate, const LeafFunction& true_fn, const LeafFunction& false_fn,
                           const std::vector<Array>& leaves) {
  const Loc loc = predicate.loc();
  const AtLine line(loc);
  const Array flag = scalar_of("cond", "predicate", predicate);
  check_leaves("cond", leaves, loc);
  SharedConsts functions(leaves);
  functions.add(neap::tracing::trace(functions.avals, true_fn));
  functions.add(neap::tracing::trace(functions.avals, false_fn));
  check_results("cond", functions, 2, loc);
  if (functions.added(0).outputs.empty()) {
    if (has_effects(functions.added(0)) || has_effects(functions.added(1)))
      cond_of(predicate, with_flag(true_fn), with_flag(false_fn), leaves);
    return {};
  }
  Arrays operands{flag};
  for (Array& x : functions.operands()) operands.push_back(std::move(x));
  const Attrs attrs{{Attr::body, functions.graph(0)}, {Attr::otherwise, functions.graph(1)}};
  return stage_or_run(trace_closed(avals_of(operands, loc),
                                   [&](Arrays in) {
                                     if (in[0].dtype() != DType::bool_) in[0] = not_equal(in[0], 0);
                                     return apply_many(Op::cond, in, attrs, loc);
                                   }),
                      operands);
}

std::vector<Array> switch_of(const Operand& index, const std::vector<LeafFunction>& branches,
                             const std::vector<Array>& leaves) {
  const Loc loc = index.loc();
  const AtLine line(loc);
  const Array number = scalar_of("switch_", "index", index);
  if (!is_integer(number.dtype()))
    throw_user<DTypeError>("switch_", fmt::format("the index is {}", to_string(number.aval())), "an integer scalar",
                           "cond takes a bool", loc);
  if (branches.empty()) throw_user<OptionError>("switch_", "no branches", "one or more", "", loc);
  check_leaves("switch_", leaves, loc);
  SharedConsts functions(leaves);
  for (const LeafFunction& branch : branches) functions.add(neap::tracing::trace(functions.avals, branch));
  check_results("switch_", functions, branches.size(), loc);
  if (functions.added(0).outputs.empty()) {
    bool effects = false;
    std::vector<LeafFunction> all;
    for (size_t i = 0; i < branches.size(); ++i) {
      effects = effects || has_effects(functions.added(i));
      all.push_back(with_flag(branches[i]));
    }
    if (effects) switch_of(index, all, leaves);
    return {};
  }
  Arrays operands{number};
  for (Array& x : functions.operands()) operands.push_back(std::move(x));
  return stage_or_run(trace_closed(avals_of(operands, loc),
                                   [&](Arrays in) {
                                     // Wider integers are cut to what 32 bits hold first.
                                     const int last = static_cast<int>(branches.size()) - 1;
                                     if (size_of(in[0].dtype()) >= 4) in[0] = clip(in[0], 0, last);
                                     in[0] = convert(in[0], DType::i32);
                                     return inline_graph(chosen(functions, avals_of(in, loc), 0, branches.size(), loc),
                                                         in);
                                   }),
                      operands);
}

std::pair<Array, Array> bounds_of(const Operand& lo, const Operand& hi) {
  const Array from = scalar_of("fori_loop", "lower bound", lo), to = scalar_of("fori_loop", "upper bound", hi);
  const Operand* both[] = {&lo, &hi};
  const DType dtype = common_dtype(both);
  const std::string got = fmt::format("bounds {} and {}", to_string(from.aval()), to_string(to.aval()));
  if (!is_integer(from.dtype()) || !is_integer(to.dtype()))
    throw_user<DTypeError>("fori_loop", got, "integers", "", lo.loc());
  if (!is_integer(dtype))
    throw_user<DTypeError>("fori_loop", got, "integers that promote to an integer dtype", "convert one with astype",
                           lo.loc());
  for (const Operand* bound : both)
    if (bound->is_scalar()) check_fits(*bound, dtype);
  return {convert(from, dtype), convert(to, dtype)};
}

}  // namespace neap::detail
