// ops: single operations as other libraries have them, at the sizes at which their users compare them (bench/README.md,
// Operations). The size is a part of the longest extents, in thousandths.
#include <algorithm>
#include <cmath>

#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;

struct Convolution {
  int64_t batch, in, side, out, window;
  int64_t stride = 1, groups = 1;
};

enum class Of : uint8_t { result, both_gradients };

std::unique_ptr<Job> build_convolution(const Request& r, const Convolution& c, Of of) {
  const int64_t side = part_of(c.side, r), pad = c.window / 2;
  neap::Windows windows;
  windows.stride = {c.stride, c.stride};
  windows.padding = {{pad, pad}, {pad, pad}};
  windows.groups = c.groups;
  const auto f = [=](const Array& x, const Array& w) { return neap::conv_general(x, w, windows); };
  const int64_t count = (side + 2 * pad - c.window) / c.stride + 1;
  const Array x = spec_of({c.batch, c.in, side, side}), w = spec_of({c.out, c.in / c.groups, c.window, c.window});
  const double terms =
      static_cast<double>(c.batch * c.out * count * count) * static_cast<double>(c.in / c.groups * c.window * c.window);
  if (of == Of::result) return uniform_job(r, f, terms, x, w);
  const auto loss = [=](const Array& a, const Array& b, const Array& ct) { return neap::sum(f(a, b) * ct); };
  return uniform_job(r, neap::grad<0, 1>(loss), 2 * terms, x, w, spec_of({c.batch, c.out, count, count}));
}

template <Of kOf, int64_t... kSizes>
std::unique_ptr<Job> convolution(const Request& r) {
  return build_convolution(r, {kSizes...}, kOf);
}

std::unique_ptr<Job> matmul(const Request& r, neap::DType dtype) {
  const int64_t n = part_of(1024, r);
  const Array side = spec_of({n, n}, dtype);
  return uniform_job(
      r, [](const Array& a, const Array& b) { return neap::matmul(a, b); }, std::pow(static_cast<double>(n), 3), side,
      side);
}

std::unique_ptr<Job> matvec(const Request& r) {
  const int64_t n = part_of(8192, r);
  return uniform_job(
      r, [](const Array& a, const Array& x) { return neap::matmul(a, x); }, static_cast<double>(n * n), spec_of({n, n}),
      spec_of({n}));
}

std::unique_ptr<Job> fft(const Request& r) {
  const int64_t n = int64_t{1} << (20 * r.shape[0] / 1000);
  return uniform_job(
      r, [](const Array& re, const Array& im) { return neap::fft::fft(neap::complex(re, im)); }, static_cast<double>(n),
      spec_of({n}), spec_of({n}));
}

std::unique_ptr<Job> fft2(const Request& r) {
  const int64_t n = int64_t{1} << std::max<int64_t>(1, 10 * r.shape[0] / 1000);
  return uniform_job(
      r, [](const Array& re, const Array& im) { return neap::fft::fft2(neap::complex(re, im)); },
      static_cast<double>(n * n), spec_of({n, n}), spec_of({n, n}));
}

std::unique_ptr<Job> rfft(const Request& r) {
  const int64_t rows = part_of(1000, r);
  return uniform_job(
      r, [](const Array& x) { return neap::fft::rfft(x); }, static_cast<double>(rows * 1024), spec_of({rows, 1024}));
}

std::unique_ptr<Job> top_k(const Request& r) {
  const int64_t rows = part_of(4096, r);
  return uniform_job(
      r, [](const Array& x) { return neap::top_k(x, 10); }, static_cast<double>(rows * 4096), spec_of({rows, 4096}));
}

std::unique_ptr<Job> cumsum(const Request& r) {
  const int64_t n = part_of(1 << 24, r);
  return uniform_job(r, [](const Array& x) { return neap::cumsum(x); }, static_cast<double>(n), spec_of({n}));
}

std::unique_ptr<Job> median(const Request& r) {
  const int64_t rows = part_of(1024, r);
  return uniform_job(
      r, [](const Array& x) { return neap::median(x, 1); }, static_cast<double>(rows * 4096), spec_of({rows, 4096}));
}

