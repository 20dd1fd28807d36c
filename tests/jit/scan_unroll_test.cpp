// scan with several steps in an iteration: the same values, whatever divides the length.
#include <gtest/gtest.h>
#include <neap/neap.h>

namespace neap {
namespace {

struct State {
  Array at, speed;
};

auto path(const Array& start, const Array& push, bool reverse, int64_t unroll) {
  const auto step = [](const State& s, const Array& p) {
    const Array speed = s.speed * 0.9f + p * sin(s.at);
    return std::pair{State{s.at + speed, speed}, std::tuple{s.at * p, speed}};
  };
  return scan(step, State{start, zeros_like(start)}, push, {}, reverse, unroll);
}

TEST(ScanUnroll, GivesWhatTheLoopGives) {
  const Array start = array({0.5f, -1.0f, 2.0f});
  for (const int64_t length : {0, 1, 2, 7, 12}) {
    const Array push = random::normal(random::key(1), {length, 3});
    for (const bool reverse : {false, true}) {
      const auto run = [&](int64_t unroll) {
        return jit([=](const Array& s, const Array& p) { return path(s, p, reverse, unroll); })(start, push);
      };
      const auto slope = [&](int64_t unroll) {
        return jit(grad<0, 1>([=](const Array& s, const Array& p) {
          const auto [last, ys] = path(s, p, reverse, unroll);
          return sum(last.at) + sum(std::get<0>(ys) * std::get<1>(ys));
        }))(start, push);
      };
      const auto [last, ys] = run(1);
      const auto slopes = slope(1);
      for (const int64_t unroll : {2, 3, 4, 12, 50}) {
        const auto [unrolled_last, unrolled_ys] = run(unroll);
        EXPECT_TRUE(array_equal(unrolled_last.at, last.at).item<bool>()) << length << " " << unroll << reverse;
        EXPECT_TRUE(array_equal(unrolled_last.speed, last.speed).item<bool>());
        EXPECT_TRUE(array_equal(std::get<0>(unrolled_ys), std::get<0>(ys)).item<bool>());
        EXPECT_TRUE(array_equal(std::get<1>(unrolled_ys), std::get<1>(ys)).item<bool>());
        const auto unrolled = slope(unroll);
        EXPECT_TRUE(allclose(std::get<0>(unrolled), std::get<0>(slopes), 1e-5, 1e-5).item<bool>());
        EXPECT_TRUE(allclose(std::get<1>(unrolled), std::get<1>(slopes), 1e-5, 1e-5).item<bool>());
      }
    }
  }
}

TEST(ScanUnroll, WithoutStackedInputsOrResults) {
  const Array by = array(3);  // closed over
  const auto add = [&](const Array& c, std::nullptr_t) { return std::pair{c + by, nullptr}; };
  for (const int64_t unroll : {1, 2, 5, 9})
    EXPECT_EQ(scan(add, array(1), nullptr, 7, false, unroll).first.item<int>(), 22) << unroll;
  const auto rows = vmap([&](const Array& start) { return scan(add, start, nullptr, 7, false, 3).first; });
  EXPECT_EQ(rows(array({1, 2})).to_vector<int>(), (std::vector<int>{22, 23}));
  EXPECT_THROW(scan(add, array(1), nullptr, 7, false, 0), OptionError);
  const auto widens = [](const Array& c, std::nullptr_t) { return std::pair{c.astype(f64), nullptr}; };
  const auto grows = [](const Array& c, std::nullptr_t) { return std::pair{stack({c, c}), nullptr}; };
  for (const int64_t unroll : {1, 5}) {
    EXPECT_THROW(scan(widens, array(1.0f), nullptr, 3, false, unroll), DTypeError);
    EXPECT_THROW(scan(grows, array(1.0f), nullptr, 3, false, unroll), ShapeError);
  }
}

}  // namespace
}  // namespace neap
