// Batches and columns choose their own chunks: per-example gradients, hessians and jacobians under budgets.
#include <neap/neap.h>

#include "tests/jit/measure.h"

namespace neap {
namespace {

namespace nr = random;
using namespace literals;

struct Layer {
  Array w, b;
};
using Layers = std::vector<Layer>;

Layers make_layers(std::vector<int64_t> sizes) {
  Layers layers;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    layers.push_back({nr::normal(nr::key(i), {sizes[i], sizes[i + 1]}) * 0.2f, nr::normal(nr::key(i), {sizes[i + 1]})});
  }
  return layers;
}

Array logits(const Layers& layers, Array x) {
  for (size_t i = 0; i < layers.size(); ++i) {
    x = matmul(x, layers[i].w) + layers[i].b;
    if (i + 1 < layers.size()) x = tanh(x);
  }
  return x;
}

template <class T>
Array squares(const T& tree) {
  Array total = zeros({});
  for (const Array& a : tree_leaves(tree)) total = total + sum(square(a));
  return total;
}

// The least peak is met exactly, at most this part of the usual one, chunked, and gives the reference's numbers. So
// does twice the least; `exact`: with the bits of the usual plan, as no sum needs to be split for it.
template <class F, class... A>
void check_least(const F& f, double part, bool exact, const A&... arguments) {
  const Measured free = measure(jit(f), arguments...);
  size_t least = 0;
  try {
    jit(f, {.memory_budget = 1}).plan(arguments...);
  } catch (const BudgetError& e) {
    least = e.smallest_peak_bytes();
  }
  EXPECT_LE(static_cast<double>(least), part * static_cast<double>(free.planned)) << free.planned;
  std::vector<Array> expected;
  {
    const eager_reference reference;
    expected = tree_leaves(f(arguments...));
  }
  for (const size_t budget : {least, 2 * least}) {
    SCOPED_TRACE(budget);
    const Measured m = measure(jit(f, {.memory_budget = budget}), arguments...);
    EXPECT_LE(m.planned, budget);
    if (budget == least) EXPECT_EQ(m.planned, least);
    EXPECT_TRUE(has(m.plan, "chunked") || budget >= free.planned) << m.plan;
    ASSERT_EQ(m.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (exact && budget > least) EXPECT_TRUE(same_bits(m.outputs[i], free.outputs[i])) << "output " << i;
      const auto got = m.outputs[i].to_vector<double>(), want = expected[i].to_vector<double>();
      for (size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-3 * std::max(1.0, std::abs(want[j])));
    }
  }
}

TEST(VmapBudget, GradientsOfExamplesOfAnMlp) {
  const Layers layers = make_layers({32, 64, 64, 10});
  const Array x = nr::normal(nr::key(8), {256, 32}), y = nr::randint(nr::key(9), {256}, 0, 10);
  const auto norms = [](const Layers& p, const Array& images, const Array& labels) {
    const auto one = [](const Layers& p, const Array& image, const Array& label) {
      return squares(grad([](const Layers& p, const Array& image, const Array& label) {
        return -take(log_softmax(logits(p, image)), label);
      })(p, image, label));
    };
    return vmap(one, {.in_axes = {none, 0, 0}})(p, images, labels);
  };
  check_least(norms, 0.5, true, layers, x, y);
}

Array model(const Array& w, const Array& x) {
  const Array w1 = reshape(w[{slice(0, 256)}], {16, 16}), w2 = reshape(w[{slice(256, 512)}], {16, 16});
  return matmul(tanh(matmul(x, w1)), w2);
}

TEST(VmapBudget, HessianOfAnMlp) {
  const Array w = nr::normal(nr::key(1), {512}) * 0.2f, x = nr::normal(nr::key(2), {64, 16});
  const auto loss = [](const Array& w, const Array& x) { return mean(square(model(w, x))); };
  const auto norm = [loss](const Array& w, const Array& x) { return sum(square(hessian(loss)(w, x))); };
  check_least(norm, 0.1, false, w, x);
  check_least([loss](const Array& w, const Array& x) { return hessian(loss)(w, x); }, 0.5, false, w, x);
}

TEST(VmapBudget, ColumnsOfAJacobian) {
  const Array w = nr::normal(nr::key(1), {512}) * 0.2f, x = nr::normal(nr::key(2), {32, 16});
  const auto norm = [](const Array& w, const Array& x) { return sum(square(jacrev(model)(w, x))); };
  check_least(norm, 0.1, false, w, x);
}

// One block of a transformer, its gradient's norm for each sequence: one sequence at a time.
TEST(VmapBudget, GradientsOfExamplesOfATransformer) {
  struct Block {
    Array q, k, v, o, up, down;
  };
  const auto matrix = [](uint64_t seed, int64_t rows, int64_t columns) {
    return nr::normal(nr::key(seed), {rows, columns}) * 0.2f;
  };
  const Block block{matrix(1, 16, 16), matrix(2, 16, 16), matrix(3, 16, 16),
                    matrix(4, 16, 16), matrix(5, 16, 64), matrix(6, 64, 16)};
  const auto loss = [](const Block& b, const Array& x) {
    const auto heads = [](const Array& y) { return swapaxes(reshape(y, {32, 2, 8}), 0, 1); };
    const auto normalised = [](const Array& y) {
      const Array d = y - mean(y, -1, true);
      return d / sqrt(mean(d * d, -1, true) + 1e-5f);
    };
    const Array y = normalised(x);
    const Array scores = matmul(heads(matmul(y, b.q)), swapaxes(heads(matmul(y, b.k)), 1, 2));
    const Array mixed = matmul(softmax(scores), heads(matmul(y, b.v)));
    const Array h = x + matmul(reshape(swapaxes(mixed, 0, 1), {32, 16}), b.o);
    return sum(square(h + matmul(gelu(matmul(normalised(h), b.up)), b.down)));
  };
  const auto norms = [loss](const Block& b, const Array& x) {
    return vmap([loss](const Block& b, const Array& x) { return squares(grad(loss)(b, x)); }, {.in_axes = {none, 0}})(
        b, x);
  };
  check_least(norms, 0.2, false, block, nr::normal(nr::key(7), {32, 32, 16}));
}

// Each example reads and writes rows of a table of its own, and sorts.
TEST(VmapBudget, TablesOfExamples) {
  const Array table = nr::normal(nr::key(1), {100, 8}), idx = nr::randint(nr::key(2), {64, 20}, 0, 100);
  const auto gradient_norms = [](const Array& t, const Array& i) {
    const auto loss = [](const Array& t, const Array& i) { return sum(square(tanh(take(t, i)))); };
    return vmap([loss](const Array& t, const Array& i) { return sum(square(grad(loss)(t, i))); },
                {.in_axes = {none, 0}})(t, i);
  };
  check_least(gradient_norms, 0.5, true, table, idx);
  const auto picks = [](const Array& x, const Array& i) {
    return vmap([](const Array& x, const Array& i) {
      const Array table = sort(outer(x, x));
      return sum(take_along_axis(table.at(i[0]).add(1.0f), reshape(i, {20, 1}), 1));
    })(x, i);
  };
  check_least(picks, 0.5, true, nr::normal(nr::key(3), {64, 20}), nr::randint(nr::key(4), {64, 20}, 0, 20));
}

// A count that wraps in its dtype is no count of the examples.
TEST(VmapBudget, NarrowIndicesThatWrap) {
  const Array x = nr::normal(nr::key(1), {300, 20}), w = nr::normal(nr::key(2), {20, 730});
  const Array j = nr::randint(nr::key(3), {300}, 0, 100);
  for (const DType dtype : {i8, u8, i16}) {
    const auto f = [dtype](const Array& x, const Array& w, const Array& j) {
      const Array h = matmul(x, w);
      const Array rows = concatenate({iota({300, 1}, 0, dtype), reshape(j, {300, 1}).astype(dtype)}, 1);
      return gather(h, rows) * 2.0f + sum(sin(h), 1);
    };
    size_t least = 0;
    try {
      jit(f, {.memory_budget = 1}).plan(x, w, j);
    } catch (const BudgetError& e) {
      least = e.smallest_peak_bytes();
    }
    const auto want = jit(f)(x, w, j).to_vector<float>(),
               got = jit(f, {.memory_budget = least})(x, w, j).to_vector<float>();
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3f) << name(dtype) << i;
  }
}

// Every path through values in registers would be 2^40 of them.
TEST(VmapBudget, ManyPathsAreOneVisitEach) {
  const auto f = [](const Array& x, const Array& w) {
    Array h = matmul(x, w);
    for (int k = 0; k < 40; ++k) h = h * h + 0.1f;
    return sum(h, 1);
  };
  try {
    jit(f, {.memory_budget = 1}).plan(spec({512, 64}, f32), spec({64, 64}, f32));
    FAIL();
  } catch (const BudgetError& e) {
    EXPECT_LE(e.smallest_peak_bytes(), 163008u);
  }
}

}  // namespace
}  // namespace neap
