// Random numbers: JAX's (tests/golden/random, made by tools/make_golden.py), known answers of both generators, each
// distribution by its statistics, batches and slices of the same bits, and what is refused.
#include <neap/neap.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace neap {
namespace {

namespace nr = random;
using nlohmann::json;

const std::string folder = NEAP_TESTS_DIR "/golden/random/";

json manifest() {
  std::ifstream file(folder + "manifest.json");
  return json::parse(file);
}

// A number, or an array of them; above the range of int64 only an array of u64 holds it.
Operand bound(const json& b, DType dtype) {
  if (b.is_array()) return array(b.get<std::vector<int64_t>>()).astype(dtype);
  if (dtype == u64) return array(b.get<uint64_t>());
  return b.get<int64_t>();
}

std::optional<Array> draw(const json& entry) {
  const std::string function = entry["function"];
  const json& p = entry["params"];
  Array key = nr::key(static_cast<uint64_t>(entry["seed"].get<int64_t>()));
  const Shape batch = entry["batch"].get<Shape>();
  if (!batch.empty()) key = nr::split(key, batch);
  Shape shape = entry["shape"].get<Shape>();
  shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch.size()));
  const DType dtype = *parse_dtype(entry["dtype"].get<std::string>());
  const auto number = [&](const char* name) { return p[name].get<double>(); };
  if (function == "bits") return nr::bits(key, shape, dtype);
  if (function == "split") return nr::split(key, p["shape_of_keys"].get<Shape>());
  if (function == "fold_in") return nr::fold_in(key, p["data"].get<int64_t>());
  if (function == "uniform" && p["minval"].is_number())
    return nr::uniform(key, shape, dtype, number("minval"), number("maxval"), p.value("exact_jax", false));
  if (function == "randint")
    return nr::randint(key, shape, bound(p["minval"], dtype), bound(p["maxval"], dtype), dtype);
  if (function == "normal") return nr::normal(key, shape, dtype, p.value("exact_jax", false));
  if (function == "exponential") return nr::exponential(key, shape, dtype);
  if (function == "laplace") return nr::laplace(key, shape, dtype);
  if (function == "logistic") return nr::logistic(key, shape, dtype);
  if (function == "cauchy") return nr::cauchy(key, shape, dtype);
  if (function == "gumbel") return nr::gumbel(key, shape, dtype);
  if (function == "truncated_normal") return nr::truncated_normal(key, number("lower"), number("upper"), shape, dtype);
  if (function == "bernoulli" && p["p"].is_number()) return nr::bernoulli(key, number("p"), shape);
  if (p.value("independent", false)) return {};
  std::optional<Array> table, weights;
  if (p.contains("iota")) table = reshape(arange(15).astype(f32), p["iota"].get<Shape>());
  if (p.contains("p") && p["p"].is_array() && function == "choice") weights = array(p["p"].get<std::vector<float>>());
  if (function == "permutation")
    return table ? nr::permutation(key, *table, p["axis"].get<int64_t>()) : nr::permutation(key, p["n"].get<int64_t>());
  if (function == "choice" && !table)
    return nr::choice(key, p["n"].get<int64_t>(), shape, p["replace"].get<bool>(), weights);
  if (function == "choice") return nr::choice(key, *table, {2}, p["replace"].get<bool>(), {}, p["axis"].get<int64_t>());
  const auto numbers = [&](const char* name) { return array(p[name].get<std::vector<double>>()).astype(dtype); };
  if (function == "gamma") return nr::gamma(key, numbers("a"), shape, dtype);
  if (function == "loggamma") return nr::loggamma(key, numbers("a"), shape, dtype);
  if (function == "beta") return nr::beta(key, numbers("a"), numbers("b"), shape, dtype);
  if (function == "dirichlet") return nr::dirichlet(key, numbers("a"), Shape{4}, dtype);
  if (function == "student_t") return nr::student_t(key, numbers("a"), shape, dtype);
  if (function == "chi_squared") return nr::chi_squared(key, numbers("a"), shape, dtype);
  if (function == "binomial") return nr::binomial(key, numbers("count"), numbers("p"), shape, dtype);
  if (function == "poisson") return nr::poisson(key, array(p["a"].get<std::vector<float>>()), shape, dtype);
  if (function == "rademacher") return nr::rademacher(key, shape, dtype);
  return {};
}

