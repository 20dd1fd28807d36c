// Our JSON beside nlohmann's.
#include "core/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace neap {
namespace {

std::string message(std::string_view text) {
  try {
    Json::parse(text);
  } catch (const JsonError& e) {
    return e.what();
  }
  return "accepted";
}

nlohmann::json same(const Json& value) {
  if (value.is_null()) return nullptr;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  nlohmann::json result = value.is_array() ? nlohmann::json::array() : nlohmann::json::object();
  for (const Json& item : value.items()) result.push_back(same(item));
  for (const auto& [name, member] : value.members()) result[name] = same(member);
  return result;
}

void write(JsonWriter& out, const nlohmann::json& value) {
  if (value.is_object()) {
    out.begin_object();
    for (const auto& [name, member] : value.items()) write(out.key(name), member);
    out.end_object();
  } else if (value.is_array()) {
    out.begin_array();
    for (const auto& item : value) write(out, item);
    out.end_array();
  } else if (value.is_string()) {
    out.value(value.get<std::string>());
  } else if (value.is_boolean()) {
    out.value(value.get<bool>());
  } else if (value.is_number_unsigned()) {
    out.value(value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    out.value(value.get<int64_t>());
  } else if (value.is_number()) {
    out.value(value.get<double>());
  } else {
    out.null();
  }
}

nlohmann::json random_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 4 ? 6 : 8)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return static_cast<uint64_t>(random()) << random() % 33;
    case 3: return -static_cast<int64_t>(random());
    case 4: return std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 200) - 100);
    case 5: {
      std::string text;
      constexpr const char* kParts[] = {"a", "\"", "\\", "\n", "\x01", "\x7f", "é", "\u20ac", "\U0001F600", "/", " "};
      for (size_t n = random() % 6; n > 0; --n) text += kParts[random() % std::size(kParts)];
      return text;
    }
    case 6: {
      auto list = nlohmann::json::array();
      for (size_t n = random() % 4; n > 0; --n) list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      auto object = nlohmann::json::object();
      for (size_t n = random() % 4; n > 0; --n) object[std::to_string(random() % 10)] = random_value(random, depth + 1);
      return object;
    }
  }
}

TEST(Json, ReadsAndWritesAsNlohmannDoes) {
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    const nlohmann::json value = random_value(random, 0);
    for (const int indent : {-1, 1, 2}) {
      JsonWriter out(indent);
      write(out, value);
      const std::string text = out.take();
      ASSERT_EQ(same(Json::parse(text)), value) << text;
      ASSERT_EQ(nlohmann::json::parse(text), value) << text;
      if (text.find_first_of(".e") == std::string::npos) ASSERT_EQ(text, value.dump(indent));
    }
    ASSERT_EQ(same(Json::parse(value.dump(-1, ' ', true))), value) << "with escapes";
  }
}

// Texts with a byte changed, cut or doubled: accepted by both or by neither.
TEST(Json, AcceptsWhatNlohmannAccepts) {
  std::mt19937 random(4);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = random_value(random, 0).dump(-1, ' ', random() % 2 == 0);
    constexpr std::string_view kBytes = "{}[]\",:\\u0123456789abcdeE+-. \n\x80\xc3\xe2\xf0\x01tfn";
    for (size_t n = 1 + random() % 2; n > 0 && !text.empty(); --n) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = kBytes[random() % kBytes.size()]; break;
        case 1: text.erase(at, 1); break;
        default: text.insert(at, 1, kBytes[random() % kBytes.size()]);
      }
    }
    const nlohmann::json theirs = nlohmann::json::parse(text, nullptr, false);
    const std::string ours = message(text);
    if (ours.find("comes twice") != std::string::npos) continue;  // they take the last
    ASSERT_EQ(ours == "accepted", !theirs.is_discarded()) << text << "\n" << ours;
    if (ours != "accepted") continue;
    ++accepted;
    ASSERT_EQ(same(Json::parse(text)), theirs) << text;
  }
  EXPECT_GT(accepted, 2000);
}

TEST(Json, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(message(""), "line 1, column 1: the text ends where a value is expected");
  EXPECT_EQ(message("{\n  \"a\": 1e999}"), "line 2, column 8: 1e999 is too large a number");
  EXPECT_EQ(message("[-1e999]"), "line 1, column 2: -1e999 is too large a number");
  EXPECT_EQ(message("[1,]"), "line 1, column 4: expected a value");
  EXPECT_EQ(message("{\"a\" 1}"), "line 1, column 6: expected ':'");
  EXPECT_EQ(message("{\"a\":1,\"a\":2}"), "line 1, column 12: \"a\" comes twice");
  EXPECT_EQ(message("1 2"), "line 1, column 3: more text after the value");
  EXPECT_EQ(message("\"\\ud800\""), "line 1, column 8: half a surrogate pair");
  EXPECT_NE(message(std::string(20'000'000, '[')).find("nested deeper than 256"), std::string::npos);
  EXPECT_NE(message(std::string(1000, '[') + std::string(1000, ']')).find("nested"), std::string::npos);
}

TEST(Json, NumbersThatNoDoubleHolds) {
  EXPECT_EQ(Json::parse("1e-999").get<double>(), 0);
  EXPECT_TRUE(std::signbit(Json::parse("-1e-999").get<double>()));
  EXPECT_EQ(Json::parse("0." + std::string(400, '0') + "1").get<double>(), 0);
  EXPECT_EQ(Json::parse("0e99999999999999999999").get<double>(), 0);
  EXPECT_NE(message("1" + std::string(400, '0')), "accepted");
  EXPECT_NE(message("1e99999999999999999999"), "accepted");
  EXPECT_EQ(Json::parse("1e-99999999999999999999").get<double>(), 0);
  EXPECT_NE(message("1e9223372036854775807"), "accepted");
  EXPECT_EQ(Json::parse("0.1e-9223372036854775808").get<double>(), 0);
  EXPECT_EQ(Json::parse("0." + std::string(400, '0') + "1e401").get<double>(), 1);
  EXPECT_EQ(Json::parse("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_FALSE(Json::parse("18446744073709551616").is_number_integer());
  EXPECT_EQ(Json::parse("-9223372036854775808").get<int64_t>(), INT64_MIN);
}

TEST(Json, WritesWhatHasNoJson) {
  JsonWriter out;
  out.begin_array().value("a\xff z\xc3").value(std::nan("")).value(std::numeric_limits<double>::infinity());
  out.value(2.0).end_array();
  EXPECT_EQ(out.take(), "[\"a\xef\xbf\xbd z\xef\xbf\xbd\",null,null,2.0]");
  EXPECT_TRUE(is_utf8("a\u20ac\U0001F600"));
  for (const char* text : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace neap
