// Partial evaluation: the computation of a jvp graph splits into the part that depends on no tangent and the linear
// rest.
//
// Residuals are the values of the first part that the second one uses. Inlined into one graph they are just values: the
// planner decides which to keep and which to rematerialize. Only loops and branches decide here, because their two
// halves run at different times: see worth_in_body in linear_control.h. Tested in tests/autodiff/.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::autodiff {

using tracing::Graph;
using tracing::ValueId;

/// Attr::saveable is empty for a checkpoint() that keeps nothing; else it is one of these, or names with commas between
/// them.
inline constexpr std::string_view kSaveEverything = "*", kSaveDots = "*dots";

struct Linearized {
  Graph primal;   // inputs of g -> outputs of g, then residuals
  Graph tangent;  // (residuals, tangents of the active inputs) -> tangents of the outputs marked in `active`
  size_t residuals = 0;
  std::vector<bool> active;
};
Linearized linearize(const Graph& g, const std::vector<bool>& active);

/// Returns which values depend on a marked input. A result of a node depends on all its operands.
std::vector<bool> depends_on(const Graph& g, const std::vector<bool>& inputs);

/// Split is a graph cut in two. Outputs marked in `unknown_outputs` come from `unknown`.
struct Split {
  Graph known;                     // known inputs -> known outputs, then residuals
  Graph unknown;                   // residuals, unknown inputs -> unknown outputs
  std::vector<ValueId> residuals;  // values of the graph that was split
  std::vector<bool> unknown_outputs;
};
/// Worth says what a known value that the unknown part uses is worth: whether it is stored as a residual, or
/// rematerialized there from its operands. Where both halves are in one checkpoint(), its policy decides instead,
/// except for values that are the same for all inputs.
enum class Worth : uint8_t { nothing, little, residual };
/// Splits the graph. `unknown_inputs` and all values that depend on them are unknown; so are the outputs marked in
/// `forced`. Known inputs that are used are always residuals. With `cost`, what a residual costs, the residuals are
/// those that cost least in all, of the ones that `worth` names and what it has rematerialized from them; but not where
/// there is a checkpoint().
Split split(const Graph& g, const std::vector<bool>& unknown_inputs, const std::vector<bool>& forced,
            const std::function<Worth(ValueId)>& worth, const std::function<int64_t(ValueId)>& cost = {});

}  // namespace neap::autodiff
