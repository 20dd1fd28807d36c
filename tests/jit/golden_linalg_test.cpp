// What jax.numpy.linalg answers: tests/golden/linalg.json, made by tools/golden_linalg.py, which names the calls.
#include "tests/jit/golden.h"

namespace neap {
namespace {

using Inputs = std::map<std::string, Array>;
using linalg::Norm;

void expect_as_f64(const Array& got, const Array& answer) {
  // Integers are i32, as JAX's are where f64 is off.
  const Array expected = is_float(answer.dtype()) ? answer : answer.astype(i32);
  ASSERT_EQ(got.aval(), expected.aval());
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  double largest = 0;
  for (const double v : b)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double tolerance = is_float(got.dtype()) ? 1e-12 * largest + 1e-13 : 0;
    EXPECT_LE(std::abs(a[i] - b[i]), tolerance) << "element " << i << ": " << a[i] << ", " << b[i];
  }
}

void add_factorizations(Calls& calls, Inputs& in) {
  calls["cholesky"] = [&] {
    const Array& p = in["positive"];
    return Arrays{linalg::cholesky(p), linalg::cholesky(p[{0}], true), linalg::cholesky(in["square"])};
  };
  calls["lax.lu"] = [&] {
    Arrays out;
    for (const char* name : {"square", "tall", "wide"}) {
      const linalg::Lu f = linalg::lu(in[name]);
      out.insert(out.end(), {f.lu, f.pivots, f.permutation});
    }
    return out;
  };
  const auto qr = [&](std::vector<const char*> names, linalg::QrMode mode) {
    Arrays out;
    for (const char* name : names) {
      const linalg::Qr f = linalg::qr(in[name], mode);
      out.insert(out.end(), {f.q, f.r});
    }
    return out;
  };
  calls["qr"] = [=] { return qr({"square", "tall", "wide", "batch"}, linalg::QrMode::reduced); };
  calls["qr complete"] = [=] { return qr({"tall", "wide"}, linalg::QrMode::complete); };
  calls["eigvalsh"] = [&] {
    const Array& p = in["positive"];
    return Arrays{linalg::eigvalsh(in["square"]), linalg::eigvalsh(p), linalg::eigh(p).eigenvalues};
  };
  calls["svdvals"] = [&] {
    return Arrays{linalg::svdvals(in["square"]), linalg::svdvals(in["tall"]), linalg::svdvals(in["wide"]),
                  linalg::svdvals(in["batch"])};
  };
}

void add_solutions(Calls& calls, Inputs& in) {
  calls["solve"] = [&] {
    const Array &a = in["square"], &batch = in["batch"];
    return Arrays{linalg::solve(a, in["vector"]), linalg::solve(a, in["columns"]), linalg::solve(batch, flip(batch, 0)),
                  linalg::solve(a, in["positive"])};
  };
  calls["scipy.cho_solve"] = [&] {
    return Arrays{linalg::cho_solve(linalg::cholesky(in["positive"][{0}]), in["columns"])};
  };
  calls["scipy.solve positive"] = [&] { return Arrays{linalg::solve(in["positive"][{0}], in["columns"], true)}; };
  for (int form = 0; form < 8; ++form) {
    const bool left = form & 4, lower = form & 2, transposed = form & 1;
    const std::string digits{left ? '1' : '0', lower ? '1' : '0', transposed ? '1' : '0'};
    calls["lax.triangular_solve " + digits] = [=, &in] {
      const Array b = left ? in["columns"] : transpose(in["columns"]);
      Arrays out;
      for (const bool unit : {true, false})
        out.push_back(linalg::triangular_solve(in["square"], b, {left, lower, transposed, unit}));
      return out;
    };
  }
  calls["inv"] = [&] { return Arrays{linalg::inv(in["square"]), linalg::inv(in["batch"])}; };
  calls["det"] = [&] {
    const Array& small = in["small"];
    return Arrays{linalg::det(in["square"]), linalg::det(in["batch"]), linalg::det(small),
                  linalg::det(small[{slice(2), slice(2)}]), linalg::det(in["singular"])};
  };
  calls["slogdet"] = [&] {
    const linalg::Slogdet one = linalg::slogdet(in["square"]), many = linalg::slogdet(in["batch"]);
    return Arrays{one.sign, one.logabsdet, many.sign, many.logabsdet};
  };
  calls["grad det singular"] = [&] {
    return Arrays{grad([](const Array& a) { return linalg::det(a); })(in["singular"])};
  };
  calls["pinv"] = [&] {
    return Arrays{linalg::pinv(in["square"]), linalg::pinv(in["tall"]), linalg::pinv(in["wide"]),
                  linalg::pinv(in["low"])};
  };
  calls["matrix_rank"] = [&] {
    Arrays out;
    for (const char* name : {"square", "tall", "wide", "low", "batch", "singular"})
      out.push_back(linalg::matrix_rank(in[name]));
    return out;
  };
  calls["lstsq"] = [&] {
    const linalg::Lstsq f = linalg::lstsq(in["tall"], in["long"]), g = linalg::lstsq(in["wide"], in["small"]);
    return Arrays{f.x, f.residuals, f.rank, f.s, g.x, g.rank};
  };
}

void add_norms(Calls& calls, Inputs& in) {
  calls["norm"] = [&] {
    return Arrays{linalg::norm(in["tall"]), linalg::norm(in["vector"]), linalg::norm(in["batch"], {}, Shape{1}, true)};
  };
  for (const double order : {1.0, -1.0, 2.0, -2.0, 3.0, 0.0, 0.5, linalg::inf, -linalg::inf}) {
    calls[fmt::format("norm vector {:g}", order)] = [=, &in] {
      return Arrays{linalg::norm(in["vector"], order), linalg::norm(in["batch"], order, Shape{-1})};
    };
  }
  const auto matrices = [&](const std::string& name, linalg::NormOrder order) {
    calls["norm matrix " + name] = [=, &in] {
      return Arrays{linalg::norm(in["tall"], order), linalg::norm(in["batch"], order, Shape{2, 0}, true)};
    };
  };
  for (const double order : {1.0, -1.0, 2.0, -2.0, linalg::inf, -linalg::inf})
    matrices(fmt::format("{:g}", order), order);
  matrices("fro", Norm::frobenius), matrices("nuc", Norm::nuclear);
  calls["matrix_power"] = [&] {
    Arrays out;
    for (const int64_t n : {0, 1, 2, 5, -2}) out.push_back(linalg::matrix_power(in["batch"], n));
    return out;
  };
  calls["scipy.expm"] = [&] {
    const Array& a = in["square"];
    return Arrays{linalg::expm(a), linalg::expm(0.01 * a), linalg::expm(7 * in["batch"])};
  };
  calls["random.multivariate_normal"] = [&] {
    const Array &mean = in["mean"], &covariance = in["positive"], key = random::key(5);
    return Arrays{random::multivariate_normal(key, mean[{0}], covariance[{0}], Shape{4}),
                  random::multivariate_normal(key, mean, covariance)};
  };
  // How far the samples lie along each vector: signs are nobody's.
  using Method = random::CovarianceMethod;
  for (const auto& [name, method] : {std::pair("eigh", Method::eigh), {"svd", Method::svd}}) {
    calls[fmt::format("random.multivariate_normal {}", name)] = [&in, method = method] {
      const Array &mean = in["mean"], &covariance = in["positive"], key = random::key(5);
      const Array vectors = method == Method::eigh ? linalg::eigh(covariance).eigenvectors : linalg::svd(covariance).u;
      const Array one = random::multivariate_normal(key, mean[{0}], covariance[{0}], Shape{4}, {}, method);
      const Array each = random::multivariate_normal(key, mean, covariance, {}, {}, method);
      return Arrays{abs(matmul(one - mean[{0}], vectors[{0}])),
                    abs(squeeze(matmul(expand_dims(each - mean, 1), vectors), 1))};
    };
  }
  calls["random.orthogonal"] = [&] {
    const Array key = random::key(5);
    return Arrays{random::orthogonal(key, 4, {}, f64), random::orthogonal(key, 3, {2}, f64, 5),
                  random::orthogonal(key, 5, {}, f64, 2)};
  };
}

TEST(GoldenLinalg, AnswersWhatJaxAnswers) {
  const json golden = read_golden("linalg.json");
  Inputs in = inputs_of(golden);
  Calls calls;
  add_factorizations(calls, in), add_solutions(calls, in), add_norms(calls, in);
  expect_answers(golden, calls, expect_as_f64);
}

}  // namespace
}  // namespace neap
