// Every member of Limits, to be compared.
#pragma once

#include <neap/device.h>

#include <tuple>

namespace neap {

inline auto fields(const Limits& limits) {
  const auto& [name, gpu, memory, allocation, buffer, alignment, wide, half, bf16, tables, host] = limits;
  return std::tuple(name, gpu, memory, allocation, buffer, alignment, wide, half, bf16, tables, host);
}

}  // namespace neap
