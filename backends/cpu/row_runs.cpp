#include "backends/cpu/row_runs.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <set>

#include "backends/cpu/program.h"
#include "backends/cpu/rows.h"
#include "core/os/os.h"
#include "core/thread_pool.h"

namespace neap::cpu {

using backends::Kernel;
using backends::kRangeUnit;
using backends::Launch;
using planner::PlanData;

namespace {

constexpr size_t kMostParts = 16, kMostPointers = 64;
constexpr int64_t kFewestUnits = 4;  // of rows, for each thread: else they are gone through step by step

// What a launch touches along its rows.
struct Access {
  int buffer = 0;  // of the plan
  bool written = false;
  int32_t index = -1;   // -1: element r of row r
  int64_t element = 1;  // bytes
};

// A launch whose rows can be told apart, and any range of which may run by itself.
class RowLaunch {
 public:
  RowLaunch(const Launch& launch, const LaunchCode& code, const VectorUnit& unit)
      : launch_(&launch), code_(&code), analysis_(launch.kernel, unit), rows_(analysis_) {
    const Kernel& k = launch.kernel;
    for (int32_t id = 0; id < k.dag.size(); ++id) {
      const scalar::Inst& i = k.dag[id];
      if (i.op == scalar::Opcode::load && analysis_.needed(id)) add(static_cast<int>(i.imm), false, i.a);
    }
    for (const backends::Store& s : k.stores) add(s.buffer, true, s.index);
    for (const backends::Reduction& r : k.reductions) add(r.buffer, true, -1);
  }

  // Whether it is one.
  static bool suits(const Launch& launch, const LaunchCode& code) {
    const Kernel& k = launch.kernel;
    const bool kind = k.kind == Kernel::Kind::map || (k.kind == Kernel::Kind::reduce && k.finish && k.extent[0] > 1);
    const bool split = code.split != Split::partials && code.split != Split::tiles && !code.in_shares;
    const bool flat = k.extent[0] == 1 && k.vector_level == 1;
    const auto folds = [](const backends::Reduction& r) { return r.initial >= 0; };
    return kind && split && (flat || k.extent[0] > 1) && k.extent[1] > 0 && code.zero_fill.empty() &&
           code.part0_buffer < 0 && k.carried.empty() && k.num_params == 0 && !code.copies &&
           std::ranges::none_of(k.reductions, folds);
  }
  // Whether its rows lie in memory one after the other: where they lie side by side, bands would cut what is read
  // along.
  bool goes_along() const {
    const Kernel& k = launch_->kernel;
    return k.extent[0] == 1 || std::ranges::all_of(accesses_, [&](const Access& access) {
             const Linear* at = access.index < 0 ? nullptr : analysis_.linear(access.index);
             if (!at || !at->exact) return true;
             return std::abs(analysis_.along(*at, 1)) <= std::max<int64_t>(1, std::abs(analysis_.along(*at, 0)));
           });
  }

  const Launch& launch() const { return *launch_; }
  const LaunchCode& code() const { return *code_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  // The iterations that are rows, or parts of them.
  int64_t extent() const { return launch_->kernel.extent[level()]; }
  bool flat() const { return launch_->kernel.extent[0] == 1; }
  size_t level() const { return flat() ? 1 : 0; }
  int64_t unit(int64_t per_row) const {
    if (!flat()) return launch_->kernel.vector_level == 0 ? kRangeUnit : 1;
    return kRangeUnit / std::gcd(kRangeUnit, per_row);
  }

  // The bytes from a row to the next of what is written so that all of a row lies in them; nullopt: not known.
  std::optional<int64_t> pitch(const Access& access, int64_t per_row) const {
    if (access.index < 0) return access.element;
    const Linear* at = analysis_.linear(access.index);
    if (!at || !at->exact) return std::nullopt;
    const int64_t elements = per_row * analysis_.along(*at, static_cast<int>(level()));
    if (elements <= 0 || !within(access, per_row, elements * access.element)) return std::nullopt;
    return elements * access.element;
  }
  // Whether row r touches nothing but bytes r * pitch to (r + 1) * pitch.
  bool within(const Access& access, int64_t per_row, int64_t pitch) const {
    if (pitch % access.element != 0) return false;
    const int64_t elements = pitch / access.element;
    if (access.index < 0) return elements == 1;
    if (elements % per_row != 0) return false;
    const auto rest = rows_.within_row(access.index, elements / per_row);
    return rest && rest->inside({0, elements / per_row - 1});
  }

 private:
  void add(int buffer, bool written, int32_t index) {
    const auto bytes = static_cast<int64_t>(size_of(launch_->kernel.buffers[buffer].type));
    accesses_.push_back({code_->buffers[buffer], written, index, bytes});
  }

  const Launch* launch_;
  const LaunchCode* code_;
  Analysis analysis_;
  Rows rows_;
  std::vector<Access> accesses_;
};

class Finder {
 public:
  Finder(const Program& program, const PlanData& plan) : program_(program), plan_(plan) {
    offset_.assign(program.root.size(), -1);
    for (const auto& [buffer, offset] : program.in_arena) offset_[buffer] = offset;
  }

