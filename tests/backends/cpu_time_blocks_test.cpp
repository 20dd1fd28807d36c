// Loops of stencils in sweeps of several iterations: the bits of one iteration after the other, however they are cut;
// and which loops are cut.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <random>

#include "backends/cpu/placement.h"
#include "backends/cpu/program.h"
#include "backends/cpu/target.h"
#include "core/thread_pool.h"
#include "planner/search/make_plan.h"
#include "tests/backends/plan_memory.h"
#include "tests/backends/random_program.h"
#include "trace/tracing/tracing.h"

namespace neap::cpu {
namespace {

using tracing::Arrays;

using Function = std::function<Arrays(const Arrays&)>;

// A program with a loop, as the executor holds it, with memory of its own.
class Looped {
 public:
  Looped(const std::vector<Aval>& avals, const Function& f) {
    const tracing::Graph graph = tracing::trace_closed(avals, f, "test");
    planner::PlanOptions options;
    options.want_alternatives = false;
    plan_ = planner::make_plan(graph, options);
    program_ = compile_program(plan_, "");
    std::mt19937 rng(5);
    for (const auto v : graph.inputs) {  // no two alike, none a NaN, which would spread
      const Aval aval = graph.aval(v);
      std::uniform_real_distribution<double> any(-1, 1);
      inputs_.push_back({aval, allocate(aval.bytes(), "input")});
      for (int64_t i = 0; i < aval.size(); ++i) {
        std::byte* const at = inputs_.back().data->data();
        aval.dtype == f64 ? reinterpret_cast<double*>(at)[i] = any(rng)
                          : reinterpret_cast<float*>(at)[i] = static_cast<float>(any(rng));
      }
    }
    for (const StepCode& step : program_->steps) {
      if (step.kind == planner::PlanStep::Kind::scan) scan_ = &step.scan;
    }
  }

  const TimeBlocks* blocks() const { return scan_ && scan_->blocks ? &*scan_->blocks : nullptr; }

  // The program's outputs with all loops run so.
  std::vector<std::byte> outputs(const SweepSize& size) const {
    PlanMemory memory(plan_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::memcpy(memory[plan_.inputs[i]], inputs_[i].data->data(), inputs_[i].aval.bytes());
    }
    Background background;
    for (size_t s = 0; s < program_->steps.size();) {
      if (const StepCode& step = program_->steps[s]; step.kind == planner::PlanStep::Kind::scan) {
        run_loop(step.scan, memory.data(), size, background);
        ++s;
      } else {
        s += run_steps(*program_, s, memory.data(), background, nullptr);
      }
    }
    return memory.outputs();
  }

