// shard() and the collectives: on emulated ranks against the same on whole arrays, on threads against emulated ranks.
#include <gmock/gmock.h>

#include "tests/message.h"
#include "tests/spmd/thread_ranks.h"

namespace neap {
namespace {

using testing::ElementsAre;
using P = PartitionSpec;

Mesh four() { return Mesh::emulated({{"x", 4}}); }
Array numbers(const Shape& shape, uint64_t seed = 1) { return random::normal(random::key(seed), shape, f32); }

TEST(Shard, EachRankSeesItsBlock) {
  const auto f = shard([](const Array& x) { return x + 10 * convert(axis_index("x"), f32); },
                       {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}});
  EXPECT_THAT(f(arange(8.0f)).to_vector<float>(), ElementsAre(0, 1, 12, 13, 24, 25, 36, 37));
  const auto sizes = shard([](const Array& x) { return full({1}, axis_size("x"), i32) + 0 * sum(x); },
                           {.mesh = four(), .in = {P{}}, .out = {{"x"}}});
  EXPECT_THAT(sizes(arange(3)).to_vector<int>(), ElementsAre(4, 4, 4, 4));
}

TEST(Shard, TwoAxes) {
  const Mesh mesh = Mesh::emulated({{"rows", 2}, {"cols", 3}});
  const Array x = reshape(arange(24.0f), {4, 6});
  const auto place = [](const Array& b) {
    return zeros_like(b) + convert(10 * axis_index("rows") + axis_index("cols"), f32);
  };
  const Array at = shard(place, {.mesh = mesh, .in = {{"rows", "cols"}}, .out = {{"rows", "cols"}}})(x);
  EXPECT_THAT((at[{slice(), 0}]).to_vector<float>(), ElementsAre(0, 0, 10, 10));
  EXPECT_THAT((at[{0, slice()}]).to_vector<float>(), ElementsAre(0, 0, 1, 1, 2, 2));
  // The other way round: rows of the array over the columns of the mesh.
  const Array turned = shard(place, {.mesh = mesh, .in = {{"", "rows"}}, .out = {{"cols", "rows"}}})(x);
  EXPECT_EQ(turned.shape(), (Shape{12, 6}));
  EXPECT_THAT((turned[{slice(), 0}]).to_vector<float>(), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2));
  const auto totals = [](const Array& b) {
    return std::tuple(psum(sum(b), "rows"), psum(sum(b), {"rows", "cols"}), sum(b));
  };
  const auto [columns, all, each] = shard(
      [&](const Array& b) {
        auto [c, a, e] = totals(b);
        return std::tuple(reshape(c, {1}), a, reshape(e, {1, 1}));
      },
      {.mesh = mesh, .in = {{"rows", "cols"}}, .out = {{"cols"}, {}, {"rows", "cols"}}})(x);
  EXPECT_THAT(columns.to_vector<float>(), ElementsAre(76, 92, 108));
  EXPECT_EQ(all.item<float>(), 276);
  EXPECT_EQ(each.shape(), (Shape{2, 3}));
  EXPECT_EQ(sum(each).item<float>(), 276);
}

