// What JAX answers for reduce.h, nn.h, image.h, signal.h and the later functions of numpy.h: tests/golden/more.json,
// made by tools/golden_more.py, which names the calls.
#include <neap/reduce.h>

#include "tests/jit/golden.h"

namespace neap {
namespace {

using Inputs = std::map<std::string, Array>;

void add_segments(Calls& calls, Inputs& in) {
  const auto segments = [&](const char* name, Array (*f)(const Operand&, const Operand&, int64_t)) {
    calls[name] = [&in, f] {
      const Array& ids = in["ids"];
      return Arrays{f(in["data"], ids, 5), f(in["row"], ids, 6), f(in["ints"], ids, 4), f(in["bytes"], ids, 200),
                    f(reshape(in["data"][slice(6)], {3, 2, 3}), in["pairs"], 4)};
    };
  };
  segments("segment_sum", segment_sum), segments("segment_prod", segment_prod);
  segments("segment_max", segment_max), segments("segment_min", segment_min);
}

TEST(GoldenMore, AnswersWhatJaxAnswers) {
  const json golden = read_golden("more.json");
  Inputs in = inputs_of(golden);
  Calls calls;
  add_segments(calls, in);
  expect_answers(golden, calls);
}

TEST(Segments, TakeIdsOfNarrowDtypes) {
  const Array ids = array({0, 127, -1, 127}).astype(i8);
  const Array sums = segment_sum(array({1.0f, 2.0f, 3.0f, 4.0f}), ids, 200);
  EXPECT_EQ(sums[0].item<float>(), 1);
  EXPECT_EQ(sums[127].item<float>(), 6);
  EXPECT_EQ(sum(sums).item<float>(), 7);
  EXPECT_EQ(segment_max(array({uint64_t{5}}), array({1}), 2).to_vector<uint64_t>(), (std::vector<uint64_t>{0, 5}));
  EXPECT_EQ(segment_min(array({int64_t{5}}), array({1}), 2).to_vector<int64_t>(),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::max(), 5}));
  EXPECT_EQ(segment_min(array({true}), array({1}), 2).to_vector<bool>(), (std::vector<bool>{true, true}));
}

TEST(Segments, HalfTypesAddUpInF32) {
  const Array many = full({4096}, 1, bf16);
  EXPECT_EQ(segment_sum(many, zeros({4096}, i32), 1).item<float>(), 4096);
}

}  // namespace
}  // namespace neap
