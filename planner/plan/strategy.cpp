#include "planner/plan/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/error.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace neap::planner {

namespace {

// By number; those that can be pinned come first.
constexpr std::string_view kNames[] = {"naive",     "fused",   "chunked", "subkey", "nocopy-gather-grad",
                                       "recompute", "inplace", "opaque",  "host",   "loop",
                                       "branch"};
constexpr std::span kPinned(kNames, static_cast<size_t>(Strategy::opaque));

}  // namespace

std::string_view name(Strategy strategy) { return kNames[static_cast<size_t>(strategy)]; }

std::optional<Strategy> find_strategy(std::string_view name) {
  const auto* it = std::ranges::find(kNames, name);
  if (it == std::end(kNames)) return std::nullopt;
  return static_cast<Strategy>(it - std::begin(kNames));
}

Strategy pinned_strategy(std::string_view name) {
  const std::optional<Strategy> strategy = find_strategy(name);
  if (strategy && *strategy < Strategy::opaque) return *strategy;
  throw OptionError(fmt::format("strategy: got \"{}\"; expected one of {}", name, fmt::join(kPinned, ", ")));
}

}  // namespace neap::planner
