// What JAX answers for reduce.h, nn.h, image.h, signal.h and the later functions of numpy.h: tests/golden/more.json,
// made by tools/golden_more.py, which names the calls.
#include <neap/image.h>
#include <neap/nn.h>
#include <neap/reduce.h>
#include <neap/signal.h>

#include "tests/jit/golden.h"

namespace neap {
namespace {

using Inputs = std::map<std::string, Array>;

// Sums of products are as near as the rounding of their terms, and of JAX.s weights of pixels: eight units of the
// largest element. Integers are exact.
void expect_near_largest(const Array& got, const Array& expected) {
  ASSERT_EQ(got.aval(), expected.aval());
  if (is_complex(got.dtype())) {
    expect_near_largest(real(got), real(expected)), expect_near_largest(imag(got), imag(expected));
    return;
  }
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  double largest = 0;
  for (const double v : b)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    EXPECT_LE(std::abs(a[i] - b[i]), is_inexact(got.dtype()) ? 8 * 0x1p-23 * largest : 0)
        << "element " << i << ": " << a[i] << ", " << b[i];
  }
}

void add_segments(Calls& calls, Inputs& in) {
  const auto segments = [&](const char* name, Array (*f)(const Operand&, const Operand&, int64_t)) {
    calls[name] = [&in, f] {
      const Array& ids = in["ids"];
      return Arrays{f(in["data"], ids, 5), f(in["row"], ids, 6), f(in["ints"], ids, 4), f(in["bytes"], ids, 200),
                    f(reshape(in["data"][slice(6)], {3, 2, 3}), in["pairs"], 4)};
    };
  };
  segments("segment_sum", segment_sum), segments("segment_prod", segment_prod);
  segments("segment_max", segment_max), segments("segment_min", segment_min);
}

void add_places(Calls& calls, Inputs& in) {
  calls["isin"] = [&] {
    const Array &few = in["few"], &many = in["many"], &ints = in["ints"];
    return Arrays{isin(in["holes"], few),          isin(ints, many),         isin(ints, many, true), isin(many, ints),
                  isin(in["cube"], in["cube"][1]), isin(ints, few[slice(0)])};
  };
  calls["union1d"] = [&] {
    return Arrays{union1d(in["ints"], in["few"], 12), union1d(in["ints"], in["many"], 5),
                  union1d(in["ints"], in["ints"], 9, -77)};
  };
  calls["intersect1d"] = [&] {
    const Array &many = in["many"], &ints = in["ints"];
    return Arrays{intersect1d(ints, in["few"], 4), intersect1d(many, ints, 3), intersect1d(many, ints, 12, -77),
                  intersect1d(ints, ints + 100, 2)};
  };
  calls["setdiff1d"] = [&] {
    return Arrays{setdiff1d(in["ints"], in["few"], 7), setdiff1d(in["many"], in["ints"], 8),
                  setdiff1d(in["holes"], in["ints"], 9, -77)};
  };
  calls["argwhere"] = [&] { return Arrays{argwhere(in["cube"] > 1, 12), argwhere(in["ints"], 9, 42)}; };
  calls["lexsort"] = [&] {
    const Array &many = in["many"], &matrix = in["matrix"];
    return Arrays{lexsort({flip(many) % 7, many % 3, many % 2}), lexsort({matrix > 0, matrix > 1}, 0)};
  };
  calls["unravel_index"] = [&] {
    Arrays all = unravel_index(in["places"], {3, 4, 5});
    all.push_back(unravel_index(in["ints"][slice(3, 7)], {9})[0]);
    return all;
  };
  calls["ravel_multi_index"] = [&] {
    const Arrays index{in["pairs"], in["ints"][{slice(3), newaxis}], in["pairs"] * 3};
    return Arrays{ravel_multi_index(index, {3, 4, 5}), ravel_multi_index(index, {3, 4, 5}, IndexRange::wrap)};
  };
  calls["trace"] = [&] {
    return Arrays{trace(in["matrix"]), trace(in["cube"], 1, 2, 0), trace(in["cube"], -1), trace(in["holes"] > 2)};
  };
  calls["block_diag"] = [&] {
    return Arrays{linalg::block_diag({in["matrix"], in["row"], array(3.0f), in["ints"][{slice(), newaxis}]}),
                  linalg::block_diag({})};
  };
}

// The larger value and its index; of equal ones the first.
struct Best {
  Array value, index;
};
Best best(const Best& a, const Best& b) {
  const Array first = a.value >= b.value;
  return {where(first, a.value, b.value), where(first, a.index, b.index)};
}

void add_windows(Calls& calls, Inputs& in) {
  const auto plus = [](const Array& x, const Array& y) { return x + y; };
  const auto times = [](const Array& x, const Array& y) { return x * y; };
  const auto larger = [](const Array& x, const Array& y) { return maximum(x, y); };
  const auto smaller = [](const Array& x, const Array& y) { return minimum(x, y); };
  const auto log_plus = [](const Array& x, const Array& y) { return logaddexp(x, y); };
  calls["reduce_window"] = [=, &in] {
    const Array &image = in["image"], &line = in["long"];
    return Arrays{reduce_window(image, 0, plus, {2, 3}),
                  reduce_window(image, -INFINITY, larger, {3, 3}, {.stride = {2, 2}, .same = true}),
                  reduce_window(image, 1, times, {2, 2}, {.stride = {1, 2}, .padding = {{1, 0}, {0, 1}}}),
                  reduce_window(in["ints"], 0, plus, {3}, {.stride = {2}}),
                  reduce_window(line, -INFINITY, log_plus, {11}),
                  reduce_window(line, -INFINITY, log_plus, {9}, {.stride = {10}}),
                  reduce_window(line, 0, plus, {10},
                                {.stride = {3}, .padding = {{4, 5}}, .dilation = {3}, .input_dilation = {2}}),
                  reduce_window(in["cube"], INFINITY, smaller, {2}, {.same = true})};
  };
  calls["reduce_window init"] = [=, &in] { return Arrays{reduce_window(in["long"], 2, plus, {4}, {.stride = {3}})}; };
  calls["reduce_window tree"] = [&] {
    const Best all{in["long"], iota({75}, 0)}, none{array(-INFINITY), array(-1)};
    return tree_leaves(reduce_window(all, none, best, {12}, {.stride = {5}, .padding = {{2, 9}}}));
  };
  calls["sum_pool"] = [&] {
    return Arrays{sum_pool(in["image"], {2, 3}, {.stride = {2, 1}}), sum_pool(in["bytes"], {3})};
  };
  calls["reduce"] = [=, &in] {
    const Array& cube = in["cube"];
    return Arrays{reduce(cube, 0, plus, {0, 2}), reduce(cube, -INFINITY, log_plus, 1), reduce(in["ints"], 3, times),
                  reduce(cube, INFINITY, smaller), reduce(in["bytes"], 0, plus)};
  };
  calls["reduce tree"] = [&] {
    const Best all{in["cube"], iota({3, 4, 5}, 1)}, none{array(-INFINITY), array(-1)};
    return tree_leaves(reduce(all, none, best, 1));
  };
}

void add_attention(Calls& calls, Inputs& in) {
  calls["attention"] = [&] {
    const Array &q = in["query"], &k = in["key"], &v = in["value"];
    const auto first_head = [](const Array& x) { return x[{slice(), slice(), slice(1)}]; };
    return Arrays{dot_product_attention(q, k, v), dot_product_attention(q[0], k[0], v[0], {.scale = 0.7}),
                  dot_product_attention(first_head(q), first_head(k), first_head(v)),
                  dot_product_attention(q, first_head(k), first_head(v))};
  };
  calls["attention masks"] = [&] {
    const Array &q = in["query"], &k = in["key"], &v = in["value"], &bias = in["bias"], mask = bias > -0.5f;
    return Arrays{
        dot_product_attention(q, k, v, {.bias = bias}),
        dot_product_attention(q, k, v, {.bias = bias[{0, 0}], .mask = mask[{slice(), slice(1)}]}),
        dot_product_attention(q, k, v, {.is_causal = true}),
        dot_product_attention(q, k, v, {.mask = mask, .is_causal = true}),
        dot_product_attention(q, k, v, {.local_window = std::pair{1, 2}}),
        dot_product_attention(q, k, v, {.query_seq_lengths = array({2, 0}), .key_value_seq_lengths = array({5, 3})}),
        dot_product_attention(q, k, v, {.mask = full({}, false)})};
  };
}

void add_images(Calls& calls, Inputs& in) {
  using image::Method;
  const std::pair<const char*, Method> methods[] = {{"nearest", Method::nearest},
                                                    {"linear", Method::linear},
                                                    {"cubic", Method::cubic},
                                                    {"lanczos3", Method::lanczos3},
                                                    {"lanczos5", Method::lanczos5}};
  for (const auto& [name, method] : methods) {
    calls[std::string("resize ") + name] = [&in, method = method] {
      const Array& x = in["image"];
      return Arrays{image::resize(x, {1, 2, 4, 9}, method), image::resize(x, {1, 2, 14, 3}, method),
                    image::resize(in["ints"], {3}, method), image::resize(x[0], {1, 7, 2}, method, false)};
    };
    if (method == Method::nearest || method == Method::lanczos5) continue;
    calls[std::string("scale_and_translate ") + name] = [&in, method = method] {
      return Arrays{image::scale_and_translate(in["image"][0], {2, 5, 8}, {1, 2}, array({0.6f, 1.4f}),
                                               array({0.5f, -1.0f}), method),
                    image::scale_and_translate(in["row"], {9}, {0}, 0.7f, 2.0f, method, false)};
    };
  }
}

void add_signals(Calls& calls, Inputs& in) {
  for (const auto& [name, m] :
       {std::pair("full", ConvolveMode::full), {"same", ConvolveMode::same}, {"valid", ConvolveMode::valid}})
    calls[std::string("signal ") + name] = [&in, m = m] {
      using namespace signal;
      const Array &a = in["matrix"], &cube = in["cube"], &row = in["row"], &ints = in["ints"];
      const Array b = cube[{0, slice(3), slice(2)}], c = in["long"][slice(9)], z = complex(row, flip(row));
      const Array four = row[slice(4)];
      return Arrays{fftconvolve(a, b, m),
                    fftconvolve(cube[{slice(), slice(3)}], cube[{slice(), slice(1, end)}], m, 1),
                    fftconvolve(z, row[slice(3)], m),
                    fftconvolve(row[slice(3)], c, m),
                    signal::convolve(a, b, m),
                    signal::convolve(four, c, m),
                    signal::convolve(ints, ints[slice(2)], m),
                    signal::convolve(cube, cube[{slice(2), slice(2), slice(2)}], m),
                    signal::correlate(c, four, m),
                    convolve2d(b, a, m),
                    correlate2d(a, b, m),
                    correlate2d(b, a, m),
                    correlate2d(a, a[{slice(2), slice(2)}], m)};
    };
}

void add_bits(Calls& calls, Inputs& in) {
  calls["bitcast"] = [&] {
    const Array& x = in["edges"];
    return Arrays{bitcast(x, u8), bitcast(x, i16), bitcast(bitcast(x, u8), f32),
                  bitcast(reshape(in["many"], {10, 4}).astype(i8), u32),
                  bitcast(reshape(in["row"][slice(6)], {3, 2}), u16)};
  };
  calls["reduce_precision"] = [&] {
    Arrays all;
    for (const auto& [exponent, mantissa] : {std::pair(8, 7), {5, 10}, {4, 3}, {8, 0}, {2, 23}})
      all.push_back(reduce_precision(in["edges"], exponent, mantissa));
    return all;
  };
  calls["at"] = [&] {
    const Array &row = in["row"], at = array({1, 1, 4});
    return Arrays{row.at(at).divide(2.0f),
                  row.at(at[slice(1, end)]).apply([](const Array& x) { return exp(x); }),
                  abs(row).at(slice(2, end)).power(0.5f),
                  in["ints"].at(0).divide(4),
                  row.at(at).subtract(1.5f),
                  in["ints"].at(1).power(3)};
  };
}

void append_pair(Arrays& all, const std::pair<Array, Array>& two) {
  all.push_back(two.first), all.push_back(two.second);
}

void add_numbers(Calls& calls, Inputs& in) {
  calls["gcd"] = [&] { return Arrays{gcd(in["many"], 12), gcd(in["many"][slice(7)], in["ints"])}; };
  calls["lcm"] = [&] { return Arrays{lcm(in["many"], 12), lcm(in["many"][slice(7)], in["ints"])}; };
  calls["frexp"] = [&] {
    Arrays all;
    append_pair(all, frexp(in["edges"][slice(16)])), append_pair(all, frexp(in["row"] * 1e30f));
    return all;
  };
  calls["windows of signals"] = [] {
    Arrays all;
    for (const auto& make : {bartlett, hanning, hamming, blackman})
      for (const int64_t n : {1, 3, 7}) all.push_back(make(n, f32, {}));
    return all;
  };
  calls["nan"] = [&] {
    const Array x = in["holes"][slice(2)];
    Arrays all;
    for (const auto& f : {nanargmax, nanargmin, nancumsum, nancumprod})
      for (const std::optional<int64_t> axis : {std::optional<int64_t>(), {0}, {1}}) all.push_back(f(x, axis, false));
    return all;
  };
  calls["nanargmax of none"] = [&] { return Arrays{nanargmax(in["holes"], 1)}; };
  calls["histogram_bin_edges"] = [&] {
    return Arrays{histogram_bin_edges(in["matrix"], 7), histogram_bin_edges(in["ints"][slice(1)])};
  };
  calls["ediff1d"] = [&] { return Arrays{ediff1d(in["matrix"])}; };
  calls["unwrap"] = [&] {
    const Array x = in["row"] * 9;
    return Arrays{unwrap(x), unwrap(in["matrix"] * 9, {}, 0), unwrap(x, 5.0, -1, 4.0)};
  };
  calls["polynomials"] = [&] {
    const Array &row = in["row"], three = in["ints"][slice(3)];
    return Arrays{polyadd(row, three), polysub(three, row), polymul(row, three), polyder(row),
                  polyder(row, 3),     polyint(row),        polyint(row, 2)};
  };
  calls["polyfit"] = [&] {
    const Array at = linspace(-1, 2, 7), &row = in["row"];
    return Arrays{polyfit(at, row, 2), polyfit(at, in["data"], 3), polyfit(at, row, 1, {}, abs(row))};
  };
}

void add_more_places(Calls& calls, Inputs& in) {
  calls["triangles"] = [] {
    Arrays all;
    append_pair(all, tril_indices(3)), append_pair(all, tril_indices(3, -1, 5));
    append_pair(all, triu_indices(4, 1, 3)), append_pair(all, triu_indices(3, -1));
    return all;
  };
  calls["insert"] = [&] {
    const Array& matrix = in["matrix"];
    return Arrays{insert(in["row"], {2}, 9.0f), insert(matrix, {1, 4, 1}, 7.0f, 0),
                  insert(matrix, {-1}, matrix[{slice(), slice(2)}], 1), insert(matrix, {3, 0}, array({5, 6}))};
  };
  calls["delete_"] = [&] {
    return Arrays{delete_(in["row"], {2}), delete_(in["matrix"], {1, -1, 1}, 1), delete_(in["matrix"], {0, 19})};
  };
  calls["put_along_axis"] = [&] {
    const Array& matrix = in["matrix"];
    const Array index = argsort(matrix, 1)[{slice(), slice(2)}];
    return Arrays{
        put_along_axis(matrix, index, 9.0f, 1),
        put_along_axis(matrix, broadcast_to(index[{slice(1), slice(1)}], {1, 5}), in["row"][{newaxis, slice(5)}], 0)};
  };
  calls["select"] = [&] {
    const Array& matrix = in["matrix"];
    return Arrays{select({matrix > 1, matrix > 0}, {matrix, full({4, 5}, 2)}, -1)};
  };
  calls["packbits"] = [&] {
    const Array set = in["many"] > 0;
    return Arrays{packbits(set), packbits(in["cube"] > 0, 1), packbits(set, {}, true)};
  };
  calls["unpackbits"] = [&] {
    const Array octets = abs(in["places"]).astype(u8);
    return Arrays{unpackbits(octets), unpackbits(octets, 0, 13), unpackbits(octets, 1, 26, true)};
  };
}

TEST(GoldenMore, AnswersWhatJaxAnswers) {
  const json golden = read_golden("more.json");
  Inputs in = inputs_of(golden);
  Calls calls;
  add_segments(calls, in), add_places(calls, in), add_windows(calls, in), add_attention(calls, in),
      add_images(calls, in), add_signals(calls, in), add_bits(calls, in);
  add_numbers(calls, in), add_more_places(calls, in);
  expect_answers(golden, calls, expect_near_largest);
}

TEST(Segments, TakeIdsOfNarrowDtypes) {
  const Array ids = array({0, 127, -1, 127}).astype(i8);
  const Array sums = segment_sum(array({1.0f, 2.0f, 3.0f, 4.0f}), ids, 200);
  EXPECT_EQ(sums[0].item<float>(), 1);
  EXPECT_EQ(sums[127].item<float>(), 6);
  EXPECT_EQ(sum(sums).item<float>(), 7);
  EXPECT_EQ(segment_max(array({uint64_t{5}}), array({1}), 2).to_vector<uint64_t>(), (std::vector<uint64_t>{0, 5}));
  EXPECT_EQ(segment_min(array({int64_t{5}}), array({1}), 2).to_vector<int64_t>(),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::max(), 5}));
  EXPECT_EQ(segment_min(array({true}), array({1}), 2).to_vector<bool>(), (std::vector<bool>{true, true}));
}

