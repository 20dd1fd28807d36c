// Transposition of a linear scan: a scan in the other direction that carries cotangents.
#include "autodiff/scan.h"
#include "autodiff/transpose.h"
#include "autodiff/transpose_rules.h"

namespace neap::autodiff {

namespace {

// Which values of a graph are read by rows: by a gather or dynamic_slice, or in the body of a scan.
std::vector<bool> read_by_rows(const Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.op == Op::gather || node.op == Op::dynamic_slice) read[node.inputs[0]] = true;
    if (node.op != Op::scan) continue;
    const LoopView scan(node);
    const std::vector<bool> inside = read_by_rows(scan.body);
    for (size_t i = 0; i < scan.consts; ++i)
      if (inside[scan.body.inputs[i]]) read[node.inputs[i]] = true;
  }
  return read;
}

}  // namespace

// The cotangents of linear constants add up over the steps, so they are carries that start at zero (half types add up
// in f32) or where the site's are; those of carries are carries; those of stacked inputs are stacked. Where the body
// reads rows of a constant, a step adds to those rows, not to the whole.
Arrays transpose_scan(const TransposeSite& site) {
  const LoopView scan(site.node);
  // A carry counts as linear even where it starts at a known zero: the body gives it tangents.
  std::vector<bool> linear = site.linear;
  for (size_t i = 0; i < scan.carries; ++i) linear[scan.consts + i] = true;

  const std::vector<bool> read = read_by_rows(scan.body);
  std::vector<bool> by_rows(scan.operands, false);  // the linear constants of which the body reads rows
  for (size_t i = 0; i < scan.consts; ++i) by_rows[i] = linear[i] && read[scan.body.inputs[i]];
  std::vector<bool> has_ct;  // of the body's results
  for (const Array& ct : site.cotangents) has_ct.push_back(!is_zero(ct));
  Transposed body;
  for (bool settled = false; !settled;) {  // which carries get a cotangent: the least fixed point
    body = transpose_active(scan.body, linear, has_ct, by_rows);
    settled = true;
    for (size_t i = 0; i < scan.carries; ++i) {
      if (!body.active[scan.consts + i] || has_ct[i]) continue;
      has_ct[i] = true;
      settled = false;
    }
  }

  // The body's inputs are now: known constants, known stacked, cotangents of carries, cotangents of stacked results,
  // sums for constants that are read by rows. The scan wants: known constants; sums for constants, cotangents of
  // carries; known stacked, cotangents of stacked.
  Arrays operands, stacked;
  size_t known_consts = 0, known_stacked = 0, carry_cts = 0, const_cts = 0;
  for (size_t i = 0; i < scan.operands; ++i) {
    if (linear[i]) continue;
    (scan.is_const(i) ? operands : stacked).push_back(site.in[i]);
    (scan.is_const(i) ? known_consts : known_stacked) += 1;
  }
  const auto goes_on = [&](size_t i) { return body.active[i] && site.sums && !is_zero((*site.sums)[i]); };
  for (size_t i = 0; i < scan.consts; ++i) {
    if (!body.active[i]) continue;
    operands.push_back(goes_on(i) ? (*site.sums)[i] : zeros(site.shape(i), wide(site.aval(i).dtype)));
    ++const_cts;
  }
  for (size_t i = 0; i < scan.carries; ++i) {
    if (!has_ct[i]) continue;
    operands.push_back(is_zero(site.cotangents[i]) ? site.zeros_of(scan.consts + i) : site.cotangents[i]);
    ++carry_cts;
  }
  for (size_t i = scan.carries; i < scan.results; ++i)
    if (has_ct[i]) stacked.push_back(site.cotangents[i]);
  operands.insert(operands.end(), stacked.begin(), stacked.end());

  const std::vector<Aval> of_body = body.graph.avals(body.graph.inputs);
  std::vector<Aval> parameters(of_body.begin(), of_body.begin() + static_cast<std::ptrdiff_t>(known_consts));
  for (size_t i = 0; i < scan.consts; ++i)
    if (body.active[i]) parameters.push_back({site.shape(i), wide(site.aval(i).dtype)});
  const auto carry_begin = of_body.begin() + static_cast<std::ptrdiff_t>(known_consts + known_stacked);
  const auto carry_end = carry_begin + static_cast<std::ptrdiff_t>(carry_cts);
  parameters.insert(parameters.end(), carry_begin, carry_end);
  parameters.insert(parameters.end(), carry_begin - static_cast<std::ptrdiff_t>(known_stacked), carry_begin);
  parameters.insert(parameters.end(), carry_end, of_body.end() - std::ranges::count(by_rows, true));

  Graph step = tracing::trace_closed(
      parameters,
      [&](const Arrays& in) {
        const size_t sums = known_consts, cts = sums + const_cts, rows = cts + carry_cts;
        Arrays to_body(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(known_consts));
        for (size_t i = 0; i < known_stacked; ++i) to_body.push_back(in[rows + i]);
        for (size_t i = 0; i < carry_cts; ++i) to_body.push_back(in[cts + i]);
        for (size_t i = rows + known_stacked; i < in.size(); ++i) to_body.push_back(in[i]);
        for (size_t i = 0, sum = sums; i < scan.consts; ++i) {
          if (by_rows[i]) to_body.push_back(body.active[i] ? in[sum] : zeros(site.shape(i), wide(site.aval(i).dtype)));
          if (body.active[i]) ++sum;
        }
        const Arrays out = tracing::inline_graph(body.graph, to_body);
        Arrays results;
        size_t next = 0;
        for (size_t i = 0; i < scan.consts; ++i) {
          if (!body.active[i]) continue;
          const Array& ct = out[next];
          results.push_back(body.summed[i] ? ct : in[sums + next] + widened(ct));
          ++next;
        }
        for (size_t i = 0; i < scan.carries; ++i) {
          const size_t operand = scan.consts + i;
          if (body.active[operand])
            results.push_back(out[next++]);
          else if (has_ct[i])
            results.push_back(site.zeros_of(operand));
        }
        results.insert(results.end(), out.begin() + static_cast<std::ptrdiff_t>(next), out.end());
        return results;
      },
      scan.body.name);

  const Arrays results = tracing::apply_many(
      Op::scan, operands, scan_attrs(std::move(step), scan.length, known_consts, const_cts + carry_cts, !scan.reverse),
      site.node.loc);
  Arrays cotangents(scan.operands);
  size_t next = 0;
  for (size_t i = 0; i < scan.operands; ++i) {
    const bool given = scan.is_carry(i) ? has_ct[i - scan.consts] : static_cast<bool>(body.active[i]);
    const bool into_sum = scan.is_const(i) && goes_on(i);
    if (into_sum)
      (*site.sums)[i] = results[next++];
    else if (given)
      cotangents[i] = convert(results[next++], site.aval(i).dtype);
    if (site.sums && !into_sum) (*site.sums)[i] = Array();
  }
  return cotangents;
}

}  // namespace neap::autodiff