 private:
  planner::PlanData plan_;
  std::unique_ptr<Program> program_;
  std::vector<backends::HostValue> inputs_;
  const ScanCode* scan_ = nullptr;
};

int pick(std::mt19937& rng, int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); }

// Any size whose blocks are not too short.
SweepSize random_size(const TimeBlocks& blocks, int64_t length, std::mt19937& rng) {
  SweepSize size;
  size.iterations = pick(rng, 1, static_cast<int>(std::min(length, kMostIterations)));
  const auto shortest = [&] {
    const size_t last = static_cast<size_t>(size.iterations) * blocks.parts.size() - 1;
    return std::max<int64_t>(1, blocks.ahead[last] + blocks.back[last]);
  };
  while (blocks.circular && size.iterations > 1 && shortest() > blocks.units) --size.iterations;
  const int64_t least = shortest();
  size.blocks = pick(rng, 1, static_cast<int>(std::clamp<int64_t>(blocks.units / (least + 1), 1, 6)));
  size.band = pick(rng, 1, static_cast<int>(blocks.units) + 3);
  return size;
}

// What is near each element, by one of the ways in which users write it.
Array neighbours(const Array& u, const std::vector<std::pair<int, int>>& reach, int way) {
  std::optional<Array> total;
  for (int axis = 0; axis < u.ndim(); ++axis) {
    const auto [above, below] = reach[static_cast<size_t>(axis)];
    for (const int by : {-above, below}) {
      if (by == 0) continue;
      const auto shifted = [&] {
        if (way == 0 || axis > 0) return roll(u, by, axis);  // around the inner axes
        Shape low(static_cast<size_t>(u.ndim())), high = low;
        const int64_t n = u.shape()[static_cast<size_t>(axis)];
        const Array kept = by > 0 ? slice_in_dim(u, 0, n - by, axis) : slice_in_dim(u, -by, n, axis);
        (by > 0 ? low : high)[static_cast<size_t>(axis)] = std::abs(by);
        return pad(kept, low, high, way == 1 ? 0.0f : 0.25f);
      };
      total = total ? *total + shifted() : shifted();
    }
  }
  return total ? *total : u;
}

TEST(TimeBlocks, KeepTheBits) {
  std::mt19937 rng(3);
  std::array<std::array<int, 3>, 8> cut{};  // of each kind, by the number of axes
  int circular = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int axes = pick(rng, 1, 3);
    Shape shape;
    std::vector<std::pair<int, int>> reach;  // above and below
    for (int a = 0; a < axes; ++a) {
      const int most = axes == 1 ? 3000 : axes == 2 ? 70 : 20;
      shape.push_back(pick(rng, axes == 1 ? 200 : 9, most));
      if (pick(rng, 0, 1) == 0) shape.back() = shape.back() / 8 * 8;  // whole vectors
      reach.emplace_back(pick(rng, 0, 2), pick(rng, 0, 2));
    }
    const int64_t steps = pick(rng, 2, 80);
    const int way = pick(rng, 0, 2), kind = pick(rng, 0, 7);
    SCOPED_TRACE(
        fmt::format("trial {}: {} steps of kind {}, way {}, of {}", trial, steps, kind, way, fmt::join(shape, " x ")));
    const auto type = pick(rng, 0, 3) == 0 ? f64 : f32;
    const Function f = [&](const Arrays& x) -> Arrays {
      const auto next = [&](const Array& u) { return u * 0.5f + neighbours(u, reach, way) * 0.1f; };
      switch (kind) {
        case 0: return {fori_loop(0, steps, [&](const Array&, const Array& u) { return next(u); }, x[0])};
        case 1: return {fori_loop(0, steps, [&](const Array&, const Array& u) { return next(u) * x[1]; }, x[0])};
        case 2: {  // a wave, of two times
          auto [u, before] = fori_loop(
              0, steps,
              [&](const Array&, const std::pair<Array, Array>& c) {
                return std::pair(next(c.first) - c.second, c.first);
              },
              std::pair(x[0], x[1]));
          return {u, before};
        }
        case 3: {  // two fields, each by the other's new values
          auto [p, v] = fori_loop(
              0, steps,
              [&](const Array&, const std::pair<Array, Array>& c) {
                const Array v = c.second + neighbours(c.first, reach, way) * 0.1f;
                return std::pair(c.first - neighbours(v, reach, way) * 0.1f, v);
              },
              std::pair(x[0], x[1]));
          return {p, v};
        }
        case 4: {  // the inside of what is larger than a few pages, whose border stays
          return {fori_loop(
              0, steps,
              [&](const Array&, const Array& u) {
                const auto inside = [&](int a) { return Slice(reach[a].second, shape[a] - reach[a].first); };
                const auto set = [&](auto... slices) { return u.at({slices...}).set(next(u)[{slices...}]); };
                if (axes == 1) return set(inside(0));
                return axes == 2 ? set(inside(0), inside(1)) : set(inside(0), inside(1), inside(2));
              },
              x[0])};
        }
        case 5: {  // what is stored before it is read around, in a kernel that knows no rows
          return {fori_loop(
              0, steps,
              [&](const Array&, const Array& u) {
                const Array t = tanh(u * 1.5f);
                return t * 0.5f + neighbours(t, reach, way) * 0.1f;
              },
              x[0])};
        }
        case 6: {  // numbers of two sizes, in arrays of as many bytes
          auto [u, v] = fori_loop(
              0, steps,
              [&](const Array&, const std::pair<Array, Array>& c) {
                const auto twice = [&](const Array& u) { return next(tanh(next(tanh(u)))); };
                return std::pair(twice(c.first), twice(c.second));
              },
              std::pair(x[0], x[3]));
          return {u, v};
        }
        default: {  // by something else in each step
          auto [u, none] =
              scan([&](const Array& c, const Array& s) { return std::pair(next(c) + s, std::tuple{}); }, x[0], x[2]);
          return {u};
        }
      }
    };
    Shape other = shape;
    type == f64 ? other[0] *= 2 : other[0] = (other[0] + 1) / 2;
    const Looped run({{shape, type}, {shape, type}, {{steps}, type}, {other, type == f64 ? f32 : f64}}, f);
    if (!run.blocks()) continue;
    ++cut[static_cast<size_t>(kind)][static_cast<size_t>(axes - 1)];
    circular += run.blocks()->circular ? 1 : 0;
    const auto want = run.outputs({});
    for (int i = 0; i < 6; ++i) {
      const SweepSize size = random_size(*run.blocks(), steps, rng);
      EXPECT_EQ(run.outputs(size), want) << size.iterations << " iterations, bands of " << size.band << ", "
                                         << size.blocks << " blocks";
    }
  }
  EXPECT_GE(circular, 10);  // of rows of few elements there is no such loop: they are written whole, which is faster
  for (const size_t kind :
       {0, 1, 2, 3, 4, 5, 7}) {  // the one that is left out mostly shares memory in ways that forbid it
    EXPECT_THAT(cut[kind], testing::Each(testing::Ge(2))) << fmt::format("{}", cut);
  }
}