TEST(Segments, HalfTypesAddUpInF32) {
  const Array many = full({4096}, 1, bf16);
  EXPECT_EQ(segment_sum(many, zeros({4096}, i32), 1).item<float>(), 4096);
}

TEST(Trace, IsOfAMatrixOrOfAFunction) {
  const auto f = [](const Array& x) { return trace(x) + trace(Operand(x), 1); };
  EXPECT_EQ(f(reshape(arange(9.0f), {3, 3})).item<float>(), 12 + 6);
  const TracedGraph graph = trace(f, spec({3, 3}, f32)),
                    of_two =
                        trace([](const Array& x, const Array& y) { return x + y; }, spec({3}, f32), spec({3}, f32));
  EXPECT_GT(graph.operations(), 1u);
  EXPECT_EQ(of_two.operations(), 1u);
}

TEST(RandomKey, OfATracedSeedIsThatOfTheNumber) {
  const Array seeds = array({int64_t{0}, int64_t{42}, int64_t{-7}, int64_t{1} << 40});
  const std::vector<uint64_t> numbers{0, 42, static_cast<uint64_t>(-7), uint64_t{1} << 40};
  for (const auto generator : {random::Generator::threefry, random::Generator::philox}) {
    const auto one = [=](const Array& seed) { return random::key(seed, generator); };
    const Array all = one(seeds), mapped = jit(vmap(one))(seeds);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto expected = random::key(numbers[i], generator).to_vector<uint32_t>();
      const auto at = static_cast<int64_t>(i);
      EXPECT_EQ(all[at].to_vector<uint32_t>(), expected);
      EXPECT_EQ(mapped[at].to_vector<uint32_t>(), expected);
    }
  }
  EXPECT_EQ(random::key(array(42)).to_vector<uint32_t>(), random::key(42).to_vector<uint32_t>());
  EXPECT_EQ(random::key(array({-7}))[0].to_vector<uint32_t>(),
            random::key(static_cast<uint64_t>(-7)).to_vector<uint32_t>());
}

