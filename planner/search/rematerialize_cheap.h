// Values that are cheap to make again do not wait in memory for their second reader. An operand of a matrix product
// must be stored to be read; but where it is a copy, a gather or a few elementwise ops of what is kept anyway, it is
// stored twice for a moment each, in the forward and in the backward pass, and not once for all the time between.
// Tested in tests/planner/rematerialize_cheap_test.cpp.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "planner/pipeline/pipeline.h"
#include "planner/search/better.h"

namespace neap::planner {

/// Tries plans that make such values again, and keeps the best: of the usual plan, which outlives this, and those that
/// lower its peak by much for little time.
class Rematerializer {
 public:
  Rematerializer(const Planned& usual, const PlanOptions& options);

  /// Tries copies, gathers and elementwise ops. The best plan so far.
  const Planned& rematerialize_cheap();

  /// Tries also products of few terms, such as the scores of attention. (Where they can be had in slices, less of them
  /// is held: planner/search/free_slices.h comes before.) The best plan so far.
  const Planned& rematerialize_products();

  const Planned& best() const { return *best_; }

  /// Gives the best plan, placed; nullopt where that is the usual one. Nothing is tried after.
  std::optional<Planned> take();

  /// What may be made again, if it is cheap.
  struct Kinds {
    bool chains = false;    // of what is made again itself
    bool products = false;  // products of few terms
  };

 private:
  struct Trial {
    const Planned* from;
    std::vector<tracing::ValueId> kept;
    std::optional<Planned> planned;  // none: it could not be better than the best was
  };

  bool is_better(Price price) const;
  const Planned* try_keeping(const Planned& from, std::vector<tracing::ValueId> kept);
  void go_on(const Planned* from, Kinds kinds);

  const PlanOptions& options_;
  std::deque<Trial> trials_;
  const Planned* best_;
  const Planned* usual_;
  Price price_;  // of the usual plan
};

}  // namespace neap::planner
