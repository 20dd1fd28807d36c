// A function as a graph, and what it is called with: what the generic tests of transforms walk.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "tests/trace/host.h"
#include "trace/tracing/tracing.h"

namespace neap::tracing {

struct Case {
  std::string name;
  std::vector<Aval> inputs;
  ArrayFunction f;
  double low = -2, high = 2;          // floating inputs
  int64_t int_low = 0, int_high = 3;  // integer inputs, high included

  Graph graph() const { return trace_closed(inputs, f, name); }
};

inline HostValue random_value(const Aval& aval, std::mt19937_64& rng, const Case& c) {
  std::uniform_real_distribution<double> real(c.low, c.high);
  std::uniform_int_distribution<int64_t> integer(c.int_low, c.int_high);
  HostValue value{aval, allocate(aval.bytes(), "test")};
  dispatch(aval.dtype, [&]<class T>() {
    for (int64_t i = 0; i < aval.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>)
        value.data->as<T>()[i] = integer(rng) % 2 != 0;
      else if constexpr (std::is_integral_v<T>)
        value.data->as<T>()[i] = static_cast<T>(integer(rng));
      else
        value.data->as<T>()[i] = T(static_cast<float>(real(rng)));
    }
  });
  return value;
}

inline std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
inline void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

}  // namespace neap::tracing
