// In a file of its own, as saved functions need it without the rest (cmake/NeapIsas.cmake).
#include <atomic>

#include "core/isa.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace neap {

namespace {

#if defined(__x86_64__) && defined(__linux__)
bool ask() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;  // of EDX
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & (kBf16 | kTile)) != (kBf16 | kTile)) return false;
  if (!__builtin_cpu_supports("avx512bw")) return false;
  // Linux gives a process the registers of tiles where it asks for them, since 5.16: older ones refuse.
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}
#else
bool ask() { return false; }
#endif

}  // namespace

bool has_tiles() {
  enum : int { unknown, no, yes };
  static std::atomic<int> known{unknown};
  int now = known.load(std::memory_order_acquire);
  if (now == unknown) known.store(now = ask() ? yes : no, std::memory_order_release);
  return now == yes;
}

}  // namespace neap
