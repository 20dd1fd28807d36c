// Rows of shifted, padded and joined operands, along most of which the emitted code is another: against the kernel
// interpreter, and sums in the order that is promised, whatever range is asked for.
#include <numeric>
#include <random>

#include "backends/cpu/stretches.h"
#include "backends/cpu/target.h"
#include "backends/lower_index.h"
#include "tests/backends/cpu_harness.h"
#include "tests/backends/every_type.h"

namespace neap::cpu::test {
namespace {

using namespace backends::test;
using backends::Condition;
using backends::IndexAlgebra;
using backends::IndexExpr;

constexpr int64_t kRows = 5;

// An element made of operands [kRows, n], read at places that depend on its own.
class Element {
 public:
  Element(Kernel& k, Trial& trial, DType type, int64_t n, unsigned seed)
      : k_(k), type_(type), n_(n), index_(k.dag), rng_(seed) {
    for (int i = 0; i < 2; ++i) inputs_[i] = trial.input(k, type, kRows * n, static_cast<uint32_t>(i));
  }
  /// Without NaN and infinities, whose sums are not told apart.
  void make_finite(Trial& trial) {
    for (const int input : inputs_) {
      std::vector<float> values(static_cast<size_t>(kRows * n_));
      for (float& v : values) v = std::ldexp(static_cast<float>(rng_()) - 2147483648.0f, pick(-40, -20));
      trial.buffers[input] = bytes_of(values);
    }
  }

  IndexAlgebra& index() { return index_; }

  X at(const IndexExpr& row, const IndexExpr& place) {
    X x = load(row, place);
    for (int i = pick(2, 4); i > 0; --i) x = plus(x, term(row, place));
    return x;
  }

 private:
  int pick(int64_t lo, int64_t hi) { return static_cast<int>(std::uniform_int_distribution<int64_t>(lo, hi)(rng_)); }
  X load(const IndexExpr& row, const IndexExpr& place) {
    const IndexExpr at[] = {row, place};
    const int64_t shape[] = {kRows, n_};
    return k_.dag.load(inputs_[pick(0, 1)], type_, index_.emit(index_.flatten(at, shape)));
  }
  X plus(X x, X y) {
    if (!half(type_)) return k_.dag.binary(type_ == DType::bool_ ? Opcode::bit_xor : Opcode::sub, x, y);
    return k_.dag.convert(k_.dag.binary(Opcode::sub, k_.dag.convert(x, f32), k_.dag.convert(y, f32)), type_);
  }
  X nothing() { return k_.dag.constant_bits(0, type_); }
  // A comparison as users write them, of any type: near the ends of its numbers too, where sums and products wrap.
  X user_made(const IndexExpr& place) {
    constexpr DType kTypes[] = {DType::i8, DType::u8, DType::i32, DType::u32, DType::i64, DType::u64};
    constexpr Opcode kSums[] = {Opcode::add, Opcode::sub, Opcode::mul};
    constexpr Opcode kComparisons[] = {Opcode::lt, Opcode::le, Opcode::eq, Opcode::ne};
    const DType type = kTypes[pick(0, 5)];
    const auto constant = [&] {
      const int64_t lowest = is_unsigned(type) ? 0 : std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(type));
      const auto end = static_cast<uint64_t>(lowest);
      const uint64_t ends[] = {0, end, end - 1};
      return k_.dag.integer(static_cast<int64_t>(ends[pick(0, 2)] + static_cast<uint64_t>(pick(-n_, n_))), type);
    };
    const auto sum = [&] {
      X x = k_.dag.convert(index_.emit(place), type);
      for (int i = pick(0, 2); i > 0; --i) {
        X y = constant();
        if (pick(0, 1) == 0) std::swap(x, y);
        x = k_.dag.binary(kSums[pick(0, 2)], x, y);
      }
      return x;
    };
    X x = sum(), y = pick(0, 3) == 0 ? sum() : constant();
    if (pick(0, 1) == 0) std::swap(x, y);
    return k_.dag.binary(kComparisons[pick(0, 3)], x, y);
  }
  // The loads that a select chooses from are made before it, at places that are clamped.
  X term(const IndexExpr& row, const IndexExpr& place) {
    const int64_t shift = pick(0, 3) == 0 ? pick(-n_ / 2, n_ / 2) : pick(-3, 3);
    const IndexExpr moved = index_.add(place, shift);
    const IndexExpr clamped = index_.clamp(moved, 0, n_ - 1);
    switch (pick(0, 6)) {
      case 0: return load(row, clamped);
      case 6: return load(row, index_.clamp(moved, pick(0, 2), n_ - 1 - pick(0, 2)));  // both bounds are met
      case 4: {
        const X x = load(row, clamped);
        return k_.dag.select(user_made(place), x, nothing());
      }
      case 1: return index_.select(index_.in_range(moved, 0, n_ - 1), load(row, clamped), nothing());
      case 2: {  // rolled along the row
        const int64_t by = pick(1, 3);
        const X first = load(row, index_.clamp(index_.add(place, n_ - by), 0, n_ - 1));
        const X rest = load(row, index_.clamp(index_.add(place, -by), 0, n_ - 1));
        return index_.select(index_.less(place, by), first, rest);
      }
      case 3: {  // and down the rows
        const X above = load(index_.clamp(index_.add(row, -1), 0, kRows - 1), clamped);
        return index_.select(index_.less(row, 1), nothing(), above);
      }
      default: return index_.select(index_.equals(place, pick(0, n_ - 1)), load(row, clamped), nothing());
    }
  }

