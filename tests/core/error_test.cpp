// What errors say, which are of one family, and how a program ends that does not catch one.
#include <neap/error.h>
#include <sys/wait.h>

#include <thread>

#include "core/check.h"
#include "tests/message.h"

namespace neap {
namespace {

TEST(Error, MessageNamesOpGotExpectedHintAndLine) {
  const auto loc = std::source_location::current();
  const std::string where = "  [error_test.cpp:" + std::to_string(loc.line()) + "]";
  EXPECT_EQ(message_of<IndexError>([&] {
              throw_user<IndexError>("gather", "index has 2 columns, operand has 3 dimensions (f32[128,128,128])", "",
                                     "pass one column per dimension", loc);
            }),
            "gather: index has 2 columns, operand has 3 dimensions (f32[128,128,128]); pass one column per dimension" +
                where);
  EXPECT_EQ(user_message("sum", "axis 3", "an axis below 2", "count from 0", loc),
            "sum: axis 3; expected an axis below 2; count from 0" + where);
  EXPECT_EQ(user_message("sum", "", "", "", loc), "sum" + where);
}

TEST(Error, Families) {
  EXPECT_THROW(throw ShapeError("x"), UserError);
  EXPECT_THROW(throw DTypeError("x"), UserError);
  EXPECT_THROW(throw TracerError("x"), UserError);
  EXPECT_THROW(throw OptionError("x"), UserError);
  EXPECT_THROW(throw OutOfMemoryError("x"), RuntimeError);
  EXPECT_THROW(throw DeviceError("x"), RuntimeError);
  const BudgetError budget("too small", 4096);
  EXPECT_EQ(budget.smallest_peak_bytes(), 4096u);
  EXPECT_NE(dynamic_cast<const UserError*>(static_cast<const std::exception*>(&budget)), nullptr);
}

TEST(Check, ThrowsWithConditionMessageAndLine) {
  NEAP_CHECK(1 + 1 == 2);
  const int line = __LINE__ + 1;
  const std::string text = message_of<InternalError>([] { NEAP_CHECK(1 + 1 == 3, "{} is not {}", 2, 3); });
  EXPECT_EQ(text, "internal: 1 + 1 == 3: 2 is not 3  [error_test.cpp:" + std::to_string(line) + "]");
  EXPECT_EQ(message_of<InternalError>([] { NEAP_CHECK(false); }).substr(0, 17), "internal: false  ");
}

TEST(Check, BuildsItsMessageOnFailureOnly) {
  int built = 0;
  NEAP_CHECK(true, "{}", ++built);
  EXPECT_EQ(built, 0);
}

TEST(TerminateDeathTest, UncaughtUserErrorExitsWith2) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto die = [](auto error) { std::thread([&] { throw error; }).join(); };
  EXPECT_EXIT(die(ShapeError("add: f32[2] and f32[3]")), testing::ExitedWithCode(2),
              "neap: add: f32\\[2\\] and f32\\[3\\]");
  EXPECT_EXIT(die(BudgetError("no plan fits")), testing::ExitedWithCode(2), "neap: no plan fits");
  EXPECT_EXIT(die(OutOfMemoryError("out of memory")), testing::ExitedWithCode(2), "neap: out of memory");
}

TEST(TerminateDeathTest, OtherExceptionsAbort) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto die = [](auto error) { std::thread([&] { throw error; }).join(); };
  EXPECT_EXIT(die(InternalError("internal: x")), testing::KilledBySignal(SIGABRT), "internal: x");
  EXPECT_EXIT(die(std::runtime_error("other")), testing::KilledBySignal(SIGABRT), "other");
}

}  // namespace
}  // namespace neap
