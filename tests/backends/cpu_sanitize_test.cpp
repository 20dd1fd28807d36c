// Under a sanitizer generated code is checked as the program's own is.
#include "core/sanitize.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/jit.h"
#include "core/buffer.h"

namespace neap::cpu {
namespace {

using backends::Kernel;

#ifdef NEAP_ASAN
TEST(SanitizeDeathTest, KernelsTouchWhatIsAliveOnly) {
  Kernel kernel;
  kernel.extent = {1, 100};
  kernel.buffers = {{u8, false, "in"}, {u8, true, "out"}};
  const auto i = kernel.dag.index(1, i64);
  kernel.stores.push_back({1, i.id, kernel.dag.load(0, u8, i).id});
  const Kernel* one[] = {&kernel};
  const auto code = compile_kernels(one, "")[0];
  // A block of its own and a part of a larger mapping; the accounting rounds both up to multiples of 64.
  for (const size_t size : {size_t{100}, (size_t{256} << 10) + 100}) {
    const BufferPtr in = allocate(size, "in"), out = allocate(size, "out");
    void* pointers[] = {in->data() + size - 100, out->data() + size - 100};
    std::memset(pointers[0], 1, 100);
    code(pointers, nullptr, 0, 1, 0, 100, 0);
    EXPECT_EQ(out->data()[size - 1], std::byte{1});
    EXPECT_DEATH(code(pointers, nullptr, 0, 1, 0, 101, 0), "AddressSanitizer: use-after-poison");
    sanitize::forbid(pointers[1], 8);
    EXPECT_DEATH(code(pointers, nullptr, 0, 1, 0, 100, 0), "AddressSanitizer: use-after-poison");
  }
}
#endif

}  // namespace
}  // namespace neap::cpu
