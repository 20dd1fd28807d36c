// vmap against a loop, for every case and every choice of batched inputs.
#include "trace/vmap/vmap.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/trace/cases.h"

namespace neap::tracing {
namespace {

class Vmap : public ::testing::TestWithParam<Case> {};

constexpr int64_t kBatch = 3;

// Batches stacked along axis 0.
HostValue stacked(const std::vector<HostValue>& parts) {
  Aval aval = parts[0].aval;
  aval.shape.insert(aval.shape.begin(), static_cast<int64_t>(parts.size()));
  HostValue result{aval, allocate(aval.bytes(), "test")};
  const size_t bytes = parts[0].aval.bytes();
  for (size_t i = 0; i < parts.size(); ++i)
    if (bytes) std::memcpy(result.data->data() + i * bytes, parts[i].data->data(), bytes);
  return result;
}

void expect_equal(const HostValue& got, const HostValue& expected, const std::string& what) {
  ASSERT_EQ(got.aval, expected.aval) << what;
  dispatch(got.aval.dtype, [&]<class T>() {
    for (int64_t i = 0; i < got.aval.size(); ++i) {
      const double a = static_cast<double>(got.data->as<T>()[i]), b = static_cast<double>(expected.data->as<T>()[i]);
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_NEAR(a, b, 1e-12 * (1 + std::abs(b))) << what << " element " << i;
    }
  });
}

TEST_P(Vmap, IsALoop) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  std::mt19937_64 rng(7);
  for (unsigned subset = 1; subset < 1u << c.inputs.size(); ++subset) {
    std::vector<HostValue> whole;
    std::vector<std::vector<HostValue>> each(kBatch);
    std::vector<std::optional<int64_t>> axes;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const bool batched = subset >> i & 1;
      std::vector<HostValue> parts;
      for (int64_t b = 0; b < kBatch; ++b) parts.push_back(random_value(c.inputs[i], rng, c));
      for (int64_t b = 0; b < kBatch; ++b) each[b].push_back(parts[batched ? b : 0]);
      whole.push_back(batched ? stacked(parts) : parts[0]);
      axes.push_back(batched ? std::optional<int64_t>(0) : std::nullopt);
    }
    const Graph mapped = vmap(g, axes, kBatch, std::vector<int64_t>(g.outputs.size(), 0));
    const auto got = evaluate_reference(mapped, whole);
    std::vector<std::vector<HostValue>> loop;
    for (const auto& inputs : each) loop.push_back(evaluate_reference(g, inputs));
    for (size_t k = 0; k < g.outputs.size(); ++k) {
      std::vector<HostValue> parts;
      for (const auto& outputs : loop) parts.push_back(outputs[k]);
      expect_equal(got[k], stacked(parts),
                   c.name + " subset " + std::to_string(subset) + " output " + std::to_string(k));
    }
  }
}

// Two maps, one in the other, over different inputs: the batches must not meet.
class NestedVmap : public ::testing::TestWithParam<Case> {};
std::vector<Case> mapped_cases() {
  std::vector<Case> cases = all_cases();
  for (Case& c : while_cases()) cases.push_back(std::move(c));
  return cases;
}
std::vector<Case> cases_of_several_inputs() {
  std::vector<Case> cases = mapped_cases();
  std::erase_if(cases, [](const Case& c) { return c.inputs.size() < 2; });
  return cases;
}

