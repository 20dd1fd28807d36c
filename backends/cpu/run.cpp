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

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes <= kFillGrain) return static_cast<void>(std::memcpy(to, from, bytes));  // of small loops, each iteration
  parallel_for(static_cast<int64_t>(bytes), kFillGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
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
  parallel_for(
      across * down, even_grain(across * down, launch.grain, 1),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i / across * tile_rows, column = i % across * tile_columns;
          launch.function(buffers, nullptr, row, std::min(rows, row + tile_rows), column,
                          std::min(columns, column + tile_columns), 0);
        }
      },
      launch.is_brief);
}

void run_launch(const LaunchCode& launch, std::byte* const* memory) {
  if (launch.copies && memory[launch.copies->first] == memory[launch.copies->second]) return;
  for (const auto& [buffer, bytes] : launch.zero_fill) zero(memory[buffer], bytes);
  Pointers buffers(launch.buffers, memory);
  void* const* p = buffers.data();
  const auto [rows, columns] = launch.extent;
  switch (launch.split) {
    case Split::none: return launch.function(p, nullptr, 0, rows, 0, columns, 0);
    case Split::rows: {
      const auto share = [&] { return rows / num_threads() / backends::kRangeUnit * backends::kRangeUnit; };
      const int64_t grain =
          launch.in_shares ? std::max(launch.grain, share()) : even_grain(rows, launch.grain, launch.unit);
      return parallel_for(
          rows, grain, [&](int64_t begin, int64_t end) { launch.function(p, nullptr, begin, end, 0, columns, 0); },
          launch.is_brief);
    }
    case Split::columns:
      return parallel_for(
          columns, even_grain(columns, launch.grain, launch.unit),
          [&](int64_t begin, int64_t end) { launch.function(p, nullptr, 0, rows, begin, end, 0); }, launch.is_brief);
    case Split::tiles: return run_tiles(launch, p);
    case Split::partials: return run_partials(launch, p, memory);
  }
}

// Kernels that are called again and again with the same pointers, one after the other.
class Calls {
 public:
  Calls(const Program& body, std::byte* const* memory) : body_(&body) {
    for (const StepCode& step : body.steps) {
      for (const LaunchCode& launch : step.launches) {
        for (const int buffer : launch.buffers) pointers_.push_back(memory[buffer]);
      }
    }
  }
  void run() const {
    void* const* pointers = pointers_.data();
    for (const StepCode& step : body_->steps) {
      for (const LaunchCode& launch : step.launches) {
        launch.function(pointers, nullptr, 0, launch.extent[0], 0, launch.extent[1], 0);
        pointers += launch.buffers.size();
      }
    }
  }

 private:
  const Program* body_;
  std::vector<void*> pointers_;
};

// Where the buffers of a loop's body lie in each of its iterations.
class Bindings {
 public:
  // Arrays that trade places do so from iteration to iteration.
  Bindings(const ScanCode& scan, std::byte* const* memory, bool trade)
      : scan_(scan), memory_(memory), trade_(trade), inner_(scan.body->root.size(), nullptr) {
    std::byte* const arena = scan.arena < 0 ? nullptr : memory[scan.arena];
    for (const auto& [buffer, offset] : scan.body->in_arena) inner_[buffer] = arena + offset;
    for (const auto& [buffer, outer] : scan.fixed) inner_[buffer] = memory[outer];
    for (const auto& [buffer, root] : scan.aliases) inner_[buffer] = inner_[root] + scan.body->shift[buffer];
  }

  // Goes to an iteration; slice() to one by its slice alone.
  std::byte** at(int64_t i) {
    if (trade_ && (i % 2 != 0) != traded_) {
      traded_ = !traded_;
      for (const auto& copy : scan_.carried) {
        if (copy.trades) std::swap(inner_[copy.from], inner_[copy.in_place_of]);
      }
      for (const auto& [buffer, root] : scan_.aliases) inner_[buffer] = inner_[root] + scan_.body->shift[buffer];
    }
    return slice(scan_.reverse ? scan_.length - 1 - i : i);
  }
  std::byte** slice(int64_t number) {
    const auto t = static_cast<size_t>(number);
    for (const auto& s : scan_.sliced) inner_[s.body_buffer] = memory_[s.plan_buffer] + t * s.bytes;
    for (const auto& [buffer, root] : scan_.sliced_aliases) inner_[buffer] = inner_[root] + scan_.body->shift[buffer];
    return inner_.data();
  }

