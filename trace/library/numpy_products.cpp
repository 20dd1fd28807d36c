// Products of numpy.h: einsum and its kin.
#include <neap/creation.h>
#include <neap/numpy.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/graph/convolution.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

// Term is an operand of an einsum and the letter of each of its axes. Axes under an ellipsis have the characters from 1
// on, the last axis the same one everywhere.
struct Term {
  Array array;
  std::string axes;
};

constexpr char kEllipsis = 0;  // stands for "..." until it is known how many axes it has

struct Formula {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

class Einsum {
 public:
  Einsum(std::string_view formula, std::source_location loc) : text_(formula), loc_(loc) {}

  Array operator()(const std::vector<Array>& arrays) {
    const Formula formula = parse();
    if (formula.operands.size() != arrays.size() || arrays.empty())
      fail(fmt::format("{} arrays", arrays.size()), fmt::format("{}", formula.operands.size()));
    for (size_t i = 0; i < arrays.size(); ++i) add(arrays[i], formula.operands[i]);
    result_ = formula.result ? expanded(*formula.result, most_) : implied();
    for (size_t i = 0; i < result_.size(); ++i)
      if (result_.find(result_[i]) != i || !in_some(result_[i]))
        fail("a result with an axis twice, or one that no array has", "each axis of the result once");
    stretch();
    for (Term& term : terms_) sum_alone(term);
    while (terms_.size() > 1) multiply_two();
    Term& last = terms_[0];
    sum_alone(last);
    Shape permutation;
    for (const char axis : result_) permutation.push_back(static_cast<int64_t>(last.axes.find(axis)));
    return transpose(last.array, permutation);
  }

 private:
  [[noreturn]] void fail(std::string got, std::string expected) const {
    throw_user<ShapeError>("einsum", std::move(got), std::move(expected), fmt::format("in \"{}\"", text_),
                           user_line(loc_));
  }

