#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/ascii.h"
#include "core/os/os.h"

namespace neap::os {

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Caches caches() {
  static const Caches known = [] {
    Caches c;
#ifdef _SC_LEVEL2_CACHE_SIZE
    if (const long own = sysconf(_SC_LEVEL2_CACHE_SIZE); own > 0) c.of_core = static_cast<size_t>(own);
    if (const long shared = sysconf(_SC_LEVEL3_CACHE_SIZE); shared > 0) c.shared = static_cast<size_t>(shared);
#endif
    return c;
  }();
  return known;
}

namespace {

// Start reads the beginning of a file that the kernel writes, without allocating; it is empty if there is no such file.
class Start {
 public:
  explicit Start(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    for (ssize_t got = 0; (got = read(fd, bytes_ + length_, sizeof bytes_ - length_)) > 0;) {
      length_ += static_cast<size_t>(got);
    }
    close(fd);
  }
  std::string_view text() const { return {bytes_, length_}; }

 private:
  char bytes_[8192];
  size_t length_ = 0;
};

// Returns the number that the text begins with, after spaces; nullopt if there is none.
std::optional<size_t> number(std::string_view text) {
  while (!text.empty() && ascii::is_space(text.front())) text.remove_prefix(1);
  size_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// Returns the number after `key` in a file of lines "key number ..."; nullopt if there is none.
std::optional<size_t> field(const char* path, std::string_view key) {
  const Start file(path);
  for (std::string_view rest = file.text(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with(key) && line.size() > key.size() && ascii::is_space(line[key.size()])) {
      return number(line.substr(key.size()));
    }
  }
  return std::nullopt;
}

// Returns what is left to the process's control group (version 2); nullopt without a limit.
std::optional<size_t> control_group_available() {
  static const std::string& folder = *new std::string([] {
    const Start file("/proc/self/cgroup");
    const size_t at = file.text().starts_with("0::") ? 0 : file.text().find("\n0::") + 1;
    if (at == 0 && !file.text().starts_with("0::")) return std::string();
    const std::string_view path = file.text().substr(at + 3);
    return "/sys/fs/cgroup" + std::string(path.substr(0, path.find('\n')));
  }());
  if (folder.empty()) return std::nullopt;
  const auto limit = number(Start((folder + "/memory.max").c_str()).text());
  const auto used = number(Start((folder + "/memory.current").c_str()).text());
  if (!limit || !used) return std::nullopt;
  const size_t reclaimable = std::min(*used, field((folder + "/memory.stat").c_str(), "file").value_or(0));
  return *limit - std::min(*limit, *used - reclaimable);
}

}  // namespace

std::byte* map(size_t bytes, size_t alignment, size_t past) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t padding = alignment > page_bytes() ? alignment : 0;
  void* mapped =
      mmap(nullptr, bytes + padding, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  if (padding == 0) return start;
  const size_t head = (alignment + past - reinterpret_cast<uintptr_t>(start) % alignment) % alignment;
  if (head != 0) munmap(start, head);
  munmap(start + head + bytes, alignment - head);
  // Advice: a kernel without huge pages refuses, and nothing is lost.
  if (alignment >= kHugePage) madvise(start + head, bytes, MADV_HUGEPAGE);
  return start + head;
}

void unmap(std::byte* data, size_t bytes) { munmap(data, bytes); }

void drop(std::byte* data, size_t bytes) {
  const size_t page = page_bytes(), head = (page - reinterpret_cast<uintptr_t>(data) % page) % page;
  if (bytes >= head + page) madvise(data + head, (bytes - head) / page * page, MADV_DONTNEED);
}

#ifndef MREMAP_DONTUNMAP  // of Linux 5.7
bool can_move() { return false; }
bool move_out(std::byte*, std::byte*, size_t) { return false; }
#else
bool can_move() { return true; }
// The kernel unmaps the place that pages go to before it knows that it can move them.
bool move_out(std::byte* from, std::byte* to, size_t bytes) {
  return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) == to;
}
#endif

bool move_in(std::byte* from, std::byte* to, size_t bytes) {
  return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

void* allocate(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void release(void* data) { std::free(data); }

std::optional<size_t> available_memory() {
  const std::optional<size_t> kib = field("/proc/meminfo", "MemAvailable:");
  if (!kib) return control_group_available();
  return std::min(*kib << 10, control_group_available().value_or(SIZE_MAX));
}

size_t resident_bytes() {
  const Start file("/proc/self/statm");
  const size_t first = std::min(file.text().find(' '), file.text().size());
  return number(file.text().substr(first)).value_or(0) * page_bytes();
}

size_t peak_resident_bytes() { return field("/proc/self/status", "VmHWM:").value_or(0) << 10; }

bool reset_peak_resident() {
  const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = write(fd, "5", 1) == 1;
  close(fd);
  return done;
}

void wake_on_time() { prctl(PR_SET_TIMERSLACK, 1000UL); }  // nanoseconds

Stack stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known ? Stack{reinterpret_cast<uintptr_t>(low), size} : Stack{};
}

int columns_of_errors() {
  if (isatty(STDERR_FILENO) != 1) return 0;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

long process() { return getpid(); }

bool load_unwinder() {
#ifdef __GLIBC__
  void* caller = nullptr;
  return backtrace(&caller, 1) > 0;
#else
  return true;
#endif
}

void make_private_folder(const std::filesystem::path& path) { mkdir(path.c_str(), 0700); }

}  // namespace neap::os
