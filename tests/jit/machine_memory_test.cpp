// The memory that is left is a budget: plans that would hold more are made again to fit, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace neap {
namespace {

using testing::HasSubstr;
using testing::Not;

Array attention(const Array& q, const Array& k) { return matmul(softmax(matmul(q, transpose(k))), k); }

class MachineMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (default_device() != cpu()) GTEST_SKIP() << "of the host's memory";
  }
  void TearDown() override { memory::set_limit({}); }
};

TEST_F(MachineMemory, IsNoBudgetWhereItSuffices) {
  const Array q = random::normal(random::key(1), {256, 16});
  const auto f = jit(attention);
  f(q, q);
  EXPECT_THAT(f.last_plan().to_text(), Not(HasSubstr("budget")));
}

TEST_F(MachineMemory, IsTheBudgetOfWhatWouldNotFit) {
  const auto rows = [](const Array& a) { return sum(exp(matmul(a, transpose(a)) * 0.01f), {1}); };
  const Array x = random::normal(random::key(3), {2000, 8});
  const Array expected = jit(rows, {.pipeline = Pipeline::naive})(x);
  const auto fitted = jit(rows);
  constexpr size_t kLeft = 4'000'000;  // of 16 MB of products
  const size_t before = memory::live_bytes();
  memory::set_limit(before + kLeft);
  memory::reset_peak();
  const Array y = fitted(x);
  EXPECT_LE(memory::peak_bytes(), before + kLeft);
  EXPECT_EQ(y.to_vector<float>(), expected.to_vector<float>());
}

TEST_F(MachineMemory, RefusesWhatCannotFit) {
  const Array q = random::normal(random::key(1), {1024, 16});
  const auto fused = jit(attention, {.strategy = "fused"});
  memory::set_limit(memory::live_bytes() + 1'000'000);
  const size_t before = memory::live_bytes();
  memory::reset_peak();
  EXPECT_THROW(fused(q, q), BudgetError);
  EXPECT_EQ(memory::peak_bytes(), before) << "before anything is allocated";
}

TEST_F(MachineMemory, IsCountedWithArgumentsThatAreThere) {
  const Array x = ones({1 << 20});
  memory::set_limit(memory::live_bytes() + (4 << 20) + 64);
  const Array y = jit([](const Array& a) { return a + 1; })(x);
  EXPECT_EQ(y.shape(0), 1 << 20);
}

// A plan counts an array that is passed twice twice, and it is there once.
TEST_F(MachineMemory, IsEnoughForWhatIsPassedTwice) {
  const Array x = ones({1 << 20});
  const auto dot = jit([](const Array& a, const Array& b) { return sum(a * b); });
  const auto own = jit([x](const Array& a) { return sum(a * x); });
  memory::set_limit(memory::live_bytes() + 65536);
  EXPECT_EQ(dot(x, x).item<float>(), 1 << 20);
  EXPECT_EQ(own(x).item<float>(), 1 << 20);
}

TEST_F(MachineMemory, ReportsSayWhatTheBudgetIs) {
  const auto f = [](const Array& x) {
    return grad([](const Array& a) {
      return sum(fori_loop(0, 1000, [](const Array&, const Array& c) { return c + sin(c) / 8; }, a));
    })(x);
  };
  const Array x = random::uniform(random::key(1), {10'000});
  const Array expected = jit(f)(x);
  const auto fitted = jit(f);
  memory::set_limit(memory::live_bytes() + 5'000'000);
  EXPECT_EQ(fitted(x).to_vector<float>(), expected.to_vector<float>());
  const Plan plan = fitted.last_plan();
  EXPECT_LE(plan.peak_bytes(), 5'000'000u + x.bytes());
  EXPECT_THAT(plan.to_text(), HasSubstr("(the memory that was left)"));
  EXPECT_THAT(plan.to_json(), HasSubstr("\"budget_of_machine\": true"));
}

TEST(MachineMemoryDeathTest, TheEnvironmentSaysHowMuch) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto limit = [](const char* text) {
    setenv("NEAP_MEMORY", text, 1);
    try {
      const size_t bytes = memory::limit().value_or(0);
      ones({1 << 20}, f32);
      _exit(bytes == size_t{3} << 30 ? 3 : 4);
    } catch (const OptionError& error) {
      std::fputs(error.what(), stderr);
      _exit(98);
    } catch (const OutOfMemoryError& error) {
      std::fputs(error.what(), stderr);
      _exit(99);
    }
  };
  EXPECT_EXIT(limit("3GiB"), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(limit(""), testing::ExitedWithCode(4), "");
  EXPECT_EXIT(limit("1 MB"), testing::ExitedWithCode(99), "the limit is 976.56 KiB");
  for (const char* bad : {"much", "-1", "12 apples"}) {
    EXPECT_EXIT(limit(bad), testing::ExitedWithCode(98), "NEAP_MEMORY: got '.*'; expected bytes, such as 8GiB");
  }
}

}  // namespace
}  // namespace neap
