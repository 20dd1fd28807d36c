#include "jit/dump_index.h"

#include <neap/memory.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_set>

#include "core/dump.h"

namespace neap::jit_detail {
namespace {

// These bound the index's size and the time that it takes; later calls are only counted. Nothing else depends on them.
constexpr size_t kMostCalls = 10'000;                    // calls that are listed one by one
constexpr size_t kMostResults = 10'000;                  // results of which it is known whether they are still alive
constexpr size_t kMostAlive = 12;                        // lines of alive results for each plan
constexpr auto kEvery = std::chrono::milliseconds(500);  // between two writes of the files

class Index {
 public:
  static Index& instance() {
    static Index& index = *new Index;  // never destroyed: a call may come from the destructor of a static object
    static const int registered = std::atexit([] { instance().finish(); });
    static_cast<void>(registered);
    return index;
  }

  int add(planner::IndexedPlan plan) {
    const std::lock_guard lock(mutex_);
    index_.plans.push_back(std::move(plan));
    write_now_and_then();
    return static_cast<int>(index_.plans.size()) - 1;
  }

  void note(int number, Device device, const BegunCall& begun, std::span<const BufferPtr> results,
            const planner::PlanData& plan) {
    const std::unordered_set<const Buffer*> own(begun.inputs.begin(), begun.inputs.end());
    const size_t others = begun.live - std::min(begun.live, begun.held), after = memory::live_bytes(device);
    const std::lock_guard lock(mutex_);
    planner::IndexedPlan& entry = index_.plans[static_cast<size_t>(number)];
    if (entry.calls++ == 0 || others > entry.others_bytes) {
      entry.others_bytes = others;
      entry.alive = alive_beside(own);
    }
    if (index_.calls.size() < kMostCalls) {
      index_.calls.push_back({number, begun.live, others, after});
    } else {
      ++index_.calls_left_out;
    }
    if (results_.size() >= kMostResults) std::erase_if(results_, [](const Result& r) { return r.buffer.expired(); });
    for (size_t i = 0; i < results.size() && results_.size() < kMostResults; ++i) {
      results_.push_back({results[i], number, to_string(plan.output_avals[i])});
    }
    write_now_and_then();
  }

 private:
  // At the end of the process. What still comes after that is written at once.
  void finish() {
    const std::lock_guard lock(mutex_);
    process_ends_ = true;
    write();
  }

  struct Result {
    std::weak_ptr<Buffer> buffer;
    int plan;
    std::string what;
  };

  // Results of earlier calls that are there and that this call does not take.
  std::vector<planner::AliveResults> alive_beside(const std::unordered_set<const Buffer*>& own) {
    std::map<std::pair<int, std::string>, planner::AliveResults> groups;
    std::unordered_set<const Buffer*> seen = own;
    for (const Result& result : results_) {
      const std::shared_ptr<Buffer> buffer = result.buffer.lock();
      if (!buffer || !seen.insert(buffer.get()).second) continue;
      planner::AliveResults& group = groups[{result.plan, result.what}];
      group.plan = result.plan;
      group.what = result.what;
      group.bytes += round_up_64(buffer->requested());
      ++group.arrays;
    }
    std::vector<planner::AliveResults> alive;
    for (auto& [key, group] : groups) alive.push_back(std::move(group));
    std::ranges::sort(alive, std::greater{}, [](const auto& a) { return std::tuple(a.bytes, -a.plan, a.what); });
    if (alive.size() > kMostAlive) alive.resize(kMostAlive);
    return alive;
  }

  void write_now_and_then() {
    const auto now = std::chrono::steady_clock::now();
    if (!process_ends_ && written_ && now - *written_ < kEvery) return;
    write();
    written_ = std::chrono::steady_clock::now();
  }

  void write() const {
    dump_text("index.json", planner::to_json(index_));
    dump_text("index.html", planner::to_html(index_));
  }

  std::mutex mutex_;
  planner::ProgramIndex index_;
  std::vector<Result> results_;
  std::optional<std::chrono::steady_clock::time_point> written_;
  bool process_ends_ = false;
};

}  // namespace

int add_to_index(planner::IndexedPlan plan) { return Index::instance().add(std::move(plan)); }

BegunCall begin_call(Device device, std::span<const BufferPtr> inputs) {
  BegunCall begun{memory::live_bytes(device), 0, {}};
  for (const BufferPtr& buffer : inputs) {
    if (std::ranges::find(begun.inputs, buffer.get()) != begun.inputs.end()) continue;
    begun.inputs.push_back(buffer.get());
    begun.held += round_up_64(buffer->requested());
  }
  return begun;
}

void note_call(int number, Device device, const BegunCall& begun, std::span<const BufferPtr> results,
               const planner::PlanData& plan) {
  Index::instance().note(number, device, begun, results, plan);
}

}  // namespace neap::jit_detail
