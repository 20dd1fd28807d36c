// backends/cpu/fourier.h and planner/kernels/fourier_layout.cpp: against the reference interpreter for lengths of all
// kinds, along any axis; the same bits on any thread count, in place and for each transform by itself; nothing behind
// its scratch or its tables.
#include "backends/cpu/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/buffer.h"
#include "core/thread_pool.h"
#include "trace/reference/reference.h"

namespace neap::cpu {
namespace {

using namespace tracing;
using planner::FourierForm;
using planner::FourierKind;
using planner::FourierLanes;
using planner::FourierLayout;

Graph graph_of(const FourierForm& form) {
  const bool of_pairs = form.kind == FourierKind::pairs, to_reals = form.kind == FourierKind::to_reals;
  Shape shape{form.outer, to_reals ? form.length / 2 + 1 : form.length, form.inner};
  if (of_pairs || to_reals) shape.push_back(2);
  const Op op = of_pairs ? Op::fft_pairs : to_reals ? Op::irfft_pairs : Op::rfft_pairs;
  Graph g;
  g.outputs = {g.add(op, {g.add_input({shape, form.dtype})},
                     {{Attr::axis, int64_t{1}}, {Attr::reverse, int64_t{form.reverse}}})};
  return g;
}

template <class T>
std::vector<T> noise(const Aval& aval, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<size_t>(aval.size()));
  for (T& v : values) v = static_cast<T>(normal(random));
  return values;
}

// Writes to `out`, which may be the input. The scratch is as long as it must be, and NaN wherever it is read first.
template <class T>
void run(const FourierForm& form, const T* in, T* out) {
  const size_t bytes = planner::fourier_layout(form).scratch_bytes();
  const BufferPtr scratch = allocate(bytes + 4096, "scratch");
  std::memset(scratch->data(), 0xFF, bytes + 4096);
  transform(form, fourier_tables(form).data(), in, out, scratch->data());
  for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(scratch->data()[bytes + i], std::byte{0xFF});
}

template <class T>
void check(const FourierForm& form) {
  const Graph graph = graph_of(form);
  const Aval in_aval = graph.aval(graph.inputs[0]), out_aval = graph.aval(graph.outputs[0]);
  ASSERT_EQ(planner::fourier_form(graph, graph.nodes[0]), form);
  const std::vector<T> in = noise<T>(in_aval, 1);
  std::vector<T> out(static_cast<size_t>(out_aval.size()), T(9)), again = out;
  set_num_threads(1);
  run(form, in.data(), out.data());
  set_num_threads(3);
  run(form, in.data(), again.data());
  ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size() * sizeof(T)), 0);
  if (form.kind == FourierKind::pairs) {
    again = in;
    run(form, again.data(), again.data());
    ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size() * sizeof(T)), 0) << "in place";
  }
  FourierForm one = form;
  one.outer = 1;
  const size_t in_row = in.size() / static_cast<size_t>(form.outer), row = out.size() / static_cast<size_t>(form.outer);
  std::vector<T> last(row);
  run(one, in.data() + in.size() - in_row, last.data());
  ASSERT_EQ(std::memcmp(last.data(), out.data() + out.size() - row, row * sizeof(T)), 0) << "by itself";

  HostValue value{in_aval, allocate(in_aval.bytes(), "test")};
  std::memcpy(value.data->data(), in.data(), in_aval.bytes());
  const HostValue expected = evaluate_reference(graph, std::vector{value})[0];
  double difference = 0, norm = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto want = static_cast<double>(expected.data->as<T>()[i]);
    difference += std::pow(static_cast<double>(out[i]) - want, 2), norm += want * want;
  }
  EXPECT_LE(std::sqrt(difference / norm), sizeof(T) == 4 ? 3e-7 : 1e-14);
}