TEST(Collectives, AreWhatTheySay) {
  const Array x = reshape(arange(16.0f), {8, 2});  // blocks of two rows
  const auto on = [&](auto f, P out) { return shard(f, {.mesh = four(), .in = {{"x"}}, .out = {out}})(x); };
  expect_same(on([](const Array& b) { return psum(b, "x"); }, {}), sum(reshape(x, {4, 2, 2}), {0}));
  expect_same(on([](const Array& b) { return pmean(b, "x"); }, {}), mean(reshape(x, {4, 2, 2}), {0}));
  expect_same(on([](const Array& b) { return pmax(b, "x"); }, {}), max(reshape(x, {4, 2, 2}), {0}));
  expect_same(on([](const Array& b) { return pmin(b, "x"); }, {}), min(reshape(x, {4, 2, 2}), {0}));
  expect_same(on([](const Array& b) { return all_gather(b, "x"); }, {}), reshape(x, {4, 2, 2}));
  expect_same(on([](const Array& b) { return all_gather(b, "x", 0, true); }, {}), x);
  expect_same(on([](const Array& b) { return all_gather(b, "x", 1); }, {}), moveaxis(reshape(x, {4, 2, 2}), 0, 1));
  expect_same(on([](const Array& b) { return all_gather(b, "x", -1, true); }, {}),
              reshape(moveaxis(reshape(x, {4, 2, 2}), 0, 1), {2, 8}));
  expect_same(on([](const Array& b) { return ppermute(b, "x", {{0, 1}, {1, 2}, {3, 0}}); }, {"x"}),
              concatenate({x[{slice(6, 8)}], x[{slice(0, 2)}], x[{slice(2, 4)}], zeros({2, 2})}));
  // Every rank scatters [8, 2], which is its block four times.
  const auto four_times = [](const Array& b) { return concatenate({b, 2 * b, 3 * b, 4 * b}); };
  const Array summed = sum(reshape(x, {4, 2, 2}), {0});
  expect_same(on([&](const Array& b) { return reduce_scatter(four_times(b), "x", 0, true); }, {"x"}),
              concatenate({summed, 2 * summed, 3 * summed, 4 * summed}));
  expect_same(on([&](const Array& b) { return reduce_scatter(reshape(four_times(b), {4, 4}), "x"); }, {"x"}),
              reshape(concatenate({summed, 2 * summed, 3 * summed, 4 * summed}), {16}));
  // A transposition: rows cut before, columns after.
  const Array square = reshape(arange(64.0f), {8, 8});
  const auto turned = shard([](const Array& b) { return all_to_all(b, "x", 1, 0, true); },
                            {.mesh = four(), .in = {{"x"}}, .out = {{"", "x"}}});
  expect_same(turned(square), square);
  EXPECT_EQ(on([](const Array& b) { return psum(b > 7, "x"); }, {"x"}).dtype(), i32);
}

