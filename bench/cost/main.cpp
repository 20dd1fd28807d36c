// neap-cost: predicted time beside measured, for kernels of every kind over sizes: what the cost model's constants
// (planner/kernels/cost.h) are fitted to. Predicted is by those constants, which plans are chosen by everywhere, and by
// what this machine takes for their units (machine.h), to which the last column is the ratio; that of a kind's summary
// is what its constant should be multiplied by.
#include <fmt/format.h>
#include <neap/neap.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/cost/machine.h"
#include "bench/finish.h"
#include "planner/kernels/predict.h"
#include "planner/plan/plan.h"
#include "trace/tracing/tracing.h"

namespace {

namespace nr = neap::random;
namespace predicted = neap::planner::predicted;
using neap::Array, neap::tracing::apply, neap::tracing::Attr, neap::tracing::Op;

struct Kernel {
  std::string name;
  std::vector<int64_t> sizes;
  std::function<std::vector<Array>(int64_t n)> arguments;
  std::function<Array(const std::vector<Array>&)> run;
  bool indexed = false;  // by the second argument
};

Array floats(neap::Shape shape) { return nr::uniform(nr::key(1), std::move(shape)); }
// Others in each call.
Array indices(int64_t n, int64_t below) {
  static uint64_t calls = 0;
  return neap::convert(nr::uniform(nr::key(++calls), {n}) * static_cast<float>(below), neap::i32);
}
// Calls with different indices, so that no cache holds just those rows of a table that they read.
constexpr size_t kIndices = 16;

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
      {"polynomial", kSizes, one, [](const auto& in) { return bench::polynomial(in[0]); }},
      {"exp", kSizes, one, [](const auto& in) { return neap::exp(in[0]); }},
      {"sin", kSizes, one, [](const auto& in) { return neap::sin(in[0]); }},
      {"tanh", kSizes, one, [](const auto& in) { return neap::tanh(in[0]); }},
      {"log", kSizes, one, [](const auto& in) { return neap::log(in[0]); }},
      {"sum", kSizes, one, [](const auto& in) { return neap::sum(in[0]); }},
      {"sum of rows", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::sum(in[0], 1); }},
      {"sum of columns", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::sum(in[0], 0); }},
      {"transpose", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::transpose(in[0]); }},
      {"gather", kSizes, rows, [](const auto& in) { return neap::take(in[0], in[1]); }, true},
      {"scatter", kSizes, rows, [](const auto& in) { return in[0].at(in[1]).add(in[2]); }, true},
      {"gather at 3", kSizes,
       [](int64_t n) {
         return std::vector{floats({128, 128, 128}),
                            neap::stack({indices(n, 128), indices(n, 128), indices(n, 128)}, 1)};
       },
       [](const auto& in) { return neap::gather(in[0], in[1]); }, true},
      {"gather rows",
       {1000, 10'000, 100'000, 1'000'000},
       [](int64_t n) { return std::vector{floats({kTable / 64, 64}), indices(n, kTable / 64)}; },
       [](const auto& in) { return neap::take(in[0], in[1]); },
       true},
      {"scatter rows",
       {1000, 10'000, 100'000, 1'000'000},
       [](int64_t n) { return std::vector{floats({kTable / 64, 64}), indices(n, kTable / 64), floats({n, 64})}; },
       [](const auto& in) { return in[0].at(in[1]).add(in[2]); },
       true},
      {"scatter of cos", kSizes, rows, [](const auto& in) { return in[0].at(in[1]).add(neap::cos(in[2])); }, true},
      {"product", {64, 200, 500, 1500}, square, [](const auto& in) { return neap::matmul(in[0], in[1]); }},
      {"thin product",
       {64, 200, 500, 1500},
       square,
       [](const auto& in) { return neap::matmul(in[0], neap::slice_in_dim(in[1], 0, 8, 1)); }},
      {"product in f64",
       {64, 200, 500, 1500},
       [](int64_t n) { return std::vector{floats({n, n}).astype(neap::f64), floats({n, n}).astype(neap::f64)}; },
       [](const auto& in) { return neap::matmul(in[0], in[1]); }},
      {"convolution",
       {14, 28, 56, 112},
       [](int64_t n) { return std::vector{floats({8, 32, n, n}), floats({64, 32, 3, 3})}; },
       [](const auto& in) { return neap::conv_general(in[0], in[1], {.same = true}); }},
      {"depthwise",
       {14, 28, 56, 112},
       [](int64_t n) { return std::vector{floats({8, 64, n, n}), floats({64, 1, 3, 3})}; },
       [](const auto& in) { return neap::conv_general(in[0], in[1], {.same = true, .groups = 64}); }},
      {"transform", {1 << 10, 1 << 14, 1 << 18, 1 << 20}, one, [](const auto& in) { return neap::fft::fft(in[0]); }},
      {"transforms", {100, 300, 1000, 3000}, square, [](const auto& in) { return neap::fft::fft(in[0]); }},
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
      {"svd", kSides, definite, [](const auto& in) { return neap::linalg::svd(in[0]).u; }},
      {"split", kSizes, one, [](const auto& in) { return nr::split(nr::key(3), in[0].shape(0)); }},
      {"fold_in of keys", kSizes, [](int64_t n) { return std::vector{nr::split(nr::key(3), n)}; },
       [](const auto& in) { return neap::vmap([](const Array& key) { return nr::fold_in(key, 7); })(in[0]); }},
      {"split of keys", kSizes, [](int64_t n) { return std::vector{nr::split(nr::key(3), n / 2)}; },
       [](const auto& in) { return neap::vmap([](const Array& key) { return nr::split(key, 2); })(in[0]); }},
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

}  // namespace

