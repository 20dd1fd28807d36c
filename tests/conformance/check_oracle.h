// Functions of order and of windows, compiled and by the reference, against plain C++.
#pragma once

#include <neap/neap.h>

#include <optional>

#include "tests/conformance/oracle.h"

namespace neap::conformance {

/// Some functions of arrays that hold what is hard to order and windows that begin anywhere, and what they give.
class OracleProgram {
 public:
  explicit OracleProgram(uint64_t seed) : random_(seed) {
    static constexpr Fill kFills[] = {Fill::few, Fill::few, Fill::wild, Fill::tame};
    static const Shape kShapes[] = {{1}, {7}, {40}, {300}, {3, 5}, {16, 33}, {2, 3, 19}, {6, 5, 4}, {5, 1}, {2000}};
    aval_ = {kShapes[pick(std::size(kShapes))], kAllDTypes[pick(std::size(kAllDTypes))]};
    inputs = {random_array(aval_, kFills[pick(4)], random_)};
    axis_ = static_cast<int64_t>(pick(aval_.shape.size()));
    dispatch(aval_.dtype, [&]<class T>() {
      for (size_t i = 0; i < 4; ++i) add_order<Raw<T>>();
      for (size_t i = 0; i < 2; ++i) add_window<Raw<T>>();
    });
  }

  Arrays inputs;
  std::vector<std::string> names;
  Arrays want;
  std::vector<Tolerance> tolerances;

  Arrays operator()(const Arrays& in) const {
    Arrays out;
    for (const auto& f : functions_) out.push_back(f(in));
    return out;
  }

 private:
  using Function = std::function<Array(const Arrays&)>;

  size_t pick(size_t n) { return random_() % n; }

  void add(const std::string& name, Array result, Function f, Tolerance t = kSameBits) {
    tolerances.push_back(t);
    names.push_back(name), want.push_back(std::move(result)), functions_.push_back(std::move(f));
  }

  template <class T>
  void add_order() {
    namespace o = oracle;
    const Array& x = inputs[0];
    const DType t = aval_.dtype;
    const int64_t axis = axis_, n = aval_.shape[axis];
    const bool flag = pick(2);
    using Line = std::vector<T>;
    using Indices = std::vector<int32_t>;
    switch (pick(8)) {
      case 0:
        return add(fmt::format("sort, axis {}, descending {}", axis, flag),
                   o::along<T, T>(x, axis, n, t,
                                  [&](const Line& v) {
                                    Line sorted;
                                    for (const int64_t i : o::sorted_order(v, flag)) sorted.push_back(v[i]);
                                    return sorted;
                                  }),
                   [=](const Arrays& in) { return neap::sort(in[0], axis, {.descending = flag}); });
      case 1:
        return add(fmt::format("argsort, axis {}, descending {}", axis, flag),
                   o::along<T, int32_t>(x, axis, n, i32,
                                        [&](const Line& v) {
                                          const auto order = o::sorted_order(v, flag);
                                          return Indices(order.begin(), order.end());
                                        }),
                   [=](const Arrays& in) { return argsort(in[0], axis, {.descending = flag}); });
      case 2:
        return add(
            fmt::format("arg{}, axis {}", flag ? "max" : "min", axis),
            o::along<T, int32_t>(x, axis, 1, i32,
                                 [&](const Line& v) { return Indices{static_cast<int32_t>(o::extreme(v, flag))}; }),
            [=](const Arrays& in) { return flag ? argmax(in[0], axis, true) : argmin(in[0], axis, true); });
      case 3:  // with zeros of one sign: it is not said which of two equal elements comes out
        if (t == bool_) return;
        return add(fmt::format("{}, axis {}", flag ? "max" : "min", axis),
                   o::along<T, T>(x, axis, 1, t,
                                  [&](const Line& v) {
                                    const T e = v[o::extreme(v, flag)];
                                    return Line{static_cast<double>(e) == 0 ? T(0.0F) : e};
                                  }),
                   [=](const Arrays& in) {
                     const Array e = flag ? neap::max(in[0], axis, true) : neap::min(in[0], axis, true);
                     return where(e == 0, zeros_like(e), e);
                   });
      case 4: {
        const int64_t last = static_cast<int64_t>(aval_.shape.size()) - 1;
        const auto k = static_cast<int64_t>(1 + pick(static_cast<size_t>(aval_.shape[last])));
        return add(fmt::format("top_k of {}", k),
                   o::along<T, int32_t>(x, last, k, i32,
                                        [&](const Line& v) {
                                          const auto order = o::order_of(v, [](T a, T b) { return o::is_above(a, b); });
                                          return Indices(order.begin(), order.begin() + k);
                                        }),
                   [=](const Arrays& in) { return top_k(in[0], k).second; });
      }
      case 5:
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
          return add(
              fmt::format("median, axis {}", axis),
              o::along<T, T>(x, axis, 1, t,
                             [&](const Line& v) {
                               const auto order = o::sorted_order(v, false);
                               if (o::is_nan(v[order.back()])) return Line{std::numeric_limits<T>::quiet_NaN()};
                               const T low = v[order[(v.size() - 1) / 2]], high = v[order[v.size() / 2]];
                               return Line{low == high ? T(low + T(0)) : T(low * T(0.5) + high * T(0.5))};
                             }),
              [=](const Arrays& in) { return median(in[0], axis, true) + 0; }, Tolerance{2});
        }
        return;
      case 6: {
        const Line all = o::elements<T>(x);
        Line distinct;
        for (const int64_t i : o::sorted_order(all, false))
          if (distinct.empty() || o::sorts_before(distinct.back(), all[i])) distinct.push_back(all[i]);
        const auto size = static_cast<int64_t>(1 + pick(all.size() + 2));
        while (static_cast<int64_t>(distinct.size()) < size) distinct.push_back(distinct[0]);
        distinct.resize(static_cast<size_t>(size));
        for (T& e : distinct)
          if (static_cast<double>(e) == 0) e = T(0.0F);
        return add(fmt::format("unique of {}", size), o::array_of(distinct, {size}, t), [=](const Arrays& in) {
          const Array u = unique(in[0], size);
          return where(u == 0, zeros_like(u), u);
        });
      }
      default: {
        Line all = o::elements<T>(x), sorted;
        for (const int64_t i : o::sorted_order(all, false)) sorted.push_back(all[i]);
        Indices at;
        for (const T v : all) at.push_back(o::insertion(sorted, v, flag));
        const Shape flat{static_cast<int64_t>(all.size())};
        const size_t other = inputs.size();
        inputs.push_back(o::array_of(sorted, flat, t));
        return add(fmt::format("searchsorted, right {}", flag), o::array_of(at, flat, i32),
                   [=](const Arrays& in) { return searchsorted(in[other], ravel(in[0]), flag); });
      }
    }
  }

