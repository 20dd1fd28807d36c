// What ran when: one slice for each step of each plan that runs while a Profile lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace neap {

/// Records the steps of every plan that any thread runs during its life. One at a time: UserError for a second.
class Profile {
 public:
  struct Slice {
    std::string plan, op, strategy;  // as in the plan's report
    double begin = 0, end = 0;       // seconds of std::chrono::steady_clock
    size_t live_bytes = 0;           // that the plan holds during the step
  };

  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The slices so far, in order of their end.
  std::vector<Slice> slices() const;
  /// Chrome's trace-event JSON, which Perfetto (ui.perfetto.dev) opens: steps as slices, live bytes as a counter. The
  /// file appears whole or not at all.
  void write_json(const std::filesystem::path& path) const;
};

}  // namespace neap
