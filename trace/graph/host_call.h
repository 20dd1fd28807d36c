// Calls of functions of the host, from within a graph: callbacks, prints, checks.
//
// A call has one result. That of a function without effect which has one result is that. Else it is words, unsigned and
// as wide as the smallest dtype of the results: of a function with an effect one that is 0, to make an order of such
// calls (trace/graph/effects.h), then the bytes of the results, one behind the other. A batch comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trace/graph/graph.h"

namespace neap::tracing {

struct HostFunction {
  /// Reads the operands' elements, and writes those of the results, at places that may not be aligned to them.
  using Call = std::function<void(std::span<const std::byte* const> operands, std::span<std::byte* const> results)>;

  std::string name;  // for people: "print"
  std::vector<Aval> operands, results;
  bool effect = false;  // it is called each time, and in order; else where and as often as its results are needed
  Call call;
  uint64_t number = 0;  // among all of this process
};

/// Gives the function its number.
HostFunctionPtr make_host_function(HostFunction function);
/// Returns the function with the number; nullptr where it is no more.
HostFunctionPtr find_host_function(uint64_t number);

/// Packing says where results lie in what a call gives.
struct Packing {
  bool packed = false;      // else the result itself
  DType word = DType::u8;   // of what is packed
  int64_t words = 0;        // for one call
  std::vector<int64_t> at;  // of each result: its first word
};
Packing packing_of(const HostFunction& function);

/// HostCall is a node of op host_call, taken apart.
struct HostCall {
  HostCall(const Attrs& attrs, std::span<const Aval> operands);

  HostFunctionPtr function;
  Packing packing;
  Ints batch;
  bool masked, after;
  Aval result;
  // By operand of the function, the mask before them where there is one, and batch axis: bytes from one to the next.
  std::vector<std::vector<int64_t>> strides;

  /// Calls the function for each element of the batch. `operands`: the mask, where there is one, and the function's.
  void run(std::span<const std::byte* const> operands, std::byte* result) const;
};

}  // namespace neap::tracing
