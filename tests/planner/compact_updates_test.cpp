// A table changes in the rows that have updates, to the same bits.
#include "planner/rewrite/compact_updates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "planner/rewrite/simplify.h"
#include "planner/search/candidates.h"
#include "planner/search/make_plan.h"
#include "programs.h"
#include "tests/count.h"
#include "tests/trace/host.h"
#include "trace/reference/reference.h"

namespace neap::planner {
namespace {

using tracing::HostValue;
using tracing::IndexMode;

constexpr int64_t kRows = 60, kWidth = 3;

class CompactUpdates : public testing::Test {
 protected:
  Graph g;
  ValueId table = g.add_input({{kRows, kWidth}, DType::f32});

  ValueId scatter(ValueId into, DType index, Shape rows, IndexMode mode) {
    Shape updates = rows;
    updates.push_back(kWidth);
    rows.push_back(1);
    const ValueId i = g.add_input({rows, index}), u = g.add_input({updates, DType::f32});
    return g.add(Op::scatter_add, {into, i, u}, {{Attr::axes, Ints{0}}, {Attr::mode, static_cast<int64_t>(mode)}});
  }
  ValueId scatter(ValueId into, int64_t rows = 8) { return scatter(into, DType::i32, {rows}, IndexMode::fill_or_drop); }
  ValueId full(double value) { return splat(g, value, DType::f32, {kRows, kWidth}); }
  ValueId times(double factor, ValueId v) { return g.add(Op::multiply, {full(factor), v}); }

  // Few rows, so that many updates are of the same one, some of them far outside.
  std::vector<HostValue> values(std::mt19937& random) const {
    std::vector<HostValue> result;
    for (const ValueId v : g.inputs) {
      HostValue x{g.aval(v), allocate(g.aval(v).bytes(), "test")};
      for (int64_t i = 0; i < x.aval.size(); ++i) {
        const auto n = static_cast<int64_t>(random() % 8);
        const bool far = random() % 6 == 0;
        switch (x.aval.dtype) {
          case DType::i8: x.data->as<int8_t>()[i] = static_cast<int8_t>(far ? -128 : n - 4); break;
          case DType::u8: x.data->as<uint8_t>()[i] = static_cast<uint8_t>(far ? 255 : n); break;
          case DType::i32:
            x.data->as<int32_t>()[i] = far ? std::numeric_limits<int32_t>::max() : static_cast<int32_t>(n) - 4;
            break;
          case DType::i64: x.data->as<int64_t>()[i] = far ? std::numeric_limits<int64_t>::min() : n - 4; break;
          default: {
            constexpr float kSpecial[] = {-0.0f, 0.0f, INFINITY, 1e30f, 1e-40f};
            const float y = std::ldexp(static_cast<float>(random()), -static_cast<int>(20 + n)) - 1;
            x.data->as<float>()[i] = far ? kSpecial[random() % std::size(kSpecial)] : y;
          }
        }
      }
      result.push_back(std::move(x));
    }
    return result;
  }

  void check(ValueId result) {
    g.outputs = {result};
    const Graph simple = simplify(g);
    const auto compact = compact_updates(simple, {});
    ASSERT_TRUE(compact) << print(simple);
    verify(*compact);
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
      const std::vector<HostValue> inputs = values(random);
      const auto want = evaluate_reference(g, inputs), got = evaluate_reference(*compact, inputs);
      for (int64_t i = 0; i < want[0].aval.size(); ++i) {
        const float x = got[0].data->as<float>()[i], y = want[0].data->as<float>()[i];
        if (std::isnan(x) && std::isnan(y)) continue;
        EXPECT_EQ(std::memcmp(&x, &y, sizeof x), 0) << "element " << i << ": " << x << ", expected " << y;
      }
    }
  }
  bool applies(ValueId result) {
    g.outputs = {result};
    return compact_updates(simplify(g), {}).has_value();
  }
};

TEST_F(CompactUpdates, GradientDescent) { check(g.add(Op::subtract, {table, times(0.1, scatter(full(0)))})); }

TEST_F(CompactUpdates, WithoutAFactorOrWithANegativeOne) {
  check(g.add(Op::subtract, {table, scatter(full(0))}));
  check(g.add(Op::add, {times(-2, scatter(full(0))), table}));
}

TEST_F(CompactUpdates, OfSeveralScattersInEveryMode) {
  for (const IndexMode mode : {IndexMode::clip, IndexMode::fill_or_drop, IndexMode::clamp_update}) {
    for (const DType index : {DType::i8, DType::u8, DType::i32, DType::i64}) {
      g = {};
      table = g.add_input({{kRows, kWidth}, DType::f32});
      const ValueId first = scatter(full(0), index, {4, 3}, mode);
      check(g.add(Op::subtract, {table, times(0.5, scatter(first, DType::i32, {7}, IndexMode::clamp_update))}));
    }
  }
}

TEST_F(CompactUpdates, NotWhereRowsWithoutUpdatesWouldChange) {
  EXPECT_FALSE(applies(g.add(Op::add, {table, scatter(full(0))}))) << "-0 + 0 is 0";
  EXPECT_FALSE(applies(g.add(Op::subtract, {table, times(-1, scatter(full(0)))})));
  EXPECT_FALSE(applies(g.add(Op::subtract, {table, times(INFINITY, scatter(full(0)))}))) << "inf * 0 is NaN";
  EXPECT_FALSE(applies(g.add(Op::subtract, {table, scatter(full(1))})));
  EXPECT_FALSE(applies(g.add(Op::subtract, {scatter(full(0)), table})));
}

TEST_F(CompactUpdates, NotOfManyRowsOrWhatIsReadElsewhere) {
  EXPECT_FALSE(applies(g.add(Op::subtract, {table, scatter(full(0), kRows)})));
  const ValueId gradient = scatter(full(0));
  const ValueId next = g.add(Op::subtract, {table, gradient});
  g.outputs = {next, gradient};
  EXPECT_FALSE(compact_updates(simplify(g), {}));
}

TEST_F(CompactUpdates, WhereTheTableIsDonated) {
  constexpr int64_t kMany = 100'000;
  g = descent_of_a_table(kMany, kWidth);
  const Program program(g);
  Search search = begin_search(program, {});
  EXPECT_FALSE(consider("compacted", search)) << "it would be copied";
  PlanOptions options;
  options.donated = {true, false, false};
  const PlanData plan = make_plan(g, options);
  EXPECT_LT(plan.arena_bytes, kMany * 5) << "the last update of each row, no more";
  Search donated = begin_search(program, options);
  ASSERT_TRUE(consider("compacted", donated));
  EXPECT_GT(count(donated.simple, Op::gather), 0);
}

}  // namespace
}  // namespace neap::planner
