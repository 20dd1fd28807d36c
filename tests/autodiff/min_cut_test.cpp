// Minimum cuts: against all cuts of small random graphs.
#include "autodiff/min_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace neap::autodiff {
namespace {

// Whether a sink can be reached from a source around the cut.
bool leaks(const CutProblem& p, const std::vector<bool>& cut) {
  std::vector<bool> reached(p.cost.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t v = 0; v < p.cost.size(); ++v) {
      if (cut[v] || !(p.source[v] || reached[v])) continue;
      if (p.sink[v]) return true;
      for (const int next : p.successors[v]) {
        if (reached[static_cast<size_t>(next)]) continue;
        reached[static_cast<size_t>(next)] = changed = true;
      }
      changed = changed || !reached[v];
      reached[v] = true;
    }
  }
  return false;
}

int64_t cost_of(const CutProblem& p, const std::vector<bool>& cut) {
  int64_t cost = 0;
  for (size_t v = 0; v < cut.size(); ++v) cost += cut[v] ? p.cost[v] : 0;
  return cost;
}

TEST(MinCut, IsTheCheapestOfAllCuts) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const size_t n = 2 + random() % 9;
    CutProblem p{std::vector<int64_t>(n), std::vector<std::vector<int>>(n), std::vector<bool>(n), std::vector<bool>(n)};
    for (size_t v = 0; v < n; ++v) {
      p.cost[v] = random() % 6;
      p.source[v] = random() % 4 == 0;
      p.sink[v] = random() % 4 == 0;
      for (size_t next = v + 1; next < n; ++next) {
        if (random() % 3 == 0) p.successors[v].push_back(static_cast<int>(next));
      }
    }
    int64_t least = cost_of(p, std::vector<bool>(n, true));
    for (uint32_t bits = 0; bits < 1u << n; ++bits) {
      std::vector<bool> cut(n);
      for (size_t v = 0; v < n; ++v) cut[v] = bits >> v & 1;
      if (!leaks(p, cut)) least = std::min(least, cost_of(p, cut));
    }
    const std::vector<bool> cut = min_vertex_cut(p);
    EXPECT_FALSE(leaks(p, cut));
    EXPECT_EQ(cost_of(p, cut), least);
  }
}

TEST(MinCut, IsNearTheSources) {
  // 0 -> 1 -> 2, all as dear.
  const CutProblem p{{5, 5, 5}, {{1}, {2}, {}}, {true, false, false}, {false, false, true}};
  EXPECT_EQ(min_vertex_cut(p), (std::vector<bool>{true, false, false}));
}

}  // namespace
}  // namespace neap::autodiff
