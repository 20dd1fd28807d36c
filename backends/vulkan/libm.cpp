#include "backends/vulkan/libm.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "core/ascii.h"
#include "core/check.h"

namespace neap::vk {
namespace {

// Paragraphs, that is functions and tables parted by blank lines; each uses only what stands before it.
constexpr std::string_view kFiles[] = {
#include "backends/vulkan/libm/basic.inc"
    ,
#include "backends/vulkan/libm/exp_log.inc"
    ,
#include "backends/vulkan/libm/trig.inc"
    ,
#include "backends/vulkan/libm/special.inc"
};

struct Paragraph {
  std::string_view text;
  std::vector<std::string_view> names;  // what it defines, then what it uses
};

Paragraph read(std::string_view text) {
  const auto in_name = [](char c) { return ascii::is_alnum(c) || c == '_'; };
  Paragraph result{text, {}};
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (in_name(text[i])) {
      const size_t begin = i;
      while (i < text.size() && in_name(text[i])) ++i;
      const std::string_view name = text.substr(begin, i - begin);
      if (name.starts_with("neap_")) result.names.push_back(name);
    } else {
      ++i;
    }
  }
  NEAP_CHECK(!result.names.empty(), "libm: a paragraph that defines nothing: {}", text);
  return result;
}

std::vector<Paragraph> read_files() {
  std::vector<Paragraph> result;
  for (std::string_view rest : kFiles) {
    while (!rest.empty()) {
      const size_t end = std::min(rest.find("\n\n"), rest.size());
      std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 2, rest.size()));
      while (text.starts_with('\n')) text.remove_prefix(1);
      while (text.ends_with('\n')) text.remove_suffix(1);
      if (!text.empty()) result.push_back(read(text));
    }
  }
  return result;
}

}  // namespace

int loop_turns(scalar::Function function) {
  using scalar::Function;
  switch (function) {                                                 // one more for each loop: its end
    case Function::digamma: return 10 + 1;                            // up to 10
    case Function::lgamma: return 2 * (10 + 1) + (7 + 1) + (10 + 1);  // up to 10, a series; near a zero both once more
    case Function::fmod: return 2046 / 44 + 1 + 1;                    // the exponents' difference
    default: return 0;
  }
}

std::string libm_source(std::span<const scalar::Function> used) {
  static const auto& paragraphs = *new std::vector<Paragraph>(read_files());
  std::set<std::string, std::less<>> needed;
  for (const scalar::Function function : used) {
    std::string_view name = scalar::symbol(function);
    if (name.starts_with("neap_")) name.remove_prefix(5);
    needed.insert(fmt::format("neap_{}_f64", name));
  }
  std::vector<std::string_view> chosen;
  for (auto p = paragraphs.rbegin(); p != paragraphs.rend(); ++p) {
    if (!needed.contains(p->names.front())) continue;
    chosen.push_back(p->text);
    needed.insert(p->names.begin(), p->names.end());
  }
  return fmt::format("{}\n", fmt::join(chosen.rbegin(), chosen.rend(), "\n"));
}

}  // namespace neap::vk
