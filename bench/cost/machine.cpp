#include "bench/cost/machine.h"

#include <neap/neap.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/os/os.h"
#include "planner/kernels/traffic.h"
#include "planner/plan/plan.h"

namespace bench {

using neap::Array;
namespace predicted = neap::planner::predicted;

namespace {

Array floats(int64_t n) { return neap::random::uniform(neap::random::key(1), {n}); }

// How many times as long as predicted a function of so many numbers takes, which lie in a cache.
double times_predicted(Array (*function)(const Array&), int64_t n) {
  const auto f = neap::jit(function);
  const Array x = floats(n);
  return fastest_call([&] { f(x); }) / f.plan(x).data().predicted_seconds;
}

Array squared(const Array& x) {
  const Array square = neap::reshape(x, {200, 200});
  return neap::matmul(square, square);
}

Array keys(const Array& x) { return neap::random::split(neap::random::key(3), x.shape(0)); }

// Units that the threads take for what so many bytes take by themselves.
double units_of_bytes(const std::function<void()>& call, double arithmetic, double bytes, double unit) {
  const double shared = fastest_call(call) * predicted::kUnitsPerSecond - unit * (predicted::kStep + predicted::kFork);
  return std::max(0.1, (shared * predicted::kThreads - predicted::kBeside * unit * arithmetic) / bytes);
}

// What a byte costs that is read and that is written where so many are touched.
neap::planner::ByteCost measure_bytes(double bytes, double unit) {
  const auto n = static_cast<int64_t>(bytes / sizeof(float));
  const Array x = floats(n), number = neap::array(1.5f);
  const auto read = neap::jit([](const Array& v) { return neap::sum(v); });
  const auto written = neap::jit([&](const Array& v) { return neap::broadcast_to(v, {n}); });
  return {units_of_bytes([&] { read(x); }, static_cast<double>(n) * predicted::kFold, bytes, unit),
          units_of_bytes([&] { written(number); }, 0, bytes, unit)};
}

}  // namespace

Array polynomial(const Array& x) {
  Array y = x;
  for (int i = 0; i < 10; ++i) y = y * x + 0.5f;
  return y;
}

double fastest_call(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  double best = 1e9, total = 0;
  for (int i = 0; i < 200 && (i < 5 || total < 0.2); ++i) {
    const auto begin = Clock::now();
    call();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

predicted::Machine measure_machine() {
  const neap::os::Caches caches = neap::os::caches();
  const double own = predicted::kThreads * static_cast<double>(caches.of_core);
  const double shared = std::max(2 * own, std::min(static_cast<double>(caches.shared), 64 * predicted::kMiB));
  const double memory = 4 * shared;
  predicted::Machine machine;
  machine.unit = times_predicted(polynomial, 100'000);
  machine.split = times_predicted(keys, 30'000);
  machine.product = times_predicted(squared, 40'000);
  const auto level = [&](double bytes, double touched) {
    const neap::planner::ByteCost cost = measure_bytes(touched, machine.unit);
    return predicted::Level{bytes, cost.read, cost.write};
  };
  machine.levels[0] = level(own / 2, own / 4);
  machine.levels[1] = level(std::min(2 * own, shared), (own + shared) / 3);
  machine.levels[2] = level(shared, 0.75 * shared);
  machine.levels[3] = level(memory, memory);
  return machine;
}

}  // namespace bench
