// Lowers a step, runs its kernels on host memory, and compares with the reference interpreter.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "backends/kernel.h"
#include "backends/kernel_eval.h"
#include "core/check.h"
#include "core/dispatch.h"
#include "planner/plan/plan.h"
#include "trace/graph/op_table.h"
#include "trace/reference/reference.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::backends {

using planner::PlanStep;
using planner::ScatterForm;
using tracing::Attr;
using tracing::Attrs;
using tracing::Graph;
using tracing::HostValue;
using tracing::Ints;
using tracing::Op;
using tracing::ValueId;

inline PlanStep step_of(Graph graph, PlanStep::Kind kind = PlanStep::Kind::map, int parts = 1) {
  PlanStep step;
  step.kind = kind;
  for (size_t i = 0; i < graph.inputs.size(); ++i) step.reads.push_back(static_cast<int>(i));
  for (size_t i = 0; i < graph.outputs.size(); ++i) step.writes.push_back(static_cast<int>(graph.inputs.size() + i));
  const tracing::Node* root = graph.def(graph.outputs.at(0));
  step.op = root ? tracing::name(root->op) : "copy";
  step.group = std::move(graph);
  step.partials = parts;
  return step;
}

/// Elements that sums keep exact: small multiples of 1/4, small integers, any words for u32.
inline HostValue random_value(const Aval& aval, std::mt19937& rng) {
  HostValue value{aval, allocate(aval.bytes(), "test")};
  dispatch(aval.dtype, [&]<class T>() {
    for (int64_t i = 0; i < aval.size(); ++i) {
      const int small = static_cast<int>(rng() % 33) - 16;
      T& x = value.data->as<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        x = small > 0;
      } else if constexpr (std::is_same_v<T, uint32_t>) {
        x = static_cast<uint32_t>(rng());
      } else if constexpr (std::is_integral_v<T>) {
        x = static_cast<T>(small);
      } else {
        x = T(static_cast<float>(small) / 4);
      }
    }
  });
  return value;
}

inline std::vector<HostValue> random_inputs(const Graph& graph, std::mt19937& rng) {
  std::vector<HostValue> inputs;
  for (ValueId v : graph.inputs) inputs.push_back(random_value(graph.aval(v), rng));
  return inputs;
}

/// Bytes of the step's scratch, by the contract of planner/plan/plan.h.
inline std::vector<size_t> scratch_bytes(const PlanStep& step, const std::vector<Launch>& launches) {
  std::vector<size_t> bytes;
  if (launches.empty()) return bytes;
  const Kernel& kernel = launches.back().kernel;
  const size_t first = step.reads.size() + step.writes.size();
  for (size_t i = first; i < kernel.buffers.size(); ++i) {
    const Aval& out = step.group.aval(step.group.outputs[step.kind == PlanStep::Kind::reduce ? i - first : 0]);
    int tables = step.partials;
    for (const Launch& launch : launches) tables -= launch.part0_operand >= 0;
    bytes.push_back(static_cast<size_t>(out.size()) * tables * size_of(kernel.buffers[i].type));
  }
  return bytes;
}

/// The outputs of the step's kernels. Memory starts as 0xCD; an operand in place is copied to the output before.
using Runner = std::function<void(std::span<const Launch>, std::span<const std::span<std::byte>>)>;
inline std::vector<HostValue> run_kernels(const PlanStep& step, std::span<const HostValue> inputs,
                                          const std::vector<Launch>& launches, const Runner& runner = evaluate) {
  std::vector<std::span<std::byte>> operands;
  for (const HostValue& x : inputs) operands.push_back({x.data->data(), x.aval.bytes()});
  std::vector<HostValue> outputs;
  std::vector<BufferPtr> scratch;
  for (ValueId v : step.group.outputs) {
    const Aval& aval = step.group.aval(v);
    outputs.push_back({aval, allocate(aval.bytes(), "test")});
    std::memset(outputs.back().data->data(), 0xCD, aval.bytes());
    operands.push_back({outputs.back().data->data(), aval.bytes()});
  }
  if (step.operand_in_place) {
    const ValueId operand = step.group.def(step.group.outputs[0])->inputs[0];
    const HostValue& from = inputs[step.group.values[operand].index];
    std::memcpy(outputs[0].data->data(), from.data->data(), from.aval.bytes());
  }
  for (size_t bytes : scratch_bytes(step, launches)) {
    scratch.push_back(allocate(bytes, "test"));
    std::memset(scratch.back()->data(), 0xCD, bytes);
    operands.push_back({scratch.back()->data(), bytes});
  }
  runner(launches, operands);
  return outputs;
}

