#include "planner/place/place_matches.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace neap::planner {

namespace {

constexpr int kSmallGroup = 7, kMostMembers = 63;

void add_all_choices(std::span<const size_t> sizes, int group, std::vector<GroupSum>& sums) {
  for (uint64_t members = 1; members < uint64_t{1} << sizes.size(); ++members) {
    size_t bytes = 0;
    for (size_t i = 0; i < sizes.size(); ++i) bytes += members >> i & 1 ? sizes[i] : 0;
    sums.push_back({bytes, group, members, std::popcount(members)});
  }
}

void add_with_and_without(size_t bytes, uint64_t members, int count, const GroupSum& all, std::vector<GroupSum>& sums) {
  sums.push_back({bytes, all.group, members, count});
  sums.push_back({all.bytes - bytes, all.group, all.members & ~members, all.count - count});
}

void add_some_choices(std::span<const size_t> sizes, int group, std::vector<GroupSum>& sums) {
  GroupSum all{0, group, (uint64_t{1} << sizes.size()) - 1, static_cast<int>(sizes.size())};
  for (const size_t size : sizes) all.bytes += size;
  sums.push_back(all);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t one = uint64_t{1} << i;
    add_with_and_without(sizes[i], one, 1, all, sums);
    for (size_t j = 0; j < i; ++j) add_with_and_without(sizes[i] + sizes[j], one | uint64_t{1} << j, 2, all, sums);
  }
}

}  // namespace

std::vector<GroupSum> group_sums(std::span<const std::vector<size_t>> groups) {
  std::vector<GroupSum> sums;
  for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
    const std::span sizes = std::span(groups[g]).first(std::min<size_t>(groups[g].size(), kMostMembers));
    sizes.size() <= kSmallGroup ? add_all_choices(sizes, g, sums) : add_some_choices(sizes, g, sums);
  }
  std::ranges::sort(sums, {}, [](const GroupSum& s) { return std::tuple(s.bytes, s.count, s.group, s.members); });
  return sums;
}

std::pair<const GroupSum*, const GroupSum*> best_match(std::span<const GroupSum> before,
                                                       std::span<const GroupSum> after,
                                                       const std::function<double(size_t, int)>& score) {
  std::pair<const GroupSum*, const GroupSum*> best{nullptr, nullptr};
  double most = -1;
  for (size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    const size_t bytes = before[i].bytes;
    if (bytes == after[j].bytes) {  // these have the fewest members of all with the same bytes
      const double s = score(bytes, before[i].count + after[j].count);
      if (s > most) most = s, best = {&before[i], &after[j]};
    }
    if (bytes <= after[j].bytes) {
      while (i < before.size() && before[i].bytes == bytes) ++i;
    } else {
      ++j;
    }
  }
  return best;
}

}  // namespace neap::planner
