// Checks of derivatives in f64: tangents against finite differences, cotangents against tangents.
#pragma once

#include <cmath>

#include "autodiff/jvp.h"
#include "autodiff/reverse.h"
#include "autodiff/scan.h"
#include "tests/trace/cases.h"

namespace neap::autodiff {

using tracing::Case;
using tracing::HostValue;

using Values = std::vector<HostValue>;

inline std::vector<bool> floating(const std::vector<Aval>& avals) {
  std::vector<bool> marks;
  for (const Aval& aval : avals) marks.push_back(is_float(aval.dtype));
  return marks;
}

inline Values random_values(const std::vector<Aval>& avals, std::mt19937_64& rng, const Case& c) {
  Values values;
  for (const Aval& aval : avals) values.push_back(tracing::random_value(aval, rng, c));
  return values;
}

/// Directions for the floating values: standard numbers in [-1, 1].
inline Values directions(const Values& values, std::mt19937_64& rng) {
  Case unit;
  unit.low = -1;
  unit.high = 1;
  Values result;
  for (const HostValue& value : values)
    if (is_float(value.aval.dtype)) result.push_back(tracing::random_value(value.aval, rng, unit));
  return result;
}

inline Values moved(const Values& values, const Values& direction, double h) {
  Values result;
  size_t next = 0;
  for (const HostValue& value : values) {
    result.push_back(value);
    if (!is_float(value.aval.dtype)) continue;
    result.back().data = allocate(value.aval.bytes(), "test");
    const double *x = value.data->as<double>(), *d = direction[next++].data->as<double>();
    for (int64_t i = 0; i < value.aval.size(); ++i) result.back().data->as<double>()[i] = x[i] + h * d[i];
  }
  return result;
}

inline Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Values floating_of(const Values& values) {
  Values result;
  for (const HostValue& value : values)
    if (is_float(value.aval.dtype)) result.push_back(value);
  return result;
}

inline double dot(const Values& a, const Values& b, double* magnitude = nullptr) {
  double total = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].aval, b[k].aval);
    for (int64_t i = 0; i < a[k].aval.size(); ++i) {
      const double term = a[k].data->as<double>()[i] * b[k].data->as<double>()[i];
      total += term;
      if (magnitude) *magnitude += std::abs(term);
    }
  }
  return total;
}

/// jvp of g at `inputs` against central differences.
inline void check_jvp(const Graph& g, const Values& inputs, std::mt19937_64& rng, double tolerance = 1e-6) {
  const Values t = directions(inputs, rng);
  const Graph both = jvp(g, floating(g.avals(g.inputs)));
  tracing::verify(both);
  const Values out = tracing::evaluate_reference(both, joined(inputs, t));
  constexpr double h = 1e-6;
  const Values plus = floating_of(tracing::evaluate_reference(g, moved(inputs, t, h)));
  const Values minus = floating_of(tracing::evaluate_reference(g, moved(inputs, t, -h)));
  const Values tangents(out.begin() + static_cast<std::ptrdiff_t>(g.outputs.size()), out.end());
  ASSERT_EQ(tangents.size(), plus.size());
  for (size_t k = 0; k < tangents.size(); ++k) {
    ASSERT_EQ(tangents[k].aval, plus[k].aval);
    for (int64_t i = 0; i < tangents[k].aval.size(); ++i) {
      const double a = plus[k].data->as<double>()[i], b = minus[k].data->as<double>()[i];
      const double got = tangents[k].data->as<double>()[i];
      ASSERT_NEAR(got, (a - b) / (2 * h), tolerance * (1 + std::abs(a) + std::abs(got)))
          << g.name << " output " << k << " element " << i;
    }
  }
}

/// <cotangent, J t> = <J^T cotangent, t>.
inline void check_vjp(const Graph& g, const Values& inputs, std::mt19937_64& rng) {
  const std::vector<bool> active = floating(g.avals(g.inputs));
  const Values t = directions(inputs, rng);
  const Values forward = tracing::evaluate_reference(jvp(g, active), joined(inputs, t));
  const auto outputs = static_cast<std::ptrdiff_t>(g.outputs.size());
  const Values tangents(forward.begin() + outputs, forward.end());
  const Values ct = directions(Values(forward.begin(), forward.begin() + outputs), rng);
  const Graph both = vjp(g, active);
  tracing::verify(both);
  const Values backward = tracing::evaluate_reference(both, joined(inputs, ct));
  for (std::ptrdiff_t k = 0; k < outputs; ++k) ASSERT_EQ(backward[k].aval, forward[k].aval);
  const Values cotangents(backward.begin() + outputs, backward.end());
  double magnitude = 1;
  const double a = dot(ct, tangents, &magnitude), b = dot(cotangents, t, &magnitude);
  ASSERT_NEAR(a, b, 1e-11 * magnitude) << g.name;
}

}  // namespace neap::autodiff
