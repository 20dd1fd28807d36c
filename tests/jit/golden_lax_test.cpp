// What jax.lax answers for gathers, scatters and convolutions of any axes: tests/golden/lax.json, made by
// tools/golden_lax.py.
#include <neap/lax.h>

#include "tests/jit/golden.h"

namespace neap {
namespace {

GatherMode mode_of(const json& call) {
  const std::string mode = call["mode"];
  return mode == "clip" ? GatherMode::clip : mode == "fill" ? GatherMode::fill : GatherMode::promise_in_bounds;
}

Array gather_of(const json& call, const Array& x, const Array& index) {
  const lax::GatherDims dims{call["offset"], call["dropped"], call["map"], call["operand_batch"], call["index_batch"]};
  return lax::gather(x, index, dims, call["sizes"].get<Shape>(), mode_of(call));
}

Array scatter_of(const json& call, const Array& x, const Array& index, const Array& updates) {
  const lax::ScatterDims dims{call["offset"], call["dropped"], call["map"], call["operand_batch"], call["index_batch"]};
  const std::string op = call["op"];
  const auto& f = op == "scatter"       ? lax::scatter
                  : op == "scatter_add" ? lax::scatter_add
                  : op == "scatter_mul" ? lax::scatter_mul
                  : op == "scatter_min" ? lax::scatter_min
                                        : lax::scatter_max;
  return f(x, index, updates, dims, mode_of(call));
}

Array convolution_of(const json& call, const Array& x, const Array& w) {
  Windows windows{.stride = call["stride"],
                  .padding = {},
                  .dilation = call["dilation"],
                  .input_dilation = call["inner"],
                  .groups = call["groups"]};
  for (const json& pair : call["padding"]) windows.padding.emplace_back(pair[0], pair[1]);
  return lax::conv_general_dilated(x, w, windows, {call["lhs"], call["rhs"], call["out"]}, call["batch_groups"]);
}

TEST(GoldenLax, AnswersWhatJaxAnswers) {
  const json golden = read_golden("lax.json");
  int calls = 0;
  for (const json& call : golden) {
    SCOPED_TRACE(call.dump().substr(0, 300));
    const Array x = array_of(call["x"]), answer = array_of(call["answer"]);
    const auto compute = [&]() -> Array {
      if (call["op"] == "gather") return gather_of(call, x, array_of(call["index"]));
      if (call["op"] == "conv_general_dilated") return convolution_of(call, x, array_of(call["w"]));
      return scatter_of(call, x, array_of(call["index"]), array_of(call["updates"]));
    };
    expect_near(compute(), answer);
    const eager_reference reference;
    expect_near(compute(), answer);
    ++calls;
  }
  EXPECT_GT(calls, 100);
}

TEST(GoldenLax, NothingToWriteTo) {
  const Array none =
      lax::scatter(zeros({0}), ones({3, 1}, i32), ones({3}), {.window = {}, .inserted = {0}, .start_map = {0}});
  EXPECT_EQ(none.shape(), (Shape{0}));
}

// The derivative of a gather is a scatter_add of the cotangent, by the same axes.
TEST(GoldenLax, DerivativesOfGathers) {
  for (const json& call : read_golden("lax.json")) {
    if (call["op"] != "gather") continue;
    SCOPED_TRACE(call.dump().substr(0, 300));
    const Array x = array_of(call["x"]), index = array_of(call["index"]);
    const auto f = [&](const Array& a) { return gather_of(call, where(isnan(a), 0.0f, a), index); };
    const auto [y, pullback] = vjp(f, x);
    const Array ct = cos(arange(y.size()).astype(f32)).astype(f32);
    const Array cotangent = pullback(reshape(ct, y.shape()));
    const lax::ScatterDims dims{call["offset"], call["dropped"], call["map"], call["operand_batch"],
                                call["index_batch"]};
    Array expected = lax::scatter_add(zeros_like(x), index, reshape(ct, y.shape()), dims, mode_of(call));
    expect_near(cotangent, expected);
  }
}

}  // namespace
}  // namespace neap