  // Carries what an iteration made to the next, but for what trades places.
  void carry() const {
    for (const auto& copy : scan_.carried) {
      if (!(trade_ && copy.trades)) copy_bytes(memory_[copy.to], inner_[copy.from], copy.bytes);
    }
  }

  // Puts what has traded places where it belongs, after so many iterations.
  void finish(int64_t iterations) {
    if (!trade_ || iterations == 0) return;
    at(iterations - 1);
    for (const auto& copy : scan_.carried) {
      if (copy.trades && inner_[copy.from] != memory_[copy.to]) {
        copy_bytes(memory_[copy.to], inner_[copy.from], copy.bytes);
      }
    }
  }

 private:
  const ScanCode& scan_;
  std::byte* const* const memory_;
  const bool trade_;
  bool traded_ = false;
  std::vector<std::byte*> inner_;
};

// Runs a loop in sweeps of several iterations.
void run_sweeps(const ScanCode& scan, const SweepSize& size, Bindings& bindings, Progress* progress) {
  std::vector<std::vector<std::byte*>> places;
  std::vector<std::byte* const*> memory;
  const size_t buffers = scan.body->root.size();
  for (int64_t begin = 0; begin < scan.length; begin += size.iterations) {
    const int64_t end = std::min(scan.length, begin + size.iterations);
    places.clear();
    for (int64_t i = begin; i < end; ++i) {
      std::byte** const inner = bindings.at(i);
      places.emplace_back(inner, inner + buffers);
    }
    memory.clear();
    for (const auto& p : places) memory.push_back(p.data());
    sweep(*scan.blocks, size, memory);
    if (progress) progress->at(end);
  }
}

// Runs a loop that is one kernel.
void run_at_once(const ScanCode& scan, std::byte* const* memory, Progress* progress) {
  constexpr int64_t kMostRows = int64_t{1} << 22;  // until somebody is told how far it is
  const LaunchCode& launch = scan.body->steps.at(0).launches.at(0);
  Pointers buffers(launch.buffers, memory);
  for (int64_t begin = 0; begin < scan.length; begin += kMostRows) {
    const int64_t end = std::min(scan.length, begin + kMostRows);
    const auto columns = [&](int64_t first, int64_t last) {
      launch.function(buffers.data(), nullptr, first, last, begin, end, 0);
    };
    if (!scan.by_columns) {
      launch.function(buffers.data(), nullptr, begin, end, 0, 1, 0);
    } else if (launch.split == Split::none) {
      columns(0, launch.extent[0]);
    } else {
      const int64_t all = launch.extent[0];
      parallel_for(all, even_grain(all, launch.grain, launch.unit), columns, launch.is_brief);
    }
    if (progress) progress->at(end);
  }
}

}  // namespace

int64_t even_grain(int64_t n, int64_t grain, int64_t unit) {
  constexpr int64_t kManyTasks = 8;  // of a thread: they are about alike
  const int64_t threads = num_threads(), tasks = n / grain;
  if (threads == 1 || tasks < threads || tasks >= kManyTasks * threads) return grain;
  return std::max(grain, n / (tasks / threads * threads) / unit * unit);
}

