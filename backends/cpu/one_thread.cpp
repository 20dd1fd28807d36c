#include "backends/cpu/one_thread.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace neap::cpu {

using backends::Kernel;
using backends::Launch;

namespace {

// Of two cores of a Xeon (Sapphire Rapids): 100 columns of 300 x 300 normalised by their sums took 7.5 ms on both and
// 3.7 on one; 200 steps that read a column of 200 x 200 2.7 and 0.8.
constexpr double kLineSeconds = 20e-9;          // of a line from another core, of many that lie side by side,
constexpr double kFarSeconds = 100e-9;          // or far apart
constexpr double kPartOfEstimate = 0.4;         // what kernels take of seconds_of_element where all is in the cache
constexpr size_t kMostBytes = size_t{1} << 20;  // of what is written: more leaves the caches of cores anyway
constexpr int64_t kLine = 64;

// Which part of an array each thread touches.
enum class Part : uint8_t { unknown, one_thread, outer, inner, all };

struct Touch {
  Part part = Part::unknown;
  double lines = 0;  // that all threads touch
  bool far = false;  // each element is in a line of its own
};

// What a launch touches of a buffer of so many bytes, through an address.
Touch touch_of(const Analysis& a, const LaunchCode& code, const Linear* at, int64_t element, size_t bytes) {
  const auto [rows, columns] = code.extent;
  if (!at || !at->exact) {  // such as that of an array that is rolled: about the same part as if it were not
    if (code.split == Split::tiles || code.split == Split::partials) return {};
    const double most = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(element);
    const Part part = code.split == Split::none ? Part::one_thread : Part::outer;
    return {part, std::min(most, static_cast<double>(bytes)) / static_cast<double>(kLine)};
  }
  const int64_t by_row = std::abs(a.along(*at, 0)), by_column = std::abs(a.along(*at, 1));
  const bool follows_loops = std::ranges::all_of(at->terms, [&](const auto& term) {
    return a.kernel.dag[term.first].op == scalar::Opcode::index || a.depth(term.first) == 0;
  });
  if (!follows_loops) return {};
  Touch touch;
  const double places = (by_row ? static_cast<double>(rows) : 1) * (by_column ? static_cast<double>(columns) : 1);
  const int64_t step = by_row && by_column ? std::min(by_row, by_column) : std::max(by_row, by_column);
  touch.far = step * element >= kLine;
  touch.lines = places * (touch.far ? 1 : static_cast<double>(element) / static_cast<double>(kLine));
  const bool split_rows = code.split == Split::rows;
  const int64_t own = split_rows ? by_row : by_column, other = split_rows ? by_column : by_row;
  if (code.split == Split::none) {
    touch.part = Part::one_thread;
  } else if (code.split == Split::rows || code.split == Split::columns) {
    touch.part = own == 0 ? Part::all : own >= other ? Part::outer : Part::inner;
  }
  return touch;
}

// What it takes a thread to fetch what others have, where it touches another part than they did.
double fetch_seconds(const Touch& touch, Part before, double threads) {
  if (touch.part == before || touch.part == Part::unknown || before == Part::unknown) return 0;
  const bool whole = touch.part == Part::one_thread || touch.part == Part::all;
  const double lines = (whole ? touch.lines : touch.lines / threads) * (1 - 1 / threads);
  return lines * (touch.far ? kFarSeconds : kLineSeconds);
}

// What each part of the memory has gone through, as a loop goes on.
class Caches {
 public:
  explicit Caches(double threads) : threads_(threads) {}

  // A launch touches `place`: what its threads fetch.
  double touch(int place, const Touch& touch, bool writes) {
    if (!writes && !states_.contains(place)) return 0;  // nobody writes it, or not yet
    State& s = states_[place];
    const double seconds =
        std::max(fetch_seconds(touch, s.written, threads_), writes ? fetch_seconds(touch, s.read, threads_) : 0);
    s.read = touch.part;
    if (writes) s.written = touch.part;
    return seconds;
  }
  template <class Bytes>
  size_t written_bytes(const Bytes& of) const {
    size_t bytes = 0;
    for (const auto& [place, state] : states_) bytes += of(place);
    return bytes;
  }

