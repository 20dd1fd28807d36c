// Reductions and products, of all axes and sizes, with the same bits at one thread and two.
#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

struct Reduced {
  Shape shape;
  Ints axes;
};
const Reduced kSmall[] = {
    {{}, {}},         {{0}, {0}},    {{7}, {0}},         {{1000}, {0}},      {{3, 5}, {0}},         {{3, 5}, {1}},
    {{3, 5}, {1, 0}}, {{3, 5}, {}},  {{2, 3, 129}, {1}}, {{2, 3, 129}, {2}}, {{2, 3, 129}, {0, 2}}, {{0, 4}, {0}},
    {{4, 0}, {0}},    {{4, 0}, {1}}, {{1, 5, 1}, {0, 2}}};
// Past every threshold above which partial results are kept.
const Reduced kLarge[] = {{{70'001}, {0}},     {{300, 301}, {0}},   {{300, 301}, {1}},       {{40, 50, 60}, {1}},
                          {{2, 100'003}, {1}}, {{100'003, 2}, {0}}, {{16, 4099, 3}, {0, 1}}, {{5, 40'000}, {0}}};

class Reduce : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DType, Reduce, testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

void add_all(Sheet& s, DType t, std::span<const Reduced> cases) {
  for (const auto& [shape, axes] : cases) {
    const auto check = [&](Op op, Fill fill) {
      s.check(fmt::format("{} {}{} {}", tracing::name(op), name(t), to_string(shape), to_string(axes)), op,
              {s.input(shape, t, fill)}, {{Attr::axes, axes}}, Tolerance{});
    };
    if (t == bool_) {
      check(Op::reduce_any, Fill::wild);
      check(Op::reduce_all, Fill::wild);
      continue;
    }
    check(Op::reduce_sum, is_float(t) ? Fill::tame : Fill::wild);
    check(Op::reduce_prod, is_float(t) ? Fill::units : Fill::wild);
    if (is_integer(t)) check(Op::reduce_xor, Fill::wild);
    check(Op::reduce_max, Fill::wild);
    check(Op::reduce_min, Fill::tame);
  }
}

TEST_P(Reduce, Small) {
  Sheet s(static_cast<uint64_t>(GetParam()) + 1);
  add_all(s, GetParam(), kSmall);
  s.run();
}

TEST_P(Reduce, Large) {
  Sheet s(static_cast<uint64_t>(GetParam()) + 2);
  add_all(s, GetParam(), kLarge);
  s.run();
}

class ReduceNumbers : public Reduce {};

INSTANTIATE_TEST_SUITE_P(DType, ReduceNumbers, testing::ValuesIn(std::span(kAllDTypes).subspan(1)),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(ReduceNumbers, ArgmaxAndArgmin) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 3);
  for (const Op op : {Op::argmax, Op::argmin}) {
    for (const Fill fill : {Fill::wild, Fill::tame}) {
      const auto check = [&](Shape shape, int64_t axis) {
        s.check(std::string(tracing::name(op)) + to_string(shape), op, {s.input(shape, t, fill)}, {{Attr::axis, axis}});
      };
      check({1}, 0);
      check({1000}, 0);
      check({5, 33}, 0);
      check({5, 33}, 1);
      check({2, 3, 129}, 1);
      check({0, 4}, 1);
      check({70'001}, 0);
      check({300, 301}, 0);
    }
  }
  s.run();
}

TEST_P(ReduceNumbers, Dot) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 4);
  const auto dot = [&](Shape lhs, Shape rhs, Ints lb, Ints rb, Ints lc, Ints rc) {
    s.check(fmt::format("dot {} {}", to_string(lhs), to_string(rhs)), Op::dot_general,
            {s.input(lhs, t, Fill::tame), s.input(rhs, t, Fill::tame)},
            {{Attr::lhs_batch, lb}, {Attr::rhs_batch, rb}, {Attr::lhs_contract, lc}, {Attr::rhs_contract, rc}});
  };
  dot({}, {}, {}, {}, {}, {});
  dot({5}, {5}, {}, {}, {0}, {0});
  dot({5}, {7}, {}, {}, {}, {});
  dot({4, 5}, {5}, {}, {}, {1}, {0});
  dot({5}, {5, 6}, {}, {}, {0}, {0});
  dot({4, 5}, {5, 6}, {}, {}, {1}, {0});
  dot({5, 4}, {6, 5}, {}, {}, {0}, {1});
  dot({3, 4, 5}, {3, 5, 6}, {0}, {0}, {2}, {1});
  dot({4, 3, 5}, {5, 6, 3}, {1}, {2}, {2}, {0});
  dot({2, 3, 4, 5}, {5, 4, 2}, {0}, {2}, {3, 2}, {0, 1});
  dot({4, 0}, {0, 6}, {}, {}, {1}, {0});
  dot({0, 4}, {4, 6}, {}, {}, {1}, {0});
  dot({1, 1}, {1, 1}, {}, {}, {1}, {0});
  dot({65, 130}, {130, 33}, {}, {}, {1}, {0});
  dot({129, 257}, {257, 300}, {}, {}, {1}, {0});
  dot({1000, 17}, {17, 8}, {}, {}, {1}, {0});
  s.run();
}

// Sums of values that round: near the reference, and still the same bits however many threads there are.
TEST(ReduceRounding, SumsAndProductsOfAnyFloats) {
  Sheet s(7);
  const auto unit = [&](Shape shape, DType t) {
    return s.input(make_array({shape, t}, [&](std::byte* to) {
      for (int64_t i = 0; i < element_count(shape); ++i) {
        const double x = static_cast<double>(s.random() >> 11) * 0x1p-53;
        if (t == f32)
          reinterpret_cast<float*>(to)[i] = static_cast<float>(x);
        else
          reinterpret_cast<double*>(to)[i] = x;
      }
    }));
  };
  for (const DType t : {f32, f64}) {
    const double eps = t == f32 ? 0x1p-23 : 0x1p-52;
    for (const auto& [shape, axes] : kLarge)
      s.check("sum", Op::reduce_sum, {unit(shape, t)}, {{Attr::axes, axes}}, {.ulps = 32});
    s.check("dot", Op::dot_general, {unit({130, 400}, t), unit({400, 70}, t)},
            {{Attr::lhs_batch, Ints{}},
             {Attr::rhs_batch, Ints{}},
             {Attr::lhs_contract, Ints{1}},
             {Attr::rhs_contract, Ints{0}}},
            {.absolute = 400 * eps * 10});
  }
  s.run();
}

TEST(ReduceFused, ReductionsOfExpressions) {
  Sheet s(8);
  Graph& g = s.graph;
  const ValueId x = s.input({300, 257}, f32, Fill::tame), y = s.input({257}, f32, Fill::tame);
  const ValueId wide = g.add(Op::broadcast_in_dim, {y}, {{Attr::shape, Ints{300, 257}}, {Attr::axes, Ints{1}}});
  const ValueId product = g.add(Op::multiply, {x, wide});
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
    s.check("sum", Op::reduce_sum, {product}, {{Attr::axes, axes}});
    s.check("max", Op::reduce_max, {product}, {{Attr::axes, axes}});
    s.check("sum of transpose", Op::reduce_sum, {g.add(Op::transpose, {product}, {{Attr::permutation, Ints{1, 0}}})},
            {{Attr::axes, axes}});
  }
  const ValueId bits = g.add(Op::random_bits, {s.input({2}, u32)}, {{Attr::shape, Ints{70'000}}, {Attr::dtype, u32}});
  s.check("sum of random bits", Op::reduce_sum, {bits}, {{Attr::axes, Ints{0}}});
  const ValueId total = g.add(Op::reduce_sum, {x}, {{Attr::axes, Ints{1}}});
  const ValueId spread = g.add(Op::broadcast_in_dim, {total}, {{Attr::shape, Ints{300, 257}}, {Attr::axes, Ints{0}}});
  s.output("x - sum(x)", g.add(Op::subtract, {x, spread}));
  s.run();
}

}  // namespace
}  // namespace neap::conformance