void check_all(int64_t n, int64_t outer, int64_t inner) {
  for (const FourierKind kind : {FourierKind::pairs, FourierKind::from_reals, FourierKind::to_reals}) {
    if (kind != FourierKind::pairs && (n < 4 || n % 2 != 0)) continue;
    for (const bool reverse : {false, true}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const FourierForm form{dtype, kind, outer, n, inner, reverse};
        if (planner::radices_of(form.points()).count == 0) continue;
        SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << " of " << outer << " x " << n << " x " << inner
                                        << (reverse ? ", back, " : ", ") << name(dtype));
        dtype == DType::f64 ? check<double>(form) : check<float>(form);
      }
    }
  }
}

TEST(CpuFourier, EveryShortLength) {
  for (int64_t n = 2; n <= 66; ++n) check_all(n, 2, 1);
  for (int64_t n = 2; n <= 34; ++n) check_all(n, 1, 3);
}

TEST(CpuFourier, LongerOnesAlongAnyAxis) {
  for (const int64_t n : {100, 121, 122, 128, 210, 244, 258, 360, 500, 512, 546, 720, 1000, 1022}) {
    check_all(n, 1, 1);
    if (n > 360 && n != 512 && n != 1000) continue;
    check_all(n, 19, 1);
    check_all(n, 2, 17);
  }
}

TEST(CpuFourier, AsMatricesInASlotAndOverAllThreads) {
  for (const int64_t n : {1024, 2048, 2310, 3721, 4096}) check_all(n, 1, 1);
  for (const int64_t n : {8192, 8052, 10000}) check<float>({DType::f32, FourierKind::pairs, 1, n});  // n^2 products
  const FourierForm large{DType::f32, FourierKind::pairs, 2, 1 << 17};
  EXPECT_GT(planner::fourier_layout(large).work_bytes, 0u);
  // Of one wave, a single result.
  const int64_t n = large.length, wave = 12345;
  std::vector<float> in(static_cast<size_t>(4 * n)), out(in.size());
  for (int64_t j = 0; j < 2 * n; ++j) {
    const double angle = 2 * 3.14159265358979323846 * static_cast<double>(j * wave % n) / static_cast<double>(n);
    in[2 * j] = static_cast<float>(std::cos(angle)), in[2 * j + 1] = static_cast<float>(std::sin(angle));
  }
  run(large, in.data(), out.data());
  for (int64_t k = 0; k < 2 * n; ++k) {
    ASSERT_NEAR(out[2 * k], k % n == wave ? static_cast<float>(n) : 0.f, 0.05f) << k;
    ASSERT_NEAR(out[2 * k + 1], 0.f, 0.05f) << k;
  }
}

TEST(CpuFourier, LayoutsFollowFromTheLength) {
  const auto lanes = [](int64_t outer, int64_t length, int64_t inner) {
    return planner::fourier_layout({DType::f32, FourierKind::pairs, outer, length, inner}).lanes;
  };
  EXPECT_EQ(lanes(1, 64, 1), FourierLanes::outer);
  EXPECT_EQ(lanes(1, 1024, 1), FourierLanes::within);
  EXPECT_EQ(lanes(1000, 1024, 1), FourierLanes::within);
  EXPECT_EQ(lanes(1, 1024, 2), FourierLanes::within);
  EXPECT_EQ(lanes(1, 1024, 16), FourierLanes::inner);
  EXPECT_EQ(lanes(1, 1 << 20, 16), FourierLanes::within);
  EXPECT_EQ(planner::radices_of(131).count, 0);
  EXPECT_EQ(planner::radices_of(2 * 61).count, 2);
  EXPECT_EQ(planner::radices_of(1).count, 0);
  for (const FourierForm& form : {FourierForm{DType::f32, FourierKind::pairs, 1, 1 << 20},
                                  FourierForm{DType::f64, FourierKind::from_reals, 1, 1 << 21}}) {
    const FourierLayout layout = planner::fourier_layout(form);
    EXPECT_EQ(layout.rows * layout.columns, form.points());
    EXPECT_LE(layout.table_bytes, size_t{1} << 18) << "roots of a length are computed of few";
    const size_t work = static_cast<size_t>(form.points()) * 2 * size_of(form.dtype);
    EXPECT_LE(layout.scratch_bytes(), work + work / 8);
  }
}

}  // namespace
}  // namespace neap::cpu
