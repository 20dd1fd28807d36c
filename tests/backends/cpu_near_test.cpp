// Rows shorter than vectors: lanes that find what they load within one register's worth of memory (Emitter::load_near),
// against the kernel interpreter, from buffers that end where the last of them reads.
#include <algorithm>

#include "backends/cpu/analysis.h"
#include "backends/cpu/target.h"
#include "backends/lower_index.h"
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

TEST(Near, RowsShorterThanVectors) {
  int near = 0;
  for (const DType type : {DType::u8, DType::u16, DType::u32, DType::u64}) {
    for (const int64_t columns : {2, 3, 5, 7, 8, 10, 12, 15, 16, 17, 20, 33}) {
      for (const auto& [planes, rows] : {std::pair<int64_t, int64_t>{1, 100}, {7, 5}, {130, 2}, {1, 3}}) {
        for (const Loops loops : {Loops::rows, Loops::flat}) {
          Trial trial;
          const Kernel k = kernel_of(trial, type, planes, rows, columns, loops);
          const Analysis a(k, host_target().unit);
          for (int32_t id = 0; id < k.dag.size(); ++id) {
            const bool is = k.dag[id].op == Opcode::load && a.varying(id) && a.access(k.dag[id].a) == Access::scattered;
            const int64_t rise = is ? a.rise(k.dag[id].a, 16) : -1;
            near += is && ((0 <= rise && rise < 16) || a.small_remainder(k.dag[id].a) >= 0) ? 1 : 0;
          }
          trial.check(k);
        }
      }
    }
  }
  EXPECT_GT(near, 1000);
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

}  // namespace
}  // namespace neap::cpu::test
