// What save() writes and refuses. tests/aot links and runs it; tests/conformance/cpu_object_test.cpp runs whole suites
// so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/aot.h>
#include <neap/neap.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "planner/plan/plan.h"

namespace neap {
namespace {

using testing::HasSubstr;
using testing::Not;

class Save : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "neap_save_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string text(const std::filesystem::path& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  // The files that are there.
  size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

  std::filesystem::path folder_;
};

Array twice(const Array& x) { return 2.0f * x; }

TEST_F(Save, SaysWhatACallHolds) {
  const Saved saved = save(jit(twice), folder_ / "twice", spec({100}, f32));
  EXPECT_EQ(saved.object, folder_ / "twice.o");
  EXPECT_EQ(saved.header, folder_ / "twice.h");
  EXPECT_EQ(saved.arena_bytes, 0u);
  EXPECT_EQ(saved.peak_bytes, 2u * 448);
  EXPECT_FALSE(saved.needs_runtime);
  const std::string header = text(saved.header);
  EXPECT_THAT(header, HasSubstr("void twice(const float* x0, float* y0, void* arena);"));
  EXPECT_THAT(header, HasSubstr("#define TWICE_ARENA_BYTES ((size_t)1)"));
  EXPECT_THAT(header, HasSubstr("#define TWICE_PEAK_BYTES ((size_t)896)"));
  EXPECT_THAT(header, HasSubstr("std::span<const float, 100> x0"));
  EXPECT_EQ(text(saved.object).substr(1, 3), "ELF");
  EXPECT_EQ(files(), 2u);
}

TEST_F(Save, TheSameTwice) {
  save(jit(twice), folder_ / "twice", spec({100}, f32));
  const std::string first = text(folder_ / "twice.o");
  save(jit(twice), folder_ / "twice", spec({100}, f32));
  EXPECT_EQ(text(folder_ / "twice.o"), first);
}

TEST_F(Save, EachTypeByItsNameInC) {
  const auto all = [](const std::vector<Array>& in) {
    std::vector<Array> out;
    for (const Array& x : in) out.push_back(x + x);
    return out;
  };
  std::vector<Array> specs;
  for (const DType t : {i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128}) {
    specs.push_back(spec({3}, t));
  }
  const std::string header = text(save(jit(all), folder_ / "all", specs).header);
  for (const char* part :
       {"const int8_t* x0,", "const int16_t* x1,", "const int32_t* x2,", "const int64_t* x3,", "const uint8_t* x4,",
        "const uint16_t* x5,", "const uint32_t* x6,", "const uint64_t* x7,", "const uint16_t* x8,",
        "const uint16_t* x9,", "const float* x10,", "const double* x11,", "std::span<const float, 6> x12,",
        "std::span<double, 6> y13,", "the bits of an IEEE half each", "the bits of a bfloat16 each",
        "real and imaginary parts in turn"}) {
    EXPECT_THAT(header, HasSubstr(part));
  }
}

TEST_F(Save, NamesAndDonatedArguments) {
  const auto f = jit([](const Array& x, const Array& y) { return std::pair{x + y, x}; }, {.donate = {0}});
  const Saved saved = save(f, folder_ / "step", {.arguments = {"state", "input"}, .results = {"next", "before"}},
                           spec({64}, f32), spec({64}, f32));
  const std::string header = text(saved.header);
  EXPECT_THAT(header, HasSubstr("float* state, const float* input"));
  EXPECT_THAT(header, HasSubstr("becomes before"));
  EXPECT_THAT(header, Not(HasSubstr("float* before")));
}

TEST_F(Save, ResultsThatAreArgumentsCount) {
  const Saved saved = save(jit([](const Array& x) { return std::pair{x, x}; }), folder_ / "same", spec({16}, f32));
  EXPECT_EQ(saved.plan.peak_bytes(), 64u);
  EXPECT_EQ(saved.peak_bytes, 3u * 64);
}

TEST_F(Save, CapturedArraysArePartOfTheFile) {
  const Array w = full({1000}, 3.0f);
  const Saved saved = save(jit([w](const Array& x) { return sum(w * x); }), folder_ / "weighted", spec({1000}, f32));
  EXPECT_THAT(text(saved.header), HasSubstr("void weighted(const float* x0, float* y0, void* arena);"));
  EXPECT_GT(std::filesystem::file_size(saved.object), 4000u);
}

TEST_F(Save, ForAnotherProcessor) {
  const auto f = jit(twice);
  const Saved saved = save(f, folder_ / "twice", {.target = "aarch64-linux-gnu"}, spec({100}, f32));
  EXPECT_THAT(text(saved.header), HasSubstr("for aarch64-unknown-linux-gnu, processor generic"));
  EXPECT_EQ(text(saved.object)[18], '\xB7');  // e_machine: AArch64
  const Saved oldest = save(f, folder_ / "old", {.cpu = "x86-64"}, spec({100}, f32));
  EXPECT_THAT(text(oldest.header), HasSubstr("processor x86-64"));
}

TEST_F(Save, ABudgetHolds) {
  const auto f = [](const Array& x) { return sum(sin(matmul(x, x))); };
  const size_t most = save(jit(f), folder_ / "free", spec({256, 256}, f32)).peak_bytes;
  const size_t least =
      save(jit(f, {.memory_budget = most * 3 / 4}), folder_ / "tight", spec({256, 256}, f32)).peak_bytes;
  EXPECT_LE(least, most * 3 / 4);
  EXPECT_THROW(save(jit(f, {.memory_budget = 1000}), folder_ / "none", spec({256, 256}, f32)), BudgetError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.h"));
}

// Each is refused by one sentence that names this file, and nothing is written.
template <class Error = UserError, class F>
void expect_refused(const F& f, const std::string& part, int line) {
  try {
    f();
    ADD_FAILURE() << "accepted: " << part;
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr(part));
    const std::string said = e.what(), mark = "[save_test.cpp:";
    const size_t at = said.find(mark);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_NEAR(std::stoi(said.substr(at + mark.size())), line, 2);  // __LINE__ is that of the statement's end
  }
}

// Programs for which jit chooses a naive plan, whose buffers lie apart.
TEST_F(Save, NeverNaively) {
  const auto sorts = jit([](const Array& x) { return std::pair{sort(x, 0), argsort(x, 1)}; });
  EXPECT_FALSE(save(sorts, folder_ / "sorts", spec({24, 24}, f32)).plan.data().naive);
  const auto values = jit([](const Array& x) { return std::pair{linalg::svdvals(x), linalg::pinv(x)}; });
  const Saved saved = save(values, folder_ / "values", spec({100, 100}, f32));
  EXPECT_FALSE(saved.plan.data().naive);
  EXPECT_THAT(text(saved.header), HasSubstr("-lneap-runtime -lm -lstdc++"));
}

TEST_F(Save, ABudgetCountsResultsThatAreCopies) {
  const auto thrice = [](const Array& x) { return std::vector{x, x, x}; };
  const Array x = spec({16}, f32);
  EXPECT_THROW(save(jit(thrice, {.memory_budget = 64}), folder_ / "a", x), BudgetError);
  EXPECT_EQ(save(jit(thrice, {.memory_budget = 256}), folder_ / "a", x).peak_bytes, 256u);
}

TEST_F(Save, NamesThatDifferByCase) {
  const std::string header = text(save(jit(twice), folder_ / "Twice", spec({4}, f32)).header);
  EXPECT_THAT(header, HasSubstr("NEAP_SAVED_Twice_H"));
  EXPECT_THAT(header, HasSubstr("Twice_ARENA_BYTES"));
}

// The symbol is what the header says, whatever the module's own functions are called.
TEST_F(Save, NamesOfItsOwnFunctions) {
  const auto f = jit([](const Array& x) { return tan(x); });
  EXPECT_THAT(text(save(jit(twice), folder_ / "kernel_0", spec({4}, f32)).object), Not(HasSubstr("kernel_0.")));
  EXPECT_THROW(save(f, folder_ / "tan", spec({4}, f64)), UserError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tan.o"));
}

TEST_F(Save, Refuses) {
  const Array x = spec({4}, f32);
  const auto f = jit(twice);
  expect_refused([&] { save(f, folder_ / "not-a-name", x); }, "the file name \"not-a-name\"; expected an identifier",
                 __LINE__);
  expect_refused([&] { save(f, folder_ / "", x); }, "the file name \"\"", __LINE__);
  expect_refused([&] { save(f, folder_ / "a", {.target = "sparc"}, x); }, "the target \"sparc\"; expected", __LINE__);
  expect_refused([&] { save(f, folder_ / "a", {.target = "armv7-linux-gnueabi"}, x); }, "expected a triple of",
                 __LINE__);
  expect_refused([&] { save(f, folder_ / "a", {.cpu = "z80"}, x); }, "the processor \"z80\"; expected one", __LINE__);
  expect_refused([&] { save(f, folder_ / "a", {.target = "aarch64-linux-gnu", .cpu = "znver4"}, x); }, "such as cortex",
                 __LINE__);
  for (const char* name : {"int", "class", "main", "std", "float", "math", "memcpy", "size_t", "uint8_t", "_x", "a__b",
                           "neap_runtime_sort", "x_ARENA_BYTES", "co_await", "saved"}) {
    expect_refused([&] { save(f, folder_ / name, x); }, "the file name \"" + std::string(name) + "\"", __LINE__);
  }
  for (const char* cpu : {"pentium4", "i386", "athlon"}) {
    expect_refused([&] { save(f, folder_ / "a", {.cpu = cpu}, x); }, "expected one of 64 bits", __LINE__);
  }
  for (const char* target :
       {"x86_64-unknown-linux-xcoff", "x86_64-linux-gnux32", "aarch64-linux-gnu_ilp32", "x86_64-pc-windows-msvc",
        "x86_64-uefi", "aarch64-linux-wasm", "x86_64-*/-linux", "arm64-apple-macos"}) {
    expect_refused([&] { save(f, folder_ / "a", {.target = target}, x); }, "expected a triple of x86_64 or aarch64",
                   __LINE__);
  }
  expect_refused([&] { save(jit(twice, {.limits = Limits{.name = "gpu", .gpu = true}}), folder_ / "a", x); },
                 "the limits of gpu", __LINE__);
  expect_refused([&] { save(jit(twice, {.strategy = "naive"}), folder_ / "a", x); }, "the naive pipeline", __LINE__);
  expect_refused<OptionError>([&] { save(f, folder_ / "a", {.arguments = {"this"}}, x); }, "the name \"this\"",
                              __LINE__);
  expect_refused([&] { save(f, folder_ / "no" / "a", x); }, "No such file", __LINE__);
  std::filesystem::create_symlink("/dev/full", folder_ / "full.h");
  expect_refused([&] { save(f, folder_ / "full", x); }, "No space left", __LINE__);
  std::filesystem::remove(folder_ / "full.h");
  expect_refused<OptionError>([&] { save(f, folder_ / "a", {.arguments = {"p", "q"}}, x); },
                              "2 names of arguments; expected 1", __LINE__);
  expect_refused<OptionError>([&] { save(f, folder_ / "a", {.results = {"x0"}}, x); }, "the name \"x0\"; expected",
                              __LINE__);
  expect_refused<OptionError>([&] { save(f, folder_ / "a", {.results = {"arena"}}, x); }, "the name \"arena\"",
                              __LINE__);
  expect_refused<OptionError>([&] { save(f, folder_ / "a", {.results = {"1st"}}, x); }, "the name \"1st\"", __LINE__);
  expect_refused([&] { save(jit(twice, {.pipeline = Pipeline::naive}), folder_ / "a", x); }, "the naive pipeline",
                 __LINE__);
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace neap
