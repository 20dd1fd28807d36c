#include "autodiff/check_linear.h"

#include <algorithm>
#include <span>

#include "autodiff/linear.h"
#include "autodiff/transpose_rules.h"
#include "trace/graph/call.h"
#include "trace/graph/effects.h"

namespace neap::autodiff {
namespace {

using tracing::Attr;
using tracing::Family;
using tracing::Node;
using tracing::Op;

// Which values depend on the marked inputs. Whole numbers and bools that nodes with bodies give do not: none is made of
// tangents in a loop or a branch (check_bodies()), and functions with rules of their own are trusted.
std::vector<bool> depends_on_tangents(const Graph& g, const std::vector<bool>& linear) {
  std::vector<bool> depends(g.values.size(), false);
  for (size_t i = 0; i < linear.size(); ++i) depends[g.inputs[i]] = linear[i];
  for (const Node& node : g.nodes) {
    if (std::ranges::none_of(node.inputs, [&](ValueId v) { return depends[v]; })) continue;
    const Family family = tracing::op_info(node.op).family;
    const bool has_body = family == Family::control || family == Family::call;
    for (const ValueId v : node.outputs) depends[v] = !has_body || is_inexact(g.aval(v).dtype);
  }
  return depends;
}

void check_bodies(const Node& node, const std::vector<bool>& depends);

// Throws where a body makes whole numbers or bools of tangents. Its transpose would meet them as operands without a
// value; all else that is not linear there it says itself.
void check_numbers(const Graph& body, const std::vector<bool>& linear) {
  const std::vector<bool> depends = depends_on_tangents(body, linear);
  for (const Node& node : body.nodes) {
    const Family family = tracing::op_info(node.op).family;
    const auto is_made = [&](ValueId v) { return depends[v] && !is_inexact(body.aval(v).dtype); };
    if (family == Family::control)
      check_bodies(node, depends);
    else if (std::ranges::any_of(node.outputs, is_made))
      not_linear(node);
  }
}

void check_bodies(const Node& node, const std::vector<bool>& depends) {
  std::vector<bool> linear;
  for (const ValueId v : node.inputs) linear.push_back(depends[v]);
  if (node.op == Op::cond) {
    linear.erase(linear.begin());
    for (const Attr branch : {Attr::body, Attr::otherwise}) check_numbers(*node.attrs.graph(branch), linear);
    return;
  }
  const Graph& body = *node.attrs.graph(Attr::body);
  const auto first = static_cast<size_t>(node.attrs.integer(Attr::num_consts));
  const auto carried = static_cast<size_t>(node.attrs.integer(Attr::num_carry));
  for (bool more = true; more;) {  // what a step makes of tangents is what the next one gets
    more = false;
    const std::vector<bool> after = depends_on_tangents(body, linear);
    for (size_t j = 0; j < carried; ++j) {
      if (!after[body.outputs[j]] || linear[first + j]) continue;
      linear[first + j] = more = true;
    }
  }
  check_numbers(body, linear);
}

class LinearCheck {
 public:
  LinearCheck(const Graph& g, const std::vector<bool>& linear) : g_(g), depends_(depends_on_tangents(g, linear)) {
    for (const Node& node : g.nodes)
      if (depends(node) && !is_linear(node)) not_linear(node);
  }

  /// Returns whether v may be added to a linear value: it is linear, or zero.
  bool adds(ValueId v) const { return depends_[v] || is_zero(v); }

 private:
  bool depends(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ValueId v) { return depends_[v]; });
  }

  bool is_zero(ValueId v) const {
    const Node* node = g_.def(v);
    if (!node) return false;
    if (node->op == Op::constant) return node->attrs.real(tracing::Attr::value) == 0;
    if (node->op == Op::multiply) return is_zero(node->inputs[0]) || is_zero(node->inputs[1]);
    const Family family = tracing::op_info(node->op).family;
    return (family == Family::layout || family == Family::convert) && node->inputs.size() == 1 &&
           is_zero(node->inputs[0]);
  }

  bool is_linear(const Node& node) const {
    const auto in = [&](size_t i) { return node.inputs[i]; };
    const auto all_add = [&] {
      return std::ranges::all_of(node.inputs, [&](ValueId v) { return !is_inexact(g_.aval(v).dtype) || adds(v); });
    };
    switch (node.op) {
      case Op::negative: return true;
      case Op::add:
      case Op::subtract: return all_add();
      case Op::multiply:
      case Op::convolution:
      case Op::dot_general: return depends_[in(0)] != depends_[in(1)];
      case Op::divide: return !depends_[in(1)];
      case Op::select: return !depends_[in(0)] && adds(in(1)) && adds(in(2));
      case Op::cholesky_tangent:
      case Op::cholesky_cotangent:
      case Op::triangular_solve: return !depends_[in(0)];
      case Op::convert: return is_inexact(g_.aval(node.out()).dtype);
      case Op::cumsum:
      case Op::reduce_sum: return true;
      case Op::linear_solve:
        return std::ranges::none_of(std::span(node.inputs).first(tracing::call_consts(node)),
                                    [&](ValueId v) { return depends_[v]; });
      case Op::scatter_mul: return !depends_[in(2)];
      case Op::pmax:
      case Op::pmin: return false;
      case Op::host_call: return !tracing::calls_host(node, true);  // prints of tangents
      case Op::scatter_add:
      case Op::scatter_set: return all_add();
      default: break;
    }
    switch (tracing::op_info(node.op).family) {
      case Family::complex:
      case Family::layout: return all_add();
      case Family::fft:
      case Family::collective:
      case Family::gather:
      case Family::call: return true;
      case Family::control: check_bodies(node, depends_); return true;
      default: return false;
    }
  }

  const Graph& g_;
  std::vector<bool> depends_;
};

}  // namespace

void check_linear(const Graph& g, const std::vector<bool>& linear, std::source_location loc) {
  const LinearCheck check(g, linear);
  for (const ValueId v : g.outputs) {
    if (check.adds(v)) continue;
    throw_user<UserError>("custom_jvp", "a rule that adds to its tangents", "a rule that is linear in them",
                          "it gives zero where all tangents are zero", g.def(v) ? g.def(v)->loc : loc);
  }
}

}  // namespace neap::autodiff
