// The code that backends/cpu emits, against the kernel interpreter: every opcode and type, every way that lanes lie in
// memory, every remainder.
#include "tests/backends/cpu_harness.h"
#include "tests/backends/every_type.h"

namespace neap::cpu::test {
namespace {

using namespace backends::test;

constexpr int64_t kSizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 257, 500};

// out[i] = f(in[i], in2[i]) over [1, n].
template <class F>
void check_elementwise(DType from, int64_t n, F f) {
  Kernel k;
  k.extent = {1, n};
  Trial run;
  const int a = run.input(k, from, n, 1), b = run.input(k, from, n, 99);
  const X i = k.dag.index(1, u32);
  const X value = f(k, k.dag.load(a, from, i), k.dag.load(b, from, i));
  k.stores.push_back({run.output(k, value.type(), n), i.id, value.id});
  run.check(k);
}

TEST(EmitMap, CopiesEveryTypeAndSize) {
  for (const DType t : kAll) {
    for (const int64_t n : kSizes) check_elementwise(t, n, [](Kernel&, X x, X) { return x; });
  }
}

TEST(EmitMap, ConvertsBetweenAllTypes) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      if (from == to) continue;
      check_elementwise(from, 515, [&](Kernel& k, X x, X) { return k.dag.convert(x, to); });
    }
  }
}

TEST(EmitMap, ComputesEveryBinaryOpcode) {
  for (const Opcode op : {Opcode::add, Opcode::sub, Opcode::mul, Opcode::lt, Opcode::le, Opcode::eq, Opcode::ne,
                          Opcode::bit_and, Opcode::bit_or, Opcode::bit_xor}) {
    const bool bits = op >= Opcode::bit_and;
    const bool arithmetic = op <= Opcode::mul;
    for (const DType t : kAll) {
      if (half(t) || (bits && is_float(t)) || (arithmetic && t == DType::bool_)) continue;
      if (t == DType::bool_ && !bits) continue;
      check_elementwise(t, 133, [&](Kernel& k, X x, X y) { return k.dag.binary(op, x, y); });
    }
  }
}

TEST(EmitMap, DividesShiftsAndCounts) {
  for (const DType t : kAll) {
    if (half(t) || t == DType::bool_) continue;
    check_elementwise(t, 75, [&](Kernel& k, X x, X y) {
      if (is_integer(t))
        y = k.dag.binary(Opcode::bit_or, k.dag.binary(Opcode::bit_and, y, k.dag.integer(63, t)), k.dag.integer(1, t));
      return k.dag.binary(Opcode::div, x, y);
    });
    if (!is_integer(t)) {
      for (const Opcode op : {Opcode::neg, Opcode::abs, Opcode::floor, Opcode::ceil, Opcode::trunc, Opcode::rint}) {
        check_elementwise(t, 75, [&](Kernel& k, X x, X) { return k.dag.unary(op, x); });
      }
      check_elementwise(t, 75,
                        [&](Kernel& k, X x, X) { return k.dag.unary(Opcode::sqrt, k.dag.unary(Opcode::abs, x)); });
      check_elementwise(t, 75, [&](Kernel& k, X x, X y) { return k.dag.fma(x, y, x); });
      continue;
    }
    check_elementwise(t, 75, [&](Kernel& k, X x, X y) {
      y = k.dag.binary(Opcode::bit_or, k.dag.binary(Opcode::bit_and, y, k.dag.integer(63, t)), k.dag.integer(1, t));
      return k.dag.binary(Opcode::rem, x, y);
    });
    for (const Opcode op : {Opcode::shl, Opcode::shr}) {
      check_elementwise(t, 75, [&](Kernel& k, X x, X y) {
        return k.dag.binary(
            op, x, k.dag.binary(Opcode::bit_and, y, k.dag.integer(static_cast<int64_t>(8 * size_of(t)) - 1, t)));
      });
    }
    for (const Opcode op : {Opcode::neg, Opcode::bit_not, Opcode::popcount, Opcode::clz}) {
      check_elementwise(t, 75, [&](Kernel& k, X x, X) { return k.dag.unary(op, x); });
    }
    if (is_signed(t)) check_elementwise(t, 75, [&](Kernel& k, X x, X) { return k.dag.unary(Opcode::abs, x); });
  }
  check_elementwise(u32, 75, [&](Kernel& k, X x, X y) { return k.dag.binary(Opcode::mulhi, x, y); });
  for (const int count : {1, 8, 13, 16, 24, 31})
    check_elementwise(u32, 75, [&](Kernel& k, X x, X) { return k.dag.rotl(x, count); });
}

