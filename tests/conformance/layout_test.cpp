// Ops that move elements, in every dtype: each result is exact.
#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

class Layout : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DType, Layout, testing::ValuesIn(kAllDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Layout, BroadcastReshapeTransposeReverse) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 1);
  const auto broadcast = [&](Shape from, Shape to, Ints axes) {
    s.check("broadcast " + to_string(from), Op::broadcast_in_dim, {s.input(from, t)},
            {{Attr::shape, to}, {Attr::axes, axes}});
  };
  broadcast({}, {}, {});
  broadcast({}, {4, 33}, {});
  broadcast({5}, {5, 7}, {0});
  broadcast({7}, {5, 7}, {1});
  broadcast({1}, {130}, {0});
  broadcast({3, 1, 5}, {3, 4, 5}, {0, 1, 2});
  broadcast({3, 1}, {2, 3, 4}, {1, 2});
  broadcast({0}, {0, 3}, {0});
  broadcast({3}, {3, 0}, {0});
  const auto reshape = [&](Shape from, Shape to) {
    s.check("reshape " + to_string(from), Op::reshape, {s.input(from, t)}, {{Attr::shape, to}});
  };
  reshape({}, {1, 1});
  reshape({6}, {2, 3});
  reshape({4, 5, 6}, {120});
  reshape({2, 0}, {0, 7});
  const auto transpose = [&](Shape from, Ints permutation) {
    s.check("transpose " + to_string(from), Op::transpose, {s.input(from, t)}, {{Attr::permutation, permutation}});
  };
  transpose({}, {});
  transpose({5}, {0});
  transpose({37, 65}, {1, 0});
  transpose({4, 5, 67}, {2, 0, 1});
  transpose({4, 5, 67}, {1, 0, 2});
  transpose({3, 1, 4, 5}, {3, 2, 1, 0});
  transpose({0, 4}, {1, 0});
  const auto reverse = [&](Shape from, Ints axes) {
    s.check("reverse " + to_string(from), Op::reverse, {s.input(from, t)}, {{Attr::axes, axes}});
  };
  reverse({100}, {0});
  reverse({3, 5, 7}, {1});
  reverse({3, 5, 7}, {0, 2});
  reverse({3, 5}, {});
  reverse({0}, {0});
  s.run();
}

TEST_P(Layout, SlicePadConcatenate) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 2);
  const auto slice = [&](Shape from, Ints start, Ints limit, Ints stride) {
    s.check("slice " + to_string(from), Op::slice, {s.input(from, t)},
            {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}});
  };
  slice({}, {}, {}, {});
  slice({100}, {3}, {97}, {1});
  slice({100}, {0}, {100}, {7});
  slice({7, 50}, {2, 1}, {7, 50}, {2, 3});
  slice({7, 50}, {3, 0}, {3, 50}, {1, 1});
  slice({2, 3, 4}, {1, 0, 2}, {2, 3, 4}, {1, 2, 1});
  const auto pad = [&](Shape from, Ints low, Ints high, Ints interior) {
    s.check("pad " + to_string(from), Op::pad, {s.input(from, t), s.input({}, t)},
            {{Attr::low, low}, {Attr::high, high}, {Attr::interior, interior}});
  };
  pad({50}, {3}, {5}, {0});
  pad({50}, {-3}, {-5}, {0});
  pad({50}, {2}, {-60}, {2});
  pad({0}, {4}, {0}, {1});
  pad({4, 30}, {1, 0}, {0, 7}, {2, 1});
  pad({4, 30}, {-1, -2}, {3, -1}, {0, 3});
  pad({2, 3, 4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0});
  const auto concatenate = [&](std::vector<Shape> shapes, int64_t axis) {
    std::vector<ValueId> operands;
    for (const Shape& shape : shapes) operands.push_back(s.input(shape, t));
    s.check("concatenate", Op::concatenate, operands, {{Attr::axis, axis}});
  };
  concatenate({{5}}, 0);
  concatenate({{5}, {0}, {70}}, 0);
  concatenate({{2, 3}, {2, 1}, {2, 40}}, 1);
  concatenate({{2, 3}, {5, 3}}, 0);
  concatenate({{2, 1, 3}, {2, 4, 3}, {2, 2, 3}}, 1);
  const ValueId twice = s.input({4, 9}, t);
  s.check("concatenate one array twice", Op::concatenate, {twice, twice}, {{Attr::axis, 1}});
  s.run();
}

