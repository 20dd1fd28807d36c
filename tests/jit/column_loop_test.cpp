// Loops over arrays element by element: columns that go through all iterations, beside the reference interpreter, bit
// for bit. (Which loops these are: tests/backends/cpu_column_loop_test.cpp.)
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <string>
#include <utility>
#include <vector>

#include "core/thread_pool.h"
#include "tests/jit/measure.h"

namespace neap {
namespace {

using List = std::vector<Array>;

Array some(const Shape& shape, int seed, DType type = f32) {
  return convert(random::uniform(random::key(seed), shape) * 100, type);
}

TEST(ColumnLoop, EveryDtypeAndLength) {
  for (const DType type : {bool_, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64}) {
    for (const int64_t n : {17, 64, 100}) {
      for (const int64_t length : {4, 9}) {
        const auto f = [&](const List& in) {
          const auto step = [&](const Array& s, const Array& x) {
            const Array next = type == bool_ ? s ^ x : s * full({}, 3, type) + x;
            return std::pair{next, next};
          };
          const auto [last, all] = scan(step, in[0], in[1]);
          return List{last, all};
        };
        expect_reference(f, {some({n}, 1, type), some({length, n}, 2, type)}, std::string(name(type)));
      }
    }
  }
}

// Numbers that all columns share, arrays that all iterations do, and what is carried as it is.
TEST(ColumnLoop, ReadsWhatIsShared) {
  const auto paths = [](const List& in) {
    const auto step = [&](const List& s, const List& x) {
      const Array price = s[0] * (1 + 0.01f * x[0]) + in[2] * x[1];
      return std::pair{List{price, s[1] & (price > 80), s[2]}, List{maximum(price, s[2])}};
    };
    const auto [last, all] = scan(step, List{in[0], ones(in[0].shape(), bool_), in[2]}, List{in[1], in[3]});
    return List{last[0], last[1], last[2], all[0]};
  };
  for (const int64_t n : {20, 1000}) {
    expect_reference(paths, {some({n}, 1), some({30, n}, 2), some({n}, 3), some({30}, 4)});
  }
}

TEST(ColumnLoop, GoesEitherWay) {
  for (const bool reverse : {false, true}) {
    const auto filter = [&](const List& in) {
      const auto step = [](const List& s, const Array& x) {
        const Array y = 0.5f * x + s[0];
        return std::pair{List{0.25f * x + s[1] - 0.5f * y, 0.125f * x - 0.25f * y}, y};
      };
      const auto [last, all] = scan(step, List{in[0], in[1]}, in[2], {}, reverse);
      return List{last[0], last[1], all};
    };
    expect_reference(filter, {some({37}, 1), some({37}, 2), some({50, 37}, 3)});
  }
}

// Arrays in other orders, reads of other columns, and slices whose places results take.
TEST(ColumnLoop, LeavesOthersAlone) {
  const List x{some({40}, 1), some({40}, 2), some({12, 40}, 3)};
  expect_reference(
      [](const List& in) {
        return fori_loop(0, 9, [](const Array&, const List& s) { return List{s[1], s[0] + 0.5f * s[1], s[2]}; }, in);
      },
      x);
  expect_reference(
      [](const List& in) {
        const auto step = [](const Array& s, const Array& row) {
          const Array turned = flip(row) * 0.5f;
          return std::pair{s + turned, turned + s};
        };
        const auto [last, all] = scan(step, in[0], in[2] + 1);
        return List{last, all};
      },
      x);
  expect_reference(
      [](const List& in) {
        return List{fori_loop(0, 20, [](const Array&, const Array& s) { return 0.5f * (s + roll(s, 1)); }, in[0])};
      },
      x);
}

TEST(ColumnLoop, SameBitsOnAnyThreads) {
  const auto f = [](const List& in) {
    const auto step = [](const Array& s, const Array& x) {
      const Array next = sin(s) + x * exp(-s * s);
      return std::pair{next, next};
    };
    const auto [last, all] = scan(step, in[0], in[1]);
    return List{last, all, grad([&](const Array& s) { return sum(scan(step, s, in[1]).first); })(in[0])};
  };
  const List x{some({5000}, 1) * 0.01f, some({40, 5000}, 2) * 0.01f};
  const int threads = num_threads();
  set_num_threads(1);
  const List one = jit(f)(x);
  set_num_threads(3);
  const List three = jit(f)(x);
  set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], three[i])) << i;
}

}  // namespace
}  // namespace neap
