// Programs whose every allocation is refused once: each time the error is a clean one, nothing stays allocated, what
// was donated is there still, and the program works afterwards.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <neap/neap.h>

#include "core/heap.h"
#include "tests/conformance/harness.h"

namespace neap::conformance {

struct FaultyProgram {
  std::string name;
  std::function<Arrays()> inputs;
  std::function<Arrays(const Arrays&)> run;  // one function, whose caches stay
};

inline std::vector<FaultyProgram> faulty_programs() {
  const auto normal = [](const Shape& shape, int seed) { return random::normal(random::key(seed), shape); };
  const auto inputs = [=] { return Arrays{normal({64, 64}, 1), normal({64, 64}, 2), normal({64}, 3)}; };
  const auto layer = [](const Arrays& in) { return tanh(matmul(in[0], in[1]) + in[2]); };
  const auto loss = [=](const Array& w, const Arrays& in) {
    Array x = in[0];
    for (int i = 0; i < 4; ++i) x = tanh(matmul(x, w) + in[2]);
    return sum(x * x);
  };
  const auto adam = [=](const Arrays& in) {  // parameters, two moments, batch
    const Array g = grad([&](const Array& w) { return loss(w, {in[3], w, in[4]}); })(in[0]);
    const Array m = 0.9f * in[1] + 0.1f * g, v = 0.99f * in[2] + 0.01f * g * g;
    return Arrays{in[0] - 0.1f * m / (sqrt(v) + 1e-8f), m, v};
  };
  const auto adam_inputs = [=] {
    return Arrays{normal({64, 64}, 1), normal({64, 64}, 2), normal({64, 64}, 3) * normal({64, 64}, 3),
                  normal({64, 64}, 4), normal({64}, 5)};
  };
  const auto loop = [=](const Arrays& in) {
    const auto [last, all] = scan(
        [&](const Array& x, const Array& row) {
          const Array next = tanh(matmul(x, in[1]) + row);
          return std::pair{next, sum(next, Shape{0})};
        },
        in[0], in[1]);
    return Arrays{last, all};
  };
  const auto jitted = [](const auto& f, JitOptions options = {}) {
    return [g = jit(f, std::move(options))](const Arrays& in) { return g(in); };
  };
  const auto gradient = [=](const Arrays& in) {
    return Arrays{grad([&](const Array& w) { return loss(w, in); })(in[1])};
  };
  const auto wide = [](const Arrays& in) {  // that a budget cuts
    return Arrays{sum(exp(expand_dims(in[0], 2) * expand_dims(in[1], 0)) * 0.001f, Shape{1})};
  };
  return {
      {"jit", inputs, jitted([=](const Arrays& in) { return Arrays{layer(in), sum(in[0])}; })},
      {"naive", inputs, jitted(gradient, {.pipeline = Pipeline::naive})},
      {"eager", inputs, [=](const Arrays& in) { return Arrays{layer(in), sort(in[2]), in[0].at(3).add(in[2])}; }},
      {"grad", inputs, jitted(gradient)},
      {"eager grad", inputs, gradient},
      {"scan", inputs, jitted(loop)},
      {"sort", inputs, jitted([](const Arrays& in) { return Arrays{sort(in[0], 0), argsort(in[2])}; })},
      {"donated", adam_inputs, jitted(adam, {.donate = {0}})},
      {"budget", inputs, jitted(wide, {.memory_budget = 200'000})},
      {"checkpoints", inputs, jitted(gradient, {.memory_budget = 170'000})},
      {"empty", inputs,
       jitted([](const Arrays& in) { return Arrays{zeros({0, 5}), in[0] * 2, sort(zeros({0})), sum(in[1])}; })},
  };
}

struct LiveBytes {
  size_t host = 0, device = 0;
  bool operator==(const LiveBytes&) const = default;
};
inline LiveBytes live_bytes_now() {
  synchronize();
  return {memory::live_bytes(), memory::live_bytes(default_device())};
}

inline std::vector<std::vector<std::byte>> bytes_of(const Arrays& arrays) {
  std::vector<std::vector<std::byte>> all;
  for (const Array& a : arrays) all.emplace_back(a.raw().begin(), a.raw().end());
  return all;
}

/// Returns how many allocations were refused.
inline size_t refuse_each_allocation(const FaultyProgram& program) {
  SCOPED_TRACE(program.name);
  detail::Heap& heap = detail::Heap::instance();
  const auto want = [&] {
    const Arrays in = program.inputs();
    return bytes_of(program.run(in));
  }();
  size_t refusals = 0;
  for (size_t n = 1; n < 10'000; ++n) {
    const Arrays in = program.inputs();
    const auto before_bytes = bytes_of(in);
    const LiveBytes before = live_bytes_now();
    std::vector<std::vector<std::byte>> got;
    heap.refuse(n);
    bool failed = false;
    try {
      const Arrays out = program.run(in);
      synchronize();
      got = bytes_of(out);
    } catch (const OutOfMemoryError&) {
      failed = true;
    } catch (const std::exception& e) {
      heap.refuse(0);
      ADD_FAILURE() << "allocation " << n << ": " << e.what();
      return refusals;
    }
    const bool refused = heap.refused();
    heap.refuse(0);
    if (!refused) {  // there was no n-th allocation
      EXPECT_FALSE(failed);
      EXPECT_EQ(got == want, true) << "after " << refusals << " refusals";
      break;
    }
    ++refusals;
    if (!failed) {  // the driver's side could do without
      EXPECT_EQ(got == want, true) << "allocation " << n;
      continue;
    }
    EXPECT_EQ(live_bytes_now(), before) << "allocation " << n;
    EXPECT_EQ(bytes_of(in) == before_bytes, true) << "allocation " << n << " changed its inputs";
    EXPECT_EQ(bytes_of(program.run(in)) == want, true) << "again, after allocation " << n;
    if (testing::Test::HasFailure()) break;
  }
  return refusals;
}

inline std::ostream& operator<<(std::ostream& out, const LiveBytes& live) {
  return out << live.host << " on the host, " << live.device << " on the device";
}

}  // namespace neap::conformance
