// Whether a graph that was rewritten gives what it gave: by the reference interpreter, to the bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "trace/graph/graph.h"
#include "trace/reference/reference.h"

namespace neap::planner {

/// Inputs of f32 for the graph, drawn by `draw`, the same at each call.
template <class Draw>
std::vector<tracing::HostValue> drawn_inputs(const tracing::Graph& graph, const Draw& draw) {
  std::mt19937 random(1);
  std::vector<tracing::HostValue> values;
  for (const tracing::ValueId v : graph.inputs) {
    tracing::HostValue x{graph.aval(v), allocate(graph.aval(v).bytes(), "test")};
    for (int64_t i = 0; i < x.aval.size(); ++i) x.data->as<float>()[i] = draw(random);
    values.push_back(std::move(x));
  }
  return values;
}

/// Multiples of 1 / 999 from 0 to `most`.
inline auto uniform_up_to(float most) {
  return [most](std::mt19937& random) { return most * static_cast<float>(random() % 1000) / 999; };
}

template <class Draw>
void expect_same_values(const tracing::Graph& a, const tracing::Graph& b, const Draw& draw) {
  const auto inputs = drawn_inputs(a, draw);
  const auto x = tracing::evaluate_reference(a, inputs), y = tracing::evaluate_reference(b, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x[i].aval, y[i].aval);
    EXPECT_EQ(std::memcmp(x[i].data->data(), y[i].data->data(), x[i].aval.bytes()), 0);
  }
}
inline void expect_same_values(const tracing::Graph& a, const tracing::Graph& b) {
  expect_same_values(a, b, uniform_up_to(1));
}

}  // namespace neap::planner