  // Begins anew, with so many rows.
  void begin(int64_t rows) {
    launches_.clear();
    step_of_.clear();
    steps_ = 0;
    rows_ = rows;
  }

  // Takes the launches of the next step, if they go with those before.
  bool take(std::vector<std::unique_ptr<RowLaunch>> step) {
    const auto fits = [&](const std::unique_ptr<RowLaunch>& launch) {
      const int64_t n = launch->extent();
      return launch->goes_along() && (launch->flat() ? n % rows_ == 0 : n == rows_);
    };
    if (!std::ranges::all_of(step, fits)) return false;
    const size_t before = launches_.size();
    for (auto& launch : step) launches_.push_back(std::move(launch));
    step_of_.resize(launches_.size(), steps_);
    bool apart = launches_.size() <= kMostParts && pointers() <= kMostPointers;
    for (size_t j = before; j < launches_.size() && apart; ++j) {
      for (size_t i = 0; i < j && apart; ++i) apart = keep_apart(*launches_[i], *launches_[j]);
    }
    if (apart) {
      ++steps_;
    } else {
      launches_.resize(before);
      step_of_.resize(before);
    }
    return apart;
  }

  // The run of the steps that were taken.
  std::optional<RowRun> run() const {
    if (steps_ < 2) return std::nullopt;
    RowRun run;
    run.steps = steps_;
    run.rows = rows_;
    run.shares.resize(steps_);
    std::set<int> roots;
    std::set<std::pair<int, int>> pairs;
    for (size_t j = 0; j < launches_.size(); ++j) {
      const RowLaunch& launch = *launches_[j];
      const int64_t per_row = launch.extent() / run.rows;
      run.parts.push_back({&launch.code(), static_cast<int>(launch.level()), per_row});
      run.unit = std::max(run.unit, launch.unit(per_row));
      const Kernel& k = launch.launch().kernel;
      const double elements = static_cast<double>(k.extent[0]) * static_cast<double>(k.extent[1]);
      const double row_seconds = elements / static_cast<double>(run.rows) * seconds_of_element(k);
      run.row_seconds += row_seconds;
      run.shares[step_of_[j]] += row_seconds;
      for (const Access& b : launch.accesses()) {
        roots.insert(program_.root[b.buffer]);
        for (size_t i = 0; i < j; ++i) {
          for (const Access& a : launches_[i]->accesses()) {
            const int first = program_.root[a.buffer], second = program_.root[b.buffer];
            if (first == second || !(a.written || b.written) || in_arena(first, second)) continue;
            if (pairs.insert(std::minmax(first, second)).second) {
              run.apart.push_back({first, second, bytes(first), bytes(second)});
            }
          }
        }
      }
    }
    for (double& share : run.shares) share /= run.row_seconds;
    for (const int root : roots) run.row_bytes += static_cast<double>(bytes(root)) / static_cast<double>(run.rows);
    return run;
  }

 private:
  size_t bytes(int root) const { return plan_.buffers[root].aval.bytes(); }
  bool in_arena(int first, int second) const { return offset_[first] >= 0 && offset_[second] >= 0; }
  size_t pointers() const {
    size_t n = 0;
    for (const auto& launch : launches_) n += launch->code().buffers.size();
    return n;
  }

  // Whether no row of one launch touches what another row of the other writes, or only the run knows where they lie.
  bool keep_apart(const RowLaunch& first, const RowLaunch& second) const {
    const int64_t of_first = first.extent() / rows_, of_second = second.extent() / rows_;
    for (const Access& a : first.accesses()) {
      for (const Access& b : second.accesses()) {
        if (!a.written && !b.written) continue;
        const int x = program_.root[a.buffer], y = program_.root[b.buffer];
        const bool same = x == y || (in_arena(x, y) && offset_[x] == offset_[y]);
        if (!same) {
          if (in_arena(x, y) && overlap(x, y)) return false;
          continue;
        }
        if (program_.shift[a.buffer] != program_.shift[b.buffer]) return false;
        const auto pitch = a.written ? first.pitch(a, of_first) : second.pitch(b, of_second);
        if (!pitch || !first.within(a, of_first, *pitch) || !second.within(b, of_second, *pitch)) return false;
      }
    }
    return true;
  }
  bool overlap(int x, int y) const {
    const auto end = [&](int root) { return offset_[root] + static_cast<int64_t>(bytes(root)); };
    return offset_[x] < end(y) && offset_[y] < end(x);
  }

