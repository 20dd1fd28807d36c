#include "planner/place/live_ranges.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

namespace neap::planner {

namespace {

constexpr std::array<std::string_view, 4> kColumns = {"id", "lower", "upper", "size"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

class Parser {
 public:
  explicit Parser(std::string name) : name_(std::move(name)) {}

  std::vector<LiveRange> parse(std::string_view csv) {
    if (csv.starts_with("\xef\xbb\xbf")) csv.remove_prefix(3);  // a byte order mark
    while (!csv.empty()) {
      const size_t end = csv.find('\n');
      const std::string_view line = trimmed(csv.substr(0, end));
      csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
      ++line_;
      if (line.empty()) continue;
      if (columns_ == 0) {
        read_header(fields_of(line));
      } else {
        read_row(fields_of(line));
      }
    }
    if (columns_ == 0) fail("no header; expected id,lower,upper,size");
    if (ranges_.empty()) fail("no buffers, only a header");
    return std::move(ranges_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}:{}: {}", name_, std::max(1, line_), what));
  }

  void read_header(const std::vector<std::string_view>& fields) {
    for (size_t c = 0; c < kColumns.size(); ++c) {
      const auto count = std::ranges::count(fields, kColumns[c]);
      if (count != 1) {
        fail(fmt::format("{} column '{}' in '{}'; expected id,lower,upper,size", count == 0 ? "no" : "more than one",
                         kColumns[c], fmt::join(fields, ",")));
      }
      at_[c] = static_cast<size_t>(std::ranges::find(fields, kColumns[c]) - fields.begin());
    }
    columns_ = fields.size();
  }

  int64_t number(const std::vector<std::string_view>& fields, size_t column) const {
    const std::string_view text = fields[at_[column]];
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) fail(fmt::format("{} {} leaves int64", kColumns[column], text));
    if (error != std::errc{} || end != text.data() + text.size()) {
      fail(fmt::format("{} '{}' is no whole number", kColumns[column], text));
    }
    return value;
  }

  void read_row(const std::vector<std::string_view>& fields) {
    if (fields.size() != columns_) fail(fmt::format("{} fields; the header has {}", fields.size(), columns_));
    LiveRange range{std::string(fields[at_[0]]), number(fields, 1), number(fields, 2), number(fields, 3)};
    if (range.id.empty()) fail("no id");
    if (range.upper < range.lower) fail(fmt::format("upper {} is below lower {}", range.upper, range.lower));
    if (range.size < 0) fail(fmt::format("size {} is negative", range.size));
    if (range.size > std::numeric_limits<int64_t>::max() - total_) fail("all sizes together leave int64");
    total_ += range.size;
    const auto [first, is_new] = lines_.emplace(range.id, line_);
    if (!is_new) fail(fmt::format("id '{}' is that of line {} too", range.id, first->second));
    ranges_.push_back(std::move(range));
  }

  std::string name_;
  int line_ = 0;
  size_t columns_ = 0;
  std::array<size_t, 4> at_{};
  int64_t total_ = 0;
  std::unordered_map<std::string, int> lines_;
  std::vector<LiveRange> ranges_;
};

}  // namespace

std::vector<LiveRange> parse_live_ranges(std::string_view csv, const std::string& name) {
  return Parser(name).parse(csv);
}

std::string print_live_ranges(std::span<const LiveRange> ranges, std::span<const int64_t> offsets) {
  std::string out = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < ranges.size(); ++i) {
    const LiveRange& range = ranges[i];
    out += fmt::format("{},{},{},{},{}\n", range.id, range.lower, range.upper, range.size, offsets[i]);
  }
  return out;
}

std::vector<Block> to_blocks(std::span<const LiveRange> ranges) {
  std::vector<int64_t> times;
  for (const LiveRange& range : ranges) times.push_back(range.lower), times.push_back(range.upper);
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto rank = [&](int64_t time) {
    return static_cast<int>(std::ranges::lower_bound(times, time) - times.begin());
  };
  std::vector<Block> blocks;
  for (const LiveRange& range : ranges) {
    blocks.push_back({rank(range.lower), rank(range.upper) - 1, static_cast<size_t>(range.size)});
  }
  return blocks;
}

std::optional<std::string> find_fault(std::span<const LiveRange> ranges, std::span<const int64_t> offsets,
                                      int64_t capacity) {
  std::vector<std::tuple<int64_t, bool, size_t>> events;  // time, begins, buffer: ends come first
  for (size_t i = 0; i < ranges.size(); ++i) {
    const LiveRange& range = ranges[i];
    if (range.lower == range.upper || range.size == 0) continue;
    if (offsets[i] < 0) return fmt::format("'{}' lies at {}", range.id, offsets[i]);
    if (range.size > capacity || offsets[i] > capacity - range.size) {
      return fmt::format("'{}' ends at {} + {}, above {}", range.id, offsets[i], range.size, capacity);
    }
    events.emplace_back(range.lower, true, i);
    events.emplace_back(range.upper, false, i);
  }
  std::ranges::sort(events);
  std::map<int64_t, size_t> alive;  // by offset
  for (const auto& [time, begins, i] : events) {
    if (!begins) {
      alive.erase(offsets[i]);
      continue;
    }
    const auto above = alive.lower_bound(offsets[i]);
    const auto overlap = [&](size_t other) {
      return fmt::format("'{}' and '{}' overlap at time {}", ranges[other].id, ranges[i].id, time);
    };
    if (above != alive.end() && above->first < offsets[i] + ranges[i].size) return overlap(above->second);
    if (above != alive.begin()) {
      const size_t below = std::prev(above)->second;
      if (offsets[below] + ranges[below].size > offsets[i]) return overlap(below);
    }
    alive.emplace_hint(above, offsets[i], i);
  }
  return std::nullopt;
}

}  // namespace neap::planner
