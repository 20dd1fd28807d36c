#include "trace/graph/host_call.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "core/check.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {
namespace {

/// Holds the functions that live, by number.
struct Functions {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::weak_ptr<const HostFunction>> by_number;
};
Functions& functions() {
  static Functions& all = *new Functions;  // never destroyed: functions may die later than statics
  return all;
}

DType unsigned_of(size_t bytes) {
  return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}

}  // namespace

HostFunctionPtr make_host_function(HostFunction function) {
  static std::atomic<uint64_t> next{1};
  function.number = next.fetch_add(1, std::memory_order_relaxed);
  const uint64_t number = function.number;
  const auto forget = [](const HostFunction* f) {
    {
      const std::lock_guard lock(functions().mutex);
      functions().by_number.erase(f->number);
    }
    delete f;
  };
  HostFunctionPtr made(new HostFunction(std::move(function)), forget);
  const std::lock_guard lock(functions().mutex);
  functions().by_number.emplace(number, made);
  return made;
}

HostFunctionPtr find_host_function(uint64_t number) {
  const std::lock_guard lock(functions().mutex);
  const auto found = functions().by_number.find(number);
  return found == functions().by_number.end() ? nullptr : found->second.lock();
}

Packing packing_of(const HostFunction& function) {
  Packing packing;
  packing.packed = function.effect || function.results.size() != 1;
  if (!packing.packed) return packing;
  size_t least = function.results.empty() ? 1 : 8;
  for (const Aval& result : function.results) least = std::min(least, size_of(result.dtype));
  packing.word = unsigned_of(least);
  packing.words = function.effect ? 1 : 0;
  for (const Aval& result : function.results) {
    packing.at.push_back(packing.words);
    packing.words += static_cast<int64_t>(result.bytes() / least);
  }
  return packing;
}

HostCall::HostCall(const Attrs& attrs, std::span<const Aval> operands)
    : function(attrs.function(Attr::callee)),
      packing(packing_of(*function)),
      batch(attrs.ints(Attr::batch)),
      masked(attrs.integer_or(Attr::masked, 0) != 0),
      after(attrs.integer_or(Attr::after, 0) != 0) {
  const size_t count = function->operands.size() + masked;
  NEAP_CHECK(operands.size() == count + after, "host_call: {} operands for {}", operands.size(), count);
  const Aval flag{{}, DType::bool_};
  for (size_t i = 0; i < count; ++i) {
    const Aval& one = masked && i == 0 ? flag : function->operands[i - masked];
    const Shape& shape = operands[i].shape;
    NEAP_CHECK(operands[i].dtype == one.dtype && shape.size() == batch.size() + one.shape.size() &&
                   std::ranges::equal(std::span(shape).subspan(batch.size()), one.shape),
               "host_call: operand {} is {} for {}", i, to_string(operands[i]), to_string(one));
    std::vector<int64_t> by_axis(batch.size());
    auto stride = static_cast<int64_t>(one.bytes());
    for (size_t axis = batch.size(); axis-- > 0;) {
      NEAP_CHECK(shape[axis] == 1 || shape[axis] == batch[axis], "host_call: operand {} is {}", i,
                 to_string(operands[i]));
      by_axis[axis] = shape[axis] == batch[axis] ? stride : 0;
      stride *= shape[axis];
    }
    strides.push_back(std::move(by_axis));
  }
  const Aval one = packing.packed ? Aval{{packing.words}, packing.word} : function->results[0];
  Shape shape = batch;
  shape.insert(shape.end(), one.shape.begin(), one.shape.end());
  result = {std::move(shape), one.dtype};
}

void HostCall::run(std::span<const std::byte* const> operands, std::byte* out) const {
  const size_t of_one =
      packing.packed ? static_cast<size_t>(packing.words) * size_of(packing.word) : function->results[0].bytes();
  const int64_t count = element_count(batch);
  std::vector<const std::byte*> at(operands.size());
  std::vector<std::byte*> to(function->results.size());
  Ints index(batch.size(), 0);
  for (int64_t i = 0; i < count; ++i, out += of_one) {
    for (size_t j = 0; j < operands.size(); ++j) {
      at[j] = operands[j];
      for (size_t axis = 0; axis < batch.size(); ++axis) at[j] += index[axis] * strides[j][axis];
    }
    for (size_t axis = batch.size(); axis-- > 0 && ++index[axis] == batch[axis];) index[axis] = 0;
    if (masked && *at[0] == std::byte{0}) {
      std::memset(out, 0, of_one);
      continue;
    }
    if (function->effect) std::memset(out, 0, size_of(packing.word));  // the results fill the rest
    for (size_t r = 0; r < to.size(); ++r)
      to[r] = packing.packed ? out + static_cast<size_t>(packing.at[r]) * size_of(packing.word) : out;
    function->call(std::span(at).subspan(masked), to);
  }
}

Aval infer_host_call(const Site& site) { return HostCall(site.attrs, site.in).result; }

}  // namespace neap::tracing