TEST_P(Layout, DynamicSlices) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 3);
  const auto start = [&](const std::vector<int64_t>& v) { return s.input(array(v)); };
  for (const auto& at : {Ints{0, 0}, Ints{3, 20}, Ints{-5, 2}, Ints{100, 100}, Ints{INT64_MIN, INT64_MAX}}) {
    s.check("dynamic_slice", Op::dynamic_slice, {s.input({6, 50}, t), start(at)}, {{Attr::shape, Ints{3, 31}}});
    s.check("dynamic_update_slice", Op::dynamic_update_slice, {s.input({6, 50}, t), s.input({2, 17}, t), start(at)});
  }
  s.check("whole", Op::dynamic_slice, {s.input({6}, t), start({2})}, {{Attr::shape, Ints{6}}});
  s.check("whole update", Op::dynamic_update_slice, {s.input({6}, t), s.input({6}, t), start({2})});
  s.check("empty update", Op::dynamic_update_slice, {s.input({6}, t), s.input({0}, t), start({2})});
  s.check("scalar", Op::dynamic_slice, {s.input({}, t), s.input({0}, i64)}, {{Attr::shape, Ints{}}});
  s.run();
}

// Chains, which the planner folds into one map of indices.
TEST_P(Layout, Chains) {
  const DType t = GetParam();
  Sheet s(static_cast<uint64_t>(t) + 4);
  Graph& g = s.graph;
  const ValueId x = s.input({6, 10, 14}, t), zero = s.input({}, t);
  const ValueId turned = g.add(Op::transpose, {x}, {{Attr::permutation, Ints{2, 0, 1}}});
  const ValueId flat = g.add(Op::reshape, {turned}, {{Attr::shape, Ints{84, 10}}});
  const ValueId back = g.add(Op::reverse, {flat}, {{Attr::axes, Ints{0}}});
  const ValueId cut =
      g.add(Op::slice, {back}, {{Attr::start, Ints{5, 1}}, {Attr::limit, Ints{80, 9}}, {Attr::stride, Ints{3, 2}}});
  s.output("slice of reverse of reshape of transpose", cut);
  const ValueId padded =
      g.add(Op::pad, {cut, zero}, {{Attr::low, Ints{2, -1}}, {Attr::high, Ints{0, 3}}, {Attr::interior, Ints{1, 0}}});
  s.output("padded", padded);
  const ValueId joined = g.add(Op::concatenate, {padded, padded}, {{Attr::axis, 0}});
  s.output("joined", g.add(Op::transpose, {joined}, {{Attr::permutation, Ints{1, 0}}}));
  const ValueId wide = g.add(Op::broadcast_in_dim, {cut}, {{Attr::shape, Ints{25, 3, 4}}, {Attr::axes, Ints{0, 2}}});
  s.output("sliced broadcast",
           g.add(Op::slice, {wide},
                 {{Attr::start, Ints{1, 1, 1}}, {Attr::limit, Ints{25, 3, 4}}, {Attr::stride, Ints{2, 1, 2}}}));
  s.output("split and joined again",
           g.add(Op::concatenate,
                 {g.add(Op::slice, {flat},
                        {{Attr::start, Ints{0, 0}}, {Attr::limit, Ints{84, 4}}, {Attr::stride, Ints{1, 1}}}),
                  g.add(Op::slice, {flat},
                        {{Attr::start, Ints{0, 4}}, {Attr::limit, Ints{84, 10}}, {Attr::stride, Ints{1, 1}}})},
                 {{Attr::axis, 1}}));
  s.run();
}

}  // namespace
}  // namespace neap::conformance