  // Where windows begin, one or a batch of them.
  struct Windows {
    Shape window;
    bool updates, batch;           // an update of x, or a slice of it
    int64_t count;                 // of windows
    size_t input = 0;              // of inputs: the starts; behind it the update
    std::optional<Array> known{};  // the starts, where they are known when it is traced
    std::vector<Shape> at{};       // what the starts mean
    std::string name{};
  };

  template <class I>
  void add_starts(Windows& w) {
    const Shape& shape = aval_.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    std::vector<I> starts;
    for (int64_t i = 0; i < w.count * rank; ++i) {
      const int64_t n = shape[i % rank];
      const auto near = static_cast<I>(static_cast<int64_t>(pick(static_cast<size_t>(4 * n + 3))) - 2 * n - 1);
      starts.push_back(pick(8) ? near : pick(2) ? std::numeric_limits<I>::min() : std::numeric_limits<I>::max());
    }
    w.input = inputs.size();
    inputs.push_back(oracle::array_of(starts, w.batch ? Shape{w.count, rank} : Shape{rank}, dtype_of<I>()));
    for (int64_t e = 0; e < w.count; ++e) {
      const std::vector<I> start(starts.begin() + e * rank, starts.begin() + (e + 1) * rank);
      w.at.push_back(oracle::window_start(shape, w.window, start));
    }
    w.name = fmt::format("dynamic_{}slice{} at {}{}", w.updates ? "update_" : "", w.batch ? " vmapped" : "",
                         to_string(inputs[w.input].aval()), said(starts));
  }

  template <class T>
  void add_window() {
    namespace o = oracle;
    static constexpr DType kIndex[] = {i8, i16, i32, i64, u8, u16, u32, u64};
    const DType index = kIndex[pick(std::size(kIndex))];
    const size_t how = pick(4);
    Windows w{.window = {}, .updates = how % 2 == 1, .batch = how >= 2, .count = how >= 2 ? 3 : 1};
    for (const int64_t n : aval_.shape) w.window.push_back(n - static_cast<int64_t>(pick(static_cast<size_t>(n))));
    dispatch(index, [&]<class I>() {
      if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>) add_starts<I>(w);
    });
    const Array patch = random_array({w.window, aval_.dtype}, Fill::tame, random_);
    if (w.updates) inputs.push_back(patch);
    const auto from = o::elements<T>(inputs[0]), piece = o::elements<T>(patch);
    std::vector<T> all;
    for (const Shape& at : w.at) {
      std::vector<T> result = w.updates ? from : piece;
      o::walk_window(aval_.shape, w.window, at, [&](size_t in_x, size_t in_window) {
        if (w.updates)
          result[in_x] = piece[in_window];
        else
          result[in_window] = from[in_x];
      });
      all.insert(all.end(), result.begin(), result.end());
    }
    Shape result = w.updates ? aval_.shape : w.window;
    if (w.batch) result.insert(result.begin(), w.count);
    if (pick(4) == 0) w.known = inputs[w.input];
    const std::string name = w.name;
    add(name, o::array_of(all, result, aval_.dtype), function_of(std::move(w)));
  }

  static Function function_of(Windows w) {
    return [w = std::move(w)](const Arrays& in) {
      const auto one = [&](const Array& start) {
        return w.updates ? dynamic_update_slice(in[0], in[w.input + 1], start) : dynamic_slice(in[0], start, w.window);
      };
      const Array start = w.known.value_or(in[w.input]);
      return w.batch ? vmap(one)(start) : one(start);
    };
  }

  template <class T>
  using Raw = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

  template <class I>
  static std::string said(const std::vector<I>& starts) {
    std::string text;
    for (const I start : starts) text += fmt::format(" {}", +start);
    return text;
  }

  Random random_;
  Aval aval_;
  int64_t axis_ = 0;
  std::vector<Function> functions_;
};

inline void check_oracle(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  try {
    const OracleProgram program(seed);
    const auto f = [&](const Arrays& in) { return program(in); };
    const auto expect = [&](const Arrays& got, const char* how) {
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(difference(got[i], program.want[i], program.tolerances[i]), "")
            << program.names[i] << " of " << to_string(program.inputs[0].aval()) << how;
    };
    expect(jit(f)(program.inputs), "");
    const eager_reference reference;
    expect(f(program.inputs), ", by the reference");
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

}  // namespace neap::conformance
