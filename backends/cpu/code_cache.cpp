#include "backends/cpu/code_cache.h"

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>

#include "core/file_cache.h"
#include "core/hash.h"
#include "core/sanitize.h"

namespace neap::cpu {

namespace {

// Instrumented code calls what only such programs have.
#if defined(NEAP_ASAN) || defined(NEAP_TSAN) || defined(NEAP_UBSAN)
constexpr bool kIsShared = false;
#else
constexpr bool kIsShared = true;
#endif

std::string file_of(const std::string& symbol) { return symbol + ".o"; }

}  // namespace

std::string code_symbol(std::string_view kernel, const CodeTarget& target) {
  return "neap_" +
         xxh3_128_hex(fmt::format("{} {} {} {} {} {} {}\n{}", code_version(), LLVM_VERSION_STRING, target.triple,
                                  target.cpu, target.features, target.unit.bits, target.unit.avx2, kernel));
}

// The text comes first, so that no two kernels can be taken for each other.
std::optional<std::string> load_code(const std::string& symbol, std::string_view kernel) {
  if (!kIsShared) return std::nullopt;
  std::optional<std::string> file = load_cached(file_of(symbol));
  if (!file || !file->starts_with(kernel) || file->size() <= kernel.size()) return std::nullopt;
  return std::move(file->erase(0, kernel.size()));
}

void store_code(const std::string& symbol, std::string_view kernel, std::string_view object) noexcept {
  if (!kIsShared) return;
  try {
    store_cached(file_of(symbol), std::string(kernel).append(object));
  } catch (const std::bad_alloc&) {  // the next process compiles again
  }
}

}  // namespace neap::cpu
