#include "planner/pipeline/pipeline.h"

#include <optional>
#include <string_view>
#include <utility>

#include "core/progress.h"
#include "planner/fuse/in_place.h"
#include "planner/fuse/insert_copies.h"
#include "planner/fuse/steps.h"
#include "planner/kernels/predict.h"
#include "planner/order/order_graph.h"
#include "planner/pipeline/memo.h"
#include "planner/pipeline/pass_text.h"
#include "planner/plan/limits.h"
#include "planner/rewrite/lower_dot.h"
#include "planner/rewrite/lower_sort.h"
#include "trace/graph/collective.h"

namespace neap::planner {

using tracing::Graph;

namespace {

// Steps in their final order find more in caches. A guess: where it is too little, a good plan may be passed over.
constexpr double kInBetterOrder = 0.95;

// What a plan must be worth, and one that it may be like.
struct Trial {
  const Worth& worth;
  const Planned* like = nullptr;
};

// A plan in the making: what passes find and leave.
struct Draft {
  const PlanOptions& options;
  const FuseOptions& fuse_options;
  OrderOptions order;
  const tracing::CountedLoop* loop = nullptr;  // whose body this is
  const Trial* trial = nullptr;                // null: the plan is made whatever it is worth
  Placing placing = Placing::best;
  Planned planned;
  Fusion fusion;