Array blurred(const Array& u, int way = 1) { return u * 0.5f + neighbours(u, {{1, 1}, {1, 1}}, way) * 0.125f; }

TEST(TimeBlocks, AreOfLoopsThatStayNearby) {
  set_num_threads(2);
  const auto size_of = [](const Function& f) {
    const Looped looped({{{2000, 1000}, f32}, {{2000}, i32}}, f);
    return looped.blocks() ? sweep_size(*looped.blocks(), 50).iterations : 1;
  };
  const auto loop = [](auto step) {
    return [=](const Arrays& x) -> Arrays {
      return {fori_loop(0, 50, [&](const Array&, const Array& u) { return step(x, u); }, x[0])};
    };
  };
  EXPECT_GE(size_of(loop([](const Arrays&, const Array& u) { return blurred(u); })), 4);
  EXPECT_GE(size_of(loop([](const Arrays&, const Array& u) { return blurred(u, 0); })), 4);  // on a torus
  // Rows from those at the other end; from rows anywhere; all from a sum of all.
  EXPECT_EQ(size_of(loop([](const Arrays&, const Array& u) { return blurred(flip(u, 0)); })), 1);
  EXPECT_EQ(size_of(loop([](const Arrays& x, const Array& u) { return blurred(take(u, x[1], 0)); })), 1);
  EXPECT_EQ(size_of(loop([](const Arrays&, const Array& u) { return blurred(u) - mean(u); })), 1);
  // Stacked results are written as one goes.
  EXPECT_EQ(size_of([](const Arrays& x) -> Arrays {
              auto [u, sums] = scan(
                  [](const Array& u, const std::tuple<>&) {
                    const Array next = blurred(u);
                    return std::pair(next, next[0]);
                  },
                  x[0], std::tuple{}, 50);
              return {u, sums};
            }),
            1);
}

}  // namespace
}  // namespace neap::cpu
