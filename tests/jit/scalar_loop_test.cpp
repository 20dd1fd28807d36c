// Loops that carry numbers: one kernel, whose rows are the iterations, beside the reference interpreter, bit for bit.
// (Which loops are one: tests/backends/cpu_scalar_loop_test.cpp.)
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cstdint>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/jit/measure.h"

namespace neap {
namespace {

using List = std::vector<Array>;

Array number(double v, DType type = f32) { return full({}, v, type); }
Array three(float a, float b, float c) { return array(std::vector<float>{a, b, c}); }

TEST(ScalarLoop, CarriesSeveralNumbers) {
  const auto lorenz = [](const List& in) {
    const auto step = [](const Array&, const List& s) {
      const float dt = 0.001f;
      return List{s[0] + dt * 10 * (s[1] - s[0]), s[1] + dt * (s[0] * (28 - s[2]) - s[1]),
                  s[2] + dt * (s[0] * s[1] - 8 / 3.0f * s[2])};
    };
    return fori_loop(0, 1000, step, in);
  };
  const List start{number(1), number(1.5), number(20)};
  expect_reference(lorenz, start);
}

TEST(ScalarLoop, NumbersChangePlaces) {
  for (const DType type : {u64, i32, u8}) {
    const auto fibonacci = [](const List& in) {
      return fori_loop(0, 70, [](const Array&, const List& s) { return List{s[1], s[0] + s[1]}; }, in);
    };
    expect_reference(fibonacci, {number(0, type), number(1, type)}, std::string(name(type)));
    const auto around = [](const List& in) {
      return fori_loop(0, 8, [](const Array&, const List& s) { return List{s[2], s[0], s[1]}; }, in);
    };
    expect_reference(around, {number(1, type), number(2, type), number(3, type)}, std::string(name(type)));
  }
}

TEST(ScalarLoop, EveryDtypeAndLength) {
  for (const DType type : {bool_, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64}) {
    for (const int64_t length : {0, 1, 2, 3, 100}) {
      const auto f = [&](const List& in) {
        const auto step = [&](const Array& s, const Array& x) {
          const Array next = type == bool_ ? s ^ x : s * number(3, type) + x;
          return std::pair{next, next};
        };
        const auto [last, all] = scan(step, in[0], in[1]);
        return List{last, all};
      };
      const Array xs = convert(arange(length, i32) % 5, type);
      expect_reference(f, {number(1, type), xs}, std::string(name(type)) + " " + std::to_string(length));
    }
  }
}

// What is stacked may be what is carried, another number, a number of the loop's operands, or always the same.
TEST(ScalarLoop, ReadsAndWritesSlicesEitherWay) {
  for (const bool reverse : {false, true}) {
    const auto f = [=](const List& in) {
      const auto step = [](const List& s, const List& x) {
        const Array a = s[0] * 0.5f + x[0], b = maximum(s[1], x[1]);
        return std::pair{List{a, b}, List{a, b + x[0], x[1], s[0], s[1] * a, number(7)}};
      };
      auto [last, all] = scan(step, List{in[0], in[1]}, List{in[2], in[3]}, {}, reverse);
      all.insert(all.end(), last.begin(), last.end());
      return all;
    };
    const List x{number(1), number(-3), sin(arange(50, f32)), cos(arange(50, f32))};
    expect_reference(f, x, reverse ? "reverse" : "forward");
  }
}

TEST(ScalarLoop, ReadsTablesWhereItIs) {
  const auto walk = [](const List& in) {
    const auto step = [&](const Array& i, const List& s) {
      const Array next = take(in[1], s[0]);
      return List{next, s[1] + take(in[2], next) + convert(i, f32), s[2]};
    };
    return fori_loop(0, 300, step, List{in[0], number(0), number(2)});
  };
  const Array order = convert((arange(97, i32) * 31 + 5) % 97, i32);
  const List x{number(3, i32), order, sin(arange(97, f32))};
  expect_reference(walk, x);
}

TEST(ScalarLoop, LoopsLieWithinLoops) {
  const auto f = [](const List& in) {
    const auto outer = [&](const Array& s, const Array& x) {
      const Array inner = fori_loop(0, 5, [&](const Array&, const Array& t) { return t * 0.25f + x; }, s);
      return std::pair{inner, sum(in[1] * inner)};
    };
    const auto [last, all] = scan(outer, in[0], in[1]);
    return List{last, all};
  };
  expect_reference(f, {number(1), full({9}, 0.5, f32)});
}

// The inner loop is one kernel of one row, and all that the outer one does.
TEST(ScalarLoop, AMapInAMap) {
  for (const int64_t length : {1, 2}) {
    const auto f = [](const List& in) {
      const auto outer = [&](const List& s, const Array& x) {
        const auto inner = [&](const List& w, const Array& q) { return std::pair{w, x - q}; };
        return std::pair{s, scan(inner, List{}, in[0]).second};
      };
      return List{scan(outer, List{}, in[1]).second};
    };
    expect_reference(f, {cos(arange(length, f32)), sin(arange(5, f32))}, std::to_string(length));
  }
}

TEST(ScalarLoop, ManyIterations) {
  const auto f = jit([](const Array& x) {
    return fori_loop(0, 10'000'001, [](const Array& i, const Array& s) { return s + convert(i, i64) * 3; }, x);
  });
  EXPECT_EQ(f(number(1, i64)).item<int64_t>(), 1 + int64_t{3} * 10'000'001 * 5'000'000);
}

TEST(ScalarLoop, DonatedAndLent) {
  const auto f = [](const List& in) {
    return fori_loop(0, 11, [](const Array&, const List& s) { return List{s[1] + 1, s[0] * 2}; }, in);
  };
  const List x{number(3), number(4)};
  const List want = jit(f)(x);
  const List got = jit(f, {.donate = {0}})(List{number(3), number(4)});
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got[i], want[i]));
  EXPECT_TRUE(same_bits(x[0], number(3)));  // an argument that is not donated stays
}

