// Structural ops of the reference interpreter, each against a small example computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/trace/host.h"
#include "tests/trace/samples.h"

namespace neap::tracing {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// 0, 1, 2, ... as i32.
HostValue count(Shape shape) {
  std::vector<int32_t> elements(static_cast<size_t>(element_count(shape)));
  std::iota(elements.begin(), elements.end(), 0);
  return host<int32_t>(std::move(shape), elements);
}
std::vector<int32_t> ints(Op op, std::vector<HostValue> in, Attrs attrs = {}) {
  return elements_of<int32_t>(evaluate(op, std::move(in), std::move(attrs)));
}
Attrs indexed(Ints axes, IndexMode mode) { return {{Attr::axes, axes}, {Attr::mode, static_cast<int64_t>(mode)}}; }

TEST(ReferenceLayout, Broadcast) {
  EXPECT_THAT(ints(Op::broadcast_in_dim, {count({2, 1})}, {{Attr::shape, Ints{2, 2, 3}}, {Attr::axes, Ints{0, 2}}}),
              ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(ints(Op::broadcast_in_dim, {count({3})}, {{Attr::shape, Ints{2, 3}}, {Attr::axes, Ints{1}}}),
              ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ints(Op::broadcast_in_dim, {count({})}, {{Attr::shape, Ints{2}}, {Attr::axes, Ints{}}}),
              ElementsAre(0, 0));
}

TEST(ReferenceLayout, ReshapeTransposeReverse) {
  EXPECT_THAT(ints(Op::reshape, {count({2, 3})}, {{Attr::shape, Ints{3, 2}}}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ints(Op::transpose, {count({2, 3})}, {{Attr::permutation, Ints{1, 0}}}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(ints(Op::transpose, {count({2, 1, 3})}, {{Attr::permutation, Ints{2, 0, 1}}}),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(ints(Op::reverse, {count({2, 3})}, {{Attr::axes, Ints{1}}}), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(ints(Op::reverse, {count({2, 3})}, {{Attr::axes, Ints{0, 1}}}), ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST(ReferenceLayout, SliceAndConcatenate) {
  EXPECT_THAT(ints(Op::slice, {count({3, 5})},
                   {{Attr::start, Ints{1, 0}}, {Attr::limit, Ints{3, 5}}, {Attr::stride, Ints{1, 2}}}),
              ElementsAre(5, 7, 9, 10, 12, 14));
  EXPECT_THAT(ints(Op::concatenate, {count({2, 2}), count({2, 1}), count({2, 0})}, {{Attr::axis, 1}}),
              ElementsAre(0, 1, 0, 2, 3, 1));
  EXPECT_THAT(ints(Op::concatenate, {count({1, 2}), count({2, 2})}, {{Attr::axis, 0}}), ElementsAre(0, 1, 0, 1, 2, 3));
}

TEST(ReferenceLayout, Pad) {
  const auto pad = [](int64_t low, int64_t high, int64_t interior) {
    return ints(Op::pad, {count({3}), host<int32_t>({}, {9})},
                {{Attr::low, Ints{low}}, {Attr::high, Ints{high}}, {Attr::interior, Ints{interior}}});
  };
  EXPECT_THAT(pad(1, 2, 0), ElementsAre(9, 0, 1, 2, 9, 9));
  EXPECT_THAT(pad(0, 0, 2), ElementsAre(0, 9, 9, 1, 9, 9, 2));
  EXPECT_THAT(pad(-1, 1, 0), ElementsAre(1, 2, 9));
  EXPECT_THAT(pad(-1, -1, 1), ElementsAre(9, 1, 9));
  EXPECT_THAT(ints(Op::pad, {count({1, 2}), host<int32_t>({}, {9})},
                   {{Attr::low, Ints{1, 0}}, {Attr::high, Ints{0, 1}}, {Attr::interior, Ints{0, 0}}}),
              ElementsAre(9, 9, 9, 0, 1, 9));
}

TEST(ReferenceLayout, DynamicWindowsAreClamped) {
  const auto at = [](int64_t row, int64_t column) { return host<int64_t>({2}, {row, column}); };
  const auto window = [&](int64_t row, int64_t column) {
    return ints(Op::dynamic_slice, {count({3, 4}), at(row, column)}, {{Attr::shape, Ints{2, 2}}});
  };
  EXPECT_THAT(window(1, 1), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(window(9, -9), ElementsAre(4, 5, 8, 9));
  EXPECT_THAT(ints(Op::dynamic_update_slice, {count({2, 3}), host<int32_t>({1, 2}, {7, 8}), at(5, 5)}),
              ElementsAre(0, 1, 2, 3, 7, 8));
}

TEST(ReferenceReduce, SumsAndProducts) {
  EXPECT_THAT(ints(Op::reduce_sum, {count({2, 3})}, {{Attr::axes, Ints{0}}}), ElementsAre(3, 5, 7));
  EXPECT_THAT(ints(Op::reduce_sum, {count({2, 3})}, {{Attr::axes, Ints{1}}}), ElementsAre(3, 12));
  EXPECT_THAT(ints(Op::reduce_sum, {count({2, 3, 2})}, {{Attr::axes, Ints{2, 0}}}), ElementsAre(14, 22, 30));
  EXPECT_THAT(ints(Op::reduce_sum, {count({0, 2})}, {{Attr::axes, Ints{0}}}), ElementsAre(0, 0));
  EXPECT_THAT(ints(Op::reduce_sum, {count({2})}, {{Attr::axes, Ints{}}}), ElementsAre(0, 1));
  const Attrs first{{Attr::axes, Ints{0}}};
  EXPECT_THAT(elements_of<int8_t>(evaluate(Op::reduce_sum, {host<int8_t>({2}, {100, 100})}, first)), ElementsAre(-56));
  EXPECT_THAT(elements_of<int8_t>(evaluate(Op::reduce_prod, {host<int8_t>({3}, {3, 5, 20})}, first)), ElementsAre(44));
  // f32 sums in double, bf16 too: 1 + 256 times 2^-8 is exact there and lost one by one.
  std::vector<bfloat16> small(257, bfloat16(0x1p-8f));
  small[0] = bfloat16(1.0f);
  EXPECT_EQ(float(elements_of<bfloat16>(evaluate(Op::reduce_sum, {host<bfloat16>({257}, small)}, first))[0]), 2.0f);
  EXPECT_EQ(elements_of<float>(evaluate(Op::reduce_sum, {host<float>({3}, {1e20f, 1.0f, -1e20f})}, first))[0], 0.0f);
  EXPECT_EQ(elements_of<float>(evaluate(Op::reduce_sum, {host<float>({3}, {1e9f, 1.0f, -1e9f})}, first))[0], 1.0f);
}

TEST(ReferenceReduce, ExtremesAndLogic) {
  const Attrs last{{Attr::axes, Ints{1}}};
  const HostValue x = host<float>({2, 2}, {1, -2, kNaN, 3});
  const std::vector<float> highest = elements_of<float>(evaluate(Op::reduce_max, {x}, last));
  EXPECT_EQ(highest[0], 1);
  EXPECT_TRUE(std::isnan(highest[1]));
  const HostValue nothing = host<float>({1, 0}, {});
  EXPECT_THAT(elements_of<float>(evaluate(Op::reduce_max, {nothing}, last)), ElementsAre(-kInf));
  EXPECT_THAT(elements_of<float>(evaluate(Op::reduce_min, {nothing}, last)), ElementsAre(kInf));
  EXPECT_THAT(elements_of<float>(evaluate(Op::reduce_prod, {nothing}, last)), ElementsAre(1));
  EXPECT_THAT(elements_of<int8_t>(evaluate(Op::reduce_max, {host<int8_t>({1, 0}, {})}, last)), ElementsAre(-128));
  EXPECT_THAT(elements_of<uint16_t>(evaluate(Op::reduce_min, {host<uint16_t>({1, 0}, {})}, last)), ElementsAre(0xffff));
  EXPECT_THAT(elements_of<uint64_t>(evaluate(Op::reduce_max, {host<uint64_t>({1, 2}, {~0ull, 1})}, last)),
              ElementsAre(~0ull));
  EXPECT_THAT(elements_of<int8_t>(evaluate(Op::reduce_xor, {host<int8_t>({2, 3}, {1, 2, 4, -1, 7, 7})}, last)),
              ElementsAre(7, -1));
  EXPECT_THAT(elements_of<uint64_t>(evaluate(Op::reduce_xor, {host<uint64_t>({1, 0}, {})}, last)), ElementsAre(0));
  const HostValue bools = host<bool>({2, 2}, {true, false, true, true});
  EXPECT_THAT(elements_of<bool>(evaluate(Op::reduce_any, {bools}, last)), ElementsAre(true, true));
  EXPECT_THAT(elements_of<bool>(evaluate(Op::reduce_all, {bools}, last)), ElementsAre(false, true));
}

TEST(ReferenceReduce, Argmax) {
  const Attrs last{{Attr::axis, 1}};
  const HostValue x = host<float>({3, 4}, {1, 3, 3, 2, 0, kNaN, 9, kNaN, -1, -1, -1, -1});
  EXPECT_THAT(ints(Op::argmax, {x}, last), ElementsAre(1, 1, 0));
  EXPECT_THAT(ints(Op::argmin, {x}, last), ElementsAre(0, 1, 0));
  EXPECT_THAT(ints(Op::argmax, {x}, {{Attr::axis, 0}})[0], 0);
  EXPECT_THAT(ints(Op::argmax, {host<bool>({3}, {false, true, true})}, {{Attr::axis, 0}}), ElementsAre(1));
}

TEST(ReferenceDot, MatrixBatchOuter) {
  const auto dot = [](HostValue a, HostValue b, Ints lb, Ints rb, Ints lc, Ints rc) {
    return ints(Op::dot_general, {std::move(a), std::move(b)},
                {{Attr::lhs_batch, lb}, {Attr::rhs_batch, rb}, {Attr::lhs_contract, lc}, {Attr::rhs_contract, rc}});
  };
  EXPECT_THAT(dot(count({2, 3}), count({3, 2}), {}, {}, {1}, {0}), ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(dot(count({2, 3}), count({2, 3}), {}, {}, {1}, {1}), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(dot(count({2}), count({3}), {}, {}, {}, {}), ElementsAre(0, 0, 0, 0, 1, 2));
  // batch on axis 0 of lhs and 1 of rhs
  EXPECT_THAT(dot(count({2, 1, 2}), count({2, 2, 1}), {0}, {1}, {2}, {0}), ElementsAre(2, 11));
  EXPECT_THAT(dot(count({2, 2}), count({2, 2}), {}, {}, {0, 1}, {1, 0}), ElementsAre(0 * 0 + 1 * 2 + 2 * 1 + 3 * 3));
  EXPECT_THAT(dot(count({2, 0}), count({0, 2}), {}, {}, {1}, {0}), ElementsAre(0, 0, 0, 0));
}

TEST(ReferenceGather, RowsElementsAndModes) {
  const HostValue x = count({3, 2});
  const HostValue rows = host<int16_t>({4, 1}, {2, -1, 7, -9});
  EXPECT_THAT(ints(Op::gather, {x, rows}, indexed({0}, IndexMode::clip)), ElementsAre(4, 5, 4, 5, 4, 5, 0, 1));
  EXPECT_THAT(ints(Op::gather, {x, rows}, indexed({0}, IndexMode::promise_in_bounds)),
              ElementsAre(4, 5, 4, 5, 4, 5, 0, 1));
  const int32_t fill = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(ints(Op::gather, {x, rows}, indexed({0}, IndexMode::fill_or_drop)),
              ElementsAre(4, 5, 4, 5, fill, fill, fill, fill));
  EXPECT_THAT(ints(Op::gather, {x, host<int64_t>({2, 2}, {1, 1, -1, 0})}, indexed({0, 1}, IndexMode::clip)),
              ElementsAre(3, 4));
  EXPECT_THAT(ints(Op::gather, {x, host<uint8_t>({1, 1, 1}, {255})}, indexed({1}, IndexMode::clip)),
              ElementsAre(1, 3, 5));
  EXPECT_THAT(ints(Op::gather, {x, host<uint64_t>({1, 1}, {~0ull})}, indexed({0}, IndexMode::clip)), ElementsAre(4, 5));
  EXPECT_THAT(ints(Op::gather, {x, host<int32_t>({0, 1}, {})}, indexed({0}, IndexMode::clip)), ElementsAre());
  const Attrs filled = indexed({0}, IndexMode::fill_or_drop);
  const HostValue out = host<int32_t>({1, 1}, {5});
  EXPECT_TRUE(std::isnan(elements_of<float>(evaluate(Op::gather, {host<float>({1}, {1}), out}, filled))[0]));
  EXPECT_THAT(elements_of<uint8_t>(evaluate(Op::gather, {host<uint8_t>({1}, {1}), out}, filled)), ElementsAre(255));
  EXPECT_THAT(elements_of<float>(evaluate(Op::gather, {host<float>({0}, {}), host<int32_t>({0, 1}, {})}, filled)),
              ElementsAre());
}

TEST(ReferenceScatter, CombinesAndDrops) {
  const HostValue rows = host<int32_t>({5, 1}, {0, -1, 0, 3, -4});
  const HostValue updates = host<int32_t>({5}, {10, 20, 30, 40, 50});
  const HostValue x = host<int32_t>({3}, {1, 2, 3});
  for (const IndexMode mode : {IndexMode::clip, IndexMode::fill_or_drop, IndexMode::promise_in_bounds}) {
    const Attrs attrs = indexed({0}, mode);
    EXPECT_THAT(ints(Op::scatter_set, {x, rows, updates}, attrs), ElementsAre(30, 2, 20));
    EXPECT_THAT(ints(Op::scatter_add, {x, rows, updates}, attrs), ElementsAre(41, 2, 23));
    EXPECT_THAT(ints(Op::scatter_mul, {x, rows, updates}, attrs), ElementsAre(300, 2, 60));
    EXPECT_THAT(ints(Op::scatter_min, {x, rows, updates}, attrs), ElementsAre(1, 2, 3));
    EXPECT_THAT(ints(Op::scatter_max, {x, rows, updates}, attrs), ElementsAre(30, 2, 20));
  }
  // A window: column 1 of each row is indexed, rows stay.
  EXPECT_THAT(ints(Op::scatter_add, {count({2, 2}), host<int8_t>({1, 1}, {1}), host<int32_t>({1, 2}, {10, 20})},
                   indexed({1}, IndexMode::clip)),
              ElementsAre(0, 11, 2, 23));
  // Halves add up in double and round once.
  const std::vector<bfloat16> ones(256, bfloat16(0x1p-8f));
  const HostValue sum = evaluate(Op::scatter_add,
                                 {host<bfloat16>({1}, {bfloat16(1.0f)}), host<int32_t>({256, 1}, std::vector<int>(256)),
                                  host<bfloat16>({256}, ones)},
                                 indexed({0}, IndexMode::clip));
  EXPECT_EQ(float(elements_of<bfloat16>(sum)[0]), 2.0f);
}

TEST(ReferenceWhile, StopsAtItsCondition) {
  const auto run = [](float most, float start) {
    return evaluate_reference(while_sample(), std::vector{host<float>({}, {most}), host<float>({}, {start})});
  };
  EXPECT_EQ(elements_of<float>(run(100, 3)[1]), std::vector{192.0f});
  EXPECT_EQ(elements_of<int32_t>(run(100, 3)[2]), std::vector{6});
  EXPECT_EQ(elements_of<float>(run(2, 3)[1]), std::vector{3.0f});
}

TEST(ReferenceCond, TakesOneBranch) {
  const HostValue x = host<float>({3}, {1, 2, 3}), y = host<float>({3}, {4, 5, 6});
  EXPECT_EQ(elements_of<float>(evaluate_reference(cond_sample(), std::vector{host<bool>({}, {true}), x, y})[0]),
            (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(elements_of<float>(evaluate_reference(cond_sample(), std::vector{host<bool>({}, {false}), x, y})[0]),
            (std::vector<float>{4, 10, 18}));
}

TEST(ReferenceScan, CarriesAndStacks) {
  Graph graph = scan_sample();
  const std::vector<HostValue> in{host<float>({}, {10}), host<float>({}, {1}), host<float>({3}, {1, 2, 3})};
  std::vector<HostValue> out = evaluate_reference(graph, in);
  EXPECT_THAT(elements_of<float>(out[0]), ElementsAre(61));
  EXPECT_THAT(elements_of<float>(out[1]), ElementsAre(1, 11, 31));
  graph.nodes[0].attrs.set(Attr::reverse, 1);
  out = evaluate_reference(graph, in);
  EXPECT_THAT(elements_of<float>(out[0]), ElementsAre(61));
  EXPECT_THAT(elements_of<float>(out[1]), ElementsAre(51, 31, 1));
}

}  // namespace
}  // namespace neap::tracing
