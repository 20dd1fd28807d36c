// The generator: known answers of threefry2x32, and JAX's bits and keys (tests/golden/random).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "tests/trace/host.h"
#include "trace/reference/reference_math.h"

namespace neap::tracing {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using Words = std::pair<uint32_t, uint32_t>;

HostValue key(int64_t seed) {
  const auto bits = static_cast<uint64_t>(seed);
  return host<uint32_t>({2}, {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)});
}

TEST(Threefry, KnownAnswersOfTheReference) {
  EXPECT_EQ(ref::threefry2x32(0, 0, 0, 0), Words(0x6b200159, 0x99ba4efe));
  EXPECT_EQ(ref::threefry2x32(~0u, ~0u, ~0u, ~0u), Words(0x1cb996fc, 0xbb002be7));
  EXPECT_EQ(ref::threefry2x32(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3), Words(0xc4923a9c, 0x483df7a0));
}

TEST(ReferenceRandom, BitsAreOfTheElementIndex) {
  const HostValue seed = key(42);
  const HostValue bits = evaluate(Op::random_bits, {seed}, {{Attr::shape, Ints{3}}, {Attr::dtype, u32}});
  EXPECT_THAT(elements_of<uint32_t>(bits), ElementsAre(0x7d1c13a2u, 0xae0730d9u, 0x9dc3f9f9u));
  // The high word of the index: element 2^32 of a shape that is never stored.
  const HostValue far =
      evaluate(Op::random_bits, {seed, host<int64_t>({1}, {int64_t{1} << 32})},
               {{Attr::shape, Ints{1}}, {Attr::dtype, u32}, {Attr::full_shape, Ints{(int64_t{1} << 32) + 1}}});
  EXPECT_THAT(elements_of<uint32_t>(far), ElementsAre(0xd61fff96u));
}

TEST(ReferenceRandom, AnOffsetReadsAWindowOfTheFullShape) {
  const auto whole =
      elements_of<uint16_t>(evaluate(Op::random_bits, {key(7)}, {{Attr::shape, Ints{4, 5}}, {Attr::dtype, u16}}));
  const Attrs attrs{{Attr::shape, Ints{2, 3}}, {Attr::dtype, u16}, {Attr::full_shape, Ints{4, 5}}};
  const auto window = elements_of<uint16_t>(evaluate(Op::random_bits, {key(7), host<int64_t>({2}, {1, 2})}, attrs));
  EXPECT_THAT(window, ElementsAre(whole[7], whole[8], whole[9], whole[12], whole[13], whole[14]));
}

TEST(ReferenceRandom, ABatchOfKeysIsEachKeyAlone) {
  const HostValue keys = evaluate(Op::random_split, {key(3)}, {{Attr::shape, Ints{4}}});
  const std::vector<uint32_t> words = elements_of<uint32_t>(keys);
  const Attrs attrs{{Attr::shape, Ints{5}}, {Attr::dtype, u64}};
  const auto together = elements_of<uint64_t>(evaluate(Op::random_bits, {keys}, attrs));
  for (size_t i = 0; i < 4; ++i) {
    const HostValue one = host<uint32_t>({2}, {words[2 * i], words[2 * i + 1]});
    const auto alone = elements_of<uint64_t>(evaluate(Op::random_bits, {one}, attrs));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(5 * i)));
  }
}

TEST(ReferenceRandom, BitsAndKeysAreThoseOfJax) {
  const std::filesystem::path folder = std::filesystem::path(NEAP_TESTS_DIR) / "golden" / "random";
  int compared = 0;
  for (const auto& entry : nlohmann::json::parse(std::ifstream(folder / "manifest.json"))) {
    const std::string function = entry["function"];
    const Shape batch = entry["batch"];
    Shape shape = entry["shape"];
    shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch.size()));
    HostValue keys = key(entry["seed"]);
    if (!batch.empty()) keys = evaluate(Op::random_split, {keys}, {{Attr::shape, batch}});
    HostValue got;
    if (function == "bits") {
      const DType dtype = parse_dtype(entry["dtype"].get<std::string>()).value();
      got = evaluate(Op::random_bits, {keys}, {{Attr::shape, shape}, {Attr::dtype, dtype}});
    } else if (function == "split") {
      shape.pop_back();
      got = evaluate(Op::random_split, {keys}, {{Attr::shape, shape}});
    } else if (function == "fold_in" && batch.empty()) {
      got = evaluate(Op::random_fold_in, {keys, host<uint32_t>({}, {entry["params"]["data"].get<uint32_t>()})});
    } else {
      continue;
    }
    const HostValue expected = read_npy(folder / entry["file"].get<std::string>());
    ASSERT_EQ(got.aval, expected.aval) << entry;
    EXPECT_EQ(std::memcmp(got.data->data(), expected.data->data(), got.aval.bytes()), 0) << entry;
    ++compared;
  }
  EXPECT_GE(compared, 30);
}

}  // namespace
}  // namespace neap::tracing
