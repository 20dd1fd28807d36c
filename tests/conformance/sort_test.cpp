// Sorting: every dtype, along every axis, of lengths around what each way of sorting is for, with ties, NaNs and zeros
// of both signs; and its derivatives and batches, on the device of the process.
#include <neap/neap.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

class Sort : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DType, Sort, testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

// Both ops, ascending or descending by chance, each on numbers of its own: of the same ones they would be sorted once.
class Sorts {
 public:
  Sorts(DType t, uint64_t seed) : t_(t), s_(static_cast<uint64_t>(t) + seed) {}

  void check(const Shape& shape, int64_t axis) {
    for (const Op op : {Op::sort, Op::argsort}) {
      const uint64_t way = s_.random();
      const auto descending = static_cast<int64_t>(way % 2);
      s_.check(fmt::format("{} {}{} along {}{}", tracing::name(op), name(t_), to_string(shape), axis,
                           descending ? " descending" : ""),
               op, {s_.input(shape, t_, way % 3 == 0 ? Fill::tame : Fill::wild)},
               {{Attr::axis, axis}, {Attr::descending, descending}});
    }
  }
  void run() const { s_.run(); }

 private:
  DType t_;
  Sheet s_;
};

TEST_P(Sort, ShapesAndAxes) {
  Sorts s(GetParam(), 100);
  const std::pair<Shape, int64_t> cases[] = {
      {{0}, 0},         {{1}, 0},         {{2}, 0},        {{5, 33}, 0},     {{5, 33}, 1},     {{2, 3, 129}, 0},
      {{2, 3, 129}, 1}, {{2, 3, 129}, 2}, {{0, 4}, 0},     {{0, 4}, 1},      {{4, 0}, 0},      {{4, 0}, 1},
      {{3, 1, 2}, 1},   {{300, 301}, 0},  {{301, 300}, 1}, {{1, 200, 1}, 1}, {{2, 1030, 3}, 1}};
  for (const auto& [shape, axis] : cases) {
    s.check(shape, axis);
  }
  s.run();
}

TEST_P(Sort, Lengths) {
  Sorts s(GetParam(), 200);
  for (const int64_t n : {7, 16, 17, 33, 127, 128, 129, 257, 511, 513, 1023, 1024, 1025}) {
    s.check({n}, 0);
  }
  s.run();
}

TEST_P(Sort, LongRows) {
  Sorts s(GetParam(), 300);
  for (const Shape& shape : {Shape{65'535}, Shape{65'537}, Shape{200'003}, Shape{2, 140'000}}) {
    s.check(shape, std::ssize(shape) - 1);
  }
  s.run();
}

