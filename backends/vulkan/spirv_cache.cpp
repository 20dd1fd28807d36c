#include "backends/vulkan/spirv_cache.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>

#include "backends/vulkan/spirv.h"
#include "core/file.h"
#include "core/hash.h"

namespace neap::vk {

namespace {

struct Header {
  char magic[8] = {'N', 'E', 'A', 'P', 'V', 'K', '0', '1'};
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

}  // namespace

std::optional<std::filesystem::path> cache_folder() {
  std::filesystem::path folder;
  if (const char* name = std::getenv("NEAP_CACHE_DIR")) {
    if (!*name) return std::nullopt;
    folder = name;
  } else if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    folder = std::filesystem::path(xdg) / "neap";
  } else if (const char* home = std::getenv("HOME"); home && *home) {
    folder = std::filesystem::path(home) / ".cache" / "neap";
  } else {
    return std::nullopt;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return std::nullopt;
  return folder;
}

std::optional<std::string> load_cached(std::string_view name) {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  std::ifstream file(*folder / name, std::ios::binary);
  Header header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (std::memcmp(header.magic, Header{}.magic, sizeof header.magic) != 0) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.size() != header.bytes || xxh3_64(bytes) != header.hash) return std::nullopt;
  return bytes;
}

void store_cached(std::string_view name, std::string_view bytes) noexcept {
  try {
    const auto folder = cache_folder();
    if (!folder) return;
    Header header;
    header.bytes = bytes.size();
    header.hash = xxh3_64(bytes);
    AtomicFile file(*folder / name);
    file.write(&header, sizeof header);
    file.write(bytes.data(), bytes.size());
    file.commit();
  } catch (const std::exception&) {  // a full or read-only disk: the next process compiles again
  }
}

}  // namespace neap::vk