int main() {
  const predicted::Machine machine = bench::measure_machine();
  fmt::print("units here: {:.2f} of arithmetic, {:.2f} of keys, {:.2f} of products; a byte", machine.unit,
             machine.split, machine.product);
  for (const predicted::Level& l : machine.levels)
    fmt::print(", {:.2f} read and {:.2f} written up to {:.3g} MiB", l.read, l.write, l.bytes / predicted::kMiB);
  const auto nothing = neap::jit([](const Array& x) { return x + 1.0f; });
  const Array scalar = neap::array(1.0f);
  const double call_alone = bench::fastest_call([&] { nothing(scalar); });
  fmt::print("\na call of itself, which is not counted: {:.2f} us\n", 1e6 * call_alone);
  fmt::print("{:<16} {:>10} {:>12} {:>12} {:>12} {:>8}\n", "kernel", "size", "predicted", "here", "measured", "ratio");
  for (const Kernel& kernel : kernels()) {
    double logs = 0;
    for (const int64_t n : kernel.sizes) {
      const std::vector<Array> arguments = kernel.arguments(n);
      const auto f = neap::jit([&](const std::vector<Array>& in) { return kernel.run(in); });
      const neap::Plan plan = f.plan(arguments);
      std::vector<std::vector<Array>> calls{arguments};
      while (kernel.indexed && calls.size() < kIndices) {
        calls.push_back(arguments);
        calls.back()[1] = kernel.arguments(n)[1];
      }
      size_t call = 0;
      const double measured = bench::fastest_call([&] { f(calls[call++ % calls.size()]); }) - call_alone;
      const double here = neap::planner::predict_on(machine, plan.data()), ratio = measured / here;
      fmt::print("{:<16} {:>10} {:>9.1f} us {:>9.1f} us {:>9.1f} us {:>8.2f}\n", kernel.name, n,
                 plan.data().predicted_seconds * 1e6, here * 1e6, measured * 1e6, ratio);
      logs += std::log(ratio);
    }
    fmt::print("{:<16} {:>57} {:>8.2f}\n", kernel.name, "measured / predicted here, mean of the sizes:",
               std::exp(logs / static_cast<double>(kernel.sizes.size())));
  }
  return bench::finish_output("neap-cost", 0);
}
