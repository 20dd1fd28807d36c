// What a compiled function makes of its arguments: types in the signature, donation, errors.
#include <neap/neap.h>

#include <thread>

#include "tests/message.h"

namespace neap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Arguments, OfOtherTypesAreAnotherSignature) {
  const auto f = jit([](const Array& x, auto s) { return x + s; });
  const Array x = ones({2}, i32);
  EXPECT_EQ(f(x, 0).dtype(), i32);
  EXPECT_EQ(f(x, 0.0f).dtype(), f32);  // the same bytes
  const auto same = jit([](const auto& tree) { return tree; });
  EXPECT_THAT(same(x).to_vector<int>(), ElementsAre(1, 1));
  EXPECT_THAT(std::get<0>(same(std::tuple(x))).to_vector<int>(), ElementsAre(1, 1));
}

TEST(Arguments, DonatedOnesAreNamed) {
  const auto f = jit([](const Array& x) { return x + 1; }, {.donate = {0}});
  const Array x = ones({2});
  f(x);
  const std::string text = message_of<UserError>([&] { x + 1; });
  EXPECT_THAT(text, HasSubstr("add: f32[2] was donated to the function compiled at arguments_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("[arguments_test.cpp:"));
}

TEST(Arguments, ARefusedDonationTakesNothing) {
  const auto f = jit([](const Array& x, const Array& y) { return x + y; }, {.donate = {0, 1}});
  const Array x = ones({2}), y = ones({2});
  EXPECT_THROW(f(x, x), UserError);
  EXPECT_TRUE(x.is_concrete());
  EXPECT_THAT(f(x, y).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_FALSE(x.is_concrete());
}

TEST(Arguments, ARunOutOfMemoryTakesNothing) {
  for (const Pipeline pipeline : {Pipeline::planned, Pipeline::naive}) {
    const auto f = jit([](const Array& x) { return std::pair(x * 2, reverse(exp(x), {0})); },
                       {.pipeline = pipeline, .donate = {0}});
    const Array x = ones({1000});
    f.compile(x);
    synchronize();
    memory::set_limit(memory::live_bytes() + 5000);  // an output, and not the other
    EXPECT_THROW(f(x), OutOfMemoryError);
    memory::set_limit({});
    ASSERT_TRUE(x.is_concrete());
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 1));
    EXPECT_EQ(f(x).first.to_vector<float>(), std::vector<float>(1000, 2));
    EXPECT_FALSE(x.is_concrete());
  }
}

TEST(Arguments, DonationOfNoArgumentIsRefused) {
  EXPECT_THROW((jit([](const Array& x) { return x; }, {.donate = {1}})(ones({1}))), OptionError);
  EXPECT_THROW((jit([](const Array& x) { return x; }, {.donate = {-1}})(ones({1}))), OptionError);
}

TEST(Arguments, EmptyHandlesNameTheFunctionsLine) {
  EXPECT_THAT(message_of<UserError>([] { jit([](const Array& x) { return x; })(Array()); }),
              HasSubstr("[arguments_test.cpp:"));
}

TEST(Threads, MayTraceCompileAndRunAtTheSameTime) {
  const auto f = jit([](const Array& x, int n) { return softmax(x * n) + mean(x); });
  const Array x = iota({64}, 0, f32);
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 3; ++n) results[t] = f(x + n, n % 2).to_vector<float>();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& r : results) EXPECT_EQ(r, results[0]);
}

TEST(Plans, ThatCannotBeWrittenAreTheUsersError) {
  const Plan plan = jit([](const Array& x) { return x; }).plan(spec({1}, f32));
  EXPECT_THROW(plan.write_json("/dev/null/plan.json"), UserError);
}

}  // namespace
}  // namespace neap
