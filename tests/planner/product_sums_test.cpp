// Sums of products of two arrays that are each spread along axes of the other become products of matrices.
#include "planner/rewrite/product_sums.h"

#include <gtest/gtest.h>

#include <neap/neap.h>

#include <cmath>
#include <random>
#include <vector>

#include "planner/search/make_plan.h"
#include "programs.h"
#include "tests/count.h"
#include "trace/reference/reference.h"

namespace neap::planner {
namespace {

using Arrays = tracing::Arrays;

int products(const Graph& g) { return count(multiply_product_sums(g), Op::dot_general); }

template <class T>
void expect_near(const tracing::HostValue& got, const tracing::HostValue& want, double tolerance) {
  for (int64_t i = 0; i < want.aval.size(); ++i) {
    ASSERT_NEAR(got.data->as<T>()[i], want.data->as<T>()[i], tolerance) << i;
  }
}

// That the program has so many products, and the values that it had.
template <class F>
void expect_products(int expected, const std::vector<Shape>& shapes, const F& f, DType dtype = f32) {
  const Graph g = traced(shapes, f, dtype), made = multiply_product_sums(g);
  verify(made);
  EXPECT_EQ(count(made, Op::dot_general), expected) << print(made);
  EXPECT_EQ(made.aval(made.outputs[0]), g.aval(g.outputs[0]));
  std::mt19937 random(3);
  std::normal_distribution<double> any(0, 1);
  std::vector<tracing::HostValue> inputs;
  for (const ValueId v : g.inputs) {
    tracing::HostValue value{g.aval(v), allocate(g.aval(v).bytes(), "test")};
    for (int64_t i = 0; i < value.aval.size(); ++i) {
      dtype == f64 ? value.data->as<double>()[i] = any(random)
                   : static_cast<double>(value.data->as<float>()[i] = static_cast<float>(any(random)));
    }
    inputs.push_back(std::move(value));
  }
  const auto want = tracing::evaluate_reference(g, inputs), got = tracing::evaluate_reference(made, inputs);
  dtype == f64 ? expect_near<double>(got[0], want[0], 1e-12) : expect_near<float>(got[0], want[0], 2e-5);
}

TEST(ProductSums, InEveryOrderOfAxes) {
  for (const DType dtype : {f32, f64}) {
    expect_products(
        1, {{40, 30}, {40, 35}},
        [](const Arrays& in) {
          return sum(expand_dims(in[0], 2) * expand_dims(in[1], 1), {0});  // rows, columns
        },
        dtype);
    expect_products(
        1, {{40, 30}, {40, 35}},
        [](const Arrays& in) {
          return sum(expand_dims(in[0], 1) * expand_dims(in[1], 2), {0});  // columns, rows
        },
        dtype);
    expect_products(
        1, {{30, 40}, {35, 40}},
        [](const Arrays& in) { return sum(expand_dims(in[1], 0) * expand_dims(in[0], 1), {2}, true); }, dtype);
    expect_products(
        1, {{5, 20, 30}, {5, 30, 25}},
        [](const Arrays& in) {
          return sum(expand_dims(in[0], 3) * expand_dims(in[1], 1), {2});  // batches
        },
        dtype);
    expect_products(
        1, {{20, 5, 30}, {25, 30, 5}},
        [](const Arrays& in) {  // batches that are in the middle, transposed
          return sum(expand_dims(in[0], 1) * expand_dims(neap::transpose(in[1], Shape{0, 2, 1}), 0), {3});
        },
        dtype);
    expect_products(
        1, {{6, 10, 12, 4}, {12, 7, 10, 3}},
        [](const Arrays& in) {  // two axes of each kind, mixed
          const Array x = reshape(in[0], {6, 1, 10, 12, 4, 1}), y = neap::transpose(in[1], Shape{1, 2, 0, 3});
          return sum(x * reshape(y, {1, 7, 10, 12, 1, 3}), {2, 3});
        },
        dtype);
    expect_products(
        1, {{40, 30}},
        [](const Arrays& in) {
          return sum(expand_dims(in[0], 2) * expand_dims(in[0], 1), {0});  // of one array
        },
        dtype);
  }
}

TEST(ProductSums, OfGradientsAndBodiesToo) {
  const auto loss = [](const Array& x, const Array& y) {
    return sum(square(sum(expand_dims(x, 2) * expand_dims(y, 0), {1})));
  };
  EXPECT_EQ(products(traced({{40, 30}, {30, 35}}, [&](const Arrays& in) { return grad(loss)(in[0], in[1]); })), 2);
  const Graph loop = traced({{32, 32}, {32, 32}}, [&](const Arrays& in) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return sum(expand_dims(c, 2) * expand_dims(in[1], 0), {1}); }, in[0]);
  });
  const Graph made = multiply_product_sums(loop);
  verify(made);
  int inside = 0;
  for (const tracing::Node& node : made.nodes) {
    if (node.attrs.has(Attr::body)) inside += count(*node.attrs.graph(Attr::body), Op::dot_general);
  }
  EXPECT_EQ(inside, 1) << print(made);
}

TEST(ProductSums, OthersStay) {
  const auto none = [](const std::vector<Shape>& shapes, const auto& f, DType dtype = f32) {
    const Graph g = traced(shapes, f, dtype);
    EXPECT_EQ(multiply_product_sums(g), g) << print(g);
  };
  none({{200, 300}, {300}}, [](const Arrays& in) { return sum(in[0] * in[1], {1}); });  // of a vector
  none({{200, 300}, {200, 300}}, [](const Arrays& in) { return sum(in[0] * in[1], {1}); });
  none({{300, 3}, {300, 3}}, [](const Arrays& in) {  // of few terms
    return sum(expand_dims(in[0], 1) * expand_dims(in[1], 0), {2});
  });
  none({{10, 10}, {10, 10}}, [](const Arrays& in) {  // small
    return sum(expand_dims(in[0], 1) * expand_dims(in[1], 0), {2});
  });
  none({{40, 30}, {40, 35}}, [](const Arrays& in) {  // over an axis that one of them has
    return sum(expand_dims(in[0], 2) * expand_dims(in[1], 1), {1});
  });
  none(
      {{40, 30}, {40, 35}}, [](const Arrays& in) { return sum(expand_dims(in[0], 2) * expand_dims(in[1], 1), {0}); },
      DType::i32);
  none({{40, 30}, {40, 35}}, [](const Arrays& in) { return sum(expand_dims(in[0], 2) + expand_dims(in[1], 1), {0}); });
  none({{4000}, {4000}, {4000, 8}}, [](const Arrays& in) {  // of what would be stored for it, and is large
    return sum(expand_dims(exp(expand_dims(in[0], 1) - in[1]), 2) * in[2], {1});
  });
}

TEST(ProductSums, HoldNothingButWhatAProductDoes) {
  const auto arena = [](const auto& f) { return make_plan(traced({{256, 256}, {256, 256}}, f), {}).arena_bytes; };
  const size_t summed = arena([](const Arrays& in) { return sum(expand_dims(in[0], 2) * expand_dims(in[1], 1), {0}); });
  EXPECT_EQ(summed, arena([](const Arrays& in) { return matmul(neap::transpose(in[0]), in[1]); }));
}

}  // namespace
}  // namespace neap::planner
