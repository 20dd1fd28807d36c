// Derivatives, to the third order, against differences of the derivative before.
#pragma once

#include <optional>

#include "tests/conformance/smooth_program.h"

namespace neap::conformance {

struct Quotient {
  double slope, error;
};

/// The derivative along one direction of a function of one number, at 0, from values of the function beside it but not
/// there, and how far two step sizes disagree; nullopt where it seems to have none, or one too large to tell.
inline std::optional<Quotient> difference_quotient(const std::function<double(double)>& f) {
  constexpr double h = 1e-4;
  const double near[] = {f(-h), f(h)}, far[] = {f(-2 * h), f(2 * h)};
  const double left = (near[0] - far[0]) / h, right = (far[1] - near[1]) / h;
  const double narrow = (near[1] - near[0]) / (2 * h), wide = (far[1] - far[0]) / (4 * h);
  const double scale = 1 + std::abs(narrow);
  if (!(scale < 1e4) || !(std::abs(near[0]) < 1e4)) return {};
  const double bend = 1e-2 * scale;  // more than that between h and 2 h is a kink, or as good as one
  if (!(std::abs(left - right) < bend && std::abs(narrow - wide) < bend)) return {};
  return Quotient{(4 * narrow - wide) / 3, std::abs(narrow - wide)};
}

/// The derivative of f, a function of (x, more...), along d in x: a function of (x, more..., d). In one of the ways
/// that there are.
inline tracing::ArrayFunction derivative(tracing::ArrayFunction f, size_t way) {
  return [f = std::move(f), way](const Arrays& in) {
    const Arrays more(in.begin() + 1, in.end() - 1);
    const auto at = [&](const Array& x) {
      Arrays all{x};
      all.insert(all.end(), more.begin(), more.end());
      return f(all)[0];
    };
    const Array &x = in.front(), d = in.back();
    switch (way) {
      case 0: return Arrays{jvp(at, std::tuple(x), std::tuple(d)).tangent};
      case 1: return Arrays{linearize(at, x).second(d)};
      case 2: return Arrays{sum(jacfwd(at)(x) * d)};
      case 3: return Arrays{sum(vjp(checkpoint(at), x).second(ones({}, f64)) * d)};
      default: return Arrays{sum(grad(at)(x) * d)};
    }
  };
}

/// Which derivative of the program is not what differences say; empty if none.
inline std::string wrong_derivative(const SmoothProgram& f, uint64_t seed) {
  Random random(seed ^ 0x9e3779b97f4a7c15);
  const auto n = static_cast<int64_t>(f.point.size());
  const auto direction = [&] {
    std::vector<double> d;
    for (int64_t i = 0; i < n; ++i) d.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
    return array(d);
  };
  tracing::ArrayFunction of = [&](const Arrays& in) { return Arrays{f(in[0])}; };
  std::vector<Aval> avals{{{n}, f64}};
  Graph graph = tracing::trace_closed(avals, of);
  Arrays inputs{array(f.point)};
  std::string ways;
  for (int order = 1; order <= 3; ++order) {
    const size_t way = random() % 5;
    ways += fmt::format(" {}", way);
    of = derivative(of, way);
    avals.push_back(avals[0]);
    const Graph next = tracing::trace_closed(avals, of);
    Arrays more = inputs;
    more.push_back(direction());
    const std::vector<double> d = more.back().to_vector<double>();
    const std::optional<Quotient> want = difference_quotient([&](double h) {
      std::vector<double> moved = f.point;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += h * d[i];
      inputs[0] = array(moved);
      return reference(graph, inputs)[0].item<double>();
    });
    if (!want) return {};
    const double got = reference(next, more)[0].item<double>();
    if (!(std::abs(got - want->slope) <= 1e-5 * (1 + std::abs(want->slope)) + 2 * want->error))
      return fmt::format("derivative {} (ways{}): {:.9g}, differences {:.9g}", order, ways, got, want->slope);
    graph = next, inputs = std::move(more);
  }
  return {};
}

inline void check_derivatives(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  try {
    const SmoothProgram f(seed);
    EXPECT_EQ(wrong_derivative(f, seed), "") << f.said();
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

}  // namespace neap::conformance