std::unique_ptr<Job> scatter_rows(const Request& r) {
  const int64_t rows = part_of(1'000'000, r);
  const auto f = [](const Array& updates, const Array& at) { return neap::zeros({1000, 64}).at({at}).add(updates); };
  auto job = make_job(r, f, std::tuple{spec_of({rows, 64}), spec_of({rows}, neap::i32)}, [=] {
    return std::tuple{host_uniform({rows, 64}, neap::f32, 1), host_indices({rows}, 1000, 2)};
  });
  job->elements = static_cast<double>(rows * 64);
  return job;
}

std::unique_ptr<Job> max_pool_gradient(const Request& r) {
  const int64_t side = part_of(112, r);
  const neap::Windows windows{.stride = {2, 2}, .padding = {{1, 1}, {1, 1}}};
  const auto loss = [=](const Array& x) { return neap::sum(neap::square(neap::max_pool(x, {3, 3}, windows))); };
  return uniform_job(r, neap::grad(loss), static_cast<double>(32 * 64 * side * side), spec_of({32, 64, side, side}));
}

// A matrix with so much on its diagonal that it is positive definite, and its triangles well-conditioned.
Array with_diagonal(const Array& x) { return x + 2.0f * static_cast<float>(x.shape(0)) * neap::eye(x.shape(0)); }

template <int64_t kSide, class F>
std::unique_ptr<Job> factors(const Request& r, const F& f) {
  const int64_t n = part_of(kSide, r);
  const double terms = std::pow(static_cast<double>(n), 3);
  if constexpr (std::is_invocable_v<F, Array, Array>) {
    return uniform_job(r, f, terms, spec_of({n, n}), spec_of({n, n}));
  } else {
    return uniform_job(r, f, terms, spec_of({n, n}));
  }
}

std::unique_ptr<Job> cholesky(const Request& r) {
  return factors<1024>(r, [](const Array& x) { return neap::linalg::cholesky(with_diagonal(x + neap::transpose(x))); });
}

std::unique_ptr<Job> triangular_solve(const Request& r) {
  return factors<1024>(r, [](const Array& x, const Array& b) {
    return neap::linalg::triangular_solve(with_diagonal(x), b, {.lower = true});
  });
}

std::unique_ptr<Job> solve(const Request& r) {
  return factors<1024>(r, [](const Array& x, const Array& b) { return neap::linalg::solve(x, b); });
}

std::unique_ptr<Job> qr(const Request& r) {
  return factors<1024>(r, [](const Array& x) {
    const auto [q, upper] = neap::linalg::qr(x);
    return std::pair{q, upper};
  });
}

std::unique_ptr<Job> svd(const Request& r) {
  return factors<512>(r, [](const Array& x) {
    const auto [u, s, vt] = neap::linalg::svd(x);
    return std::tuple{u, s, vt};
  });
}

std::unique_ptr<Job> eigh(const Request& r) {
  return factors<512>(r, [](const Array& x) {
    const auto [w, v] = neap::linalg::eigh(x + neap::transpose(x));
    return std::pair{w, v};
  });
}

std::unique_ptr<Job> attention(const Request& r) {
  const int64_t length = part_of(1024, r);
  const auto f = [](const Array& q, const Array& k, const Array& v) {
    return neap::matmul(neap::softmax(neap::matmul(q, neap::swapaxes(k, 1, 2)) / 8), v);
  };
  const Array spec = spec_of({8, length, 64});
  return uniform_job(r, f, static_cast<double>(8 * length * length), spec, spec, spec);
}

// Diffusion on the inside of a square, whose border stays: 100 steps.
std::unique_ptr<Job> stencil(const Request& r) {
  const int64_t side = part_of(2048, r), steps = 100;
  const neap::Slice inside(1, -1), before(0, -2), behind(2, neap::none);
  const auto step = [=](const Array&, const Array& u) {
    const Array middle = u[{inside, inside}];
    const Array around = u[{before, inside}] + u[{behind, inside}] + u[{inside, before}] + u[{inside, behind}];
    return u.at({inside, inside}).set(middle + 0.1f * (around - 4.0f * middle));
  };
  return uniform_job(
      r, [=](const Array& u) { return neap::fori_loop(0, steps, step, u); }, static_cast<double>(steps * side * side),
      spec_of({side, side}));
}

