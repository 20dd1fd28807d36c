// Instruction sets: the best one computes unless NEAP_ISA asks for another, and each computes the same but for
// rounding.
#include "core/isa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/factor/factor.h"

namespace neap {

namespace factor {
#define NEAP_DECLARE(isa)                                                                         \
  namespace isa {                                                                                 \
  void run(const Form& form, const void* triangle, const void* a, void* out, std::byte* scratch); \
  }
NEAP_ISAS(NEAP_DECLARE)
#undef NEAP_DECLARE
}  // namespace factor

namespace {

using Factorize = decltype(&factor::run);

std::vector<Factorize> runs() {
  std::vector<Factorize> all;
#define NEAP_ADD(name) \
  if (Isa::name <= best_isa()) all.push_back(&factor::name::run);
  NEAP_ISAS(NEAP_ADD)
#undef NEAP_ADD
  return all;
}

TEST(Isa, IsTheBestUnlessOneIsAskedFor) {
  if (std::getenv("NEAP_ISA")) GTEST_SKIP() << "one is asked for";
  EXPECT_EQ(isa(), best_isa());
}

TEST(Isa, TilesAreUsedUnlessLessIsAskedFor) {
  const char* asked = std::getenv("NEAP_ISA");
  EXPECT_EQ(uses_tiles(), has_tiles() && (!asked || std::string_view(asked) == "amx"));
  if (has_tiles()) EXPECT_EQ(best_isa(), Isa::avx512);
}

TEST(Isa, EachFactorsTheSameMatrix) {
  constexpr int64_t kSize = 150;
  std::vector<double> a(kSize * kSize);
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < kSize; ++j) a[i * kSize + j] = (i == j ? kSize : 0) + 1.0 / static_cast<double>(1 + i + j);
  const factor::Form form{.kind = factor::Kind::cholesky, .dtype = DType::f64, .batch = 1, .m = kSize, .n = kSize};
  std::vector<std::byte> scratch(factor::layout(form).bytes() + 64);
  auto* const aligned = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  std::vector<std::vector<double>> results;
  for (const Factorize run : runs()) {
    results.emplace_back(a.size());
    run(form, nullptr, a.data(), results.back().data(), aligned);
  }
  ASSERT_FALSE(results.empty());
  for (const auto& result : results) {
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(result[i], results[0][i], 1e-12);
    double error = 0;  // of L L^T
    for (int64_t i = 0; i < kSize; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (int64_t k = 0; k <= j; ++k) sum += result[i * kSize + k] * result[j * kSize + k];
        error = std::max(error, std::abs(sum - a[i * kSize + j]));
      }
    }
    EXPECT_LT(error, 1e-11);
  }
}

}  // namespace
}  // namespace neap