  Kernel& k_;
  DType type_;
  int64_t n_;
  IndexAlgebra index_;
  std::mt19937 rng_;
  int inputs_[2] = {};
};

enum class Loops : uint8_t { rows, flat };

X element_of(Kernel& k, Element& element, Loops loops, int64_t n) {
  IndexAlgebra& index = element.index();
  if (loops == Loops::rows) {
    k.extent = {kRows, n};
    return element.at(index.loop(0, kRows), index.loop(1, n));
  }
  k.extent = {1, kRows * n};
  const int64_t shape[] = {kRows, n};
  const auto at = index.unflatten(index.loop(1, kRows * n), shape);
  return element.at(at[0], at[1]);
}

Stretches stretches(const Kernel& k) { return stretches_of(Analysis(k, host_target().unit), host_target().unit); }

TEST(Stretches, Maps) {
  int found = 0, seed = 0;
  for (const DType t : {DType::bool_, DType::u8, DType::bf16, DType::i32, DType::f32, DType::f64}) {
    for (const int64_t n : {8, 16, 32, 48, 64, 70, 129, 256, 300, 517, 1024}) {
      for (const Loops loops : {Loops::rows, Loops::flat}) {
        Kernel k;
        Trial run;
        Element element(k, run, t, n, static_cast<unsigned>(++seed));
        const X value = element_of(k, element, loops, n);
        IndexAlgebra& index = element.index();
        const IndexExpr flat =
            index.add(index.scale(index.loop(0, k.extent[0]), k.extent[1]), index.loop(1, k.extent[1]));
        k.stores.push_back({run.output(k, t, kRows * n), index.emit(flat).id, value.id});
        found += stretches(k).list.empty() ? 0 : 1;
        run.check(k);
      }
    }
  }
  EXPECT_GT(found, host_target().unit.bits == 512 ? 50 : 70);  // of 132: a stretch is some vectors long
}

// Sums, of all elements and of ranges: element i to accumulator i modulo 16, and those by halves.
TEST(Stretches, SumsKeepTheirOrder) {
  int found = 0, seed = 0;
  for (const int64_t n : {8, 16, 32, 48, 64, 70, 129, 256, 300, 517, 1024}) {
    for (const Loops loops : {Loops::rows, Loops::flat}) {
      for (int again = 0; again < 4; ++again) {
        Kernel k;
        Trial run;
        Element element(k, run, f32, n, static_cast<unsigned>(++seed));
        element.make_finite(run);
        const X value = element_of(k, element, loops, n);
        const auto [rows, columns] = k.extent;
        Kernel each = k;  // every element, by the interpreter
        const X wide = each.dag.convert({&each.dag, value.id}, f64);
        const X flat =
            each.dag.binary(Opcode::add, each.dag.index(1, u32),
                            each.dag.binary(Opcode::mul, each.dag.index(0, u32), each.dag.integer(columns, u32)));
        each.stores.push_back({static_cast<int>(run.buffers.size()), flat.id, wide.id});
        each.buffers.push_back({f64, true, "out"});
        std::vector<double> elements(static_cast<size_t>(rows * columns));
        std::vector<std::span<std::byte>> spans(run.buffers.begin(), run.buffers.end());
        spans.push_back(std::as_writable_bytes(std::span(elements)));
        backends::Launch launch;
        launch.kernel = each;
        for (size_t i = 0; i < spans.size(); ++i) launch.operands.push_back(static_cast<int>(i));
        backends::evaluate(std::span(&launch, 1), spans);

        k.kind = Kernel::Kind::reduce;
        k.reductions.push_back(
            {backends::Combine::add, k.dag.convert(value, f64).id, f64, f64, static_cast<int>(run.buffers.size())});
        k.buffers.push_back({f64, true, "out"});
        found += stretches(k).list.empty() ? 0 : 1;
        const Kernel* one[] = {&k};
        const auto code = compile_kernels(one, "")[0];
        for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, columns},
                                         {0, 64},
                                         {64, columns},
                                         {columns / 2 / 64 * 64, columns},
                                         {0, columns / 64 * 64}}) {
          if (begin > end || end > columns) continue;
          std::vector<double> got(static_cast<size_t>(rows)), want;
          std::vector<void*> pointers;
          for (Bytes& bytes : run.buffers) pointers.push_back(bytes.data());
          pointers.push_back(got.data());
          code(pointers.data(), nullptr, 0, rows, begin, end, 0);
          for (int64_t r = 0; r < rows; ++r) {
            double sums[16] = {};
            for (int64_t i = begin; i < end; ++i) sums[i % 16] += elements[static_cast<size_t>(r * columns + i)];
            for (int width = 8; width > 0; width /= 2) {
              for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
            }
            want.push_back(sums[0]);
          }
          EXPECT_EQ(got, want) << k.print() << begin << " to " << end;
        }
      }
    }
  }
  EXPECT_GT(found, 35);  // of 88
}

