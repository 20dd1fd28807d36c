// Arrays as text, in NumPy's layout (numpy.set_printoptions' defaults): numbers have as many digits as tell them from
// their neighbours, at most eight behind the point, and stand in columns. Tested in tests/jit/values_test.cpp.
#include <neap/array.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

#include "core/convert.h"
#include "core/dispatch.h"
#include "trace/tracing/tracing.h"

namespace neap {

namespace {

constexpr int64_t kThreshold = 1000;  // elements; of more the middle is left out
constexpr int64_t kEdge = 3;          // elements that stay at either end of an axis
constexpr size_t kColumns = 75;       // of a line
constexpr int kDigits = 8;            // behind the point

template <class T>
std::string digits(T x, std::chars_format format, int precision = -1) {
  char text[512];  // the largest double has 309 digits before the point
  const auto end = precision < 0 ? std::to_chars(text, std::end(text), x, format).ptr
                                 : std::to_chars(text, std::end(text), x, format, precision).ptr;
  return {text, end};
}

// Mantissa and exponent, or what is before and behind the point, of a number's shortest text.
struct Text {
  std::string whole, fraction, exponent;
};

template <class T>
Text text_of(T x, bool scientific) {
  if (std::isnan(x)) return {"nan", "", ""};
  if (std::isinf(x)) return {x < 0 ? "-inf" : "inf", "", ""};
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto split = [](const std::string& all) {
    const size_t e = all.find('e'), point = all.find('.');
    const std::string mantissa = all.substr(0, e);
    Text text{mantissa.substr(0, point), point < mantissa.size() ? mantissa.substr(point + 1) : "",
              e == std::string::npos ? "" : all.substr(e)};
    return text;
  };
  Text text = split(digits(x, format));
  if (text.fraction.size() > kDigits) text = split(digits(x, format, kDigits));
  text.fraction.erase(text.fraction.find_last_not_of('0') + 1);
  return text;
}

// How the elements of an array that are shown become texts of one width.
template <class T>
class Column {
 public:
  void see(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(x) || x == 0) return;
      most_ = std::max(most_, std::abs(x));
      least_ = std::min(least_, std::abs(x));
    }
  }
  // Behind see() of all.
  void measure(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      scientific_ = most_ >= T(1e8) || (most_ > 0 && (least_ < T(1e-4) || most_ / least_ > T(1000)));
      const Text text = text_of(x, scientific_);
      if (!std::isfinite(x)) {
        special_ = std::max(special_, text.whole.size());
        return;
      }
      whole_ = std::max(whole_, text.whole.size());
      fraction_ = std::max(fraction_, text.fraction.size());
      exponent_ = std::max(exponent_, text.exponent.size());
    } else {
      whole_ = std::max(whole_, plain(x).size());
    }
  }
  std::string show(T x) const {
    if constexpr (!std::is_floating_point_v<T>) {
      return fmt::format("{:>{}}", plain(x), whole_);
    } else {
      const size_t finite = whole_ == 0 ? 0 : whole_ + 1 + fraction_ + exponent_, width = std::max(finite, special_);
      const Text text = text_of(x, scientific_);
      if (!std::isfinite(x)) return fmt::format("{:>{}}", text.whole, width);
      const char fill = scientific_ ? '0' : ' ';
      const std::string fraction = text.fraction + std::string(fraction_ - text.fraction.size(), fill);
      std::string exponent = text.exponent;  // "e-05"
      if (scientific_) exponent.insert(2, exponent_ - exponent.size(), '0');
      return fmt::format("{:>{}}", fmt::format("{:>{}}.{}{}", text.whole, whole_, fraction, exponent), width);
    }
  }

 private:
  static std::string plain(T x) {
    if constexpr (std::is_same_v<T, bool>) {
      return x ? "True" : "False";
    } else {
      return fmt::format("{}", +x);
    }
  }

  T most_ = 0, least_ = std::numeric_limits<T>::max();
  bool scientific_ = false;
  size_t whole_ = 0, fraction_ = 0, exponent_ = 0, special_ = 0;
};

template <class T>
struct Parts {
  static constexpr bool complex = false;
  using type = T;
  static T shown(T x) { return x; }
};
// The number with the fewest digits that is rounded to this half, as a double, whose digits those are.
template <class Half>
struct HalfParts {
  static constexpr bool complex = false;
  using type = double;
  static double shown(Half x) {
    constexpr int kMostDigits = 5;  // tell any two halves apart
    const auto value = static_cast<double>(static_cast<float>(x));
    if (!std::isfinite(value)) return value;
    for (int precision = 0; precision < kMostDigits; ++precision) {
      const std::string text = digits(value, std::chars_format::scientific, precision);
      double read = 0;
      std::from_chars(text.data(), text.data() + text.size(), read);
      if (Half::from_double(read).bits == x.bits) return read;
    }
    return value;
  }
};
template <>
struct Parts<float16> : HalfParts<float16> {};
template <>
struct Parts<bfloat16> : HalfParts<bfloat16> {};
template <class T>
struct Parts<std::complex<T>> {
  static constexpr bool complex = true;
  using type = T;
};

