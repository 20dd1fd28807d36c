// backends/cpu/executor.cpp: whole plans against the reference interpreter; the peak to the byte; the same bits on one
// thread and on two.
#include <neap/neap.h>

#include "backends/cpu/executor.h"
#include "core/thread_pool.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "tests/backends/random_program.h"
#include "trace/tracing/tracing.h"

namespace neap::backends {
namespace {

using tracing::Arrays;

struct Executed {
  std::vector<HostValue> outputs;
  planner::PlanData plan;
};

Executed execute(const Graph& graph, const std::vector<HostValue>& inputs, planner::PlanOptions options = {}) {
  options.want_alternatives = false;
  const auto executable = compile_cpu(planner::make_plan(graph, options), "");
  const planner::PlanData& plan = executable->plan();
  std::vector<BufferPtr> buffers;
  size_t held = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {  // copies: donated ones are overwritten
    buffers.push_back(allocate(inputs[i].aval.bytes(), "input"));
    std::memcpy(buffers.back()->data(), inputs[i].data->data(), inputs[i].aval.bytes());
    held += buffers.back()->bytes();
  }
  const size_t others = memory::live_bytes() - held;
  memory::reset_peak();
  const std::vector<BufferPtr> results = executable->run(buffers);
  EXPECT_EQ(memory::peak_bytes() - others, plan.peak_bytes) << planner::to_text(plan);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < options.donated.size() && options.donated[i]) EXPECT_EQ(buffers[i], nullptr);
  }
  Executed executed{{}, plan};
  for (size_t i = 0; i < results.size(); ++i) executed.outputs.push_back({plan.output_avals[i], results[i]});
  return executed;
}

void expect_close(const HostValue& got, const HostValue& want, const std::string& what) {
  ASSERT_EQ(got.aval, want.aval) << what;
  dispatch(got.aval.dtype, [&]<class T>() {
    const double tolerance = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 2e-6 : 1e-2;
    for (int64_t i = 0; i < got.aval.size(); ++i) {
      const T x = got.data->as<T>()[i], y = want.data->as<T>()[i];
      if (std::memcmp(&x, &y, sizeof(T)) == 0) continue;
      const auto p = static_cast<double>(x), q = static_cast<double>(y);
      if (std::isnan(p) && std::isnan(q)) continue;
      ASSERT_TRUE(is_float(got.aval.dtype)) << what << ": element " << i << " is " << p << ", not " << q;
      ASSERT_LE(std::fabs(p - q), tolerance * std::max(1.0, std::fabs(q))) << what << ": element " << i;
    }
  });
}

bool same_bits(const HostValue& a, const HostValue& b) {
  return a.aval == b.aval && std::memcmp(a.data->data(), b.data->data(), a.aval.bytes()) == 0;
}

/// Planned and naive, on one thread and two, against the reference.
Executed check(const Graph& graph, const std::vector<HostValue>& inputs, const planner::PlanOptions& options = {}) {
  SCOPED_TRACE(tracing::print(graph));
  const auto want = tracing::evaluate_reference(graph, inputs);
  Executed planned;
  for (const bool naive : {true, false}) {
    planner::PlanOptions own = options;
    own.naive = naive;
    set_num_threads(1);
    const Executed one = execute(graph, inputs, own);
    set_num_threads(2);
    planned = execute(graph, inputs, own);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(same_bits(one.outputs[i], planned.outputs[i])) << "threads change the bits of output " << i;
      expect_close(planned.outputs[i], want[i], (naive ? "naive, output " : "planned, output ") + std::to_string(i));
    }
  }
  return planned;
}

Graph traced(const std::vector<Aval>& avals, const std::function<Arrays(const Arrays&)>& f) {
  return tracing::trace_closed(avals, f, "test");
}

std::vector<HostValue> inputs_of(const Graph& graph, unsigned seed = 1) {
  std::mt19937 rng(seed);
  std::vector<HostValue> inputs;
  for (const ValueId v : graph.inputs) inputs.push_back(random_value(graph.aval(v), rng));
  return inputs;
}

Executed check(const std::vector<Aval>& avals, const std::function<Arrays(const Arrays&)>& f,
               const planner::PlanOptions& options = {}) {
  const Graph graph = traced(avals, f);
  return check(graph, inputs_of(graph), options);
}

TEST(Executor, RunsRandomPrograms) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = Program(seed).finish().group;
    check(graph, inputs_of(graph, seed));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Executor, RunsElementwiseAndReductionsOverThreads) {
  check({{{700, 900}, f32}, {{900}, f32}}, [](const Arrays& x) {
    const Array y = exp(x[0] * 0.1f) + x[1];
    return Arrays{y, sum(y), sum(y, {0}), sum(y, {1}), max(y, {1}), argmax(y, 1), convert(y, bf16)};
  });
  check({{{3, 400000}, bf16}}, [](const Arrays& x) { return Arrays{sum(x[0], {1}), mean(x[0])}; });
}

