// Several sums of what a root or quotient goes into are computed in blocks: their bits are those of each sum alone.
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>

namespace neap {
namespace {

void expect_same_bits(const Array& got, const Array& expected, int64_t length) {
  EXPECT_TRUE(std::ranges::equal(got.raw(), expected.raw())) << length << " elements";
}

TEST(BlockedSums, HaveTheBitsOfEachSumAlone) {
  const auto pulls = [](const Array& x, const Array& y, const Array& z) {
    const auto apart = [](const Array& a) { return expand_dims(a, 0) - expand_dims(a[{slice(0, 5)}], 1); };
    const Array dx = apart(x), dy = apart(y), dz = apart(z);
    const Array r = 1 / sqrt(dx * dx + dy * dy + dz * dz + 0.01f), r3 = r * r * r;
    return std::vector<Array>{sum(dx * r3, {1}), sum(dy * r3, {1}), sum(dz * r3, {1}), max(r, {1})};
  };
  const auto together = jit(pulls);
  for (const int64_t length : {255, 256, 257, 300, 511, 512, 513, 1024, 1031, 5000}) {
    const Array x = random::normal(random::key(1), {length}), y = random::normal(random::key(2), {length}),
                z = random::normal(random::key(3), {length});
    const std::vector<Array> got = together(x, y, z);
    for (size_t i = 0; i < got.size(); ++i) {
      const auto alone = jit([&](const Array& a, const Array& b, const Array& c) { return pulls(a, b, c)[i]; });
      expect_same_bits(got[i], alone(x, y, z), length);
    }
  }
}

// The quotient is of what is added up, too, and of rows that begin anywhere.
TEST(BlockedSums, OfStatistics) {
  const auto moments = [](const Array& x) {
    const Array v =
        sqrt(abs(x[{slice(), slice(3, end)}])) / (1 + x[{slice(), slice(0, -3)}] * x[{slice(), slice(0, -3)}]);
    return std::vector<Array>{sum(v, {1}), sum(v * v, {1}), sum(v * v * v, {1})};
  };
  const auto together = jit(moments);
  for (const int64_t length : {259, 300, 515, 2000}) {
    const Array x = random::normal(random::key(4), {3, length});
    const std::vector<Array> got = together(x);
    for (size_t i = 0; i < got.size(); ++i)
      expect_same_bits(got[i], jit([&](const Array& a) { return moments(a)[i]; })(x), length);
  }
}

}  // namespace
}  // namespace neap
