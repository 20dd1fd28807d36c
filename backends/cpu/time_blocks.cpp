#include "backends/cpu/time_blocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "backends/cpu/program.h"
#include "core/os/os.h"
#include "core/thread_pool.h"

namespace neap::cpu {

using backends::Kernel;
using backends::kRangeUnit;
using backends::Launch;

namespace {

constexpr int64_t kMostInUnit = int64_t{1} << 24;  // places; more is no stencil that a cache would help
constexpr size_t kMostBuffers = 64;                // of a kernel
constexpr int64_t kNever = std::numeric_limits<int64_t>::min() / 4;

int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

// Where the body's buffers lie, as far as their dependences need it: nullopt where some share bytes in another way than
// all of them.
class Regions {
 public:
  Regions(const ScanCode& scan, const planner::PlanData& body) : body_(body) {
    for (const auto& [b, offset] : scan.body->in_arena) offset_[b] = offset;
    for (const auto& copy : scan.carried) {
      if (copy.trades) trades_[copy.from] = copy.in_place_of, trades_[copy.in_place_of] = copy.from;
    }
  }

  // Which region a buffer is in an iteration; nullopt where it is a part of another, or lies where another's elements
  // have another size, so that places in the two differ.
  std::optional<int> of(int buffer, int64_t iteration) {
    const int root = body_.root(buffer);
    const size_t element = size_of(body_.buffers[root].aval.dtype);
    if (body_.shift(buffer) != 0 || size_of(body_.buffers[buffer].aval.dtype) != element) return std::nullopt;
    const auto traded = trades_.find(root);
    const int b = traded != trades_.end() && iteration % 2 != 0 ? traded->second : root;
    const auto place = offset_.find(b);
    if (place == offset_.end()) return b;
    const Block block{body_.buffers[root].bytes, element, b};
    const Block& known = blocks_.try_emplace(place->second, block).first->second;
    if (known.bytes != block.bytes || known.element != block.element) return std::nullopt;
    return known.buffer;
  }

  // Whether what of() was asked for lies apart.
  bool apart() const {
    int64_t end = 0;
    for (const auto& [offset, block] : blocks_) {
      if (offset < end) return false;
      end = offset + static_cast<int64_t>(block.bytes);
    }
    return true;
  }

 private:
  struct Block {
    size_t bytes, element;
    int buffer;  // the first of those that lie there
  };

  const planner::PlanData& body_;
  std::map<int, int64_t> offset_;
  std::map<int, int> trades_;
  std::map<int64_t, Block> blocks_;  // by their offsets in the arena
};

struct Use {
  std::array<int, 2> region{};  // in even and odd iterations
  Placement::Touched touched;
};

// How far the ranges of instances must lie behind one another.
class Shifts {
 public:
  // The next instance: its uses, with what they read beyond in units.
  std::pair<int64_t, int64_t> next(const std::vector<Use>& uses, int64_t iteration) {
    for (const Use& use : uses) {
      const State& s = states_[region(use, iteration)];
      if (use.touched.read) {
        back_ = std::max(back_, s.written_back + use.touched.above);
        ahead_ = std::max(ahead_, s.written_ahead + use.touched.below);
      }
      if (use.touched.stored) {
        back_ = std::max({back_, s.read_back, s.written_back});
        ahead_ = std::max({ahead_, s.read_ahead, s.written_ahead});
      }
    }
    for (const Use& use : uses) {
      State& s = states_[region(use, iteration)];
      if (use.touched.read) {
        s.read_back = std::max(s.read_back, back_ + use.touched.below);
        s.read_ahead = std::max(s.read_ahead, ahead_ + use.touched.above);
      }
      if (use.touched.stored) s.written_back = back_, s.written_ahead = ahead_;
    }
    return {ahead_, back_};
  }

 private:
  struct State {
    int64_t read_back = kNever, written_back = kNever, read_ahead = kNever, written_ahead = kNever;
  };
  static int region(const Use& use, int64_t iteration) { return use.region[static_cast<size_t>(iteration % 2)]; }

