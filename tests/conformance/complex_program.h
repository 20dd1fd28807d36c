// Makes programs of complex numbers at random, such that every pipeline must give the same bits: what depends on an
// order of additions is made of small integers first.
#pragma once

#include <neap/control.h>
#include <neap/fft.h>
#include <neap/numpy.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {

class ComplexProgram {
 public:
  /// with_fft: no integers come of a transform, so that a batch may add up in another order.
  ComplexProgram(uint64_t seed, bool with_fft) : random_(seed), with_fft_(with_fft) {}

  Graph graph;
  Arrays inputs;

  void make() {
    const DType dtype = pick(4) == 0 ? c128 : c64;
    for (size_t i = 0, n = 1 + pick(3); i < n; ++i) {
      const Aval aval{pick(3) == 0   ? Shape{24}
                      : pick(2) == 0 ? Shape{6, 4}
                                     : Shape{3, 2, 5},
                      pick(4) == 0 ? real_dtype(dtype) : dtype};
      inputs.push_back(random_array(aval, Fill::tame, random_));
    }
    std::vector<Aval> avals;
    for (const Array& x : inputs) avals.push_back(x.aval());
    graph = tracing::trace_closed(avals, [&](const Arrays& in) {
      for (const Array& x : in) values_.push_back(tame(x.astype(dtype)));
      for (size_t i = 0, n = 4 + pick(16); i < n; ++i) values_.push_back(step(recent()));
      Arrays outputs;
      for (size_t i = 0, n = 1 + pick(3); i < n; ++i) {
        const Array z = recent();
        outputs.push_back(pick(3) == 0 ? abs(z) : pick(3) == 0 ? imag(z) : z);
      }
      values_.clear();
      return outputs;
    });
  }

 private:
  size_t pick(size_t n) { return random_() % n; }
  Array recent() { return values_[values_.size() - 1 - std::min(pick(6), values_.size() - 1)]; }

  /// The nearest integers, in [-4, 4]: what is added up of them is exact.
  static Array tame(const Array& z) { return complex(clip(rint(real(z)), -4, 4), clip(rint(imag(z)), -4, 4)); }

  /// Some value with as many elements, in this shape.
  Array like(const Array& z) {
    for (int tries = 0; tries < 4; ++tries) {
      const Array w = recent();
      if (w.size() == z.size()) return reshape(w, z.shape());
    }
    return z * std::complex<double>(0, 1) + 1;
  }

  Array step(const Array& z) {
    const int64_t n = z.size(), last = z.ndim() - 1;
    if (n == 0 || z.ndim() == 0 || n > 2000) return tame(pick(2) ? values_[0] * 2 : conj(values_[0]));
    switch (pick(18)) {
      case 0: return z + like(z);
      case 1: return like(z) - z;
      case 2: return tame(z * like(z));
      case 3: return z / (like(tame(z)) * 0.25 + std::complex<double>(9, 2));
      case 4: return -conj(z);
      case 5: return complex(imag(z), real(like(z)));
      case 6: return where(real(z) > imag(like(z)), z, like(z));
      case 7: return transpose(z);
      case 8: return reshape(z, {n});
      case 9: return flip(slice_in_dim(z, 0, (z.shape(0) + 1) / 2, 0), last);
      case 10: return concatenate({z, like(z)}, last);
      case 11: return sum(tame(z), static_cast<int64_t>(pick(static_cast<size_t>(z.ndim()))), true);
      case 12: return matmul(tame(reshape(z, {1, n})), tame(reshape(like(z), {n, 1}))) * full({1, 3}, 1);
      case 13: return take(z, remainder(iota({4}, 0) * 2, 3) - 1, 0);
      case 14: return tame(z).at(floor_divide(iota({3}, 0), 2)).add(tame(slice_in_dim(z, 0, 1, 0)));
      case 15: return pick(2) ? exp(tame(z) * 0.5) : sqrt(z);
      case 16:
        return with_fft_ && pick(2) ? fft::fft(slice_in_dim(z, 0, std::min<int64_t>(z.shape(-1), 12), -1))
                                    : tanh(z * 0.125);
      default: return scanned(z);
    }
  }

  static Array scanned(const Array& z) {
    const auto [carry, rows] =
        scan([](const Array& c, const Array& row) { return std::pair{tame(c * row + 1), c - row}; },
             tame(slice_in_dim(z, 0, 1, 0)), tame(expand_dims(z, 1)));
    return concatenate({carry, reshape(rows, z.shape())}, 0);
  }

  std::vector<Array> values_;
  Random random_;
  bool with_fft_;
};

}  // namespace neap::conformance
