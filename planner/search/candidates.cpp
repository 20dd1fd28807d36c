#include "planner/search/candidates.h"

#include <string>
#include <utility>

#include "planner/kernels/naive_bound.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/compact_updates.h"
#include "planner/rewrite/hoist.h"
#include "planner/rewrite/layouts.h"
#include "planner/rewrite/narrow_totals.h"
#include "planner/rewrite/simplify.h"
#include "planner/rewrite/unroll_sums.h"
#include "planner/search/budget.h"
#include "planner/search/free_slices.h"
#include "planner/search/loop_checkpoints.h"
#include "planner/search/overlap.h"
#include "planner/search/separate.h"
#include "planner/search/sink.h"
#include "planner/slice/ring_products.h"
#include "planner/slice/stencil.h"
#include "trace/graph/collective.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kMostNodes = 4000;                 // beyond, one plan takes time enough
constexpr size_t kWorthASearch = size_t{16} << 20;  // bytes; smaller plans get no search for less

bool always(Search&) { return true; }

// Gradients of tables are added to the rows that were read, not to all of the table. Fewer bytes move where the table
// is not copied.
bool compact(Search& s) {
  std::optional<Graph> compacted = compact_updates(s.simple, s.options.target);
  if (!compacted) return false;
  Planned next = plan_simplified(*compacted, s.options, {}, Placing::near);
  if (!better(price_of(next.plan), price_of(s.planned.plan), Policy::fewer_bytes)) return false;
  s.simple = *std::move(compacted);
  s.planned = std::move(next);
  return true;
}

size_t transposed_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const Node& node : graph.nodes) bytes += node.op == Op::transpose ? graph.aval(node.out()).bytes() : 0;
  return bytes;
}

bool is_small(Search& s) { return s.simple.nodes.size() <= kMostNodes; }

// The order of axes is chosen so that less is transposed. Slices are sought in the plain plan all the same: a batch
// lies outside of all other axes there.
bool lay_out_again(Search& s) {
  const std::optional<Graph> laid_out = lay_out(s.program.graph());
  if (!laid_out) return false;
  Graph graph = simplify(*laid_out);
  if (transposed_bytes(graph) >= transposed_bytes(s.simple)) return false;
  const Price usual = price_of(s.planned.plan);
  const auto is_better = [&](size_t peak_bytes, double seconds) {
    return better({peak_bytes, seconds}, usual, Policy::no_worse);
  };
  std::optional<Planned> next = try_plan(std::move(graph), s.options, is_better, &s.planned);
  if (!next || !better(price_of(next->plan), usual, Policy::no_worse)) return false;
  settle(next->plan, s.options);
  if (!better(price_of(next->plan), usual, Policy::no_worse)) return false;
  s.plain = std::exchange(s.planned, *std::move(next));
  return true;
}

// What is cheap to make again does not wait in memory.
bool rematerialize_cheap(Search& s) {
  s.rematerializer.emplace(s.planned, s.options);
  return &s.rematerializer->rematerialize_cheap() != &s.planned;
}

// What is made and read slice by slice anyway is held a slice at a time.
bool slice_freely(Search& s) {
  s.other = slice_for_free(s.plain_plan(), s.rematerializer->best(), s.options);
  return s.other.has_value();
}

bool is_whole(Search& s) { return !s.other; }

// Nor do products of few terms wait, where no slices of them could be had.
bool rematerialize_products(Search& s) {
  const Planned* before = &s.rematerializer->best();
  return &s.rematerializer->rematerialize_products() != before;
}

// The same plan, its buffers placed as well as can be.
bool place(Search& s) {
  if (std::optional<Planned> next = std::exchange(s.rematerializer, std::nullopt)->take()) {
    Planned usual = std::exchange(s.planned, *std::move(next));
    if (!s.plain) s.plain = std::move(usual);
  }
  if (s.planned.plan.peak_bytes <= s.planned.plan.lower_bound_bytes) return false;
  settle(s.planned.plan, s.options);
  return true;
}

// A choice between whole plans, as they came out.
void record(PlanData& plan, const std::string& chosen, std::string reason, std::vector<Alternative> alternatives) {
  plan.decisions.push_back({"steps", chosen, std::move(reason), std::move(alternatives)});
}