TEST(Stretches, TheLargestOfEachRowAndWhereItIs) {
  int seed = 0;
  for (const int64_t n : {70, 256, 300}) {
    for (const Loops loops : {Loops::rows, Loops::flat}) {
      Kernel k;
      Trial run;
      Element element(k, run, f32, n, static_cast<unsigned>(++seed));
      const X value = element_of(k, element, loops, n);
      k.kind = Kernel::Kind::reduce;
      k.reductions.push_back({backends::Combine::max, value.id, f32, f32, run.output(k, f32, k.extent[0])});
      k.reductions.push_back({backends::Combine::argmax, value.id, f32, i32, run.output(k, i32, k.extent[0])});
      run.check(k);
    }
  }
}

// Axes that are transposed around a last one, of any whole number of vectors: of few, each begins at a known place of
// its row.
TEST(Stretches, RowsOfWholeVectors) {
  for (const int64_t row : {8, 16, 24, 32, 48, 64}) {
    Kernel k;
    Trial run;
    k.extent = {1, kRows * 4 * row};
    const int in = run.input(k, f32, kRows * 4 * row);
    IndexAlgebra index(k.dag);  // [kRows, 4, row] of [4, kRows, row]
    const IndexExpr place = index.loop(1, kRows * 4 * row);
    const int64_t to[] = {kRows, 4, row}, from[] = {4, kRows, row};
    const auto at = index.unflatten(place, to);
    const IndexExpr moved[] = {at[1], at[0], at[2]};
    const X x = k.dag.load(in, f32, index.emit(index.flatten(moved, from)));
    k.stores.push_back({run.output(k, f32, kRows * 4 * row), index.emit(place).id, x.id});
    const Analysis analysis(k, host_target().unit);
    const bool whole = row % analysis.lanes == 0, is_short = row < 4 * analysis.tail_lanes;
    const bool known = analysis.pattern(k.dag[x.id].a, analysis.lanes) != nullptr;
    EXPECT_EQ(stretches(k).list.size(), (whole || row >= 64) && !(known && is_short) ? 1u : 0u) << row;
    run.check(k);
  }
}

