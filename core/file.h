// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace neap {

// A file under a temporary name in its folder (made if need be) until commit() renames it; removed if never committed.
// Every function throws std::system_error where the system refuses.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, size_t bytes);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::FILE* file_;
};

void write_file_atomic(const std::filesystem::path& path, std::string_view contents);

}  // namespace neap
