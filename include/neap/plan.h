// Plan: what a compiled function will do and hold, known before it runs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <source_location>
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
/// Writes the names, with commas between.
std::ostream& operator<<(std::ostream& out, const Strategies& strategies);

/// Tradeoff is a plan that a budget could get: one point of the curve of peak against time.
struct Tradeoff {
  size_t peak_bytes = 0;         // in all, as Plan::peak_bytes()
  double predicted_seconds = 0;  // of the cost model, on two threads: for comparing
  std::string how;               // strategy and what it does
};

/// Plan is what jit(f).plan(...) returns: what a call does, step by step, and the memory that it holds. A default one
/// is empty.
class Plan {
 public:
  Plan() = default;  // no plan; reading it is a UserError
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
  /// Returns the number of steps, those in bodies of loops aside.
  size_t num_steps() const;
  /// Returns the names of the strategies in use, sorted: "chunked", "fused", "inplace", "naive", "nocopy-gather-grad",
  /// ... The list lives as long as the plan, or a copy of it.
  const Strategies& strategies() const&;
  Strategies strategies() const&& { return strategies(); }  // the one above: *this has a name
  /// Returns what the planner chose for the decision whose name contains `what`; empty when there is none.
  std::string decision(const std::string& what) const;

  /// Returns a table, one line a step, the peak marked; `std::cout << plan` prints it.
  std::string to_text() const;
  /// Returns the plan as JSON (docs/plan-json.md).
  std::string to_json() const;
  /// Returns the plan as one self-contained page.
  std::string to_html() const;
  /// Writes the plan as JSON: the file whole or not at all. Throws UserError when it cannot be written.
  void write_json(const std::filesystem::path& path, std::source_location loc = std::source_location::current()) const;
  /// Writes the plan as a page, in the same way.
  void write_html(const std::filesystem::path& path, std::source_location loc = std::source_location::current()) const;

  const planner::PlanData& data() const;
  /// Returns whether it holds a plan.
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::shared_ptr<const planner::PlanData> data_;
};

/// Writes what to_text() gives.
std::ostream& operator<<(std::ostream& out, const Plan& plan);

}  // namespace neap

#pragma GCC visibility pop
