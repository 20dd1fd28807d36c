// This runs steps: launches over threads, matrix products, sorts, factorizations, loops.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "backends/cpu/convolution.h"
#include "backends/cpu/cumulative.h"
#include "backends/cpu/fourier.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/program.h"
#include "backends/cpu/sort.h"
#include "core/buffer.h"
#include "core/progress.h"
#include "core/sanitize.h"
#include "core/thread_pool.h"

namespace neap::cpu {
namespace {

constexpr size_t kInlineBuffers = 64;  // pointers on the stack; more take an allocation for each launch
constexpr int64_t kFillGrain = int64_t{1}
                               << 20;  // bytes of the smallest task: some 50 microseconds (neap-limits, fill)

// Pointers of a kernel's buffers: on the stack, unless there are very many.
class Pointers {
 public:
  Pointers(const std::vector<int>& buffers, std::byte* const* memory) {
    if (buffers.size() > kInlineBuffers) more_.resize(buffers.size());
    void** p = data();
    for (size_t i = 0; i < buffers.size(); ++i) p[i] = memory[buffers[i]];
  }
  void** data() { return more_.empty() ? few_ : more_.data(); }

 private:
  void* few_[kInlineBuffers];
  std::vector<void*> more_;
};

void zero(std::byte* data, size_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), kFillGrain,
               [&](int64_t begin, int64_t end) { std::memset(data + begin, 0, static_cast<size_t>(end - begin)); });
}

void run_partials(const LaunchCode& launch, void* const* buffers, std::byte* const* memory) {
  parallel_tasks(launch.partials, [&](int part) {
    const int64_t extent = launch.extent[launch.part_level];
    const int64_t begin = std::min(extent, part * launch.grain), end = std::min(extent, begin + launch.grain);
    int64_t range[2][2] = {{0, launch.extent[0]}, {0, launch.extent[1]}};
    range[launch.part_level][0] = begin;
    range[launch.part_level][1] = end;
    const auto run = [&](void* const* own, int table) {
      launch.function(own, nullptr, range[0][0], range[0][1], range[1][0], range[1][1], table);
    };
    if (launch.part0_buffer < 0) return run(buffers, part);
    if (part > 0) return run(buffers, part - 1);
    Pointers first(launch.buffers, memory);
    first.data()[launch.table] = memory[launch.part0_buffer];
    run(first.data(), 0);
  });
}

void run_tiles(const LaunchCode& launch, void* const* buffers) {
  const auto [rows, columns] = launch.extent;
  const auto [tile_rows, tile_columns] = launch.tile;
  const int64_t across = (columns + tile_columns - 1) / tile_columns, down = (rows + tile_rows - 1) / tile_rows;
  parallel_for(across * down, launch.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * tile_rows, column = i % across * tile_columns;
      launch.function(buffers, nullptr, row, std::min(rows, row + tile_rows), column,
                      std::min(columns, column + tile_columns), 0);
    }
  });
}

void run_launch(const LaunchCode& launch, std::byte* const* memory) {
  for (const auto& [buffer, bytes] : launch.zero_fill) zero(memory[buffer], bytes);
  Pointers buffers(launch.buffers, memory);
  void* const* p = buffers.data();
  const auto [rows, columns] = launch.extent;
  switch (launch.split) {
    case Split::none: return launch.function(p, nullptr, 0, rows, 0, columns, 0);
    case Split::rows:
      return parallel_for(rows, launch.grain,
                          [&](int64_t begin, int64_t end) { launch.function(p, nullptr, begin, end, 0, columns, 0); });
    case Split::columns:
      return parallel_for(columns, launch.grain,
                          [&](int64_t begin, int64_t end) { launch.function(p, nullptr, 0, rows, begin, end, 0); });
    case Split::tiles: return run_tiles(launch, p);
    case Split::partials: return run_partials(launch, p, memory);
  }
}

// Kernels that are called again and again with the same pointers, one after the other.
class Calls {
 public:
  Calls(const Program& body, std::byte* const* memory) : body_(body) {
    for (const StepCode& step : body.steps) {
      for (const LaunchCode& launch : step.launches) {
        for (const int buffer : launch.buffers) pointers_.push_back(memory[buffer]);
      }
    }
  }
  void run() const {
    void* const* pointers = pointers_.data();
    for (const StepCode& step : body_.steps) {
      for (const LaunchCode& launch : step.launches) {
        launch.function(pointers, nullptr, 0, launch.extent[0], 0, launch.extent[1], 0);
        pointers += launch.buffers.size();
      }
    }
  }

 private:
  const Program& body_;
  std::vector<void*> pointers_;
};

