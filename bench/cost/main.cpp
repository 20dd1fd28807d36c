// neap-cost: predicted time beside measured, for kernels of every kind over sizes: what the cost model's constants
// (planner/kernels/cost.h) are fitted to. The last column of a kind's summary is what its constant should be multiplied
// by.
#include <fmt/format.h>
#include <neap/neap.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "bench/finish.h"
#include "planner/plan/plan.h"
#include "trace/tracing/tracing.h"

namespace {

namespace nr = neap::random;
using neap::Array, neap::tracing::apply, neap::tracing::Attr, neap::tracing::Op;

struct Kernel {
  std::string name;
  std::vector<int64_t> sizes;
  std::function<std::vector<Array>(int64_t n)> arguments;
  std::function<Array(const std::vector<Array>&)> run;
};

Array floats(neap::Shape shape) { return nr::uniform(nr::key(1), std::move(shape)); }
Array indices(int64_t n, int64_t below) {
  return neap::convert(nr::uniform(nr::key(2), {n}) * static_cast<float>(below), neap::i32);
}

constexpr int64_t kTable = int64_t{1} << 20;
const std::vector<int64_t> kSizes{10'000, 100'000, 1'000'000, 10'000'000}, kSides{30, 100, 300, 1000};

std::vector<Kernel> kernels() {
  const auto one = [](int64_t n) { return std::vector{floats({n})}; };
  const auto two = [](int64_t n) { return std::vector{floats({n}), floats({n})}; };
  const auto square = [](int64_t n) { return std::vector{floats({n, n}), floats({n, n})}; };
  const auto definite = [](int64_t n) {
    return std::vector{neap::matmul(floats({n, n}), neap::transpose(floats({n, n}))) +
                       static_cast<float>(n) * neap::eye(n)};
  };
  const auto rows = [](int64_t n) { return std::vector{floats({kTable}), indices(n, kTable), floats({n})}; };
  return {
      {"add", kSizes, two, [](const auto& in) { return in[0] + in[1]; }},
      {"polynomial", kSizes, one,
       [](const auto& in) {
         Array x = in[0];
         for (int i = 0; i < 10; ++i) x = x * in[0] + 0.5f;
         return x;
       }},
      {"exp", kSizes, one, [](const auto& in) { return neap::exp(in[0]); }},
      {"sin", kSizes, one, [](const auto& in) { return neap::sin(in[0]); }},
      {"tanh", kSizes, one, [](const auto& in) { return neap::tanh(in[0]); }},
      {"log", kSizes, one, [](const auto& in) { return neap::log(in[0]); }},
      {"sum", kSizes, one, [](const auto& in) { return neap::sum(in[0]); }},
      {"sum of rows", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::sum(in[0], 1); }},
      {"sum of columns", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::sum(in[0], 0); }},
      {"transpose", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::transpose(in[0]); }},
      {"gather", kSizes, rows, [](const auto& in) { return neap::take(in[0], in[1]); }},
      {"scatter", kSizes, rows, [](const auto& in) { return in[0].at(in[1]).add(in[2]); }},
      {"gather at 3", kSizes,
       [](int64_t n) { return std::vector{floats({128, 128, 128}), neap::stack(std::vector(3, indices(n, 128)), 1)}; },
       [](const auto& in) { return neap::gather(in[0], in[1]); }},
      {"gather rows",
       {1000, 10'000, 100'000, 1'000'000},
       [](int64_t n) { return std::vector{floats({kTable / 64, 64}), indices(n, kTable / 64)}; },
       [](const auto& in) { return neap::take(in[0], in[1]); }},
      {"scatter rows",
       {1000, 10'000, 100'000, 1'000'000},
       [](int64_t n) { return std::vector{floats({kTable / 64, 64}), indices(n, kTable / 64), floats({n, 64})}; },
       [](const auto& in) { return in[0].at(in[1]).add(in[2]); }},
      {"scatter of cos", kSizes, rows, [](const auto& in) { return in[0].at(in[1]).add(neap::cos(in[2])); }},
      {"product", {64, 200, 500, 1500}, square, [](const auto& in) { return neap::matmul(in[0], in[1]); }},
      {"thin product",
       {64, 200, 500, 1500},
       square,
       [](const auto& in) { return neap::matmul(in[0], neap::slice_in_dim(in[1], 0, 8, 1)); }},
      {"sort", kSizes, one, [](const auto& in) { return neap::sort(in[0]); }},
      {"argsort", kSizes, one, [](const auto& in) { return neap::argsort(in[0]); }},
      {"cumsum", kSizes, one, [](const auto& in) { return neap::cumsum(in[0], 0); }},
      {"top_k", kSizes, one, [](const auto& in) { return neap::top_k(in[0], 10).first; }},
      {"cholesky", kSides, definite, [](const auto& in) { return neap::linalg::cholesky(in[0]); }},
      {"cholesky tangent", kSides, definite,
       [](const auto& in) { return apply(Op::cholesky_tangent, {in[0], in[0] + 1.0f}, {}, {}); }},
      {"its transpose", kSides, definite,
       [](const auto& in) {
         return apply(Op::cholesky_cotangent, {in[0], in[0] + 1.0f}, {{Attr::packed, int64_t{0}}}, {});
       }},
      {"triangular_solve", kSides, definite,
       [](const auto& in) { return neap::linalg::triangular_solve(in[0], in[0]); }},
      {"solve", kSides, definite, [](const auto& in) { return neap::linalg::solve(in[0], in[0]); }},
      {"qr", kSides, definite, [](const auto& in) { return neap::linalg::qr(in[0]).q; }},
      {"eigh", kSides, definite, [](const auto& in) { return neap::linalg::eigh(in[0]).eigenvectors; }},
      {"svd", {30, 100, 300}, definite, [](const auto& in) { return neap::linalg::svd(in[0]).u; }},
      {"split", kSizes, one, [](const auto& in) { return nr::split(nr::key(3), in[0].shape(0)); }},
      {"fold_in of keys", kSizes, [](int64_t n) { return std::vector{nr::split(nr::key(3), n)}; },
       [](const auto& in) { return neap::vmap([](const Array& key) { return nr::fold_in(key, 7); })(in[0]); }},
      {"random bits",
       {10'000, 100'000, 1'000'000, 10'000'000},
       [](int64_t n) { return std::vector{nr::key(3), neap::zeros({n})}; },
       [](const auto& in) { return nr::uniform(in[0], in[1].shape()); }},
      {"normal",
       {10'000, 100'000, 1'000'000, 10'000'000},
       [](int64_t n) { return std::vector{nr::key(3), neap::zeros({n})}; },
       [](const auto& in) { return nr::normal(in[0], in[1].shape()); }},
  };
}

