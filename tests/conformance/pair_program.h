// Makes programs at random in which every row of one array meets every row of another: products, distances, kernels,
// then reductions. Of two arguments, or of one that meets itself.
#pragma once

#include <neap/neap.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {

class PairProgram {
 public:
  explicit PairProgram(uint64_t seed) {
    Random random(seed);
    const auto pick = [&](size_t n) { return random() % n; };
    meet_ = pick(5), bend_ = pick(5), reduce_ = pick(7), axis_ = static_cast<int64_t>(pick(2));
    static constexpr int64_t kRows[] = {1000, 3000, 8192, 20'000}, kColumns[] = {1, 3, 16, 64};
    aval_ = {{kRows[pick(4)], kColumns[pick(4)]}, pick(3) ? f32 : f64};
  }

  /// As a function of two arrays, or of one.
  Graph graph(bool itself) const {
    return tracing::trace_closed(std::vector<Aval>(itself ? 1 : 2, aval_), [&](const Arrays& in) {
      return Arrays{reduced(bent(met(in.front(), in.back())), in.back())};
    });
  }

  std::string said() const {
    static constexpr const char* kMeet[] = {"product", "distance", "largest difference", "vmap of vmap", "outer"};
    static constexpr const char* kBend[] = {"exp", "tanh", "where", "sqrt", "itself"};
    static constexpr const char* kReduce[] = {"sum",           "sum of an axis", "max",      "argmin",
                                              "softmax times", "times",          "logsumexp"};
    return fmt::format("{}, {}, {} of {}, axis {}", kMeet[meet_], kBend[bend_], kReduce[reduce_], to_string(aval_),
                       axis_);
  }

 private:
  // [n, n]
  Array met(const Array& a, const Array& b) const {
    switch (meet_) {
      case 0: return matmul(a, transpose(b));
      case 1: return sum(square(expand_dims(a, 1) - expand_dims(b, 0)), 2);
      case 2: return max(abs(expand_dims(a, 1) - expand_dims(b, 0)), 2);
      case 3: {
        const auto row = [&](const Array& x) { return vmap([&](const Array& y) { return sum(x * tanh(y)); })(b); };
        return vmap(row)(a);
      }
      default: return outer(a[{slice(), 0}], b[{slice(), 0}]);
    }
  }
  Array bent(const Array& x) const {
    switch (bend_) {
      case 0: return exp(x * -0.01f);
      case 1: return tanh(x);
      case 2: return where(x > 0.5f, x, 0.0f);
      case 3: return sqrt(abs(x) + 1.0f);
      default: return x;
    }
  }
  Array reduced(const Array& x, const Array& b) const {
    switch (reduce_) {
      case 0: return sum(x);
      case 1: return sum(x, axis_);
      case 2: return max(x, axis_);
      case 3: return argmin(x, axis_);
      case 4: return matmul(softmax(x), b);
      case 5: return matmul(axis_ == 0 ? transpose(x) : x, b);
      default: return logsumexp(x, axis_);
    }
  }

  size_t meet_, bend_, reduce_;
  int64_t axis_;
  Aval aval_;
};

}  // namespace neap::conformance