TEST_P(NestedVmap, KeepsBatchesApart) {
  const Case& c = GetParam();
  const Graph g = c.graph();
  const std::vector<int64_t> first(g.outputs.size(), 0);
  std::vector<std::optional<int64_t>> inner(c.inputs.size()), outer(c.inputs.size());
  inner[0] = outer[1] = 0;
  const Graph mapped = vmap(vmap(g, inner, kBatch, first), outer, 2, first);
  std::mt19937_64 rng(11);
  std::vector<std::vector<HostValue>> parts(c.inputs.size());
  for (size_t i = 0; i < c.inputs.size(); ++i)
    for (int64_t b = 0; b < (i == 0 ? kBatch : i == 1 ? 2 : 1); ++b)
      parts[i].push_back(random_value(c.inputs[i], rng, c));
  std::vector<HostValue> whole;
  for (size_t i = 0; i < c.inputs.size(); ++i) whole.push_back(i < 2 ? stacked(parts[i]) : parts[i][0]);
  const auto got = evaluate_reference(mapped, whole);
  for (size_t k = 0; k < g.outputs.size(); ++k) {
    std::vector<HostValue> rows;
    for (int64_t a = 0; a < 2; ++a) {
      std::vector<HostValue> row;
      for (int64_t b = 0; b < kBatch; ++b) {
        std::vector<HostValue> inputs;
        for (size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(parts[i][i == 0 ? b : i == 1 ? a : 0]);
        row.push_back(evaluate_reference(g, inputs)[k]);
      }
      rows.push_back(stacked(row));
    }
    expect_equal(got[k], stacked(rows), c.name + " output " + std::to_string(k));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Vmap, ::testing::ValuesIn(mapped_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cases, NestedVmap, ::testing::ValuesIn(cases_of_several_inputs()), case_name);

TEST(VmapAxes, InAndOut) {
  const Aval x{{2}, f32};
  const Graph g =
      trace_closed(std::vector<Aval>{x}, [](const Arrays& in) { return Arrays{stack({in[0], in[0] * 2}), ones({2})}; });
  const Graph mapped = vmap(g, {1}, 3, {2, 1});
  EXPECT_EQ(mapped.aval(mapped.inputs[0]).shape, (Shape{2, 3}));
  const auto out = evaluate_reference(mapped, std::vector{host<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(out[0].aval.shape, (Shape{2, 2, 3}));
  EXPECT_EQ(elements_of<float>(out[0]), (std::vector<float>{1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(out[1].aval.shape, (Shape{2, 3}));
}

// Only the planner makes offsets, and maps nothing after; a graph that is read from text may.
TEST(VmapRandom, OffsetsOfExamples) {
  const Attrs attrs{{Attr::shape, Shape{2, 2}}, {Attr::dtype, u32}, {Attr::full_shape, Shape{5, 4}}};
  const std::vector<Aval> avals{{{2}, u32}, {{2}, i64}};
  const Graph g = trace_closed(avals, [&](const Arrays& in) { return Arrays{apply(Op::random_bits, in, attrs, {})}; });
  const HostValue keys = host<uint32_t>({3, 2}, {1, 2, 3, 4, 5, 6}),
                  offsets = host<int64_t>({3, 2}, {0, 0, 1, 2, 3, 1});
  for (const bool batched_key : {false, true}) {
    const HostValue key = batched_key ? keys : host<uint32_t>({2}, {1, 2});
    const Graph mapped = vmap(g, {batched_key ? std::optional<int64_t>(0) : std::nullopt, 0}, 3, {1});
    const auto got = evaluate_reference(mapped, std::vector{key, offsets});
    ASSERT_EQ(got[0].aval.shape, (Shape{2, 3, 2}));
    for (int64_t b = 0; b < 3; ++b) {
      const uint32_t* k = key.data->as<uint32_t>() + (batched_key ? 2 * b : 0);
      const int64_t* at = offsets.data->as<int64_t>() + 2 * b;
      const auto alone =
          evaluate_reference(g, std::vector{host<uint32_t>({2}, {k[0], k[1]}), host<int64_t>({2}, {at[0], at[1]})});
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 2; ++j)
          EXPECT_EQ(got[0].data->as<uint32_t>()[(i * 3 + b) * 2 + j], alone[0].data->as<uint32_t>()[i * 2 + j]);
    }
  }
}

TEST(VmapIndex, BatchNumberFitsItsColumn) {
  const std::vector<Aval> avals{{{4}, f32}, {{2, 1}, i8}};
  const Graph g = trace_closed(avals, [](const Arrays& in) { return Arrays{gather(in[0], in[1])}; });
  for (const auto& [size, expected] : {std::pair<int64_t, DType>{100, i8}, {1000, i64}}) {
    const Graph mapped = vmap(g, {0, 0}, size, {0});
    for (const Node& node : mapped.nodes)
      if (node.op == Op::gather) {
        EXPECT_EQ(mapped.aval(node.inputs[1]).dtype, expected);
      }
  }
}

}  // namespace
}  // namespace neap::tracing
