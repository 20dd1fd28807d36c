// custom_jvp, custom_vjp and checkpoint on leaves.
#include <neap/creation.h>
#include <neap/error.h>
#include <neap/ops.h>
#include <neap/transforms.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autodiff/check_linear.h"
#include "autodiff/custom.h"
#include "trace/graph/call.h"
#include "trace/tracing/shared_consts.h"
#include "trace/tracing/tracing.h"

namespace neap {

using tracing::Arrays;
using tracing::Attr;
using tracing::Graph;
using tracing::GraphPtr;
using tracing::Op;
using tracing::SharedConsts;
using tracing::TracedFunction;
using Loc = std::source_location;

CheckpointPolicy checkpoint_policies::save_only_these_names(const std::vector<std::string>& names, Loc loc) {
  for (const std::string& name : names)
    if (name.empty() || name.find_first_of(",*") != std::string::npos)
      throw_user<OptionError>("save_only_these_names", fmt::format("the name '{}'", name),
                              "names without commas and asterisks", "", loc);
  return {fmt::format("{}", fmt::join(names, ","))};
}

Array checkpoint_name(const Array& x, const std::string& name, Loc loc) {
  tracing::check_usable(x, "checkpoint_name", loc);
  checkpoint_policies::save_only_these_names({name}, loc);
  if (!tracing::is_tracing()) return x;
  return tracing::apply(Op::reshape, {x}, {{Attr::label, name}, {Attr::shape, x.shape()}}, loc);
}

namespace detail {

CheckpointScope::CheckpointScope(const std::string& saveable) {
  tracing::check_stack("checkpoint", tracing::user_line({}));
  if (tracing::is_tracing())
    impl_ = std::make_shared<tracing::MarkedLike>(
        tracing::Attrs{{Attr::region, tracing::new_region()}, {Attr::saveable, saveable}});
}
CheckpointScope::~CheckpointScope() = default;

namespace {

std::vector<Aval> floating(const std::vector<Aval>& avals) {
  std::vector<Aval> result;
  for (const Aval& aval : avals)
    if (is_inexact(aval.dtype)) result.push_back(aval);
  return result;
}

// Returns all of `avals`: the floating ones as given, zeros for the others.
Arrays with_zeros(const std::vector<Aval>& avals, std::span<const Array> given) {
  Arrays all;
  size_t next = 0;
  for (const Aval& aval : avals) all.push_back(is_inexact(aval.dtype) ? given[next++] : zeros(aval.shape, aval.dtype));
  return all;
}

// Returns the floating ones of what a rule gave. Throws ShapeError or DTypeError unless they are like `expected`.
Arrays checked(std::string_view op, std::string_view what, const Arrays& got, const std::vector<Aval>& expected,
               Loc loc) {
  if (got.size() != expected.size())
    throw_user<ShapeError>(op, fmt::format("{} arrays of {}s", got.size(), what), fmt::format("{}", expected.size()),
                           "", loc);
  Arrays result;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!is_inexact(expected[i].dtype)) continue;
    const Aval& aval = tracing::aval_of(got[i], loc);
    const std::string found = fmt::format("{} {} is {}", what, i, to_string(aval));
    if (aval.shape != expected[i].shape) throw_user<ShapeError>(op, found, to_string(expected[i]), "", loc);
    if (aval.dtype != expected[i].dtype) throw_user<DTypeError>(op, found, to_string(expected[i]), "", loc);
    result.push_back(got[i]);
  }
  return result;
}

// While an InRule lives, rules are traced.
thread_local int rules = 0;
struct InRule {
  InRule() { ++rules; }
  ~InRule() { --rules; }
  InRule(const InRule&) = delete;
  InRule& operator=(const InRule&) = delete;
};

Arrays staged_custom_jvp(const LeafFunction& f, const LeafFunction& rule, const Arrays& leaves, bool is_checked,
                         Loc loc) {
  if (!tracing::is_tracing()) return f(leaves);
  SharedConsts functions(leaves);
  TracedFunction body = tracing::trace(functions.avals, f);
  const std::vector<Aval> results = body.graph.avals(body.graph.outputs);
  std::vector<Aval> parameters = functions.avals;
  for (const Aval& aval : floating(functions.avals)) parameters.push_back(aval);
  functions.add(std::move(body));
  tracing::Attrs attrs;
  if (rules < tracing::kRulesInRules) {
    const InRule in_rule;
    TracedFunction derivative = tracing::trace(parameters, [&](const Arrays& in) {
      Arrays all(in.begin(), in.begin() + std::ssize(leaves));
      for (Array& t : with_zeros(functions.avals, std::span(in).subspan(leaves.size()))) all.push_back(std::move(t));
      return checked("custom_jvp", "tangent", rule(all), results, loc);
    });
    std::vector<bool> tangents(derivative.graph.inputs.size(), false);
    std::fill(tangents.begin() + std::ssize(leaves), tangents.end() - derivative.graph.num_captured, true);
    if (is_checked) autodiff::check_linear(derivative.graph, tangents, loc);
    functions.add(std::move(derivative));
    attrs.set(Attr::derivative, functions.graph(1));
  }
  attrs.set(Attr::body, functions.graph(0));
  attrs.set(Attr::num_consts, functions.consts());
  return tracing::apply_many(Op::custom_jvp, functions.operands(), std::move(attrs), loc);
}

}  // namespace

