// Plans for devices that are not here.
#include "planner/plan/limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "planner/plan/device_record.h"
#include "planner/report/check.h"
#include "planner/report/report.h"
#include "planner/search/make_plan.h"
#include "programs.h"
#include "tests/limits_fields.h"

namespace neap::planner {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::filesystem::path> recorded() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(NEAP_TESTS_DIR "/data/devices")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

Limits read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return parse_limits(std::string(std::istreambuf_iterator<char>(file), {}), path.filename());
}

PlanOptions options_for(const Limits& limits) {
  PlanOptions options;
  options.target = target_of(limits);
  if (limits.memory > 0) options.memory_budget = limits.memory;
  options.want_alternatives = false;
  return options;
}

TEST(Limits, EveryRecordedDeviceCanBePlannedFor) {
  EXPECT_GE(recorded().size(), 10u);
  for (const auto& path : recorded()) {
    const Limits limits = read(path);
    SCOPED_TRACE(path);
    EXPECT_TRUE(limits.gpu);
    EXPECT_FALSE(limits.name.empty());
    const bool llvmpipe = limits.name.starts_with("llvmpipe");  // sees several imports as one
    if (!llvmpipe) EXPECT_GE(limits.largest_buffer, size_t{256} << 20);
    EXPECT_EQ(limits.largest_buffer, llvmpipe ? 0 : limits.largest_allocation);
    EXPECT_EQ(limits.count_tables, llvmpipe ? 2 : 1) << "whatever this machine has";
    if (limits.memory > 0) EXPECT_LE(limits.largest_allocation, limits.memory);
    const PlanData gradient = make_plan(gather_case(int64_t{1} << 20, DType::i32, true), options_for(limits));
    EXPECT_TRUE(check_plan(gradient).empty());
    EXPECT_EQ(gradient.steps[0].form, ScatterForm::counts);
    // Products that live together: twenty of 256 MiB, which fill what allocations there are, and no device has more.
    Graph g = products(20, 8192);
    PlanOptions options = options_for(limits);
    options.memory_budget.reset();
    const PlanData plan = make_plan(g, options);
    EXPECT_EQ(check_plan(plan), std::vector<std::string>());
    for (const size_t block : plan.arena_blocks) EXPECT_LE(block, limits.largest_allocation);
    EXPECT_EQ(plan.arena_blocks.empty(), plan.arena_bytes <= limits.largest_allocation);
    for (const PlanStep& step : plan.steps) EXPECT_TRUE(step.scratch.empty()) << "a GPU packs nothing";
    if (limits.memory > 0 && plan.peak_bytes > limits.memory) {
      EXPECT_THROW(make_plan(g, options_for(limits)), BudgetError);
    }
  }
}

// What a record says, and what follows from it.
TEST(Limits, FollowFromARecordsFields) {
  DeviceRecord card{.name = "a card", .type = "discrete", .api_version = 1003};
  card.max_workgroup_invocations = card.max_workgroup_size[0] = 1024;
  card.max_shared_memory = 48 << 10;
  card.device_local_heaps = {uint64_t{256} << 20, uint64_t{8} << 30};
  const auto parsed = [](const DeviceRecord& record) { return parse_limits(to_json(record), "file"); };
  EXPECT_EQ(parsed(card).name, "a card");
  EXPECT_EQ(parsed(card).memory, size_t{8} << 30) << "arrays lie in one heap";
  EXPECT_EQ(parsed(card).largest_buffer, size_t{1} << 30);
  EXPECT_FALSE(parsed(card).host_memory || parsed(card).wide_atomics || parsed(card).half_products);
  card.atomic_int64 = true;
  EXPECT_TRUE(parsed(card).wide_atomics);
  card.matrix_shapes = {{16, 16, 16}};
  EXPECT_FALSE(parsed(card).half_products) << "it has no halves";
  card.float16 = card.int16 = card.storage_16bit = true;
  EXPECT_FALSE(parsed(card).half_products) << "nor subgroups of a known size";
  card.subgroup_arithmetic = card.subgroup_shuffle = card.subgroup_size_control = true;
  card.min_subgroup_size = card.max_subgroup_size = card.subgroup_size = 32;
  EXPECT_TRUE(parsed(card).half_products);
  EXPECT_FALSE(parsed(card).bf16_products);
  card.matrix_shapes_bf16 = {{16, 8, 16}};
  EXPECT_FALSE(parsed(card).bf16_products) << "of another shape";
  card.matrix_shapes_bf16.push_back({16, 16, 16});
  EXPECT_TRUE(parsed(card).bf16_products);
  DeviceRecord chip = card;
  chip.type = "integrated";
  chip.host_visible_device_local = chip.all_memory_host_visible = true;
  EXPECT_FALSE(parsed(chip).host_memory);
  chip.imported_host_alignment = 4096;
  EXPECT_TRUE(parsed(chip).host_memory);
  EXPECT_EQ(parsed(chip).memory, 0u) << "the host's";
  EXPECT_EQ(parsed(chip).largest_buffer, size_t{1} << 30);
}

