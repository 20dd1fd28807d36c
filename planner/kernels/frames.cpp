#include "planner/kernels/frames.h"

#include <algorithm>
#include <optional>

#include "core/hash.h"
#include "planner/kernels/families.h"
#include "planner/kernels/windows.h"

namespace neap::planner {

using namespace tracing;

namespace {

// A number for the window that a slice takes, or in which an update lies, of an array of this shape.
std::optional<Frame> window_of(const Graph& graph, const Node& node, size_t operand) {
  std::optional<Ints> start;
  if (node.op == Op::slice && std::ranges::all_of(node.attrs.ints(Attr::stride), [](int64_t n) { return n == 1; })) {
    start = node.attrs.ints(Attr::start);
  } else if (node.op == Op::dynamic_update_slice && operand == 1) {
    start = known_start(graph, node);
  }
  if (!start) return std::nullopt;
  const bool slices = node.op == Op::slice;
  const Shape& whole = graph.aval(slices ? node.inputs[0] : node.out()).shape;
  const Shape& window = graph.aval(slices ? node.out() : node.inputs[1]).shape;
  std::vector<uint64_t> words;
  for (const std::vector<int64_t>& numbers : {*start, whole, window}) {
    for (const int64_t n : numbers) words.push_back(static_cast<uint64_t>(n));
  }
  return xxh3_64(words.data(), words.size() * sizeof(uint64_t));
}

}  // namespace

OperandRead::OperandRead(const Graph& graph, const Node& node, size_t operand) {
  const Family family = op_info(node.op).family;
  const bool moves = family == Family::layout || family == Family::gather || family == Family::random;
  if (!moves || node.op == Op::reshape) return;
  if (node.op == Op::dynamic_update_slice && operand == 0) return;
  if (const auto window = window_of(graph, node, operand)) {
    kind_ = Kind::window;
    where_ = *window;
    return;
  }
  std::vector<uint64_t> words = {static_cast<uint64_t>(node.op), operand, node.attrs.hash()};
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
  kind_ = Kind::elsewhere;
  where_ = xxh3_64(words.data(), words.size() * sizeof(uint64_t));
}

Frame OperandRead::frame(Frame of_result) const {
  if (kind_ == Kind::in_place) return of_result;
  if (kind_ == Kind::window) return of_result ^ where_;  // into it and out of it again
  const uint64_t words[] = {of_result, where_};
  return xxh3_64(words, sizeof(words));
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
