// Messages that are under way while other steps run: where, at what peak, with what results and errors.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "examples/transformer.h"
#include "planner/plan/plan.h"
#include "tests/environment.h"
#include "tests/spmd/thread_ranks.h"

namespace neap {
namespace {

using P = PartitionSpec;
using planner::PlanData;
using planner::PlanStep;
using Phase = PlanStep::Phase;

struct Layers {
  std::vector<Array> weights;
};

Layers layers(int64_t width, bool specs = false) {
  Layers all;
  for (uint64_t i = 0; i < 4; ++i)
    all.weights.push_back(specs ? spec({width, width}, f32) : random::normal(random::key(i), {width, width}) * 0.05f);
  return all;
}

Array loss(const Layers& model, Array x) {
  for (const Array& w : model.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}

// A step of training: the gradients of the last layer are there long before those of the first.
auto training(const Mesh& mesh, std::optional<size_t> budget = {}) {
  return jit(shard(
                 [](const Layers& model, const Array& x) {
                   const Layers g = pmean(grad(loss)(model, x), "x");
                   return tree_map([](const Array& w, const Array& d) { return w - 0.1f * d; }, model, g);
                 },
                 {.mesh = mesh, .in = {P{}, P{"x"}}, .out = {P{}}}),
             {.memory_budget = budget});
}

// The steps at which collectives begin and end.
std::vector<std::pair<size_t, size_t>> under_way(const PlanData& plan) {
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].phase != Phase::begin) continue;
    size_t end = s + 1;
    while (plan.steps.at(end).phase != Phase::end || plan.steps[end].writes != plan.steps[s].writes) ++end;
    all.emplace_back(s, end);
  }
  return all;
}

TEST(Overlap, GradientsAreAddedUpWhileOthersAreComputed) {
  const Mesh mesh = Mesh::planned({{"x", 64}});
  const Plan beside = training(mesh).plan(layers(512, true), spec({2048, 512}, f32));
  const std::string text = beside.to_text();
  EXPECT_NE(text.find("psum begins"), std::string::npos) << text;
  EXPECT_NE(text.find("psum ends"), std::string::npos) << text;
  const auto flights = under_way(beside.data());
  ASSERT_GE(flights.size(), 3u) << text;
  for (const auto& [begin, end] : flights) EXPECT_GT(end, begin + 1) << text;
  const Environment in_turn("NEAP_OVERLAP", "none");
  const Plan plain = training(mesh).plan(layers(512, true), spec({2048, 512}, f32));
  EXPECT_EQ(under_way(plain.data()).size(), 0u);
  EXPECT_LE(beside.peak_bytes(), plain.peak_bytes());
  EXPECT_LT(beside.data().predicted_seconds, plain.data().predicted_seconds);
  // The report has both.
  ASSERT_EQ(beside.decision("messages"), "beside other steps") << text;
  const auto& decision = *std::ranges::find(beside.data().decisions, "messages", &planner::Decision::what);
  EXPECT_EQ(decision.alternatives.at(1).peak_bytes, plain.peak_bytes());
  EXPECT_EQ(decision.alternatives.at(1).cost, plain.data().predicted_seconds);
}

// The value is needed by nothing but the sum that it shares with the last block's gradients.
TEST(Overlap, NothingWaitsForAValueThatCouldBeThere) {
  const auto step = jit(shard(
      [](const Model& m, const Array& rows) {
        const auto [value, g] = pmean(value_and_grad(::loss)(m, rows), "x");
        return std::tuple(tree_map([](const Array& w, const Array& d) { return w - 0.1f * d; }, m, g), value);
      },
      {.mesh = Mesh::planned({{"x", 4}}), .in = {P{}, P{"x"}}, .out = {P{}, P{}}}));
  const Plan plan = step.plan(init(random::key(1), 2), spec({batch, length + 1}, i32));
  const auto spans = under_way(plan.data());
  ASSERT_EQ(spans.size(), 2u) << plan;
  const auto& steps = plan.data().steps;
  const auto is_product = [](const PlanStep& s) { return s.kind == PlanStep::Kind::dot; };
  const auto sent = steps.begin() + static_cast<std::ptrdiff_t>(spans[0].first);
  EXPECT_GE(std::count_if(sent, steps.end(), is_product), 15) << plan;  // all of the first block's
}

// Where the peak leaves no room, a budget may.
TEST(Overlap, KeepsToThePeakOrToTheBudget) {
  const auto f = [](std::optional<size_t> budget) {
    return jit(shard(
                   [](const Array& x, const Array& w) {
                     const Array all = psum(x, "x");  // nothing else is alive at the peak
                     return std::tuple(sum(sin(all), {1}), sum(matmul(w, w)));
                   },
                   {.mesh = Mesh::planned({{"x", 8}}), .in = {P{}, P{}}, .out = {P{}, P{}}}),
               {.memory_budget = budget});
  };
  const Array x = spec({1 << 12, 1 << 10}, f32), w = spec({1024, 1024}, f32);
  const auto plain = [&] {
    const Environment in_turn("NEAP_OVERLAP", "none");
    return f({}).plan(x, w);
  }();
  const Plan free = f({}).plan(x, w);
  EXPECT_LE(free.peak_bytes(), plain.peak_bytes()) << free;
  const size_t more = plain.peak_bytes() + (16 << 20);
  const Plan budgeted = f(more).plan(x, w);
  EXPECT_EQ(under_way(budgeted.data()).size(), 1u) << budgeted;
  EXPECT_LE(budgeted.peak_bytes(), more);
}

