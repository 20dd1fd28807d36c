// neap-plan-speed: how long tracing and planning take, by kind of program and number of operations. Google Benchmark:
// --benchmark_filter=plan/network, --benchmark_format=json and so on. Compiling is measured for the smallest of each
// kind.
#include <benchmark/benchmark.h>
#include <neap/neap.h>

#include "bench/planning/programs.h"
#include "jit/compile.h"
#include "planner/plan/plan.h"
#include "planner/search/make_plan.h"

namespace bench {
namespace {

using neap::tracing::TracedFunction;

TracedFunction trace_program(const Program& program, int64_t operations) {
  return neap::tracing::trace(program.parameters, [&](const neap::tracing::Arrays& in) {
    return neap::tracing::Arrays{program.run(in, operations)};
  });
}

neap::planner::PlanData plan_program(const TracedFunction& traced) {
  return neap::planner::make_plan(traced.graph, {.want_alternatives = false});
}

void measure_trace(benchmark::State& state, const Program& program) {
  for (auto _ : state) benchmark::DoNotOptimize(trace_program(program, state.range(0)));
}

void measure_plan(benchmark::State& state, const Program& program) {
  const TracedFunction traced = trace_program(program, state.range(0));
  neap::planner::PlanData plan;
  for (auto _ : state) plan = plan_program(traced);
  state.counters["nodes"] = static_cast<double>(traced.graph.nodes.size());
  state.counters["steps"] = static_cast<double>(plan.steps.size());
  state.counters["peak/bound"] =
      static_cast<double>(plan.peak_bytes) / static_cast<double>(std::max<size_t>(1, plan.lower_bound_bytes));
}

void measure_compile(benchmark::State& state, const Program& program) {
  const TracedFunction traced = trace_program(program, state.range(0));
  const neap::planner::PlanData plan = plan_program(traced);
  for (auto _ : state) {
    state.PauseTiming();
    neap::planner::PlanData copy = plan;
    state.ResumeTiming();
    benchmark::DoNotOptimize(neap::jit_detail::compile_for(neap::default_device(), std::move(copy), ""));
  }
}

void add(const std::string& what, void (*measure)(benchmark::State&, const Program&), const Program& program,
         std::initializer_list<int64_t> sizes) {
  auto* registered = benchmark::RegisterBenchmark((what + "/" + program.name).c_str(),
                                                  [=](benchmark::State& state) { measure(state, program); });
  for (const int64_t operations : sizes) registered->Arg(operations);
  registered->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  for (const bench::Program& program : bench::programs()) {
    bench::add("plan", bench::measure_plan, program, {1000, 10'000, 100'000});
  }
  for (const bench::Program& program : bench::programs()) {
    bench::add("trace", bench::measure_trace, program, {1000, 10'000, 100'000});
  }
  for (const bench::Program& program : bench::programs())
    bench::add("compile", bench::measure_compile, program, {1000});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