TEST(Lognormal, IsTheExponentialOfNormals) {
  const Array key = random::key(3), sigma = array({0.5f, 2.0f});
  const Array drawn = random::lognormal(key, sigma, Shape{3, 2});
  const auto got = drawn.to_vector<float>(), expected = exp(sigma * random::normal(key, {3, 2})).to_vector<float>();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6f * expected[i]);
  // jax.random.lognormal(jax.random.key(3), jnp.array([0.5, 2.0]), (3, 2))
  const std::vector<float> jax{0.485232f, 21.731483f, 1.210766f, 51.490826f, 0.745400f, 1.520184f};
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], jax[i], 1e-4f * jax[i]);
  EXPECT_EQ(random::lognormal(key).shape(), Shape{});
  EXPECT_EQ(random::lognormal(key, 1.0f, Shape{4}, bf16).dtype(), bf16);
}

// f is associative but not commutative: x, then y, as affine maps.
struct Affine {
  Array factor, offset;
};
TEST(Reduce, KeepsTheOrderOfElements) {
  const Array factors = array({1.0, 2.0, 3.0, -1.0, 0.5, 2.0, 4.0, 1.5, -2.0, 3.0, 1.0}), offsets = flip(factors);
  const auto then = [](const Affine& x, const Affine& y) {
    return Affine{x.factor * y.factor, x.offset * y.factor + y.offset};
  };
  const Affine none{array(1.0), array(0.0)};
  const auto after = [&](int64_t from, int64_t n) {
    const std::vector<double> a = factors.to_vector<double>(), b = offsets.to_vector<double>();
    double value = 0;
    for (int64_t i = from; i < from + n; ++i) value = value * a[static_cast<size_t>(i)] + b[static_cast<size_t>(i)];
    return value;
  };
  EXPECT_EQ(reduce(Affine{factors, offsets}, none, then).offset.item<double>(), after(0, 11));
  for (const int64_t window : {1, 2, 7, 9, 10, 11}) {
    const Array all = reduce_window(Affine{factors, offsets}, none, then, {window}).offset;
    ASSERT_EQ(all.size(), 12 - window);
    for (int64_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i].item<double>(), after(i, window)) << window << " at " << i;
  }
}

