// The text of the user's lines that a page shows, where the source files are still to be found.
// Tested in tests/planner/report_test.cpp.
#pragma once

#include <map>
#include <source_location>
#include <string>
#include <vector>

namespace neap::planner {

class SourceLines {
 public:
  /// Returns the line without the spaces around it; "" where the file, or the line in it, is not there.
  std::string text(const std::source_location& line);
  /// Returns the lines of a file, which must be named from the root; none where it is not there.
  const std::vector<std::string>& file(const std::string& path);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace neap::planner
