#include "trace/scalar/scalar_eval.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/check.h"
#include "core/dispatch.h"

namespace neap::scalar {
namespace {

template <class T>
T from_bits(uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T::from_bits(static_cast<uint16_t>(bits));
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return value.bits;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_int = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The arithmetic of an operator on Ts, integers by way of the unsigned type, so that they wrap.
template <class T, class F>
T wrapping(F f, T a, T b) {
  if constexpr (is_int<T>) {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

template <class To, class From>
To convert_value(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_half<From>) {
    return convert_value<To>(static_cast<float>(x));
  } else if constexpr (is_half<To>) {
    return std::is_same_v<From, double> ? To::from_double(static_cast<double>(x)) : To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    // 2^digits is exact in every float type; the lowest value of a signed type is a power of two as well.
    if (x >= std::ldexp(From(1), std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

struct Operands {
  const uint64_t *a, *b, *c;
  std::span<uint64_t> out;

  template <class T, class F>
  void map1(F f) const {
    for (size_t i = 0; i < out.size(); ++i) out[i] = to_bits(f(from_bits<T>(a[i])));
  }
  template <class T, class F>
  void map2(F f) const {
    for (size_t i = 0; i < out.size(); ++i) out[i] = to_bits(f(from_bits<T>(a[i]), from_bits<T>(b[i])));
  }
};

[[noreturn]] void bad(const Inst& inst, DType from) {
  NEAP_CHECK(false, "opcode {} on {}", static_cast<int>(inst.op), name(from));
  __builtin_unreachable();
}

template <class T>
void evaluate_float(const Inst& inst, const Operands& o) {
  switch (inst.op) {
    case Opcode::div: return o.map2<T>([](T x, T y) { return x / y; });
    case Opcode::rem: return o.map2<T>([](T x, T y) { return std::fmod(x, y); });
    case Opcode::neg: return o.map1<T>([](T x) { return -x; });
    case Opcode::abs: return o.map1<T>([](T x) { return std::fabs(x); });
    case Opcode::sqrt: return o.map1<T>([](T x) { return std::sqrt(x); });
    case Opcode::floor: return o.map1<T>([](T x) { return std::floor(x); });
    case Opcode::ceil: return o.map1<T>([](T x) { return std::ceil(x); });
    case Opcode::trunc: return o.map1<T>([](T x) { return std::trunc(x); });
    case Opcode::rint: return o.map1<T>([](T x) { return std::nearbyint(x); });
    case Opcode::fma:
      for (size_t i = 0; i < o.out.size(); ++i) {
        o.out[i] = to_bits(std::fma(from_bits<T>(o.a[i]), from_bits<T>(o.b[i]), from_bits<T>(o.c[i])));
      }
      return;
    default: bad(inst, dtype_of<T>());
  }
}

template <class T>
void evaluate_integer(const Inst& inst, const Operands& o) {
  using U = std::make_unsigned_t<T>;
  static constexpr int kBits = 8 * sizeof(T);
  switch (inst.op) {
    // The guards never matter to a result: no operand that would trap is ever selected. They keep the folding safe.
    case Opcode::div:
      return o.map2<T>([](T x, T y) -> T {
        if (y == 0) return 0;
        return is_signed(dtype_of<T>()) && U(y) == U(-1) ? T(U(0) - U(x)) : x / y;
      });
    case Opcode::rem:
      return o.map2<T>([](T x, T y) -> T {
        if (y == 0) return 0;
        return is_signed(dtype_of<T>()) && U(y) == U(-1) ? 0 : x % y;
      });
    case Opcode::mulhi:
      return o.map2<T>([](T x, T y) { return static_cast<T>((static_cast<unsigned __int128>(U(x)) * U(y)) >> kBits); });
    case Opcode::neg: return o.map1<T>([](T x) { return static_cast<T>(U(0) - U(x)); });
    case Opcode::abs: return o.map1<T>([](T x) { return x < 0 ? static_cast<T>(U(0) - U(x)) : x; });
    case Opcode::shl:
      return o.map2<T>([](T x, T y) { return U(y) < kBits ? static_cast<T>(uint64_t(U(x)) << U(y)) : T(0); });
    case Opcode::shr: return o.map2<T>([](T x, T y) { return static_cast<T>(x >> (U(y) < kBits ? U(y) : kBits - 1)); });
    case Opcode::rotl:
      return o.map1<T>([&](T x) { return static_cast<T>(std::rotl(U(x), static_cast<int>(inst.imm))); });
    case Opcode::popcount: return o.map1<T>([](T x) { return static_cast<T>(std::popcount(U(x))); });
    case Opcode::clz: return o.map1<T>([](T x) { return static_cast<T>(std::countl_zero(U(x))); });
    default: bad(inst, dtype_of<T>());
  }
}

// Opcodes that mean the same for every type that they accept; false if `inst` is none of them.
template <class T>
bool evaluate_common(const Inst& inst, const Operands& o) {
  switch (inst.op) {
    case Opcode::eq: return o.map2<T>([](T x, T y) { return x == y; }), true;
    case Opcode::ne: return o.map2<T>([](T x, T y) { return x != y; }), true;
    case Opcode::lt: return o.map2<T>([](T x, T y) { return x < y; }), true;
    case Opcode::le: return o.map2<T>([](T x, T y) { return x <= y; }), true;
    case Opcode::add:
      return o.map2<T>([](T x, T y) { return wrapping([](auto p, auto q) { return p + q; }, x, y); }), true;
    case Opcode::sub:
      return o.map2<T>([](T x, T y) { return wrapping([](auto p, auto q) { return p - q; }, x, y); }), true;
    case Opcode::mul:
      return o.map2<T>([](T x, T y) { return wrapping([](auto p, auto q) { return p * q; }, x, y); }), true;
    default: return false;
  }
}

// Opcodes that look at no type: the bits are the value. False if `inst` is none of them.
bool evaluate_bits(const Inst& inst, const Operands& o) {
  const size_t width = inst.type == DType::bool_ ? 1 : 8 * size_of(inst.type);
  const uint64_t mask = ~uint64_t{0} >> (64 - width);
  switch (inst.op) {
    case Opcode::constant:
      for (uint64_t& x : o.out) x = inst.imm;
      return true;
    case Opcode::select:
      for (size_t i = 0; i < o.out.size(); ++i) o.out[i] = o.a[i] ? o.b[i] : o.c[i];
      return true;
    case Opcode::bitcast: return o.map1<uint64_t>([](uint64_t x) { return x; }), true;
    case Opcode::bit_and: return o.map2<uint64_t>([](uint64_t x, uint64_t y) { return x & y; }), true;
    case Opcode::bit_or: return o.map2<uint64_t>([](uint64_t x, uint64_t y) { return x | y; }), true;
    case Opcode::bit_xor: return o.map2<uint64_t>([](uint64_t x, uint64_t y) { return x ^ y; }), true;
    case Opcode::bit_not: return o.map1<uint64_t>([mask](uint64_t x) { return ~x & mask; }), true;
    default: return false;
  }
}

void evaluate_convert(const Inst& inst, DType from, const Operands& o) {
  dispatch(from, [&]<class From>() {
    dispatch(inst.type, [&]<class To>() { o.map1<From>([](From x) { return convert_value<To>(x); }); });
  });
}

}  // namespace

void evaluate(const Inst& inst, DType from, const uint64_t* a, const uint64_t* b, const uint64_t* c,
              std::span<uint64_t> out) {
  const Operands o{a, b, c, out};
  if (evaluate_bits(inst, o)) return;
  if (inst.op == Opcode::convert) return evaluate_convert(inst, from, o);
  if (inst.op == Opcode::call) {
    const auto function = static_cast<Function>(inst.imm);
    for (size_t i = 0; i < out.size(); ++i) {
      const double y = b ? from_bits<double>(b[i]) : 0.0;
      out[i] = c && !c[i] ? 0 : to_bits(call_function(function, from_bits<double>(a[i]), y));
    }
    return;
  }
  dispatch(from, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool> || is_half<T>) {
      bad(inst, from);
    } else {
      if (evaluate_common<T>(inst, o)) return;
      if constexpr (std::is_floating_point_v<T>) {
        evaluate_float<T>(inst, o);
      } else {
        evaluate_integer<T>(inst, o);
      }
    }
  });
}

std::vector<bool> needed(const Dag& dag, std::span<const int32_t> roots) {
  std::vector<bool> need(dag.size(), false);
  for (int32_t root : roots) need[root] = true;
  for (int32_t id = dag.size() - 1; id >= 0; --id) {
    if (!need[id]) continue;
    for (int32_t operand : {dag[id].a, dag[id].b, dag[id].c}) {
      if (operand >= 0) need[operand] = true;
    }
  }
  return need;
}

std::vector<std::vector<uint64_t>> evaluate(const Dag& dag, std::span<const int32_t> roots, int lanes,
                                            LeafFunction leaf) {
  const std::vector<bool> need = needed(dag, roots);
  std::vector<std::vector<uint64_t>> values(dag.size());
  auto operand = [&](int32_t id) -> const uint64_t* { return id < 0 ? nullptr : values[id].data(); };
  for (int32_t id = 0; id < dag.size(); ++id) {
    if (!need[id]) continue;
    const Inst& inst = dag[id];
    values[id].resize(lanes);
    if (inst.op == Opcode::index || inst.op == Opcode::param || inst.op == Opcode::load) {
      leaf(inst, operand(inst.a), values[id]);
    } else {
      const DType from = inst.a < 0 ? inst.type : dag[inst.a].type;
      evaluate(inst, from, operand(inst.a), operand(inst.b), operand(inst.c), values[id]);
    }
  }
  std::vector<std::vector<uint64_t>> result;
  for (int32_t root : roots) result.push_back(values[root]);
  return result;
}

}  // namespace neap::scalar
