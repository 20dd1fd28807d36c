// Loops whose columns go through all iterations (backends/cpu/column_loop.h): their kernels beside the interpreter, and
// which loops they are of. (Whole programs: tests/jit/column_loop_test.cpp.)
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <functional>

#include "backends/cpu/program.h"
#include "planner/search/make_plan.h"
#include "tests/backends/cpu_harness.h"
#include "tests/backends/every_type.h"
#include "trace/tracing/tracing.h"

namespace neap::cpu::test {
namespace {

using tracing::Arrays;
using Body = std::function<std::pair<Array, Array>(const Array& carry, const Array& x)>;

// What is carried, and what is stacked, of [columns] through so many iterations.
TEST(ColumnLoop, KernelsOfEveryType) {
  for (const DType type : backends::test::kAll) {
    if (backends::test::half(type)) continue;  // no arithmetic of their own in kernels
    for (const int64_t columns : {17, 33, 64, 65, 200}) {
      for (const int64_t length : {1, 7}) {
        Trial trial;
        Kernel k;
        k.extent = {columns, length};
        k.vector_level = 0;
        const X column = k.dag.index(0, u32), step = k.dag.index(1, i64);
        const X begin = k.dag.binary(Opcode::mul, step, k.dag.integer(columns, i64));
        const X place = k.dag.binary(Opcode::add, begin, k.dag.convert(column, i64));
        const int xs = trial.input(k, type, columns * length), fixed = trial.input(k, type, columns, 3);
        const int one = trial.input(k, type, length, 5);
        k.buffers.push_back({type, true, "carried"});
        trial.buffers.push_back(random_elements(type, columns, 7));
        const int carried = static_cast<int>(k.buffers.size()) - 1, stacked = trial.output(k, type, columns * length);
        const Opcode op = type == DType::bool_ ? Opcode::bit_xor : Opcode::add;
        const X s = k.dag.load(carried, type, column);
        X next = k.dag.binary(op, s, k.dag.load(xs, type, place));
        next = k.dag.binary(op, next, k.dag.load(one, type, step));
        k.stores.push_back({carried, column.id, k.dag.binary(op, next, k.dag.load(fixed, type, column)).id});
        k.stores.push_back({stacked, place.id, next.id});
        k.carried.push_back({carried, carried, 0});
        trial.check(k);
      }
    }
  }
}

// Whether a loop over slices of [n] takes columns.
bool takes_columns(int64_t n, int64_t length, const Body& body) {
  planner::PlanOptions options;
  options.want_alternatives = false;
  const tracing::Graph graph = tracing::trace_closed(
      std::vector<Aval>{{{n}, f32}, {{length, n}, f32}},
      [&](const Arrays& in) {
        const auto [last, all] = scan(body, in[0], in[1]);
        return Arrays{last, all};
      },
      "test");
  const Lowered lowered = lower_program(planner::make_plan(graph, options), host_unit(), 2);
  return std::ranges::any_of(lowered.program->steps, [](const StepCode& step) { return step.scan.by_columns; });
}

TEST(ColumnLoop, IsOfArraysElementByElement) {
  const Body filter = [](const Array& s, const Array& x) { return std::pair(0.9f * s + 0.1f * x, s * x); };
  EXPECT_TRUE(takes_columns(100, 50, filter));
  EXPECT_FALSE(takes_columns(100, 2, filter)) << "longer code for next to nothing";
  EXPECT_FALSE(takes_columns(3, 500, filter)) << "numbers in registers";
  EXPECT_FALSE(takes_columns(100000, 50, filter)) << "columns far apart";
  EXPECT_TRUE(takes_columns(50, 100000, filter)) << "columns side by side";
  EXPECT_FALSE(takes_columns(2000, 10000, filter)) << "more than caches hold";
  EXPECT_FALSE(takes_columns(100, 50, [](const Array& s, const Array& x) { return std::pair(roll(s, 1) + x, x); }));
  EXPECT_FALSE(takes_columns(100, 50, [](const Array& s, const Array& x) { return std::pair(s + sum(x), x + s); }));
  EXPECT_FALSE(takes_columns(100, 50, [](const Array& s, const Array& x) { return std::pair(s + flip(x), s); }));
}

}  // namespace
}  // namespace neap::cpu::test
