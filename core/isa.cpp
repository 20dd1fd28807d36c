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
  const auto has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const auto has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl");
  if (has_avx2) return has_avx512 ? Isa::avx512 : Isa::avx2;
#endif
  return Isa::baseline;
}

Isa chosen() {
  const Isa there = best_isa();
  const char* text = std::getenv("NEAP_ISA");
  if (!text || !*text) return there;
  const auto* at = std::ranges::find(kNames, std::string_view(text));
  const auto asked = static_cast<Isa>(at - std::begin(kNames));
  if (at != std::end(kNames) && asked <= there) return asked;
  throw OptionError(fmt::format("NEAP_ISA: got \"{}\"; expected baseline{}", text,
                                there == Isa::avx512 ? ", avx2 or avx512"
                                : there == Isa::avx2 ? " or avx2, which is the best that this processor has"
                                                     : ", which is the best that this processor has"));
}

}  // namespace

Isa best_isa() {
  static const Isa instance = supported();
  return instance;
}

Isa isa() {
  static const Isa instance = chosen();
  return instance;
}

}  // namespace neap
