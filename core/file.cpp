#include "core/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace neap {

namespace {
[[noreturn]] void fail(int error, const std::filesystem::path& path) {
  throw std::system_error(error, std::generic_category(), path.string());
}
}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  static std::atomic<int> counter{0};
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path());
  temporary_ = path_;
  temporary_ += fmt::format(".{}.{}.tmp", getpid(), counter++);
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (!file_) fail(errno, path_);
}

AtomicFile::~AtomicFile() {
  if (file_) std::fclose(file_);
  if (temporary_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::write(const void* data, size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail(errno, path_);
}

void AtomicFile::commit() {
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail(errno, path_);
  std::filesystem::rename(temporary_, path_);
  temporary_.clear();
}

void write_file_atomic(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents.data(), contents.size());
  file.commit();
}

}  // namespace neap
