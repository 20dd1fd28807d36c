// Files that are read in one go, and files that appear whole or not at all: core/os/file_linux.cpp, and
// core/os/file_portable.cpp, which promises less, as it says. Where the system refuses for want of memory, all of them
// throw std::bad_alloc in place of std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace neap {

// InputFile is a file to read from. The constructor throws std::system_error where it cannot be opened or is no regular
// file.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const { return size_; }
  // Returns false where the file has fewer bytes, or cannot be read.
  bool read_at(uint64_t offset, void* data, size_t bytes) const;

 private:
  std::filesystem::path path_;
  [[maybe_unused]] int fd_ = -1;
  uint64_t size_ = 0;
};

// Returns all bytes of a file, a pipe or a device. Throws std::system_error where the system refuses, or where the path
// names a folder.
std::string read_file(const std::filesystem::path& path);

// Returns all bytes of a regular file that the process's user owns and no other may write, links not followed; nullopt
// where there is no such file. Caches trust such files alone.
std::optional<std::string> read_own_file(const std::filesystem::path& path);

// AtomicFile writes a file under a temporary name beside it until commit() puts it in its place; it is removed if never
// committed.
//
// A file that was there keeps its mode, and its owner and group as far as the process may give them away; one that the
// process may not write is not replaced, nor one of another user's in a sticky folder that all may write. A symbolic
// link is followed, and stays: the file that it names is replaced. Hard links are separated. What is no regular file (a
// terminal, a pipe, /dev/null, /dev/stdout) is never replaced but written to, at once and not whole or not at all. The
// folder must exist.
//
// The temporary name cannot be guessed, and is never one that exists. Every function throws std::system_error where the
// system refuses.
class AtomicFile {
 public:
  enum class Kind {
    users,  // as said above
    cache,  // for this user alone: mode 0600; whatever has the name is replaced, a link too
  };
  explicit AtomicFile(std::filesystem::path path, Kind kind = Kind::users);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, size_t bytes);
  // Writes out what is held back, so that commit() only has to put the file in its place.
  void finish();
  // Returns when what was written is on the disk, so that a loss of power after commit() leaves it. (Portable: as
  // finish().)
  void flush_to_disk();
  void commit();

 private:
  void open(Kind kind);
  void open_in_place();
  void open_temporary(unsigned mode);
  void keep_owner(unsigned owner, unsigned group, unsigned mode);
  void truncate();
  void close() noexcept;

  std::filesystem::path path_;              // as the user named it, for messages
  std::string name_;                        // of the file in folder_, links followed
  std::string temporary_;                   // likewise; empty where the file is written in place
  [[maybe_unused]] bool truncate_ = false;  // whether what is there must be cut off before the first write in place
  [[maybe_unused]] int folder_ = -1;
  std::FILE* file_ = nullptr;
};

void write_file_atomic(const std::filesystem::path& path, std::string_view contents);

// Returns when a file, or the names in a folder, are on the disk as they are now, so that a loss of power leaves them.
// Throws std::system_error where the system refuses. (Portable: nothing happens.)
void flush_to_disk(const std::filesystem::path& path);

}  // namespace neap