TEST(Overlap, OfARingInALoop) {
  const auto ring_of = [](std::optional<size_t> budget) {
    return jit(shard(
                   [](const Array& x) {
                     const std::vector<std::pair<int64_t, int64_t>> ring{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
                     return fori_loop(
                                0, 4,
                                [&](const Array&, const std::pair<Array, Array>& now) {
                                  return std::pair(now.first + cumsum(now.second) * x, ppermute(now.second, "x", ring));
                                },
                                std::pair(zeros_like(x), x))
                         .first;
                   },
                   {.mesh = Mesh::planned({{"x", 4}}), .in = {P{"x"}}, .out = {P{"x"}}}),
               {.memory_budget = budget});
  };
  const Array x = spec({1 << 20}, f32);
  const Plan in_turn = ring_of({}).plan(x), beside = ring_of(in_turn.peak_bytes() + x.bytes()).plan(x);
  const auto loop = std::ranges::find(beside.data().steps, PlanStep::Kind::scan, &PlanStep::kind);
  ASSERT_NE(loop, beside.data().steps.end());
  EXPECT_EQ(under_way(*loop->body).size(), 1u) << beside;
  EXPECT_LT(beside.data().predicted_seconds, in_turn.data().predicted_seconds);
}

// What a function of the program does may be messages, too.
TEST(Overlap, NothingIsUnderWayWhileTheHostIsCalled) {
  const Environment always("NEAP_OVERLAP", "all");
  const auto f = jit(shard(
      [](const Array& x) {
        const Array called = pure_callback([](const Array& v) { return v + 1; }, spec({1024}, f32), x);
        return std::tuple(psum(x, "x") * 2, psum(sin(x), "x"), sin(called) + 1, cumsum(x));
      },
      {.mesh = Mesh::planned({{"x", 4}}), .in = {P{"x"}}, .out = {P{}, P{}, P{"x"}, P{"x"}}}));
  const Plan plan = f.plan(spec({1024}, f32));
  for (size_t s = 0; s < plan.data().steps.size(); ++s) {
    const PlanStep& step = plan.data().steps[s];
    if (step.kind != PlanStep::Kind::host || step.group.nodes[0].op != tracing::Op::host_call) continue;
    for (const auto& [begin, end] : under_way(plan.data())) EXPECT_FALSE(begin < s && s < end) << plan;
  }
}

TEST(Overlap, SetByTheEnvironment) {
  const Environment wrong("NEAP_OVERLAP", "some");
  EXPECT_THROW(training(Mesh::planned({{"x", 2}})).plan(layers(8, true), spec({8, 8}, f32)), OptionError);
}

// A rank whose messages are seen.
class Seen : public Communicator {
 public:
  int64_t rank() const override { return 1; }
  int64_t size() const override { return 4; }
  bool waits() const override { return !works; }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view what,
                std::source_location) override {
    if (what == "psum") {
      threads.insert(std::this_thread::get_id());
      if (fails) throw CommunicationError("rank 3 is lost");
    }
    for (size_t i = 0; i < receives.size(); ++i) std::memcpy(receives[i].bytes, sends[i].bytes, sends[i].size);
  }

  std::set<std::thread::id> threads;  // that exchanged for a sum
  std::atomic<bool> fails = false, works = false;
};

TEST(Overlap, RunsBesideTheProgramAtThePlannedPeak) {
  const auto seen = std::make_shared<Seen>();
  const auto f = training(Mesh::processes({{"x", seen}}));
  const Layers model = layers(256);
  const Array x = random::normal(random::key(9), {128, 256});
  const auto held = [&] {
    size_t bytes = x.bytes();
    for (const Array& w : model.weights) bytes += w.bytes();
    return bytes;
  };
  const Plan plan = f.plan(model, x);
  ASSERT_GE(under_way(plan.data()).size(), 1u) << plan;
  f(model, x);
  const size_t others = memory::live_bytes() - held();
  memory::reset_peak();
  seen->threads.clear();
  f(model, x);
  EXPECT_EQ(memory::peak_bytes() - others, plan.peak_bytes()) << plan;
  EXPECT_TRUE(std::ranges::any_of(seen->threads, [](auto id) { return id != std::this_thread::get_id(); }));
  // What fails beside it reaches the caller, each time. So it does where messages are work: the thread that computes
  // does it, at the same peak.
  for (const bool works : {false, true}) {
    seen->works = works;
    seen->fails = true;
    for (int i = 0; i < 2; ++i) EXPECT_THROW(f(model, x), CommunicationError);
    seen->fails = false;
    EXPECT_NO_THROW(f(model, x));
  }
  memory::reset_peak();
  seen->threads.clear();
  f(model, x);
  EXPECT_EQ(memory::peak_bytes() - others, plan.peak_bytes()) << plan;
  EXPECT_EQ(seen->threads, std::set{std::this_thread::get_id()});
}

TEST(Overlap, BitsAreThoseInTurn) {
  const Layers model = layers(192);  // 144 KiB: too much to be joined with others
  const Array x = random::normal(random::key(9), {4 * 32, 192});
  const auto trained = [&](const char* how) {
    const Environment set("NEAP_OVERLAP", how);
    std::vector<Array> first(4, Array());
    on_threads({{"x", 4}}, [&](const Mesh& mesh) {
      Layers now = model;
      const auto step = training(mesh);
      if (how == std::string_view("all")) {
        EXPECT_GE(under_way(step.plan(now, mesh.local(x, {"x"})).data()).size(), 1u);
      }
      for (int i = 0; i < 5; ++i) now = step(now, mesh.local(x, {"x"}));
      if (mesh.rank() == 0) first = now.weights;
    });
    return first;
  };
  const std::vector<Array> beside = trained("all"), in_turn = trained("none");
  for (size_t i = 0; i < beside.size(); ++i) expect_same(beside[i], in_turn[i]);
}

}  // namespace
}  // namespace neap