void try_steps(Search& s) {
  for (const Candidate& candidate : candidates()) {
    if (candidate.of_steps && candidate.applies(s)) candidate.consider(s);
  }
}

// Takes what was found of another graph of the program; gives what it took the place of.
Search::Start take(Search& s, Search& next, const char* instead, const char* chosen, std::string reason) {
  record(next.plan(), chosen, std::move(reason), {alternative(instead, s.plan()), alternative(chosen, next.plan())});
  Search::Start replaced{std::exchange(s.simple, std::move(next.simple)), std::move(s.planned.plan)};
  s.planned = std::move(next.planned);
  s.plain = std::move(next.plain);
  s.other = std::move(next.other);
  return replaced;
}

// The same, where that is better.
std::optional<Search::Start> take_better(Search& s, Search& next, const char* instead, const char* chosen,
                                         std::string reason) {
  if (!better(next.price(), s.price())) return std::nullopt;
  return take(s, next, instead, chosen, std::move(reason));
}

// What was not taken: a search for less may begin there.
bool leave(Search& s, Search& next) {
  s.others.push_back({std::move(next.simple), std::move(next.planned.plan)});
  return false;
}

// Takes what is better; whatever was not taken, a budget may be met from.
bool take_or_leave(Search& s, Search& next, const char* instead, const char* chosen, std::string reason) {
  std::optional<Search::Start> replaced = take_better(s, next, instead, chosen, std::move(reason));
  if (!replaced) return leave(s, next);
  s.others.push_back(*std::move(replaced));
  return true;
}

// Sums of a few terms are additions, computed where they are read.
bool unroll(Search& s) {
  const std::optional<Graph> graph = unroll_sums(s.simple);
  if (!graph) return false;
  const Program program(simplify(*graph));
  Search unrolled = begin_search(program, s.options);
  s.unrolled = unrolled.planned;
  try_steps(unrolled);
  const bool is_smaller = unrolled.plan().peak_bytes < s.plan().peak_bytes;
  const char* reason = "sums of a few terms are computed where they are read";
  return (is_smaller && take_better(s, unrolled, "summed", "unrolled", reason)) || leave(s, unrolled);
}

// What loops read in every iteration is computed in their bodies, of less.
bool sink(Search& s) {
  std::optional<Graph> graph = sink_into_loops(s.plain_plan());
  if (!graph && s.unrolled) graph = sink_into_loops(*s.unrolled);
  if (!graph) return false;
  const Program program(simplify(*graph));  // axes are not laid out before
  Search sunk = begin_search(program, s.options);
  if (sunk.planned.plan.peak_bytes >= s.plain_plan().plan.peak_bytes) return false;
  try_steps(sunk);
  return take_or_leave(s, sunk, "stored before", "sunk",
                       "what loops read in every iteration is computed there, and not stored");
}

bool is_price_above_naive(Search& s, Price price) {
  if (!s.naive) {
    if (!s.naive_at_least) {
      s.naive_at_least = naive_peak_at_least(s.program.light(), s.options.target);
    }
    if (price.peak_bytes <= *s.naive_at_least) return false;
    s.naive = plan_naive(s.program, s.options);
  }
  return price.peak_bytes > s.naive->peak_bytes;
}

bool is_price_far_above_naive(Search& s, Price price) {
  return is_price_above_naive(s, price) && exceeds_naive(price, price_of(*s.naive));
}

bool is_above_naive(Search& s) { return is_price_above_naive(s, s.price()); }

bool is_far_above_naive(Search& s) { return is_price_far_above_naive(s, s.price()); }

// What loops compute in every iteration of nothing that changes is computed once, and held.
bool hoist(Search& s) {
  const std::optional<Graph> graph = hoist_from_loops(s.simple);
  if (!graph) return false;
  const Program program(simplify(*graph));
  Search hoisted = begin_search(program, s.options);
  try_steps(hoisted);
  if (is_price_far_above_naive(s, hoisted.price())) return leave(s, hoisted);
  return take_or_leave(s, hoisted, "computed again", "hoisted", "what does not change is computed before the loop");
}

