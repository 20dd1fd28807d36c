// Steps that go through rows together: the bits of one step after the other, whatever the rows read of each other; and
// which steps do.
#include <gtest/gtest.h>
#include <neap/creation.h>
#include <neap/nn.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <cstring>
#include <random>

#include "backends/cpu/program.h"
#include "core/thread_pool.h"
#include "planner/search/make_plan.h"
#include "tests/backends/plan_memory.h"
#include "trace/tracing/tracing.h"

namespace neap::cpu {
namespace {

using tracing::Arrays;
using Function = std::function<Arrays(const Arrays&)>;

class Rowwise {
 public:
  Rowwise(const std::vector<Aval>& avals, const Function& f) {
    planner::PlanOptions options;
    options.want_alternatives = false;
    plan_ = planner::make_plan(tracing::trace_closed(avals, f, "test"), options);
    program_ = compile_program(plan_, "");
  }

  // The steps of the longest run.
  size_t longest() const {
    size_t steps = 0;
    for (const StepCode& step : program_->steps) steps = std::max(steps, step.rows ? step.rows->steps : 0);
    return steps;
  }

  // The outputs, and how many steps ran with those before them.
  std::pair<std::vector<std::byte>, size_t> outputs(bool together) {
    std::mt19937 rng(5);
    PlanMemory memory(plan_);
    for (const int b : plan_.inputs) {
      auto* const x = reinterpret_cast<float*>(memory[b]);
      std::uniform_real_distribution<float> any(-1, 1);
      for (int64_t i = 0; i < plan_.buffers[b].aval.size(); ++i) x[i] = any(rng);
    }
    if (!together) {
      for (StepCode& step : program_->steps) step.rows.reset();
    }
    size_t ran = 0;
    Background background;
    for (size_t s = 0; s < program_->steps.size();) {
      const size_t steps = run_steps(*program_, s, memory.data(), background, nullptr);
      ran += steps - 1, s += steps;
    }
    return {memory.outputs(), ran};
  }

 private:
  planner::PlanData plan_;
  std::unique_ptr<Program> program_;
};

class RowRuns : public testing::Test {
 protected:
  RowRuns() { set_num_threads(4); }
  ~RowRuns() override { set_num_threads(threads_); }

 private:
  const int threads_ = num_threads();
};

// A step more of a program over [rows, columns].
Array next(const Array& x, const Array& y, std::mt19937& rng) {
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<uint32_t>(n)); };
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  switch (pick(12)) {
    case 0: return x - max(x, 1, true);
    case 1: return x / (1.0f + sum(x * x, 1, true));
    case 2: return exp(0.1f * x) * mean(y, 1, true);
    case 3: return x + roll(y, pick(3) - 1, 0);
    case 4: return x * roll(y, 1, 1);
    case 5: return x - flip(y, pick(2));
    case 6: return x + 0.1f * sum(y, 0, true);
    case 7: return x * reshape(y, {rows, columns});
    case 8: return concatenate({slice_in_dim(x, 0, rows / 2, 0), slice_in_dim(y, rows / 2, rows, 0)}, 0);
    case 9: return rows == columns ? x + transpose(y) : x + y;
    case 10: return where(x > 0.0f, cumsum(y, 1), x);
    default: return tanh(x) - y;
  }
}

TEST_F(RowRuns, KeepTheBits) {
  size_t ran = 0;
  const int64_t shapes[][2] = {{512, 128}, {512, 512}, {1000, 33}, {4096, 20}, {37, 2000}, {20000, 3}, {640, 65}};
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto [rows, columns] = shapes[seed % std::size(shapes)];
    const Aval aval{{rows, columns}, f32};
    Rowwise program({aval, aval}, [&](const Arrays& in) {
      std::mt19937 rng(seed);
      Array x = in[0], y = in[1];
      for (int i = 0; i < 6; ++i) {
        const Array z = next(x, y, rng);
        y = x;
        x = z;
      }
      return Arrays{x, sum(x, 1)};
    });
    const auto [bits, together] = program.outputs(true);
    EXPECT_EQ(bits, program.outputs(false).first) << "seed " << seed;
    ran += together;
  }
  EXPECT_GT(ran, 60);
}

TEST_F(RowRuns, AreOfStepsThatReadTheirOwnRowsAlone) {
  const Aval aval{{1024, 500}, f32}, row{{500}, f32};
  const auto longest = [&](const Function& f) { return Rowwise({aval, row}, f).longest(); };
  EXPECT_GE(longest([](const Arrays& in) { return Arrays{softmax(in[0], 1)}; }), 3);
  EXPECT_GE(longest([](const Arrays& in) {
              const Array x = in[0] - mean(in[0], 1, true);
              return Arrays{x / sqrt(mean(x * x, 1, true)) * in[1]};
            }),
            3);
  // The maximum of all rows is read by each.
  EXPECT_EQ(longest([](const Arrays& in) { return Arrays{in[0] - max(max(in[0], 1, true))}; }), 0);
  // So is that of the row before, or the first.
  EXPECT_EQ(longest([](const Arrays& in) { return Arrays{in[0] - roll(max(in[0], 1, true), 1, 0)}; }), 0);
  EXPECT_EQ(longest([](const Arrays& in) { return Arrays{in[0] - flip(max(in[0], 1, true), 0)}; }), 0);
}

TEST_F(RowRuns, GoStepByStepWhereThreadsOrCachesAskForIt) {
  const auto ran = [](int64_t rows, int64_t columns) {
    return Rowwise({Aval{{rows, columns}, f32}}, [](const Arrays& in) { return Arrays{softmax(in[0], 1)}; })
        .outputs(true)
        .second;
  };
  EXPECT_GE(ran(1024, 500), 2);
  EXPECT_EQ(ran(6, 200000), 0);    // fewer rows than threads want
  EXPECT_EQ(ran(33, 1 << 19), 0);  // a row is larger than the cache
  // All threads have work, but parts of rows of 681 begin at multiples of 64.
  const auto ran_dear = [](int64_t rows, int64_t columns) {
    return Rowwise({Aval{{rows, columns}, f32}},
                   [](const Arrays& in) {
                     const Array y = tanh(sin(in[0]));
                     return Arrays{y, y / sum(y, 1, true)};
                   })
        .outputs(true)
        .second;
  };
  EXPECT_EQ(ran_dear(127, 681), 0);
  EXPECT_GE(ran_dear(128, 680), 1);
}

}  // namespace
}  // namespace neap::cpu
