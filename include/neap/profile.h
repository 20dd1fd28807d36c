// Profiles: which step ran when. Every plan that runs while a Profile lives leaves one slice for each of its steps.
#pragma once

#include <cstddef>
#include <filesystem>
#include <source_location>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Profile records the steps of every plan that any thread runs during its life. One may live at a time: a second
/// throws UserError.
class Profile {
 public:
  /// Slice is one step of one run.
  struct Slice {
    std::string plan, op, strategy;  // as in the plan's report
    double begin = 0, end = 0;       // seconds of std::chrono::steady_clock
    size_t live_bytes = 0;           // that the plan holds during the step
  };

  explicit Profile(std::source_location loc = std::source_location::current());
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Returns the slices so far, in order of their end.
  std::vector<Slice> slices() const;
  /// Writes Chrome's trace-event JSON, which Perfetto (ui.perfetto.dev) opens: steps are slices, live bytes a counter.
  /// The file appears whole or not at all.
  void write_json(const std::filesystem::path& path, std::source_location loc = std::source_location::current()) const;
};

}  // namespace neap

#pragma GCC visibility pop
