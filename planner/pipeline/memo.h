// What plans that are tried in one search have in common is found once: orders of steps, and plans of loops' bodies.
// They follow from what they are found for, but for the work that is left to place buffers where a search bounds it
// (PlanOptions::placing), of which more is left so. Tested in tests/planner/memo_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/order/order.h"
#include "planner/plan/plan.h"
#include "trace/graph/graph.h"
#include "trace/graph/loop.h"

namespace neap::planner {

class PlanMemo {
 public:
  /// Returns the order of the problem's steps, or null.
  const std::vector<int>* order(const OrderProblem& problem) const;
  void remember(const OrderProblem& problem, std::vector<int> order);

  /// Says what the plan of a body depends on, beside what all plans of a search share.
  struct Body {
    tracing::GraphPtr graph;
    size_t consts = 0, carries = 0;
    int64_t length = 0;
    FuseOptions fuse;
    bool naive = false, part_steps = false, keep_passes = false;
    std::shared_ptr<const SharedPlacing> placing = {};
  };
  /// Returns the plan of the body, with its places in the user's source too, or null.
  std::shared_ptr<const PlanData> plan(const Body& body) const;
  void remember(Body body, std::shared_ptr<const PlanData> plan);

 private:
  struct Plan {
    Body body;
    std::shared_ptr<const PlanData> plan;
  };
  size_t held_ = 0;  // roughly, in numbers: nothing more is remembered past kMost
  std::map<std::vector<uint64_t>, std::vector<int>> orders_;  // by all that a problem says
  std::unordered_multimap<uint64_t, Plan> plans_;
};

}  // namespace neap::planner