// Random bodies: what each number follows from, in which order, what is stacked, and whether the loop runs backwards.
TEST(ScalarLoop, RandomBodies) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const auto f = [=](const List& in) {
      const auto step = [&](const List& s, const List& x) {
        std::mt19937 random(seed);
        const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
        List known = s;
        known.insert(known.end(), x.begin(), x.end());
        known.push_back(in[4]);
        for (size_t i = 0, most = 1 + below(8); i < most; ++i) {
          const Array &a = known[below(known.size())], &b = known[below(known.size())];
          switch (below(5)) {
            case 0: known.push_back(a + b); break;
            case 1: known.push_back(a * 0.5f - b); break;
            case 2: known.push_back(minimum(a, b * b)); break;
            case 3: known.push_back(where(less(a, b), a, number(0.25))); break;
            default: known.push_back(clip(a * b, -2.0f, 2.0f)); break;
          }
        }
        List next, stacked;
        for (size_t i = 0; i < s.size(); ++i) next.push_back(clip(known[below(known.size())], -8.0f, 8.0f));
        if (below(3) == 0) next[0] = s[1];
        for (size_t i = 0, most = below(4); i < most; ++i) stacked.push_back(known[below(known.size())]);
        if (below(3) == 0) stacked.push_back(next[1]);
        stacked.push_back(number(1));
        return std::pair{next, stacked};
      };
      auto [last, all] = scan(step, List{in[0], in[1]}, List{in[2], in[3]}, {}, seed % 2 == 1);
      all.insert(all.end(), last.begin(), last.end());
      return all;
    };
    expect_reference(f, {number(0.5), number(-1.25), sin(arange(13, f32)), cos(arange(13, f32)), number(0.75)},
                     "seed " + std::to_string(seed));
  }
}

TEST(ScalarLoop, CarriesSmallArrays) {
  const auto lorenz = [](const List& in) {
    const auto step = [](const Array&, const Array& s) {
      const Array x = s[0], y = s[1], z = s[2];
      return Array(s + 0.001f * stack(List{10 * (y - x), x * (28 - z) - y, x * y - 8 / 3.0f * z}, 0));
    };
    return List{fori_loop(0, 1000, step, in[0])};
  };
  expect_reference(lorenz, {three(1.0f, 1.5f, 20.0f)});
}

