// Runs graphs through the whole pipeline, by the public interface, and compares: planned with the reference
// interpreter, naive with planned, one thread with two, and each plan's peak with what the allocator measured.
#pragma once

#include <neap/creation.h>
#include <neap/jit.h>
#include <neap/memory.h>
#include <neap/ops.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/convert.h"
#include "core/dispatch.h"
#include "planner/plan/plan.h"
#include "tests/threads.h"
#include "trace/graph/op_table.h"
#include "trace/reference/reference.h"
#include "trace/tracing/tracing.h"

namespace neap::conformance {

using tracing::Attr;
using tracing::Attrs;
using tracing::Graph;
using tracing::Ints;
using tracing::Op;
using tracing::ValueId;
using Arrays = std::vector<Array>;
using Random = std::mt19937_64;

inline constexpr DType kAllDTypes[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};

/// What an input holds.
enum class Fill : uint8_t {
  wild,   // special values, every magnitude, any bits of integers
  few,    // of a handful of values, so that many are equal: zeros of both signs, NaN, infinities, the largest integers
  tame,   // multiples of 1/4 in [-8, 8] (integers: [-8, 8]): sums of thousands are exact in f32, in any order
  units,  // 1 and -1, now and then 2 and 1/2: products are exact, in any order
};

template <class T>
T real_element(Fill fill, Random& random) {
  const uint64_t bits = random();
  if constexpr (std::is_same_v<T, bool>) {
    return bits & 1;
  } else if constexpr (std::is_integral_v<T>) {
    if (fill == Fill::few) {
      static constexpr T kFew[] = {0, 1, 2, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      return kFew[bits % std::size(kFew)];
    }
    if (fill == Fill::wild) return static_cast<T>(bits % 3 == 0 ? (bits >> 8) % 16 - 8 : bits >> (bits % 5 * 8));
    if (fill == Fill::units) return static_cast<T>(bits & 1 ? 1 : -1);
    return static_cast<T>(static_cast<int64_t>(bits % 17) - 8);
  } else {
    static constexpr double kSpecial[] = {0.0,  -0.0, 1.0,   -1.0,     0.5,   -0.5,   2.0,    3.0,      -2.5,
                                          1e-7, 1e30, -1e30, INFINITY, 1e-40, 1e-310, 65504., 16777216, NAN};
    const auto from = [](double x) {
      if constexpr (sizeof(T) == 2) return T::from_double(x);
      return static_cast<T>(x);
    };
    if (fill == Fill::few) {
      static constexpr double kFew[] = {0, -0.0, 1, 1, -1, 2, INFINITY, -INFINITY, NAN};
      const double x = kFew[bits % std::size(kFew)];
      return from(bits >> 63 ? -x : x);
    }
    if (fill == Fill::units)
      return from((bits & 1 ? 1.0 : -1.0) * (bits % 128 == 2 ? 2.0 : bits % 128 == 4 ? 0.5 : 1.0));
    if (fill == Fill::tame) return from((static_cast<double>(bits % 65) - 32) / 4);
    const double unit = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    switch (bits % 8) {
      case 0: return from(kSpecial[(bits >> 8) % std::size(kSpecial)]);
      case 1: {  // any bits at all
        T x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
      }
      case 2: return from(unit * 100);
      case 3: return from(std::ldexp(unit, static_cast<int>((bits >> 3) % 64) - 48));
      default: return from(unit * 4);
    }
  }
}

template <class T>
T element(Fill fill, Random& random) {
  if constexpr (kIsComplex<T>) {
    const auto re = element<typename T::value_type>(fill, random);
    return {re, element<typename T::value_type>(fill, random)};
  } else {
    return real_element<T>(fill, random);
  }
}

inline Array make_array(Aval aval, const std::function<void(std::byte*)>& write) {
  BufferPtr data = allocate(aval.bytes(), "test");
  write(data->data());
  return detail::make_concrete(std::move(aval), std::move(data));
}

/// Whether the default device takes f32 and bf16 numbers below 2^-126 for zeros, as GPUs may (docs/devices.md).
inline bool flushes_subnormals() {
  static const bool flushes = [] {
    const Array small = array(std::vector<float>(3, 1e-40f));
    return jit([](const Array& x) { return x + x; })(small).to_vector<float>()[0] == 0;
  }();
  return flushes;
}

template <class T>
constexpr bool kMayFlush = std::is_same_v<T, float> || std::is_same_v<T, bfloat16>;

/// The array, in which such numbers are zeros where the device takes them for zeros.
inline Array as_taken(const Array& x) {
  if ((x.dtype() != f32 && x.dtype() != bf16 && x.dtype() != c64) || !flushes_subnormals()) return x;
  return make_array(x.aval(), [&](std::byte* to) {
    std::memcpy(to, x.raw().data(), x.raw().size());
    const int64_t words = static_cast<int64_t>(x.raw().size()) / (x.dtype() == bf16 ? 2 : 4);
    for (int64_t i = 0; i < words; ++i) {
      if (x.dtype() == bf16) {
        auto& bits = reinterpret_cast<uint16_t*>(to)[i];
        if ((bits & 0x7f80u) == 0) bits &= 0x8000u;
      } else {
        auto& bits = reinterpret_cast<uint32_t*>(to)[i];
        if ((bits & 0x7f800000u) == 0) bits &= 0x80000000u;
      }
    }
  });
}

inline Array random_array(const Aval& aval, Fill fill, Random& random) {
  return as_taken(make_array(aval, [&](std::byte* to) {
    dispatch_all(aval.dtype, [&]<class T>() {
      for (int64_t i = 0; i < aval.size(); ++i) reinterpret_cast<T*>(to)[i] = element<T>(fill, random);
    });
  }));
}

/// Integers in [low, high], those that the dtype cannot hold wrapped.
inline Array random_integers(const Aval& aval, int64_t low, int64_t high, Random& random) {
  return make_array(aval, [&](std::byte* to) {
    dispatch(aval.dtype, [&]<class T>() {
      const auto count = static_cast<uint64_t>(high - low) + 1;
      for (int64_t i = 0; i < aval.size(); ++i) {
        const int64_t n = low + static_cast<int64_t>(random() % count);
        if constexpr (std::is_class_v<T>)
          reinterpret_cast<T*>(to)[i] = T(static_cast<float>(n));
        else
          reinterpret_cast<T*>(to)[i] = static_cast<T>(n);
      }
    });
  });
}

/// How far a result may be from the reference: units in the last place (0: the sign of a zero may still differ), or an
/// absolute distance.
struct Tolerance {
  int64_t ulps = 0;
  double absolute = 0;
};
/// The same bits; any NaN equals any NaN.
inline constexpr Tolerance kSameBits{-1, 0};

// Neighbouring floats have neighbouring numbers; both zeros have 0.
template <class T>
int64_t ordinal(T x) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  } else if constexpr (sizeof(T) == 4) {
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? int64_t{std::numeric_limits<int32_t>::min()} - bits : bits;
  } else {
    const auto bits = std::bit_cast<int16_t>(x);
    return bits < 0 ? int64_t{std::numeric_limits<int16_t>::min()} - bits : bits;
  }
}

