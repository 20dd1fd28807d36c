// Lanes that are known when code is written (backends/lane_pattern.h), against the evaluator; and loads by them
// (Emitter::load_pattern), against the kernel interpreter, from buffers that end where the last of them reads.
#include <numeric>
#include <random>

#include "backends/cpu/analysis.h"
#include "backends/cpu/target.h"
#include "backends/lane_pattern.h"
#include "backends/lower_index.h"
#include "tests/backends/cpu_harness.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::cpu::test {
namespace {

using backends::IndexAlgebra;
using backends::IndexExpr;
using backends::LanePatterns;

TEST(LanePattern, IsWhatEveryVectorHas) {
  int known = 0, told = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    const auto pick = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)); };
    scalar::Dag dag;
    std::vector<X> made{dag.index(0, u32), dag.index(1, u32), dag.index(1, u32)};
    std::vector<int64_t> most{6, 383, 383};  // of each
    while (made.size() < 12) {
      const auto at = static_cast<size_t>(pick(std::ssize(made))), other = static_cast<size_t>(pick(std::ssize(made)));
      const int64_t few[] = {1, 2, 3, 4, 6, 8, 12, 16, 64}, by = few[pick(std::ssize(few))];
      const X x = made[at], y = made[other], c = dag.integer(by, u32);
      const auto add = [&](X made_here, int64_t most_here) {
        if (most_here >= int64_t{1} << 30) return;  // none wraps
        made.push_back(made_here);
        most.push_back(most_here);
      };
      switch (pick(5)) {
        case 0: add(dag.binary(Opcode::add, x, y), most[at] + most[other]); break;
        case 1: add(dag.binary(Opcode::mul, x, c), most[at] * by); break;
        case 2: add(dag.binary(Opcode::div, x, c), most[at] / by); break;
        case 3: add(dag.binary(Opcode::bit_and, x, dag.integer((int64_t{1} << pick(6)) - 1, u32)), most[at]); break;
        default: {
          const X whole = dag.binary(Opcode::mul, dag.binary(Opcode::div, x, c), c);
          add(dag.binary(Opcode::sub, x, whole), most[at]);
        }
      }
    }
    std::vector<bool> varies(static_cast<size_t>(dag.size()));
    for (int32_t id = 0; id < dag.size(); ++id) {
      const scalar::Inst& i = dag[id];
      varies[id] = i.op == Opcode::index && i.imm == 1;
      for (const int32_t operand : {i.a, i.b, i.c}) varies[id] = varies[id] || (operand >= 0 && varies[operand]);
    }
    for (const int lanes : {4, 16}) {
      LanePatterns patterns(dag, 1, lanes, std::vector<bool>(varies.size(), true), varies);
      for (const X x : made) {
        const backends::LanePattern* pattern = patterns.of(x.id);
        known += pattern && varies[x.id] ? 1 : 0;
        told += pattern && pattern->multiple != 1 ? 1 : 0;
        for (uint64_t vector = 0; pattern && vector < 24; ++vector) {
          const uint64_t begin = vector * static_cast<uint64_t>(lanes);
          const auto leaf = [&](const scalar::Inst& inst, const uint64_t*, std::span<uint64_t> out) {
            for (size_t lane = 0; lane < out.size(); ++lane) out[lane] = inst.imm == 1 ? begin + lane : vector % 7;
          };
          const int32_t root[] = {x.id};
          const std::vector<uint64_t> got = scalar::evaluate(dag, root, lanes, leaf)[0];
          const auto first = static_cast<int64_t>(got[0]);
          EXPECT_TRUE(pattern->multiple == 0 ? first == 0 : first % pattern->multiple == 0) << dag.print() << x.id;
          for (size_t lane = 0; lane < got.size(); ++lane) {
            ASSERT_EQ(static_cast<int64_t>(got[lane]) - first, pattern->offsets[lane]) << dag.print() << x.id;
          }
        }
      }
    }
  }
  EXPECT_GT(known, 1000);
  EXPECT_GT(told, 500);
}

