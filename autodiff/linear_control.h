// Cutting loops and branches that mix known and unknown results, for partial evaluation (linear.h).
#pragma once

#include <vector>

#include "autodiff/copier.h"
#include "autodiff/linear.h"

namespace neap::autodiff {

/// Returns the same graph with each scan, while_loop and cond that mixes known and unknown results cut into a known and
/// an unknown one.
Graph split_control(const Graph& g, const std::vector<bool>& unknown_inputs);

/// Each puts the two halves of a node into copy.to and names the node's results there. It returns which are unknown. A
/// scan stacks what its unknown half needs. A while_loop, whose number of steps nobody knows, rematerializes its known
/// results in the unknown half. A cond gives its residuals, with zeros from the branch that was not taken.
std::vector<bool> split_scan(const tracing::Node& node, const std::vector<bool>& unknown, Copier& copy);
std::vector<bool> split_while(const tracing::Node& node, const std::vector<bool>& unknown, Copier& copy);
std::vector<bool> split_cond(const tracing::Node& node, const std::vector<bool>& unknown, Copier& copy);

/// Returns what a value of a body is worth to its unknown half. Inputs are always given to it; of the values in between
/// only those that are expensive to compute. So a step of a scan costs a copy of its carry and not of every
/// intermediate, and random numbers are drawn again from their key. A value that does not vary is the same in every run
/// of the body.
Worth worth_in_body(const Graph& body, const std::vector<bool>& varies, ValueId v);

}  // namespace neap::autodiff
