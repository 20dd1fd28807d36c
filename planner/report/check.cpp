#include "planner/report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/buffer.h"
#include "planner/place/live_ranges.h"

namespace neap::planner {

namespace {

// nullopt where they leave int64: the plan may have been read from a file.
std::optional<size_t> bytes_of(const Aval& aval) {
  if (std::ranges::count(aval.shape, 0)) return 0;
  auto bytes = static_cast<int64_t>(size_of(aval.dtype));
  for (const int64_t extent : aval.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<size_t>(bytes);
}

class Checker {
 public:
  Checker(const PlanData& plan, bool body, std::string prefix, std::vector<std::string>& faults)
      : plan_(plan), body_(body), prefix_(std::move(prefix)), faults_(faults) {}

  void run() {
    if (!count_bytes()) return;
    check_aliases();
    check_contents();
    check_arena();
    check_uses();
    check_steps();
    check_peak();
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!plan_.steps[s].body) continue;
      Checker(*plan_.steps[s].body, true, fmt::format("{}step {}: ", prefix_, s), faults_).run();
    }
  }

 private:
  template <class... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back(prefix_ + fmt::format(format, std::forward<Args>(args)...));
  }

  void expect_bytes(std::string_view what, size_t says, size_t is) {
    if (says != is) fault("{} says {}, the buffers say {}", what, says, is);
  }

  static bool is_input(const PlanBuffer& buffer) {
    return buffer.storage == Storage::argument || buffer.storage == Storage::captured;
  }

  // The arena holds what is made on the way, and outputs where they are cut out of it.
  bool in_arena(const PlanBuffer& buffer) const {
    if (plan_.naive || buffer.alias_of >= 0 || is_input(buffer) || buffer.last < buffer.first) return false;
    return buffer.storage != Storage::output || (plan_.slab && !body_);
  }

  std::string label(size_t b) const { return fmt::format("buffer {} {}", b, plan_.buffers[b].label); }

  int root(size_t b) const { return plan_.buffers[b].alias_of >= 0 ? plan_.buffers[b].alias_of : static_cast<int>(b); }

