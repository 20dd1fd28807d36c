#include "core/dump.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "core/file.h"

namespace neap {

const std::optional<std::filesystem::path>& dump_dir() {
  static const auto& dir = *new auto([]() -> std::optional<std::filesystem::path> {
    const char* name = std::getenv("NEAP_DUMP");
    if (!name || !*name) return std::nullopt;
    std::error_code ignored;  // dump_text reports what it cannot write
    std::filesystem::create_directories(name, ignored);
    return name;
  }());
  return dir;
}

int next_dump_number() {
  static std::atomic<int> counter{0};
  return counter++;
}

void dump_text(std::string_view name, std::string_view text) {
  if (!dump_dir()) return;
  try {
    const std::filesystem::path path = *dump_dir() / name;
    if (std::error_code ignored; name.find('/') != name.npos) {
      std::filesystem::create_directories(path.parent_path(), ignored);
    }
    write_file_atomic(path, text);
  } catch (const std::exception& error) {
    static std::atomic<bool> reported{false};
    // Not fmt::print, which throws where standard error cannot be written.
    if (!reported.exchange(true)) std::fputs(fmt::format("neap: NEAP_DUMP: {}\n", error.what()).c_str(), stderr);
  }
}

}  // namespace neap