void run_loop(const ScanCode& scan, std::byte* const* memory, const SweepSize& size, Background& background) {
  const Program& body = *scan.body;
  for (const auto& copy : scan.initial) {
    if (memory[copy.from] != memory[copy.to]) copy_bytes(memory[copy.to], memory[copy.from], copy.bytes);
  }
  std::byte* const arena = scan.arena < 0 ? nullptr : memory[scan.arena];
  const auto goes_on = [&] { return scan.condition < 0 || *reinterpret_cast<const bool*>(memory[scan.condition]); };
  std::optional<Progress> progress;
  if (progress_on() && scan.length > 1) progress.emplace(scan.label, "iteration", scan.counted ? scan.length : 0);
  // Where somebody watches the arena, every iteration begins with an empty one.
  const bool watched = arena && (poisoning() || sanitize::kAddress);
  const bool trade = !poisoning() && std::ranges::any_of(scan.carried, [](const auto& c) { return c.trades; });
  Bindings bindings(scan, memory, trade);
  if (watched && (trade || size.iterations > 1)) sanitize::permit(arena, body.arena_bytes);
  if (size.iterations > 1) {
    run_sweeps(scan, size, bindings, progress ? &*progress : nullptr);
    return bindings.finish(scan.length);
  }
  if (scan.at_once) return run_at_once(scan, bindings.slice(0), progress ? &*progress : nullptr);
  // Kernels are called alike in all iterations, or in every other one, where none has pointers of its own.
  std::vector<Calls> calls;
  if (body.only_calls && scan.sliced.empty() && !watched) {
    for (int64_t i = 0; i <= (trade ? 1 : 0); ++i) calls.emplace_back(body, bindings.at(i));
  }
  int64_t i = 0;
  for (; i < scan.length && goes_on(); ++i) {
    if (!calls.empty()) {
      if (trade) bindings.at(i);
      calls[trade ? static_cast<size_t>(i % 2) : 0].run();
    } else {
      std::byte** const inner = bindings.at(i);
      if (!trade) empty(arena, body.arena_bytes);
      for (size_t s = 0; s < body.steps.size();) s += run_steps(body, s, inner, background, trade ? nullptr : arena);
    }
    bindings.carry();
    if (progress) progress->at(i + 1);
  }
  bindings.finish(i);
  if (arena) sanitize::permit(arena, body.arena_bytes);
}

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
  copy_bytes(memory[code.out], memory[code.initial], code.bytes);
}

// All ranks exchange messages in the order of the steps: what is done at once waits for what is under way. Where
// messages are work, not waiting, they are moved as soon as they can be by the thread that computes.
void run_host(const HostCode& code, std::byte** memory, Background& background) {
  using Phase = planner::PlanStep::Phase;
  if (code.phase == Phase::end) {
    if (background.busy(code.number)) background.end(code.number);
    return;
  }
  std::vector<const std::byte*> operands;
  for (const int b : code.in) operands.push_back(memory[b]);
  std::byte* const out = memory[code.out];
  const bool at_once = code.phase == Phase::whole || !code.task->waits();
  if (at_once && !(code.task->sends() && background.busy())) return code.task->run(operands, out);
  background.begin(code.number, [&code, operands = std::move(operands), out] { code.task->run(operands, out); });
  if (code.phase == Phase::whole) background.end(code.number);
}

void run_step(const StepCode& step, std::byte** memory, Background& background) {
  using Kind = planner::PlanStep::Kind;
  switch (step.kind) {
    case Kind::scan: {
      const ScanCode& scan = step.scan;
      const bool sweeps = scan.blocks && !poisoning();
      return run_loop(scan, memory, sweeps ? sweep_size(*scan.blocks, scan.length) : SweepSize{}, background);
    }
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
    case Kind::host: return run_host(step.host, memory, background);
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

}  // namespace

size_t run_steps(const Program& program, size_t first, std::byte** memory, Background& background, std::byte* arena) {
  const StepCode& step = program.steps[first];
  const std::optional<RowBands> bands =
      step.rows && !poisoning() ? row_bands(*step.rows, memory) : std::optional<RowBands>();
  if (bands) {
    const std::span<const StepCode> together = std::span(program.steps).subspan(first, step.rows->steps);
    for (const StepCode& s : together) enter(s, arena);
    run_rows(*step.rows, *bands, memory);
    for (const StepCode& s : together) enter(s, arena), leave(s, arena);
    return together.size();
  }
  enter(step, arena);
  run_step(step, memory, background);
  leave(step, arena);
  return 1;
}

}  // namespace neap::cpu
