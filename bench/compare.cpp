#include "bench/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "bench/checksum.h"
#include "bench/limits/limits.h"

namespace bench {
namespace {

// Zeros on huge pages, as Neap's own buffers are.
template <class T>
std::unique_ptr<T[], void (*)(void*)> huge_array(int64_t n) {
  constexpr size_t kHuge = size_t{2} << 20;
  const size_t bytes = (static_cast<size_t>(n) * sizeof(T) + kHuge - 1) / kHuge * kHuge;
  void* p = std::aligned_alloc(kHuge, bytes);
  if (!p) throw std::bad_alloc();
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 0, bytes);
  return {static_cast<T*>(p), std::free};
}

struct Timed {
  std::vector<double> seconds;
  std::optional<std::string> checksum;
};

template <class F>
std::vector<double> time_of(const Request& r, F f) {
  f();
  std::vector<double> seconds;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto start = now();
  while (static_cast<int>(seconds.size()) < (r.reps > 0 ? r.reps : 5)) {
    const auto begin = now();
    f();
    seconds.push_back(std::chrono::duration<double>(now() - begin).count());
    if (r.reps == 0 && now() - start > std::chrono::seconds(10)) break;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

template <class T>
std::string checksum_of_elements(const T* p, int64_t n) {
  return checksum_of(std::as_bytes(std::span(p, static_cast<size_t>(n))));
}

int threads_of(const Request& r) {
  return r.threads > 0 ? r.threads : static_cast<int>(std::thread::hardware_concurrency());
}

template <class T, class Kernel>
Timed random_kernel(const Request& r, int64_t n, Kernel kernel) {
  const auto out = huge_array<T>(n);
  Timed t{time_of(r, [&] { kernel(0, 42, out.get(), n, threads_of(r)); }), {}};
  t.checksum = checksum_of_elements(out.get(), n);
  return t;
}

std::optional<Timed> random_limit(const Request& r, int64_t n) {
  using limits::normal_bf16, limits::normal_f32, limits::uniform_bf16, limits::uniform_f32;
  const auto call = [](auto kernel) {
    return [kernel](uint32_t a, uint32_t b, auto* out, int64_t n, int threads) {
      limits::run(threads, n, [&](int64_t begin, int64_t end, int) { kernel(a, b, out + begin, begin, end); });
    };
  };
  const bool normal = r.name == "random-normal";
  using Half = void (*)(uint32_t, uint32_t, uint16_t*, int64_t, int64_t);
  using Single = void (*)(uint32_t, uint32_t, float*, int64_t, int64_t);
  if (r.dtype == "bf16") return random_kernel<uint16_t>(r, n, call(normal ? Half{normal_bf16} : Half{uniform_bf16}));
  if (r.dtype == "f32") return random_kernel<float>(r, n, call(normal ? Single{normal_f32} : Single{uniform_f32}));
  return std::nullopt;
}

template <class Index>
Timed gather_limit(const Request& r, int64_t n) {
  const auto index = huge_array<Index>(3 * n);
  const int threads = threads_of(r);
  limits::run(threads, n, [&](int64_t begin, int64_t end, int) {
    std::vector<uint32_t> bits(4096);
    for (int64_t b = begin; b < end; b += 4096) {
      const int64_t stop = std::min(end, b + 4096);
      limits::bits_u32(0, 7, bits.data(), b, stop);
      for (int64_t i = b; i < stop; ++i) {
        for (int k = 0; k < 3; ++k) index[3 * i + k] = static_cast<Index>((bits[i - b] >> (8 * k)) & 127u);
      }
    }
  });
  const auto table = huge_array<float>(limits::kCells);
  if (r.name == "gather-grad") {
    const auto copies = huge_array<float>(limits::kCells * std::max(1, threads - 1));
    return {time_of(r,
                    [&] {
                      std::memset(table.get(), 0, sizeof(float) * limits::kCells);
                      limits::scatter_add_private(2.5f, table.get(), copies.get(), index.get(), n, threads);
                    }),
            checksum_of_elements(table.get(), limits::kCells)};
  }
  std::vector<float> sums(static_cast<size_t>(threads));
  return {time_of(r,
                  [&] {
                    limits::run(threads, n, [&](int64_t b, int64_t e, int t) {
                      sums[static_cast<size_t>(t)] = limits::gather_sum(table.get(), index.get(), b, e);
                    });
                  }),
          {}};
}

Timed monte_carlo_limit(const Request& r, int64_t n) {
  std::vector<limits::Sums> sums(static_cast<size_t>(threads_of(r)));
  return {time_of(r,
                  [&] {
                    limits::run(threads_of(r), n, [&](int64_t b, int64_t e, int t) {
                      sums[static_cast<size_t>(t)] = limits::monte_carlo(0, 7, {100, 105, 0.02f, 0.2f, 1}, b, e);
                    });
                  }),
          {}};
}

std::optional<Timed> limit_of(const Request& r, int64_t n) {
  if (r.under != "none") return std::nullopt;
  if (r.name.starts_with("random-normal") || r.name == "random-uniform") {
    return r.form == "plain" ? random_limit(r, n) : std::nullopt;
  }
  if (r.name == "monte-carlo" && r.form == "value-and-grad" && r.dtype == "f32") return monte_carlo_limit(r, n);
  if (r.name == "gather-forward" || r.name == "gather-grad") {
    if (r.dtype == "i32") return gather_limit<int32_t>(r, n);
    if (r.dtype == "i16") return gather_limit<int16_t>(r, n);
  }
  return std::nullopt;
}

// A row of the request's kind with nothing measured; the row before it has the case's other columns.
Json row_like(const Json& before, const std::string& who) {
  Json row = before;
  row["pipeline"] = who;
  for (const char* key :
       {"planned_peak_bytes", "measured_peak_bytes", "rss_growth_bytes", "lower_bound_bytes", "predicted_seconds",
        "seconds_median", "seconds_min", "elements_per_second", "checksum", "output_sum", "note"}) {
    row[key] = nullptr;
  }
  row["strategies"] = Json::array();
  return row;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

void add_limits(const Request& r, std::vector<Json>& rows) {
  int64_t n = 1;
  for (const int64_t extent : r.shape) n *= extent;
  if (r.device != "cpu" || r.plan_only || n == 0 || rows.back().value("seconds_median", Json()).is_null()) return;
  const auto t = limit_of(r, n);
  if (!t) return;
  Json row = row_like(rows.back(), "by hand");
  const double median = (t->seconds[(t->seconds.size() - 1) / 2] + t->seconds[t->seconds.size() / 2]) / 2;
  row["seconds_median"] = median;
  row["seconds_min"] = t->seconds.front();
  row["elements_per_second"] = static_cast<double>(n) / median;
  if (t->checksum) row["checksum"] = *t->checksum;
  rows.push_back(row);
}

void add_peers(const Request& r, std::vector<Json>& rows) {
  if (!find_case(r.name).has_peers || r.under != "none") return;
  if (!r.plan_only && rows.back().value("seconds_median", Json()).is_null()) return;  // it did not fit
  const char* python = std::getenv("NEAP_PEERS_PYTHON");
  if (!python)
    throw UsageError{"--peers needs NEAP_PEERS_PYTHON, a Python with mlx[cpu] and jax; see bench/peers/README.md"};
  const std::string command =
      fmt::format("{} {} --case {} --size {} --dtype {} --form {} --reps {} --device {}{}", quoted(python),
                  quoted(NEAP_SOURCE_DIR "/bench/peers/peers.py"), r.name, fmt::join(r.shape, "x"), r.dtype, r.form,
                  r.reps > 0 ? r.reps : 3, r.device == "cpu" ? "cpu" : "gpu", r.plan_only ? " --plan-only" : "");
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot start " + command);
  std::string text;
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) text.append(buffer, got);
  const Json before = rows.back();
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const Json peer = Json::parse(text.substr(at, end - at), nullptr, false);
    if (peer.is_discarded()) continue;
    Json row = row_like(before, peer.value("peer", "peer"));
    for (const char* key : {"seconds_median", "seconds_min", "output_sum"}) row[key] = peer.value(key, Json());
    if (!r.plan_only) {  // the work of the same call, however a peer would count it
      const double work = before["elements_per_second"].get<double>() * before["seconds_median"].get<double>();
      row["elements_per_second"] = work / row["seconds_median"].get<double>();
    }
    row[r.plan_only ? "planned_peak_bytes" : "measured_peak_bytes"] = peer["peak_bytes"];
    row["rss_growth_bytes"] = peer.value("resident_bytes", Json());
    row["note"] = fmt::format("version {}", peer.value("version", "?"));
    rows.push_back(row);
  }
}

}  // namespace bench
