// Reads what print.cpp writes; the grammar is there.
#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/ascii.h"
#include "trace/graph/graph.h"
#include "trace/graph/host_call.h"
#include "trace/graph/mesh.h"
#include "trace/graph/op_table.h"

namespace neap::tracing {
namespace {

std::optional<Attr> find_attr(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(Attr::vectors); ++i) {
    if (name(static_cast<Attr>(i)) == text) return static_cast<Attr>(i);
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Graph whole() {
    Graph result = graph();
    skip();
    if (position_ != text_.size()) fail("text after the graph");
    return result;
  }

 private:
  // One graph's values by their printed number.
  using Numbers = std::unordered_map<int64_t, ValueId>;
  struct Definition {
    int64_t number;
    Aval aval;
  };

  [[noreturn]] void fail(const std::string& message) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position_), '\n');
    throw UserError(fmt::format("parse: {} in line {} of the graph", message, line));
  }

  void skip() {
    while (position_ < text_.size()) {
      if (ascii::is_space(text_[position_])) {
        ++position_;
      } else if (text_.substr(position_, 2) == "//") {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else {
        return;
      }
    }
  }
  char peek() {
    skip();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}' expected", token));
  }
  std::string_view word() {
    skip();
    const size_t begin = position_;
    while (position_ < text_.size() && (ascii::is_alnum(text_[position_]) || text_[position_] == '_')) {
      ++position_;
    }
    if (position_ == begin) fail("a name expected");
    return text_.substr(begin, position_ - begin);
  }
  // Returns the longest run of characters that a number may hold.
  std::string_view number_text() {
    skip();
    const size_t begin = position_;
    while (position_ < text_.size() && (ascii::is_alnum(text_[position_]) ||
                                        std::string_view("+-.").find(text_[position_]) != std::string_view::npos)) {
      ++position_;
    }
    return text_.substr(begin, position_ - begin);
  }
  template <class T>
  T number(std::string_view token) const {
    T value{};
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || end != token.data() + token.size()) fail(fmt::format("'{}' is no number", token));
    return value;
  }
  int64_t integer() { return number<int64_t>(number_text()); }

  Ints list() {
    Ints items;
    expect("[");
    if (accept("]")) return items;
    do items.push_back(integer());
    while (accept(","));
    expect("]");
    return items;
  }

  std::string string() {
    expect("\"");
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
      char c = text_[position_++];
      if (c == '\\' && position_ < text_.size()) {
        c = text_[position_++];
        if (c == 'n') c = '\n';
      }
      out += c;
    }
    expect("\"");
    return out;
  }

  int64_t ref() {
    expect("%");
    return integer();
  }
  ValueId use(const Numbers& numbers) {
    const int64_t n = ref();
    const auto it = numbers.find(n);
    if (it == numbers.end()) fail(fmt::format("%{} is not defined", n));
    return it->second;
  }

  Definition definition() {
    Definition result{ref(), {}};
    expect(":");
    const std::string_view dtype = word();
    const auto parsed = parse_dtype(dtype);
    if (!parsed) fail(fmt::format("'{}' is no dtype", dtype));
    result.aval = {list(), *parsed};
    return result;
  }

  void define(Numbers& numbers, int64_t number, ValueId value) {
    if (!numbers.emplace(number, value).second) fail(fmt::format("%{} is defined twice", number));
  }

  AttrValue attr_value() {
    const char c = peek();
    if (c == '[') return list();
    if (c == '"') return string();
    if (c == '@') return function();
    if (c == '<') return mesh_axis();
    if (text_.substr(position_).starts_with("graph")) return std::make_shared<const Graph>(graph());
    const std::string_view token = number_text();
    if (const auto dtype = parse_dtype(token)) return *dtype;
    if (token == "nan" && accept(":")) {
      const std::string_view digits = word();
      uint64_t bits = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
      if (error != std::errc() || end != digits.data() + digits.size()) fail(fmt::format("'{}' is no number", digits));
      return std::bit_cast<double>(bits);
    }
    if (token.find_first_of(".en") == std::string_view::npos) return number<int64_t>(token);
    if (token == "nan") return std::numeric_limits<double>::quiet_NaN();
    return number<double>(token);
  }

  HostFunctionPtr function() {
    expect("@");
    const int64_t number = integer();
    if (peek() == '"') string();
    HostFunctionPtr found = find_host_function(static_cast<uint64_t>(number));
    if (!found) fail(fmt::format("@{} is a function of another process, or is no more,", number));
    return found;
  }

  MeshAxisPtr mesh_axis() {
    expect("<");
    std::string name = string();
    const int64_t size = integer();
    if (size < 1) fail(fmt::format("an axis of {} ranks", size));
    expect(">");
    return std::make_shared<const MeshAxis>(MeshAxis{std::move(name), size});
  }

  Attrs attrs() {
    Attrs result;
    if (!accept("{")) return result;
    do {
      const std::string_view key = word();
      const auto attr = find_attr(key);
      if (!attr) fail(fmt::format("no attribute '{}'", key));
      expect("=");
      result.set(*attr, attr_value());
    } while (accept(","));
    expect("}");
    return result;
  }

  void node(Graph& graph, Numbers& numbers) {
    std::vector<Definition> outputs;
    if (peek() != '=') {
      do outputs.push_back(definition());
      while (accept(","));
    }
    expect("=");
    const std::string_view op_name = word();
    const auto op = find_op(op_name);
    if (!op) fail(fmt::format("no op '{}'", op_name));
    std::vector<ValueId> operands;
    // An operand and the next node's first output look alike, but that a colon follows the latter.
    while (peek() == '%' && !is_definition()) operands.push_back(use(numbers));
    const NodeId id = append(graph, *op, std::move(operands), attrs());
    const std::vector<ValueId>& made = graph.nodes[id].outputs;
    if (made.size() != outputs.size()) fail(fmt::format("{} has {} outputs", op_name, made.size()));
    for (size_t i = 0; i < made.size(); ++i) {
      if (graph.aval(made[i]) != outputs[i].aval) {
        fail(fmt::format("{} gives {}, not {},", op_name, to_string(graph.aval(made[i])), to_string(outputs[i].aval)));
      }
      define(numbers, outputs[i].number, made[i]);
    }
  }

  NodeId append(Graph& graph, Op op, std::vector<ValueId> operands, Attrs attrs) const {
    try {
      return graph.add_node(op, std::move(operands), std::move(attrs), std::source_location());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  bool is_definition() {
    const size_t before = position_;
    ref();
    const bool result = peek() == ':';
    position_ = before;
    return result;
  }

  Graph graph() {
    Graph result;
    Numbers numbers;
    expect("graph");
    if (++depth_ > kDeepest) fail(fmt::format("a graph within {} others", kDeepest));
    if (peek() == '"') result.name = string();
    if (accept("captured")) {
      expect("=");
      result.num_captured = static_cast<int>(integer());
    }
    expect("(");
    if (peek() == '%') {
      do {
        Definition input = definition();
        define(numbers, input.number, result.add_input(std::move(input.aval)));
      } while (accept(","));
    }
    expect(")");
    expect("{");
    while (peek() == '%' || peek() == '=') node(result, numbers);
    expect("return");
    if (peek() == '%') {
      do result.outputs.push_back(use(numbers));
      while (accept(","));
    }
    expect("}");
    --depth_;
    return result;
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;  // graphs around this one, and it
};

}  // namespace

Graph parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace neap::tracing