  Formula parse() const {
    Formula formula;
    std::string current;
    bool arrow = false;
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == ' ') continue;
      if (text_.substr(i, 3) == "...") {
        if (current.find(kEllipsis) != std::string::npos) fail("two ellipses in one array", "one at most");
        current.push_back(kEllipsis);
        i += 2;
      } else if (text_.substr(i, 2) == "->" && !arrow) {
        formula.operands.push_back(std::exchange(current, {}));
        arrow = true;
        ++i;
      } else if (c == ',' && !arrow) {
        formula.operands.push_back(std::exchange(current, {}));
      } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        current.push_back(c);
      } else {
        const bool prints = c >= ' ' && c <= '~';  // not a byte of what is beyond ASCII
        fail(prints ? fmt::format("'{}'", c) : fmt::format("byte {:#04x}", static_cast<unsigned char>(c)),
             "letters, commas, ... and one ->");
      }
    }
    if (arrow)
      formula.result = current;
    else
      formula.operands.push_back(current);
    return formula;
  }

  static std::string expanded(const std::string& axes, int64_t hidden) {
    std::string result;
    for (const char c : axes) {
      if (c != kEllipsis)
        result.push_back(c);
      else
        for (int64_t i = hidden; i > 0; --i) result.push_back(static_cast<char>(i));
    }
    return result;
  }

  // Adds the array with each of its axes once: of those that appear twice, the diagonal.
  void add(const Array& array, const std::string& axes) {
    const bool hides = axes.find(kEllipsis) != std::string::npos;
    const int64_t hidden = array.ndim() - std::ssize(axes) + hides;
    if (hidden < 0 || hidden > 26 || (!hides && hidden > 0))
      fail(to_string(array.aval()), fmt::format("{} axes{}", std::ssize(axes) - hides, hides ? " or more" : ""));
    most_ = std::max(most_, hides ? hidden : 0);
    Term term{array, expanded(axes, hidden)};
    for (size_t i = 0; i < term.axes.size(); ++i) {
      const size_t again = term.axes.find(term.axes[i], i + 1);
      if (again == std::string::npos) continue;
      if (term.array.shape(static_cast<int64_t>(i)) != term.array.shape(static_cast<int64_t>(again)))
        fail(fmt::format("'{}' of {}", term.axes[i], to_string(array.aval())), "equally long axes");
      term.array = diagonal(term.array, 0, static_cast<int64_t>(i), static_cast<int64_t>(again));
      const char axis = term.axes[i];
      term.axes.erase(again, 1);
      term.axes.erase(i, 1);
      term.axes.push_back(axis);
      i = static_cast<size_t>(-1);  // from the start
    }
    terms_.push_back(std::move(term));
  }

  // Returns the result's axes where there is no "->": the ellipsis, then the letters that appear once, in order.
  std::string implied() const {
    std::string once;
    for (const char c : text_)
      if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && std::ranges::count(text_, c) == 1) once.push_back(c);
    std::ranges::sort(once);
    return expanded(std::string(1, kEllipsis), most_) + once;
  }

  bool in_some(char axis) const {
    return std::ranges::any_of(terms_, [&](const Term& t) { return t.axes.find(axis) != std::string::npos; });
  }

  // Drops axes of extent 1 that stretch to what others have; they come back in the product.
  void stretch() {
    for (const Term& term : terms_)
      for (size_t i = 0; i < term.axes.size(); ++i) {
        int64_t& extent = extents_.try_emplace(term.axes[i], 1).first->second;
        const int64_t own = term.array.shape()[i];
        if (own == 1) continue;
        if (extent != 1 && extent != own) fail(fmt::format("an axis of {} and of {}", extent, own), "equal extents");
        extent = own;
      }
    for (Term& term : terms_) {
      Shape kept;
      std::string axes;
      for (size_t i = 0; i < term.axes.size(); ++i) {
        if (term.array.shape()[i] == 1 && extents_.at(term.axes[i]) != 1) continue;
        kept.push_back(term.array.shape()[i]);
        axes.push_back(term.axes[i]);
      }
      term.array = reshape(term.array, kept);
      term.axes = axes;
    }
  }

  bool needed(char axis, const Term& except, const Term* and_except = nullptr) const {
    if (result_.find(axis) != std::string::npos) return true;
    return std::ranges::any_of(terms_, [&](const Term& t) {
      return &t != &except && &t != and_except && t.axes.find(axis) != std::string::npos;
    });
  }

  // Sums over the axes that only this term has.
  void sum_alone(Term& term) {
    Shape summed;
    std::string kept;
    for (size_t i = 0; i < term.axes.size(); ++i) {
      if (needed(term.axes[i], term))
        kept.push_back(term.axes[i]);
      else
        summed.push_back(static_cast<int64_t>(i));
    }
    if (summed.empty()) return;
    term.array = sum(term.array, summed).astype(term.array.dtype());
    term.axes = kept;
  }

  struct Product {
    std::string batch, left, right, contracted;
  };
  Product product(const Term& a, const Term& b) const {
    Product p;
    for (const char axis : a.axes) {
      const bool shared = b.axes.find(axis) != std::string::npos;
      if (!shared)
        p.left.push_back(axis);
      else if (needed(axis, a, &b))
        p.batch.push_back(axis);
      else
        p.contracted.push_back(axis);
    }
    for (const char axis : b.axes)
      if (a.axes.find(axis) == std::string::npos) p.right.push_back(axis);
    return p;
  }

  void multiply_two() {
    size_t first = 0, second = 1;
    double least = -1;
    for (size_t i = 0; i < terms_.size(); ++i)
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        const Product p = product(terms_[i], terms_[j]);
        double size = 1;
        for (const char axis : p.batch + p.left + p.right) size *= static_cast<double>(extents_.at(axis));
        if (least >= 0 && size >= least) continue;
        least = size, first = i, second = j;
      }
    const Term &a = terms_[first], &b = terms_[second];
    const Product p = product(a, b);
    const auto of = [](const Term& t, const std::string& axes) {
      Shape places;
      for (const char axis : axes) places.push_back(static_cast<int64_t>(t.axes.find(axis)));
      return places;
    };
    Term joined{dot_general(a.array, b.array, of(a, p.contracted), of(b, p.contracted), of(a, p.batch), of(b, p.batch)),
                p.batch + p.left + p.right};
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
    terms_[first] = std::move(joined);
  }

  std::string_view text_;
  std::source_location loc_;
  std::vector<Term> terms_;
  std::string result_;
  int64_t most_ = 0;  // axes under an ellipsis
  std::map<char, int64_t> extents_;
};

}  // namespace

Array einsum(std::string_view formula, const std::vector<Array>& arrays, std::source_location loc) {
  const AtLine line(loc);
  return composite("einsum " + std::string(formula), promoted(arrays, loc),
                   [&](const Arrays& in) { return Einsum(formula, loc)(in); });
}

