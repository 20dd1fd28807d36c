// A kernel computes a value once for each place at which it reads it: 2 x and 3 x share x, but where one is shifted by
// a row against the other, x is computed at two places. A frame is such a place: the ops that move elements, on the way
// from the results of a step to the value. (Results of different sizes have kernels of their own; they are taken for
// one.) Tested in tests/planner/predict_test.cpp and fuse_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::planner {

using Frame = uint64_t;
inline constexpr Frame kFrameOfResults = 0;

/// An operand of a node, as it is read: the frame of each of the node's results is another of the operand.
class OperandRead {
 public:
  OperandRead(const tracing::Graph& graph, const tracing::Node& node, size_t operand);

  /// Returns where a node whose result is computed in the frame reads the operand.
  Frame frame(Frame of_result) const;

 private:
  enum class Kind : uint8_t { in_place, window, elsewhere };
  Kind kind_ = Kind::in_place;
  uint64_t where_ = 0;  // of a window or a place
};

/// Evaluations are those of one value. Readers in one frame share them.
class Evaluations {
 public:
  struct InFrame {
    Frame frame;
    double often;
    double hoisted;  // a row of the reader counts as one where the value depends on the row alone
  };

  void read(const InFrame& by);
  const std::vector<InFrame>& frames() const { return frames_; }
  double often() const;
  double hoisted() const;

 private:
  static constexpr size_t kMost = 32;  // frames that are told apart; the last of them stands for all others as well

  std::vector<InFrame> frames_;
};

}  // namespace neap::planner
