#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <unordered_set>

#include "core/ascii.h"

namespace neap {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the length of the UTF-8 sequence that begins at `at`; 0 where it is invalid: overlong, a surrogate, past
// U+10FFFF, cut.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto follows = [&](size_t i, unsigned least = 0x80, unsigned most = 0xbf) {
    return byte(i) >= least && byte(i) <= most;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return follows(1) ? 2 : 0;
  if (first < 0xf0) {
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  }
  return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3) ? 4 : 0;
}

void append_utf8(std::string& out, unsigned code) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Returns, of a number that no double holds, whether it is too large (else it is too small).
bool is_vast(std::string_view text) {
  const size_t mantissa = std::min(text.find_first_of("eE"), text.size());
  int64_t exponent = 0;
  if (mantissa < text.size()) {
    std::string_view digits = text.substr(mantissa + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (parsed.ec == std::errc::result_out_of_range) return digits[0] != '-';
    exponent = std::clamp(exponent, INT64_MIN / 2, INT64_MAX / 2);  // no text is as long
  }
  const size_t point = std::min(text.find('.'), mantissa);
  const size_t first = std::min(text.find_first_of("123456789"), mantissa);
  return static_cast<int64_t>(point) - static_cast<int64_t>(first) + exponent > 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void JsonReader::fail(std::string_view what) const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = at_ - (before.rfind('\n') + 1) + 1;
  throw JsonError(fmt::format("line {}, column {}: {}", line, column, what));
}

char JsonReader::peek() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonReader::accept(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonReader::word(std::string_view text) {
  peek();
  if (text_.substr(at_, text.size()) != text) fail(fmt::format("expected {}", text));
  at_ += text.size();
}

void JsonReader::deeper() {
  if (++depth_ > kDeepest) fail(fmt::format("nested deeper than {}", kDeepest));
}

JsonReader::Kind JsonReader::kind() {
  const char c = peek();
  if (c == '{') return Kind::object;
  if (c == '[') return Kind::array;
  if (c == '"') return Kind::string;
  if (c == '-' || ascii::is_digit(c)) return Kind::number;
  if (text_.substr(at_, 4) == "true" || text_.substr(at_, 5) == "false") return Kind::boolean;
  if (text_.substr(at_, 4) == "null") return Kind::null;
  if (at_ == text_.size()) fail("the text ends where a value is expected");
  fail("expected a value");
}

void JsonReader::null() { word("null"); }

bool JsonReader::boolean() {
  if (peek() == 't') return word("true"), true;
  return word("false"), false;
}

JsonReader::Number JsonReader::number() {
  peek();
  const size_t begin = at_;
  const auto digits = [&] {
    const size_t first = at_;
    while (at_ < text_.size() && ascii::is_digit(text_[at_])) ++at_;
    if (at_ == first) fail("expected a digit");
  };
  const auto one_of = [&](std::string_view set) {
    return at_ < text_.size() && set.find(text_[at_]) != std::string_view::npos;
  };
  const bool negative = one_of("-");
  if (negative) ++at_;
  if (one_of("0")) {
    ++at_;
  } else {
    digits();
  }
  bool whole = true;
  if (one_of(".")) {
    ++at_;
    digits();
    whole = false;
  }
  if (one_of("eE")) {
    ++at_;
    if (one_of("+-")) ++at_;
    digits();
    whole = false;
  }
  const char *first = text_.data() + begin, *last = text_.data() + at_;
  Number result;
  const auto parsed = std::from_chars(first, last, result.real);
  if (parsed.ec == std::errc::result_out_of_range) {
    const std::string_view text(first, static_cast<size_t>(last - first));
    if (is_vast(text)) {
      at_ = begin;
      fail(fmt::format("{} is too large a number", text.substr(0, 40)));
    }
    result.real = negative ? -0.0 : 0.0;
  }
  int64_t integer = 0;
  if (whole && negative && std::from_chars(first, last, integer).ec == std::errc()) {
    result.kind = Number::Kind::negative;
    result.bits = static_cast<uint64_t>(integer);
  } else if (whole && !negative && std::from_chars(first, last, result.bits).ec == std::errc()) {
    result.kind = Number::Kind::natural;
  }
  return result;
}

unsigned JsonReader::hex4() {
  unsigned code = 0;
  const char* first = text_.data() + at_;
  const char* last = first + std::min<size_t>(4, text_.size() - at_);
  if (std::from_chars(first, last, code, 16).ptr != first + 4) fail("expected four hexadecimal digits");
  at_ += 4;
  return code;
}

void JsonReader::escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kCodes = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) fail("the text ends within a string");
  const char c = text_[at_++];
  if (c != 'u') {
    const size_t i = kNames.find(c);
    if (i == std::string_view::npos) fail("an unknown escape");
    out += kCodes[i];
    return;
  }
  unsigned code = hex4();
  if (code >= 0xdc00 && code < 0xe000) fail("half a surrogate pair");
  if (code >= 0xd800 && code < 0xdc00) {
    if (text_.substr(at_, 2) != "\\u") fail("half a surrogate pair");
    at_ += 2;
    const unsigned low = hex4();
    if (low < 0xdc00 || low >= 0xe000) fail("half a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(out, code);
}

std::string JsonReader::string() {
  if (!accept('"')) fail("expected a string");
  std::string out;
  while (true) {
    if (at_ == text_.size()) fail("the text ends within a string");
    const char c = text_[at_];
    if (c == '"') return ++at_, out;
    if (static_cast<unsigned char>(c) < 0x20) fail("a control character within a string");
    if (c == '\\') {
      ++at_;
      escape(out);
      continue;
    }
    const size_t length = utf8_length(text_, at_);
    if (length == 0) fail("a string that is no UTF-8");
    out.append(text_, at_, length);
    at_ += length;
  }
}

void JsonReader::array(FunctionRef<void()> item) {
  if (!accept('[')) fail("expected a list");
  deeper();
  if (!accept(']')) {
    do item();
    while (accept(','));
    if (!accept(']')) fail("expected ',' or ']'");
  }
  --depth_;
}

void JsonReader::object(FunctionRef<void(std::string)> member) {
  if (!accept('{')) fail("expected an object");
  deeper();
  if (!accept('}')) {
    do {
      if (peek() != '"') fail("expected a name in quotes");
      std::string name = string();
      if (!accept(':')) fail("expected ':'");
      member(std::move(name));
    } while (accept(','));
    if (!accept('}')) fail("expected ',' or '}'");
  }
  --depth_;
}

void JsonReader::skip() {
  switch (kind()) {
    case Kind::null: return null();
    case Kind::boolean: return static_cast<void>(boolean());
    case Kind::number: return static_cast<void>(number());
    case Kind::string: return static_cast<void>(string());
    case Kind::array: return array([this] { skip(); });
    case Kind::object: return object([this](const std::string&) { skip(); });
  }
}

void JsonReader::end() {
  peek();
  if (at_ != text_.size()) fail("more text after the value");
}

Json Json::parse(std::string_view text) {
  JsonReader reader(text);
  Json whole = read(reader);
  reader.end();
  return whole;
}

Json Json::read(JsonReader& reader) {
  Json value;
  value.kind_ = reader.kind();
  switch (value.kind_) {
    case Kind::null: reader.null(); break;
    case Kind::boolean: value.number_.bits = reader.boolean(); break;
    case Kind::number: value.number_ = reader.number(); break;
    case Kind::string: value.text_ = reader.string(); break;
    case Kind::array: reader.array([&] { value.items_.push_back(read(reader)); }); break;
    case Kind::object: {
      std::unordered_set<std::string> seen;
      reader.object([&](std::string name) {
        if (!seen.insert(name).second) reader.fail(fmt::format("\"{}\" comes twice", name));
        value.members_.emplace_back(std::move(name), read(reader));
      });
      break;
    }
  }
  return value;
}

const Json* Json::find(std::string_view name) const {
  for (const Member& member : members_) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

std::string Json::shown() const {
  switch (kind_) {
    case Kind::null: return "null";
    case Kind::boolean: return number_.bits ? "true" : "false";
    case Kind::string: return "\"" + text_ + "\"";
    case Kind::array: return "a list";
    case Kind::object: return "an object";
    case Kind::number: break;
  }
  if (number_.kind == Number::Kind::natural) return fmt::format("{}", number_.bits);
  if (number_.kind == Number::Kind::negative) return fmt::format("{}", static_cast<int64_t>(number_.bits));
  return fmt::format("{}", number_.real);
}

void JsonWriter::line() {
  if (indent_ < 0) return;
  out_ += '\n';
  out_.append(static_cast<size_t>(indent_ * depth_), ' ');
}

void JsonWriter::item() {
  if (!std::exchange(after_key_, false) && depth_ > 0) {
    if (!empty_) out_ += ',';
    line();
  }
  empty_ = false;
}

JsonWriter& JsonWriter::begin(char bracket) {
  item();
  out_ += bracket;
  ++depth_;
  empty_ = true;
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  --depth_;
  if (!empty_) line();
  out_ += bracket;
  empty_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  item();
  quoted(name);
  out_ += indent_ < 0 ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::null() {
  item();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  item();
  quoted(text);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  item();
  out_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  item();
  const size_t begin = out_.size();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  if (out_.find_first_of(".e", begin) == std::string::npos) out_ += ".0";
  return *this;
}

JsonWriter& JsonWriter::integer(bool negative, uint64_t bits) {
  item();
  if (negative) {
    fmt::format_to(std::back_inserter(out_), "{}", static_cast<int64_t>(bits));
  } else {
    fmt::format_to(std::back_inserter(out_), "{}", bits);
  }
  return *this;
}

void JsonWriter::quoted(std::string_view text) {
  constexpr std::string_view kNames = "\"\\bfnrt", kCodes = "\"\\\b\f\n\r\t";
  out_ += '"';
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const size_t length = utf8_length(text, at);
    if (const size_t i = kCodes.find(c); i != std::string_view::npos) {
      out_ += '\\';
      out_ += kNames[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned>(c));
    } else if (length == 0) {
      out_ += kReplacement;
    } else {
      out_.append(text, at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  out_ += '"';
}

}  // namespace neap
