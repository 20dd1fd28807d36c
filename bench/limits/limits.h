// The yardstick: each of Neap's measured cases as one hand-written loop, as fast as this machine can do it.
//
// A kernel fills or reads the elements [begin, end) of a whole that may be larger, on the calling thread; run() spreads
// it over threads. Random numbers are as Neap defines them: element i has the bits w0 ^ w1 of threefry2x32(key; hi(i),
// lo(i)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace limits {

// f(begin, end, thread) on each of `threads` equal parts of [0, n), cut at multiples of 1024.
template <class F>
void run(int threads, int64_t n, F f) {
  auto cut = [&](int t) { return t == threads ? n : n / threads * t / 1024 * 1024; };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back([&, t] { f(cut(t), cut(t + 1), t); });
  f(cut(0), cut(1), 0);
  for (auto& o : others) o.join();
}

// --- random.cpp: out[i - begin] is element i.
void bits_u32(uint32_t k0, uint32_t k1, uint32_t* out, int64_t begin, int64_t end);
void uniform_f32(uint32_t k0, uint32_t k1, float* out, int64_t begin, int64_t end);
void uniform_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t begin, int64_t end);
void normal_f32(uint32_t k0, uint32_t k1, float* out, int64_t begin, int64_t end);
void normal_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t begin, int64_t end);

// --- monte_carlo.cpp: a European call under Black-Scholes and its pathwise derivatives, as sums over samples.
struct Option {
  float spot, strike, rate, sigma, years;
};
struct Sums {
  double payoff = 0, d_spot = 0, d_sigma = 0;
};
Sums monte_carlo(uint32_t k0, uint32_t k1, const Option& option, int64_t begin, int64_t end);

// --- memory.cpp
void fill_u32(uint32_t value, uint32_t* out, int64_t begin, int64_t end);
// Maps `bytes` of fresh memory (with huge pages advised or not), writes one word to each small page of it with
// `threads` threads, and gives back the seconds that the writing took.
double first_touch_seconds(size_t bytes, bool huge_pages, int threads);

// --- gather.cpp: rows of three indices into a 128 x 128 x 128 table, as Neap reads them: a negative index counts from
// the end; out of range, a read is clamped and an update dropped.
inline constexpr int64_t kSide = 128, kCells = kSide * kSide * kSide;
template <class Index>
float gather_sum(const float* table, const Index* rows, int64_t begin, int64_t end);
template <class Index>
void scatter_add(float value, float* table, const Index* rows, int64_t begin, int64_t end);
template <class Index>
void scatter_add_atomic(float value, float* table, const Index* rows, int64_t begin, int64_t end);
// One copy of the table for each thread, added up at the end; `copies` is scratch of (threads - 1) * kCells.
template <class Index>
void scatter_add_private(float value, float* table, float* copies, const Index* rows, int64_t n, int threads);

// --- the whole job, for a harness that compares.
inline void normal_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t n, int threads) {
  run(threads, n, [&](int64_t b, int64_t e, int) { normal_bf16(k0, k1, out + b, b, e); });
}
inline void normal_f32(uint32_t k0, uint32_t k1, float* out, int64_t n, int threads) {
  run(threads, n, [&](int64_t b, int64_t e, int) { normal_f32(k0, k1, out + b, b, e); });
}
inline void uniform_bf16(uint32_t k0, uint32_t k1, uint16_t* out, int64_t n, int threads) {
  run(threads, n, [&](int64_t b, int64_t e, int) { uniform_bf16(k0, k1, out + b, b, e); });
}
inline void uniform_f32(uint32_t k0, uint32_t k1, float* out, int64_t n, int threads) {
  run(threads, n, [&](int64_t b, int64_t e, int) { uniform_f32(k0, k1, out + b, b, e); });
}
inline void bits_u32(uint32_t k0, uint32_t k1, uint32_t* out, int64_t n, int threads) {
  run(threads, n, [&](int64_t b, int64_t e, int) { bits_u32(k0, k1, out + b, b, e); });
}

}  // namespace limits
