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

// Of each rank's rows, as many for rank r as r and its own number say, one row of all left out; what comes lies with
// the last rank's first, a row of zeros before each.
struct Ragged {
  int64_t rows = 8, result = 12;
  Array wanted(int64_t ranks) const {  // [from, to]
    return reshape(iota({ranks * ranks}, 0), {ranks, ranks}) % 3;
  }
  Array operator()(const Array& x) const {
    const int64_t ranks = axis_size("x");
    const Array all = wanted(ranks), sent = take(all, axis_index("x")), got = take(all, axis_index("x"), 1);
    const Array first = 1 + cumsum(sent) - sent, place = 1 + flip(cumsum(flip(got + 1, {0})), {0}) - got - 1;
    return ragged_all_to_all(x, {first, sent}, {place, got.astype(i64)}, result, "x");
  }
};

TEST(Collectives, Ragged) {
  const Ragged ragged;
  const Array x = numbers({4 * ragged.rows, 3});
  const auto f = shard(ragged, {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}});
  // By hand.
  const auto wanted = ragged.wanted(4).to_vector<int32_t>();
  const auto values = x.to_vector<float>();
  std::vector<float> expected(static_cast<size_t>(4 * ragged.result * 3), 0);
  for (int64_t to = 0; to < 4; ++to) {
    int64_t place = 1;
    for (int64_t from = 3; from >= 0; --from) {
      int64_t first = 1;
      for (int64_t before = 0; before < to; ++before) first += wanted[static_cast<size_t>(from * 4 + before)];
      const int64_t count = wanted[static_cast<size_t>(from * 4 + to)];
      for (int64_t i = 0; i < count * 3; ++i)
        expected[static_cast<size_t>((to * ragged.result + place) * 3 + i)] =
            values[static_cast<size_t>((from * ragged.rows + first) * 3 + i)];
      place += count + 1;
    }
  }
  EXPECT_EQ(f(x).to_vector<float>(), expected);
  EXPECT_EQ(jit(f)(x).to_vector<float>(), expected);
  // Rows that were sent get their cotangents back, the others none.
  const Array weights = numbers({4 * ragged.result, 3}, 5);
  const auto loss = [&](const Array& v) { return sum(f(v) * weights); };
  const Array direction = numbers({4 * ragged.rows, 3}, 7);
  const Array along = sum(grad(loss)(x) * direction), by_values = loss(direction);
  EXPECT_NEAR(along.item<float>(), by_values.item<float>(), 1e-4f);
  // Batches: of rows that lie alike, and of those that do not.
  const Array two = numbers({4 * ragged.rows, 2, 3}, 9);
  const auto batched = shard([&](const Array& b) { return vmap(ragged, {.in_axes = {1}, .out_axes = 1})(b); },
                             {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(two);
  for (const int64_t i : {0, 1})
    expect_same(squeeze(slice_in_dim(batched, i, i + 1, 1), {1}), f(squeeze(slice_in_dim(two, i, i + 1, 1), {1})));
  const auto one_row = [](const Array& b, const Array& first) {
    const Array each = ones({4}, i32);
    return ragged_all_to_all(b, {first + arange(4), each}, {arange(4), each}, 4, "x");
  };
  const auto from = [&](int64_t first) {
    return shard([&](const Array& b) { return one_row(b, array(first)); },
                 {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(x);
  };
  const auto both =
      shard([&](const Array& b) { return vmap(one_row, {.in_axes = {std::nullopt, 0}})(b, array({1, 3})); },
            {.mesh = four(), .in = {{"x"}}, .out = {{"", "x"}}})(x);
  expect_same(both, concatenate({expand_dims(from(1), 0), expand_dims(from(3), 0)}, 0));
  // A row that goes to all ranks gets the sum of what they have for it, inside and from outside.
  const auto to_all = [](const Array& b) {
    const Array each = ones({4}, i32);
    return ragged_all_to_all(b, {zeros({4}, i32) + axis_index("x"), each}, {arange(4), each}, 5, "x");
  };
  const auto square_of = [&](const Array& b, const Array& w) { return sum(square(to_all(b)) * w); };
  const Array w = numbers({4 * 5, 3}, 11);
  const Array inside = shard([&](const Array& b, const Array& v) { return grad(square_of)(b, v); },
                             {.mesh = four(), .in = {{"x"}, {"x"}}, .out = {{"x"}}})(x, w);
  const auto all = shard(to_all, {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}});
  const Array outside = grad([&](const Array& v) { return sum(square(all(v)) * w); })(x);
  EXPECT_LT(max(abs(inside - outside)).item<float>(), 1e-6f);
  // By hand: row r of rank r comes to row r of each.
  const auto weight = w.to_vector<float>(), slope = inside.to_vector<float>();
  for (int64_t rank = 0; rank < 4; ++rank)
    for (int64_t row = 0; row < ragged.rows; ++row)
      for (int64_t i = 0; i < 3; ++i) {
        float total = 0;
        for (int64_t to = 0; to < 4; ++to) total += weight[static_cast<size_t>((to * 5 + rank) * 3 + i)];
        const auto at = static_cast<size_t>((rank * ragged.rows + row) * 3 + i);
        EXPECT_NEAR(slope[at], row == rank ? 2 * values[at] * total : 0, 1e-5f);
      }
  // Nothing to send, and nowhere to put it.
  const Array none = zeros({4}, i32);
  const auto empty = [&](int64_t rows, int64_t result) {
    return shard([=](const Array& b) { return ragged_all_to_all(b, {none, none}, {none, none}, result, "x"); },
                 {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(zeros({4 * rows, 3}));
  };
  expect_same(empty(0, 2), zeros({8, 3}));
  expect_same(empty(2, 0), zeros({0, 3}));
}

// Between ranks that are threads, and what they say of rows that do not fit.
TEST(Ranks, Ragged) {
  const Ragged ragged;
  const Array x = numbers({4 * ragged.rows, 3});
  const auto on = [&](const Mesh& mesh) { return shard(ragged, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}}); };
  const auto slope = [&](const Mesh& mesh) {
    return shard([&](const Array& b) { return grad([&](const Array& v) { return sum(square(ragged(v))); })(b); },
                 {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}});
  };
  const Array whole = on(four())(x), slopes = slope(four())(x);
  on_threads({{"x", 4}}, [&](const Mesh& mesh) {
    const Array block = mesh.local(x, {"x"});
    expect_same(on(mesh)(block), mesh.local(whole, {"x"}));
    expect_same(jit(slope(mesh))(block), mesh.local(slopes, {"x"}));
  });
  const auto exchange = [](const Array& offsets, const Array& sizes, const Array& places, const Array& got) {
    on_threads({{"x", 2}}, [&](const Mesh& mesh) {
      shard([&](const Array& b) { return ragged_all_to_all(b, {offsets, sizes}, {places, got}, 4, "x"); },
            {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(arange(4.0f));
    });
  };
  // An array without rows, whose result is zeros nevertheless.
  on_threads({{"x", 2}}, [&](const Mesh& mesh) {
    const Array none = zeros({2}, i32);
    const auto f = [&](const Array& b) { return ragged_all_to_all(b, {none, none}, {none, none}, 4096, "x"); };
    expect_same(shard(f, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(zeros({0, 3})), zeros({4096, 3}));
  });
  const Array start = array({0, 2}), two = array({2, 2});
  exchange(start, two, start, two);
  const auto said = [&](const Array& offsets, const Array& sizes, const Array& places, const Array& got) {
    return message_of<IndexError>([&] { exchange(offsets, sizes, places, got); });
  };
  EXPECT_THAT(said(array({0, 3}), two, start, two), testing::HasSubstr("2 rows from row 3 on in `send`, rank 1"));
  EXPECT_THAT(said(start, array({2, -1}), start, two), testing::HasSubstr("-1 rows from row 2 on in `send`"));
  EXPECT_THAT(said(start, two, array({0, 1}), two), testing::HasSubstr("row 1 in `recv` twice, of ranks 0 and 1"));
  EXPECT_THAT(said(start, two, start, array({1, 2})), testing::HasSubstr("2 rows of rank 0 for itself, and 1 from"));
  // A row that was sent to two ranks, on the way back.
  EXPECT_THAT(message_of<IndexError>([&] {
                on_threads({{"x", 2}}, [&](const Mesh& mesh) {
                  const auto f = [&](const Array& b) {
                    return sum(ragged_all_to_all(b, {start - start, two}, {start, two}, 4, "x"));
                  };
                  shard([&](const Array& b) { return grad(f)(b); },
                        {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(arange(4.0f));
                });
              }),
              testing::HasSubstr("row 0 of the operand was sent to ranks 0 and 1"));
  // Rank 1 alone is wrong, and says so; the others do not wait for it.
  std::array<std::string, 3> heard;
  on_threads({{"x", 3}}, [&](const Mesh& mesh) {
    const Array each = ones({3}, i32);
    const auto f = [&](const Array& b) {
      return ragged_all_to_all(b, {arange(3) + (mesh.rank() == 1 ? 1 : 0), each}, {arange(3), each}, 3, "x");
    };
    std::string& mine = heard[static_cast<size_t>(mesh.rank())];
    try {
      shard(f, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(arange(3.0f));
    } catch (const std::exception& error) {
      mine = error.what();
    }
  });
  EXPECT_THAT(heard[0], testing::HasSubstr("0 bytes, not 4"));
  EXPECT_THAT(heard[1], testing::HasSubstr("1 rows from row 3 on in `send`, rank 2"));
  EXPECT_THAT(heard[2], testing::HasSubstr("0 bytes, not 4"));
  // All types.
  for (const DType t : {bool_, i8, u16, bf16, f64, c64, c128}) {
    const auto f = [&](const Mesh& mesh) { return shard(ragged, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}}); };
    const Array typed = convert(x > 0, t);
    const Array expected = f(four())(typed);
    EXPECT_EQ(expected.dtype(), t);
    on_threads({{"x", 4}},
               [&](const Mesh& mesh) { expect_same(f(mesh)(mesh.local(typed, {"x"})), mesh.local(expected, {"x"})); });
  }
  // Rank 1 gets a row less than it says.
  EXPECT_THAT(message_of<CommunicationError>([&] {
                on_threads({{"x", 2}}, [&](const Mesh& mesh) {
                  const auto f = [&](const Array& b) {
                    const Array sizes = array({2, mesh.rank() == 0 ? 1 : 2});
                    return ragged_all_to_all(b, {start, sizes}, {start, two}, 4, "x");
                  };
                  shard(f, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(arange(4.0f));
                });
              }),
              testing::HasSubstr("4 bytes, not 8"));
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

// On emulated ranks, and on threads: of arrays that all ranks have, and of parts.
template <class F>
void expect_like_whole(const F& f, const Array& expected, const Array& w, const Array& x) {
  const auto on = [&](const Mesh& mesh) {
    return f([mesh](auto g) { return shard(g, {.mesh = mesh, .in = {P{}, {"x"}}, .out = {P{}}}); });
  };
  const auto distance = [&](const Array& got) { return max(abs(got - expected)).template item<double>(); };
  EXPECT_LT(distance(on(Mesh::emulated({{"x", 3}}))(w, x)), 1e-9);
  on_threads({{"x", 3}}, [&](const Mesh& mesh) {
    EXPECT_LT(distance(on(mesh)(w, mesh.local(x, {"x"}))), 1e-9) << "rank " << mesh.rank();
  });
}

TEST(Derivatives, OfEveryOrderFromOutside) {
  const Array w = random::normal(random::key(1), {2}, f64), x = random::normal(random::key(2), {6, 2}, f64);
  const auto local = [](const Array& v, const Array& b) { return sum(b * v * v * v); };
  const auto summed = [=](const Array& v, const Array& b) { return psum(local(v, b), "x"); };
  const auto second = [](auto f) {
    return [=](const Array& v, const Array& b) {
      return grad([&](const Array& u) { return sum(grad([&](const Array& t) { return f(t, b); })(u)); })(v);
    };
  };
  const Array expected = second(local)(w, x);
  expect_like_whole([&](auto sharded) { return second(sharded(summed)); }, expected, w, x);
  const auto third = [&](auto f) {
    return
        [=](const Array& v, const Array& b) { return grad([&](const Array& u) { return sum(second(f)(u, b)); })(v); };
  };
  expect_like_whole([&](auto sharded) { return third(sharded(summed)); }, third(local)(w, x), w, x);
  // In a factor outside of a gradient.
  const auto scaled = [](auto f) {
    return [=](const Array& v, const Array& b) {
      return grad([&](const Array& s) { return sum(grad([&](const Array& u) { return s * f(u, b); })(v)); })(
          ones({}, f64));
    };
  };
  expect_like_whole([&](auto sharded) { return scaled(sharded(summed)); }, scaled(local)(w, x), w, x);
  expect_like_whole([&](auto sharded) { return hessian(sharded(summed)); }, hessian(local)(w, x), w, x);
}

TEST(Derivatives, RanksThatTieShare) {
  for (const int64_t n : {3, 4}) {
    const Array x = array({1.0, 1.0, 0.5, 1.0})[{slice(0, n)}] * 2;
    const auto largest = [](const Mesh& mesh) {
      return grad(shard([](const Array& b) { return sum(pmax(b, "x")); }, {.mesh = mesh, .in = {{"x"}}, .out = {P{}}}));
    };
    const Array expected = grad([](const Array& v) { return max(v); })(x);
    expect_same(largest(Mesh::emulated({{"x", n}}))(x), expected);
    on_threads({{"x", n}}, [&](const Mesh& mesh) {
      expect_same(largest(mesh)(mesh.local(x, {"x"})), mesh.local(expected, {"x"}));
    });
  }
}

// Megatron's pair: a sum forward whose cotangent is passed on as it is.
TEST(Derivatives, FunctionsWithTheirOwn) {
  const auto total = custom_vjp([](const Array& v) { return psum(v, "x"); },
                                [](const Array& v) { return std::pair{psum(v, "x"), Array(zeros({}))}; },
                                [](const Array&, const Array& ct) { return ct; });
  const auto f = [&](const Mesh& mesh) {
    return shard(
        [&](const Array& b) { return std::tuple(total(b), grad([&](const Array& v) { return sum(total(v)); })(b)); },
        {.mesh = mesh, .in = {{"x"}}, .out = {P{}, {"x"}}});
  };
  const Array x = arange(6.0f);
  const auto [sums, slopes] = f(Mesh::emulated({{"x", 3}}))(x);
  EXPECT_THAT(sums.to_vector<float>(), ElementsAre(6, 9));
  EXPECT_THAT(slopes.to_vector<float>(), testing::Each(1));
  on_threads({{"x", 3}}, [&](const Mesh& mesh) { expect_same(std::get<0>(f(mesh)(mesh.local(x, {"x"}))), sums); });
  // A whole argument and a result that all ranks have, from outside: the same on processes.
  const auto pair = custom_vjp(
      [](const Array& w, const Array& v) { return std::pair{2 * w, psum(v, "x")}; },
      [](const Array& w, const Array& v) { return std::pair{std::pair{2 * w, psum(v, "x")}, Array(zeros({}))}; },
      [](const Array&, const std::pair<Array, Array>& ct) { return std::tuple{2 * ct.first, psum(ct.second, "x")}; });
  const auto slopes_on = [&](const Mesh& mesh, const Array& part) {
    const auto g =
        shard([&](const Array& w, const Array& v) { return std::tuple(pair(w, v).first, pair(w, v).second); },
              {.mesh = mesh, .in = {P{}, {"x"}}, .out = {P{}}});
    return grad<0, 1>([&](const Array& w, const Array& v) {
      const auto [a, c] = g(w, v);
      return sum(a) + sum(c);
    })(ones({2}), part);
  };
  const auto [of_whole, of_part] = slopes_on(Mesh::emulated({{"x", 3}}), x);
  EXPECT_THAT(of_whole.to_vector<float>(), testing::Each(2));
  EXPECT_THAT(of_part.to_vector<float>(), testing::Each(1));
  on_threads({{"x", 3}}, [&](const Mesh& mesh) {
    const auto [whole, part] = slopes_on(mesh, mesh.local(x, {"x"}));
    EXPECT_THAT(whole.to_vector<float>(), testing::Each(2));
    EXPECT_THAT(part.to_vector<float>(), testing::Each(1));
  });
  // A linear system whose operator sums over ranks, on vectors that all have.
  const Array rows = random::normal(random::key(1), {6, 4}, f64), b = ones({4}, f64);
  const auto solved = shard(
      [&](const Array& part, const Array& side) {
        return cg([&](const Array& v) { return v + psum(matmul(transpose(part), matmul(part, v)), "x"); }, side, {},
                  {.tol = 1e-13});
      },
      {.mesh = Mesh::emulated({{"x", 3}}), .in = {{"x"}, P{}}, .out = {P{}}});
  const Array known = linalg::solve(eye(4, {}, f64) + matmul(transpose(rows), rows), b);
  EXPECT_LT(max(abs(solved(rows, b) - known)).item<double>(), 1e-9);
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
  const auto on_x = [&](auto f) { return [=] { shard(f, {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(x); }; };
  EXPECT_THAT(said(on_x([](const Array& b) {
                return cond(
                    axis_index("x") == 0, [](const Array& v) { return psum(v, "x"); }, [](const Array& v) { return v; },
                    b);
              })),
              testing::HasSubstr("cond: its predicate may differ between the ranks along \"x\""));
  EXPECT_THAT(said(on_x([](const Array& b) {
                return while_loop([](const Array& v) { return sum(v) < 9; },
                                  [](const Array& v) { return psum(v, "x") + v; }, b);
              })),
              testing::HasSubstr("whether the loop goes on"));
  EXPECT_THAT(said([&] { shard(id, {.mesh = four(), .in = {{"x"}}, .out = {{"x"}, {"x"}}})(x); }),
              testing::HasSubstr("out has 2 entries for 1 results"));
  EXPECT_THAT(said([&] { Mesh::emulated({{"x", 0}}); }), testing::HasSubstr("axis \"x\" of 0 ranks"));
  EXPECT_THAT(said([&] { Mesh::emulated({{"x", 2}, {"x", 2}}); }), testing::HasSubstr("two axes \"x\""));
  EXPECT_THAT(said([&] {
                shard([](const Array& b) { return halo_exchange(b, "x", 3); },
                      {.mesh = four(), .in = {{"x"}}, .out = {{"x"}}})(x);
              }),
              testing::HasSubstr("a width of 3"));
  const auto ragged = [&](const Array& sizes, int64_t rows) {
    return said(on_x([=](const Array& b) {
      const Array none = zeros({4}, i32);
      return ragged_all_to_all(b, {none, sizes}, {none, none}, rows, "x");
    }));
  };
  EXPECT_THAT(ragged(zeros({3}, i32), 2), testing::HasSubstr("send.sizes i32[3]"));
  EXPECT_THAT(ragged(zeros({4}, f32), 2), testing::HasSubstr("send.sizes f32[4]"));
  EXPECT_THAT(ragged(zeros({4}, i32), -2), testing::HasSubstr("-2 rows"));
  EXPECT_THAT(ragged(zeros({4}, i32), int64_t{1} << 62), testing::HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(said(on_x([](const Array& b) {  // a size that wraps to a small one
                const Array none = zeros({4}, i32), rows = zeros({2, 8});
                return ragged_all_to_all(rows + sum(b), {none, none}, {none, none}, (int64_t{1} << 61) + 1, "x");
              })),
              testing::HasSubstr("more than 2^63 bytes"));
}

// Rank 1 has another program.
template <class F, class G>
std::string complaint_of(F f, G other) {
  return message_of<CommunicationError>([&] {
    on_threads({{"x", 3}}, [&](const Mesh& mesh) {
      const auto call = [&](auto g) { shard(g, {.mesh = mesh, .in = {{"x"}}, .out = {{"x"}}})(arange(4.0f)); };
      mesh.rank() == 1 ? call(other) : call(f);
    });
  });
}

TEST(Ranks, OtherProgramsAreFound) {
  const auto sums = [](int64_t n) {
    return
        [=](const Array& b) { return fori_loop(0, n, [](const Array&, const Array& v) { return psum(v, "x"); }, b); };
  };
  const auto send = [](std::vector<std::pair<int64_t, int64_t>> pairs) {
    return [=](const Array& b) { return ppermute(b, "x", pairs); };
  };
  EXPECT_THAT(complaint_of(sums(1), [](const Array& b) { return psum(psum(b, "x"), "x"); }),
              testing::HasSubstr("with 2 collectives"));
  EXPECT_THAT(complaint_of(sums(3), sums(4)), testing::HasSubstr(" runs "));
  EXPECT_THAT(complaint_of(send({{0, 1}}), send({{1, 0}})), testing::HasSubstr(" runs "));
}

TEST(Ranks, ComplexNumbersByTheReference) {
  const Array x = arange(6.0f) * std::complex<float>(1, 2);
  const auto f = [](const Mesh& mesh) {
    return shard([](const Array& b) { return psum(b, "x"); }, {.mesh = mesh, .in = {{"x"}}, .out = {P{}}});
  };
  const Array expected = f(Mesh::emulated({{"x", 3}}))(x);
  on_threads({{"x", 3}}, [&](const Mesh& mesh) {
    const eager_reference by_reference;
    expect_same(f(mesh)(mesh.local(x, {"x"})), expected);
  });
}

}  // namespace
}  // namespace neap
