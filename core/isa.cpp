#include "core/isa.h"

#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace neap {

namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};

Isa supported() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::avx2;
#endif
  return Isa::baseline;
}

constexpr std::string_view kTiles = "amx";

std::string_view asked_for() {
  const char* text = std::getenv("NEAP_ISA");
  return text ? text : "";
}

Isa chosen() {
  const Isa there = best_isa();
  const std::string_view text = asked_for();
  if (text.empty() || (text == kTiles && has_tiles())) return there;
  const auto* at = std::ranges::find(kNames, text);
  const auto asked = static_cast<Isa>(at - std::begin(kNames));
  if (at != std::end(kNames) && asked <= there) return asked;
  throw OptionError(fmt::format("NEAP_ISA: got \"{}\"; expected baseline{}", text,
                                there == Isa::avx512 ? ", avx2, avx512, or amx where the processor has it"
                                : there == Isa::avx2 ? " or avx2, which is the best that this processor has"
                                                     : ", which is the best that this processor has"));
}

}  // namespace

std::string_view name(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

Isa best_isa() {
  static const Isa instance = supported();
  return instance;
}

Isa isa() {
  static const Isa instance = chosen();
  return instance;
}

bool uses_tiles() {
  static const bool instance = (asked_for().empty() || asked_for() == kTiles) && has_tiles();
  return instance;
}

}  // namespace neap
