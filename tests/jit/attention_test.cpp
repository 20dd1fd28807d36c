// Attention and its gradient under budgets: linear in the length, and the bits of the whole.
#include <neap/neap.h>

#include "tests/jit/measure.h"

namespace neap {
namespace {

namespace nr = random;
using namespace literals;

Array attention(const Array& q, const Array& k, const Array& v) {  // (heads, length, dim)
  return matmul(softmax(matmul(q, swapaxes(k, -1, -2)) / 8.0f), v);
}

auto attention_gradient() {
  return grad<0, 1, 2>([](const Array& q, const Array& k, const Array& v) { return sum(square(attention(q, k, v))); });
}

template <class F>
size_t least(const F& f, const Array& x) {
  try {
    jit(f, {.memory_budget = 1}).plan(x, x, x);
  } catch (const BudgetError& e) {
    return e.smallest_peak_bytes();
  }
  ADD_FAILURE() << "one byte is enough";
  return 0;
}

// Peaks at the length and at twice the length; beside arguments and results only a little.
template <class F>
void check_linear(const F& f, int results, DType dtype) {
  const Array half = spec({16, 8192, 64}, dtype), whole = spec({16, 16384, 64}, dtype);
  const size_t short_peak = least(f, half), peak = least(f, whole);
  const size_t held = static_cast<size_t>(3 + results) * whole.bytes();
  EXPECT_LE(peak, 2 * short_peak + short_peak / 8);  // four times the scores
  EXPECT_LE(peak, held + 48_MiB);
  const Plan naive = jit(f, {.pipeline = Pipeline::naive}).plan(whole, whole, whole);
  EXPECT_GT(naive.peak_bytes(), 64 * peak);  // the scores alone: 16 GiB
}

TEST(Attention, IsLinearInTheLength) {
  check_linear(attention, 1, bf16);
  check_linear(attention, 1, f32);
}

TEST(Attention, ItsGradientIsLinearInTheLength) {
  check_linear(attention_gradient(), 3, bf16);
  check_linear(attention_gradient(), 3, f32);
}

// The same at a size to run, from the least budget up. The least plans split sums over keys; others split none of the
// forward pass.
template <class F>
void check_run(const F& f, bool exact) {
  const auto make = [](uint64_t seed) { return nr::normal(nr::key(seed), {4, 256, 16}); };
  const Array q = make(1), k = make(2), v = make(3);
  const Measured free = measure(jit(f), q, k, v);
  const size_t smallest = least(f, q);
  EXPECT_LT(smallest, free.planned / 2);
  std::vector<Array> expected;
  {
    const eager_reference reference;
    expected = tree_leaves(f(q, k, v));
  }
  for (const size_t budget : {smallest, smallest + smallest / 2, 2 * smallest}) {
    SCOPED_TRACE(budget);
    const Measured m = measure(jit(f, {.memory_budget = budget}), q, k, v);
    EXPECT_LE(m.planned, budget);
    EXPECT_TRUE(has(m.plan, "chunked"));
    ASSERT_EQ(m.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (exact && budget > smallest) EXPECT_TRUE(same_bits(m.outputs[i], free.outputs[i]));
      const auto got = m.outputs[i].to_vector<double>(), want = expected[i].to_vector<double>();
      for (size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-4 * std::max(1.0, std::abs(want[j])));
    }
  }
}

TEST(Attention, RunsInSlices) { check_run(attention, true); }
TEST(Attention, ItsGradientRunsInSlices) { check_run(attention_gradient(), false); }

}  // namespace
}  // namespace neap
