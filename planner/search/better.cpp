#include "planner/search/better.h"

#include <algorithm>
#include <limits>

namespace neap::planner {

namespace {

constexpr double kAsLong = 1.03;                         // any smaller plan may take as much longer,
constexpr double kMuchSmaller = 2.0 / 3, kLonger = 1.1;  // one of this part of the bytes so much,
constexpr double kFarSmaller = 0.1, kMuchLonger = 1.35;  // and one of this
constexpr double kMore = 1.0 / 16, kSlow = 1.3,
                 kMuchMore = 0.25;  // than naive holds, and what naive must take for more
constexpr double kFaster = 0.99;    // of the time, where no byte is saved: Policy::no_worse
constexpr size_t kPage = 4096;

// How much longer a plan may take that holds this part of another's bytes.
double longest(double part) { return part <= kFarSmaller ? kMuchLonger : part <= kMuchSmaller ? kLonger : kAsLong; }

bool smaller_wins(Price smaller, Price larger) {
  const double part = static_cast<double>(smaller.peak_bytes) / static_cast<double>(larger.peak_bytes);
  return smaller.seconds <= longest(part) * larger.seconds;
}

bool better_of_any(Price plan, Price than) {
  if (plan.peak_bytes == than.peak_bytes) return plan.seconds < than.seconds;
  return plan.peak_bytes < than.peak_bytes ? smaller_wins(plan, than) : !smaller_wins(than, plan);
}

bool no_worse(Price plan, Price than) {
  const double time = plan.seconds / than.seconds;
  return plan.peak_bytes <= than.peak_bytes && time <= 1 && (plan.peak_bytes < than.peak_bytes || time < kFaster);
}

bool meets(Terms terms, Price plan, Price than) {
  const double left = static_cast<double>(plan.peak_bytes) / static_cast<double>(than.peak_bytes);
  return saves(plan, than, terms.least_saved) && plan.seconds <= than.seconds * (1 + terms.longer * (1 - left));
}

}  // namespace

Price price_of(const PlanData& plan, const Target& target) {
  return {target.alignment > 64 ? plan.lower_bound_bytes : plan.peak_bytes, plan.predicted_seconds};
}

bool saves(Price plan, Price than, double part) {
  return static_cast<double>(plan.peak_bytes) <= (1 - part) * static_cast<double>(than.peak_bytes);
}

bool better(Price plan, Price than, Policy policy) {
  switch (policy) {
    case Policy::any: return better_of_any(plan, than);
    case Policy::no_worse: return no_worse(plan, than);
    case Policy::fewer_bytes: return plan.peak_bytes < than.peak_bytes;
    case Policy::rematerialized: return meets(kRematerialized, plan, than);
    case Policy::sliced: return meets(kSliced, plan, than);
    case Policy::lowered: return meets(kLowered, plan, than);
  }
  return false;
}

size_t most_beside_naive(double seconds, Price naive) {
  const double part = naive.seconds >= kSlow * seconds ? kMuchMore : kMore;
  const size_t more = std::max(kPage, static_cast<size_t>(part * static_cast<double>(naive.peak_bytes)));
  return naive.peak_bytes + std::min(more, std::numeric_limits<size_t>::max() - naive.peak_bytes);
}

bool exceeds_naive(Price plan, Price naive) { return plan.peak_bytes > most_beside_naive(plan.seconds, naive); }

}  // namespace neap::planner