TEST(EmitMap, DividesEveryByteAndWordByConstants) {
  for (const DType t : {DType::u8, DType::i8, DType::u16, DType::i16}) {
    const int64_t n = int64_t{1} << 8 * size_of(t);
    Bytes all(static_cast<size_t>(n) * size_of(t));
    for (size_t v = 0; v < static_cast<size_t>(n); ++v) std::memcpy(&all[v * size_of(t)], &v, size_of(t));
    for (const double divisor : {255.0, 3.0, 7.0, -10.0, 65535.0, 49.0, 0.1, 1.0 / 3, 1e-37, 1e38, 1e-42, HUGE_VAL}) {
      Kernel k;
      k.extent = {1, n};
      Trial run;
      const int in = run.add(k, t, all);
      const X i = k.dag.index(1, u32);
      const X x = k.dag.convert(k.dag.load(in, t, i), f32);
      const X quotient = k.dag.binary(Opcode::div, x, k.dag.constant(divisor, f32));
      k.stores.push_back({run.output(k, f32, n), i.id, quotient.id});
      run.check(k);
    }
  }
}

TEST(EmitMap, SelectsBitcastsAndCalls) {
  for (const DType t : kAll) {
    check_elementwise(t, 75, [&](Kernel& k, X x, X y) {
      const X wide = is_float(t) ? k.dag.convert(x, f32) : k.dag.convert(x, i64);
      const X zero = k.dag.constant(0, wide.type());
      return k.dag.select(k.dag.binary(Opcode::le, wide, zero), x, y);
    });
  }
  check_elementwise(f32, 75, [](Kernel& k, X x, X) { return k.dag.bitcast(x, u32); });
  check_elementwise(u16, 75, [](Kernel& k, X x, X) { return k.dag.bitcast(x, bf16); });
  check_elementwise(f64, 75, [](Kernel& k, X x, X) { return k.dag.call(scalar::Function::lgamma, x); });
  check_elementwise(f64, 75, [](Kernel& k, X x, X y) { return k.dag.call(scalar::Function::fmod, x, y); });
  // For all elements, some and none; and for a row at a time.
  for (const double limit : {-1e300, 0.0, 1e300}) {
    check_elementwise(f64, 75, [&](Kernel& k, X x, X y) {
      const X near = k.dag.binary(Opcode::lt, x, k.dag.constant(limit, f64));
      const X one = k.dag.call(scalar::Function::lgamma, x, {}, near);
      return k.dag.select(near, k.dag.binary(Opcode::add, one, k.dag.call(scalar::Function::fmod, x, y, near)), y);
    });
  }
}

TEST(EmitMap, UsesConstantsAndIndicesAsValues) {
  for (const DType t : kAll) {
    if (t == DType::bool_) continue;
    for (const int level : {0, 1}) {
      Kernel k;
      k.extent = {5, 37};
      k.vector_level = level;
      Trial run;
      const X i = k.dag.index(0, i64), j = k.dag.index(1, u32);
      const X flat =
          k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, i, k.dag.integer(37, i64)), k.dag.convert(j, i64));
      X value = k.dag.convert(k.dag.binary(Opcode::mul, j, k.dag.integer(3, u32)), t);
      if (!half(t)) value = k.dag.binary(Opcode::add, value, k.dag.convert(i, t));
      const X chosen = k.dag.select(k.dag.binary(Opcode::lt, j, k.dag.integer(20, u32)), value, k.dag.constant(2.0, t));
      k.stores.push_back({run.output(k, t, 5 * 37), flat.id, chosen.id});
      run.check(k);
    }
  }
}