// What a loop adds up is added up as what is read of it. That is another order of the same sums: without a budget it is
// taken where it saves as much as slices that split sums must.
bool narrow(Search& s) {
  const std::optional<Graph> graph = narrow_totals(s.simple);
  if (!graph) return false;
  const Program program(simplify(*graph));
  Search narrowed = begin_search(program, s.options);
  try_steps(narrowed);
  unroll(narrowed);
  sink(narrowed);
  for (Search::Start& other : narrowed.others) s.others.push_back(std::move(other));
  const char* reason = "of what a loop adds up, the sums that are read of it are added up";
  return (saves(narrowed.price(), s.price(), kSavedBySums) &&
          take_better(s, narrowed, "added up", "narrowed", reason)) ||
         leave(s, narrowed);
}

// Loops that run backwards begin again at checkpoints, where what each step would leave is far more. (Searches for less
// do so by themselves.)
bool checkpoint_loops(Search& s) {
  const std::optional<LoopCheckpoints> loops = checkpoint_stacked_loops(s.simple, 1, 1);
  if (!loops) return false;
  const Program program(loops->graph);
  Search segmented = begin_search(program, s.options);
  if (segmented.planned.plan.peak_bytes >= s.plan().peak_bytes) return false;
  try_steps(segmented);
  return take_better(s, segmented, "stacked", "checkpointed",
                     loops->how + ": what each step would leave is computed again from checkpoints")
      .has_value();
}

// Tables that follow from their own rows nearby are written over themselves, band by band.
bool update_bands(Search& s) {
  if (s.options.target.gpu) return false;  // bands are one after the other
  const std::optional<Graph> graph = update_in_bands(s.simple);
  if (!graph) return false;
  const Program program(simplify(*graph));
  Search banded = begin_search(program, s.options);
  if (banded.planned.plan.peak_bytes >= s.plan().peak_bytes) return false;
  try_steps(banded);
  const char* reason = "tables that follow from their own rows nearby are written over themselves in bands";
  return take_better(s, banded, "whole", "banded", reason) || leave(s, banded);
}

// What is gathered for a product alone goes round in a ring.
bool go_round(Search& s) {
  if (s.options.target.gpu || !tracing::has_collectives(s.simple)) return false;
  const std::optional<Graph> graph = ring_products(s.simple);
  if (!graph) return false;
  const Program program(simplify(*graph));
  Search ring = begin_search(program, s.options);
  if (ring.planned.plan.peak_bytes >= s.plan().peak_bytes) return false;
  try_steps(ring);
  // Messages are beside products if that holds no more than what is gathered.
  PlanData beside = ring.plan();
  beside.budget = s.plan().peak_bytes;
  overlap_messages(beside, s.options);
  beside.budget = ring.plan().budget;
  if (!better(price_of(beside, s.options.target), s.price())) return leave(s, ring);
  const auto known = static_cast<std::ptrdiff_t>(ring.plan().decisions.size());
  take(s, ring, "gathered", "ring", "blocks of what is gathered go from rank to rank, and are multiplied meanwhile");
  std::vector<Decision> decisions = s.plan().decisions;
  decisions.insert(decisions.end(), beside.decisions.begin() + known, beside.decisions.end());
  beside.decisions = std::move(decisions);
  s.other = std::move(beside);
  return true;
}

bool is_worth_a_search(Search& s) {
  return is_small(s) && !s.options.target.gpu && s.plain_plan().plan.peak_bytes >= kWorthASearch;
}

// Of what budgets would get, what takes about as long.
bool lower(Search& s) {
  bool is_lower = false;
  if (s.options.likely && fits(s.plan(), s.options)) s.options.likely(s.plan());
  const auto search_from = [&](const Graph& simple) {
    std::optional<PlanData> lower = lower_for_free(simple, s.plan(), s.options);
    if (!lower) return;
    s.other = *std::move(lower);
    is_lower = true;
  };
  search_from(s.simple);
  for (const Search::Start& other : s.others) search_from(other.simple);
  return is_lower;
}

bool could_part(Search& s) { return s.plain_plan().could_part; }