// An array of this shape in the order of other axes, from its first element to its last.
Kernel transpose_of(Trial& trial, DType type, const std::vector<int64_t>& shape, const std::vector<size_t>& order,
                    int64_t columns) {
  Kernel k;
  IndexAlgebra index(k.dag);
  std::vector<int64_t> turned;
  for (const size_t axis : order) turned.push_back(shape[axis]);
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  k.extent = {count / columns, columns};
  const IndexExpr flat = index.add(index.scale(index.loop(0, k.extent[0]), columns), index.loop(1, columns));
  const std::vector<IndexExpr> to = index.unflatten(flat, turned);
  std::vector<IndexExpr> from(shape.size());
  for (size_t i = 0; i < order.size(); ++i) from[order[i]] = to[i];
  const X x = k.dag.load(trial.input(k, type, count), type, index.emit(index.flatten(from, shape)));
  k.stores.push_back({trial.output(k, type, count), index.emit(flat).id, x.id});
  return k;
}

TEST(LanePattern, TransposesOfShortAxes) {
  int known = 0;
  for (const DType type : {DType::bool_, DType::u8, DType::u16, DType::u32, DType::u64}) {
    for (const auto& [a, b] : {std::pair<int64_t, int64_t>{2, 2}, {2, 4}, {4, 4}, {8, 2}, {8, 8}, {3, 4}, {4, 3}}) {
      for (const int64_t n : {1, 5, 40, 512}) {
        for (const std::vector<size_t>& order : {std::vector<size_t>{0, 2, 1, 3}, {0, 1, 3, 2}, {0, 3, 2, 1}}) {
          const std::vector<int64_t> shape{n, a, b, 2};
          for (const int64_t columns : {n * a * b * 2, a * b * 2}) {
            Trial trial;
            const Kernel k = transpose_of(trial, type, shape, order, columns);
            Analysis analysis(k, host_target().unit);
            for (int32_t id = 0; id < k.dag.size(); ++id) {
              if (k.dag[id].op == Opcode::load) known += analysis.pattern(k.dag[id].a, analysis.lanes) ? 1 : 0;
            }
            trial.check(k);
          }
        }
      }
    }
  }
  EXPECT_GT(known, 300);
}

// Each element twice, four times, or with the same block of others again; and what all lanes of a vector share.
TEST(LanePattern, Repeats) {
  for (const DType type : {DType::u8, DType::u32, DType::u64}) {
    for (const int64_t inner : {1, 2, 4, 64, 128}) {
      for (const int64_t times : {2, 4, 64}) {
        for (const int64_t n : {3, 64, 1000}) {
          Trial trial;
          Kernel k;
          IndexAlgebra index(k.dag);
          const int64_t shape[] = {n, times, inner}, count = n * times * inner;
          k.extent = {1, count};
          const IndexExpr flat = index.loop(1, count);
          const std::vector<IndexExpr> at = index.unflatten(flat, shape);
          const X x = k.dag.load(trial.input(k, type, n * inner), type,
                                 index.emit(index.add(index.scale(at[0], inner), at[2])));
          k.stores.push_back({trial.output(k, type, count), index.emit(flat).id, x.id});
          trial.check(k);
        }
      }
    }
  }
}

// Ranges that begin anywhere have no patterns.
TEST(LanePattern, AsksWhereVectorsBegin) {
  Trial trial;
  Kernel k = transpose_of(trial, DType::u32, {64, 4, 4}, {0, 2, 1}, 1024);
  int32_t load = 0;
  while (k.dag[load].op != Opcode::load) ++load;
  EXPECT_TRUE(Analysis(k, host_target().unit).pattern(k.dag[load].a, 16));
  k.any_range = true;
  EXPECT_FALSE(Analysis(k, host_target().unit).pattern(k.dag[load].a, 16));
}

}  // namespace
}  // namespace neap::cpu::test
