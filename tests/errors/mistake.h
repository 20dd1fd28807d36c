// MISTAKE(Theme, name, Error, sentence) { ... } is a program of a few lines that must fail: with this error, whose
// message is the sentence and the line that ends with "// here"; {there} in it is the line that ends with "// there".
// Nothing of it may stay behind: neither memory nor an open trace.
#pragma once

#include <gtest/gtest.h>
#include <neap/neap.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <typeinfo>

namespace neap::testing {

// Returns "shapes_test.cpp:41" for the line of the program behind this one that has the mark; empty where none has.
inline std::string marked_line(const std::string& path, int begin, const std::string& mark) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  std::ifstream source(NEAP_TESTS_DIR "/errors/" + name);
  std::string text;
  for (int line = 1; std::getline(source, text); ++line) {
    if (line <= begin) continue;
    if (text == "}") break;
    if (text.find(" " + mark, std::min(text.find("  // "), text.size())) != text.npos)
      return name + ":" + std::to_string(line);
  }
  return {};
}

inline std::string whole_message(std::string sentence, const std::string& path, int line) {
  const std::string there = "{there}", here = marked_line(path, line, "here");
  if (const size_t at = sentence.find(there); at != sentence.npos)
    sentence.replace(at, there.size(), marked_line(path, line, "there"));
  return here.empty() ? sentence : sentence + "  [" + here + "]";
}

inline void expect_mistake(const std::type_info& expected, const std::string& sentence, const std::string& path,
                           int line, void (*program)()) {
  const size_t live = memory::live_bytes();
  try {
    program();
    ADD_FAILURE() << "nothing is wrong with it; expected: " << sentence;
  } catch (const std::exception& error) {
    EXPECT_STREQ(typeid(error).name(), expected.name());
    const std::string message = error.what();
    const size_t end = message.find('\n');  // a BudgetError lists below its sentence what is alive
    EXPECT_TRUE(end == message.npos || expected == typeid(BudgetError)) << message;
    EXPECT_EQ(message.substr(0, end), whole_message(sentence, path, line));
  }
  memory::set_limit({});
  if (default_device() == cpu()) {  // a GPU lets go of memory later
    EXPECT_EQ(memory::live_bytes(), live) << "what the program made is still there";
  }
  const Array six = sum(jit([](const Array& x) { return x + 1; })(ones({3})));
  EXPECT_EQ(six.item<float>(), 6) << "a trace is still open";
}

}  // namespace neap::testing

#define MISTAKE(theme, name, error, sentence)                                                                       \
  static void theme##_##name();                                                                                     \
  TEST(theme, name) { neap::testing::expect_mistake(typeid(error), sentence, __FILE__, __LINE__, theme##_##name); } \
  static void theme##_##name()

namespace {
using namespace neap;
using namespace neap::literals;
namespace nr = neap::random;
}  // namespace