  // False where bytes, or sums of them, would leave int64, so that nothing can be said.
  bool count_bytes() {
    size_t left = std::numeric_limits<int64_t>::max();
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      const std::optional<size_t> bytes = bytes_of(buffer.aval);
      if (!bytes) return fault("{}: its shape leaves int64", label(b)), false;
      own_bytes_.push_back(*bytes);
      if (buffer.bytes != round_up_64(*bytes)) {
        fault("{} has {} bytes, its shape needs {}", label(b), buffer.bytes, round_up_64(*bytes));
      }
      if (buffer.alias_of >= 0) continue;
      if (buffer.bytes > left) return fault("all buffers together leave int64"), false;
      left -= buffer.bytes;
      if (is_input(buffer)) {
        inputs_ += body_ ? 0 : buffer.bytes;
      } else if (buffer.storage == Storage::output) {
        outputs_ += buffer.bytes;
      }
    }
    return true;
  }

  void check_aliases() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.alias_of < 0) continue;
      const PlanBuffer& whole = plan_.buffers[buffer.alias_of];
      const auto offset = static_cast<size_t>(buffer.alias_offset);
      if (whole.alias_of >= 0) fault("{} is an alias of an alias", label(b));
      const size_t bytes = own_bytes_[b], room = own_bytes_[buffer.alias_of];
      if (bytes > room || offset > room - bytes) {  // not rounded: the last piece of a join may begin anywhere
        fault("{}: {} bytes at {} leave {}", label(b), bytes, offset, label(buffer.alias_of));
        continue;
      }
      if (whole.offset >= 0 && buffer.offset - buffer.alias_offset != whole.offset) {
        fault("{} is not where {} says", label(b), label(buffer.alias_of));
      }
    }
  }

  bool share_bytes(int a, int b) const {
    const auto begin = [&](int i) { return root(i) == i ? 0 : static_cast<size_t>(plan_.buffers[i].alias_offset); };
    return std::max(begin(a), begin(b)) < std::min(begin(a) + own_bytes_[a], begin(b) + own_bytes_[b]);
  }

  // Whether what is read is still there: no other buffer of the same bytes was written since.
  void check_contents() {
    constexpr int kNever = -2, kBefore = -1;  // what a buffer holds: nothing yet, what it held before the first step
    const auto end = static_cast<int>(plan_.steps.size());
    std::vector<std::vector<int>> sharers(plan_.buffers.size());
    std::vector<int> written(plan_.buffers.size(), kNever), holds(plan_.buffers.size(), kNever);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) sharers[root(b)].push_back(static_cast<int>(b));
    for (const int b : plan_.inputs) holds[b] = kBefore;
    const auto expect_intact = [&](int step, int b) {
      for (const int other : sharers[root(b)]) {
        if (other == b || written[other] < holds[b] || !share_bytes(b, other)) continue;
        fault("{} needs {}, which step {} overwrote with {}", step == end ? "the caller" : fmt::format("step {}", step),
              label(b), written[other], label(other));
        return;
      }
    };
    const auto read = [&](int step, int b) {
      if (holds[b] == kNever) {  // made of pieces, all of which are there when it is first read
        for (const int piece : sharers[root(b)]) {
          if (written[piece] != kNever && share_bytes(b, piece)) expect_intact(step, piece);
        }
        holds[b] = step;
      }
      expect_intact(step, b);
    };
    for (int s = 0; s < end; ++s) {
      for (const int b : plan_.steps[s].reads) read(s, b);
      for (const auto* list : {&plan_.steps[s].writes, &plan_.steps[s].scratch}) {
        for (const int b : *list) written[b] = holds[b] = s;
      }
    }
    for (const int b : plan_.outputs) read(end, b);
  }

  void check_arena() {
    std::vector<LiveRange> ranges;
    std::vector<int64_t> offsets;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (!in_arena(buffer)) {
        if (buffer.alias_of < 0 && buffer.offset >= 0) fault("{} has an offset, but no place in the arena", label(b));
        continue;
      }
      if (buffer.offset < 0) fault("{} has no offset in the arena", label(b));
      ranges.push_back({label(b), buffer.first, int64_t{buffer.last} + 1, static_cast<int64_t>(buffer.bytes)});
      offsets.push_back(buffer.offset);
    }
    if (const auto found = find_fault(ranges, offsets, static_cast<int64_t>(plan_.arena_bytes))) fault("{}", *found);
    check_blocks(ranges, offsets);
  }

  // The arena's allocations are all of it, and each buffer lies in one.
  void check_blocks(const std::vector<LiveRange>& ranges, const std::vector<int64_t>& offsets) {
    if (plan_.arena_blocks.empty()) return;
    std::vector<int64_t> ends;
    size_t end = 0;
    for (const size_t bytes : plan_.arena_blocks) {
      if (bytes > plan_.arena_bytes - end) return fault("the allocations of the arena are more than its bytes");
      ends.push_back(static_cast<int64_t>(end += bytes));
    }
    if (end != plan_.arena_bytes)
      return fault("the allocations of the arena are {} of its {} bytes", end, plan_.arena_bytes);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const auto block = std::ranges::upper_bound(ends, offsets[i]);
      if (ranges[i].size > 0 && (block == ends.end() || ranges[i].size > *block - offsets[i])) {
        fault("{} lies across two allocations", ranges[i].id);
      }
    }
  }

  void check_uses() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      for (const auto* list : {&step.reads, &step.writes, &step.scratch}) {
        for (const int b : *list) {
          const PlanBuffer& buffer = plan_.buffers[root(b)];
          const int64_t now = static_cast<int64_t>(s);
          if (is_input(buffer) || (buffer.first <= now && now <= buffer.last)) continue;
          fault("step {} uses {}, alive in steps {} to {}", s, label(root(b)), buffer.first, buffer.last);
        }
      }
    }
  }

  // Bytes that come to life with each step, and those held during it, holes of the arena included.
  void check_steps() {
    const size_t count = plan_.steps.size();
    std::vector<size_t> added(count, 0), starts(count + 1, 0), stops(count + 1, 0);
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.alias_of >= 0 || is_input(buffer)) continue;
      if (buffer.first < 0 || static_cast<size_t>(buffer.first) >= count) continue;
      added[buffer.first] += buffer.bytes;
      if (buffer.last < buffer.first || !(plan_.naive || in_arena(buffer))) continue;
      starts[buffer.first] += buffer.bytes;
      stops[std::min<size_t>(buffer.last, count - 1) + 1] += buffer.bytes;
    }
    std::vector<size_t> live(count, 0);
    size_t now = 0;
    for (size_t s = 0; s < count; ++s) {
      now = now + starts[s] - stops[s];
      live[s] = now;
      most_ = std::max(most_, now);
    }
    held_ = inputs_ + (plan_.naive || plan_.slab || body_ ? 0 : outputs_);
    const size_t holes = plan_.naive || plan_.arena_bytes < most_ ? 0 : plan_.arena_bytes - most_;
    for (size_t s = 0; s < count; ++s) {
      expect_bytes(fmt::format("step {}: bytes_added", s), plan_.steps[s].bytes_added, added[s]);
      expect_bytes(fmt::format("step {}: bytes_live", s), plan_.steps[s].bytes_live, held_ + live[s] + holes);
    }
  }

  void check_peak() {
    const size_t peak = plan_.naive ? inputs_ + most_ : held_ + plan_.arena_bytes;
    expect_bytes("peak_bytes", plan_.peak_bytes, peak);
    if (plan_.lower_bound_bytes > plan_.peak_bytes) {
      fault("the peak {} is below the lower bound {}", plan_.peak_bytes, plan_.lower_bound_bytes);
    }
    if (!body_ && plan_.budget && plan_.peak_bytes > *plan_.budget) {
      fault("the peak {} is above the budget {}", plan_.peak_bytes, *plan_.budget);
    }
  }

  const PlanData& plan_;
  bool body_;
  std::string prefix_;
  std::vector<std::string>& faults_;
  std::vector<size_t> own_bytes_;  // of each buffer, not rounded
  size_t inputs_ = 0, outputs_ = 0;
  size_t held_ = 0;  // throughout
  size_t most_ = 0;  // alive at once beside that
};

}  // namespace

std::vector<std::string> check_plan(const PlanData& plan) {
  std::vector<std::string> faults;
  Checker(plan, false, "", faults).run();
  return faults;
}

}  // namespace neap::planner