/// Complex numbers; near: relative to the largest one, as a part, or a sum of many, may be all rounding error.
template <class T>
std::string complex_difference(const Array& got, const Array& want, bool same_bits) {
  const T *a = got.data<T>(), *b = want.data<T>();
  const auto is_nan = [](T z) { return std::isnan(z.real()) || std::isnan(z.imag()); };
  typename T::value_type limit = 0;
  for (int64_t i = 0; i < got.size() && !same_bits; ++i)
    if (std::isfinite(std::abs(b[i]))) limit = std::max(limit, std::abs(b[i]));
  limit *= 64 * std::numeric_limits<typename T::value_type>::epsilon();
  for (int64_t i = 0; i < got.size(); ++i) {
    if (a[i] == b[i] || (is_nan(a[i]) && is_nan(b[i])) || std::abs(a[i] - b[i]) <= limit) continue;
    return fmt::format("element {}: {:.17g} + {:.17g} i, expected {:.17g} + {:.17g} i", i, a[i].real(), a[i].imag(),
                       b[i].real(), b[i].imag());
  }
  return {};
}

/// Empty when every element is near enough, else where and what the first is that is not. NaN equals NaN.
inline std::string difference(const Array& got, const Array& want, Tolerance t) {
  if (got.aval() != want.aval()) return to_string(got.aval()) + ", expected " + to_string(want.aval());
  const std::span<const std::byte> a = got.raw(), b = want.raw();
  if (got.dtype() == c64) return complex_difference<std::complex<float>>(got, want, t.ulps < 0);
  if (got.dtype() == c128) return complex_difference<std::complex<double>>(got, want, t.ulps < 0);
  return dispatch(got.dtype(), [&]<class T>() -> std::string {
    for (int64_t i = 0; i < got.size(); ++i) {
      T x, y;
      std::memcpy(&x, a.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      std::memcpy(&y, b.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      if (std::memcmp(&x, &y, sizeof(T)) == 0) continue;
      std::string distance;
      if constexpr (!std::is_integral_v<T>) {
        const auto p = static_cast<double>(x), q = static_cast<double>(y);
        if (std::isnan(p) && std::isnan(q)) continue;
        constexpr double kSmallest = std::numeric_limits<float>::min();
        if (kMayFlush<T> && std::abs(p) <= kSmallest && std::abs(q) <= kSmallest && flushes_subnormals()) continue;
        const int64_t ulps = std::abs(ordinal(x) - ordinal(y));
        if (t.ulps >= 0 && !std::isnan(p) && !std::isnan(q) && ulps <= t.ulps) continue;
        if (t.ulps >= 0 && std::abs(p - q) <= t.absolute) continue;
        distance = fmt::format(" ({} ulp)", ulps);
        return fmt::format("element {}: {:.17g}, expected {:.17g}{}", i, p, q, distance);
      } else {
        return fmt::format("element {}: {}, expected {}", i, static_cast<int64_t>(x), static_cast<int64_t>(y));
      }
    }
    return {};
  });
}

inline auto jitted(const Graph& graph, JitOptions options = {}) {
  return jit([graph](const Arrays& in) { return tracing::inline_graph(graph, in); }, std::move(options));
}

inline Arrays reference(const Graph& graph, const Arrays& inputs) {
  std::vector<HostArray> host;
  for (const Array& x : inputs) host.push_back({x.aval(), x.impl()->data});
  Arrays outputs;
  for (HostArray& y : tracing::evaluate_reference(graph, host))
    outputs.push_back(detail::make_concrete(std::move(y.aval), std::move(y.data)));
  return outputs;
}

inline size_t held(const Arrays& inputs) {
  size_t bytes = 0;
  for (const Array& x : inputs) bytes += round_up_64(x.bytes());
  return bytes;
}

/// What f prints.
template <class F>
std::string printed(const F& f) {
  testing::internal::CaptureStdout();
  try {
    f();
  } catch (...) {
    testing::internal::GetCapturedStdout();
    throw;
  }
  return testing::internal::GetCapturedStdout();
}

/// One compiled call, measured.
struct Run {
  Arrays outputs;
  std::string said;  // by what the program calls of the host
  size_t planned = 0, measured = 0;
  double predicted_seconds = 0;
};

/// One call, not measured.
template <class F>
Run called(const F& f, const Arrays& inputs) {
  Run r;
  r.said = printed([&] {
    r.outputs = f(inputs);
    synchronize();
  });
  return r;
}

template <class F>
Run run_compiled(const F& f, const Arrays& arguments) {
  const Device device = default_device();
  Arrays inputs;
  for (const Array& x : arguments) inputs.push_back(to_device(x, device));
  f.compile(inputs);
  synchronize();  // nothing of an earlier call is held any more
  const size_t others = memory::live_bytes(device) - held(inputs);
  memory::reset_peak(device);
  Run r = called(f, inputs);
  r.measured = memory::peak_bytes(device) - others;
  r.planned = f.last_plan().peak_bytes();
  r.predicted_seconds = f.last_plan().data().predicted_seconds;
  return r;
}

inline Run run(const Graph& graph, const Arrays& inputs, JitOptions options = {}) {
  return run_compiled(jitted(graph, std::move(options)), inputs);
}

/// Many small cases in one graph, compiled together: each adds inputs and an output.
class Sheet {
 public:
  explicit Sheet(uint64_t seed = 1) : random(seed) {}

  Graph graph;
  Arrays inputs;
  Random random;

  ValueId input(const Array& x) {
    inputs.push_back(as_taken(x));
    return graph.add_input(x.aval());
  }
  ValueId input(Shape shape, DType dtype, Fill fill = Fill::wild) {
    return input(random_array({std::move(shape), dtype}, fill, random));
  }
  ValueId integers(Shape shape, DType dtype, int64_t low, int64_t high) {
    return input(random_integers({std::move(shape), dtype}, low, high, random));
  }
  /// One op, whose result is an output.
  void check(const std::string& name, Op op, std::vector<ValueId> operands, Attrs attrs = {}, Tolerance t = kSameBits) {
    output(name, graph.add(op, std::move(operands), std::move(attrs)), t);
  }
  void output(const std::string& name, ValueId v, Tolerance t = kSameBits) {
    graph.outputs.push_back(v);
    names_.push_back(name + " -> " + to_string(graph.aval(v)));
    tolerances_.push_back(t);
  }

  void run() const {
    if (graph.outputs.empty()) return;
    const Arrays expected = reference(graph, inputs);
    const auto f = jitted(graph);
    const Run planned = run_compiled(f, inputs);
    const Run naive = conformance::run(graph, inputs, {.pipeline = Pipeline::naive});
    const Arrays alone = [&] {
      const Threads one(1);
      return f(inputs);
    }();
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(difference(planned.outputs[i], expected[i], tolerances_[i]), "") << names_[i];
      EXPECT_EQ(difference(naive.outputs[i], planned.outputs[i], kSameBits), "") << names_[i] << ", naive";
      EXPECT_EQ(difference(alone[i], planned.outputs[i], kSameBits), "") << names_[i] << ", one thread";
    }
    EXPECT_EQ(planned.measured, planned.planned);
    EXPECT_EQ(naive.measured, naive.planned);
  }

 private:
  std::vector<std::string> names_;
  std::vector<Tolerance> tolerances_;
};

}  // namespace neap::conformance