// in[a * i0 + b * i1 + c] for many strides, with lanes along either level.
TEST(EmitMap, ReadsAndWritesEveryStride) {
  for (const DType t : {DType::bool_, DType::i16, DType::f32, DType::f64}) {
    for (const int64_t stride : {-3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 11}) {
      for (const int level : {0, 1}) {
        for (const int64_t n : {5, 40, 67}) {
          Kernel k;
          k.extent = level == 1 ? std::array<int64_t, 2>{3, n} : std::array<int64_t, 2>{n, 3};
          k.vector_level = level;
          Trial run;
          const int64_t span = std::abs(stride) * (n - 1) + 9 + 2 * 100;
          const int in = run.input(k, t, span);
          const int out = run.output(k, t, span);
          const X i = k.dag.index(level, i32), row = k.dag.index(1 - level, i32);
          X at = k.dag.binary(Opcode::mul, i, k.dag.integer(stride, i32));
          if (stride < 0) at = k.dag.binary(Opcode::add, at, k.dag.integer(-stride * (n - 1), i32));
          const X other = k.dag.binary(Opcode::add, at, k.dag.binary(Opcode::mul, row, k.dag.integer(100, i32)));
          X sum;
          for (const int offset : {0, 2, 1, 7}) {  // some of them share wide loads
            X x = k.dag.load(in, t, k.dag.binary(Opcode::add, other, k.dag.integer(offset, i32)));
            if (t == DType::bool_) {
              sum = sum.dag ? k.dag.binary(Opcode::bit_xor, sum, x) : x;
            } else {
              sum = sum.dag ? k.dag.binary(Opcode::sub, sum, x) : x;
            }
          }
          // Contiguous output where the input is strided, and a strided copy where lanes do not collide.
          const X flat = k.dag.binary(Opcode::add, i, k.dag.binary(Opcode::mul, row, k.dag.integer(n, i32)));
          k.stores.push_back({run.output(k, t, 3 * n), flat.id, sum.id});
          if (std::abs(stride) * (n - 1) < 100 && stride != 0) k.stores.push_back({out, other.id, sum.id});
          run.check(k);
        }
      }
    }
  }
}

// out[gap * i + c] = in[gap * i + c] of values c < n, which together fill the output where gap is n, and the same in
// another buffer.
TEST(EmitMap, WritesValuesSideBySide) {
  enum class Order { by_buffer, by_value, swapped };
  for (const DType t : kAll) {
    for (const int n : {2, 3, 4, 5, 8}) {
      for (const int gap : {n, n + 1}) {
        for (const int64_t columns : {5, 40, 141}) {
          for (const Order order : {Order::by_buffer, Order::by_value, Order::swapped}) {
            Kernel k;
            k.extent = {2, columns};
            Trial run;
            const int in = run.input(k, t, 2 * columns * gap), out = run.output(k, t, 2 * columns * gap),
                      other = run.output(k, t, 2 * columns * gap);
            const X i = k.dag.binary(Opcode::add, k.dag.index(1, i32),
                                     k.dag.binary(Opcode::mul, k.dag.index(0, i32), k.dag.integer(columns, i32)));
            const X first = k.dag.binary(Opcode::mul, i, k.dag.integer(gap, i32));
            std::vector<backends::Store> also;
            for (int c = 0; c < n; ++c) {
              const X at = k.dag.binary(Opcode::add, first, k.dag.integer(c, i32)), x = k.dag.load(in, t, at);
              k.stores.push_back({out, at.id, x.id});
              (order == Order::by_value ? k.stores : also).push_back({other, at.id, x.id});
            }
            k.stores.insert(k.stores.end(), also.begin(), also.end());
            if (order == Order::swapped) std::swap(k.stores[0], k.stores[1]);
            run.check(k);
          }
        }
      }
    }
  }
}

TEST(EmitMap, GathersByComputedIndices) {
  for (const DType t : kAll) {
    for (const DType index : {DType::i8, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64}) {
      Kernel k;
      k.extent = {2, 45};
      Trial run;
      const int table = run.input(k, t, 50), rows = run.input(k, index, 90);
      const int out = run.output(k, t, 90);
      const X flat = k.dag.binary(Opcode::add, k.dag.index(1, u32),
                                  k.dag.binary(Opcode::mul, k.dag.index(0, u32), k.dag.integer(45, u32)));
      X x = k.dag.load(rows, index, flat);
      const X last = k.dag.integer(49, index), zero = k.dag.integer(0, index);
      x = k.dag.select(k.dag.binary(Opcode::lt, last, x), last, x);
      x = k.dag.select(k.dag.binary(Opcode::lt, x, zero), zero, x);
      k.stores.push_back({out, flat.id, k.dag.load(table, t, x).id});
      run.check(k);
    }
  }
}