TEST(Collectives, Halo) {
  const Array x = arange(8.0f);
  const auto halo = [&](int64_t width, bool periodic) {
    return shard([=](const Array& b) { return halo_exchange(b, "x", width, {.periodic = periodic}); },
                 {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(x)
        .to_vector<float>();
  };
  EXPECT_THAT(halo(1, false), ElementsAre(0, 0, 1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 0));
  EXPECT_THAT(halo(1, true), ElementsAre(7, 0, 1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 0));
  EXPECT_EQ(halo(0, false), x.to_vector<float>());
  // A stencil in time: ten steps on blocks are ten steps on the whole.
  const auto step = [](const Array& padded) {
    const int64_t n = padded.shape()[0];
    return 0.25f * padded[{slice(0, n - 2)}] + 0.5f * padded[{slice(1, n - 1)}] + 0.25f * padded[{slice(2, n)}];
  };
  const auto steps = [&](auto pad_it) {
    return [=](const Array& u) {
      return fori_loop(0, 10, [=](const Array&, const Array& v) { return step(pad_it(v)); }, u);
    };
  };
  const Array u = numbers({64});
  const auto ranks = shard(steps([](const Array& v) { return halo_exchange(v, "x", 1); }),
                           {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}});
  const auto whole = steps([](const Array& v) { return pad(v, {1}, {1}); });
  expect_same(ranks(u), whole(u));
  expect_same(jit(ranks)(u), whole(u));
  const auto energy = [](auto f) { return [=](const Array& v) { return sum(square(f(v))); }; };
  const Array got = grad(energy(ranks))(u), expected = grad(energy(whole))(u);
  EXPECT_LT(max(abs(got - expected)).item<float>(), 1e-6f);
}

TEST(Collectives, NumbersOfABlockAreThoseOfTheWhole) {
  const Array key = random::key(7);
  const auto draw = [](const Array& k) { return local_block(random::normal(k, {1 << 20, 4}), "x"); };
  const auto f = jit(shard(draw, {.mesh = four(), .in = {P{}}, .out = {{"x"}}}));
  expect_same(f(key), random::normal(key, {1 << 20, 4}));
  // One rank of 1,024 holds its block and nothing else.
  const auto planned = jit(shard(draw, {.mesh = Mesh::planned({{"x", 1024}}), .in = {P{}}, .out = {{"x"}}}));
  EXPECT_LT(planned.plan(key).peak_bytes(), 1024 * 4 * 4 + 1024u) << planned.plan(key);
}

// Derivatives inside are of the sum of all ranks' results; from outside they are the whole ones.
TEST(Derivatives, InsideAndOutside) {
  const Array w = numbers({3}, 1), x = numbers({8, 3}, 2);
  const auto loss = [](const Array& weights, const Array& rows) { return mean(square(matmul(rows, weights))); };
  const auto inside =
      shard([&](const Array& weights, const Array& rows) { return pmean(grad(loss)(weights, rows), "x"); },
            {.mesh = four(), .in = {P{}, {"x"}}, .out = {P{}}});
  const auto outside =
      grad(shard([&](const Array& weights, const Array& rows) { return pmean(loss(weights, rows), "x"); },
                 {.mesh = four(), .in = {P{}, {"x"}}, .out = {P{}}}));
  const Array expected = grad(loss)(w, x);
  EXPECT_LT(max(abs(inside(w, x) - expected)).item<float>(), 1e-6f);
  EXPECT_LT(max(abs(outside(w, x) - expected)).item<float>(), 1e-6f);
  on_threads({{"x", 4}}, [&](const Mesh& mesh) {
    const Array mine = mesh.local(x, {"x"});
    const auto g = grad(shard([&](const Array& weights, const Array& rows) { return pmean(loss(weights, rows), "x"); },
                              {.mesh = mesh, .in = {P{}, {"x"}}, .out = {P{}}}));
    EXPECT_LT(max(abs(g(w, mine) - expected)).item<float>(), 1e-6f);
    const auto of_rows =
        grad<1>(shard([&](const Array& weights, const Array& rows) { return pmean(loss(weights, rows), "x"); },
                      {.mesh = mesh, .in = {P{}, {"x"}}, .out = {P{}}}));
    EXPECT_LT(max(abs(of_rows(w, mine) - mesh.local(grad<1>(loss)(w, x), {"x"}))).item<float>(), 1e-6f);
  });
}

TEST(Shard, ErrorsSayWhatIsWrong) {
  const Array x = arange(8.0f);
  const auto id = [](const Array& b) { return b; };
  const auto said = [](auto f) { return message_of<UserError>(f); };
  EXPECT_THAT(said([&] { psum(x, "x"); }), testing::HasSubstr("a call inside shard()"));
  EXPECT_THAT(said([&] {
                shard([](const Array& b) { return psum(b, "y"); }, {.mesh = four(), .in = {{"x"}}, .out = {P{}}})(x);
              }),
              testing::AllOf(testing::HasSubstr("axis \"y\""), testing::HasSubstr("\"x\"")));
  EXPECT_THAT(said([&] { shard(id, {.mesh = four(), .in = {{"x"}}, .out = {P{}}})(x); }),
              testing::HasSubstr("result 0 (f32[2]) may differ between the ranks along \"x\""));
  EXPECT_THAT(said([&] { shard(id, {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(arange(7)); }),
              testing::HasSubstr("a multiple of the 4 ranks"));
  EXPECT_THAT(said([&] { shard(id, {.mesh = four(), .in = {{"y"}}, .out = {{"x"}}})(x); }),
              testing::HasSubstr("axis \"y\""));
  EXPECT_THAT(said([&] { shard(id, {.mesh = four(), .in = {}, .out = {{"x"}}})(x); }),
              testing::HasSubstr("in has 0 entries"));
  EXPECT_THAT(said([&] {
                shard([](const Array& b) { return psum(b, "x"); },
                      {.mesh = Mesh::planned({{"x", 4}}), .in = {{"x"}}, .out = {P{}}})(x);
              }),
              testing::HasSubstr("that no processes run"));
  EXPECT_THAT(said([&] { Mesh::emulated({{"x", 0}}); }), testing::HasSubstr("axis \"x\" of 0 ranks"));
  EXPECT_THAT(said([&] { Mesh::emulated({{"x", 2}, {"x", 2}}); }), testing::HasSubstr("two axes \"x\""));
  EXPECT_THAT(said([&] {
                shard([](const Array& b) { return halo_exchange(b, "x", 3); },
                      {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(x);
              }),
              testing::HasSubstr("a width of 3"));
}

TEST(Ranks, OtherProgramsAreFound) {
  const auto run = [] {
    on_threads({{"x", 3}}, [](const Mesh& mesh) {
      const bool odd = mesh.rank() == 1;
      const auto f = shard([=](const Array& b) { return psum(odd ? b + 1 : psum(b, "x"), "x"); },
                           {.mesh = mesh, .in = {{"x"}}, .out = {P{}}});
      f(arange(4.0f));
    });
  };
  EXPECT_THAT(message_of<UserError>(run), testing::HasSubstr("collectives"));
}

}  // namespace
}  // namespace neap
