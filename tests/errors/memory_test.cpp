// Mistakes with donated and borrowed memory, budgets and pinned choices.
#include "mistake.h"

MISTAKE(Memory, UsesWhatItDonated, UserError,
        "add: f32[3] was donated to the function compiled at {there}; use that function's result, or do not donate "
        "this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  f(x);
  x + 1;  // here
}

MISTAKE(Memory, DonatesTwice, UserError,
        "jit: f32[3] was donated to the function compiled at {there}; use that function's result, or do not donate "
        "this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // here, and there
  f(x);
  f(x);
}

MISTAKE(Memory, ReadsWhatItDonated, UserError,
        "to_vector: f32[3] was donated to the function compiled at {there}; use that function's result, or do not "
        "donate this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  f(x);
  x.to_vector<float>();  // here
}

MISTAKE(Memory, UsesAnotherHandleOfWhatItDonated, UserError,
        "add: f32[3] was donated to the function compiled at {there}; use that function's result, or do not donate "
        "this argument") {
  const Array x = ones({3}), y = x;
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  f(x);
  y + 1;  // here
}

MISTAKE(Memory, DonatesWhatAFunctionCaptured, UserError,
        "jit: f32[3] was donated to the function compiled at {there}; use that function's result, or do not donate "
        "this argument") {
  const Array w = ones({3});
  const auto f = jit([w](const Array& x) { return w + x; });  // here
  f(ones({3}));
  const auto g = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  g(w);
  f(ones({3}));
}

MISTAKE(Memory, CapturesWhatItDonated, UserError,
        "add: f32[3] was donated to the function compiled at {there}; use that function's result, or do not donate "
        "this argument") {
  const Array w = ones({3});
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  f(w);
  const auto g = jit([w](const Array& x) {
    return w + x;  // here
  });
  g(ones({3}));
}

MISTAKE(Memory, DifferentiatesAtWhatItDonated, UserError,
        "grad: f32[3] was donated to the function compiled at {there}; use that function's result, or do not donate "
        "this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  f(x);
  const auto g = grad([](const Array& a) { return sum(a); });  // here
  g(x);
}

MISTAKE(Memory, SavesWhatItDonated, UserError,
        "save_npy: f32[3] was donated to the function compiled at {there}; use that function's result, or do not "
        "donate this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // there
  f(x);
  save_npy("never.npy", x);  // here
}

MISTAKE(Memory, DonatesOneArrayAsTwo, UserError,
        "jit: the donated f32[3] shares its memory with another array; expected memory of its own; make a copy of it "
        "first, or do not donate this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a, const Array& b) { return a + b; }, {.donate = {0, 1}});  // here
  f(x, x);
}

MISTAKE(Memory, DonatesWhatItAlsoPasses, UserError,
        "jit: the donated f32[3] shares its memory with another array; expected memory of its own; make a copy of it "
        "first, or do not donate this argument") {
  const Array x = ones({3});
  const auto f = jit([](const Array& a, const Array& b) { return a + b; }, {.donate = {0}});  // here
  f(x, x);
}

MISTAKE(Memory, DonatesAResultThatIsItsArgument, UserError,
        "jit: the donated f32[3] shares its memory with another array; expected memory of its own; make a copy of it "
        "first, or do not donate this argument") {
  const Array x = ones({3});
  const Array y = jit([](const Array& a) { return a; })(x);
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // here
  f(y);
}

MISTAKE(Memory, DonatesBorrowedMemory, UserError,
        "jit: the donated f32[3] is lent memory, which is read alone; expected memory of its own; make a copy of it "
        "first, or do not donate this argument") {
  const float own[3] = {};
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {0}});  // here
  f(borrow(own, {3}));
}

MISTAKE(Memory, DonatesAMissingArgument, OptionError,
        "jit: donate names argument 1; expected one of the 1, counted from 0") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {1}});  // here
  f(ones({3}));
}

MISTAKE(Memory, DonatesANegativeArgument, OptionError,
        "jit: donate names argument -1; expected one of the 1, counted from 0") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.donate = {-1}});  // here
  f(ones({3}));
}

MISTAKE(Memory, BorrowsNothing, UserError, "borrow: a null pointer; expected the elements of f32[3]") {
  borrow(static_cast<const float*>(nullptr), {3});  // here
}

MISTAKE(Memory, BorrowsMisalignedMemory, UserError,
        "borrow: memory that does not begin at a multiple of 4 bytes; expected memory aligned as f32 is; or copy it "
        "with array()") {
  alignas(8) static const char bytes[64] = {};
  borrow(reinterpret_cast<const float*>(bytes + 1), {3});  // here
}

