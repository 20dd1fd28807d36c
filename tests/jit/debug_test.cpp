// debug_nans and debug_infs: the operation and the line that made the first NaN or infinity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>

namespace neap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What the function says when it is called while NaN, or infinities, are looked for.
template <class Check = debug_nans, class F, class... A>
std::string complaint(const F& f, const A&... arguments) {
  const Check on;
  try {
    f(arguments...);
  } catch (const FloatingPointError& e) {
    return e.what();
  }
  return "";
}

Array masked_log(const Array& x) { return sum(where(x > 0, log(x), 0)); }

TEST(DebugNans, NamesOperationElementAndLine) {
  const Array x = array<float>({{1, 2, 3}, {4, -5, 6}});
  const int line = __LINE__ + 1;
  const auto f = jit([](const Array& a) { return sum(exp(log(a) * 2)); });
  EXPECT_TRUE(std::isnan(f(x).item<float>()));
  EXPECT_THAT(complaint(f, x), AllOf(HasSubstr("log gives NaN at [1, 1] of f32[] -5.0, in f32[2,3]"),
                                     HasSubstr("debug_test.cpp:" + std::to_string(line))));
  EXPECT_EQ(complaint(f, abs(x)), "");
  EXPECT_TRUE(std::isnan(f(x).item<float>()));  // off again
}

TEST(DebugNans, OnlyWhatReachesAResultCounts) {
  const Array x = array({-1.0f, 2.0f});
  EXPECT_EQ(complaint(jit(masked_log), x), "");
  EXPECT_THAT(complaint(jit(grad(masked_log)), array({0.0f, 2.0f})), HasSubstr("NaN"));  // 0 * (1 / 0)
}

TEST(DebugNans, OperationsOutsideOfATrace) {
  EXPECT_THAT(complaint([] { return sqrt(array({4.0f, -4.0f})); }), HasSubstr("sqrt gives NaN at [1] of f32[] -4.0"));
  EXPECT_THAT(complaint([] { return array(0.0) / array(0.0); }), HasSubstr("divide gives NaN of f64[] 0.0, f64[] 0.0"));
}

TEST(DebugNans, StepsOfLoops) {
  const auto falling = [](const Array& x) {
    return fori_loop(0, 10, [](const Array&, const Array& c) { return sqrt(c) - 0.5f; }, x);
  };
  EXPECT_THAT(complaint(jit(falling), array(1.0f)), AllOf(HasSubstr("sqrt gives NaN"), HasSubstr("of a scan")));
  const auto until = [](const Array& x) {
    return while_loop([](const Array& c) { return !(c > 100); },
                      [](const Array& c) { return select(c > 3, c / c * 200, c + 1); }, x);
  };
  EXPECT_EQ(complaint(jit(until), array(1.0f)), "");
  const auto spoilt = [](const Array& x) {
    return scan([](const Array& c, const Array& y) { return std::pair(c + y, log(c)); }, x, array({1.0f, -9.0f, 1.0f}))
        .second;
  };
  EXPECT_THAT(complaint(jit(spoilt), array(1.0f)),
              HasSubstr("log gives NaN of f32[] -7.0, in f32[], in step 2 of a scan"));
  const auto chosen = [](const Array& x) {
    return cond(x > 0, [](const Array& y) { return y; }, [](const Array& y) { return acos(y - 5); }, x);
  };
  EXPECT_EQ(complaint(jit(chosen), array(1.0f)), "");
  EXPECT_THAT(complaint(jit(chosen), array(-1.0f)), HasSubstr("acos gives NaN of f32[] -6.0"));
}

// Of stacked results one may be thrown away: what it holds is not looked at.
TEST(DebugNans, OfALoopOnlyWhatReachesAResult) {
  struct Results {
    Array used, unused;
  };
  const auto f = [](const Array& x) {
    const auto step = [](const Array& c, const Array& y) { return std::pair{c + 1, Results{sqrt(y - c), log(-c)}}; };
    const Results ys = scan(step, x, array({9.0f, 9.0f, 1.0f})).second;
    return std::pair{ys.used, ys.unused[2]};
  };
  EXPECT_THAT(complaint(jit([&](const Array& x) { return f(x).first; }), array(1.0f)),
              AllOf(HasSubstr("sqrt gives NaN of f32[] -2.0"), HasSubstr("in step 2 of a scan")));
}

TEST(DebugNans, WhereTheNumberComesFromOutside) {
  const Array none = array(NAN);
  EXPECT_THAT(complaint(jit([](const Array& x) { return x + 1; }), none),
              HasSubstr("an argument or a captured array holds one"));
  const auto f = jit([](const Array& x) { return log(x); }, {.donate = {0}});
  EXPECT_THAT(complaint(f, array({-1.0f})), HasSubstr("donated"));
}

TEST(DebugInfs, AreAskedForApart) {
  const auto f = jit([](const Array& x) { return 1 / x; });
  const Array zero = array({2.0f, 0.0f});
  EXPECT_EQ(complaint(f, zero), "");
  EXPECT_THAT(complaint<debug_infs>(f, zero), HasSubstr("divide gives an infinity at [1]"));
  EXPECT_THAT(complaint<debug_infs>(jit([](const Array& x) { return exp(x); }), array(1000.0)),
              HasSubstr("exp gives an infinity"));
}

}  // namespace
}  // namespace neap
