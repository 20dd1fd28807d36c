// What JAX answers, one file of inputs and answers to named calls (tools/golden_numpy.py, write_json), and comparison.
#pragma once

#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace neap {

using nlohmann::json;
using Arrays = std::vector<Array>;

inline double number(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  const std::string text = value.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

inline Array array_of(const json& stored) {
  std::vector<double> values;
  for (const json& v : stored["values"]) values.push_back(number(v));
  const DType dtype = *parse_dtype(stored["dtype"].get<std::string>());
  if (is_complex(dtype)) {  // by their parts
    std::vector<std::complex<double>> numbers;
    for (size_t i = 0; i < values.size(); i += 2) numbers.emplace_back(values[i], values[i + 1]);
    return array(numbers, stored["shape"].get<Shape>()).astype(dtype);
  }
  return array(std::span<const double>(values), stored["shape"].get<Shape>()).astype(dtype);
}

using Calls = std::map<std::string, std::function<Arrays()>>;

inline json read_golden(const std::string& name) {
  std::ifstream file(NEAP_TESTS_DIR "/golden/" + name);
  return json::parse(file);
}

inline std::map<std::string, Array> inputs_of(const json& golden) {
  std::map<std::string, Array> in;
  for (const auto& [name, stored] : golden["inputs"].items()) in[name] = array_of(stored);
  return in;
}

inline void expect_near(const Array& got, const Array& expected) {
  ASSERT_EQ(got.aval(), expected.aval());
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  double largest = 0;
  for (const double v : b)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    // Four units in the last place of f32; where terms cancel, of a quarter of the largest element.
    const double scale = is_float(got.dtype()) ? std::max(std::abs(b[i]), largest / 4) : 0;
    EXPECT_LE(std::abs(a[i] - b[i]), 4 * 0x1p-23 * scale) << "element " << i << ": " << a[i] << ", " << b[i];
  }
}

/// Every call answers as JAX does, compiled and by the reference interpreter.
inline void expect_answers(const json& golden, const Calls& calls,
                           const std::function<void(const Array&, const Array&)>& near = expect_near) {
  for (const auto& [name, answers] : golden["calls"].items()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(calls.contains(name));
    const auto compare = [&](const Arrays& got) {
      ASSERT_EQ(got.size(), answers.size());
      for (size_t i = 0; i < got.size(); ++i) {
        SCOPED_TRACE(i);
        near(got[i], array_of(answers[i]));
      }
    };
    compare(calls.at(name)());
    const eager_reference reference;
    SCOPED_TRACE("reference");
    compare(calls.at(name)());
  }
  EXPECT_EQ(calls.size(), golden["calls"].size());
}

}  // namespace neap
