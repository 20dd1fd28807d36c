// Reductions and ramps of types that hold neither the sum nor the count: they are computed in f32.
#include <neap/neap.h>

namespace neap {
namespace {

using testing::ElementsAre;

TEST(HalfStatistics, MeanAndVarianceOfManyElements) {
  for (const DType t : {f16, bf16}) {
    const Array x = ones({70'001}, t);
    EXPECT_EQ(mean(x).item<float>(), 1);
    EXPECT_EQ(mean(x).dtype(), t);
    EXPECT_EQ(var(x).item<float>(), 0);
    EXPECT_EQ(neap::std(x).dtype(), t);
  }
}

TEST(HalfStatistics, SoftmaxRoundsOnce) {
  const Array x = array({0.f, 1.f, 2.f}).astype(bf16);
  const Array expected = softmax(array({0.f, 1.f, 2.f})).astype(bf16);
  EXPECT_EQ(softmax(x).to_vector<float>(), expected.to_vector<float>());
}

TEST(Linspace, HasTheDtypeAskedFor) {
  EXPECT_EQ(linspace(0, 10, 5, i32).dtype(), i32);
  EXPECT_THAT(linspace(0, 10, 5, i32).to_vector<int>(), ElementsAre(0, 2, 5, 7, 10));
  EXPECT_EQ(linspace(0, 1, 70'001, f16)[70'000].item<float>(), 1);
  EXPECT_THAT(linspace(3, 4, 1).to_vector<float>(), ElementsAre(3));
  EXPECT_EQ(linspace(3, 4, 0).size(), 0);
}

}  // namespace
}  // namespace neap
