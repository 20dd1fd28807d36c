#include "backends/cpu/code_cache.h"

#include <gtest/gtest.h>

namespace neap::cpu {
namespace {

TEST(CodeCache, ASymbolIsOfTheKernelAndTheTarget) {
  CodeTarget target = host_target();
  const std::string symbol = code_symbol("kernel", target);
  EXPECT_EQ(code_symbol("kernel", target), symbol);
  EXPECT_NE(code_symbol("kernels", target), symbol);
  target.features += ",+another";
  EXPECT_NE(code_symbol("kernel", target), symbol);
  target = host_target();
  target.unit.bits *= 2;
  EXPECT_NE(code_symbol("kernel", target), symbol);
}

}  // namespace
}  // namespace neap::cpu