TEST(Executor, TransposesInTiles) {
  check({{{517, 1030}, f32}}, [](const Arrays& x) { return Arrays{transpose(x[0]) + 1.0f}; });
  check({{{64, 33, 65}, i16}}, [](const Arrays& x) { return Arrays{transpose(x[0], Shape{2, 0, 1})}; });
}

TEST(Executor, ReturnsArgumentsConstantsAndDoubles) {
  check({{{5}, f32}}, [](const Arrays& x) {
    const Array y = x[0] + 1.0f;
    return Arrays{x[0], y, y, x[0], reshape(y, {5, 1}), zeros({3}, i32)};
  });
  check({{{0, 4}, f32}}, [](const Arrays& x) { return Arrays{x[0] * 2.0f, sum(x[0], {0}), sum(x[0])}; });
}

TEST(Executor, MultipliesMatrices) {
  check({{{130, 70}, f32}, {{70, 90}, f32}}, [](const Arrays& x) {
    return Arrays{matmul(x[0], x[1]), matmul(transpose(x[1]), transpose(x[0])), matmul(x[0], transpose(x[0]))};
  });
  check({{{6, 20, 30}, bf16}, {{6, 30, 10}, bf16}}, [](const Arrays& x) { return Arrays{matmul(x[0], x[1])}; });
}

TEST(Executor, ScattersInEveryForm) {
  const std::vector<Aval> avals{{{40, 50}, f32}, {{300000, 2}, i32}, {{300000}, f32}};
  const Executed tables = check(avals, [](const Arrays& x) { return Arrays{scatter_add(x[0], x[1], x[2])}; });
  const Executed counts = check(avals, [](const Arrays& x) {
    return Arrays{scatter_add(zeros({40, 50}, f32), x[1], zeros({300000}, f32) + 2.5f)};
  });
  check({{{9, 12}, bf16}, {{31, 1}, i16}, {{31, 12}, bf16}},
        [](const Arrays& x) {  // rows, each a window
          return Arrays{tracing::apply(Op::scatter_add, {x[0], x[1], x[2]},
                                       {{Attr::axes, Ints{0}}, {Attr::mode, int64_t{1}}},
                                       std::source_location::current())};
        });
  planner::PlanOptions donated;
  donated.donated = {true, false, false};
  check(avals, [](const Arrays& x) { return Arrays{scatter_add(x[0], x[1], x[2])}; }, donated);
}

TEST(Executor, TakesDonatedMemory) {
  planner::PlanOptions options;
  options.donated = {true, false};
  const Executed e =
      check({{{1000}, f32}, {{1000}, f32}}, [](const Arrays& x) { return Arrays{x[0] * 2.0f + x[1]}; }, options);
  EXPECT_EQ(e.plan.peak_bytes, 8064u);  // two times 4000, rounded up to 64
}

TEST(Executor, RunsLoops) {
  // Carries in place and not (two that change places), stacked results, constants, reversed.
  for (const bool reverse : {false, true}) {
    check({{{7, 5}, f32}, {{5}, f32}, {{5}, f32}}, [&](const Arrays& x) {
      auto [carry, ys] = scan(
          [&](const std::pair<Array, Array>& c, const Array& row) {
            return std::pair(std::pair(c.second + row, c.first * 0.5f), c.first - row * x[2]);
          },
          std::pair(x[1], x[1] * 2.0f), x[0], {}, reverse);
      return Arrays{carry.first, carry.second, ys};
    });
  }
  // Nested, with a reduction and a product inside.
  check({{{4, 6, 6}, f32}, {{6, 6}, f32}}, [](const Arrays& x) {
    auto [carry, ys] = scan(
        [&](const Array& c, const Array& m) {
          const Array next =
              fori_loop(0, 3, [&](const Array& i, const Array& z) { return matmul(z, m) * 0.1f + convert(i, f32); }, c);
          return std::pair(next, sum(next, {0}));
        },
        x[1], x[0]);
    return Arrays{carry, ys};
  });
}

TEST(Executor, TimesSteps) {
  const Graph graph = traced({{{100}, f32}}, [](const Arrays& x) { return Arrays{sum(exp(x[0])), x[0] + 1.0f}; });
  const auto executable = compile_cpu(planner::make_plan(graph, {}), "");
  std::vector<BufferPtr> inputs{inputs_of(graph)[0].data};
  std::vector<StepTiming> timings;
  executable->run(inputs, &timings);
  ASSERT_EQ(timings.size(), executable->plan().steps.size());
  for (const StepTiming& t : timings) EXPECT_LE(t.begin, t.end);
}

}  // namespace
}  // namespace neap::backends
