// Plan: what a compiled function will do and hold, known before it runs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

namespace planner {
struct PlanData;
}

/// Strategies holds names of strategies, and prints as "chunked, fused".
struct Strategies : std::vector<std::string> {
  using vector::vector;
};
std::ostream& operator<<(std::ostream& out, const Strategies& strategies);

/// Tradeoff is a plan that a budget could get: one point of the curve of peak against time.
struct Tradeoff {
  size_t peak_bytes = 0;
  double predicted_seconds = 0;  // of the cost model, on two threads: for comparing
  std::string how;               // strategy and what it does
};

class Plan {
 public:
  Plan() = default;
  explicit Plan(std::shared_ptr<const planner::PlanData> data) : data_(std::move(data)) {}

  /// Returns the most bytes that a run holds at once: arguments, captured arrays, outputs, intermediates and scratch,
  /// each rounded up to 64. A run's allocator reaches exactly this.
  size_t peak_bytes() const;
  /// Returns the largest sum of live bytes in the plan's order: no placement can be below it.
  size_t lower_bound_bytes() const;
  /// Returns the peak that the naive pipeline would have.
  size_t naive_peak_bytes() const;
  /// Returns the most bytes that a run holds on the host for what a GPU leaves to it (dense factorizations): copies of
  /// what lies in the device's memory, and work space. It is 0 where the host works on arrays in place: then all is in
  /// the peak.
  size_t host_bytes() const;
  size_t num_steps() const;
  /// Returns the names of the strategies in use, sorted: "chunked", "fused", "inplace", "naive", "nocopy-gather-grad",
  /// ...
  Strategies strategies() const;
  /// Returns what the planner chose for the decision whose name contains `what`; empty when there is none.
  std::string decision(const std::string& what) const;

  std::string to_text() const;  // a table: one line a step, peak marked; what std::cout << plan prints
  std::string to_json() const;  // docs/plan-json.md
  std::string to_html() const;  // one self-contained page
  /// Writes the file whole or not at all; throws UserError when it cannot be written.
  void write_json(const std::filesystem::path& path) const;
  void write_html(const std::filesystem::path& path) const;

  const planner::PlanData& data() const { return *data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::shared_ptr<const planner::PlanData> data_;
};

std::ostream& operator<<(std::ostream& out, const Plan& plan);

}  // namespace neap

#pragma GCC visibility pop