  std::map<int, State> states_;
  int64_t ahead_ = 0, back_ = 0;
};

class Sweep {
 public:
  Sweep(const TimeBlocks& blocks, std::span<std::byte* const* const> memory, int64_t band)
      : blocks_(blocks), memory_(memory), band_(band), count_(memory.size() * blocks.parts.size()) {}

  void block(int64_t begin, int64_t end) const {
    std::vector<int64_t> done(count_);
    for (size_t q = 0; q < count_; ++q) done[q] = begin == 0 && !blocks_.circular ? 0 : begin + blocks_.ahead[q];
    const int64_t last = end + blocks_.back[count_ - 1];
    for (int64_t at = std::min(begin + band_, last);; at = std::min(at + band_, last)) {
      for (size_t q = 0; q < count_; ++q) {
        const int64_t most = end == blocks_.units && !blocks_.circular ? end : end - blocks_.back[q];
        const int64_t to = std::min(most, at - blocks_.back[q]);
        if (to <= done[q]) continue;
        run(q, done[q], to);
        done[q] = to;
      }
      if (at == last) return;
    }
  }

  void border(int64_t at) const {
    for (size_t q = 0; q < count_; ++q) {
      const int64_t begin = at - blocks_.back[q], end = at + blocks_.ahead[q];
      if (begin < 0) run(q, begin + blocks_.units, blocks_.units);
      run(q, std::max<int64_t>(begin, 0), end);
    }
  }

 private:
  void run(size_t q, int64_t begin, int64_t end) const {
    if (begin >= end) return;
    const TimeBlocks::Part& part = blocks_.parts[q % blocks_.parts.size()];
    const LaunchCode& launch = *part.launch;
    std::byte* const* const memory = memory_[q / blocks_.parts.size()];
    void* pointers[kMostBuffers];
    for (size_t i = 0; i < launch.buffers.size(); ++i) pointers[i] = memory[launch.buffers[i]];
    int64_t range[2][2] = {{0, launch.extent[0]}, {0, launch.extent[1]}};
    int64_t(&cut)[2] = range[part.placement.level()];
    cut[0] = part.placement.first(begin);
    if (end < blocks_.units) cut[1] = part.placement.first(end);
    if (cut[0] >= cut[1]) return;
    launch.function(pointers, nullptr, range[0][0], range[0][1], range[1][0], range[1][1], 0);
  }

