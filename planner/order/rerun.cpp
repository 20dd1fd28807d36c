#include "planner/order/rerun.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "planner/order/order_graph.h"

namespace neap::planner {

namespace {

constexpr size_t kCandidates = 64;      // values tried where most is alive
constexpr int kDeepest = 12;            // steps that run again for one that does
constexpr int kMostSideways = 8;        // moves one after the other that help nowhere in all
constexpr int kMostIdle = 1000;         // tries without gain after which no others are made
constexpr double kLeastSeconds = 1e-9;  // that a step takes
constexpr uint64_t kSeed = 0x9E3779B97F4A7C15;

struct Instance {
  int step;
  bool again;
};
using Sequence = std::vector<Instance>;

// A value from one instance that makes it to the last that reads what that made.
struct Version {
  int value, first, last;
  int before;  // the version before this, or -1
};

class Search {
 public:
  Search(const OrderProblem& problem, const std::vector<double>& seconds, size_t budget, int64_t& work)
      : problem_(problem),
        seconds_(seconds),
        budget_(budget),
        work_(work),
        reads_(problem.steps),
        writes_(reads_),
        reuses_(problem.steps),
        until_(problem.steps) {
    for (size_t v = 0; v < problem.values.size(); ++v) {
      for (const int s : problem.values[v].readers) reads_[s].push_back(static_cast<int>(v));
      for (const int s : problem.values[v].writers) writes_[s].push_back(static_cast<int>(v));
    }
    for (const OrderProblem::Reuse& reuse : problem.reuses) reuses_[reuse.step].push_back(reuse);
    for (const auto& [early, late] : problem.before) until_[early].push_back(late);
    for (int s = 0; s < problem.steps; ++s) {
      can_run_again_.push_back(std::ranges::all_of(
          writes_[s], [&](int v) { return problem.values[v].writers.size() == 1 && !problem.values[v].kept; }));
    }
    for (const int s : problem.once) can_run_again_[s] = false;
  }

  Reruns run() {
    Sequence sequence;
    for (int s = 0; s < problem_.steps; ++s) sequence.push_back({s, false});
    Sequence best = reach(sequence);
    if (measure(best) > budget_) {  // what is lowest, for less time
      budget_ = lowest_;
      Sequence next = reach(sequence);
      if (measure(next) <= budget_) best = std::move(next);
    }
    double least = seconds_of(best);
    const bool fits = measure(best) <= budget_;
    for (int idle = 0; fits && least > 0 && idle < kMostIdle && work_ > 0; ++idle) {
      Sequence next = reach(ruin(best));
      if (measure(next) > budget_) continue;
      const double now = seconds_of(next);
      if (now > least) continue;
      if (now < least) idle = -1;
      best = std::move(next);
      least = now;
    }
    Reruns result;
    for (const Instance& i : best) {
      result.order.push_back(i.step);
      result.again.push_back(i.again);
    }
    result.peak_bytes = measure(best);
    result.seconds = least;
    return result;
  }

 private:
  double seconds_of(const Sequence& sequence) const {
    double total = 0;
    for (const Instance& i : sequence) total += i.again ? seconds_[i.step] : 0;
    return total;
  }

  // Sets live_, over_ and versions_; returns the peak.
  size_t measure(const Sequence& sequence) {
    const int n = static_cast<int>(sequence.size());
    work_ -= n;
    versions_.clear();
    current_.assign(problem_.values.size(), -1);
    live_.assign(static_cast<size_t>(n) + 1, 0);
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      if (problem_.values[v].given) begin(static_cast<int>(v), 0);
    }
    for (int i = 0; i < n; ++i) {
      for (const int v : reads_[sequence[i].step]) {
        if (current_[v] >= 0) versions_[current_[v]].last = i;
      }
      for (const int v : writes_[sequence[i].step]) {
        const bool more = problem_.values[v].writers.size() > 1 && current_[v] >= 0;
        if (more)
          versions_[current_[v]].last = i;
        else
          begin(v, i);
      }
    }
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      if (problem_.values[v].kept && current_[v] >= 0) versions_[current_[v]].last = n - 1;
    }
    for (const Version& version : versions_) {
      const auto bytes = static_cast<int64_t>(problem_.values[version.value].bytes);
      live_[version.first] += bytes;
      live_[version.last + 1] -= bytes;
    }
    at_.assign(problem_.values.size(), -1);
    for (int i = 1; i < n; ++i) live_[i] += live_[i - 1];
    live_.pop_back();
    size_t next = 0;
    for (size_t v = 0; v < problem_.values.size(); ++v) next += problem_.values[v].given ? 1 : 0;
    for (size_t k = 0; k < next; ++k) at_[versions_[k].value] = static_cast<int>(k);
    int64_t peak = 0;
    over_ = 0;
    for (int i = 0; i < n; ++i) {  // versions in the order in which they begin
      const int step = sequence[i].step;
      int64_t reused = 0;
      if (!reuses_[step].empty()) {
        reused = static_cast<int64_t>(reused_bytes(reuses_[step], problem_, [&](int v) {
          return at_[v] >= 0 && versions_[at_[v]].last == i && versions_[at_[v]].first < i;
        }));
      }
      for (; next < versions_.size() && versions_[next].first == i; ++next) {
        at_[versions_[next].value] = static_cast<int>(next);
      }
      live_[i] += static_cast<int64_t>(problem_.scratch[step]);
      const int64_t now = live_[i] - reused;
      peak = std::max(peak, now);
      if (now == peak) peak_at_ = i;
      over_ += std::max<int64_t>(0, now - static_cast<int64_t>(budget_));
    }
    return static_cast<size_t>(peak);
  }