// Two plans of one program: for a record, and for the limits that are written out.
TEST(Limits, WrittenOutGiveThePlanOfTheRecord) {
  for (const auto& path : recorded()) {
    SCOPED_TRACE(path);
    const Limits limits = read(path);
    const std::string text = fmt::format(
        R"({{"name": "{}", "gpu": {}, "memory": {}, "largest_allocation": {}, "largest_buffer": {}, "alignment": {},
            "wide_atomics": {}, "half_products": {}, "bf16_products": {}, "count_tables": {}, "host_memory": {}}})",
        limits.name, limits.gpu, limits.memory, limits.largest_allocation, limits.largest_buffer, limits.alignment,
        limits.wide_atomics, limits.half_products, limits.bf16_products, limits.count_tables, limits.host_memory);
    const Limits again = parse_limits(text, "file");
    EXPECT_EQ(fields(again), fields(limits));
    const Graph g = gather_case(int64_t{1} << 20, DType::i32, true);
    EXPECT_EQ(to_json(make_plan(g, options_for(again))), to_json(make_plan(g, options_for(limits))));
  }
}

TEST(Limits, AnArenaMaySpanAllocations) {
  const Graph g = products(8);  // of 16 KiB
  const auto plan_with = [&](size_t largest, size_t alignment) {
    PlanOptions options;
    options.target.gpu = true;
    options.target.carves = false;
    options.target.largest_allocation = largest;
    options.target.alignment = alignment;
    return make_plan(g, options);
  };
  const PlanData one = plan_with(0, 64);
  EXPECT_TRUE(one.arena_blocks.empty());
  for (const size_t largest : {size_t{16} << 10, size_t{20} << 10, size_t{48} << 10, size_t{1} << 20}) {
    const PlanData plan = plan_with(largest, 64);
    EXPECT_EQ(check_plan(plan), std::vector<std::string>());
    EXPECT_GE(plan.peak_bytes, one.peak_bytes);
    EXPECT_EQ(plan.peak_bytes, one.peak_bytes) << "buffers of one size fill allocations of any";
    if (largest < one.arena_bytes) EXPECT_GT(plan.arena_blocks.size(), 1u);
    EXPECT_EQ(parse_plan(to_json(plan), "test").arena_blocks, plan.arena_blocks);
    PlanData wrong = plan;
    if (wrong.arena_blocks.empty()) continue;
    wrong.arena_blocks[0] -= 64;
    wrong.arena_blocks[1] += 64;
    EXPECT_FALSE(check_plan(wrong).empty());
  }
  const PlanData aligned = plan_with(0, 65536);
  EXPECT_EQ(check_plan(aligned), std::vector<std::string>());
  for (const PlanBuffer& buffer : aligned.buffers) {
    if (buffer.offset >= 0) EXPECT_EQ(buffer.offset % 65536, 0);
  }
  EXPECT_EQ(aligned.arena_bytes, 4 * one.arena_bytes);
}

TEST(Limits, ABufferThatNoAllocationHoldsIsNamed) {
  Limits limits{.name = "a small device", .gpu = true, .largest_buffer = 1 << 20};
  EXPECT_THAT([&] { make_plan(products(3, 1024), options_for(limits)); },
              ThrowsMessage<OutOfMemoryError>(AllOf(HasSubstr("f32[1024,1024]"), HasSubstr("4.00 MiB"),
                                                    HasSubstr("a small device gives at most"))));
  limits.largest_buffer = 4 << 20;
  EXPECT_NO_THROW(make_plan(products(3, 1024), options_for(limits)));
}

