// backends/cpu/convolution.h and planner/kernels/convolution_tiles.cpp: against the reference interpreter on random
// shapes, layouts, steps and paddings; the same bits on any thread count and for parts; nothing behind its scratch.
#include "backends/cpu/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/buffer.h"
#include "core/thread_pool.h"
#include "tests/backends/products.h"
#include "trace/graph/convolution.h"
#include "trace/graph/infer.h"
#include "trace/reference/reference.h"

namespace neap::cpu {
namespace {

using namespace backends::test;
using namespace tracing;
using planner::ConvolutionForm;

// A convolution node between two inputs, and perhaps a third to add to.
struct Problem {
  Graph graph;
  const Node& node() const { return graph.nodes[0]; }
  ConvolutionForm form() const { return planner::convolution_form(graph, node()); }
};

struct Sizes {
  int64_t groups = 1, batch = 1, out = 1, in = 1;
  Shape extents;
  std::vector<Window> windows;
};

Shape in_place(const Ints& axes, const Shape& by_role) {
  Shape shape(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = by_role[i];
  return shape;
}

Problem problem(const Sizes& s, DType dtype, const Ints& lhs, const Ints& rhs, const Ints& out, bool adds) {
  Shape x{s.groups, s.batch, s.in}, w{s.groups, s.out, s.in}, y{s.groups, s.batch, s.out};
  for (size_t i = 0; i < s.windows.size(); ++i) {
    x.push_back(s.extents[i]);
    w.push_back(s.windows[i].size);
    y.push_back(s.windows[i].count(s.extents[i]));
  }
  Problem p;
  std::vector<ValueId> operands{p.graph.add_input({in_place(lhs, x), dtype}),
                                p.graph.add_input({in_place(rhs, w), dtype})};
  if (adds) operands.push_back(p.graph.add_input({in_place(out, y), dtype}));
  p.graph.outputs = {p.graph.add(Op::convolution, operands, convolution_attrs(lhs, rhs, out, s.windows))};
  return p;
}

template <class T>
std::vector<T> run(const ConvolutionForm& form, const std::vector<T>& lhs, const std::vector<T>& rhs,
                   std::vector<T> out) {
  const size_t bytes = planner::convolution_scratch_bytes(form);
  const BufferPtr scratch = allocate(bytes + 4096, "scratch");
  std::memset(scratch->data(), 0xFF, bytes + 4096);  // NaN, wherever it is read
  convolve(form, lhs.data(), rhs.data(), out.data(), scratch->data());
  for (size_t i = 0; i < 4096; ++i) EXPECT_EQ(scratch->data()[bytes + i], std::byte{0xFF});
  return out;
}

template <class T>
HostValue host(const Aval& aval, const std::vector<T>& elements) {
  HostValue value{aval, allocate(aval.bytes(), "test")};
  std::memcpy(value.data->data(), elements.data(), aval.bytes());
  return value;
}

template <class T>
void check(const Problem& p) {
  const ConvolutionForm form = p.form();
  const auto avals = p.graph.avals(p.graph.inputs);
  const auto lhs = product_operand<T>(avals[0].size(), 1), rhs = product_operand<T>(avals[1].size(), 2);
  const Aval& aval = p.graph.aval(p.graph.outputs[0]);
  std::vector<T> initial(static_cast<size_t>(aval.size()), T(77));
  std::vector<HostValue> in{host(avals[0], lhs), host(avals[1], rhs)};
  if (form.adds) in.push_back(host(avals[2], initial));
  set_num_threads(1);
  const auto one = run(form, lhs, rhs, initial);
  set_num_threads(2);
  ASSERT_EQ(std::memcmp(one.data(), run(form, lhs, rhs, initial).data(), one.size() * sizeof(T)), 0);
  const HostValue expected = evaluate_reference(p.graph, in)[0];
  const auto terms = static_cast<double>(form.in * form.window_size());
  const double tolerance = (std::is_same_v<T, float> ? 2e-7 : 4e-16) * (terms + 80);
  for (size_t i = 0; i < one.size(); ++i) {
    const auto want = static_cast<double>(expected.data->as<T>()[i]);
    ASSERT_NEAR(one[i], want, tolerance * std::max(1.0, std::fabs(want))) << i << " of " << print(p.graph);
  }
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t upto(int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(engine_); }
  bool coin() { return upto(2) == 1; }
  Ints order(size_t n) {
    Ints axes(n);
    for (size_t i = 0; i < n; ++i) axes[i] = static_cast<int64_t>(i);
    if (coin()) std::ranges::shuffle(axes, engine_);
    return axes;
  }

 private:
  std::mt19937 engine_;
};

Sizes random_sizes(Random& r) {
  Sizes s{r.coin() ? 1 : r.upto(r.coin() ? 3 : 40),
          r.coin() ? r.upto(3) : r.upto(40),
          r.upto(r.coin() ? 4 : 40),
          r.upto(r.coin() ? 4 : 20),
          {},
          {}};
  const int64_t space = r.upto(3);
  for (int64_t i = 0; i < space; ++i) {
    const bool long_window = r.upto(6) == 1;
    Window w{r.upto(long_window ? 40 : 5), r.upto(3), r.coin() ? 1 : r.upto(4), r.upto(5) - 2, r.upto(5) - 2, 0};
    s.extents.push_back(std::max<int64_t>(w.reach().value() - w.low - w.high + r.upto(long_window ? 3 : 20) - 1, 1));
    if (w.count(s.extents[i]) == 0) w.low = w.high = w.reach().value();
    s.windows.push_back(w);
  }
  return s;
}

TEST(Convolution, EqualsTheReference) {
  Random random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const Sizes s = random_sizes(random);
    const size_t rank = 3 + s.windows.size();
    double work = static_cast<double>(s.groups * s.batch * s.out * s.in);
    for (size_t i = 0; i < s.windows.size(); ++i)
      work *= static_cast<double>(s.windows[i].size * s.windows[i].count(s.extents[i]));
    if (work > 2e6) continue;
    const Ints lhs = random.order(rank), rhs = random.order(rank), out = random.order(rank);
    const bool adds = random.upto(4) == 1;
    check<float>(problem(s, DType::f32, lhs, rhs, out, adds));
    check<double>(problem(s, DType::f64, lhs, rhs, out, adds));
    if (HasFatalFailure()) return;
  }
}

// The shapes of networks: several tiles and blocks of everything, examples side by side, few rows, windows as large as
// the operand.
TEST(Convolution, EqualsTheReferenceOnShapesOfNetworks) {
  const Ints axes{0, 1, 2, 3, 4};
  const auto square = [](int64_t size, int64_t stride, int64_t low, int64_t high, int64_t dilation = 1) {
    const Window w{size, stride, dilation, low, high, 0};
    return std::vector{w, w};
  };
  for (const Sizes& s :
       {Sizes{1, 2, 40, 20, {30, 30}, square(3, 1, 1, 1)}, Sizes{1, 3, 64, 3, {45, 45}, square(7, 2, 3, 3)},
        Sizes{1, 16, 140, 40, {7, 7}, square(3, 1, 1, 1)}, Sizes{1, 32, 16, 4, {20, 20}, square(18, 1, 0, 0)},
        Sizes{1, 20, 9, 3, {16, 16}, square(16, 1, 0, 0)}, Sizes{12, 2, 1, 1, {33, 33}, square(3, 1, 1, 1)},
        Sizes{1, 1, 1, 1, {60, 60}, square(21, 1, 10, 10)}, Sizes{1, 9, 12, 300, {5, 5}, square(1, 1, 0, 0)},
        Sizes{1, 4, 8, 16, {40, 40}, square(3, 1, 12, 12, 12)}}) {
    check<float>(problem(s, DType::f32, axes, axes, axes, false));
  }
  check<float>(problem({1, 1, 2, 2, {3000}, {{101, 1, 1, 50, 50, 0}}}, DType::f32, {0, 1, 2, 3}, {0, 1, 2, 3},
                       {0, 1, 2, 3}, false));
  check<float>(problem({1, 3, 2, 2, {2000}, {{600, 1, 1, 0, 0, 0}}}, DType::f32, {0, 1, 2, 3}, {0, 1, 2, 3},
                       {0, 1, 2, 3}, false));
  check<float>(problem({1, 2, 3, 2, {4000}, {{2, 1, 3000, 0, 0, 0}}}, DType::f32, {0, 1, 2, 3}, {0, 1, 2, 3},
                       {0, 1, 2, 3}, false));
}

// Groups whose own results do not fill vectors, as the gradient of depthwise windows has them, are computed side by
// side.
TEST(Convolution, GroupsSideBySide) {
  Random random(3);
  int side_by_side = 0;
  for (int trial = 0; trial < 16; ++trial) {
    const Window tall{random.upto(20), random.upto(2), random.upto(2), random.upto(3) - 1, random.upto(3) - 1, 0};
    const Window wide{random.upto(20), random.upto(2), random.upto(2), random.upto(3) - 1, random.upto(3) - 1, 0};
    const Sizes s{16 + random.upto(30),
                  random.upto(2),
                  random.upto(3),
                  random.upto(8),
                  {tall.reach().value() + random.upto(7) + 2, wide.reach().value() + random.upto(7) + 2},
                  {tall, wide}};
    const Ints lhs = random.order(5), rhs = random.order(5), out = random.order(5);
    const Problem p = problem(s, DType::f32, lhs, rhs, out, trial % 4 == 0);
    side_by_side += planner::convolution_tiles(p.form()).by_group ? 1 : 0;
    check<float>(p);
    check<double>(problem(s, DType::f64, lhs, rhs, out, trial % 4 == 0));
    if (HasFatalFailure()) return;
    // One group alone has the bits that it has among others.
    ConvolutionForm one = p.form();
    const auto avals = p.graph.avals(p.graph.inputs);
    const auto a = product_operand<float>(avals[0].size(), 1), b = product_operand<float>(avals[1].size(), 2);
    const std::vector<float> start(static_cast<size_t>(p.graph.aval(p.graph.outputs[0]).size()), 3);
    const auto all = run(one, a, b, start);
    one.groups = 1;
    const auto alone = run(one, a, b, start);
    for (size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(alone[i] == 3 || alone[i] == all[i]) << i;
  }
  EXPECT_GT(side_by_side, 3);
}

// Parts along examples and features of the result are the whole's, and so are parts along the features that are added
// up, where they are whole blocks and each adds to those before.
TEST(Convolution, PartsHaveTheBitsOfTheWhole) {
  const Window w{3, 1, 1, 1, 1, 0};
  for (const auto& [batch, out, in] : {std::array<int64_t, 3>{9, 30, 8}, {3, 13, 280}}) {
    const Sizes whole{1, batch, out, in, {11, 9}, {w, w}};
    const Ints axes{0, 1, 2, 3, 4};
    const Problem p = problem(whole, DType::f32, axes, axes, axes, false);
    const auto lhs = product_operand<float>(p.graph.aval(p.graph.inputs[0]).size(), 1);
    const auto rhs = product_operand<float>(p.graph.aval(p.graph.inputs[1]).size(), 2);
    const size_t image = 99, results = static_cast<size_t>(batch * out) * image;
    const auto all = run(p.form(), lhs, rhs, std::vector<float>(results));
    std::vector<float> parts(results);
    for (int64_t b = 0; b < batch; b += 2) {
      ConvolutionForm form = p.form();  // the strides of the whole, fewer examples
      form.batch = std::min<int64_t>(2, batch - b);
      const std::vector<float> from(lhs.begin() + b * in * 99, lhs.end());
      const auto here = run(form, from, rhs, std::vector<float>(static_cast<size_t>(form.batch * out) * image));
      std::ranges::copy(here, parts.begin() + b * out * 99);
    }
    EXPECT_EQ(std::memcmp(all.data(), parts.data(), results * sizeof(float)), 0);
    const int64_t block = p.form().is_long() ? p.form().block_features() : 1;
    std::vector<float> total(results, 0);
    for (int64_t f = 0; f < in; f += 5 * block) {
      ConvolutionForm form = p.form();
      form.in = std::min<int64_t>(5 * block, in - f);
      form.whole_in = in;
      form.adds = true;
      total = run(form, {lhs.begin() + f * 99, lhs.end()}, {rhs.begin() + f * 9, rhs.end()}, total);
    }
    EXPECT_EQ(std::memcmp(all.data(), total.data(), results * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace neap::cpu
