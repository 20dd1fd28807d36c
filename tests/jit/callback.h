// What tests of functions of the program in compiled code share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/callback.h>
#include <neap/neap.h>

#include <string>
#include <vector>

#include "tests/message.h"

namespace neap::callbacks {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// What f prints.
template <class F>
std::string printed(const F& f) {
  testing::internal::CaptureStdout();
  f();
  return testing::internal::GetCapturedStdout();
}

template <class F>
std::string complaint(const F& f) {
  return message_of<UserError>(f);
}

inline std::vector<float> seen;
inline void see(const Array& x) { seen.push_back(x.item<float>()); }

struct Point {
  Array x, y;
};

class Callback : public testing::Test {
 protected:
  void SetUp() override { seen.clear(); }
};
using Check = Callback;
using Print = Callback;

}  // namespace neap::callbacks