 private:
  struct State {
    Part written = Part::unknown;  // by the last that wrote it
    Part read = Part::unknown;     // by the last that read it since
  };
  const double threads_;
  std::map<int, State> states_;
};

// The largest of what a launch touches of each buffer, reads and writes apart.
std::map<std::pair<int, bool>, Touch> touches_of(const Kernel& k, const LaunchCode& code, const VectorUnit& unit,
                                                 const planner::PlanData& body) {
  const Analysis a(k, unit);
  std::map<std::pair<int, bool>, Touch> touches;
  const auto add = [&](int buffer, const Touch& touch, bool writes) {
    Touch& known = touches[{code.buffers[buffer], writes}];
    if (touch.lines > known.lines) known = touch;
  };
  const auto element = [&](int buffer) { return static_cast<int64_t>(size_of(k.buffers[buffer].type)); };
  const auto touch = [&](int buffer, int32_t index) {
    const size_t bytes = body.buffers[code.buffers[buffer]].aval.bytes();
    return touch_of(a, code, a.linear(index), element(buffer), bytes);
  };
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    const scalar::Inst& i = k.dag[id];
    const int buffer = static_cast<int>(i.imm);
    if (i.op == scalar::Opcode::load && a.needed(id)) add(buffer, touch(buffer, i.a), false);
  }
  for (const backends::Store& s : k.stores) add(s.buffer, touch(s.buffer, s.index), true);
  for (const backends::Scatter& s : k.scatters) add(s.buffer, touch(s.buffer, s.index), true);
  for (const backends::Reduction& r : k.reductions) {
    const Part part = code.split == Split::none   ? Part::one_thread
                      : code.split == Split::rows ? Part::outer
                                                  : Part::unknown;
    add(r.buffer, {part, static_cast<double>(k.extent[0] * element(r.buffer)) / static_cast<double>(kLine)}, true);
  }
  return touches;
}

}  // namespace

bool is_faster_on_one_thread(const ScanCode& scan, const planner::PlanData& body, std::span<const Launch> launches,
                             const VectorUnit& unit, int num_threads) {
  using Kind = planner::PlanStep::Kind;
  const Program& program = *scan.body;
  const auto threads = static_cast<double>(num_threads);
  const auto is_kernels = [](const StepCode& step) {
    return step.kind == Kind::map || step.kind == Kind::reduce || step.kind == Kind::scatter;
  };
  if (threads == 1 || program.only_calls || !std::ranges::all_of(program.steps, is_kernels)) return false;
  // What trades places is one, from one iteration to the next.
  std::map<int, int> trades;
  for (const auto& copy : scan.carried) {
    if (copy.trades) trades[program.root[copy.from]] = copy.in_place_of;
  }
  const auto place_of = [&](int buffer) {
    const auto traded = trades.find(program.root[buffer]);
    return traded == trades.end() ? program.root[buffer] : traded->second;
  };
  double one = 0, work = 0;  // the kernels' own seconds, on one thread and on all
  std::vector<std::map<std::pair<int, bool>, Touch>> touches;
  for (const StepCode& step : program.steps) {
    for (const LaunchCode& code : step.launches) {
      const Kernel& k = launches[touches.size()].kernel;
      const double elements = static_cast<double>(k.extent[0]) * static_cast<double>(k.extent[1]);
      const double seconds = elements * seconds_of_element(k) * kPartOfEstimate;
      one += seconds;
      work += code.split == Split::none ? seconds : seconds / threads;
      touches.push_back(touches_of(k, code, unit, body));
    }
  }
  Caches caches(threads);
  double split = work;
  for (int iteration = 0; iteration < 2; ++iteration) {  // the second follows another
    split = work;
    for (const auto& of_launch : touches) {
      for (const auto& [what, touch] : of_launch) split += caches.touch(place_of(what.first), touch, what.second);
    }
    for (const auto& copy : scan.carried) {  // by the thread that runs the loop
      const Touch all{Part::one_thread, static_cast<double>(copy.bytes) / static_cast<double>(kLine)};
      if (copy.trades) continue;
      split += caches.touch(place_of(copy.from), all, false) + caches.touch(copy.in_place_of, all, true);
    }
  }
  return one < split && caches.written_bytes([&](int place) { return body.buffers[place].aval.bytes(); }) <= kMostBytes;
}

}  // namespace neap::cpu
