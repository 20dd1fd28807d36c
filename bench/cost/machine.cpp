#include "bench/cost/machine.h"

#include <neap/neap.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/os/os.h"
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

Array keys(const Array& x) { return neap::random::split(neap::random::key(3), x.shape(0)); }

// Units that a byte takes, read and written alike, where additions of arrays touch so many.
double measure_bytes(size_t bytes, double unit) {
  const auto f = neap::jit([](const Array& x, const Array& y) { return x + y; });
  const auto n = static_cast<int64_t>(bytes / (3 * sizeof(float)));
  const Array x = floats(n), y = floats(n);
  const double seconds = fastest_call([&] { f(x, y); });
  const double shared = seconds * predicted::kUnitsPerSecond - unit * (predicted::kStep + predicted::kFork);
  const double arithmetic = predicted::kBeside * unit * static_cast<double>(n) / predicted::kThreads;
  return std::max(0.1, (shared - arithmetic) * predicted::kThreads / static_cast<double>(bytes));
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
  const auto level = [&](double bytes, double touched, const predicted::Level& like) {
    const double cost = measure_bytes(static_cast<size_t>(touched), machine.unit);
    const double scale = cost / ((2 * like.read + like.write) / 3);  // of two bytes read and one written
    return predicted::Level{bytes, scale * like.read, scale * like.write};
  };
  const auto& [first, second, third, last] = predicted::kLevels;
  machine.levels[0] = level(own, own / 2, first);
  machine.levels[1] = level(std::min(4 * own, shared), (own + shared) / 3, second);
  machine.levels[2] = level(shared, 0.75 * shared, third);
  machine.levels[3] = level(memory, memory, last);
  return machine;
}

}  // namespace bench
