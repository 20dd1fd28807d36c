// What jax.shard_map answers on four devices: tests/golden/spmd.json, made by tools/golden_spmd.py, which names the
// calls.
#include "tests/jit/golden.h"

namespace neap {
namespace {

using P = PartitionSpec;

TEST(GoldenSpmd, IsWhatJaxAnswers) {
  const json golden = read_golden("spmd.json");
  auto in = inputs_of(golden);
  const Array &x = in["x"], &w = in["w"], &whole = in["whole"];
  const Mesh line = Mesh::emulated({{"x", 4}}), plane = Mesh::emulated({{"x", 2}, {"y", 2}});
  const P cut{"x"}, all, both{"x", "y"};
  const std::vector<std::pair<int64_t, int64_t>> ring{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const auto along = [&](auto f, const P& out) { return shard(f, {.mesh = line, .in = {cut}, .out = {out}})(x); };
  Calls calls;
  calls["sums"] = [&] {
    return Arrays{along([](const Array& b) { return psum(b, "x"); }, all),
                  along([](const Array& b) { return pmean(b, "x"); }, all),
                  along([](const Array& b) { return pmax(b, "x"); }, all),
                  along([](const Array& b) { return pmin(b, "x"); }, all)};
  };
  calls["gathers"] = [&] {
    Arrays out;
    for (const auto& [axis, tiled] : {std::pair{0, false}, {1, false}, {2, false}, {0, true}, {1, true}})
      out.push_back(along([=](const Array& b) { return all_gather(b, "x", axis, tiled); }, all));
    return out;
  };
  calls["scatters"] = [&] {
    return Arrays{along([](const Array& b) { return reduce_scatter(tile(b, {2, 1}), "x"); }, cut),
                  along([](const Array& b) { return reduce_scatter(b, "x", 1, true); }, cut),
                  along([](const Array& b) { return reduce_scatter(b, "x", 1); }, cut)};
  };
  calls["all_to_all"] = [&] {
    Arrays out;
    for (const auto& [split, concat, tiled] : {std::tuple{1, 0, true}, {1, 1, true}, {1, 0, false}, {1, 1, false}})
      out.push_back(along([=](const Array& b) { return all_to_all(b, "x", split, concat, tiled); }, cut));
    return out;
  };
  calls["ppermute"] = [&] {
    return Arrays{along([&](const Array& b) { return ppermute(b, "x", ring); }, cut),
                  along([](const Array& b) { return ppermute(b, "x", {{2, 0}, {0, 3}}); }, cut)};
  };
  calls["axis_index"] = [&] {
    return Arrays{along([](const Array&) { return axis_index("x") + zeros({1}, i32); }, cut)};
  };
  calls["plane"] = [&] {
    const auto on = [&](auto f, const P& out) { return shard(f, {.mesh = plane, .in = {both}, .out = {out}})(x); };
    return Arrays{on([](const Array& b) { return psum(b, {"x", "y"}); }, all),
                  on([](const Array& b) { return psum(b, "x"); }, {"", "y"}),
                  on([](const Array& b) { return ppermute(b, "y", {{0, 1}, {1, 0}}) + psum(b, "x"); }, both)};
  };
  const auto loss = [](const Array& weights, const Array& b) { return mean(square(tanh(matmul(b, weights)))); };
  const auto summed = [&](const Array& weights, const Array& b) { return psum(loss(weights, b), "x"); };
  calls["gradients inside"] = [&] {
    const auto inside = [&](auto f) {
      return shard([=](const Array& weights, const Array& b) { return expand_dims(grad(f)(weights, b), 0); },
                   {.mesh = line, .in = {all, cut}, .out = {cut}})(w, x);
    };
    return Arrays{inside(loss), inside(summed)};
  };
  calls["gradients outside"] = [&] {
    const auto f = shard(summed, {.mesh = line, .in = {all, cut}, .out = {all}});
    return Arrays{grad(f)(w, x), grad<1>(f)(w, x)};
  };
  const auto chain = [&](const Array& b) {
    const Array there = all_to_all(sin(b), "x", 1, 0, true);
    return sum(ppermute(there, "x", ring) * all_gather(b[{slice(), slice(0, 1)}], "x", 0, true)) +
           sum(square(reduce_scatter(b * b, "x", 1, true)));
  };
  calls["chain"] = [&] {
    const auto each = [&](const Array& b) { return expand_dims(chain(b), 0); };
    const auto total = [&](const Array& v) { return sum(shard(each, {.mesh = line, .in = {cut}, .out = {cut}})(v)); };
    return Arrays{along(each, cut), along([&](const Array& b) { return grad(chain)(b); }, cut), grad(total)(x),
                  along([&](const Array& b) { return expand_dims(jvp(chain, b, cos(b)).tangent, 0); }, cut)};
  };
  calls["scan"] = [&] {
    const auto steps = [&](const Array& b) {
      const auto step = [&](const Array& c, std::nullptr_t) {
        const Array left = ppermute(c[{slice(-1, end)}], "x", ring);
        const Array next = 0.5f * c + 0.5f * concatenate({left, c[{slice(0, -1)}]});
        return std::pair{next, psum(sum(next), "x")};
      };
      return scan(step, b, nullptr, 5);
    };
    const auto [c, sums] = shard(steps, {.mesh = line, .in = {cut}, .out = {cut, all}})(whole);
    return Arrays{c, sums};
  };
  calls["vmap"] = [&] {
    return Arrays{along(
        [](const Array& b) {
          return vmap([](const Array& row) { return psum(row, "x") + sum(all_gather(row, "x"), {0}) * row; })(b);
        },
        cut)};
  };
  expect_answers(golden, calls, [](const Array& got, const Array& expected) {  // products in other orders
    ASSERT_EQ(got.aval(), expected.aval());
    const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
    double largest = 0;
    for (const double v : b) largest = std::max(largest, std::abs(v));
    for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(std::abs(a[i] - b[i]), 1e-6 * largest) << "element " << i;
  });
}

}  // namespace
}  // namespace neap