void run_scan(const ScanCode& scan, std::byte* const* memory) {
  const Program& body = *scan.body;
  for (const auto& copy : scan.initial) {
    if (memory[copy.from] != memory[copy.to]) std::memcpy(memory[copy.to], memory[copy.from], copy.bytes);
  }
  std::vector<std::byte*> inner(body.root.size(), nullptr);
  std::byte* arena = scan.arena < 0 ? nullptr : memory[scan.arena];
  for (const auto& [buffer, offset] : body.in_arena) inner[buffer] = arena + offset;
  for (const auto& [buffer, outer] : scan.fixed) inner[buffer] = memory[outer];
  for (const auto& [buffer, root] : scan.aliases) inner[buffer] = inner[root] + body.shift[buffer];
  const auto goes_on = [&] { return scan.condition < 0 || *reinterpret_cast<const bool*>(memory[scan.condition]); };
  std::optional<Progress> progress;
  if (progress_on() && scan.length > 1) progress.emplace(scan.label, "iteration", scan.counted ? scan.length : 0);
  std::optional<Calls> calls;  // where no iteration has pointers of its own, and nobody watches the arena
  if (body.only_calls && scan.sliced.empty() && !poisoning() && !sanitize::kAddress) calls.emplace(body, inner.data());
  for (int64_t i = 0; i < scan.length && goes_on(); ++i) {
    if (calls) {
      calls->run();
      for (const auto& copy : scan.carried) std::memcpy(memory[copy.to], inner[copy.from], copy.bytes);
      if (progress) progress->at(i + 1);
      continue;
    }
    const auto t = static_cast<size_t>(scan.reverse ? scan.length - 1 - i : i);
    for (const auto& s : scan.sliced) inner[s.body_buffer] = memory[s.plan_buffer] + t * s.bytes;
    for (const auto& [buffer, root] : scan.sliced_aliases) inner[buffer] = inner[root] + body.shift[buffer];
    empty(arena, body.arena_bytes);
    for (const StepCode& step : body.steps) {
      enter(step, arena);
      run_step(step, inner.data());
      leave(step, arena);
    }
    for (const auto& copy : scan.carried) std::memcpy(memory[copy.to], inner[copy.from], copy.bytes);
    if (progress) progress->at(i + 1);
  }
  if (arena) sanitize::permit(arena, body.arena_bytes);
}

}  // namespace

void empty(std::byte* arena, size_t bytes) {
  if (!arena) return;
  if (poisoning()) {
    sanitize::permit(arena, bytes);  // a loop's body leaves it as its last iteration ended
    std::memset(arena, kPoison, bytes);
  }
  sanitize::forbid(arena, bytes);
}

void enter(const StepCode& step, std::byte* arena) {
  if (!arena || !sanitize::kAddress) return;
  for (const auto& [offset, bytes] : step.born) sanitize::permit(arena + offset, bytes);
}

void leave(const StepCode& step, std::byte* arena) {
  if (!arena || !(poisoning() || sanitize::kAddress)) return;
  for (const auto& [offset, bytes] : step.dead) {
    if (poisoning()) {
      sanitize::permit(arena + offset, bytes);  // what lies behind the elements was never permitted
      std::memset(arena + offset, kPoison, bytes);
    }
    sanitize::forbid(arena + offset, bytes);
  }
}

namespace {
// Puts what a product or a convolution adds to where its result will be.
template <class Form>
void begin_with(const ProductCode<Form>& code, std::byte** memory) {
  if (code.initial < 0 || memory[code.initial] == memory[code.out]) return;
  std::memcpy(memory[code.out], memory[code.initial], code.bytes);
}
}  // namespace

void run_step(const StepCode& step, std::byte** memory) {
  using Kind = planner::PlanStep::Kind;
  switch (step.kind) {
    case Kind::scan: return run_scan(step.scan, memory);
    case Kind::fourier: {
      const FourierCode& code = step.fourier;
      return transform(code.form, code.tables.data(), memory[code.in], memory[code.out], memory[code.scratch]);
    }
    case Kind::sort: {
      const SortCode& code = step.sort;
      if (code.scratch < 0) return;
      return sort(code.form, memory[code.in], memory[code.out], memory[code.scratch]);
    }
    case Kind::cumulative: {
      const CumulativeCode& code = step.cumulative;
      return cumulate(code.form, memory[code.in], memory[code.out], code.scratch < 0 ? nullptr : memory[code.scratch]);
    }
    case Kind::factor: {
      const FactorCode& code = step.factor;
      return factor::run(code.form, code.triangle < 0 ? nullptr : memory[code.triangle], memory[code.in],
                         memory[code.out], code.scratch < 0 ? nullptr : memory[code.scratch]);
    }
    case Kind::convolution: {
      const auto& code = step.convolution;
      begin_with(code, memory);
      return convolve(code.form, memory[code.lhs], memory[code.rhs], memory[code.out],
                      code.scratch < 0 ? nullptr : memory[code.scratch]);
    }
    case Kind::dot: {
      const auto& dot = step.dot;
      begin_with(dot, memory);
      return gemm(dot.form, memory[dot.lhs], memory[dot.rhs], memory[dot.out],
                  dot.scratch < 0 ? nullptr : memory[dot.scratch]);
    }
    default:
      for (const LaunchCode& launch : step.launches) run_launch(launch, memory);
  }
}

}  // namespace neap::cpu