Arrays custom_jvp_of(const LeafFunction& f, const LeafFunction& rule, const Arrays& leaves, Loc loc) {
  return staged_custom_jvp(f, rule, leaves, true, loc);
}

Arrays custom_vjp_of(const LeafFunction& f, const LeafForward& forward, const LeafBackward& backward,
                     const Arrays& leaves, Loc loc) {
  if (!tracing::is_tracing()) return f(leaves);
  SharedConsts functions(leaves);
  TracedFunction body = tracing::trace(functions.avals, f);
  const std::vector<Aval> results = body.graph.avals(body.graph.outputs);
  functions.add(std::move(body));
  tracing::Attrs attrs;
  if (rules < tracing::kRulesInRules) {
    const InRule in_rule;
    size_t own = 0;  // results of forward that are not residuals
    TracedFunction first = tracing::trace(functions.avals, [&](const Arrays& in) {
      auto [value, residuals] = forward(in);
      own = value.size();
      value.insert(value.end(), residuals.begin(), residuals.end());
      return value;
    });
    std::vector<Aval> parameters = first.graph.avals(first.graph.outputs);  // residuals, then cotangents
    if (own != results.size() || !std::equal(results.begin(), results.end(), parameters.begin()))
      throw_user<ShapeError>("custom_vjp", "forward returns other arrays than the function", "the same, with residuals",
                             "", loc);
    parameters.erase(parameters.begin(), parameters.begin() + std::ssize(results));
    const size_t residuals = parameters.size();
    for (const Aval& aval : floating(results)) parameters.push_back(aval);
    functions.add(std::move(first));
    functions.add(tracing::trace(parameters, [&](const Arrays& in) {
      const auto cotangents = in.begin() + static_cast<std::ptrdiff_t>(residuals);
      return checked("custom_vjp", "cotangent",
                     backward({in.begin(), cotangents}, with_zeros(results, std::span(cotangents, in.end()))),
                     functions.avals, loc);
    }));
    attrs.set(Attr::forward, functions.graph(1));
    attrs.set(Attr::backward, functions.graph(2));
  }
  attrs.set(Attr::body, functions.graph(0));
  attrs.set(Attr::num_consts, functions.consts());
  return tracing::apply_many(Op::custom_vjp, functions.operands(), std::move(attrs), loc);
}

}  // namespace detail

std::vector<Array> autodiff::custom_jvp_unchecked(const detail::LeafFunction& f, const detail::LeafFunction& rule,
                                                  const std::vector<Array>& leaves, std::source_location loc) {
  return detail::staged_custom_jvp(f, rule, leaves, false, loc);
}

}  // namespace neap
