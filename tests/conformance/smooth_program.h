// Makes functions at random that have every derivative, though what the library makes them of may not: a maximum inside
// logaddexp, a quotient inside sinc. Their points have zeros and equal elements, where that shows.
#pragma once

#include <neap/linalg.h>
#include <neap/neap.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {

class SmoothProgram {
 public:
  explicit SmoothProgram(uint64_t seed) : random_(seed) {
    static constexpr double kPoints[] = {0, 0, 0, 1, 1, -1, -1, 0.5, 2, -0.75};
    for (size_t i = 0, n = 1 + pick(4); i < n; ++i) point.push_back(kPoints[pick(std::size(kPoints))]);
    const eager_reference reference;
    std::vector<Array> values{array(point)};
    for (size_t i = 0, n = 1 + pick(6); i < n; ++i) {
      const Step step{pick(rows().size()), recent(values.size()), recent(values.size())};
      const Array v = apply(step, values);
      if (!all(abs(v) < 20.0).item<bool>()) continue;  // nor what is NaN
      values.push_back(v), steps_.push_back(step);
    }
  }

  std::vector<double> point;

  /// f64[n] -> f64[].
  Array operator()(const Array& x) const {
    std::vector<Array> values{x};
    for (const Step& step : steps_) values.push_back(apply(step, values));
    const Array& before = values[values.size() - std::min<size_t>(values.size(), 2)];
    return sum(values.back() * (0.5 + 0.37 * arange(x.size(), f64))) + 0.3 * sum(before);
  }

  std::string said() const {
    std::string text = fmt::format("at {}:", fmt::join(point, ", "));
    for (size_t i = 0; i < steps_.size(); ++i)
      text += fmt::format(" v{} = {}(v{}, v{});", i + 1, rows()[steps_[i].row].name, steps_[i].x, steps_[i].y);
    return text;
  }

 private:
  struct Row {
    const char* name;
    Array (*f)(const Array& x, const Array& y);  // f64[n], or what broadcasts to it
  };
  struct Step {
    size_t row, x, y;
  };

  size_t pick(size_t n) { return random_() % n; }
  size_t recent(size_t n) { return n - 1 - std::min(pick(4), n - 1); }

  static Array apply(const Step& step, const std::vector<Array>& values) {
    return broadcast_to(rows()[step.row].f(values[step.x], values[step.y]), values[0].shape());
  }

