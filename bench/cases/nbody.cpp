// nbody: gravity between all pairs of bodies, by a scan over leapfrog steps; and the gradient of where they end in
// where they start, with all steps to be kept or computed again.
#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;

struct Bodies {
  Array position, velocity;  // [n, 3]
};

constexpr float kStep = 1e-3f, kSoftening = 1e-2f;

Array acceleration(const Array& position, const Array& mass) {
  const Array d = position[{neap::newaxis}] - position[{neap::slice(), neap::newaxis}];  // [n, n, 3]
  const Array distance = neap::sum(neap::square(d), -1) + kSoftening;
  const Array pull = mass * neap::rsqrt(distance) / distance;
  return neap::sum(d * neap::expand_dims(pull, -1), 1);
}

Array kinetic(const Array& velocity, const Array& mass) {
  return 0.5f * neap::sum(mass * neap::sum(neap::square(velocity), 1));
}

// The bodies after all steps, and their kinetic energy after each.
std::pair<Bodies, Array> rollout(const Bodies& start, const Array& mass, int64_t steps) {
  const auto step = [&](const Bodies& b, const Array&) {
    const Array half = b.velocity + (0.5f * kStep) * acceleration(b.position, mass);
    const Array position = b.position + kStep * half;
    const Array velocity = half + (0.5f * kStep) * acceleration(position, mass);
    return std::pair{Bodies{position, velocity}, kinetic(velocity, mass)};
  };
  return neap::scan(step, start, neap::arange(steps));
}

template <class F>
std::unique_ptr<Job> job_of(const Request& r, F f, size_t output_bytes) {
  const int64_t n = r.shape[0];
  const Array points = neap::spec({n, 3}, neap::f32);
  const std::tuple specs{Bodies{points, points}, neap::spec({n}, neap::f32)};
  const auto make = [n] {
    return std::tuple{Bodies{host_uniform({n, 3}, neap::f32, 1), host_uniform({n, 3}, neap::f32, 2)},
                      neap::full({n}, 1.0f / static_cast<float>(n))};
  };
  auto job = make_job(r, std::move(f), specs, make);
  job->output_bytes = output_bytes;
  job->elements = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(r.shape[1]);
  return job;
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t steps = r.shape[1];
  const size_t bodies = 2 * neap::spec({r.shape[0], 3}, neap::f32).bytes();
  if (r.form == "rollout") {
    return job_of(
        r, [steps](const Bodies& start, const Array& mass) { return rollout(start, mass, steps); },
        bodies + sizeof(float) * static_cast<size_t>(steps));
  }
  const auto spread = [steps](const Bodies& start, const Array& mass) {
    return neap::sum(neap::square(rollout(start, mass, steps).first.position));
  };
  return job_of(r, neap::grad(spread), bodies);
}

}  // namespace

void add_nbody_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "nbody";
  c.what = "gravity between all pairs, a scan over leapfrog steps; or the gradient through all of them";
  c.size_means = "bodies x steps";
  c.size = {1024, 20};
  c.full = {65536, 100};
  c.forms = {"rollout", "grad"};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
