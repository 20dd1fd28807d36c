#include "core/file_cache.h"

#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>
#include <vector>

#include "core/file.h"
#include "core/hash.h"
#include "core/os/os.h"

namespace neap {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr std::chrono::hours kUsedAgain{24};  // after so long a file that is read counts as used again

struct Header {
  char magic[8] = {'N', 'E', 'A', 'P', 'K', 'C', '0', '3'};
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

// The name too: a file of ours under another name is none.
uint64_t hash_of(std::string_view name, std::string_view bytes) {
  return xxh3_64(fmt::format("{} {}", name, xxh3_128_hex(bytes)));
}

// What the files may take together; 0 where none are to be kept.
uint64_t most_bytes() {
  const char* text = std::getenv("NEAP_CACHE");
  if (!text || !*text) return kMostBytes;
  if (std::string_view(text) == "off") return 0;
  if (const auto bytes = parse_bytes(text)) return *bytes;
  throw OptionError(fmt::format("NEAP_CACHE: got '{}'; expected off, or bytes, such as 256MiB", text));
}

bool is_ours(const fs::path& file) {
  char magic[sizeof Header::magic] = {};
  try {
    return InputFile(file).read_at(0, magic, sizeof magic) && std::memcmp(magic, Header{}.magic, sizeof magic) == 0;
  } catch (const std::system_error&) {  // removed meanwhile, or nobody may read it
    return false;
  }
}

// Removes files until all together take three quarters of what they may.
void remove_oldest(const fs::path& folder, uint64_t most) {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_symlink(error) || !entry->is_regular_file(error)) continue;
    const uint64_t bytes = entry->file_size(error);
    const auto used = entry->last_write_time(error);
    if (error || !is_ours(entry->path())) continue;  // or another process has removed it
    total += bytes;
    files.push_back({used, bytes, entry->path()});
  }
  if (total <= most) return;
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (total <= most / 4 * 3) break;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

// Looks at the whole folder once for about each 32nd of what it may hold that all processes together store: each begins
// somewhere within the first of those.
void keep_bounded(const fs::path& folder, uint64_t stored) {
  const uint64_t most = most_bytes(), part = std::max<uint64_t>(1, most / 32);
  static std::atomic<uint64_t> since{
      xxh3_64(fmt::format("{} {}", os::process(), std::chrono::steady_clock::now().time_since_epoch().count())) % part};
  if (since.fetch_add(stored) + stored < part) return;
  since = 0;
  remove_oldest(folder, most);
}

}  // namespace

std::optional<std::filesystem::path> cache_folder() {
  if (most_bytes() == 0) return std::nullopt;
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
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  const auto used = fs::last_write_time(*folder / name, error);
  if (!error && now - used > kUsedAgain) fs::last_write_time(*folder / name, now, error);
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
    keep_bounded(*folder, sizeof header + bytes.size());
  } catch (const std::exception&) {  // a full or read-only disk: the next process compiles again
  }
}

}  // namespace neap
