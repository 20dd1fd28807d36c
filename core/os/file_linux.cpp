#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

namespace neap {

namespace {

constexpr int kMostLinks = 40;  // as the kernel follows
constexpr unsigned kModeBits = 0777;

[[noreturn]] void fail(int error, const std::filesystem::path& path) {
  if (error == ENOMEM) throw std::bad_alloc();
  throw std::system_error(error, std::generic_category(), path.string());
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

int open_folder(const std::filesystem::path& file, const std::filesystem::path& named) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) return fd;
  if (errno != ENOENT) fail(errno, named);
  throw std::system_error(errno, std::generic_category(),
                          fmt::format("{}: there is no folder {}", named.string(), folder.string()));
}

std::string link_target(int folder, const std::string& name, const std::filesystem::path& named) {
  std::string text(4096, '\0');
  const ssize_t length = readlinkat(folder, name.c_str(), text.data(), text.size());
  if (length < 0) fail(errno, named);
  text.resize(static_cast<size_t>(length));
  return text;
}

// Links of /proc name open files, not paths.
bool is_proc(int folder) {
  struct statfs system = {};
  return fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

// In a folder that all users share (/tmp) a link of another user is not followed, and another user's file is not
// written anew: this is the kernel's rule (fs.protected_symlinks, fs.protected_regular), which holds for what it looks
// up itself.
bool is_foreign(int folder, const struct stat& file) {
  struct stat holder = {};
  if (fstat(folder, &holder) != 0) return true;
  const bool shared = (holder.st_mode & S_ISVTX) != 0 && (holder.st_mode & S_IWOTH) != 0;
  return shared && file.st_uid != geteuid() && file.st_uid != holder.st_uid;
}

std::string read_all(int fd, off_t expected, const std::filesystem::path& path) {
  // This many bytes are added beyond doubling, so that an empty or unsized file (a pipe) does not grow byte by byte.
  constexpr size_t kMore = 4096;
  std::string text;
  text.resize(static_cast<size_t>(expected) + 1);  // one more, to see the end
  for (size_t length = 0;;) {
    if (length == text.size()) text.resize(2 * length + kMore);
    const ssize_t got = ::read(fd, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, path);
    length += static_cast<size_t>(got);
    if (got == 0) {
      text.resize(length);
      return text;
    }
  }
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) fail(errno, path);
  struct stat status = {};
  const int error = fstat(fd_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  size_ = static_cast<uint64_t>(status.st_size);
  if (error == 0 && S_ISREG(status.st_mode)) return;
  ::close(fd_);
  if (error != 0) fail(error, path);
  fail(EINVAL, path.string() + ": no regular file");
}

InputFile::~InputFile() { ::close(fd_); }

bool InputFile::read_at(uint64_t offset, void* data, size_t bytes) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = pread(fd_, static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(errno, path);
  struct stat status = {};
  return read_all(file.fd, fstat(file.fd, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0, path);
}

std::optional<std::string> read_own_file(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat status = {};
  if (file.fd < 0 || fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  return read_all(file.fd, status.st_size, path);
}

void flush_to_disk(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(errno, path);
  if (fsync(file.fd) != 0 && errno != EINVAL) fail(errno, path);  // EINVAL: there is no disk
}

AtomicFile::AtomicFile(std::filesystem::path path, Kind kind) : path_(std::move(path)) {
  try {
    open(kind);
  } catch (...) {
    close();
    throw;
  }
}

void AtomicFile::open(Kind kind) {
  struct stat status = {};
  if (path_.empty()) fail(ENOENT, path_);
  if (kind == Kind::cache) {
    folder_ = open_folder(path_, path_);
    name_ = path_.filename().string();
    return open_temporary(0600);
  }
  // The kernel follows the links first: it knows which of them are not to be trusted, and what those of /proc mean.
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail(errno, path_);
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR, path_);
  if (exists && !S_ISREG(status.st_mode)) return open_in_place();
  if (exists && faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno, path_);

  std::filesystem::path at = path_;
  for (int links = 0;; ++links) {
    if (links == kMostLinks) fail(ELOOP, path_);
    if (folder_ >= 0) ::close(folder_);
    folder_ = -1;
    folder_ = open_folder(at, path_);
    name_ = at.filename().string();
    if (name_.empty()) fail(EISDIR, path_);
    if (fstatat(folder_, name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) fail(errno, path_);
      return open_temporary(0666);
    }
    if (!S_ISLNK(status.st_mode)) break;
    if (is_proc(folder_)) {
      truncate_ = true;
      return open_in_place();
    }
    if (is_foreign(folder_, status)) fail(EACCES, path_);
    at = at.parent_path() / link_target(folder_, name_, path_);
  }
  if (!S_ISREG(status.st_mode)) fail(EEXIST, path_);  // it has changed meanwhile
  if (is_foreign(folder_, status)) fail(EACCES, path_);
  open_temporary(0600);
  keep_owner(status.st_uid, status.st_gid, status.st_mode & kModeBits);
}

void AtomicFile::open_in_place() {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) fail(errno, path_);
  file_ = fdopen(fd, "wb");
  if (file_) return;
  const int error = errno;
  ::close(fd);
  fail(error, path_);
}

void AtomicFile::open_temporary(unsigned mode) {
  // A name of 128 random bits is never taken twice by accident; the bound ends the loop if the system answers EEXIST
  // for another reason.
  constexpr int kTries = 16;
  int fd = -1;
  for (int i = 0; fd < 0; ++i) {
    uint64_t random[2] = {};
    if (getrandom(random, sizeof random, 0) != sizeof random) fail(errno, path_);
    std::string name = fmt::format(".neap-{:016x}{:016x}.tmp", random[0], random[1]);
    fd = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && (errno != EEXIST || i == kTries)) fail(errno, path_);
    if (fd >= 0) temporary_ = std::move(name);
  }
  file_ = fdopen(fd, "wb");
  if (file_) return;
  const int error = errno;
  ::close(fd);
  fail(error, path_);
}

// A file that cannot keep its group grants nothing to the group that it gets instead: that group is another set of
// users.
void AtomicFile::keep_owner(unsigned owner, unsigned group, unsigned mode) {
  const int fd = fileno(file_);
  struct stat status = {};
  if (fstat(fd, &status) != 0) fail(errno, path_);
  if (status.st_gid != group && fchown(fd, static_cast<uid_t>(-1), group) != 0) mode &= ~070u;
  if (fchmod(fd, mode) != 0) fail(errno, path_);
  // The owner comes last: a process that gives a file away may no longer change it. Where it cannot be given away, it
  // stays the process's.
  if (status.st_uid != owner) static_cast<void>(!fchown(fd, owner, static_cast<gid_t>(-1)));
}

void AtomicFile::close() noexcept {
  if (file_) std::fclose(file_);
  file_ = nullptr;
  if (!temporary_.empty()) unlinkat(folder_, temporary_.c_str(), 0);
  temporary_.clear();
  if (folder_ >= 0) ::close(folder_);
  folder_ = -1;
}

AtomicFile::~AtomicFile() { close(); }

// The file is cut off at the first write, not when it is opened: a caller that only asks whether it can be written
// loses nothing.
void AtomicFile::truncate() {
  if (std::exchange(truncate_, false) && ftruncate(fileno(file_), 0) != 0) fail(errno, path_);
}

void AtomicFile::write(const void* data, size_t bytes) {
  truncate();
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail(errno, path_);
}

void AtomicFile::finish() {
  truncate();
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail(errno, path_);
}

void AtomicFile::flush_to_disk() {
  truncate();
  if (std::fflush(file_) != 0 || (fsync(fileno(file_)) != 0 && errno != EINVAL)) fail(errno, path_);
}

void AtomicFile::commit() {
  if (file_) finish();
  if (temporary_.empty()) return;
  if (renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) != 0) fail(errno, path_);
  temporary_.clear();
}

}  // namespace neap
