// Loops on leaves.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/ops.h>

#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "trace/graph/effects.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/tracing.h"

namespace neap::detail {

using namespace tracing;

namespace {

// Reorders the body's inputs as scan wants them: captured arrays first.
Graph with_captured_first(Graph body) {
  const auto parameters = body.inputs.end() - body.num_captured;
  std::rotate(body.inputs.begin(), parameters, body.inputs.end());
  for (size_t i = 0; i < body.inputs.size(); ++i) body.values[body.inputs[i]].index = static_cast<int>(i);
  body.num_captured = 0;
  return body;
}

// A loop of effects alone has a flag that nothing changes for its carry.
LeafFunction with_flag(const LeafFunction& f) {
  return [&f](const Arrays& in) {
    f({in.begin() + 1, in.end()});
    return Arrays{in[0]};
  };
}

// Puts `unroll` steps into each iteration; those left over, at the end of xs, follow beside the loop.
LoopResult unrolled_scan(const TracedFunction& step, const Arrays& init, const Arrays& xs, int64_t length, bool reverse,
                         int64_t unroll, std::source_location loc) {
  // `count` steps over xs [count, ...]: the carry, then each y [count, ...].
  const auto straight = [&](const Arrays& carry, const Arrays& slices, int64_t count) {
    Arrays now = carry;
    std::vector<Arrays> ys(step.graph.outputs.size() - init.size(), Arrays(static_cast<size_t>(count)));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = reverse ? count - 1 - k : k;
      for (const Array& x : slices) now.push_back(x[at]);
      now.insert(now.end(), step.captured.begin(), step.captured.end());
      Arrays out = inline_graph(step.graph, now);
      for (size_t i = 0; i < ys.size(); ++i) ys[i][static_cast<size_t>(at)] = out[init.size() + i];
      out.resize(init.size());
      now = std::move(out);
    }
    for (const Arrays& y : ys) now.push_back(stack(y));
    return now;
  };
  const int64_t whole = length / unroll * unroll, rest = length - whole;
  LoopResult result{init, {}};
  Arrays tail;  // the ys of the steps left over
  const auto run_rest = [&] {
    Arrays slices;
    for (const Array& x : xs) slices.push_back(slice_in_dim(x, whole, length, 0));
    Arrays out = straight(result.carry, slices, rest);
    const auto carries = out.begin() + static_cast<std::ptrdiff_t>(init.size());
    tail.assign(carries, out.end());
    result.carry.assign(out.begin(), carries);
  };
  if (reverse && rest > 0) run_rest();
  if (whole > 0) {
    Arrays blocks;
    for (const Array& x : xs) {
      Shape shape = x.shape();
      shape[0] = unroll;
      shape.insert(shape.begin(), whole / unroll);
      blocks.push_back(reshape(slice_in_dim(x, 0, whole, 0), shape));
    }
    const size_t carries = init.size();
    const auto block = [&](const Arrays& in) {
      const auto split = in.begin() + static_cast<std::ptrdiff_t>(carries);
      return straight({in.begin(), split}, {split, in.end()}, unroll);
    };
    result = scan_of("scan", block, result.carry, blocks, whole / unroll, reverse, 1, loc);
    for (Array& y : result.stacked) {
      Shape shape(y.shape().begin() + 1, y.shape().end());
      shape[0] = whole;
      y = reshape(y, shape);
    }
  }
  if (!reverse && rest > 0) run_rest();
  if (whole == 0) {
    result.stacked = tail;
  } else {
    for (size_t i = 0; i < tail.size(); ++i) result.stacked[i] = concatenate({result.stacked[i], tail[i]});
  }
  return result;
}

}  // namespace

}  // namespace neap::detail

namespace neap::tracing {

void check_carry(std::string_view op, const Graph& body, std::span<const Aval> carry, std::source_location loc,
                 size_t counters) {
  for (size_t i = 0; i < carry.size(); ++i) {
    const Aval& aval = body.aval(body.outputs[i]);
    if (aval == carry[i]) continue;
    const std::string got =
        fmt::format("carry {} enters as {} and leaves as {}", i - counters, to_string(carry[i]), to_string(aval));
    if (aval.shape != carry[i].shape)
      throw_user<ShapeError>(op, got, to_string(carry[i]), "a carry keeps its shape", loc);
    throw_user<DTypeError>(op, got, to_string(carry[i]),
                           fmt::format("a carry keeps its dtype: convert it with astype({})", name(carry[i].dtype)),
                           loc);
  }
}

}  // namespace neap::tracing

