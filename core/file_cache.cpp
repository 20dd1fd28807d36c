#include "core/file_cache.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>

#include "core/file.h"
#include "core/hash.h"
#include "core/os/os.h"

namespace neap {

namespace {

struct Header {
  char magic[8] = {'N', 'E', 'A', 'P', 'V', 'K', '0', '2'};
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

// The name too: a file of ours under another name is none.
uint64_t hash_of(std::string_view name, std::string_view bytes) {
  return xxh3_64(fmt::format("{} {}", name, xxh3_128_hex(bytes)));
}

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
  if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), error);
  os::make_private_folder(folder);  // whose contents are this user's, as the XDG rules say
  if (!std::filesystem::is_directory(folder, error)) return std::nullopt;
  return folder;
}

std::optional<std::string> load_cached(std::string_view name) {
  const auto folder = cache_folder();
  if (!folder) return std::nullopt;
  std::optional<std::string> text;
  try {
    text = read_own_file(*folder / name);
  } catch (const std::system_error&) {  // a disk that fails: what is cached is compiled again
  }
  Header header;
  if (!text || text->size() < sizeof header) return std::nullopt;
  std::memcpy(&header, text->data(), sizeof header);
  if (std::memcmp(header.magic, Header{}.magic, sizeof header.magic) != 0) return std::nullopt;
  text->erase(0, sizeof header);
  if (text->size() != header.bytes || hash_of(name, *text) != header.hash) return std::nullopt;
  return text;
}

void store_cached(std::string_view name, std::string_view bytes) noexcept {
  try {
    const auto folder = cache_folder();
    if (!folder) return;
    Header header;
    header.bytes = bytes.size();
    header.hash = hash_of(name, bytes);
    AtomicFile file(*folder / name, AtomicFile::Kind::cache);
    file.write(&header, sizeof header);
    file.write(bytes.data(), bytes.size());
    file.commit();
  } catch (const std::exception&) {  // a full or read-only disk: the next process compiles again
  }
}

}  // namespace neap
