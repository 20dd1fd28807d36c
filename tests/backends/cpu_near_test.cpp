// Rows shorter than vectors: lanes that find what they load within one register's worth of memory (Emitter::load_near),
// against the kernel interpreter, from buffers that end where the last of them reads.
#include <algorithm>

#include "backends/cpu/analysis.h"
#include "backends/cpu/target.h"
#include "backends/lower_index.h"
#include "backends/rise.h"
#include "tests/backends/cpu_harness.h"
#include "tests/backends/every_type.h"

namespace neap::cpu::test {
namespace {

using namespace backends::test;
using backends::IndexAlgebra;
using backends::IndexExpr;

enum class Loops : uint8_t { rows, flat };

// Loads of operands [planes, rows, columns], each with fewer axes, at neighbours too.
Kernel kernel_of(Trial& trial, DType type, int64_t planes, int64_t rows, int64_t columns, Loops loops) {
  Kernel k;
  IndexAlgebra index(k.dag);
  const int64_t shape[] = {planes, rows, columns}, count = planes * rows * columns;
  const int64_t inner = loops == Loops::flat ? count : columns;
  k.extent = {count / inner, inner};
  const IndexExpr flat = index.add(index.scale(index.loop(0, k.extent[0]), inner), index.loop(1, inner));
  const std::vector<IndexExpr> at = index.unflatten(flat, shape);
  std::vector<X> loads;
  const auto load = [&](const IndexExpr& place, int64_t size) {
    const int buffer = trial.input(k, type, size, static_cast<uint32_t>(loads.size()));
    loads.push_back(k.dag.load(buffer, type, index.emit(place)));
  };
  load(flat, count);
  load(at[2], columns);
  load(at[1], rows);
  load(at[0], planes);
  load(index.add(index.scale(at[0], rows), at[1]), planes * rows);
  load(index.add(index.scale(at[0], columns), at[2]), planes * columns);
  load(index.clamp(index.add(at[2], -1), 0, columns - 1), columns);
  load(index.clamp(index.add(at[2], 1), 0, std::max<int64_t>(columns - 3, 0)), std::max<int64_t>(columns - 2, 1));
  const IndexExpr above = index.clamp(index.add(at[1], -1), 0, rows - 1);
  load(index.add(index.scale(above, columns), at[2]), rows * columns);
  load(index.add(index.scale(at[1], 3), 2), 3 * rows);
  X all = loads[0];
  for (size_t i = 1; i < loads.size(); ++i) all = k.dag.binary(Opcode::bit_xor, all, loads[i]);
  k.stores.push_back({trial.output(k, type, count), index.emit(flat).id, all.id});
  return k;
}

// Loads that are a load and a permutation where processors have one.
int count_near(const Kernel& k) {
  const VectorUnit unit = host_target().unit;
  const Analysis a(k, unit);
  int count = 0;
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    const scalar::Inst& i = k.dag[id];
    if (i.op != Opcode::load || !a.varying(id) || a.access(i.a) != Access::scattered) continue;
    const int width = std::min(unit.bits / 8 / static_cast<int>(size_of(i.type)), a.lanes);
    if (size_of(i.type) < 4 || width < 8) continue;
    const int32_t remainder = a.small_remainder(i.a);
    const int64_t read = remainder >= 0 ? backends::modulus(k.dag, k.dag[remainder]) : a.rise(i.a, width) + 1;
    count += 1 <= read && read <= width ? 1 : 0;
  }
  return count;
}

TEST(Near, RowsShorterThanVectors) {
  int near = 0;
  for (const DType type : {DType::u8, DType::u16, DType::u32, DType::u64}) {
    for (const int64_t columns : {2, 3, 5, 7, 8, 10, 12, 15, 16, 17, 20, 33}) {
      for (const auto& [planes, rows] : {std::pair<int64_t, int64_t>{1, 100}, {7, 5}, {130, 2}, {1, 3}}) {
        for (const Loops loops : {Loops::rows, Loops::flat}) {
          Trial trial;
          const Kernel k = kernel_of(trial, type, planes, rows, columns, loops);
          near += count_near(k);
          trial.check(k);
        }
      }
    }
  }
  if (host_target().unit.avx2) EXPECT_GT(near, 200);
}

// What a remainder counts is read whole only where the loop runs through all of it.
TEST(Near, RemaindersThatTheLoopDoesNotReach) {
  for (const int64_t columns : {3, 5, 9, 16}) {
    Kernel k;
    Trial trial;
    IndexAlgebra index(k.dag);
    k.extent = {64, columns};
    const IndexExpr place = index.loop(1, columns);
    const X remainder = k.dag.binary(Opcode::bit_and, index.emit(place), k.dag.integer(15, u32));
    const X x = k.dag.load(trial.input(k, DType::u32, columns), DType::u32, remainder);
    const IndexExpr flat = index.add(index.scale(index.loop(0, 64), columns), place);
    k.stores.push_back({trial.output(k, DType::u32, 64 * columns), index.emit(flat).id, x.id});
    const Analysis a(k, host_target().unit);
    EXPECT_EQ(a.small_remainder(remainder.id) >= 0, columns == 16);
    trial.check(k);
  }
}

// Sums that wrap are not what all lanes have in common and a remainder; what falls does not rise.
TEST(Near, NumbersOfFewBits) {
  const auto run = [](DType table_type, int64_t size, auto place) {
    Kernel k;
    Trial trial;
    k.extent = {3, 160};
    const X column = k.dag.index(1, u32);
    const X at = k.dag.convert(place(k.dag, column), u32);
    const X x = k.dag.load(trial.input(k, table_type, size), table_type, at);
    const X row = k.dag.binary(Opcode::mul, k.dag.index(0, u32), k.dag.integer(160, u32));
    k.stores.push_back({trial.output(k, table_type, 480), k.dag.binary(Opcode::add, row, column).id, x.id});
    trial.check(k);
  };
  using scalar::Dag;
  for (const DType table : {DType::u32, DType::u64}) {
    for (const int64_t mask : {7, 15}) {
      run(table, 256, [&](Dag& dag, X column) {
        const X few = dag.convert(dag.binary(Opcode::bit_and, column, dag.integer(mask, u32)), DType::u8);
        return dag.binary(Opcode::add, few, dag.integer(250, DType::u8));
      });
    }
    run(table, 61, [](Dag& dag, X column) {
      const X few = dag.convert(dag.binary(Opcode::bit_and, column, dag.integer(63, u32)), DType::i8);
      const X falls = dag.binary(Opcode::div, few, dag.integer(-2, DType::i8));
      return dag.binary(Opcode::add, dag.convert(falls, i32), dag.integer(60, i32));
    });
  }
}

// Rows of 5 of so many elements that places need 33 bits: the last of them, in memory that begins far before.
TEST(Near, PlacesBeyondTheReachOf32Bits) {
  constexpr int64_t kBefore = int64_t{5} << 32, kHere = 640;
  Kernel k;
  IndexAlgebra index(k.dag);
  k.extent = {1, kBefore + kHere};
  const IndexExpr at = index.loop(1, kBefore + kHere);
  const X x = k.dag.load(0, DType::u32, index.emit(index.div(at, 5)));
  k.buffers = {{DType::u32, false, "in"}, {DType::u32, true, "out"}};
  k.stores.push_back({1, index.emit(at).id, x.id});
  EXPECT_EQ(count_near(k), host_target().unit.avx2 ? 1 : 0);
  std::vector<uint32_t> in(kHere / 5), out(kHere);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(1000 + i);
  const auto far_before = [](std::vector<uint32_t>& v, int64_t elements) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(v.data()) - static_cast<uintptr_t>(elements) * 4);
  };
  void* pointers[] = {far_before(in, kBefore / 5), far_before(out, kBefore)};
  const Kernel* one[] = {&k};
  compile_kernels(one, "")[0](pointers, nullptr, 0, 1, kBefore, kBefore + kHere, 0);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], in[i / 5]) << i;
}

}  // namespace
}  // namespace neap::cpu::test
