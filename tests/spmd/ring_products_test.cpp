// Products of what all ranks have, under budgets: bits of the product of the whole, at the memory of two blocks.
#include "planner/plan/plan.h"
#include "tests/spmd/thread_ranks.h"

namespace neap {
namespace {

using P = PartitionSpec;

enum class Side { left, right };

auto product(const Mesh& mesh, Side side, std::optional<size_t> budget) {
  return jit(shard(
                 [side](const Array& block, const Array& w) {
                   const Array all = all_gather(block, "x", 0, true);
                   return side == Side::left ? matmul(all, w) : matmul(w, transpose(all));
                 },
                 {.mesh = mesh, .in = {P{"x"}, P{}}, .out = {P{}}}),
             {.memory_budget = budget});
}

bool goes_round(const Plan& plan) { return plan.to_text().find("ppermute") != std::string::npos; }

TEST(RingProducts, HoldTwoBlocksUnderABudget) {
  const Mesh mesh = Mesh::planned({{"x", 16}});
  const Array block = spec({256, 4096}, f32), w = spec({4096, 16}, f32);
  const auto planned = [&](std::optional<size_t> budget) { return product(mesh, Side::left, budget).plan(block, w); };
  const size_t whole = 16 * block.bytes();
  const Plan plan = planned(whole / 2);
  EXPECT_TRUE(goes_round(plan)) << plan;
  EXPECT_LT(plan.peak_bytes(), w.bytes() + 4 * block.bytes()) << plan;
  EXPECT_THROW(planned(block.bytes() + w.bytes()), BudgetError);
}

TEST(RingProducts, BitsAreThoseOfTheWhole) {
  for (const int64_t ranks : {4, 5, 8})
    for (const Side side : {Side::left, Side::right})
      for (const DType dtype : {f32, f64, bf16}) {
        const int64_t rows = 24, k = 2048, n = 8;
        const Array x = random::normal(random::key(1), {ranks * rows, k}, dtype);
        const Array w = random::normal(random::key(2), side == Side::left ? Shape{k, n} : Shape{n, k}, dtype);
        const Array expected = product(Mesh::emulated({{"x", ranks}}), side, {})(x, w);
        // Less than its own block and what is gathered.
        const size_t budget = 4 * x.bytes() / static_cast<size_t>(ranks) + w.bytes() + expected.bytes() + (96 << 10);
        on_threads({{"x", ranks}}, [&](const Mesh& mesh) {
          const auto f = product(mesh, side, budget);
          const Array mine = mesh.local(x, {"x"});
          EXPECT_TRUE(goes_round(f.plan(mine, w))) << f.plan(mine, w);
          expect_same(f(mine, w), expected, std::string(name(dtype)));
        });
      }
}

}  // namespace
}  // namespace neap