  void begin(int v, int i) {
    versions_.push_back({v, i, i, current_[v]});
    current_[v] = static_cast<int>(versions_.size()) - 1;
  }

  // Runs steps again until the budget holds, or nothing helps; then fewer of them.
  Sequence reach(Sequence sequence) {
    size_t peak = measure(sequence), least = peak;
    lowest_ = std::min(lowest_, peak);
    int64_t over = over_;
    for (int idle = 0; peak > budget_ && idle < kMostSideways && work_ > 0; ++idle) {
      std::optional<Sequence> next = best_move(sequence);
      if (!next) break;
      sequence = *std::move(next);
      peak = measure(sequence);
      if (peak < least || over_ < over) idle = -1;
      over = std::min(over, over_);
      least = std::min(least, peak);
      lowest_ = std::min(lowest_, peak);
    }
    if (peak <= budget_) thin(sequence);
    return sequence;
  }

  struct Gap {
    int value, until;
    double worth;
  };

  std::optional<Sequence> best_move(const Sequence& sequence) {
    const double before = static_cast<double>(over_);
    const std::vector<int64_t> live = live_;
    const std::vector<Version> versions = versions_;
    const std::vector<int> current = current_;
    const int peak_at = peak_at_;
    const std::vector<Gap> gaps = gaps_at(sequence, peak_at);
    std::optional<Sequence> best, lower;  // where nothing helps in all: what lowers the peak alone
    size_t lowest = std::numeric_limits<size_t>::max();
    double most = 0;
    for (const Gap& gap : gaps) {
      if (work_ <= 0) break;
      live_ = live;
      versions_ = versions;
      current_ = current;
      std::vector<int> again;
      if (!make(sequence, gap.value, gap.until, peak_at, again, kDeepest)) continue;
      Sequence next = sequence;
      std::vector<Instance> inserted;
      double time = kLeastSeconds;
      for (const int s : again) {
        inserted.push_back({s, true});
        time += seconds_[s];
      }
      next.insert(next.begin() + gap.until, inserted.begin(), inserted.end());
      const size_t now = measure(next);
      const double gain = (before - static_cast<double>(over_)) / time * noise();
      if (gain > most) {
        most = gain;
        best = std::move(next);
      } else if (!best && now < lowest) {
        lowest = now;
        lower = std::move(next);
      }
    }
    return best ? std::move(best) : std::move(lower);
  }

  // What waits across the instance, those first that give most for the step that makes them.
  std::vector<Gap> gaps_at(const Sequence& sequence, int at) {
    next_read_.assign(problem_.values.size(), -1);
    for (int i = static_cast<int>(sequence.size()); i-- > at;) {
      for (const int v : reads_[sequence[i].step]) next_read_[v] = i;
    }
    std::vector<Gap> gaps;
    for (const Version& version : versions_) {
      const OrderProblem::Value& value = problem_.values[version.value];
      if (version.first >= at || version.last <= at || value.bytes == 0 || value.writers.empty()) continue;
      const int step = value.writers[0], next = next_read_[version.value];
      if (!can_run_again_[step] || next <= at) continue;
      const double time = kLeastSeconds + seconds_[step];
      gaps.push_back({version.value, next, static_cast<double>(value.bytes) * (next - at) / time});
    }
    work_ -= std::ssize(sequence) + std::ssize(versions_);
    std::ranges::sort(gaps, {}, [](const Gap& g) { return std::pair(-g.worth, g.value); });
    if (gaps.size() > kCandidates) gaps.resize(kCandidates);
    return gaps;
  }

