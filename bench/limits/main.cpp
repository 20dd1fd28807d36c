// neap-limits: runs the hand-written kernels alone, checks them, and prints what this machine can do at best.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/finish.h"
#include "bench/limits/limits.h"

namespace {

using limits::kCells;

// Best of several: the machine may be noisy, and a limit is what it can do.
double seconds(const std::function<void()>& f, int reps) {
  double best = 1e30;
  for (int i = 0; i < reps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Zeros on huge pages, as Neap's own allocator asks for: random access then does not miss the TLB.
template <class T>
std::shared_ptr<T[]> huge_array(int64_t n) {
  constexpr size_t kHuge = size_t{2} << 20;
  const size_t bytes = (n * sizeof(T) + kHuge - 1) / kHuge * kHuge;
  void* p = std::aligned_alloc(kHuge, bytes);
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 0, bytes);
  return {static_cast<T*>(p), [](T* q) { std::free(q); }};
}

struct Row {
  std::string kernel, unit;
  double reference[2];  // the design's machine, 1 and 2 threads; 0 where it has no number
  double rate[2];
};

struct Options {
  int reps = 5;
  bool json = false;
};

bool check_bits() {
  struct Answer {
    uint32_t k0, k1;
    int64_t index;
    uint32_t bits;
  };
  const Answer answers[] = {{0, 0, 0, 0xf29a4fa7},
                            {0, 42, 0, 0x7d1c13a2},
                            {0, 42, 1, 0xae0730d9},
                            {0, 42, 2, 0x9dc3f9f9},
                            {0, 42, int64_t{1} << 32, 0xd61fff96},
                            {0x13198a2e, 0x03707344, 0x243f6a8885a308d3, 0x8cafcd3c}};
  bool good = true;
  for (const auto& a : answers) {
    uint32_t got[300];
    limits::bits_u32(a.k0, a.k1, got, a.index, a.index + 300);
    good = good && got[0] == a.bits;
  }
  uint32_t across[600];  // a range that crosses 2^32 equals its two halves
  limits::bits_u32(0, 42, across, (int64_t{1} << 32) - 300, (int64_t{1} << 32) + 300);
  return good && across[300] == 0xd61fff96;
}

// The half kernels deal elements to lanes in another order; they must give the single kernels' numbers, rounded.
bool check_halves() {
  constexpr int64_t kBegin = (int64_t{1} << 32) - 1001, kCount = 5003;
  std::vector<float> f(kCount);
  std::vector<uint16_t> h(kCount);
  const auto same = [&](uint16_t most) {
    for (int64_t i = 0; i < kCount; ++i) {
      const uint32_t b = std::bit_cast<uint32_t>(f[i]);
      const auto rounded = static_cast<uint16_t>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
      if (h[i] != std::min(rounded, most)) return false;
    }
    return true;
  };
  limits::uniform_f32(3, 4, f.data(), kBegin, kBegin + kCount);
  limits::uniform_bf16(3, 4, h.data(), kBegin, kBegin + kCount);
  if (!same(0x3f7f)) return false;
  limits::normal_f32(3, 4, f.data(), kBegin, kBegin + kCount);
  limits::normal_bf16(3, 4, h.data(), kBegin, kBegin + kCount);
  return same(0xffff);
}

Row random_row(const char* name, const Options& o, double ref1, double ref2, std::function<void(int)> f, int64_t n) {
  Row row{name, "Gelem/s", {ref1, ref2}, {}};
  for (int t : {1, 2}) row.rate[t - 1] = n / 1e9 / seconds([&] { f(t); }, o.reps);
  return row;
}

void random_rows(const Options& o, std::vector<Row>& rows) {
  const int64_t n = 4096 * 4096;
  const auto memory = huge_array<uint32_t>(n);
  uint32_t* words = memory.get();
  auto* halves = reinterpret_cast<uint16_t*>(words);
  auto* floats = reinterpret_cast<float*>(words);
  rows.push_back(
      random_row("threefry2x32 bits u32", o, 0.85, 1.66, [&](int t) { limits::bits_u32(0, 42, words, n, t); }, n));
  rows.push_back(
      random_row("uniform bf16", o, 0.84, 1.14, [&](int t) { limits::uniform_bf16(0, 42, halves, n, t); }, n));
  rows.push_back(random_row("normal f32", o, 0.33, 0.7, [&](int t) { limits::normal_f32(0, 42, floats, n, t); }, n));
  rows.push_back(random_row("normal bf16", o, 0.33, 0.7, [&](int t) { limits::normal_bf16(0, 42, halves, n, t); }, n));
  rows.push_back(random_row(
      "monte carlo, value and gradient", o, 0, 0,
      [&](int t) {
        std::vector<limits::Sums> sums(t);
        limits::run(t, n, [&](int64_t b, int64_t e, int i) {
          sums[i] = limits::monte_carlo(0, 42, {100, 105, 0.02f, 0.2f, 1}, b, e);
        });
      },
      n));
}

void memory_rows(const Options& o, std::vector<Row>& rows) {
  const int64_t n = 1 << 27;
  const auto words = huge_array<uint32_t>(n);
  Row fill{"fill u32, reused memory", "GB/s", {9.5, 18}, {}};
  for (int t : {1, 2}) {
    fill.rate[t - 1] =
        4 * n / 1e9 /
        seconds(
            [&] { limits::run(t, n, [&](int64_t b, int64_t e, int) { limits::fill_u32(7, words.get() + b, b, e); }); },
            o.reps);
  }
  rows.push_back(fill);
  const size_t bytes = size_t{1} << 30;
  for (bool huge : {false, true}) {
    Row row{huge ? "first touch, MADV_HUGEPAGE" : "first touch of fresh memory", "GB/s", {huge ? 5.7 : 2.0, 0}, {}};
    for (int t : {1, 2}) {
      double best = 1e30;
      for (int i = 0; i < o.reps; ++i) best = std::min(best, limits::first_touch_seconds(bytes, huge, t));
      row.rate[t - 1] = bytes / 1e9 / best;
    }
    rows.push_back(row);
  }
}

template <class Index>
void gather_rows(const Options& o, const char* name, std::vector<Row>& rows) {
  const int64_t n = 1 << 24;
  std::vector<uint32_t> bits(3 * n);
  limits::bits_u32(0, 7, bits.data(), 3 * n, 2);
  std::vector<Index> index(3 * n);
  std::transform(bits.begin(), bits.end(), index.begin(), [](uint32_t b) { return static_cast<Index>(b % 128); });
  const auto table = huge_array<float>(kCells), copies = huge_array<float>(kCells);
  const bool i32 = sizeof(Index) == 4;
  auto row = [&](const char* what, double ref1, double ref2, const std::function<void(int)>& f) {
    Row r{fmt::format("{} {}", what, name), "Gidx/s", {i32 ? ref1 : 0, i32 ? ref2 : 0}, {}};
    for (int t : {1, 2}) r.rate[t - 1] = n / 1e9 / seconds([&] { f(t); }, o.reps);
    rows.push_back(r);
  };
  float sums[2];
  row("gather and sum", 0.23, 0.45, [&](int t) {
    limits::run(t, n,
                [&](int64_t b, int64_t e, int i) { sums[i] = limits::gather_sum(table.get(), index.data(), b, e); });
  });
  if (sums[0] + sums[1] != 0) throw std::logic_error("the table holds zeros");  // and so the sums are used
  row("scatter-add, private copies", 0.21, 0.43,
      [&](int t) { limits::scatter_add_private(2.5f, table.get(), copies.get(), index.data(), n, t); });
  row("scatter-add, atomic", 0, 0.18, [&](int t) {
    limits::run(t, n,
                [&](int64_t b, int64_t e, int) { limits::scatter_add_atomic(2.5f, table.get(), index.data(), b, e); });
  });
}

void print(const Options& o, const std::vector<Row>& rows) {
  if (o.json) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& r : rows) {
      for (int t : {1, 2})
        out.push_back({{"kernel", r.kernel}, {"threads", t}, {"rate", r.rate[t - 1]}, {"unit", r.unit}});
    }
    std::puts(out.dump(1).c_str());
    return;
  }
  auto ratio = [](double rate, double ref) { return ref > 0 ? fmt::format("{:.2f}x", rate / ref) : std::string("-"); };
  fmt::print("{:<34} {:>9} {:>9} {:>7} {:>7}  {}\n", "kernel", "1 thread", "2 threads", "vs ref", "vs ref", "unit");
  for (const auto& r : rows) {
    fmt::print("{:<34} {:>9.3f} {:>9.3f} {:>7} {:>7}  {}\n", r.kernel, r.rate[0], r.rate[1],
               ratio(r.rate[0], r.reference[0]), ratio(r.rate[1], r.reference[1]), r.unit);
  }
}

// 0 where the text is no number from 1 on.
int count_of(const char* text) {
  int count = 0;
  const char* last = text + std::strlen(text);
  return std::from_chars(text, last, count) == std::from_chars_result{last, std::errc{}} ? std::max(count, 0) : 0;
}

int usage(const char* bad) {
  fmt::print(stderr, "neap-limits: unknown argument '{}'; it takes --json and --reps N\n", bad);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--json")) {
      options.json = true;
    } else if (!std::strcmp(argv[i], "--reps") && i + 1 < argc && count_of(argv[i + 1]) > 0) {
      options.reps = count_of(argv[++i]);
    } else {
      return usage(argv[i]);
    }
  }
  if (!check_bits()) {
    fmt::print(stderr, "neap-limits: threefry's known answers do not hold\n");
    return 1;
  }
  if (!check_halves()) {
    fmt::print(stderr, "neap-limits: bf16 kernels differ from f32 kernels rounded\n");
    return 1;
  }
  std::vector<Row> rows;
  random_rows(options, rows);
  memory_rows(options, rows);
  gather_rows<int32_t>(options, "int32", rows);
  gather_rows<int16_t>(options, "int16", rows);
  print(options, rows);
  return bench::finish_output("neap-limits", 0);
}