namespace neap::detail {

void trees_differ(size_t first, size_t other, std::source_location loc) {
  throw_user<ShapeError>("tree_map", fmt::format("a tree of {} arrays beside one of {}", first, other),
                         "the same structure", "", loc);
}

void no_function(std::source_location loc) {
  throw_user<UserError>("call", "a null pointer or an empty std::function stands for the function", "a function", "",
                        user_line(loc));
}

void carry_changes(std::string_view op, size_t in, size_t out, std::source_location loc) {
  if (in != out)
    throw_user<ShapeError>(op, fmt::format("the body returns a carry of {} arrays", out),
                           fmt::format("{}, as it takes", in),
                           "a carry keeps its arrays; make a number that changes one, as array(0)", loc);
  structure_differs(op, "the body returns other numbers, strings or container sizes in its carry than it takes", loc);
}

void structure_differs(std::string_view op, std::string_view got, std::source_location loc) {
  throw_user<UserError>(op, std::string(got), "trees that differ in their arrays alone",
                        "make a number that changes an array, as array(0)", loc);
}

LoopResult scan_of(std::string_view op, const LeafFunction& f, const Arrays& init, const Arrays& xs,
                   std::optional<int64_t> length, bool reverse, int64_t unroll, std::source_location loc) {
  const AtLine line(loc);
  std::vector<Aval> avals = avals_of(init, loc);
  for (size_t i = 0; i < xs.size(); ++i) {
    Aval aval = aval_of(xs[i], loc);
    if (aval.shape.empty())
      throw_user<ShapeError>(op, fmt::format("stacked input {} is {}", i, to_string(aval)), "an axis to go along", "",
                             loc);
    if (length && *length != aval.shape[0])
      throw_user<ShapeError>(
          op, fmt::format("stacked input {} is {}, which is {} steps", i, to_string(aval), aval.shape[0]),
          fmt::format("{} steps", *length), "", loc);
    length = aval.shape[0];
    aval.shape.erase(aval.shape.begin());
    avals.push_back(std::move(aval));
  }
  if (!length) throw_user<UserError>(op, "neither stacked inputs nor a length", "one of them", "pass the length", loc);
  if (*length < 0) throw_user<ShapeError>(op, fmt::format("length {}", *length), "0 or more", "", loc);

  constexpr int64_t kMostSteps = int64_t{1} << 16;  // each is traced
  if (unroll < 1 || unroll > kMostSteps)
    throw_user<OptionError>(op, fmt::format("unroll {}", unroll), fmt::format("1 to {}", kMostSteps), "", loc);

  const TracedFunction traced = neap::tracing::trace(avals, f);
  check_carry(op, traced.graph, std::span(avals).first(init.size()), loc);
  if (traced.graph.outputs.empty()) {
    if (has_effects(traced.graph))
      scan_of(op, with_flag(f), {zeros({}, DType::bool_)}, xs, length, reverse, unroll, loc);
    return {};
  }
  if (unroll > 1 && *length > 0) return unrolled_scan(traced, init, xs, *length, reverse, unroll, loc);
  Arrays operands = traced.captured;
  operands.insert(operands.end(), init.begin(), init.end());
  operands.insert(operands.end(), xs.begin(), xs.end());
  const Attrs attrs{{Attr::body, std::make_shared<const Graph>(with_captured_first(traced.graph))},
                    {Attr::length, *length},
                    {Attr::num_consts, static_cast<int64_t>(traced.captured.size())},
                    {Attr::num_carry, static_cast<int64_t>(init.size())},
                    {Attr::reverse, static_cast<int64_t>(reverse)}};
  const Arrays results = apply_many(Op::scan, operands, attrs, loc);
  const auto carries = static_cast<std::ptrdiff_t>(init.size());
  return {Arrays(results.begin(), results.begin() + carries), Arrays(results.begin() + carries, results.end())};
}

void check_slices(const std::vector<Array>& leaves, std::source_location loc) {
  if (leaves.empty()) throw_user<UserError>("map", "no array is mapped", "at least one", "", loc);
  for (const Array& leaf : leaves) {
    check_usable(leaf, "map", loc);
    const std::string aval = to_string(leaf.aval()), first = to_string(leaves[0].aval());
    if (leaf.ndim() == 0) throw_user<ShapeError>("map", aval, "an axis to map over", "", loc);
    if (leaf.shape()[0] != leaves[0].shape()[0])
      throw_user<ShapeError>("map", fmt::format("{} beside {}", aval, first), "equally many slices along axis 0", "",
                             loc);
  }
}

Batches batches_of(const std::vector<Array>& leaves, int64_t size, std::source_location loc) {
  const AtLine line(loc);
  if (size < 1)
    throw_user<OptionError>("map", fmt::format("batch_size {}", size), "1 or more", "leave it out for one at a time",
                            loc);
  Batches batches;
  for (const Array& leaf : leaves) {
    const int64_t n = leaf.shape(0), whole = n / size * size;
    if (whole > 0) {
      Shape shape = leaf.shape();
      shape[0] = size;
      shape.insert(shape.begin(), n / size);
      batches.whole.push_back(reshape(slice_in_dim(leaf, 0, whole, 0), shape));
    }
    if (whole < n) batches.rest.push_back(slice_in_dim(leaf, whole, n, 0));
  }
  return batches;
}

std::vector<Array> joined_batches(const std::vector<Array>& whole, const std::vector<Array>& rest) {
  std::vector<Array> result;
  for (size_t i = 0; i < whole.size(); ++i) {
    Shape shape = whole[i].shape();
    shape[1] *= shape[0];
    shape.erase(shape.begin());
    const Array flat = reshape(whole[i], shape);
    result.push_back(rest.empty() ? flat : concatenate({flat, rest[i]}));
  }
  return result;
}

Array counters(int64_t lo, int64_t hi, std::source_location loc) {
  const AtLine line(loc);
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const DType dtype = lo >= -kMax && lo <= kMax && hi >= -kMax && hi <= kMax ? DType::i32 : DType::i64;
  if (hi <= lo) return zeros({0}, dtype, loc);
  const uint64_t count = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    throw_user<ShapeError>("fori_loop", fmt::format("{} steps", count), "fewer than 2^63", "", loc);
  return iota({static_cast<int64_t>(count)}, 0, dtype, loc) + full({}, lo, dtype, loc);
}

}  // namespace neap::detail