// A middle axis is reduced down columns of rows, of which the last may be part of one: whole, cut, in parts, and
// beginning with what is given. Sums are of whole numbers, which have no order.
TEST(Stretches, ColumnsOfRows) {
  int found = 0;
  for (const int64_t columns : {3, 8, 16, 20, 33, 64, 70, 128, 129, 300}) {
    for (const auto& [depth, missing] :
         {std::pair<int64_t, int64_t>{3, 0}, {3, 7}, {3, 1}, {80, 0}, {80, 7}, {80, 2}}) {
      for (const bool parts : {false, true}) {
        Kernel k;
        Trial run;
        k.kind = Kernel::Kind::reduce;
        k.extent = {kRows * columns - std::min(missing, columns - 1), depth};
        k.vector_level = 0;
        const int64_t kept[] = {kRows, columns}, shape[] = {kRows, depth, columns};
        const int in = run.input(k, f32, kRows * depth * columns), ids = run.input(k, i32, kRows * columns);
        std::vector<int64_t> begin(static_cast<size_t>(kRows * columns));
        std::iota(begin.begin(), begin.end(), 100);
        const int initial = run.add(k, i64, bytes_of(begin));
        IndexAlgebra index(k.dag);
        const IndexExpr place = index.loop(0, k.extent[0]);
        const auto at = index.unflatten(place, kept);
        const IndexExpr moved[] = {at[0], index.loop(1, depth), at[1]};
        const X x = k.dag.load(in, f32, index.emit(index.flatten(moved, shape)));
        const X whole = k.dag.convert(k.dag.load(ids, i32, index.emit(place)), i64);
        const X row = k.dag.binary(Opcode::mul, whole, index.emit(index.loop(1, depth), i64));
        k.finish = !parts;
        k.reductions.push_back({backends::Combine::max, x.id, f32, f32, run.output(k, f32, k.extent[0])});
        k.reductions.push_back({backends::Combine::add, row.id, i64, i64, run.output(k, i64, k.extent[0]), initial});
        if (!parts) {
          k.reductions.push_back({backends::Combine::argmin, x.id, f32, i32, run.output(k, i32, k.extent[0])});
        }
        found += stretches(k).list.empty() ? 0 : 1;
        run.check(k);
      }
    }
  }
  EXPECT_GT(found, 80);  // of 120
}

// A place that is divided by a negative number is no row's.
TEST(Stretches, NegativeDivisors) {
  constexpr int64_t kRow = 1024;
  for (const auto& [type, divisor] :
       {std::pair{DType::i8, -64}, {DType::i16, -1024}, {DType::i32, -1024}, {DType::i32, 2048}, {DType::i64, -2048}}) {
    for (const Opcode op : {Opcode::div, Opcode::bit_and}) {
      Kernel k;
      Trial run;
      k.extent = {1, kRows * kRow};
      const int in = run.input(k, f32, kRows * kRow);
      IndexAlgebra index(k.dag);
      const int64_t shape[] = {kRows, kRow};
      const IndexExpr place = index.loop(1, kRows * kRow);
      const auto at = index.unflatten(place, shape);
      const IndexExpr moved[] = {at[0], index.clamp(index.add(at[1], -2), 0, kRow - 1)};
      const X x = k.dag.load(in, f32, index.emit(index.flatten(moved, shape)));
      const X quotient = k.dag.binary(op, index.emit(place, type), k.dag.integer(divisor, type));
      const X value = k.dag.binary(Opcode::add, x, k.dag.convert(quotient, f32));
      k.stores.push_back({run.output(k, f32, kRows * kRow), index.emit(place).id, value.id});
      run.check(k);
    }
  }
}

// What the rule finds: the inside of a row, both halves of two that are joined, and nothing where it is no use.
TEST(Stretches, WhatTheyAre) {
  const auto ends = [](const Kernel& k) {
    std::vector<std::pair<int64_t, int64_t>> list;
    for (const Stretch& s : stretches(k).list) list.emplace_back(s.begin, s.end);
    return list;
  };
  using Ends = std::vector<std::pair<int64_t, int64_t>>;
  const auto kernel = [](int64_t n, auto&& value) {
    Kernel k;
    k.extent = {4, n};
    k.buffers = {{f32, false, "in"}, {f32, true, "out"}};
    IndexAlgebra index(k.dag);
    const IndexExpr row = index.scale(index.loop(0, 4), n), place = index.loop(1, n);
    const auto load = [&](const IndexExpr& at) { return k.dag.load(0, f32, index.emit(index.add(row, at))); };
    const X x = value(index, place, load);
    k.stores.push_back({1, index.emit(index.add(row, place)).id, x.id});
    return k;
  };
  const auto shifted = [](IndexAlgebra& index, const IndexExpr& place, const auto& load) {
    return load(index.clamp(index.add(place, -2), 0, 999));
  };
  EXPECT_EQ(ends(kernel(1000, shifted)), (Ends{{2, 1000}}));
  EXPECT_EQ(ends(kernel(7, shifted)), Ends{});
  EXPECT_EQ(ends(kernel(1000,
                        [](IndexAlgebra& index, const IndexExpr& place, const auto& load) {
                          const X second = load(index.clamp(index.add(place, -500), 0, 499));
                          return index.select(index.less(place, 500), load(index.clamp(place, 0, 499)), second);
                        })),
            (Ends{{0, 500}, {500, 1000}}));
  EXPECT_EQ(ends(kernel(1000, [](IndexAlgebra&, const IndexExpr& place, const auto& load) { return load(place); })),
            Ends{});
}

}  // namespace
}  // namespace neap::cpu::test
