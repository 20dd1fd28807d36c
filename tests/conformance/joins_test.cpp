// Bytes that are shared are right: random programs of joins, views, carries and donated arguments against the naive
// pipeline, which shares none of them, and the reference.
#include <neap/neap.h>

#include "jit/compile.h"
#include "planner/report/report.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/joined_program.h"

namespace neap::conformance {
namespace {

void check_joined(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  JoinedProgram program(seed);
  program.make();
  const Graph& graph = program.graph;
  const auto inputs = [&] {
    Arrays arrays;
    for (const ValueId v : graph.inputs)
      arrays.push_back(
          random::uniform(random::key(seed + static_cast<uint64_t>(v)), graph.aval(v).shape, f32, -0.3f, 0.3f));
    return arrays;
  };
  const auto compiled = [&](bool naive, bool donates) {
    planner::PlanOptions options;
    options.naive = naive;
    options.target = jit_detail::target_of(default_device());
    if (donates) options.donated = program.donated;
    return jit_detail::Compiled(tracing::TracedFunction{graph, {}}, options, default_device());
  };
  const Arrays want = compiled(true, false).run(inputs(), {});
  for (const bool donates : {false, true}) {
    const jit_detail::Compiled f = compiled(false, donates);
    const Device device = default_device();
    Arrays in = inputs();
    for (Array& x : in) x = to_device(x, device);
    synchronize();
    const size_t others = memory::live_bytes(device) - held(in);
    memory::reset_peak(device);
    const Arrays got = f.run(in, {});
    synchronize();
    EXPECT_EQ(memory::peak_bytes(device) - others, f.plan().peak_bytes);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(difference(got[i], want[i], kSameBits), "") << "output " << i << (donates ? ", donated" : "");
    }
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << tracing::print(graph) << to_text(f.plan());
      return;
    }
  }
}

TEST(Joins, RunAsIfNothingWereShared) {
  if (const char* seed = std::getenv("NEAP_TEST_SEED")) return check_joined(std::strtoull(seed, nullptr, 10));
  const uint64_t programs = default_device() == cpu() ? 60 : 10;  // drivers compile slowly
  for (uint64_t seed = 0; seed < programs && !HasFailure(); ++seed) check_joined(seed);
}

// One kernel reads both before it writes either.
TEST(Joins, CarriesThatTradePlaces) {
  for (const DType t : {f32, bf16, u8}) {
    for (const Shape& shape : {Shape{1000}, Shape{33, 7}, Shape{3}}) {
      const auto f = [](const Arrays& in) {
        const auto [a, b] = fori_loop(
            0, 11,
            [](const Array&, const std::pair<Array, Array>& c) { return std::pair(c.second, c.first + c.second); },
            std::pair(in[0], in[1]));
        return Arrays{a, b};
      };
      const Arrays in{ones(shape, t), (iota(shape, 0, i32) % 5).astype(t)};
      const Arrays got = jit(f)(in);
      const eager_reference reference;
      const Arrays want = f(in);
      for (size_t i = 0; i < 2; ++i) EXPECT_EQ(difference(got[i], want[i], kSameBits), "") << to_string(got[i].aval());
    }
  }
}

}  // namespace
}  // namespace neap::conformance
