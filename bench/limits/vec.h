// One register of the widest vector this machine has, and the arithmetic that the random kernels share. Written with
// the compiler's vector extension: the same source is AVX-512, AVX2, NEON or SSE code, by the flags it is compiled
// with.
#pragma once

#include <cstdint>
#include <cstring>

namespace limits {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

using vu = uint32_t __attribute__((vector_size(4 * kLanes)));
using vi = int32_t __attribute__((vector_size(4 * kLanes)));
using vf = float __attribute__((vector_size(4 * kLanes)));
using vh = uint16_t __attribute__((vector_size(2 * kLanes)));

inline vu splat(uint32_t x) { return x - vu{}; }
inline vf splat(float x) { return x - vf{}; }
inline vf as_float(vu x) { return reinterpret_cast<vf>(x); }
inline vu as_bits(vf x) { return reinterpret_cast<vu>(x); }

inline vu lane_index() {
  vu r{};
  for (int i = 0; i < kLanes; ++i) r[i] = static_cast<uint32_t>(i);
  return r;
}

template <class T, class P>
inline T load(const P* p) {
  T r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
template <class T, class P>
inline void store(P* p, T x) {
  std::memcpy(p, &x, sizeof x);
}

inline vf fma(vf a, vf b, vf c) { return __builtin_elementwise_fma(a, b, c); }
inline vf max(vf a, vf b) { return a > b ? a : b; }

inline bool any(vi mask) {
  using words = uint64_t __attribute__((vector_size(4 * kLanes)));
  return __builtin_reduce_or(reinterpret_cast<words>(mask)) != 0;
}

// U registers that go through the same steps side by side: enough instructions in flight to hide the latency of each.
template <class V, int U>
struct Block {
  V v[U];
};

template <int U, class F>
inline auto each(F f) {
  Block<decltype(f(0)), U> r;
  for (int i = 0; i < U; ++i) r.v[i] = f(i);
  return r;
}

// Horner's rule, highest power first.
template <int N, int U>
inline Block<vf, U> polynomial(const float (&c)[N], const Block<vf, U>& x) {
  auto p = each<U>([&](int i) { return fma(splat(c[0]), x.v[i], splat(c[1])); });
  for (int k = 2; k < N; ++k) {
    for (int i = 0; i < U; ++i) p.v[i] = fma(p.v[i], x.v[i], splat(c[k]));
  }
  return p;
}

// Whole-byte rotations are one byte shuffle where there is no rotate instruction.
template <int R>
inline vu rotate_left(vu x) {
#if !defined(__AVX512F__)
  if constexpr (R % 8 == 0) {
    using bytes = uint8_t __attribute__((vector_size(4 * kLanes)));
    bytes order{};
    for (int i = 0; i < 4 * kLanes; ++i) order[i] = static_cast<uint8_t>((i & ~3) | ((i - R / 8) & 3));
#if defined(__AVX2__)
    return reinterpret_cast<vu>(
        __builtin_ia32_pshufb256(reinterpret_cast<char __attribute__((vector_size(32)))>(x),
                                 reinterpret_cast<char __attribute__((vector_size(32)))>(order)));
#endif
  }
#endif
  return (x << R) | (x >> (32 - R));
}

struct Key {
  uint32_t k0, k1;
};

template <int A, int B, int C, int D, int U>
inline void four_rounds(Block<vu, U>& x, Block<vu, U>& y) {
  auto round = [&]<int R>() {
    for (int i = 0; i < U; ++i) {
      x.v[i] += y.v[i];
      y.v[i] = rotate_left<R>(y.v[i]) ^ x.v[i];
    }
  };
  round.template operator()<A>();
  round.template operator()<B>();
  round.template operator()<C>();
  round.template operator()<D>();
}

// Which element of a block each lane holds. AVX2 packs two registers of words into one of halves within each half of
// the register only; `halves` deals the elements so that the packed register has them in order.
enum class Order { words, halves };

#if defined(__AVX2__) && !defined(__AVX512F__)
inline constexpr bool kDealt = true;
#else
inline constexpr bool kDealt = false;
#endif

template <Order order>
inline vu element_of_lane(int i) {
  if constexpr (order == Order::words || !kDealt) {
    return lane_index() + static_cast<uint32_t>(i * kLanes);
  } else {
    const vu lane = lane_index();
    return lane + (lane & 4u) + static_cast<uint32_t>(i / 2 * 2 * kLanes + i % 2 * 4);
  }
}

// threefry2x32, 20 rounds, of the counters (hi, lo), (hi, lo + 1), ...; gives w0 ^ w1, the 32 bits of each element.
template <int U, Order order = Order::words>
inline Block<vu, U> threefry_bits(Key k, uint32_t hi, uint32_t lo) {
  const uint32_t k2 = 0x1BD11BDAu ^ k.k0 ^ k.k1;
  Block<vu, U> x, y;
  for (int i = 0; i < U; ++i) {
    x.v[i] = splat(hi + k.k0);
    y.v[i] = splat(lo + k.k1) + element_of_lane<order>(i);
  }
  auto inject = [&](uint32_t a, uint32_t b) {
    for (int i = 0; i < U; ++i) x.v[i] += a, y.v[i] += b;
  };
  four_rounds<13, 15, 26, 6>(x, y);
  inject(k.k1, k2 + 1);
  four_rounds<17, 29, 16, 24>(x, y);
  inject(k2, k.k0 + 2);
  four_rounds<13, 15, 26, 6>(x, y);
  inject(k.k0, k.k1 + 3);
  four_rounds<17, 29, 16, 24>(x, y);
  inject(k.k1, k2 + 4);
  four_rounds<13, 15, 26, 6>(x, y);
  inject(k2, k.k0 + 5);
  for (int i = 0; i < U; ++i) x.v[i] ^= y.v[i];
  return x;
}

// [0, 1) from 32 bits: the top 23 under the exponent of one, minus one.
inline vf unit_uniform(vu bits) { return as_float((bits >> 9) | 0x3f800000u) - 1.0f; }

// log(t) + 5/2, to 1e-7 absolute: the variable of the polynomials in quantile(). t is in [2^-23, 1], so neither zero,
// subnormals nor infinity need care.
template <int U>
inline Block<vf, U> log_plus_5_halves(const Block<vf, U>& t) {
  static constexpr float c[] = {-0.10119237f, 0.164099604f, -0.173233986f, 0.198744282f,
                                -0.24960494f, 0.333361149f, -0.500006318f, 0.999999821f};
  const auto exponent = each<U>([&](int i) { return reinterpret_cast<vi>(as_bits(t.v[i]) - 0x3f3504f3u) >> 23; });
  const auto r =
      each<U>([&](int i) { return as_float(as_bits(t.v[i]) - (reinterpret_cast<vu>(exponent.v[i]) << 23)) - 1.0f; });
  const auto p = polynomial(c, r);
  return each<U>([&](int i) {
    const vf e = __builtin_convertvector(exponent.v[i], vf);
    return fma(p.v[i], r.v[i], fma(e, splat(0.693147181f), splat(2.5f)));
  });
}

inline constexpr float kTail[] = {-0.000289878866f, 0.000147518178f, 0.00191752065f, -0.00520006614f, 0.008112601f,
                                  -0.010778307f,    0.0133492649f,   1.41658103f,    4.00643444f};

// The standard normal quantile of (u + 1) / 2, u uniform in (-1, 1): sqrt(2) erf_inv(u), at most 3.3 ulp off over all
// 2^23 values that u takes. Form of M. Giles, "Approximating the erfinv function": a polynomial in log((1 - u)(1 + u))
// for the 99.7 % in the middle, one in its square root in the tails; coefficients fitted anew, sqrt(2) folded in. A
// register has an element in a tail one time in 40, so that the tail is a branch.
template <int U>
inline Block<vf, U> quantile(const Block<vf, U>& u) {
  static constexpr float middle[] = {1.24324311e-08f, 3.28559224e-08f, -6.59264856e-07f, -4.89700415e-06f,
                                     7.01923364e-06f, 0.000308785675f, 0.00177164457f,   -0.00590771716f,
                                     -0.34880203f,    2.12331343f};
  const auto v = log_plus_5_halves(each<U>([&](int i) { return (1.0f - u.v[i]) * (1.0f + u.v[i]); }));
  auto p = polynomial(middle, v);
  vf lowest = v.v[0];
  for (int i = 1; i < U; ++i) lowest = v.v[i] < lowest ? v.v[i] : lowest;
  if (__builtin_expect(any(lowest < -2.5f), 0)) {
    for (int i = 0; i < U; ++i) {
      const vi in_tail = v.v[i] < -2.5f;
      const Block<vf, 1> x = {__builtin_elementwise_sqrt(in_tail ? 2.5f - v.v[i] : splat(9.0f)) - 3.0f};
      p.v[i] = in_tail ? polynomial(kTail, x).v[0] : p.v[i];
    }
  }
  return each<U>([&](int i) { return p.v[i] * u.v[i]; });
}

// uniform on [nextafter(-1, 0), 1) -> standard normal. 2 f is exact, so that the fused product rounds as JAX's does.
template <int U>
inline Block<vf, U> normal_from_bits(const Block<vu, U>& bits) {
  const vf low = splat(-0.99999994f);
  return quantile(each<U>([&](int i) { return max(fma(unit_uniform(bits.v[i]), splat(2.0f), low), low); }));
}

// Nearest even, in the low half of each lane; finite values only.
inline vu bf16_bits(vf x) {
  const vu b = as_bits(x);
  return (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
}

// U registers of words, in Order::halves, as U * kLanes halves in order, none above `most`.
template <int U>
inline void store_halves(const Block<vu, U>& x, uint16_t most, uint16_t* out) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  static_assert(U % 2 == 0);
  using halves = uint16_t __attribute__((vector_size(32)));
  for (int i = 0; i < U; i += 2) {
    const auto p = reinterpret_cast<halves>(
        __builtin_ia32_packusdw256(reinterpret_cast<vi>(x.v[i]), reinterpret_cast<vi>(x.v[i + 1])));
    const halves m = most - halves{};
    store(out + i * kLanes, p < m ? p : m);
  }
#else
  for (int i = 0; i < U; ++i) {
    const vh p = __builtin_convertvector(x.v[i], vh), m = most - vh{};
    store(out + i * kLanes, p < m ? p : m);
  }
#endif
}

// e^x for |x| < 80, within 2 ulp.
template <int U>
inline Block<vf, U> exp(const Block<vf, U>& x) {
  static constexpr float c[] = {0.00138368434f, 0.00837481581f, 0.0416682251f, 0.166664198f, 0.499999911f, 1.0f, 1.0f};
  const auto n = each<U>([&](int i) { return __builtin_elementwise_roundeven(x.v[i] * 1.44269504f); });
  const auto p = polynomial(c, each<U>([&](int i) {
                              return fma(n.v[i], splat(-1.42860677e-6f), fma(n.v[i], splat(-0.693145752f), x.v[i]));
                            }));
  return each<U>([&](int i) {
    const vu scale = reinterpret_cast<vu>(__builtin_convertvector(n.v[i], vi) + 127) << 23;
    return p.v[i] * as_float(scale);
  });
}

}  // namespace limits