TEST(ScalarLoop, SmallArraysOfEveryDtype) {
  for (const DType type : {bool_, i8, u16, i32, u64, f16, bf16, f64}) {
    const auto f = [&](const List& in) {
      const auto step = [&](const Array& s, const Array& x) {
        const Array next = type == bool_ ? flip(s, 0) ^ x : roll(s, 1, 0) * number(3, type) + x;
        return std::pair{next, List{next, transpose(stack(List{x, s}, 0))}};
      };
      auto [last, all] = scan(step, in[0], in[1]);
      all.push_back(last);
      return all;
    };
    const Array xs = convert(reshape(arange(120 * 3, i32) % 5, {120, 3}), type);
    expect_reference(f, {ones({3}, type), xs}, std::string(name(type)));
  }
}

// The walk that every Markov chain is: a key beside a small state.
TEST(ScalarLoop, DrawsNumbers) {
  const auto walk = [](const List& in) {
    const auto step = [](const Array&, const List& s) {
      const Array keys = random::split(s[1], 2);
      return List{s[0] + random::uniform(keys[0], {2}), keys[1]};
    };
    return fori_loop(0, 120, step, in);
  };
  expect_reference(walk, {zeros({2}), random::key(3)});
}

// Random bodies of arrays of three: whole ones, parts, and parts of several in another order.
TEST(ScalarLoop, RandomBodiesOfSmallArrays) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const auto f = [=](const List& in) {
      const auto step = [&](const List& s, const List& x) {
        std::mt19937 random(seed);
        const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
        const auto some = [&] { return static_cast<int64_t>(below(3)); };
        List known = s;
        known.insert(known.end(), x.begin(), x.end());
        known.push_back(in[4]);
        for (size_t i = 0, most = 1 + below(7); i < most; ++i) {
          const Array a = known[below(known.size())], b = known[below(known.size())];
          const int64_t at = 1 + static_cast<int64_t>(below(2));
          switch (below(10)) {
            case 0: known.push_back(a + b); break;
            case 1: known.push_back(a * 0.5f - b); break;
            case 2: known.push_back(where(less(a, b), a, number(0.25))); break;
            case 3: known.push_back(stack(List{a[some()], b[some()], a[some()] * b[some()]}, 0)); break;
            case 4: known.push_back(flip(a, 0)); break;
            case 5: known.push_back(roll(a, at, 0) + b); break;
            case 6: known.push_back(concatenate({slice_in_dim(a, 0, at, 0), slice_in_dim(b, at, 3, 0)}, 0)); break;
            case 7: known.push_back(a.at(some()).set(b[some()])); break;
            case 8: known.push_back(a * b[some()]); break;
            default: known.push_back(pad(slice_in_dim(a, 0, 2, 0), Shape{1}, Shape{0}, 0.5f)); break;
          }
        }
        List next, stacked;
        for (size_t i = 0; i < s.size(); ++i) next.push_back(clip(known[below(known.size())], -8.0f, 8.0f));
        if (below(3) == 0) next[0] = s[1];
        if (below(3) == 0) next[1] = s[1].at(some()).set(next[1][some()]);
        for (size_t i = 0, most = below(3); i < most; ++i) stacked.push_back(known[below(known.size())]);
        if (below(3) == 0) stacked.push_back(next[1][some()]);
        stacked.push_back(number(1));
        return std::pair{next, stacked};
      };
      auto [last, all] = scan(step, List{in[0], in[1]}, List{in[2], in[3]}, {}, seed % 2 == 1);
      all.insert(all.end(), last.begin(), last.end());
      return all;
    };
    const auto rows = [](const Array& x) { return reshape(x, {107, 3}); };
    const List x{three(0.5f, -1.0f, 2.0f), three(-1.25f, 0.0f, 0.125f), rows(sin(arange(321, f32))),
                 rows(cos(arange(321, f32))), three(0.75f, -0.5f, 3.0f)};
    expect_reference(f, x, "seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace neap
