// Concrete arrays for tests of the graph, without the public Array.
#pragma once

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "trace/reference/reference.h"

namespace neap::tracing {

/// A host array of T's dtype; std::vector<bool> has no data(), so elements are copied one by one.
template <class T>
HostValue host(Shape shape, std::vector<T> elements) {
  HostValue value{{std::move(shape), dtype_of<T>()}, nullptr};
  NEAP_CHECK(value.aval.size() == static_cast<int64_t>(elements.size()));
  value.data = allocate(value.aval.bytes(), "test");
  for (size_t i = 0; i < elements.size(); ++i) value.data->as<T>()[i] = elements[i];
  return value;
}

/// The elements; fails where the dtype is not T's.
template <class T>
std::vector<T> elements_of(const HostValue& value) {
  NEAP_CHECK(value.aval.dtype == dtype_of<T>(), "{}", to_string(value.aval));
  const T* begin = value.data->as<T>();
  return std::vector<T>(begin, begin + value.aval.size());
}

/// The one output of an op, by the reference interpreter.
inline HostValue evaluate(Op op, std::vector<HostValue> inputs, Attrs attrs = {}) {
  return evaluate_reference(op, inputs, attrs)[0];
}

}  // namespace neap::tracing
