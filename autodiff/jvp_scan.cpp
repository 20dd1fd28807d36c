// The tangent of a loop: one loop that carries values and the tangents that are not zero.
#include "autodiff/jvp.h"
#include "autodiff/jvp_rules.h"
#include "autodiff/scan.h"

namespace neap::autodiff {

ManyJvp jvp_loop(const Node& node, const Arrays& in, const Arrays& tangent) {
  const LoopView scan(node);
  std::vector<bool> active;
  for (const Array& t : tangent) active.push_back(!is_zero(t));

  // A carry has a tangent when it starts with one or the body gives it one: the least fixed point.
  ActiveJvp body;
  for (bool settled = false; !settled;) {
    body = jvp_active(scan.body, active);
    settled = true;
    for (size_t i = 0; i < scan.carries; ++i) {
      if (!body.active[i] || active[scan.consts + i]) continue;
      active[scan.consts + i] = true;
      settled = false;
    }
  }

  // Operands and the body's inputs: constants, their tangents, carries, theirs, stacked, theirs.
  Arrays operands;
  std::vector<size_t> order;
  std::vector<size_t> tangent_input(scan.operands);  // in the body of body.graph
  for (size_t i = 0, next = scan.operands; i < scan.operands; ++i) tangent_input[i] = active[i] ? next++ : 0;
  const auto section = [&](size_t begin, size_t end) {
    const size_t before = operands.size();
    for (size_t i = begin; i < end; ++i) {
      operands.push_back(in[i]);
      order.push_back(i);
    }
    for (size_t i = begin; i < end; ++i) {
      if (!active[i]) continue;
      operands.push_back(or_zeros(tangent[i], in[i]));
      order.push_back(tangent_input[i]);
    }
    return operands.size() - before;
  };
  const size_t consts = section(0, scan.consts);
  const size_t carries = section(scan.consts, scan.consts + scan.carries);
  section(scan.consts + scan.carries, scan.operands);

  // Results likewise: carries, their tangents (zeros where the body drops one), stacked, theirs.
  const Graph ordered = with_inputs_ordered(body.graph, order);
  Graph joint = tracing::trace_closed(
      ordered.avals(ordered.inputs),
      [&](const Arrays& inputs) {
        const Arrays out = tracing::inline_graph(ordered, inputs);
        Arrays t(scan.results);
        for (size_t i = 0, next = scan.results; i < scan.results; ++i)
          if (body.active[i]) t[i] = out[next++];
        Arrays results;
        for (const bool carry : {true, false}) {
          const size_t begin = carry ? 0 : scan.carries, end = carry ? scan.carries : scan.results;
          for (size_t i = begin; i < end; ++i) results.push_back(out[i]);
          for (size_t i = begin; i < end; ++i) {
            if (carry && active[scan.consts + i]) results.push_back(or_zeros(t[i], out[i]));
            if (!carry && !is_zero(t[i])) results.push_back(t[i]);
          }
        }
        return results;
      },
      scan.body.name);

  const Arrays results =
      tracing::apply_many(node.op, operands, loop_attrs(scan, std::move(joint), consts, carries), node.loc);
  ManyJvp both{Arrays(scan.results), Arrays(scan.results)};
  size_t next = 0;
  for (const bool carry : {true, false}) {
    const size_t begin = carry ? 0 : scan.carries, end = carry ? scan.carries : scan.results;
    for (size_t i = begin; i < end; ++i) both.out[i] = results[next++];
    for (size_t i = begin; i < end; ++i)
      if (carry ? active[scan.consts + i] : body.active[i]) both.tangent[i] = results[next++];
  }
  return both;
}

}  // namespace neap::autodiff