TEST(Limits, PlansOfMoreBytesThanCanBeCountedAreRefused) {
  const auto refused = ThrowsMessage<OutOfMemoryError>(HasSubstr("no device counts as many"));
  EXPECT_THAT([] { make_plan(products(3, int64_t{1} << 30), {}); }, refused);
  Graph g;
  std::vector<ValueId> given;
  for (int i = 0; i < 4; ++i) given.push_back(g.add_input({{int64_t{1} << 62}, DType::u8}));
  g.outputs = {g.add(Op::reduce_max, {g.add(Op::add, {given[0], given[1]})}, {{Attr::axes, Ints{0}}})};
  EXPECT_THAT([&] { make_plan(g, {.name = "f"}); }, refused);
  EXPECT_THAT([&] { make_plan(g, {.name = "f"}); }, ThrowsMessage<OutOfMemoryError>(HasSubstr("f has buffers of")));
  Graph results;
  const ValueId x = results.add_input({{int64_t{1} << 61}, DType::u8});
  results.outputs = {results.add(Op::add, {x, x}), results.add(Op::multiply, {x, x}), results.add(Op::sign, {x})};
  EXPECT_THAT([&] { make_plan(results, {}); }, refused);
  EXPECT_NO_THROW(make_plan(products(1, int64_t{1} << 28), {}));
}

TEST(Limits, OwnNamesAndErrors) {
  const Limits limits = parse_limits(R"({"name": "x", "memory": 1000, "largest_allocation": 500, "alignment": 256,
                                         "gpu": true, "wide_atomics": false, "half_products": true,
                                         "bf16_products": true, "count_tables": 3, "host_memory": false, "source": "nowhere"})",
                                     "f");
  EXPECT_TRUE(limits.half_products && limits.bf16_products);
  EXPECT_EQ(limits.count_tables, 3);
  EXPECT_EQ(limits.memory, 1000u);
  EXPECT_EQ(limits.largest_allocation, 500u);
  EXPECT_EQ(limits.largest_buffer, 0u);
  EXPECT_EQ(limits.alignment, 256u);
  EXPECT_TRUE(limits.gpu && !limits.wide_atomics && !limits.host_memory);
  EXPECT_EQ(parse_limits("{}", "f").name, "f");
  const auto fails = [](const char* text, const char* message) {
    EXPECT_THAT([&] { parse_limits(text, "file.json"); }, ThrowsMessage<UserError>(HasSubstr(message))) << text;
  };
  fails("[]", "file.json: expected an object");
  fails("{", "file.json: no JSON");
  fails(R"({"memory": -1})", "memory: expected a number of bytes");
  fails(R"({"memory": "8 GiB"})", "memory: expected a number of bytes");
  fails(R"({"alignment": 96})", "alignment: expected a power of two");
  fails(R"({"alignment": 32})", "alignment: expected a power of two");
  fails(R"({"gpu": 1})", "gpu: expected true or false");
  fails(R"({"half_products": 1})", "half_products: expected true or false");
  fails(R"({"count_tables": 0})", "count_tables: expected a number of tables, 1 to 64");
  fails(R"({"count_tables": 65})", "count_tables: expected a number of tables, 1 to 64");
  fails(R"({"largest_bufer": 5})", "file.json: largest_bufer: expected one of name, gpu, memory");
  fails(R"({"api_version": 1002, "device_local_heaps": [1.5]})", "file.json: field 'device_local_heaps'; expected");
  fails(R"({"api_version": 1002, "atomic_int46": true})", "file.json: field 'atomic_int46'; expected one of");
  // A member by name goes before what follows from the record.
  const Limits both = parse_limits(R"({"api_version": 1002, "count_tables": 4, "memory": 7})", "f");
  EXPECT_TRUE(both.gpu && both.count_tables == 4 && both.memory == 7);
  EXPECT_EQ(both.largest_allocation, size_t{1} << 30);
  // As are limits that were never in a file.
  const auto refused = [](const Limits& wrong, const char* message) {
    EXPECT_THAT([&] { target_of(wrong); }, ThrowsMessage<OptionError>(HasSubstr(message)));
  };
  refused({.alignment = 96}, "limits: alignment: got 96; expected a power of two");
  refused({.alignment = 0}, "limits: alignment: got 0");
  refused({.count_tables = 0}, "limits: count_tables: got 0; expected 1 to 64");
}

}  // namespace
}  // namespace neap::planner
