// What the command line of neap-bench asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct Options {
  std::vector<std::string> cases;  // empty: the default suite
  std::string pipeline = "both";   // naive | planned | both
  std::string size;                // "": the case's default; "full"; or extents, 4096x4096
  std::string dtype;               // "": the case's default
  std::string under = "none";
  std::string form;  // "": the case's first
  std::string strategy;
  int64_t chunks = 0;
  std::string device;  // "": neap::default_device()
  std::optional<size_t> budget;
  int threads = 0;  // 0: all
  int reps = 0;     // 0: up to five, for about ten seconds
  bool plan_only = false, list = false, limits = false, peers = false;
  std::string plan_file, json_file, html_file, trace_file;
};

// A command line that asks for what does not exist. The message carries a hint; the exit code is 2.
struct UsageError {
  std::string message;
};

// Reads the command line. Throws UsageError. nullopt after --help, which is printed.
std::optional<Options> parse_options(int argc, const char* const* argv);

// "4096x4096" -> {4096, 4096}. UsageError unless all extents are whole numbers from 0 to 2^62, the product too.
std::vector<int64_t> parse_extents(const std::string& text);

// "; did you mean 'x'?" with the candidate that is fewest edits away, or "" where none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// UsageError, with a hint, unless value is one of the candidates.
void require_one_of(std::string_view what, const std::string& value, const std::vector<std::string>& candidates);

}  // namespace bench
