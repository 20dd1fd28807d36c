// Functions that call themselves while they are traced: an error where there is no end to it, not a broken stack.
#include <gmock/gmock.h>
#include <neap/neap.h>

#include <functional>
#include <thread>

#include "tests/message.h"

namespace neap {
namespace {

using Function = std::function<Array(const Array&)>;
using testing::HasSubstr;

Function endless_operations() {
  const auto self = std::make_shared<Function>();
  *self = [f = self.get()](const Array& x) { return (*f)(x + 1) * 2; };
  return [self](const Array& x) { return (*self)(x); };
}

// f(f) for a transform: what it makes of a function that calls what it makes.
template <class Transform>
Function endless_transform(const Transform& transform) {
  const auto self = std::make_shared<Function>();
  *self = [f = self.get(), transform](const Array& x) { return transform([f](const Array& y) { return (*f)(y); })(x); };
  return [self](const Array& x) { return (*self)(x); };
}

TEST(Recursion, WithoutEndIsTheUsersError) {
  const Array x = array(1.0f);
  const std::string text = message_of<UserError>([&] { jit(endless_operations())(x); });
  EXPECT_THAT(text, HasSubstr(": calls are nested so deep that the stack is used up"));
  EXPECT_THAT(text, HasSubstr("[recursion_test.cpp:"));
  EXPECT_THROW(endless_operations()(x), UserError);  // outside a trace
  EXPECT_THROW(grad(endless_operations())(x), UserError);
  EXPECT_THROW(trace(endless_operations(), spec({}, f32)), UserError);
  EXPECT_EQ(jit([](const Array& y) { return y + 1; })(x).item<float>(), 2);  // and all is well after it
}

TEST(Recursion, OnASmallStack) {
  std::string text;
  std::thread([&] { text = message_of<UserError>([] { jit(endless_operations())(array(1.0f)); }); }).join();
  EXPECT_THAT(text, HasSubstr("stack"));
}

TEST(Recursion, OfTransforms) {
  const Array x = array(1.0f);
  const auto message = [&](const auto& transform) {
    return message_of<UserError>([&] { endless_transform(transform)(x); });
  };
  const auto within = HasSubstr("trace: a function is traced within 64 others");
  EXPECT_THAT(message([](const auto& f) { return jit(f); }), HasSubstr("jit: calls are nested so deep"));
  EXPECT_THAT(message([](const auto& f) { return jit(checkpoint(f)); }), HasSubstr("calls are nested so deep"));
  EXPECT_THAT(message([](const auto& f) { return grad(f); }), within);
  EXPECT_THAT(message([](const auto& f) { return [f](const Array& y) { return vmap(f)(reshape(y, {1}))[0]; }; }),
              within);
  EXPECT_THAT(message([](const auto& f) { return [f](const Array& y) { return cond(y > 0, f, f, y); }; }), within);
  EXPECT_THAT(
      message([](const auto& f) {
        return [f](const Array& y) {
          return scan([&](const Array& c, std::nullptr_t) { return std::pair(f(c), nullptr); }, y, nullptr, 2).first;
        };
      }),
      within);
}

TEST(Recursion, OnNumbersEnds) {
  const std::function<Array(const Array&, int)> nested = [&](const Array& x, int depth) -> Array {
    if (depth == 0) return x + 1;
    return fori_loop(0, 2, [&](const Array&, const Array& c) { return nested(c, depth - 1); }, x);
  };
  EXPECT_EQ(jit([&](const Array& x) { return nested(x, 8); })(array(0)).item<int>(), 256);
  const std::function<Array(const Array&, int)> chain = [&](const Array& x, int depth) -> Array {
    return depth == 0 ? x : chain(x + 1, depth - 1);
  };
  EXPECT_EQ(jit([&](const Array& x) { return chain(x, 2000); })(array(0)).item<int>(), 2000);
}

}  // namespace
}  // namespace neap