inline void expect_equal(const HostValue& got, const HostValue& expected) {
  ASSERT_EQ(got.aval, expected.aval);
  dispatch(got.aval.dtype, [&]<class T>() {
    for (int64_t i = 0; i < got.aval.size(); ++i) {
      const T x = got.data->as<T>()[i], y = expected.data->as<T>()[i];
      if constexpr (std::is_integral_v<T>) {
        ASSERT_EQ(x, y) << "element " << i;
      } else {
        const auto a = static_cast<double>(x), b = static_cast<double>(y);
        if (std::isnan(b)) {
          ASSERT_TRUE(std::isnan(a)) << "element " << i << ": " << a << ", expected nan";
          continue;
        }
        const double ulp = sizeof(T) == 2 ? (std::is_same_v<T, float16> ? 0x1p-10 : 0x1p-7) : 0x1p-20;
        if (a != b)
          ASSERT_LE(std::abs(a - b), ulp * std::max(1.0, std::abs(b)))
              << "element " << i << ": " << a << ", expected " << b;
      }
    }
  });
}

/// Lowers, runs, compares; returns the launches for a look at their form.
inline std::vector<Launch> check(const PlanStep& step, std::span<const HostValue> inputs,
                                 const Runner& runner = evaluate) {
  const bool failed_before = testing::Test::HasFailure();
  const std::vector<Launch> launches = lower(step);
  const auto got = run_kernels(step, inputs, launches, runner);
  const auto expected = tracing::evaluate_reference(step.group, inputs);
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_equal(got[i], expected[i]);
  }
  if (testing::Test::HasFailure() && !failed_before) {
    ADD_FAILURE() << tracing::print(step.group) << (launches.empty() ? "" : launches[0].kernel.print());
  }
  return launches;
}

inline std::vector<Launch> check(const PlanStep& step, unsigned seed = 1) {
  std::mt19937 rng(seed);
  const auto inputs = random_inputs(step.group, rng);
  return check(step, inputs);
}

/// Instructions that the results need; of divisions, those of integers.
inline int count_live(const Kernel& kernel, std::initializer_list<scalar::Opcode> ops) {
  std::vector<int32_t> roots;
  for (const Store& s : kernel.stores) roots.insert(roots.end(), {s.index, s.value});
  for (const Reduction& r : kernel.reductions) roots.push_back(r.value);
  for (const Scatter& s : kernel.scatters) roots.insert(roots.end(), {s.index, s.value});
  const auto live = scalar::needed(kernel.dag, roots);
  int count = 0;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const scalar::Inst& inst = kernel.dag[id];
    const bool division = inst.op == scalar::Opcode::div || inst.op == scalar::Opcode::rem;
    if (division && is_float(inst.type)) continue;
    count += live[id] && std::find(ops.begin(), ops.end(), inst.op) != ops.end();
  }
  return count;
}

inline int divisions(const Kernel& kernel) { return count_live(kernel, {scalar::Opcode::div, scalar::Opcode::rem}); }
inline int selects(const Kernel& kernel) { return count_live(kernel, {scalar::Opcode::select}); }

}  // namespace neap::backends