template <class T>
class Printer {
 public:
  Printer(const T* data, const Shape& shape) : data_(data), shape_(shape), all_(element_count(shape) <= kThreshold) {
    if (element_count(shape) == 0) return;
    const auto each = [&](const auto& f) { visit(0, 0, f); };
    each([&](int64_t i) { look(i, [](auto& column, auto x) { column.see(x); }); });
    each([&](int64_t i) { look(i, [](auto& column, auto x) { column.measure(x); }); });
  }

  std::string text() const {
    if (element_count(shape_) == 0) return "[]";
    return shape_.empty() ? scalar() : rows(0, 0, 1);
  }

 private:
  using Part = typename Parts<T>::type;

  // Calls f with the number of each element that is shown.
  template <class F>
  void visit(size_t axis, int64_t begin, const F& f) {
    if (axis == shape_.size()) return f(begin);
    for (int64_t i = 0; i < shape_[axis]; i = next(axis, i)) visit(axis + 1, begin * shape_[axis] + i, f);
  }
  bool cuts(size_t axis) const { return !all_ && shape_[axis] > 2 * kEdge; }
  int64_t next(size_t axis, int64_t i) const { return cuts(axis) && i + 1 == kEdge ? shape_[axis] - kEdge : i + 1; }

  template <class F>
  void look(int64_t i, const F& f) {
    if constexpr (Parts<T>::complex) {
      f(real_, data_[i].real());
      f(imag_, std::abs(data_[i].imag()));
    } else {
      f(real_, Parts<T>::shown(data_[i]));
    }
  }

  std::string element(int64_t i) const {
    if constexpr (Parts<T>::complex) {
      const Part imag = data_[i].imag();
      std::string text = imag_.show(std::abs(imag));
      text.insert(text.find_last_not_of(' ') + 1, "j");
      text.insert(text.find_first_not_of(' '), std::signbit(imag) ? "-" : "+");
      return real_.show(data_[i].real()) + text;
    } else {
      return real_.show(Parts<T>::shown(data_[i]));
    }
  }

  // One number alone, with one digit behind the point at least.
  std::string scalar() const {
    if constexpr (std::is_floating_point_v<Part> && !Parts<T>::complex) {
      const Part x = Parts<T>::shown(data_[0]), size = std::abs(x);
      if (!std::isfinite(x)) return element(0);
      if (size != 0 && (size < Part(1e-4) || size >= Part(1e16))) return digits(x, std::chars_format::scientific);
      const std::string text = digits(x, std::chars_format::fixed);
      return text.find('.') == std::string::npos ? text + ".0" : text;
    } else {
      return element(0);
    }
  }

  // One axis, its bracket at column `indent` - 1.
  std::string rows(size_t axis, int64_t begin, size_t indent) const {
    const bool last = axis + 1 == shape_.size();
    std::string text = "[";
    size_t column = indent;
    const auto add = [&](const std::string& item, bool first) {
      if (last) {
        const bool breaks = !first && column + 1 + item.size() > kColumns - 1;
        if (breaks) {
          text.erase(text.find_last_not_of(' ') + 1);
          text += "\n" + std::string(indent, ' ');
          column = indent;
        } else if (!first) {
          text += " ";
          ++column;
        }
        column += item.size();
      } else if (!first) {
        text += std::string(shape_.size() - axis - 1, '\n') + std::string(indent, ' ');
      }
      text += item;
    };
    for (int64_t i = 0; i < shape_[axis]; i = next(axis, i)) {
      if (cuts(axis) && i == shape_[axis] - kEdge) add("...", false);
      const int64_t at = begin * shape_[axis] + i;
      add(last ? element(at) : rows(axis + 1, at, indent + 1), i == 0);
    }
    return text + "]";
  }

  const T* data_;
  const Shape& shape_;
  bool all_;
  Column<Part> real_, imag_;
};

}  // namespace

std::string to_string(const Array& x) {
  using Kind = detail::ArrayImpl::Kind;
  if (!x.impl()) return "(an array without a value)";
  const Aval& aval = x.impl()->aval;
  switch (x.impl()->kind) {
    case Kind::traced: return to_string(aval) + " (traced)";
    case Kind::spec: return to_string(aval) + " (spec)";
    case Kind::donated: return to_string(aval) + " (donated)";
    case Kind::concrete: break;
  }
  const std::byte* const data = x.raw().data();
  return dispatch_all(aval.dtype, [&]<class T>() {
    const std::string text = Printer<T>(reinterpret_cast<const T*>(data), aval.shape).text();
    return to_string(aval) + (text.find('\n') == std::string::npos ? " " : "\n") + text;
  });
}

std::ostream& operator<<(std::ostream& out, const Array& x) { return out << to_string(x); }

}  // namespace neap