// What of a sorted row is read by a slice is found without sorting it: the best, the last, and ranks between.
TEST_P(Sort, RanksOfIt) {
  Random random(400 + static_cast<uint64_t>(GetParam()));
  const auto same_bytes = [](const Array& a, const Array& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.raw(), b.raw());
  };
  const auto check = [&](const Shape& shape, int64_t axis, int64_t begin, int64_t end, Fill fill) {
    const Array x = random_array({shape, GetParam()}, fill, random);
    for (const bool descending : {false, true}) {
      for (const bool order : {false, true}) {
        const auto whole = [&](const Array& a) {
          return order ? argsort(a, axis, {.descending = descending}) : sort(a, axis, {.descending = descending});
        };
        const Array ranks = jit([&](const Array& a) { return slice_in_dim(whole(a), begin, end, axis); })(x);
        EXPECT_TRUE(same_bytes(ranks, slice_in_dim(jit(whole)(x), begin, end, axis)))
            << fmt::format("{} along {}, ranks {} to {}{}{}", to_string(x.aval()), axis, begin, end,
                           order ? ", their order" : "", descending ? ", descending" : "");
      }
    }
  };
  const bool few = std::getenv("NEAP_DEVICE") != nullptr;  // compilers of other devices are slow
  // Rows so short that the best few are kept in order, and as many as are kept so, and one more.
  for (const int64_t n : few ? std::vector<int64_t>{} : std::vector<int64_t>{7, 8, 16, 31, 33, 65, 130}) {
    for (const Fill fill : {Fill::tame, Fill::wild}) {
      for (const auto& [begin, end] :
           {std::pair<int64_t, int64_t>{0, 2}, {n - 2, n}, {n / 2, n / 2 + 1}, {n / 4, n / 2}}) {
        check({50, n}, 1, begin, end, fill);
      }
    }
  }
  for (const int64_t ranks : few ? std::vector<int64_t>{} : std::vector<int64_t>{16, 17}) {
    check({20, 130}, 1, 0, ranks, Fill::wild);
    check({20, 130}, 1, 130 - ranks, 130, Fill::wild);
    check({200'000}, 0, 0, ranks, Fill::tame);
    check({200'000}, 0, 200'000 - ranks, 200'000 - ranks / 2, Fill::tame);
  }
  for (const int64_t n : few ? std::vector<int64_t>{5000} : std::vector<int64_t>{32, 100, 1000, 5000, 70'000}) {
    for (const Fill fill : {Fill::tame, Fill::wild}) {
      check({n}, 0, 0, n / 20 + 1, fill);
      check({n}, 0, n / 2 - 1, n / 2 + 1, fill);
      if (few) break;
      check({n}, 0, 0, 1, fill);
      check({n}, 0, n - 1, n, fill);
      check({n}, 0, n - n / 20 - 1, n - n / 40, fill);
      check({n}, 0, n / 3, n / 3 + n / 4, fill);
    }
  }
  if (few) return;
  for (const Fill fill : {Fill::tame, Fill::wild}) {
    check({7, 3000}, 1, 2, 7, fill);
    check({3000, 7}, 0, 2990, 3000, fill);
    check({20, 1500}, 1, 700, 801, fill);
    check({3, 140'000}, 1, 70'000, 70'001, fill);
    check({2, 200'000}, 1, 0, 10'000, fill);
  }
}

// -0 and 0 are equal, NaNs of any sign and payload too: they keep their order, each with its own bits.
TEST(SortOrder, ZerosAndNaNsKeepTheirOrder) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t copies : {1, 40, 300}) {
    std::vector<float> values;
    for (int64_t i = 0; i < copies; ++i) {
      for (const float v : {0.f, -0.f, -kNaN, 1.f, kInf, -kInf, kNaN, -1e-45f, 0.f, -1.f}) values.push_back(v);
    }
    const auto less = [](float a, float b) { return a < b || (a == a && b != b); };
    for (const bool descending : {false, true}) {
      std::vector<int32_t> order(values.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, [&](int32_t i, int32_t j) {
        const float a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
        return (descending ? less(b, a) : less(a, b)) || (!less(a, b) && !less(b, a) && i < j);
      });
      const Array x = array(values);
      const auto both = jit([&](const Array& a) {
        return std::pair{sort(a, 0, {.descending = descending}), argsort(a, 0, {.descending = descending})};
      });
      const auto [sorted, indices] = both(x);
      EXPECT_EQ(indices.to_vector<int32_t>(), order);
      EXPECT_EQ(argsort(x, -1, {.descending = descending}).to_vector<int32_t>(), order) << "eager";
      const auto got = sorted.to_vector<float>();
      for (size_t i = 0; i < order.size(); ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(values[static_cast<size_t>(order[i])])) << i;
      }
    }
  }
}

TEST(SortOrder, BoolsAndWideIntegers) {
  EXPECT_EQ(sort(array(std::vector<int>{1, 0, 1, 0}).astype(bool_)).to_vector<int>(), (std::vector<int>{0, 0, 1, 1}));
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<int64_t>::max();
  const Array x = array(std::vector<int64_t>{3, kHigh, kLow, -1, kHigh - 1, kLow + 1});
  EXPECT_EQ(sort(x).to_vector<int64_t>(), (std::vector<int64_t>{kLow, kLow + 1, -1, 3, kHigh - 1, kHigh}));
  EXPECT_EQ(argsort(x).dtype(), i32);
}

TEST(SortOrder, NoSuchAxis) {
  EXPECT_THROW(sort(zeros({2, 3}), 2), IndexError);
  EXPECT_THROW(argsort(zeros({2, 3}), -3), IndexError);
  EXPECT_THROW(sort(1.5f), IndexError);
}

TEST(SortTransforms, GradientGoesBackToWhereElementsCameFrom) {
  Random random(5);
  const Array x = random_array({{7, 300}, f32}, Fill::tame, random);
  for (const int64_t axis : {0, 1}) {
    for (const bool descending : {false, true}) {
      const auto weigh = [&](const Array& a, const Array& weight) {
        const Array sorted = sort(a, axis, {.descending = descending});
        return sum(sorted * weight + sorted * sorted);
      };
      const auto f = jit([&](const Arrays& in) {
        const auto [value, gradient] = value_and_grad(weigh)(in[0], in[1]);
        return Arrays{value, gradient};
      });
      const Array w = iota(x.shape(), axis, f32);
      const conformance::Run r = run_compiled(f, {x, w});
      EXPECT_EQ(r.measured, r.planned);
      // The element that is the k-th of its row has weight k.
      const Array order = argsort(x, axis, {.descending = descending});
      const Array rank = argsort(order, axis).astype(f32);
      EXPECT_EQ(difference(r.outputs[1], rank + 2 * x, kSameBits), "") << axis << descending;
      const auto [value, tangent] = jvp([&](const Array& a) { return weigh(a, w); }, x, ones_like(x));
      EXPECT_EQ(difference(tangent, sum(rank + 2 * x), {.ulps = 4}), "");
    }
  }
}

// Rows of a permutation are distinct: large gradients, in every dtype that has them, alone, batched and of gradients.
TEST(SortTransforms, LargeGradientsTakeNoTables) {
  Random random(7);
  for (const DType t : {f32, bf16}) {
    for (const Shape& shape : {Shape{70'000}, Shape{7, 10'000}}) {
      const Array x = random_array({shape, t}, Fill::tame, random), w = random_array({shape, t}, Fill::units, random);
      const auto weigh = [](const Array& a, const Array& weight) { return sum(sort(a, 0) * weight); };
      const auto gradient = jit([&](const Arrays& in) { return Arrays{grad(weigh)(in[0], in[1])}; });
      const conformance::Run r = run_compiled(gradient, {x, w});
      EXPECT_EQ(r.measured, r.planned);
      const Array rank = argsort(argsort(x, 0), 0);
      EXPECT_EQ(difference(r.outputs[0], take_along_axis(w, rank, 0), kSameBits), "") << to_string(x.aval());
      const auto takes_no_tables = [](const Plan& plan) {
        // Where results are not cut out of the arena, the naive plan may hold the least.
        if (plan.data().naive && !limits(default_device()).host_memory) return true;
        const std::string text = plan.to_json();
        return text.find("no element is updated twice") != std::string::npos &&
               text.find("\"partial tables\"") == std::string::npos;
      };
      EXPECT_TRUE(takes_no_tables(gradient.last_plan())) << gradient.last_plan();
      const auto all = jit([&](const Array& a, const Array& b) { return vmap(grad(weigh))(a, b); });
      const auto twice = jit(grad([&](const Array& a, const Array& b) {
        const Array first = grad([&](const Array& c) { return sum(sort(c * c, 0) * b); })(a);
        return sum(first * b);
      }));
      if (shape.size() == 2) {
        const Array order = argsort(argsort(x, 1), 1);
        EXPECT_EQ(difference(all(x, w), take_along_axis(w, order, 1), kSameBits), "") << to_string(x.aval());
        EXPECT_TRUE(takes_no_tables(all.last_plan())) << all.last_plan();
      }
      // d/dx of sum_i w_i 2 x_i w_rank(i): 2 w_i w_rank(i).
      const Array squares = argsort(argsort(x * x, 0), 0);
      EXPECT_EQ(difference(twice(x, w), 2 * w * take_along_axis(w, squares, 0), kSameBits), "") << to_string(x.aval());
      EXPECT_TRUE(takes_no_tables(twice.last_plan())) << twice.last_plan();
    }
  }
}

// Into an operand that is there, in place and not, of part of the elements and of all.
TEST(SortTransforms, UpdatesByAPermutation) {
  Random random(8);
  const Array x = random_array({{3000}, f32}, Fill::tame, random);
  for (const DType t : {f32, bf16, u8}) {
    for (const int64_t n : {3000, 4000}) {
      const Array base = random_array({{n}, t}, Fill::tame, random), y = random_array({{3000}, t}, Fill::tame, random);
      const auto f = [](const Arrays& in) {
        const Array order = argsort(in[0]);
        const Array own = sort(in[1], 0);  // dies here
        return Arrays{in[1].at(order).add(in[2]), in[1].at(order).set(in[2] + in[2]), own.at(order).add(in[2])};
      };
      const conformance::Run r = run_compiled(jit(f), {x, base, y});
      EXPECT_EQ(r.measured, r.planned);
      const eager_reference reference;
      const Arrays want = f({x, base, y});
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(difference(r.outputs[i], want[i], kSameBits), "") << i << ' ' << to_string(base.aval());
      }
    }
  }
}

TEST(SortTransforms, BatchesAndLoops) {
  Random random(6);
  const Array x = random_array({{5, 9, 150}, f32}, Fill::wild, random);
  const auto both = [](const Array& a) { return std::pair{sort(a, 0), argsort(a, 1, {.descending = true})}; };
  const auto [sorted, order] = jit(vmap(both))(x);
  const auto looped = jit([&](const Array& all) { return map(both, all); })(x);
  for (int64_t i = 0; i < 5; ++i) {
    const auto [one, places] = both(x[i]);
    EXPECT_EQ(difference(sorted[i], one, kSameBits), "");
    EXPECT_EQ(difference(order[i], places, kSameBits), "");
  }
  EXPECT_EQ(difference(looped.first, sorted, kSameBits), "");
  EXPECT_EQ(difference(looped.second, order, kSameBits), "");
}

}  // namespace
}  // namespace neap::conformance
