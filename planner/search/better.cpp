#include "planner/search/better.h"

#include <algorithm>
#include <limits>

namespace neap::planner {

namespace {

constexpr double kAsLong = 1.03;                         // any smaller plan may take as much longer,
constexpr double kMuchSmaller = 2.0 / 3, kLonger = 1.1;  // one of this part of the bytes so much,
constexpr double kFarSmaller = 0.1, kMuchLonger = 1.3;   // and one of this
constexpr double kMore = 1.0 / 16, kSlow = 1.3,
                 kMuchMore = 0.25;  // than naive holds, and what naive must take for more
constexpr size_t kPage = 4096;

// How much longer a plan may take that holds this part of another's bytes.
double longest(double part) { return part <= kFarSmaller ? kMuchLonger : part <= kMuchSmaller ? kLonger : kAsLong; }

bool smaller_wins(Price smaller, Price larger) {
  const double part = static_cast<double>(smaller.peak_bytes) / static_cast<double>(larger.peak_bytes);
  return smaller.seconds <= longest(part) * larger.seconds;
}

}  // namespace

Price price_of(const PlanData& plan, const Target& target) {
  return {target.alignment > 64 ? plan.lower_bound_bytes : plan.peak_bytes, plan.predicted_seconds};
}

bool better(Price plan, Price than) {
  if (plan.peak_bytes == than.peak_bytes) return plan.seconds < than.seconds;
  return plan.peak_bytes < than.peak_bytes ? smaller_wins(plan, than) : !smaller_wins(than, plan);
}

size_t most_beside_naive(double seconds, Price naive) {
  const double part = naive.seconds >= kSlow * seconds ? kMuchMore : kMore;
  const size_t more = std::max(kPage, static_cast<size_t>(part * static_cast<double>(naive.peak_bytes)));
  return naive.peak_bytes + std::min(more, std::numeric_limits<size_t>::max() - naive.peak_bytes);
}

bool exceeds_naive(Price plan, Price naive) { return plan.peak_bytes > most_beside_naive(plan.seconds, naive); }

}  // namespace neap::planner
