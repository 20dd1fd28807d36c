#include "planner/kernels/frames.h"

#include <algorithm>

#include "core/hash.h"
#include "planner/kernels/families.h"

namespace neap::planner {

using namespace tracing;

Frame frame_of_operand(const Graph& graph, const Node& node, size_t operand, Frame frame) {
  const Family family = op_info(node.op).family;
  const bool moves = family == Family::layout || family == Family::gather || family == Family::random;
  if (!moves || node.op == Op::reshape) return frame;
  if (node.op == Op::dynamic_update_slice && operand == 0) return frame;
  std::vector<uint64_t> words = {frame, static_cast<uint64_t>(node.op), operand, node.attrs.hash()};
  const auto add_shape = [&](ValueId v) {
    for (const int64_t extent : graph.aval(v).shape) words.push_back(static_cast<uint64_t>(extent));
  };
  if (node.op == Op::concatenate) {  // where it begins
    for (size_t i = 0; i < operand; ++i) add_shape(node.inputs[i]);
  } else {
    add_shape(node.inputs[operand]);
  }
  if (family == Family::gather || node.op == Op::dynamic_slice || node.op == Op::dynamic_update_slice) {
    words.push_back(static_cast<uint64_t>(node.inputs.back()));
  }
  return xxh3_64(words.data(), words.size() * sizeof(uint64_t));
}

void Evaluations::read(const InFrame& by) {
  const auto it = std::ranges::find(frames_, by.frame, &InFrame::frame);
  if (it != frames_.end()) {
    it->often = std::max(it->often, by.often);
    it->hoisted = std::max(it->hoisted, by.hoisted);
  } else if (frames_.size() < kMost) {
    frames_.push_back(by);
  } else {
    frames_.back().often += by.often;
    frames_.back().hoisted += by.hoisted;
  }
}

double Evaluations::often() const {
  double sum = 0;
  for (const InFrame& f : frames_) sum += f.often;
  return sum;
}

double Evaluations::hoisted() const {
  double sum = 0;
  for (const InFrame& f : frames_) sum += f.hoisted;
  return sum;
}

}  // namespace neap::planner
