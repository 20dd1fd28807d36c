#include "planner/report/source_lines.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/file.h"

namespace neap::planner {

namespace {

constexpr size_t kLargest = size_t{4} << 20;  // bytes of a file that people write
constexpr size_t kLongest = 200;              // characters of a line that is shown

std::string trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == line.npos) return {};
  line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
  return line.size() <= kLongest ? std::string(line) : std::string(line.substr(0, kLongest)) + " ..";
}

// Where a compiler was given a path from its own folder, the file that it names here may be another one.
std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  if (!std::filesystem::path(path).is_absolute()) return lines;
  try {
    const InputFile file(path);
    if (file.size() > kLargest) return lines;
    std::string text(file.size(), '\0');
    if (!file.read_at(0, text.data(), text.size())) return lines;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(trimmed(std::string_view(text).substr(at, end - at)));
      at = end + 1;
    }
  } catch (const std::system_error&) {  // a program that was compiled elsewhere
  }
  return lines;
}

}  // namespace

const std::vector<std::string>& SourceLines::file(const std::string& path) {
  auto found = files_.find(path);
  if (found == files_.end()) found = files_.emplace(path, read_lines(path)).first;
  return found->second;
}

std::string SourceLines::text(const std::source_location& line) {
  const std::vector<std::string>& lines = file(line.file_name());
  return line.line() >= 1 && line.line() <= lines.size() ? lines[line.line() - 1] : std::string();
}

}  // namespace neap::planner