double measured_seconds(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  run();
  double best = 1e9, total = 0;
  for (int i = 0; i < 200 && (i < 5 || total < 0.2); ++i) {
    const auto begin = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

}  // namespace

int main() {
  fmt::print("{:<16} {:>10} {:>12} {:>12} {:>10}\n", "kernel", "size", "predicted", "measured", "ratio");
  for (const Kernel& kernel : kernels()) {
    double logs = 0;
    for (const int64_t n : kernel.sizes) {
      const std::vector<Array> arguments = kernel.arguments(n);
      const auto f = neap::jit([&](const std::vector<Array>& in) { return kernel.run(in); });
      const double predicted = f.plan(arguments).data().predicted_seconds;
      const double measured = measured_seconds([&] { f(arguments); });
      fmt::print("{:<16} {:>10} {:>9.1f} us {:>9.1f} us {:>10.2f}\n", kernel.name, n, predicted * 1e6, measured * 1e6,
                 measured / predicted);
      logs += std::log(measured / predicted);
    }
    fmt::print("{:<16} {:>46} {:>10.2f}\n", kernel.name,
               "measured / predicted, mean of the sizes:", std::exp(logs / static_cast<double>(kernel.sizes.size())));
  }
  return bench::finish_output("neap-cost", 0);
}