void check_reduce(const Sum& s, int64_t kept, int64_t reduced, int level, bool finish = true) {
  Kernel k;
  k.kind = Kernel::Kind::reduce;
  k.extent = {kept, reduced};
  k.vector_level = level;
  k.finish = finish;
  Trial run;
  run.tolerance = s.combine == backends::Combine::add || s.combine == backends::Combine::mul ? 1e-13 : 0;
  if (s.output == DType::f32) run.tolerance *= 1e6;
  const int in = run.input(k, s.type, std::max<int64_t>(kept * reduced, 1));
  const X i = k.dag.index(0, u32), j = k.dag.index(1, u32);
  // Row-major with lanes along the reduced level, column-major else: contiguous either way.
  const X flat = level == 1 ? k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, i, k.dag.integer(reduced, u32)), j)
                            : k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, j, k.dag.integer(kept, u32)), i);
  X x = k.dag.load(in, s.type, flat);
  x = k.dag.convert(x, s.accumulator);
  const bool arg = s.combine >= backends::Combine::argmax;
  const DType written = finish ? (arg ? DType::i32 : s.output) : s.accumulator;
  k.reductions.push_back({s.combine, x.id, s.accumulator, arg ? DType::i32 : s.output, run.output(k, written, kept)});
  run.check(k);
}

// Of equal elements the first, NaN before all: where lanes are compared with each other, and where no element is better
// than what comparisons begin with.
TEST(EmitReduce, FindsTheFirstOfTheBest) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto check = [](DType type, backends::Combine combine, auto worst, const auto& others) {
    using T = decltype(worst);
    for (const int64_t reduced : {1, 2, 15, 16, 17, 40, 515}) {
      for (const int level : {0, 1}) {
        constexpr int64_t kKept = 70;
        std::vector<T> values(static_cast<size_t>(kKept * reduced), worst);
        for (int64_t row = 1; row < kKept; ++row) {  // the first row has the worst alone
          for (int64_t n = 0; n < row % 5; ++n) {
            const int64_t j = (row * 7 + n * 11) % reduced;
            values[static_cast<size_t>(level == 1 ? row * reduced + j : j * kKept + row)] =
                others[static_cast<size_t>(row * 3 + n) % others.size()];
          }
        }
        Kernel k;
        k.kind = Kernel::Kind::reduce;
        k.extent = {kKept, reduced};
        k.vector_level = level;
        Trial run;
        const int in = run.add(k, type, bytes_of(values));
        const X i = k.dag.index(0, u32), j = k.dag.index(1, u32);
        const X outer = k.dag.binary(Opcode::mul, level == 1 ? i : j, k.dag.integer(level == 1 ? reduced : kKept, u32));
        const X x = k.dag.load(in, type, k.dag.binary(Opcode::add, outer, level == 1 ? j : i));
        k.reductions.push_back({combine, x.id, type, DType::i32, run.output(k, DType::i32, kKept)});
        run.check(k);
      }
    }
  };
  check(f32, argmax, -inf, std::vector<float>{1, 1, -0.0f, 0, nan, -inf});
  check(f32, argmin, inf, std::vector<float>{1, 1, 0, -0.0f, nan, inf});
  check(DType::f64, argmax, -double{inf}, std::vector<double>{1, double{nan}, 1});
  check(i32, argmax, std::numeric_limits<int32_t>::min(), std::vector<int32_t>{-1, 5, 5});
  check(i32, argmin, std::numeric_limits<int32_t>::max(), std::vector<int32_t>{-1, 5, -1});
  check(u8, argmax, uint8_t{0}, std::vector<uint8_t>{3, 200, 200, 0});
}

TEST(EmitReduce, CombinesEveryTypeAlongEitherLevel) {
  for (const Sum& s : kSums) {
    for (const int level : {0, 1}) {
      for (const auto& [kept, reduced] :
           {std::pair<int64_t, int64_t>{1, 1}, {1, 300}, {3, 17}, {40, 5}, {67, 33}, {5, 1}, {37, 515}}) {
        check_reduce(s, kept, reduced, level);
        if (s.combine < argmax) check_reduce(s, kept, reduced, level, false);
      }
      if (s.combine < argmax) check_reduce(s, 5, 0, level);
    }
  }
}