// Steps are merged for what they share once it is known what is stored, not for what they might share before.
bool part(Search& s) {
  PlanOptions options = s.options;
  options.part_steps = true;
  Search parted{s.program, options, s.simple, plan_simplified(s.simple, options, {}, Placing::near)};
  try_steps(parted);
  if (!better(parted.price(), s.price())) return false;
  record(parted.plan(), "parted", "what merged steps were to share is stored: each alone keeps less alive",
         {alternative("merged", s.plan()), alternative("parted", parted.plan())});
  s.options = std::move(options);
  s.planned = std::move(parted.planned);
  s.other = std::move(parted.other);
  return true;
}

// What has several readers is stored, not computed by each from what must wait in its place: less waits in some small
// programs.
bool store(Search& s) {
  Planned next = plan_simplified(s.simple, s.options, kStoreShared);
  Rematerializer rematerializer(next, s.options);
  rematerializer.rematerialize_cheap();
  if (std::optional<Planned> again = rematerializer.take()) next = *std::move(again);
  if (next.plan.peak_bytes >= s.plan().peak_bytes) return false;
  if (!is_far_above_naive(s) && !better(price_of(next.plan, s.options.target), s.price())) return false;
  record(next.plan, "stored", "what has several readers is stored, as less waits then",
         {alternative("fused", s.plan()), alternative("stored", next.plan)});
  s.fused = std::exchange(s.planned, std::move(next));
  s.other.reset();
  return true;
}

// The steps that hold the most are taken apart, and no others.
bool separate(Search& s) {
  const Planned& fused = s.fused ? *s.fused : s.planned;
  const Price naive = price_of(*s.naive);
  std::optional<Planned> next = separate_peaks(fused, naive, s.options);
  if (!next || better(naive, price_of(next->plan, s.options.target))) return false;
  record(next->plan, "separated",
         "the steps that would hold the most store what they compute on the way, or are not merged: less waits then",
         {alternative("fused", fused.plan), alternative("separated", next->plan), alternative("naive", *s.naive)});
  s.planned = *std::move(next);
  s.other.reset();
  return true;
}

bool may_be_naive(Search& s) { return s.options.naive_too && is_far_above_naive(s); }

bool run_naively(Search& s) {
  s.other = s.naive;
  return true;
}

constexpr Candidate kCandidates[] = {
    {"compacted", false, always, compact},                  // planner/rewrite/compact_updates.h
    {"laid out", true, is_small, lay_out_again},            // planner/rewrite/layouts.h
    {"rematerialized", true, always, rematerialize_cheap},  // planner/search/rematerialize_cheap.h
    {"chunked", true, always, slice_freely},                // planner/search/free_slices.h
    {"rematerialized products", true, is_whole, rematerialize_products},
    {"placed", true, always, place},                      // planner/place/place.h
    {"hoisted", false, is_small, hoist},                  // planner/rewrite/hoist.h
    {"unrolled", false, is_small, unroll},                // planner/rewrite/unroll_sums.h
    {"sunk", false, is_small, sink},                      // planner/search/sink.h
    {"narrowed", false, is_small, narrow},                // planner/rewrite/narrow_totals.h
    {"checkpointed", false, is_small, checkpoint_loops},  // planner/search/loop_checkpoints.h
    {"banded", false, is_small, update_bands},            // planner/slice/stencil.h
    {"ring", false, is_small, go_round},                  // planner/slice/ring_products.h
    {"lowered", false, is_worth_a_search, lower},         // planner/search/budget.h
    {"parted", false, could_part, part},                  // planner/fuse/fuse.h
    {"stored", false, is_above_naive, store},             // planner/fuse/fuse.h
    {"separated", false, is_far_above_naive, separate},   // planner/search/separate.h
    {"naive", false, may_be_naive, run_naively},
};

}  // namespace

std::span<const Candidate> candidates() { return kCandidates; }

Search begin_search(const Program& program, const PlanOptions& options) {
  return {program, options, program.simple(), plan_simplified(program.simple(), options, {}, Placing::near)};
}

Search search_candidates(const Program& program, const PlanOptions& options) {
  Search search = begin_search(program, options);
  for (const Candidate& candidate : kCandidates) {
    if (candidate.applies(search) && candidate.consider(search)) search.taken.push_back(candidate.name);
  }
  return search;
}

PlanData plan_naive(const Program& program, PlanOptions options) {
  options.naive = true;
  return plan_simplified(program.light(), options, {}).plan;
}

}  // namespace neap::planner