  // The steps to run before an instance so that the value is there anew; what they need is there still, or waits where
  // there is room, or is made anew too.
  bool make(const Sequence& sequence, int v, int before, int peak, std::vector<int>& again, int deep) {
    const int step = problem_.values[v].writers[0];
    if (!can_run_again_[step] || deep == 0) return false;
    if (std::ranges::count(again, step)) return true;
    const auto is_late = [&](const Instance& i) { return std::ranges::count(until_[step], i.step) > 0; };
    if (!until_[step].empty() && std::any_of(sequence.begin(), sequence.begin() + before, is_late)) return false;
    for (const int u : reads_[step]) {
      const OrderProblem::Value& operand = problem_.values[u];
      if (operand.given || operand.writers.empty() || operand.bytes == 0) continue;
      int at = current_[u];
      while (versions_[at].first >= before) at = versions_[at].before;
      const Version& latest = versions_[at];
      work_ -= 8;
      if (latest.last >= before) continue;
      const bool crosses = latest.last < peak;
      bool room = !crosses;
      for (int i = latest.last + 1; room && i < before; ++i) {
        room = live_[i] + static_cast<int64_t>(operand.bytes) <= static_cast<int64_t>(budget_);
      }
      if (noisy_ && random() % 8 == 0) room = !room;
      if (room) continue;
      std::vector<int> deeper = again;
      if (make(sequence, u, before, peak, deeper, deep - 1))
        again = std::move(deeper);
      else if (crosses)
        return false;
    }
    if (!std::ranges::count(again, step)) again.push_back(step);
    return true;
  }

  // Takes back what need not run again, the longest first.
  void thin(Sequence& sequence) {
    std::vector<std::pair<double, int>> extra;
    for (int i = 0; i < std::ssize(sequence); ++i) {
      if (sequence[i].again) extra.emplace_back(-seconds_[sequence[i].step], i);
    }
    std::ranges::sort(extra);
    std::vector<int> gone;
    for (const auto& [time, at] : extra) {
      if (work_ <= 0) break;
      int now = at;
      for (const int g : gone) now -= g < at ? 1 : 0;
      Sequence without = sequence;
      without.erase(without.begin() + now);
      if (measure(without) > budget_) continue;
      sequence = std::move(without);
      gone.push_back(at);
    }
    measure(sequence);
  }

  // Without some of what runs again.
  Sequence ruin(const Sequence& sequence) {
    noisy_ = true;
    const auto n = static_cast<int>(sequence.size());
    const uint64_t keep = random() % 4;  // of as many
    const int begin = static_cast<int>(random() % static_cast<uint64_t>(n));
    const int length = 1 + static_cast<int>(random() % static_cast<uint64_t>(n / 2 + 1));
    Sequence result;
    for (int i = 0; i < n; ++i) {
      const bool near = i >= begin && i < begin + length;
      if (!sequence[i].again || !near || random() % 4 < keep) result.push_back(sequence[i]);
    }
    return result;
  }

  uint64_t random() {  // xorshift64: the same for everyone
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  double noise() { return noisy_ ? 0.5 + static_cast<double>(random() % 1024) / 1024 : 1; }

  const OrderProblem& problem_;
  const std::vector<double>& seconds_;
  size_t budget_, lowest_ = std::numeric_limits<size_t>::max();
  int64_t& work_;
  std::vector<std::vector<int>> reads_, writes_;  // of each step
  std::vector<std::vector<OrderProblem::Reuse>> reuses_;
  std::vector<std::vector<int>> until_;  // of each step: others before which it must run
  std::vector<bool> can_run_again_;      // steps that make whole values, none of which is kept
  std::vector<Version> versions_;        // in the order in which they begin
  std::vector<int> current_, at_;        // of each value: its last version, that while an instance runs
  std::vector<int> next_read_;           // of each value: the first instance after the peak
  std::vector<int64_t> live_;
  int64_t over_ = 0;  // bytes above the budget, of all instances
  int peak_at_ = 0;
  uint64_t state_ = kSeed;
  bool noisy_ = false;
};

}  // namespace

Reruns rerun_steps(const OrderProblem& problem, const std::vector<double>& seconds, size_t budget, int64_t& work) {
  if (problem.steps == 0) return {};
  return Search(problem, seconds, budget, work).run();
}

}  // namespace neap::planner