MISTAKE(Memory, BudgetOfNothing, BudgetError,
        "jit: no plan fits a memory budget of 0 B (0 bytes); the smallest peak that the planner finds is 2.38 KiB "
        "(2432 bytes).") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.memory_budget = 0});  // here
  f(ones({300}));
}

MISTAKE(Memory, BudgetBelowArgumentAndResult, BudgetError,
        "jit: no plan fits a memory budget of 1.00 KiB (1024 bytes); the smallest peak that the planner finds is 2.38 "
        "KiB (2432 bytes).") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.memory_budget = 1_KiB});  // here
  f.plan(spec({300}, f32));
}

MISTAKE(Memory, BudgetOfADeviceThatIsTooSmall, BudgetError,
        "jit: no plan fits a memory budget of 1.00 KiB (1024 bytes); the smallest peak that the planner finds is 2.38 "
        "KiB (2432 bytes).") {
  const auto f =
      jit([](const Array& a) { return a + 1; }, {.limits = Limits{.name = "watch", .memory = 1_KiB}});  // here
  f.plan(spec({300}, f32));
}

MISTAKE(Memory, AllocationAboveTheLimit, OutOfMemoryError,
        "out of memory: constant needs 11.75 KiB (12032 bytes) with 0 B live; the limit is 1.00 KiB") {
  memory::set_limit(1_KiB);
  ones({3000});  // here
}

MISTAKE(
    Memory, CallAboveTheLimit, BudgetError,
    "jit: no plan fits the memory that is left, 12.75 KiB (13056 bytes); the smallest peak that the planner finds is "
    "23.50 KiB (24064 bytes).") {
  const Array x = ones({3000});
  const auto f = jit([](const Array& a) { return a + 1; });  // here
  memory::set_limit(memory::live_bytes() + 1_KiB);
  f(x);
}

MISTAKE(
    Memory, UnknownStrategy, OptionError,
    "strategy: got \"quick\"; expected one of naive, fused, chunked, subkey, nocopy-gather-grad, recompute, inplace") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.strategy = "quick"});  // here
  f(ones({3}));
}

MISTAKE(Memory, StrategyOfTheNaivePipeline, OptionError,
        "strategy: got \"chunked\"; expected none with the naive pipeline") {
  const auto f =
      jit([](const Array& a) { return a + 1; }, {.pipeline = Pipeline::naive, .strategy = "chunked"});  // here
  f(ones({3}));
}

MISTAKE(Memory, StrategyForGathersWithoutOne, OptionError,
        "strategy: got \"nocopy-gather-grad\"; expected a function that adds to elements by index what it computes for "
        "that alone, as gradients of gathers do; leave the strategy out") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.strategy = "nocopy-gather-grad"});  // here
  f(ones({3}));
}

MISTAKE(Memory, SubkeysWithoutRandomNumbers, OptionError,
        "strategy: got \"subkey\"; expected a function that draws 8 random numbers or more with one key; pin fewer "
        "chunks, or leave the strategy out") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.strategy = "subkey"});  // here
  f(ones({3}));
}

MISTAKE(Memory, RecomputesNothing, OptionError,
        "strategy: got \"recompute\"; expected a function in which several steps read a value that is computed in "
        "registers; leave the strategy out") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.strategy = "recompute"});  // here
  f(ones({3}));
}

MISTAKE(Memory, NoChunks, OptionError, "chunks: got 0; expected 1 or more") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.chunks = 0});  // here
  f(ones({3}));
}

MISTAKE(Memory, RunsWhatIsPlannedForAnotherDevice, UserError,
        "jit: a call of what is planned for the limits of watch; expected plan(...) or tradeoff(...); leave "
        "the option `limits` out to run on a device") {
  const auto f = jit([](const Array& a) { return a + 1; }, {.limits = Limits{.name = "watch"}});  // here
  f(ones({3}));
}

MISTAKE(Memory, AlignsToThree, OptionError, "limits: alignment: got 3; expected a power of two from 64 to 2^40") {
  const auto f =
      jit([](const Array& a) { return a + 1; }, {.limits = Limits{.name = "watch", .alignment = 3}});  // here
  f.plan(ones({3}));
}

MISTAKE(Memory, LastPlanOfNoCall, UserError, "last_plan: the function has not been called; call it, or use plan(...)") {
  const auto f = jit([](const Array& a) { return a + 1; });
  f.last_plan();  // here
}

MISTAKE(Memory, PeakOfNoPlan, UserError,
        "Plan: an empty plan is read; expected one that plan(...) or last_plan() returned") {
  Plan().peak_bytes();  // no line is known to it
}

MISTAKE(Memory, PrintsNoPlan, UserError,
        "Plan: an empty plan is read; expected one that plan(...) or last_plan() returned") {
  Plan().to_text();
}
