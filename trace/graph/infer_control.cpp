// Shapes of loops and of cond.
#include "core/check.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {
namespace {

Aval predicate() { return {{}, DType::bool_}; }

}  // namespace

std::vector<Aval> infer_loop(const Site& site) {
  const Graph& body = *site.attrs.graph(Attr::body);
  const bool scans = site.op == Op::scan;
  const int64_t length = site.attrs.integer_or(Attr::length, 0);
  const int64_t consts = site.attrs.integer(Attr::num_consts);
  const int64_t carries = site.attrs.integer(Attr::num_carry);
  const auto operands = static_cast<int64_t>(site.in.size());
  const auto outputs = static_cast<int64_t>(body.outputs.size());
  NEAP_CHECK(consts >= 0 && carries >= 0 && consts + carries <= operands,
             "{}: {} constants and {} carries of {} operands", name(site.op), consts, carries, operands);
  if (length < 0) site.fail<ShapeError>(fmt::format("length {}", length), "0 or more");
  NEAP_CHECK(static_cast<int64_t>(body.inputs.size()) == operands && outputs >= carries,
             "{}: the body has {} inputs and {} outputs for {} operands and {} carries", name(site.op),
             body.inputs.size(), outputs, operands, carries);
  NEAP_CHECK(scans || (carries > 0 && consts + carries == operands && outputs == carries),
             "while_loop: {} operands, {} results and {} carries", operands, outputs, carries);
  for (int64_t i = 0; i < operands; ++i) {
    Aval expected = body.aval(body.inputs[i]);
    if (i >= consts + carries) expected.shape.insert(expected.shape.begin(), length);
    if (site.in[i] == expected) continue;
    const std::string_view what = i < consts ? "constant" : i < consts + carries ? "carry" : "stacked input";
    const int64_t number = i < consts ? i : i < consts + carries ? i - consts : i - consts - carries;
    site.fail<ShapeError>(fmt::format("{} {} is {}", what, number, to_string(site.in[i])),
                          fmt::format("{}, as the body takes it", to_string(expected)));
  }
  NEAP_CHECK(scans || site.in[consts] == predicate(), "while_loop: its first carry is {}", to_string(site.in[consts]));
  std::vector<Aval> results;
  for (int64_t i = 0; i < outputs; ++i) {
    Aval aval = body.aval(body.outputs[i]);
    if (i >= carries) {
      aval.shape.insert(aval.shape.begin(), length);
      site.check_shape(aval.shape);
    } else if (aval != site.in[consts + i]) {
      const std::string got =
          fmt::format("carry {} enters as {} and leaves as {}", i, to_string(site.in[consts + i]), to_string(aval));
      const std::string hint = "the body must return a carry of the shape and dtype that it takes";
      if (aval.dtype != site.in[consts + i].dtype) site.fail<DTypeError>(got, "", hint);
      site.fail<ShapeError>(got, "", hint);
    }
    results.push_back(std::move(aval));
  }
  return results;
}

std::vector<Aval> infer_cond(const Site& site) {
  NEAP_CHECK(!site.in.empty() && site.in[0] == predicate(), "cond: its predicate is {}",
             site.in.empty() ? "missing" : to_string(site.in[0]));
  const Graph &body = *site.attrs.graph(Attr::body), &otherwise = *site.attrs.graph(Attr::otherwise);
  const std::vector<Aval> operands(site.in.begin() + 1, site.in.end());
  NEAP_CHECK(body.avals(body.inputs) == operands && otherwise.avals(otherwise.inputs) == operands, "cond: operands");
  std::vector<Aval> results = body.avals(body.outputs);
  NEAP_CHECK(otherwise.avals(otherwise.outputs) == results, "cond: the branches give different results");
  return results;
}

}  // namespace neap::tracing
