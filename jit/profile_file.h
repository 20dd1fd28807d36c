// NEAP_PROFILE=file.json: what the whole process planned, compiled and ran, step by step, for Perfetto
// (ui.perfetto.dev). The file is written when the process ends. Tested in tests/jit/profile_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/executable.h"

namespace neap {
class JsonWriter;
}

namespace neap::jit_detail {

/// Whether the variable asks for it. The first call reads it, tries whether the file can be made, and says on standard
/// error where it cannot: then nothing is recorded.
bool profile_file_on();

/// Adds what went on between two moments of std::chrono::steady_clock, in seconds: "planning", "compiling".
void note_in_profile_file(std::string_view program, std::string_view what, double begin, double end);
/// Adds the steps of one run.
void note_in_profile_file(std::string_view program, const planner::PlanData& plan,
                          std::span<const backends::StepTiming> timings);

/// A slice of a trace in Chrome's format, and the bytes that are live as it begins. Times are in seconds.
struct TraceSlice {
  std::string_view program, name, strategy;
  double begin = 0, end = 0;
  size_t live_bytes = 0;
  int thread = 1;
};
void write_slice(JsonWriter& out, const TraceSlice& slice);
void write_live_bytes(JsonWriter& out, double at, size_t bytes, int thread = 0);

}  // namespace neap::jit_detail
