// C++ numbers that meet arrays: they keep their value, or are refused.
#include <neap/neap.h>

#include <limits>

namespace neap {
namespace {

using testing::ElementsAre;

TEST(Scalars, UnsignedOnesOf64BitsKeepTheirValue) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ((ones({1}) * most).item<float>(), 0x1p64f);
  EXPECT_EQ(full({1}, most, f32).item<float>(), 0x1p64f);
  EXPECT_EQ((zeros({1}, u64) + most).item<uint64_t>(), most);
  EXPECT_EQ(jit([=](const Array& x) { return x * most; })(ones({1})).item<float>(), 0x1p64f);
  EXPECT_EQ(random::randint(random::key(0), {4}, most - 1, most, u64).to_vector<uint64_t>(),
            std::vector<uint64_t>(4, most - 1));
}

TEST(Scalars, ThatTheDtypeDoesNotHoldAreRefused) {
  const Array bytes = full({2}, 255, u8);
  EXPECT_THROW(bytes * 300, DTypeError);
  EXPECT_THROW(equal(bytes, -1), DTypeError);
  EXPECT_THROW(full({2}, 256, u8), DTypeError);
  EXPECT_THROW(full({}, int64_t{1} << 31), DTypeError);
  EXPECT_THROW(ones({1}, i32) + (int64_t{1} << 40), DTypeError);
  EXPECT_THROW(ones({1}, i64) + (uint64_t{1} << 63), DTypeError);
  EXPECT_THROW(arange(int64_t{3'000'000'000}), DTypeError);
  EXPECT_THROW(jit([](const Array& x) { return x + 128; })(zeros({1}, i8)), DTypeError);
}

TEST(Scalars, AtTheEndsOfTheDtypeAreTaken) {
  EXPECT_EQ(full({}, 255, u8).item<int>(), 255);
  EXPECT_EQ((zeros({1}, i8) + -128).item<int>(), -128);
  EXPECT_EQ((zeros({1}, i32) + int64_t{std::numeric_limits<int32_t>::min()}).item<int>(),
            std::numeric_limits<int32_t>::min());
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ((zeros({1}, i64) + least).item<int64_t>(), least);
}

TEST(Scalars, FloatsBecomeIntegersAsConvertDoesIt) {
  EXPECT_EQ(full({}, NAN).item<int>(), 0);
  EXPECT_EQ(full({}, 1e30f).item<int32_t>(), std::numeric_limits<int32_t>::max());
  EXPECT_THAT(array({-1.5f, 300.f, NAN}).to_vector<uint8_t>(), ElementsAre(0, 255, 0));
  EXPECT_EQ(full({}, NAN, i32).item<int>(), 0);
}

TEST(Scalars, OfHalfTypesAreNumbers) {
  const Array y = ones({1}) * bfloat16(1.5f) + float16(0.25f);
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_EQ(y.item<float>(), 1.75f);
}

TEST(Scalars, AreExponentsOfAnySize) {
  const Array x = array({1.f, -1.f, 2.f});
  EXPECT_THAT(power(x, std::numeric_limits<int64_t>::min()).to_vector<float>(), ElementsAre(1, 1, 0));
  EXPECT_THAT(power(x, std::numeric_limits<uint64_t>::max()).to_vector<float>(), ElementsAre(1, -1, INFINITY));
  EXPECT_THAT(power(x, -1).to_vector<float>(), ElementsAre(1, -1, 0.5f));
}

TEST(Scalars, FoldInRefusesFloats) { EXPECT_THROW(random::fold_in(random::key(0), 3.7), DTypeError); }

}  // namespace
}  // namespace neap