  const Program& program_;
  const PlanData& plan_;
  std::vector<int64_t> offset_;  // of each buffer in the arena; -1: elsewhere
  std::vector<std::unique_ptr<RowLaunch>> launches_;
  std::vector<size_t> step_of_;  // of each launch
  size_t steps_ = 0;
  int64_t rows_ = 0;
};

}  // namespace

std::vector<std::optional<RowRun>> row_runs_of(const Program& program, const PlanData& plan,
                                               std::span<const Launch* const> launches, const VectorUnit& unit) {
  std::vector<std::optional<RowRun>> runs(program.steps.size());
  if (plan.naive) return runs;
  std::vector<size_t> first(program.steps.size() + 1, 0);
  for (size_t s = 0; s < program.steps.size(); ++s) first[s + 1] = first[s] + program.steps[s].launches.size();
  const auto suits = [&](size_t s) {
    if (s >= program.steps.size() || program.steps[s].launches.empty()) return false;
    const std::vector<LaunchCode>& code = program.steps[s].launches;
    for (size_t i = 0; i < code.size(); ++i) {
      if (!RowLaunch::suits(*launches[first[s] + i], code[i])) return false;
    }
    return true;
  };
  const auto launches_of = [&](size_t s) {
    std::vector<std::unique_ptr<RowLaunch>> step;
    for (size_t i = 0; i < program.steps[s].launches.size(); ++i) {
      step.push_back(std::make_unique<RowLaunch>(*launches[first[s] + i], program.steps[s].launches[i], unit));
    }
    return step;
  };
  // The rows of the first launch that has some, of those that may follow one another from here on.
  const auto rows_from = [&](size_t s) {
    const size_t end = s + kMostParts;
    for (size_t l = first[s]; s < end && suits(s); ++s) {
      for (; l < first[s + 1]; ++l) {
        if (launches[l]->kernel.extent[0] > 1) return launches[l]->kernel.extent[0];
      }
    }
    return int64_t{0};
  };
  Finder finder(program, plan);
  for (size_t s = 0; s + 1 < program.steps.size();) {
    size_t end = s;
    if (suits(s) && suits(s + 1)) {
      const int64_t rows = rows_from(s);
      finder.begin(rows > 0 ? rows : launches[first[s]]->kernel.extent[1]);
      while (suits(end) && finder.take(launches_of(end))) ++end;
      runs[s] = finder.run();
    }
    s = runs[s] ? end : s + 1;
  }
  return runs;
}

// What of all parts fits a fourth of a core's cache goes together.
std::optional<RowBands> row_bands(const RowRun& run, std::byte* const* memory) {
  for (const RowRun::Apart& a : run.apart) {
    const std::byte *x = memory[a.first], *y = memory[a.second];
    const std::less<> before;
    if (before(x, y + a.second_bytes) && before(y, x + a.first_bytes)) return std::nullopt;
  }
  const auto whole_units = [&](double n) {
    return std::max<int64_t>(1, static_cast<int64_t>(std::min(n, static_cast<double>(run.rows))) / run.unit) * run.unit;
  };
  const double cache = static_cast<double>(os::caches().of_core) / 4;
  RowBands bands{.rows = whole_units(cache / std::max(run.row_bytes, 1.0)),
                 .grain = whole_units(kTaskSeconds / run.row_seconds + static_cast<double>(run.unit))};
  bands.is_brief = static_cast<double>(bands.grain) * run.row_seconds <= 2 * kTaskSeconds;
  if (static_cast<double>(bands.rows) * run.row_bytes > 2 * cache) return std::nullopt;
  const int threads = num_threads();
  const bool one_task = threads == 1 || static_cast<double>(run.rows) * run.row_seconds < 2 * kTaskSeconds;
  if (!one_task && run.rows < kFewestUnits * run.unit * threads) return std::nullopt;
  return bands;
}

void run_rows(const RowRun& run, const RowBands& bands, std::byte* const* memory) {
  std::array<void*, kMostPointers> pointers;
  size_t count = 0;
  for (const RowRun::Part& part : run.parts) {
    for (const int buffer : part.launch->buffers) pointers[count++] = memory[buffer];
  }
  parallel_for(
      run.rows, even_grain(run.rows, bands.grain, run.unit),
      [&](int64_t begin, int64_t end) {
        for (int64_t from = begin; from < end; from += bands.rows) {
          const int64_t to = std::min(end, from + bands.rows);
          void* const* p = pointers.data();
          for (const RowRun::Part& part : run.parts) {
            std::array<std::array<int64_t, 2>, 2> range{{{0, part.launch->extent[0]}, {0, part.launch->extent[1]}}};
            range[static_cast<size_t>(part.level)] = {from * part.per_row, to * part.per_row};
            part.launch->function(p, nullptr, range[0][0], range[0][1], range[1][0], range[1][1], 0);
            p += part.launch->buffers.size();
          }
        }
      },
      bands.is_brief);
}

}  // namespace neap::cpu