// Rows so far apart that columns are read some rows at a time: whole eights of rows and what is left, lines and parts
// of them, more columns than sums are kept of at once; and a value of the row beside.
TEST(EmitReduce, ReadsColumnsSomeRowsAtATime) {
  for (const Sum& s : kSums) {
    for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{1100, 64}, {1027, 71}}) {
      check_reduce(s, kept, reduced, 0);
      if (s.combine < argmax) check_reduce(s, kept, reduced, 0, false);
    }
  }
  check_reduce({add, f32, f64, f32}, 20'011, 67, 0);
  check_reduce({max, u8, u8, u8}, 70'001, 66, 0);
  for (const int64_t kept : {300, 9003}) {
    constexpr int64_t kRows = 75;
    Kernel k;
    k.kind = Kernel::Kind::reduce;
    k.extent = {kept, kRows};
    k.vector_level = 0;
    Trial run;
    run.tolerance = 1e-7;
    const int in = run.input(k, f32, kept * kRows), beside = run.input(k, f32, kRows);
    const X i = k.dag.index(0, u32), j = k.dag.index(1, u32);
    const X at = k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, j, k.dag.integer(kept, u32)), i);
    const X x = k.dag.binary(Opcode::mul, k.dag.load(in, f32, at), k.dag.load(beside, f32, j));
    k.reductions.push_back({add, k.dag.convert(x, f64).id, f64, f32, run.output(k, f32, kept)});
    run.check(k);
  }
}

// Element i is added to accumulator i mod 16, and those are added by halves: whatever the rows asked for, the number of
// elements and what else the kernel computes.
TEST(EmitReduce, FixesTheOrderOfTheSum) {
  enum class Also : uint8_t { nothing, heavy, shared };  // shared: what all rows read, which several then read at once
  for (const int64_t n : {1, 5, 16, 24, 1001, 4096}) {
    for (const Also also : {Also::nothing, Also::heavy, Also::shared}) {
      constexpr int64_t kRows = 299;
      Kernel k;
      k.kind = Kernel::Kind::reduce;
      k.extent = {kRows, n};
      Trial trial;
      std::vector<float> values(static_cast<size_t>(kRows * n));
      for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 1e3f;
      const int in = trial.add(k, f32, bytes_of(values));
      const X flat = k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, k.dag.index(0, u32), k.dag.integer(n, u32)),
                                  k.dag.index(1, u32));
      X x = k.dag.load(in, f32, flat);
      if (also == Also::shared) {
        x = k.dag.binary(Opcode::mul, x, k.dag.load(in, f32, k.dag.index(1, u32)));
        for (int64_t i = n * kRows; i-- > 0;) values[static_cast<size_t>(i)] *= values[static_cast<size_t>(i % n)];
      }
      if (also == Also::heavy) {  // turned around once, bit by bit, which makes the emitter take more lanes
        X bits = k.dag.bitcast(x, u32);
        for (int r = 0; r < 31; ++r)
          bits = k.dag.rotl(k.dag.binary(Opcode::bit_xor, bits, k.dag.integer(r + 1, u32)), 1);
        const X back = k.dag.bitcast(bits, f32);
        x = k.dag.select(k.dag.binary(Opcode::eq, bits, k.dag.integer(12345, u32)), back, x);
      }
      k.reductions.push_back({backends::Combine::add, k.dag.convert(x, f64).id, f64, f64, 1});
      k.buffers.push_back({f64, true, "out"});
      const Kernel* one[] = {&k};
      const auto code = compile_kernels(one, "")[0];
      std::vector<double> whole(kRows), rows(kRows), want(kRows);
      void* pointers[] = {trial.buffers[in].data(), whole.data()};
      code(pointers, nullptr, 0, kRows, 0, n, 0);
      pointers[1] = rows.data();
      for (int64_t r = 0; r < kRows; ++r) code(pointers, nullptr, r, r + 1, 0, n, 0);
      for (int64_t r = 0; r < kRows; ++r) {
        double sums[16] = {};
        for (int64_t i = 0; i < n; ++i) sums[i % 16] += values[static_cast<size_t>(r * n + i)];
        for (int width = 8; width > 0; width /= 2) {
          for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
        }
        want[static_cast<size_t>(r)] = sums[0];
      }
      EXPECT_EQ(whole, rows) << n;
      EXPECT_EQ(whole, want) << n;
    }
  }
}

