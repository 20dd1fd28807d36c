// JSON, read and written by our own rules: nothing here asks the locale, and where an allocation fails the exception
// leaves everything destructible (nlohmann's values allocate while they die). Tested in tests/core/json_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/function_ref.h"

namespace neap {

// JsonError says that a text is no JSON, or is nested deeper than kDeepest. what() reads "line 3, column 7: ...".
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// JsonReader reads a text from left to right, each value by the function that fits it; it throws JsonError where no
// such value begins.
class JsonReader {
 public:
  // Levels of nesting: deeper texts are refused, because reading them recurs and would use up the stack.
  static constexpr int kDeepest = 256;

  enum class Kind { null, boolean, number, string, array, object };
  struct Number {
    enum class Kind { negative, natural, real } kind = Kind::real;  // whole numbers that fit 64 bits, and all others
    uint64_t bits = 0;                                              // of a whole number, in two's complement
    double real = 0;
  };

  explicit JsonReader(std::string_view text) : text_(text) {}

  // Returns the kind of the value that comes next.
  Kind kind();
  void null();
  bool boolean();
  Number number();
  std::string string();
  // `item` and `member` read the value that begins there. The same name may come twice.
  void array(FunctionRef<void()> item);
  void object(FunctionRef<void(std::string name)> member);
  void skip();
  // Throws unless only spaces are left.
  void end();
  [[noreturn]] void fail(std::string_view what) const;

 private:
  char peek();
  bool accept(char c);
  void word(std::string_view text);
  void deeper();
  unsigned hex4();
  void escape(std::string& out);

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Json holds a whole text as a tree. A name that comes twice in an object is an error.
class Json {
 public:
  using Kind = JsonReader::Kind;
  using Number = JsonReader::Number;
  using Member = std::pair<std::string, Json>;

  static Json parse(std::string_view text);

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return kind_ == Kind::number; }
  bool is_number_integer() const { return is_number() && number_.kind != Number::Kind::real; }
  bool is_number_unsigned() const { return is_number() && number_.kind == Number::Kind::natural; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }

  // Returns the value as T; the caller has asked above whether it is one.
  template <class T>
  T get() const {
    if constexpr (std::is_same_v<T, bool>) {
      return number_.bits != 0;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return text_;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(number_.real);
    } else {
      return static_cast<T>(number_.bits);
    }
  }
  // Returns the value as a message shows it: a number, a bool or a quoted string as JSON writes it, else "a list" or
  // "an object".
  std::string shown() const;

  size_t size() const { return is_object() ? members_.size() : items_.size(); }
  const Json& operator[](size_t i) const { return items_[i]; }
  const std::vector<Json>& items() const { return items_; }
  const std::vector<Member>& members() const { return members_; }
  const Json* find(std::string_view name) const;  // null where there is no such member, or this is no object

 private:
  static Json read(JsonReader& reader);

  Kind kind_ = Kind::null;
  Number number_;
  std::string text_;
  std::vector<Json> items_;
  std::vector<Member> members_;
};

// JsonWriter writes one value. With an indent each member and item has a line of its own. Invalid UTF-8 becomes U+FFFD,
// and a number that is not finite becomes null.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = -1) : indent_(indent) {}

  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(double number);
  template <class T>
    requires std::is_integral_v<T>
  JsonWriter& value(T number) {
    if constexpr (std::is_signed_v<T>) return integer(number < 0, static_cast<uint64_t>(number));
    return integer(false, static_cast<uint64_t>(number));
  }
  template <std::ranges::range List>
    requires(!std::is_convertible_v<const List&, std::string_view>)
  JsonWriter& value(const List& list) {
    begin_array();
    for (const auto& item : list) value(item);
    return end_array();
  }
  template <class T>
  JsonWriter& member(std::string_view name, const T& item) {
    return key(name).value(item);
  }

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  JsonWriter& integer(bool negative, uint64_t bits);
  void quoted(std::string_view text);
  void item();
  void line();

  std::string out_;
  int indent_;
  int depth_ = 0;
  bool empty_ = true;       // whether the innermost array or object has no item yet
  bool after_key_ = false;  // the next value belongs to a key
};

// Returns whether the text is valid UTF-8.
bool is_utf8(std::string_view text);

}  // namespace neap