// The system of Lorenz by Euler's method: 100,000 steps of three numbers.
std::unique_ptr<Job> lorenz(const Request& r) {
  const int64_t steps = part_of(100'000, r);
  const auto step = [](const Array&, const std::tuple<Array, Array, Array>& state) {
    const auto& [x, y, z] = state;
    const float dt = 0.001f;
    return std::tuple{x + dt * 10 * (y - x), y + dt * (x * (28 - z) - y), z + dt * (x * y - 8 / 3.0f * z)};
  };
  const auto f = [=](const Array& x, const Array& y, const Array& z) {
    return neap::fori_loop(0, steps, step, std::tuple{x, y, z});
  };
  return uniform_job(r, f, static_cast<double>(steps), spec_of({}), spec_of({}), spec_of({}));
}

// The same of one array of three.
std::unique_ptr<Job> lorenz_array(const Request& r) {
  const int64_t steps = part_of(100'000, r);
  const auto step = [](const Array&, const Array& s) {
    const Array x = s[0], y = s[1], z = s[2];
    return Array(s + 0.001f * neap::stack({10 * (y - x), x * (28 - z) - y, x * y - 8 / 3.0f * z}, 0));
  };
  return uniform_job(
      r, [=](const Array& s) { return neap::fori_loop(0, steps, step, s); }, static_cast<double>(steps), spec_of({3}));
}

// Convolutions: batch, in, side, out, window, stride, groups.
constexpr Form kOperations[] = {
    {"conv", convolution<Of::result, 32, 64, 56, 64, 3>},
    {"conv-grad", convolution<Of::both_gradients, 32, 64, 56, 64, 3>},
    {"conv-stem", convolution<Of::result, 8, 3, 224, 64, 7, 2>},
    {"conv-stem-grad", convolution<Of::both_gradients, 8, 3, 224, 64, 7, 2>},
    {"conv-deep", convolution<Of::result, 32, 256, 14, 256, 3>},
    {"conv-deep-grad", convolution<Of::both_gradients, 32, 256, 14, 256, 3>},
    {"conv-strided", convolution<Of::result, 32, 128, 56, 128, 3, 2>},
    {"conv-strided-grad", convolution<Of::both_gradients, 32, 128, 56, 128, 3, 2>},
    {"conv-pointwise", convolution<Of::result, 32, 256, 14, 1024, 1>},
    {"conv-depthwise", convolution<Of::result, 32, 64, 56, 64, 3, 1, 64>},
    {"conv-depthwise-grad", convolution<Of::both_gradients, 32, 64, 56, 64, 3, 1, 64>},
    {"conv-blur", convolution<Of::result, 1, 1, 2048, 1, 21>},
    {"max-pool-grad", max_pool_gradient},
    {"fft", fft},
    {"fft2", fft2},
    {"rfft", rfft},
    {"top-k", top_k},
    {"cumsum", cumsum},
    {"median", median},
    {"scatter-rows", scatter_rows},
    {"attention", attention},
    {"stencil", stencil},
    {"lorenz", lorenz},
    {"lorenz-array", lorenz_array},
    {"matmul", [](const Request& r) { return matmul(r, neap::f32); }},
    {"matmul-f64", [](const Request& r) { return matmul(r, neap::f64); }},
    {"matmul-bf16", [](const Request& r) { return matmul(r, neap::bf16); }},
    {"matvec", matvec},
    {"cholesky", cholesky},
    {"triangular-solve", triangular_solve},
    {"solve", solve},
    {"qr", qr},
    {"svd", svd},
    {"eigh", eigh},
};

}  // namespace

void add_ops_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "ops";
  c.what = "single operations, beside those of other libraries (bench/README.md, Operations)";
  c.size_means = "thousandths of the longest extents";
  c.size = c.full = {1000};
  c.has_peers = true;
  offer_forms(c, kOperations);
  cases.push_back(c);
}

}  // namespace bench
