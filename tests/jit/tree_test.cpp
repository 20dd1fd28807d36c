// What is a tree: structs with arrays and many members, variants, and classes that name their members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <array>
#include <cstddef>
#include <variant>

namespace neap {
namespace {

using testing::ElementsAre;

std::vector<float> values(const std::vector<Array>& leaves) {
  std::vector<float> all;
  for (const Array& leaf : leaves) all.push_back(leaf.item<float>());
  return all;
}

Array number(float x) { return array(x); }

template <class T>
constexpr size_t member_count_of() {
  return detail::member_count<T>();
}

struct Small {
  Array a;
  int n = 0;
};

struct WithArrays {
  Array first;
  Array layers[3];
  double rates[2];
  Small small;
  Array square[2][2];
  std::array<Array, 2> pair;
  float x = 0;
};

TEST(Tree, TakesArraysOfC) {
  const WithArrays tree{number(1),
                        {number(2), number(3), number(4)},
                        {0.5, 0.25},
                        {number(5), 7},
                        {{number(6), number(7)}, {number(8), number(9)}},
                        {number(10), number(11)},
                        0};
  EXPECT_THAT(values(tree_leaves(tree)), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  const WithArrays twice = tree_map([](const Array& x) { return x * 2; }, tree);
  EXPECT_EQ(twice.square[1][0].item<float>(), 16);
  EXPECT_EQ(twice.rates[1], 0.25);
  EXPECT_EQ(twice.small.n, 7);
  const auto f = [](const WithArrays& t) { return t.layers[1] * t.square[1][1] * static_cast<float>(t.rates[0]); };
  EXPECT_EQ(jit(f)(tree).item<float>(), 3 * 9 * 0.5f);
  EXPECT_EQ(grad(f)(tree).layers[1].item<float>(), 4.5f);
}

struct Many {
  Array a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15;
  int k = 0;
  Array b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14;
};

TEST(Tree, TakesThirtyTwoMembers) {
  Many tree;
  EXPECT_EQ(tree_leaves(tree).size(), 31u);
  tree.b14 = number(3);
  EXPECT_EQ(tree_leaves(tree).back().item<float>(), 3);
}

struct Either {
  std::variant<Array, Small, std::monostate> either;
};

TEST(Tree, OfAVariantIsTheAlternativeItHolds) {
  EXPECT_THAT(values(tree_leaves(Either{number(1)})), ElementsAre(1));
  EXPECT_THAT(values(tree_leaves(Either{Small{number(2), 1}})), ElementsAre(2));
  EXPECT_EQ(tree_leaves(Either{std::monostate()}).size(), 0u);
  int traced = 0;
  const auto f = jit([&](const Either& t) {
    ++traced;
    return std::holds_alternative<Array>(t.either) ? std::get<Array>(t.either) + 1
                                                   : std::get<Small>(t.either).a * std::get<Small>(t.either).n;
  });
  EXPECT_EQ(f(Either{number(1)}).item<float>(), 2);
  EXPECT_EQ(f(Either{Small{number(5), 3}}).item<float>(), 15);
  EXPECT_EQ(f(Either{number(4)}).item<float>(), 5);
  EXPECT_EQ(traced, 2) << "another alternative is another signature";
}

class Layer {
 public:
  Layer(Array weight, Array bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}
  Array operator()(const Array& x) const { return weight_ * x + bias_; }
  NEAP_TREE(weight_, bias_)
  const Array& weight() const { return weight_; }
  const Array& bias() const { return bias_; }
  int calls = 0;  // not named: as it is in copies

 private:
  Array weight_, bias_;
};

struct Base {
  Array a;
};
struct Derived : Base {
  Array b;
  NEAP_TREE(a, b)
};

TEST(Tree, ClassesNameTheirMembers) {
  const Layer layer(number(3), number(4));
  const auto f = [](const Layer& l, const Array& x) { return l(x); };
  EXPECT_EQ(jit(f)(layer, number(2)).item<float>(), 10);
  const Layer slope = grad(f)(layer, number(2));
  EXPECT_EQ(slope.weight().item<float>(), 2);
  EXPECT_EQ(slope.bias().item<float>(), 1);
  Derived derived;
  derived.a = number(1);
  derived.b = number(2);
  EXPECT_THAT(values(tree_leaves(derived)), ElementsAre(1, 2));
}

struct WithLayers {
  Layer first, second;
  Array c;
  std::pair<Layer, Array> pair;
  std::array<Layer, 2> two;
  Layer three[3];
};

TEST(Tree, TakesMembersWithoutADefault) {
  const auto layer = [](float x) { return Layer(number(x), number(x + 1)); };
  const WithLayers tree{
      layer(1), layer(3), number(5), {layer(6), number(8)}, {layer(9), layer(11)}, {layer(13), layer(15), layer(17)}};
  EXPECT_THAT(values(tree_leaves(tree)), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18));
}

struct Bits {
  unsigned a : 3, b : 5, c : 1, d : 7;
  Array x;
};
struct Nothing {};
struct Marked {
  [[no_unique_address]] Nothing n;
  Array x;
  bool flag = false;
};

TEST(Tree, TakesWhatElseStructsHave) {
  EXPECT_EQ(member_count_of<Marked>(), 3u);
  EXPECT_EQ(tree_leaves(Marked{{}, number(1), true}).size(), 1u);
  EXPECT_EQ(member_count_of<Bits>(), 5u);
}

TEST(Tree, TakesFunctionsOfMembers) {
  EXPECT_EQ(jit(&Layer::operator())(Layer(number(2), number(1)), number(3)).item<float>(), 7);
}

}  // namespace

// A class of another library, and the function beside it that names its members.
namespace other {
class Point {
 public:
  Array get(int i) const { return i == 0 ? x_ : y_; }
  void put(Array x, Array y) { x_ = std::move(x), y_ = std::move(y); }
  friend auto tree_members(Point& p) { return std::tie(p.x_, p.y_); }
  friend auto tree_members(const Point& p) { return std::tie(p.x_, p.y_); }

 private:
  Array x_, y_;
};
}  // namespace other

namespace {

TEST(Tree, AFunctionBesideAClassNamesItsMembers) {
  other::Point point;
  point.put(number(3), number(4));
  const auto norm = [](const other::Point& p) { return sqrt(p.get(0) * p.get(0) + p.get(1) * p.get(1)); };
  EXPECT_EQ(jit(norm)(point).item<float>(), 5);
  EXPECT_FLOAT_EQ(grad(norm)(point).get(1).item<float>(), 0.8f);
}

}  // namespace
}  // namespace neap
