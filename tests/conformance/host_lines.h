// What a program calls of the host, as lines that it prints: which function, with what, in which order.
#pragma once

#include "tests/conformance/harness.h"
#include "trace/graph/host_call.h"

namespace neap::conformance {

/// Some elements, and a number that stands for all of them; any NaN is any other.
inline std::string in_short(const Aval& aval, const std::byte* data) {
  std::string text = to_string(aval);
  uint64_t all = 0xcbf29ce484222325;
  dispatch(aval.dtype, [&]<class T>() {
    for (int64_t i = 0; i < aval.size(); ++i) {
      T x;
      std::memcpy(&x, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      const auto number = static_cast<double>(x);
      uint64_t bits = 0;
      if (!std::isnan(number)) std::memcpy(&bits, &x, sizeof(T));
      all = (all ^ bits) * 0x100000001b3;
      if (i < 4) text += std::isnan(number) ? " nan" : fmt::format(" {}", number);
    }
  });
  return fmt::format("{} #{:x}", text, all);
}

/// Writes a line.
inline void say(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
}

/// A function that says its operands where it has an effect, and gives each result the bytes of the first operand
/// backwards, word by word.
inline tracing::HostFunctionPtr host_function(const std::string& name, const std::vector<Aval>& operands,
                                              const std::vector<Aval>& results, bool effect) {
  const auto call = [=](std::span<const std::byte* const> in, std::span<std::byte* const> out) {
    if (effect) {
      std::string line = name + ":";
      for (size_t i = 0; i < in.size(); ++i) line += " " + in_short(operands[i], in[i]);
      say(line);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t word = size_of(results[i].dtype), words = results[i].bytes() / word;
      for (size_t w = 0; w < words; ++w) std::memcpy(out[i] + w * word, in[0] + (words - 1 - w) * word, word);
    }
  };
  return tracing::make_host_function({name, operands, results, effect, call});
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}
inline std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::ranges::sort(lines);
  return lines;
}
/// Which functions were called, without their operands.
inline std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  for (std::string& line : lines) line.resize(std::min(line.find(':'), line.size()));
  return lines;
}

}  // namespace neap::conformance
