// diffusion-sampler: samples drawn by ancestral denoising, a scan over the steps with fresh noise in each.
#include <numbers>

#include "bench/layers.h"

namespace bench {
namespace {

namespace nr = neap::random;
using neap::Array;

struct Denoiser {
  Layer in, hidden, out;
  Array time;  // [2 * frequencies, hidden]
};

constexpr int64_t kFrequencies = 32;

Denoiser param_specs(int64_t width) {
  return {layer_spec(width, 4 * width), layer_spec(4 * width, 4 * width), layer_spec(4 * width, width),
          neap::spec({2 * kFrequencies, 4 * width}, neap::f32)};
}

// The noise in x [batch, width] at time t in [0, 1].
Array noise_in(const Denoiser& p, const Array& x, const Array& t) {
  const Array angle = t * neap::exp(neap::arange(kFrequencies, neap::f32) * (7.0f / kFrequencies));
  const Array features = neap::concatenate({neap::sin(angle), neap::cos(angle)});
  const Array h = neap::silu(apply(p.in, x) + neap::matmul(features, p.time));
  return apply(p.out, neap::silu(apply(p.hidden, h)));
}

// The share of the signal that is left at time t: the cosine schedule.
Array signal_at(const Array& t) {
  return neap::square(neap::cos((t + 0.008f) * static_cast<float>(std::numbers::pi / 2 / 1.008)));
}

Array sample(const Denoiser& p, const Array& key, int64_t batch, int64_t width, int64_t steps) {
  const auto n = static_cast<float>(steps);
  const auto step = [&](const Array& x, const Array& i) {
    const Array t = neap::convert(i, neap::f32) / n;
    const Array signal = signal_at(t);
    const Array alpha = neap::maximum(signal / signal_at(t - 1 / n), 0.001f);
    const Array mean = (x - (1 - alpha) * neap::rsqrt(1 - signal) * noise_in(p, x, t)) * neap::rsqrt(alpha);
    const Array noise = nr::normal(nr::fold_in(key, i), {batch, width});
    return std::pair{mean + neap::where(i > 1, neap::sqrt(1 - alpha), 0.0f) * noise, nullptr};
  };
  return neap::scan(step, nr::normal(key, {batch, width}), neap::arange(1, steps + 1), {}, true).first;
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t batch = r.shape[0], width = r.shape[1], steps = r.shape[2];
  const auto f = [=](const Denoiser& p, const Array& key) { return sample(p, key, batch, width, steps); };
  auto job = make_job(r, f, std::tuple{param_specs(width), neap::spec({2}, neap::u32)},
                      [=] { return std::tuple{host_weights(param_specs(width), 1), nr::key(42)}; });
  job->output_bytes = neap::Aval{{batch, width}, neap::f32}.bytes();
  job->elements = static_cast<double>(batch * steps);
  return job;
}

}  // namespace

void add_diffusion_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "diffusion-sampler";
  c.what = "samples of a denoising network by a scan over the steps, noise drawn in each";
  c.size_means = "batch x width x steps";
  c.size = {1024, 64, 50};
  c.full = {16384, 1024, 1000};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