  bool is_body() const { return loop; }
};

// What messages and reports call the plan.
std::string name_of(const PlanOptions& options, const Graph& graph) {
  return options.name.empty() ? graph.name : options.name;
}

bool narrow_products(Draft& d) {
  if (d.options.naive) return true;
  d.planned.graph = narrow_dots(d.planned.graph, d.options.target);
  if (!d.options.target.gpu) d.planned.graph = read_narrow(d.planned.graph);
  return true;
}

bool select_ranks_alone(Draft& d) {
  if (!d.options.naive && !d.options.target.gpu) d.planned.graph = select_ranks(std::move(d.planned.graph));
  return true;
}

bool give_copies(Draft& d) {
  std::vector<bool> overwritable = d.options.donated;
  if (d.is_body()) {
    overwritable.assign(static_cast<size_t>(d.order.num_consts), false);
    overwritable.resize(overwritable.size() + static_cast<size_t>(d.order.num_carry), true);
  }
  d.planned.graph = insert_copies(std::move(d.planned.graph), d.is_body(), !d.options.naive, overwritable);
  return true;
}

bool choose_steps(Draft& d) {
  d.fusion =
      d.options.naive ? fuse_nothing(d.planned.graph) : fuse(d.planned.graph, d.fuse_options, d.options.part_steps);
  d.planned.could_part = d.fusion.could_part;
  return true;
}

bool write_steps(Draft& d) {
  const PlanOptions& options = d.options;
  const auto plan_inner = [&](const tracing::GraphPtr& graph, tracing::CountedLoop loop) {
    const PlanMemo::Body body{graph,         loop.consts,        loop.carries,        loop.length,    d.fuse_options,
                              options.naive, options.part_steps, options.keep_passes, options.placing};
    std::shared_ptr<const PlanData> plan = options.memo ? options.memo->plan(body) : nullptr;
    if (plan) return plan;
    plan = std::make_shared<const PlanData>(plan_body(*graph, loop, options, d.fuse_options).plan);
    if (options.memo) options.memo->remember(body, plan);
    return plan;
  };
  d.planned.plan = make_steps(d.planned.graph, d.fusion, d.options, plan_inner);
  check_countable(d.planned.plan, name_of(d.options, d.planned.graph));
  return true;
}

bool may_be_worth(Draft& d, const OrderGraph& graph) {
  PlanData& plan = d.planned.plan;
  const size_t held = held_beside(plan, d.options.target) + least_peak(graph);
  predict(plan, held);
  plan.predicted_seconds *= kInBetterOrder;
  const Trial& trial = *d.trial;
  if (!trial.worth(held, plan.predicted_seconds)) return false;
  return !trial.like || !no_easier(d.planned.problem, trial.like->problem) ||
         trial.worth(trial.like->plan.peak_bytes, plan.predicted_seconds);
}

bool find_order(Draft& d) {
  d.planned.problem = order_problem(d.planned.plan, d.order);
  const OrderGraph graph(d.planned.problem);
  if (d.trial && !may_be_worth(d, graph)) return false;
  PlanMemo* const memo = d.options.memo.get();
  if (const std::vector<int>* order = memo ? memo->order(d.planned.problem) : nullptr) {
    reorder(d.planned.plan, *order);
    return true;
  }
  std::vector<int> order = order_steps(graph);
  reorder(d.planned.plan, order);
  if (memo) memo->remember(d.planned.problem, std::move(order));
  return true;
}

bool put_in_order(Draft& d) {
  if (d.options.naive) return true;
  if (!find_order(d)) return false;
  PlanData& plan = d.planned.plan;
  const bool may_overlap = d.options.overlap != Overlap::none && !d.options.target.gpu;
  if (may_overlap && tracing::has_collectives(d.planned.graph)) plan.ordered = std::make_shared<PlanData>(plan);
  return true;
}

bool write_in_place(Draft& d) {
  PlanData& plan = d.planned.plan;
  if (d.is_body()) {
    plan.naive = false;  // its arena is laid out ahead in every pipeline
    alias_carries(plan, d.order.num_consts, d.order.num_carry);
  }
  alias_in_place(plan);
  return true;
}

bool place_buffers(Draft& d) {
  PlanData& plan = d.planned.plan;
  SharedPlacing* shared = d.options.placing.get();
  if (d.is_body()) {
    assign_buffers_of_body(plan, d.order.num_carry, d.options.target, shared);
    predict_body(plan, *d.loop);
  } else {
    assign_buffers(plan, d.options.target, d.placing, shared);
    predict(plan, plan.peak_bytes);
  }
  return true;
}

std::string graph_of(const Draft& d) { return tracing::print(d.planned.graph); }
std::string fusion_of(const Draft& d) { return fusion_text(d.planned.graph, d.fusion); }
std::string steps_of(const Draft& d) { return steps_text(d.planned.plan); }
std::string buffers_of(const Draft& d) { return buffers_text(d.planned.plan); }

struct Pass {
  std::string_view name;
  bool (*run)(Draft&);  // false: the plan is not worth what it is tried for
  std::string (*text)(const Draft&);
};

constexpr Pass kPasses[] = {
    {"narrow-products", narrow_products, graph_of},  // planner/rewrite/lower_dot.h
    {"select-ranks", select_ranks_alone, graph_of},  // planner/rewrite/lower_sort.h
    {"insert-copies", give_copies, graph_of},        // planner/fuse/insert_copies.h
    {"fuse", choose_steps, fusion_of},               // planner/fuse/fuse.h
    {"steps", write_steps, steps_of},                // planner/fuse/steps.h
    {"order", put_in_order, steps_of},               // planner/order/order.h
    {"in-place", write_in_place, buffers_of},        // planner/fuse/in_place.h
    {"place", place_buffers, buffers_of},            // planner/place/buffer_assignment.h
};

std::optional<Planned> run_passes(Draft draft) {
  std::vector<PassRecord> records;
  const bool keep = draft.options.keep_passes;
  if (keep) records.push_back({"simplified", graph_of(draft)});
  for (const Pass& pass : kPasses) {
    if (!pass.run(draft)) return std::nullopt;
#ifndef NDEBUG
    if (pass.text == graph_of) tracing::verify(draft.planned.graph);
#endif
    if (keep) records.push_back({std::string(pass.name), pass.text(draft)});
  }
  draft.planned.plan.passes = std::move(records);
  return std::move(draft.planned);
}

std::optional<Planned> plan_whole(Graph simplified, const PlanOptions& options, const FuseOptions& fuse_options,
                                  Placing placing, const Trial* trial) {
  const std::string name = name_of(options, simplified);
  if (progress_on() && Progress::current()) Progress::current()->add();
  std::optional<Planned> result = run_passes({.options = options,
                                              .fuse_options = fuse_options,
                                              .order = order_options(options, nullptr),
                                              .trial = trial,
                                              .placing = placing,
                                              .planned = {std::move(simplified), {}, {}}});
  if (!result) return std::nullopt;
  result->plan.name = name;
  result->plan.budget = options.memory_budget;
  return result;
}

}  // namespace

OrderOptions order_options(const PlanOptions& options, const tracing::CountedLoop* loop) {
  if (!loop) return {.carves = options.target.carves};
  return {.num_carry = static_cast<int>(loop->carries), .num_consts = static_cast<int>(loop->consts)};
}

Planned plan_simplified(const Graph& simplified, const PlanOptions& options, const FuseOptions& fuse_options,
                        Placing placing) {
  return *plan_whole(simplified, options, fuse_options, placing, nullptr);
}

std::optional<Planned> try_plan(Graph simplified, const PlanOptions& options, const Worth& worth, const Planned* like,
                                const FuseOptions& fuse_options, Placing placing) {
  const Trial trial{worth, like};
  return plan_whole(std::move(simplified), options, fuse_options, placing, &trial);
}

Planned plan_body(const Graph& graph, tracing::CountedLoop loop, const PlanOptions& options,
                  const FuseOptions& fuse_options) {
  PlanOptions inner = options;
  inner.donated.clear();
  return *run_passes({.options = inner,
                      .fuse_options = fuse_options,
                      .order = order_options(options, &loop),
                      .loop = &loop,
                      .planned = {graph, {}, {}}});
}

PlanData place_in_order(PlanData ordered, const PlanOptions& options, const tracing::CountedLoop* loop) {
  Draft draft{.options = options, .fuse_options = {}, .order = order_options(options, loop), .loop = loop};
  draft.planned.plan = std::move(ordered);
  write_in_place(draft);
  place_buffers(draft);
  return std::move(draft.planned.plan);
}

}  // namespace neap::planner