  const TimeBlocks& blocks_;
  const std::span<std::byte* const* const> memory_;
  const int64_t band_;
  const size_t count_;
};

// The iterations, with the band, that keep what a block works on in a cache of so many bytes.
SweepSize within(const TimeBlocks& blocks, int64_t length, size_t cache, int threads) {
  // Half of it is left to what else is there.
  const auto units = static_cast<int64_t>(static_cast<double>(cache) / 2 / blocks.unit_bytes);
  SweepSize size;
  for (int64_t n = std::min(length, kMostIterations); n > 1; --n) {
    const size_t last = static_cast<size_t>(n) * blocks.parts.size() - 1;
    const int64_t ahead = blocks.ahead[last], back = blocks.back[last];
    const bool cut = threads > 1 || blocks.circular;
    if (2 * back > units || (cut && 2 * threads * (ahead + back) > blocks.units)) continue;
    size.iterations = up(length, up(length, n));
    size.band = std::max<int64_t>(1, units - back);
    const int64_t most = blocks.units / std::max<int64_t>(1, 4 * (ahead + back));
    size.blocks = threads == 1 ? 1 : std::clamp<int64_t>(most, threads, 2 * threads);
    break;
  }
  return size;
}

}  // namespace

std::optional<TimeBlocks> time_blocks_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const Launch> launches, const VectorUnit& vectors) {
  TimeBlocks blocks;
  const bool stacks = std::ranges::any_of(scan.sliced, [&](const auto& s) { return s.stored; });
  const bool copies = std::ranges::any_of(scan.carried, [](const auto& c) { return !c.trades; });
  if (scan.condition >= 0 || scan.length < 2 || stacks || copies || launches.empty()) return std::nullopt;

  std::vector<const LaunchCode*> codes;
  std::vector<Analysis> analyses;
  int64_t unit = 1;
  for (const StepCode& step : scan.body->steps) {
    if (step.kind != planner::PlanStep::Kind::map) return std::nullopt;
    for (const LaunchCode& launch : step.launches) {
      const Kernel& kernel = launches[codes.size()].kernel;
      if (launch.split == Split::tiles || launch.split == Split::partials || !launch.zero_fill.empty() ||
          launch.buffers.size() > kMostBuffers) {
        return std::nullopt;
      }
      blocks.spreads |= launch.split != Split::none;
      codes.push_back(&launch);
      const std::optional<int64_t> pitch = Placement::pitch(analyses.emplace_back(kernel, vectors));
      if (!pitch || *pitch > kMostInUnit) return std::nullopt;
      unit = std::max(unit, *pitch);
    }
  }
  if (unit == 1) unit = kRangeUnit;
  int64_t elements = 0;
  for (size_t k = 0; k < launches.size(); ++k) {
    for (const auto& s : launches[k].kernel.stores) {
      elements = std::max(elements, body.buffers[body.root(codes[k]->buffers[s.buffer])].aval.size());
    }
  }

  Regions regions(scan, body);
  std::vector<std::vector<Use>> uses(launches.size());
  std::set<int> written;
  std::map<int, size_t> bytes_of;
  for (size_t k = 0; k < launches.size(); ++k) {
    std::optional<Placement> placement = Placement::of(analyses[k], unit, elements);
    if (!placement) return std::nullopt;
    blocks.circular |= placement->wraps();
    for (size_t i = 0; i < placement->buffers().size(); ++i) {
      Use use{{}, placement->buffers()[i]};
      if (!use.touched.read && !use.touched.stored) continue;
      const int buffer = codes[k]->buffers[i];
      for (const int64_t iteration : {0, 1}) {
        const std::optional<int> region = regions.of(buffer, iteration);
        if (!region) return std::nullopt;
        use.region[static_cast<size_t>(iteration)] = *region;
        if (use.touched.stored) written.insert(*region);
        bytes_of[*region] = body.buffers[body.root(buffer)].bytes;
      }
      uses[k].push_back(use);
    }
    blocks.parts.push_back({codes[k], *std::move(placement)});
  }
  blocks.units = up(elements, unit);
  if (!regions.apart()) return std::nullopt;
  for (const auto& all : uses) {
    for (const Use& use : all) {
      const bool matters = written.contains(use.region[0]) || written.contains(use.region[1]);
      if (matters && use.touched.read && !use.touched.known) return std::nullopt;
    }
  }
  for (const auto& [region, bytes] : bytes_of) {
    blocks.unit_bytes += static_cast<double>(bytes) / static_cast<double>(blocks.units);
  }
  Shifts shifts;
  for (int64_t i = 0; i < kMostIterations; ++i) {
    for (const auto& all : uses) {
      const auto [ahead, back] = shifts.next(all, i);
      blocks.ahead.push_back(ahead);
      blocks.back.push_back(back);
    }
  }
  return blocks;
}

SweepSize sweep_size(const TimeBlocks& blocks, int64_t length) {
  constexpr size_t kMostShared = size_t{16} << 20;  // bytes a core: what is larger is shared with other programs
  constexpr int64_t kFew = 4;                       // iterations that are worth less than what the nearer cache gives
  if (!blocks.spreads) return {};
  const int threads = num_threads();
  const os::Caches caches = os::caches();
  const SweepSize near = within(blocks, length, caches.of_core, threads);
  if (near.iterations >= kFew) return near;
  const SweepSize far =
      within(blocks, length, std::min(caches.shared / static_cast<size_t>(threads), kMostShared), threads);
  return far.iterations > near.iterations ? far : near;
}

void sweep(const TimeBlocks& blocks, const SweepSize& size, std::span<std::byte* const* const> memory) {
  const Sweep all(blocks, memory, size.band);
  const auto border = [&](int64_t i) { return blocks.units * i / size.blocks; };
  parallel_tasks(static_cast<int>(size.blocks), [&](int i) { all.block(border(i), border(i + 1)); });
  const int first = blocks.circular ? 0 : 1;
  parallel_tasks(static_cast<int>(size.blocks) - first, [&](int i) { all.border(border(i + first)); });
}

}  // namespace neap::cpu
