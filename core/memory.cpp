#include <neap/memory.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/heap.h"
#include "core/system_memory.h"

namespace neap {

namespace {

// The number after `key` in a file of lines "key number ..."; nullopt if there is none.
std::optional<size_t> field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    size_t value = 0;
    if (word == key) return file >> value ? std::optional(value) : std::nullopt;
    file.ignore(4096, '\n');
  }
  return std::nullopt;
}

std::optional<size_t> first_number(const std::string& path) {
  std::ifstream file(path);
  size_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// What is left to the process's control group (version 2); nullopt without a limit.
std::optional<size_t> control_group_available() {
  static const std::string folder = [] {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
    }
    return std::string();
  }();
  if (folder.empty()) return std::nullopt;
  const auto limit = first_number(folder + "/memory.max");
  const auto used = first_number(folder + "/memory.current");
  if (!limit || !used) return std::nullopt;
  const size_t reclaimable = std::min(*used, field(folder + "/memory.stat", "file").value_or(0));
  return *limit - std::min(*limit, *used - reclaimable);
}

}  // namespace

std::optional<size_t> detail::available_memory() {
  const std::optional<size_t> kib = field("/proc/meminfo", "MemAvailable:");
  if (!kib) return control_group_available();
  return std::min(*kib << 10, control_group_available().value_or(SIZE_MAX));
}

namespace memory {

size_t live_bytes() { return detail::Heap::instance().live(); }
size_t peak_bytes() { return detail::Heap::instance().peak(); }
void reset_peak() { detail::Heap::instance().reset_peak(); }
void set_limit(std::optional<size_t> bytes) { detail::Heap::instance().set_limit(bytes); }
std::optional<size_t> limit() { return detail::Heap::instance().limit(); }
size_t cached_bytes() { return detail::Heap::instance().cached(); }
void release_cached() { detail::Heap::instance().release_cached(); }

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t peak_resident_bytes() { return field("/proc/self/status", "VmHWM:").value_or(0) << 10; }

bool reset_peak_resident() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

}  // namespace memory
}  // namespace neap
