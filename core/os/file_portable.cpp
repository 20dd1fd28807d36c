// With the standard library alone: a file that is replaced loses its mode and owner, links are replaced and not
// followed, and no cache is trusted, as nobody can tell whose it is.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <random>
#include <system_error>
#include <utility>

#include "core/file.h"

namespace neap {

namespace {

[[noreturn]] void fail(int error, const std::filesystem::path& path) {
  if (error == ENOMEM) throw std::bad_alloc();
  throw std::system_error(error, std::generic_category(), path.string());
}

struct Closes {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closes>;

File opened(const std::filesystem::path& path, const char* mode) {
  errno = 0;
  return File(std::fopen(path.string().c_str(), mode));
}

bool seek(std::FILE* file, uint64_t offset) {
#ifdef _WIN32
  return _fseeki64(file, static_cast<__int64>(offset), SEEK_SET) == 0;
#else
  return std::fseek(file, static_cast<long>(offset), SEEK_SET) == 0;
#endif
}

// What the last call of the C library says, or that the device failed, where it says nothing.
[[noreturn]] void fail(const std::filesystem::path& path) { fail(errno != 0 ? errno : EIO, path); }

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(ENOENT, path);
  if (std::filesystem::is_directory(status)) fail(EISDIR, path);
  if (!std::filesystem::is_regular_file(status)) fail(EINVAL, path.string() + ": no regular file");
  if (!opened(path, "rb")) fail(path);
  size_ = std::filesystem::file_size(path);
}

InputFile::~InputFile() = default;

bool InputFile::read_at(uint64_t offset, void* data, size_t bytes) const {
  const File file = opened(path_, "rb");
  return file && seek(file.get(), offset) && std::fread(data, 1, bytes, file.get()) == bytes;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail(EISDIR, path);
  const File file = opened(path, "rb");
  if (!file) fail(path);
  std::string text;
  for (char part[4096]; const size_t got = std::fread(part, 1, sizeof part, file.get());) text.append(part, got);
  if (std::ferror(file.get())) fail(path);
  return text;
}

std::optional<std::string> read_own_file(const std::filesystem::path&) { return std::nullopt; }

void flush_to_disk(const std::filesystem::path&) {}

AtomicFile::AtomicFile(std::filesystem::path path, Kind kind) : path_(std::move(path)) { open(kind); }

void AtomicFile::open(Kind) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (path_.empty()) fail(ENOENT, path_);
  if (std::filesystem::is_directory(status)) fail(EISDIR, path_);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return open_in_place();
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    throw std::system_error(ENOENT, std::generic_category(),
                            fmt::format("{}: there is no folder {}", path_.string(), folder.string()));
  }
  if (std::filesystem::exists(status)) {
    if (!opened(path_, "ab")) fail(path_);  // it may not be written
  }
  open_temporary(0);
}

void AtomicFile::open_in_place() {
  errno = 0;
  file_ = std::fopen(path_.string().c_str(), "r+b");
  if (!file_) fail(path_);
}

void AtomicFile::open_temporary(unsigned) {
  std::random_device random;
  const std::string name = fmt::format(".neap-{:08x}{:08x}{:08x}{:08x}.tmp", random(), random(), random(), random());
  const std::string temporary = (path_.parent_path() / name).string();
  errno = 0;
  file_ = std::fopen(temporary.c_str(), "wbx");
  if (!file_) fail(path_);
  temporary_ = temporary;
}

void AtomicFile::close() noexcept {
  if (file_) std::fclose(file_);
  file_ = nullptr;
  if (!temporary_.empty()) std::remove(temporary_.c_str());
  temporary_.clear();
}

AtomicFile::~AtomicFile() { close(); }

void AtomicFile::write(const void* data, size_t bytes) {
  errno = 0;
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail(path_);
}

void AtomicFile::finish() {
  errno = 0;
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail(path_);
}

void AtomicFile::flush_to_disk() {
  errno = 0;
  if (std::fflush(file_) != 0) fail(path_);
}

void AtomicFile::commit() {
  if (file_) finish();
  if (temporary_.empty()) return;
  std::filesystem::rename(temporary_, path_);  // which replaces what is there, on every system
  temporary_.clear();
}

}  // namespace neap