TEST(EmitScatter, CombinesInRowOrder) {
  using enum backends::Combine;
  for (const DType t : kAll) {
    for (const auto combine : {set, add, mul, max, min}) {
      if (t == DType::bool_ && combine != set) continue;
      const bool common = t == DType::f32 || t == DType::bf16 || t == DType::u32;
      if (!common && combine != add) continue;
      for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 100}, {5, 33}, {77, 1}}) {
        for (const bool with_valid : {false, true}) {
          for (const bool uniform : {false, true}) {
            for (const int level : {0, 1}) {
              if (level == 0 && !common) continue;
              Kernel k;
              k.kind = Kernel::Kind::scatter;
              k.extent = {rows, columns};
              k.vector_level = level;
              Trial run;
              const int updates = run.input(k, t, rows * columns), index = run.input(k, u8, rows * columns);
              const int table = run.add(k, t, random_elements(t, 40, 5), true);
              const X flat =
                  k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, k.dag.index(0, u32), k.dag.integer(columns, u32)),
                               k.dag.index(1, u32));
              X at = k.dag.convert(k.dag.load(index, u8, flat), i32);
              const X limit = k.dag.integer(40, i32);
              const X valid = k.dag.binary(Opcode::lt, at, limit);
              if (!with_valid) at = k.dag.binary(Opcode::rem, at, limit);
              const X value = uniform ? k.dag.constant(1.0, t) : k.dag.load(updates, t, flat);
              k.scatters.push_back({combine, table, 40, at.id, value.id, with_valid ? valid.id : -1});
              run.check(k);
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

// Enough updates for whole blocks and a rest, of values that are gathered, into a table that a cache holds and into one
// that it does not.
TEST(EmitScatter, BlocksOfUpdates) {
  using enum backends::Combine;
  constexpr int64_t n = 3001;
  enum class Valid : uint8_t { always, all, some };
  for (const DType t : {f32, f64, DType::bf16, DType::u8, DType::i64}) {
    for (const auto combine : {set, add, max}) {
      for (const Valid which : {Valid::always, Valid::all, Valid::some}) {
        for (const int64_t elements : {int64_t{40}, (int64_t{8} << 20) / static_cast<int64_t>(size_of(t))}) {
          if (elements > 40 && combine == max) continue;
          Kernel k;
          k.kind = Kernel::Kind::scatter;
          k.extent = {1, n};
          Trial run;
          const int from = run.input(k, t, 5000), index = run.input(k, DType::u16, n);
          const int table = run.add(k, t, Bytes(static_cast<size_t>(elements) * size_of(t)), true);
          X at = k.dag.convert(k.dag.load(index, DType::u16, k.dag.index(1, u32)), u32);
          const X limit = k.dag.integer(std::min<int64_t>(elements, 5000), u32);
          const X valid = which == Valid::all ? k.dag.binary(Opcode::lt, at, k.dag.integer(1 << 16, u32))
                                              : k.dag.binary(Opcode::lt, at, limit);
          if (which != Valid::some) at = k.dag.binary(Opcode::rem, at, limit);
          const X place = k.dag.binary(Opcode::rem, at, k.dag.integer(5000, u32));
          const X value = k.dag.load(from, t, place);
          k.scatters.push_back({combine, table, elements, at.id, value.id, which == Valid::always ? -1 : valid.id});
          run.check(k);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Updates that lie side by side, with a row's place and validity.
TEST(EmitScatter, WholeRows) {
  using enum backends::Combine;
  constexpr int64_t rows = 50;
  for (const DType t : {f32, f64, DType::f16, DType::bf16, DType::u8, DType::i64}) {
    for (const auto combine : {set, add, min}) {
      for (const int64_t column_count : {67, 20, 18, 3, -67}) {
        const int64_t columns = std::abs(column_count);
        const bool with_valid = column_count != 67;
        Kernel k;
        k.kind = Kernel::Kind::scatter;
        k.extent = {rows, columns};
        Trial run;
        std::vector<uint32_t> of_rows(rows);
        for (size_t i = 0; i < of_rows.size(); ++i) of_rows[i] = i % 3 == 1 ? 0x80000001u + i : i * 7 % 9;
        const int updates = run.input(k, t, rows * columns), index = run.add(k, u32, bytes_of(of_rows));
        const int table = run.add(k, t, random_elements(t, 9 * columns, 5), true);
        const X column = k.dag.index(1, u32), size = k.dag.integer(columns, u32);
        const X value = k.dag.load(
            updates, t, k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, k.dag.index(0, u32), size), column));
        X row = k.dag.load(index, u32, k.dag.index(0, u32));
        const X valid = k.dag.binary(Opcode::lt, row, k.dag.integer(9, u32));
        if (!with_valid) row = k.dag.binary(Opcode::rem, row, k.dag.integer(9, u32));
        const X at = k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, row, size), column);
        k.scatters.push_back({combine, table, 9 * columns, at.id, value.id, with_valid ? valid.id : -1});
        run.check(k);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace neap::cpu::test