TEST(Reduce, OfNothingIsInit) {
  const auto plus = [](const Array& x, const Array& y) { return x + y; };
  EXPECT_EQ(reduce(zeros({3, 0}), 7, plus, 1).to_vector<float>(), std::vector<float>(3, 7));
  EXPECT_EQ(reduce_window(zeros({2}), 0, plus, {3}).shape(), Shape{0});
}

// As many heads and as long as a model's: the scores alone are 256 MiB.
TEST(Attention, HoldsNoSquareOfTheLength) {
  const Array x = spec({8, 1024, 8, 64}, f32);
  const auto attend = [](const Array& q, const Array& k, const Array& v) { return dot_product_attention(q, k, v); };
  const auto loss = [=](const Array& q, const Array& k, const Array& v) { return sum(square(attend(q, k, v))); };
  EXPECT_LT(jit(attend).plan(x, x, x).peak_bytes(), 4 * x.bytes() + 20'000'000);
  EXPECT_LT(jit(grad<0, 1, 2>(loss)).plan(x, x, x).peak_bytes(), 14 * x.bytes());
}

TEST(Indexing, ByAListOfAnyLength) {
  const Array x = reshape(arange(24.0f), {2, 3, 4});
  std::vector<IndexList::Entry> entries(2, slice());
  entries.emplace_back(1);
  EXPECT_TRUE(array_equal(x[entries], x[{slice(), slice(), 1}]).item<bool>());
  EXPECT_TRUE(array_equal(x.at(entries).add(1), x.at({slice(), slice(), 1}).add(1)).item<bool>());
  EXPECT_TRUE(array_equal(x[std::vector<IndexList::Entry>{}], x).item<bool>());
  const Array outside = x.at(array({5})).get(GatherMode::fill), nearest = x.at(array({5})).get();
  EXPECT_TRUE(all(isnan(outside)).item<bool>());
  EXPECT_TRUE(array_equal(nearest[0], x[1]).item<bool>());
}

TEST(ReducePrecision, IsTheConversionToANarrowDType) {
  const Array x = random::normal(random::key(5), {2000}) * 100;
  EXPECT_TRUE(array_equal(reduce_precision(x, 8, 7), x.astype(bf16).astype(f32)).item<bool>());
  EXPECT_TRUE(array_equal(reduce_precision(x.astype(f64), 8, 23), x.astype(f64)).item<bool>());
  const Array slope = grad([](const Array& v) { return sum(reduce_precision(v, 5, 2)); })(x);
  EXPECT_TRUE(array_equal(slope, ones({2000})).item<bool>());
}

}  // namespace
}  // namespace neap