  static const std::vector<Row>& rows() {
    static const std::vector<Row> all = joined(elementwise(), over_axes());
    return all;
  }
  static std::vector<Row> joined(std::vector<Row> a, const std::vector<Row>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

#define NEAP_ROW(expression) \
  {#expression, [](const Array& x, const Array& y) -> Array { return static_cast<void>(y), expression; }}
  static std::vector<Row> elementwise() {
    return {
        NEAP_ROW(logaddexp(x, y)),
        NEAP_ROW(logaddexp(x, 0.0)),
        NEAP_ROW(logaddexp2(x, y)),
        NEAP_ROW(softplus(x)),
        NEAP_ROW(log_sigmoid(x)),
        NEAP_ROW(gelu(x)),
        NEAP_ROW(gelu_tanh(x)),
        NEAP_ROW(silu(x)),
        NEAP_ROW(mish(x)),
        NEAP_ROW(squareplus(x)),
        NEAP_ROW(sigmoid(x)),
        NEAP_ROW(tanh(x)),
        NEAP_ROW(sin(x)),
        NEAP_ROW(cos(x)),
        NEAP_ROW(exp(x)),
        NEAP_ROW(expm1(x)),
        NEAP_ROW(exp2(x)),
        NEAP_ROW(square(x)),
        NEAP_ROW(power(x, 2)),
        NEAP_ROW(power(x, 3)),
        NEAP_ROW(pow(x, 2.0)),
        NEAP_ROW(pow(x, 3.0)),
        NEAP_ROW(pow(2.0 + sin(x), y)),
        NEAP_ROW(erf(x)),
        NEAP_ROW(erfc(x)),
        NEAP_ROW(ndtr(x)),
        NEAP_ROW(erf_inv(0.5 * tanh(x))),
        NEAP_ROW(tan(0.5 * sin(x))),
        NEAP_ROW(atan(x)),
        NEAP_ROW(asin(0.5 * sin(x))),
        NEAP_ROW(acos(0.5 * sin(x))),
        NEAP_ROW(asinh(x)),
        NEAP_ROW(acosh(3.0 + sin(x))),
        NEAP_ROW(atanh(0.5 * sin(x))),
        NEAP_ROW(sinh(x)),
        NEAP_ROW(cosh(x)),
        NEAP_ROW(sinc(x)),
        NEAP_ROW(sqrt(1.0 + square(x))),
        NEAP_ROW(rsqrt(1.0 + square(x))),
        NEAP_ROW(cbrt(2.0 + sin(x))),
        NEAP_ROW(reciprocal(2.0 + sin(x))),
        NEAP_ROW(log(1.0 + square(x))),
        NEAP_ROW(log1p(square(x))),
        NEAP_ROW(log2(2.0 + sin(x))),
        NEAP_ROW(log10(2.0 + sin(x))),
        NEAP_ROW(logit(0.5 + 0.25 * sin(x))),
        NEAP_ROW(lgamma(2.0 + sin(x))),
        NEAP_ROW(digamma(2.0 + sin(x))),
        NEAP_ROW(betaln(2.0 + sin(x), 2.0 + cos(y))),
        NEAP_ROW(entr(1.0 + square(x))),
        NEAP_ROW(xlogy(x, 2.0 + sin(y))),
        NEAP_ROW(xlog1py(x, square(y))),
        NEAP_ROW(rel_entr(2.0 + sin(x), 1.0 + square(y))),
        NEAP_ROW(kl_div(2.0 + sin(x), 1.0 + square(y))),
        NEAP_ROW(hypot(x, 1.0)),
        NEAP_ROW(hypot(x, 1.0 + square(y))),
        NEAP_ROW(atan2(x, 2.0 + sin(y))),
        NEAP_ROW(nan_to_num(x)),
        NEAP_ROW(clip(x, -50.0, 50.0)),
        NEAP_ROW(maximum(x, x)),
        NEAP_ROW(minimum(x, x + 1.0)),
        NEAP_ROW(abs(3.0 + sin(x)) * x),
        NEAP_ROW(select(x < y, sin(x), sin(x))),
        NEAP_ROW(x + y),
        NEAP_ROW(x - y),
        NEAP_ROW(x * y),
        NEAP_ROW(x / (2.0 + sin(y))),
    };
  }
  static std::vector<Row> over_axes() {
    return {
        NEAP_ROW(logsumexp(x)),
        NEAP_ROW(logsumexp(stack({x, y}), 0)),
        NEAP_ROW(logsumexp(stack({x, x, 2.0 * y}), 0)),
        NEAP_ROW(softmax(x)),
        NEAP_ROW(softmax(stack({x, y}), 0)[0]),
        NEAP_ROW(log_softmax(x)),
        NEAP_ROW(cumlogsumexp(x)),
        NEAP_ROW(cumsum(x)),
        NEAP_ROW(cumprod(x)),
        NEAP_ROW(prod(x)),
        NEAP_ROW(prod(stack({x, y, x}), 0)),
        NEAP_ROW(mean(x)),
        NEAP_ROW(var(x)),
        NEAP_ROW(std(concatenate({x, x + 1.0}))),
        NEAP_ROW(standardize(concatenate({x, y + 1.0}))[slice(x.size())]),
        NEAP_ROW(sum(x * y)),
        NEAP_ROW(sum(tanh(sort(x)))),
        NEAP_ROW(logsumexp(sort(x))),
        NEAP_ROW(flip(x) * y),
        NEAP_ROW(roll(x, 1) * y),
        NEAP_ROW(take(x, zeros({x.size()}, i32)) * y),
        NEAP_ROW(x.at(zeros({2}, i32)).add(stack({y[0], sin(y[0])}))),
        NEAP_ROW(x.at(zeros({2}, i32)).mul(stack({y[0], sin(y[0])}))),
        NEAP_ROW(x.at(0).set(y[0] * y[0])),
        NEAP_ROW(matmul(outer(x, y), y)),
        NEAP_ROW(matmul(outer(x, x), x)),
        NEAP_ROW(einsum("i,j,j->i", {x, y, x})),
        NEAP_ROW(convolve(x, y, ConvolveMode::same)),
        NEAP_ROW(polyval(stack({x[0], y[0], x[0]}), y)),
        NEAP_ROW(average(x, 2.0 + sin(y), 0)),
        NEAP_ROW(glu(concatenate({x, y}))),
        NEAP_ROW(linalg::det(outer(x, y) + 3.0 * eye(x.size(), x.size(), f64))),
        NEAP_ROW(linalg::solve(outer(x, x) + 2.0 * eye(x.size(), x.size(), f64), y)),
        NEAP_ROW(vmap([](const Array& a) { return logaddexp(a, a * a); })(x)),
        NEAP_ROW(associative_scan([](const Array& a, const Array& b) { return logaddexp(a, b); }, x)),
        NEAP_ROW(fori_loop(
            0, 3, [&](const Array&, const Array& c) { return logaddexp(c, y) - 0.5; }, x)),
        NEAP_ROW(checkpoint([](const Array& a) { return softplus(sin(a)); })(x)),
        NEAP_ROW(cond(
            x[0] > y[0], [](const Array& a) { return softplus(a); }, [](const Array& a) { return softplus(a); }, x)),
    };
  }
#undef NEAP_ROW

  Random random_;
  std::vector<Step> steps_;
};

}  // namespace neap::conformance