Array tensordot(const Operand& x, const Operand& y, const Shape& x_axes, const Shape& y_axes) {
  const AtLine line(x.loc());
  const auto axes = [&](const Shape& list, const Operand& of) {
    return Shape(normalize_axes(list, static_cast<int64_t>(of.shape().size()), "tensordot", user_line(x.loc())));
  };
  return dot_general(x, y, axes(x_axes, x), axes(y_axes, y));
}
Array tensordot(const Operand& x, const Operand& y, int64_t axes) {
  const auto ndim = static_cast<int64_t>(x.shape().size());
  if (axes < 0 || axes > ndim || axes > std::ssize(y.shape()))
    throw_user<ShapeError>("tensordot",
                           fmt::format("{} axes of {} and {}", axes, to_string(x.shape()), to_string(y.shape())),
                           "at most as many as both have", "", user_line(x.loc()));
  Shape last(static_cast<size_t>(axes)), first = last;
  std::iota(last.begin(), last.end(), ndim - axes);
  std::iota(first.begin(), first.end(), 0);
  return tensordot(x, y, last, first);
}
Array inner(const Operand& x, const Operand& y) {
  if (x.shape().empty() || y.shape().empty()) return x * y;
  return tensordot(x, y, Shape{-1}, Shape{-1});
}
Array vdot(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  return dot(conj(ravel(x)), ravel(y));
}

Array kron(const Operand& x, const Operand& y) {
  const AtLine line(x.loc());
  const size_t ndim = std::max(x.shape().size(), y.shape().size());
  Shape a = x.shape(), b = y.shape(), wide_a, wide_b, result;
  a.insert(a.begin(), ndim - a.size(), 1);
  b.insert(b.begin(), ndim - b.size(), 1);
  for (size_t i = 0; i < ndim; ++i) {
    wide_a.insert(wide_a.end(), {a[i], 1});
    wide_b.insert(wide_b.end(), {1, b[i]});
    result.push_back((Size(a[i]) * b[i]).value("kron", "an extent", user_line(x.loc())));
  }
  check_extents("kron", result, x.dtype(), user_line(x.loc()));
  return reshape(reshape(x, wide_a) * reshape(y, wide_b), result);
}

Array cross(const Operand& x, const Operand& y, int64_t axis) {
  const AtLine line(x.loc());
  const auto third = [&](const Operand& v) {
    const int64_t a = normalize_axis(axis, static_cast<int64_t>(v.shape().size()), "cross", user_line(x.loc()));
    if (v.shape()[a] != 3)
      throw_user<ShapeError>("cross", to_string(v.as_array().aval()), fmt::format("three elements along axis {}", axis),
                             "", user_line(x.loc()));
    return moveaxis(v, a, -1);
  };
  const Array a = third(x), b = third(y);
  const auto turned = [](const Array& v, int64_t by) { return roll(v, by, -1); };
  return moveaxis(turned(a, -1) * turned(b, -2) - turned(a, -2) * turned(b, -1), -1, axis);
}

Array polyval(const Operand& coefficients, const Operand& x) {
  const AtLine line(x.loc());
  const std::array<const Operand*, 2> operands{&coefficients, &x};
  const DType dtype = common_dtype(operands);
  const Array c = coefficients.as(dtype), at = x.as(dtype);
  if (c.ndim() != 1) throw_user<ShapeError>("polyval", to_string(c.aval()), "one axis", "", user_line(x.loc()));
  Array value = zeros_like(at);
  for (int64_t i = 0; i < c.size(); ++i) value = value * at + c[i];
  return value;
}

Array correlate(const Operand& x, const Operand& y, ConvolveMode mode) {
  const AtLine line(x.loc());
  const Array w = conj(y);
  const bool swapped = w.size() > x.as_array().size();
  return swapped ? flip(convolve(w, flip(x), mode)) : convolve(x, flip(w), mode);
}

Array convolve(const Operand& x, const Operand& y, ConvolveMode mode) {
  const AtLine line(x.loc());
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType dtype = common_dtype(operands);
  const DType computed = dtype == DType::bool_ ? DType::i32 : dtype;
  Array a = x.as(computed), v = y.as(computed);
  if (a.ndim() != 1 || v.ndim() != 1 || a.size() == 0 || v.size() == 0)
    throw_user<ShapeError>("convolve", to_string(a.aval()) + " and " + to_string(v.aval()), "one axis each, not empty",
                           "", user_line(x.loc()));
  if (v.size() > a.size()) std::swap(a, v);
  const int64_t n = a.size(), m = v.size();
  int64_t before = m - 1, after = m - 1;
  if (mode == ConvolveMode::valid) before = after = 0;
  if (mode == ConvolveMode::same) before = m / 2, after = m - m / 2 - 1;
  const int64_t count = (Size(n) + before + after).value("convolve", "the result", user_line(x.loc())) - m + 1;
  const Ints axes{0, 1, 2, 3};
  const Window window{.size = m, .low = before, .high = after};
  const Array out = apply(Op::convolution, {reshape(a, {1, 1, 1, n}), reshape(flip(v), {1, 1, 1, m})},
                          convolution_attrs(axes, axes, axes, std::array{window}), x.loc());
  return reshape(out, {count}).astype(dtype);
}

}  // namespace neap