TEST(RandomGolden, DrawsWhatJaxDraws) {
  int compared = 0;
  for (const json& entry : manifest()) {
    const auto drawn = draw(entry);
    if (!drawn) continue;
    SCOPED_TRACE(entry.dump());
    const Array expected = load_npy(folder + entry["file"].get<std::string>());
    ASSERT_EQ(drawn->aval(), expected.aval());
    ++compared;
    if (entry["compare"] == "exact") {
      EXPECT_TRUE(std::ranges::equal(drawn->raw(), expected.raw()));
      continue;
    }
    const std::vector<double> a = drawn->to_vector<double>(), b = expected.to_vector<double>();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5 * std::abs(b[i]) + 1e-6) << i;
  }
  EXPECT_GT(compared, 120);
}

TEST(Random, PermutationsAndChoices) {
  const int64_t n = 100'000;
  const std::vector<int32_t> order = sort(nr::permutation(nr::key(5), n)).to_vector<int32_t>();
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_EQ(nr::permutation(nr::key(5), 0).shape(), Shape{0});
  EXPECT_EQ(nr::choice(nr::key(5), 0, {0, 3}).shape(), (Shape{0, 3}));
  // Each order of three elements is as likely as the others, and each element in each place.
  const Array orders = nr::permutation(nr::split(nr::key(6), 60'000), 3);
  const Array code = sum(orders * array({9, 3, 1}), -1);
  std::map<int32_t, int> counts;
  for (const int32_t c : code.to_vector<int32_t>()) ++counts[c];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [c, count] : counts) EXPECT_NEAR(count, 10'000, 5 * std::sqrt(10'000 * 5.0 / 6)) << c;
  // By weight, with and without putting back.
  const Array p = array({0.1f, 0.2f, 0.0f, 0.7f});
  const Array drawn = nr::choice(nr::key(7), 4, {100'000}, true, p);
  EXPECT_NEAR(mean(drawn == 3).item<float>(), 0.7f, 0.01f);
  EXPECT_FALSE(any(drawn == 2).item<bool>());
  const Array firsts =
      vmap([&](const Array& k) { return nr::choice(k, 4, {2}, false, p); })(nr::split(nr::key(8), 20'000));
  EXPECT_FALSE(any(firsts[{slice(), 0}] == firsts[{slice(), 1}]).item<bool>());
  EXPECT_NEAR(mean(firsts[{slice(), 0}] == 3).item<float>(), 0.7f, 0.02f);
  // The second is drawn from what is left: 3 comes second with 0.1 * 0.7 / 0.9 + 0.2 * 0.7 / 0.8.
  EXPECT_NEAR(mean(firsts[{slice(), 1}] == 3).item<float>(), 0.1 * 0.7 / 0.9 + 0.2 * 0.7 / 0.8, 0.02);
}

TEST(Random, KnownAnswersOfThreefry) {
  const Array key = nr::key(42);
  const std::vector<uint32_t> bits = nr::bits(key, {3}).to_vector<uint32_t>();
  EXPECT_EQ(bits, (std::vector<uint32_t>{0x7d1c13a2, 0xae0730d9, 0x9dc3f9f9}));
}

// Salmon et al., the vectors of Random123: block 0 of key 0, and of the key that is all its words.
TEST(Random, KnownAnswersOfPhilox) {
  const Array zero = nr::key(0, nr::Generator::philox);
  EXPECT_EQ(zero.to_vector<uint32_t>(), (std::vector<uint32_t>{0, 0, 0, 0}));
  const std::vector<uint32_t> block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(nr::bits(zero, {4}).to_vector<uint32_t>(), block);
  EXPECT_EQ(nr::bits(zero, {2}, u64).to_vector<uint64_t>(),
            (std::vector<uint64_t>{0x6627e8d5e169c58d, 0xbc57ac4c9b00dbd8}));
  EXPECT_EQ(nr::bits(zero, {4}, u8).to_vector<uint8_t>(), (std::vector<uint8_t>{0xd5, 0x8d, 0x4c, 0xd8}));
  EXPECT_EQ(nr::split(zero, 1).to_vector<uint32_t>(), block);
  EXPECT_EQ(nr::fold_in(zero, 0).to_vector<uint32_t>(), block);
  const Array seeded = nr::key(0x299f31d0a4093822, nr::Generator::philox);
  EXPECT_EQ(seeded.to_vector<uint32_t>(), (std::vector<uint32_t>{0xa4093822, 0x299f31d0, 0, 0}));
  const Array pi = array({0xa4093822u, 0x299f31d0u, 0x13198a2eu, 0x03707344u});
  EXPECT_EQ(nr::fold_in(pi, 0x243f6a88).shape(), Shape{4});
}

// Elements are the words of blocks in order, a new key is a block.
TEST(Random, PhiloxIsOneStream) {
  const Array key = nr::split(nr::key(3, nr::Generator::philox), 2)[1];
  const Array stream = nr::bits(key, {40'000});
  const auto same = [](const Array& a, const Array& b) { return std::ranges::equal(a.raw(), b.raw()); };
  EXPECT_TRUE(same(nr::bits(key, {100, 400}), reshape(stream, {100, 400})));
  EXPECT_TRUE(same(nr::bits(key, {3, 7}), reshape(stream[{slice(21)}], {3, 7})));
  EXPECT_TRUE(same(nr::split(key, 10'000), reshape(stream, {10'000, 4})));
  EXPECT_TRUE(same(nr::fold_in(key, 17), stream[{slice(68, 72)}]));
  const Array pairs = reshape(stream, {20'000, 2}).astype(u64);
  EXPECT_TRUE(same(nr::bits(key, {20'000}, u64), pairs[{slice(), 0}] * (int64_t{1} << 32) + pairs[{slice(), 1}]));
  EXPECT_TRUE(same(nr::bits(key, {40'000}, u16), stream.astype(u16)));
}

const nr::Generator kGenerators[] = {nr::Generator::threefry, nr::Generator::philox};

TEST(Random, ABatchOfKeysDrawsRowByRow) {
  for (const nr::Generator generator : kGenerators) {
    const Array keys = nr::split(nr::key(1, generator), 5);
    const Array all = nr::normal(keys, {3, 7}, bf16);
    for (int64_t i = 0; i < 5; ++i) {
      const Array row = all[i], one = nr::normal(keys[i], {3, 7}, bf16);
      EXPECT_TRUE(std::ranges::equal(row.raw(), one.raw()));
    }
  }
}

class EveryGenerator : public testing::TestWithParam<nr::Generator> {};
INSTANTIATE_TEST_SUITE_P(Random, EveryGenerator, testing::ValuesIn(kGenerators));

TEST_P(EveryGenerator, EveryDistributionDrawsRowByRow) {
  const Array keys = nr::split(nr::key(3, GetParam()), Shape{3, 2});
  const auto check = [&](const char* what, const auto& draw) {
    const Array all = draw(keys);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        const Array row = all[{i, j}], one = draw(keys[{i, j}]);
        ASSERT_EQ(row.shape(), one.shape()) << what;
        EXPECT_TRUE(std::ranges::equal(row.raw(), one.raw())) << what << " " << i << " " << j;
      }
  };
  check("gamma", [](const Array& k) { return nr::gamma(k, array({0.3f, 2.0f}), Shape{4, 2}); });
  check("loggamma", [](const Array& k) { return nr::loggamma(k, 0.5f, Shape{5}); });
  check("beta", [](const Array& k) { return nr::beta(k, 2.0f, array({0.5f, 3.0f})); });
  check("dirichlet", [](const Array& k) { return nr::dirichlet(k, ones({3}), Shape{2}); });
  check("student_t", [](const Array& k) { return nr::student_t(k, 3.0f, Shape{5}); });
  check("chi_squared", [](const Array& k) { return nr::chi_squared(k, 3.0f, Shape{5}); });
  check("poisson", [](const Array& k) { return nr::poisson(k, array({3.0f, 40.0f, 41.0f}), Shape{4, 3}); });
  check("binomial", [](const Array& k) { return nr::binomial(k, array({9.0f, 1000.0f, 500.0f}), 0.5f, Shape{4, 3}); });
  check("permutation", [](const Array& k) { return nr::permutation(k, 7); });
  check("randint", [](const Array& k) { return nr::randint(k, {5}, -3, 1000); });
  check("truncated_normal", [](const Array& k) { return nr::truncated_normal(k, -1.0f, 2.0f, {5}); });
}

TEST(Random, HalfUniformsStayBelowTheBound) {
  for (const DType t : {bf16, f16}) {
    const Array u = nr::uniform(nr::key(0), {200'000}, t, 1.0f, 2.0f);
    EXPECT_LT(max(u).item<float>(), 2.0f);
    EXPECT_GE(min(u).item<float>(), 1.0f);
  }
}

TEST(Random, ManyDistinctHalfNormals) {
  const Array z = nr::normal(nr::key(3), {100'000}, bf16);
  std::set<uint16_t> distinct;
  for (const bfloat16 v : std::span(z.data<bfloat16>(), 100'000)) distinct.insert(v.bits);
  EXPECT_GE(distinct.size(), 2550u);
  EXPECT_LE(distinct.size(), 2800u);
}

// Kolmogorov-Smirnov distance of sorted samples from a distribution.
template <class Cdf>
double distance(std::vector<double> samples, Cdf cdf) {
  std::ranges::sort(samples);
  double d = 0;
  const double n = static_cast<double>(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    const double f = cdf(samples[i]), x = static_cast<double>(i);
    d = std::max({d, f - x / n, (x + 1) / n - f});
  }
  return d * std::sqrt(n);
}

TEST_P(EveryGenerator, DistributionsAreWhatTheySay) {
  const int64_t n = 200'000;
  const Array key = nr::key(11, GetParam());
  const auto normal_cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  EXPECT_LT(distance(nr::normal(key, {n}).to_vector<double>(), normal_cdf), 1.63);  // 1 % point
  EXPECT_LT(distance(nr::normal(key, {n}, f64).to_vector<double>(), normal_cdf), 1.63);
  EXPECT_LT(distance(nr::uniform(key, {n}).to_vector<double>(), [](double x) { return x; }), 1.63);
  EXPECT_LT(distance(nr::exponential(key, {n}).to_vector<double>(), [](double x) { return 1 - std::exp(-x); }), 1.63);
  EXPECT_LT(distance(nr::cauchy(key, {n}).to_vector<double>(), [](double x) { return 0.5 + std::atan(x) / M_PI; }),
            1.63);
  EXPECT_LT(distance(nr::logistic(key, {n}).to_vector<double>(), [](double x) { return 1 / (1 + std::exp(-x)); }),
            1.63);
  EXPECT_LT(distance(nr::gumbel(key, {n}).to_vector<double>(), [](double x) { return std::exp(-std::exp(-x)); }), 1.63);
  const double p = mean(nr::bernoulli(key, 0.3f, Shape{n})).item<float>();
  EXPECT_NEAR(p, 0.3, 5 * std::sqrt(0.21 / n));
}

// A budget slices what draws and what splits keys; sub-keys are keys that were folded.
TEST_P(EveryGenerator, SlicedIsWhole) {
  const Array key = nr::key(4, GetParam());
  const auto same = [](const Array& a, const Array& b) { return std::ranges::equal(a.raw(), b.raw()); };
  const auto f = [](const Array& k) {
    const Array u = nr::uniform(nr::split(k, 509), {257});
    return tanh(matmul(u, nr::uniform(k, {257, 65})));
  };
  const auto whole = jit(f);
  const Array want = whole(key);
  const size_t least = want.bytes(), peak = whole.last_plan().peak_bytes();
  for (const size_t part : {2, 3}) {
    const auto sliced = jit(f, {.memory_budget = least + (peak - least) / part});
    EXPECT_TRUE(same(sliced(key), want)) << sliced.last_plan();
    EXPECT_EQ(std::ranges::count(sliced.last_plan().strategies(), "chunked"), 1) << sliced.last_plan();
  }
  const auto subkeys = jit([](const Array& k) { return nr::bits(k, {1000}); }, {.strategy = "subkey", .chunks = 5});
  const Array rows = nr::bits(nr::fold_in(key, arange(5).astype(u32)), {200});
  EXPECT_TRUE(same(subkeys(key), reshape(rows, {1000})));
}

// Words as counts of their bytes, and neighbours: elements, rows of keys, keys that were split.
TEST_P(EveryGenerator, BitsAreUniformAndIndependent) {
  const int64_t n = 1 << 20;
  const Array key = nr::key(21, GetParam());
  const Array rows = nr::bits(nr::split(key, 64), {n / 64}), columns = swapaxes(rows, 0, 1);
  for (const Array& words : {nr::bits(key, {n}), reshape(rows, {n}), reshape(columns, {n})}) {
    for (const int64_t shift : {0, 8, 16, 24}) {
      const Array bytes = ((words >> full({}, shift, u32)) & full({}, 255, u32)).astype(i32);
      const Array counts = bincount(bytes, 256).astype(f64);
      const double expected = n / 256.0, chi = sum(square(counts - expected)).item<double>() / expected;
      EXPECT_NEAR(chi, 255, 5 * std::sqrt(2 * 255.0));
    }
    const Array u = words.astype(f64) * 0x1p-32 - 0.5;
    for (const int64_t lag : {1, 2, 3, 4, 8, 64}) {
      const double r = mean(u[{slice(n - lag)}] * u[{slice(lag, n)}]).item<double>() * 12;
      EXPECT_NEAR(r, 0, 5 / std::sqrt(static_cast<double>(n))) << lag;
    }
  }
}

TEST_P(EveryGenerator, GammaAndItsKin) {
  const int64_t n = 100'000;
  const auto key = [](uint64_t seed) { return nr::key(seed, GetParam()); };
  const auto moments = [&](const Array& x, double expected, double variance) {
    EXPECT_NEAR(mean(x).item<float>(), expected, 5 * std::sqrt(variance / static_cast<double>(n)));
    EXPECT_NEAR(var(x.astype(f64)).item<double>(), variance, 0.05 * variance);
  };
  for (const double a : {0.3, 1.0, 4.5}) moments(nr::gamma(key(1), a, Shape{n}), a, a);
  const double a = 2, b = 3.5, all = a + b;
  moments(nr::beta(key(2), a, b, Shape{n}), a / all, a * b / (all * all * (all + 1)));
  moments(nr::student_t(key(3), 9.0, Shape{n}), 0, 9.0 / 7);
  moments(nr::chi_squared(key(4), 3.0, Shape{n}), 3, 6);
  const Array point = nr::dirichlet(key(5), array({0.5f, 2.0f, 7.5f}), Shape{n});
  EXPECT_TRUE(allclose(sum(point, -1), 1.0f).item<bool>());
  moments(point[{slice(), 2}], 0.75, 0.75 * 0.25 / 11);
  moments(nr::poisson(key(6), 3.5, Shape{n}), 3.5, 3.5);
  moments(nr::poisson(key(7), 80.0, Shape{n}), 80, 80);
  moments(nr::binomial(key(8), 12, 0.3, Shape{n}), 3.6, 2.52);
  moments(nr::binomial(key(9), 500, 0.7, Shape{n}), 350, 105);
  EXPECT_TRUE(neap::all(isfinite(nr::loggamma(key(10), 1e-4, Shape{1000}))).item<bool>());
}

// The sample at a fixed probability moves with the parameter: against differences in the inverse of what it was drawn
// by. A gamma number of shape 1 is -log(1 - p); for others the mean of f(x) has a derivative that is known.
TEST(Random, GammaHasDerivatives) {
  const int64_t n = 5'000;
  for (const double at : {0.4, 1.0, 3.0, 25.0}) {
    const auto moment = [&](int power) {
      return [=](const Array& a) {
        return mean(power == 1 ? nr::gamma(nr::key(1), a, Shape{n}, f64)
                               : square(nr::gamma(nr::key(1), a, Shape{n}, f64)));
      };
    };
    const Array a = array(at);
    EXPECT_NEAR(grad(moment(1))(a).item<double>(), 1, 0.08) << at;                 // E x = a
    EXPECT_NEAR(grad(moment(2))(a).item<double>() / (2 * at + 1), 1, 0.12) << at;  // E x^2 = a^2 + a
    const auto log_mean = [&](const Array& s) { return mean(nr::loggamma(nr::key(2), s, Shape{n}, f64)); };
    const double trigamma = grad([](const Array& s) { return digamma(s); })(a).item<double>();
    EXPECT_NEAR(grad(log_mean)(a).item<double>() / trigamma, 1, 0.12) << at;  // E log x = digamma(a)
  }
  // Where x itself is rounded to 0: log x is nearly log(p a) / a there.
  const Array tiny = array(1e-5);
  const auto log_of = [](const Array& s) { return nr::loggamma(nr::key(4), s, Shape{}, f64); };
  EXPECT_NEAR(grad(log_of)(tiny).item<double>() / (-log_of(tiny).item<double>() / 1e-5), 1, 1e-3);
  EXPECT_EQ(nr::chi_squared(nr::key(1), static_cast<float>(INFINITY)).item<float>(), INFINITY);
  const auto first = [&](const Array& a) { return mean(nr::beta(nr::key(3), a, 3.0, Shape{n}, f64)); };
  EXPECT_NEAR(grad(first)(array(2.0)).item<double>(), 3.0 / 25, 0.012);  // E x = a / (a + b)
}

TEST(Random, BadInputIsRefused) {
  EXPECT_THROW(nr::gamma(nr::key(0), 0.0), UserError);
  EXPECT_THROW(nr::gamma(nr::key(0), ones({3}), Shape{2}), ShapeError);
  EXPECT_THROW(nr::beta(nr::key(0), 1.0, -1.0), UserError);
  EXPECT_THROW(nr::poisson(nr::key(0), -1.0), UserError);
  EXPECT_THROW(nr::poisson(nr::key(0), 1.0, {}, f32), DTypeError);
  EXPECT_THROW(nr::binomial(nr::key(0), 3, 1.5), UserError);
  EXPECT_THROW(nr::dirichlet(nr::key(0), 1.0), ShapeError);
  EXPECT_THROW(nr::permutation(nr::key(0), -1), UserError);
  EXPECT_THROW(nr::permutation(nr::split(nr::key(0), 2), ones({3})), ShapeError);
  EXPECT_THROW(nr::choice(nr::key(0), 3, {4}, false), UserError);
  EXPECT_THROW(nr::choice(nr::key(0), 0, {4}), UserError);
  EXPECT_THROW(nr::choice(nr::key(0), 3, {4}, true, ones({2})), ShapeError);
  EXPECT_THROW(nr::choice(nr::key(0), 3, {4}, true, ones({3}, i32)), DTypeError);
  EXPECT_THROW(nr::bernoulli(nr::key(0), 1.5f, Shape{3}), UserError);
  EXPECT_THROW(nr::bernoulli(nr::key(0), NAN, Shape{3}), UserError);
  EXPECT_THROW(nr::normal(nr::key(0), {3}, i32), DTypeError);
  EXPECT_THROW(nr::normal(nr::key(0), {-3}), ShapeError);
  EXPECT_THROW(nr::normal(zeros({2}), {3}), DTypeError);
  EXPECT_THROW(nr::uniform(nr::key(0), {3}, f32, zeros({4})), ShapeError);
}

}  // namespace
}  // namespace neap
