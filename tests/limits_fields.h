// Every member of Limits, to be compared.
#pragma once

#include <neap/device.h>

#include <tuple>

namespace neap {

inline auto fields(const Limits& limits) {
  const auto& [name, gpu, memory, allocation, buffer, alignment, wide, half, tables, host] = limits;
  return std::tuple(name, gpu, memory, allocation, buffer, alignment, wide, half, tables, host);
}

}  // namespace neap
