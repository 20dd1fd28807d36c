// odeint on leaves.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/ode.h>
#include <neap/transforms.h>

#include <array>
#include <limits>

#include <fmt/format.h>

#include "trace/library/krylov.h"

namespace neap::detail {

using namespace tracing;
using Loc = std::source_location;

namespace {

constexpr size_t kStages = 7;
// Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980), RK5(4)7M.
constexpr std::array<double, kStages> kTimes{0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr std::array<double, kStages> kStep[kStages] = {
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
constexpr std::array<double, kStages> kError{35.0 / 384 - 1951.0 / 21600,
                                             0,
                                             500.0 / 1113 - 22642.0 / 50085,
                                             125.0 / 192 - 451.0 / 720,
                                             -2187.0 / 6784 + 12231.0 / 42400,
                                             11.0 / 84 - 649.0 / 6300,
                                             -1.0 / 60};
// Shampine, "Some practical Runge-Kutta formulas" (1986): the value in the middle of a step.
constexpr std::array<double, kStages> kMiddle{6025192743.0 / 30085553152.0 / 2,     0,
                                              51252292925.0 / 65400821598.0 / 2,    -2691868925.0 / 45128329728.0 / 2,
                                              187940372067.0 / 1594534317056.0 / 2, -1776094331.0 / 19743644256.0 / 2,
                                              11237099.0 / 235043384.0 / 2};

// Equation is dy/dt = f(y, t) and how exactly it is solved.
struct Equation {
  const TracedFunction& f;  // (y, t) -> dy
  OdeOptions options;
  Loc loc;

  Arrays operator()(const Arrays& y, const Array& t) const {
    Arrays in = y;
    in.push_back(t);
    in.insert(in.end(), f.captured.begin(), f.captured.end());
    return inline_graph(f.graph, in);
  }
};

Array factor_like(const Array& scalar, const Array& like) { return scalar.astype(like.dtype()); }

// Returns y + h (w[0] k[0] + w[1] k[1] + ...), of one leaf.
Array moved(const Array& y, const Array& h, const std::vector<Arrays>& k, size_t leaf,
            const std::array<double, kStages>& w) {
  Array total;
  for (size_t i = 0; i < k.size(); ++i) {
    if (w[i] == 0) continue;
    const Array term = w[i] * k[i][leaf];
    total = total.impl() ? total + term : term;
  }
  return y.impl() ? y + factor_like(h, total) * total : factor_like(h, total) * total;
}

// Returns the root of the mean of the squares of x / scale, over all leaves.
Array scaled_norm(const Arrays& x, const Arrays& scale, DType dtype) {
  Array total = zeros({}, dtype);
  int64_t elements = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Array ratio = x[i].astype(wide(x[i].dtype())) / scale[i];
    total = total + sum(squared_magnitude(ratio)).astype(dtype);
    elements += ratio.size();
  }
  return sqrt(total / static_cast<double>(std::max<int64_t>(elements, 1)));
}
// Returns atol + rtol |y|; with another y, of the larger.
Arrays scale_of(const OdeOptions& options, const Arrays& y, const Arrays& other) {
  Arrays out;
  for (size_t i = 0; i < y.size(); ++i) {
    const DType t = wide(y[i].dtype());
    out.push_back(options.atol + options.rtol * maximum(abs(y[i].astype(t)), abs(other[i].astype(t))));
  }
  return out;
}

// Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4: the length of the first step.
Array first_step(const Equation& f, const Arrays& y0, const Arrays& f0, const Array& t0) {
  const DType dtype = t0.dtype();
  const Arrays scale = scale_of(f.options, y0, y0);
  const Array d0 = scaled_norm(y0, scale, dtype), d1 = scaled_norm(f0, scale, dtype);
  const Array h0 = where((d0 < 1e-5) | (d1 < 1e-5), full({}, 1e-6, dtype), 0.01 * d0 / d1);
  Arrays y1, change;
  for (size_t i = 0; i < y0.size(); ++i) y1.push_back(y0[i] + factor_like(h0, y0[i]) * f0[i]);
  const Arrays f1 = f(y1, t0 + h0);
  for (size_t i = 0; i < y0.size(); ++i) change.push_back(f1[i] - f0[i]);
  const Array d2 = scaled_norm(change, scale, dtype) / h0;
  const Array h1 = where((d1 <= 1e-15) & (d2 <= 1e-15), maximum(full({}, 1e-6, dtype), h0 * 1e-3),
                         pow(0.01 / maximum(d1, d2), full({}, 0.2, dtype)));
  return minimum(100 * h0, h1);
}

// Step is one try: the place it comes to, its error relative to what is allowed, and the polynomial on the way.
struct Step {
  Arrays y, f, polynomial;  // polynomial: of each leaf [5, ...], the highest power first
  Array error;
};
Step step_of(const Equation& f, const Arrays& y0, const Arrays& f0, const Array& t0, const Array& h) {
  std::vector<Arrays> k{f0};
  Arrays y1 = y0;
  for (size_t stage = 1; stage < kStages; ++stage) {
    for (size_t i = 0; i < y0.size(); ++i) y1[i] = moved(y0[i], h, k, i, kStep[stage]);
    k.push_back(f(y1, t0 + kTimes[stage] * h));
  }
  Step step{y1, k.back(), {}, {}};
  Arrays error;
  for (size_t i = 0; i < y0.size(); ++i) {
    error.push_back(moved({}, h, k, i, kError));
    const Array middle = moved(y0[i], h, k, i, kMiddle), &a = y0[i], &b = y1[i];
    const Array da = factor_like(h, a) * f0[i], db = factor_like(h, a) * step.f[i];
    step.polynomial.push_back(
        stack({-2 * da + 2 * db - 8 * a - 8 * b + 16 * middle, 5 * da - 3 * db + 18 * a + 14 * b - 32 * middle,
               -4 * da + db - 11 * a - 5 * b + 16 * middle, da, a}));
  }
  step.error = scaled_norm(error, scale_of(f.options, y0, y1), t0.dtype());
  return step;
}

// Returns y at the times, the first of which is y0.
Arrays solve(const Equation& f, const Arrays& y0, const Array& t) {
  const size_t n = y0.size();
  const DType dtype = t.dtype();
  const Array t0 = t[0];
  const Arrays f0 = f(y0, t0);
  const double longest = f.options.hmax.value_or(std::numeric_limits<double>::infinity());
  const int64_t most = std::min<int64_t>(f.options.mxstep.value_or(std::numeric_limits<int32_t>::max() - 1),
                                         std::numeric_limits<int32_t>::max() - 1);
  // A step that moves t for certain.
  const double epsilon = dtype == DType::f64 ? 0x1p-52 : dtype == DType::f32 ? 0x1p-23 : 0x1p-8;
  const auto shortest = [&](const Array& now) {
    return maximum(4 * epsilon * abs(now), full({},
                                                dtype == DType::f64   ? 0x1p-1022
                                                : dtype == DType::f32 ? 0x1p-126
                                                                      : 0x1p-24,
                                                dtype));
  };
  const Array first = maximum(first_step(f, y0, f0, t0), shortest(t0));
  // Carry: t, h, where the last step began, y, f, its polynomial.
  Arrays carry{t0, minimum(first, full({}, longest, dtype)), t0};
  carry.insert(carry.end(), y0.begin(), y0.end());
  carry.insert(carry.end(), f0.begin(), f0.end());
  for (const Array& y : y0) {
    Shape shape = y.shape();
    shape.insert(shape.begin(), 5);
    carry.push_back(zeros(shape, y.dtype()).at(4).set(y));
  }
  const auto part = [n](const Arrays& state, size_t first, size_t which) {
    const auto begin = state.begin() + static_cast<std::ptrdiff_t>(first + which * n);
    return Arrays(begin, begin + static_cast<std::ptrdiff_t>(n));
  };
  const auto to_time = [&](const Arrays& in) {
    const Array target = in.back();
    Arrays state{zeros({}, DType::i32)};
    state.insert(state.end(), in.begin(), in.end() - 1);
    const auto more = [&](const Arrays& s) { return Arrays{(s[1] < target) & (s[0] < most) & (s[2] > 0)}; };
    const auto advance = [&](const Arrays& s) {
      const Array now = s[1], h = s[2];
      const Arrays y = part(s, 4, 0), fy = part(s, 4, 1), polynomial = part(s, 4, 2);
      const Step next = step_of(f, y, fy, now, h);
      const Array accepted = next.error <= 1;
      // A step may become ten times as long, and a fifth after one that failed.
      const Array wanted = 0.9 * pow(maximum(next.error, full({}, 1e-10, dtype)), full({}, -0.2, dtype));
      const Array low = where(accepted, ones({}, dtype), full({}, 0.2, dtype));
      const Array factor = where(isfinite(next.error), clip(wanted, low, 10), full({}, 0.2, dtype));
      const Array length = minimum(maximum(h * factor, shortest(now)), full({}, longest, dtype));
      // A step that failed though it was the shortest is the last one.
      const Array goes_on = (accepted | (h > shortest(now))) & (now + length > now);
      Arrays out{s[0] + 1, where(accepted, now + h, now), where(goes_on, length, zeros({}, dtype)),
                 where(accepted, now, s[3])};
      const auto add = [&](const Arrays& fresh, const Arrays& old) {
        for (size_t i = 0; i < n; ++i) out.push_back(where(accepted, fresh[i], old[i]));
      };
      add(next.y, y), add(next.f, fy), add(next.polynomial, polynomial);
      return out;
    };
    Arrays reached = while_of("odeint", 0, more, advance, state, f.loc);
    const Array last = reached[3], width = reached[1] - last;
    const Array there = (reached[1] >= target) & (target >= last);
    const Array at = where(width == 0, zeros({}, dtype), (target - last) / where(width == 0, ones({}, dtype), width));
    reached.erase(reached.begin());
    const Arrays polynomial = part(reached, 3, 2);
    for (const Array& p : polynomial) {
      const Array x = factor_like(at, p);
      const Array value = (((p[0] * x + p[1]) * x + p[2]) * x + p[3]) * x + p[4];
      reached.push_back(where(there, value, std::numeric_limits<double>::quiet_NaN()));
    }
    return reached;
  };
  const LoopResult result = scan_of("odeint", to_time, carry, {slice_in_dim(t, 1, t.shape(0), 0)}, {}, false, 1, f.loc);
  Arrays ys;
  for (size_t i = 0; i < n; ++i) ys.push_back(concatenate({expand_dims(y0[i], 0), result.stacked[i]}));
  return ys;
}

// Adjoint solves the adjoint equation from the last time back to the first. With s = -t and cotangents a of y, b of t
// and c of what f captures: dy/ds = -f, (da, db, dc)/ds = a^T df/d(y, t, captured).
class Adjoint {
 public:
  Adjoint(const Equation& f, const Arrays& ys, const Array& t, const Arrays& cotangents)
      : f_(f), ys_(ys), cotangents_(cotangents), t_(t), n_(ys.size()) {
    for (const Array& c : f.f.captured) active_.push_back(is_inexact(c.dtype()));
  }

  /// Returns cotangents of y0, t, and of each captured array.
  Arrays run() const {
    Arrays carry;  // a, b, c
    for (const Array& g : cotangents_) carry.push_back(g[-1]);
    carry.push_back(zeros({}, t_.dtype()));
    for (size_t i = 0; i < active_.size(); ++i)
      if (active_[i]) carry.push_back(zeros_like(f_.f.captured[i]));
    const int64_t times = t_.shape(0);
    Arrays xs{slice_in_dim(t_, 1, times, 0), slice_in_dim(t_, 0, times - 1, 0)};
    for (const Array& y : ys_) xs.push_back(slice_in_dim(y, 1, times, 0));
    for (const Array& g : cotangents_) xs.push_back(slice_in_dim(g, 1, times, 0));
    for (const Array& g : cotangents_) xs.push_back(slice_in_dim(g, 0, times - 1, 0));
    const LoopResult result =
        scan_of("odeint", [&](const Arrays& in) { return interval(in, carry.size()); }, carry, xs, {}, true, 1, f_.loc);
    Arrays out(result.carry.begin(), result.carry.begin() + static_cast<std::ptrdiff_t>(n_));
    out.push_back(concatenate({expand_dims(result.carry[n_], 0), result.stacked[0]}));
    for (size_t i = 0, next = n_ + 1; i < active_.size(); ++i)
      out.push_back(active_[i] ? result.carry[next++] : zeros_like(f_.f.captured[i]));
    return out;
  }

 private:
  // From one time to the one before it.
  Arrays interval(const Arrays& in, size_t carried) const {
    const auto part = [&](size_t first, size_t count) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(first);
      return Arrays(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    const Array late = in[carried], early = in[carried + 1];
    const Arrays y = part(carried + 2, n_), of_late = part(carried + 2 + n_, n_);
    const Arrays of_early = part(carried + 2 + 2 * n_, n_);
    const Array of_time = krylov::inner_product(f_(y, late), of_late, t_.dtype());
    Arrays state = y;
    state.insert(state.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(carried));
    state[2 * n_] = state[2 * n_] - of_time;  // the first time moves the other way
    std::vector<Aval> avals = avals_of(state, f_.loc);
    avals.push_back({{}, t_.dtype()});
    const TracedFunction field = trace(avals, [&](const Arrays& at) { return backward(at); });
    const Arrays at_both = solve({field, f_.options, f_.loc}, state, stack({-late, -early}));
    Arrays out;
    for (size_t i = n_; i < state.size(); ++i) out.push_back(at_both[i][1]);
    for (size_t i = 0; i < n_; ++i) out[i] = out[i] + of_early[i];
    out.push_back(of_time);
    return out;
  }

  // The field of (y, a, b, c) at s.
  Arrays backward(const Arrays& at) const {
    Arrays in(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(n_));
    in.push_back(-at.back());
    in.insert(in.end(), f_.f.captured.begin(), f_.f.captured.end());
    const Linear linear = vjp_of([&](const Arrays& x) { return inline_graph(f_.f.graph, x); }, in, f_.loc);
    const Arrays a(at.begin() + static_cast<std::ptrdiff_t>(n_), at.begin() + static_cast<std::ptrdiff_t>(2 * n_));
    const Arrays cotangents = linear.map(a, f_.loc);
    Arrays out;
    for (const Array& dy : linear.value) out.push_back(-dy);
    for (size_t i = 0; i <= n_; ++i) out.push_back(cotangents[i]);
    for (size_t i = 0; i < active_.size(); ++i)
      if (active_[i]) out.push_back(cotangents[n_ + 1 + i]);
    return out;
  }

  const Equation& f_;
  const Arrays &ys_, &cotangents_;
  const Array& t_;
  size_t n_;
  std::vector<bool> active_;  // of what f captures
};

void check_options(const OdeOptions& options, Loc loc) {
  const auto refuse = [&](std::string got, std::string expected) {
    throw_user<OptionError>("odeint", std::move(got), std::move(expected), "", loc);
  };
  if (!(options.rtol >= 0) || !(options.atol >= 0) || !(options.rtol + options.atol > 0))
    refuse(fmt::format("rtol = {}, atol = {}", options.rtol, options.atol), "0 or more, and not both 0");
  if (options.mxstep && *options.mxstep < 1) refuse(fmt::format("mxstep = {}", *options.mxstep), "1 or more");
  if (options.hmax && !(*options.hmax > 0)) refuse(fmt::format("hmax = {}", *options.hmax), "above 0");
}

}  // namespace

Arrays odeint_of(const LeafFunction& f, const Arrays& y0, const Operand& t, const OdeOptions& options, Loc loc) {
  check_options(options, loc);
  const DType dtype = to_float_dtype(t.dtype());
  const Array times = t.as(dtype);
  if (times.ndim() != 1 || times.shape(0) < 1 || is_complex(dtype))
    throw_user<ShapeError>("odeint", "t " + to_string(times.aval()), "times [n], n of 1 or more", "", loc);
  if (y0.empty()) return {};
  std::vector<Aval> avals;
  for (const Array& y : y0) {
    check_usable(y, "odeint", loc);
    if (!is_float(y.dtype()))
      throw_user<DTypeError>("odeint", "y0 is " + to_string(y.aval()), "a real floating dtype", "y0.astype(f32)", loc);
    avals.push_back(y.aval());
  }
  const std::vector<Aval> of_y = avals;
  avals.push_back({{}, dtype});
  const auto run = [&] {
    const TracedFunction field = trace(avals, [&](const Arrays& in) {
      Arrays out = f(in);
      for (size_t i = 0; i < out.size(); ++i) {
        if (out[i].aval(loc).shape != of_y[i].shape)
          throw_user<ShapeError>("odeint", "the function gives " + to_string(out[i].aval()),
                                 to_string(of_y[i]) + ", as y0", "", loc);
        out[i] = out[i].astype(of_y[i].dtype);
      }
      return out;
    });
    const size_t n = y0.size();
    Arrays leaves = y0;
    leaves.push_back(times);
    leaves.insert(leaves.end(), field.captured.begin(), field.captured.end());
    const auto with = [&](const Arrays& in) {  // the same function of other captured arrays
      return TracedFunction{field.graph, Arrays(in.begin() + static_cast<std::ptrdiff_t>(n + 1), in.end())};
    };
    const auto forward = [&](const Arrays& in) {
      const TracedFunction at = with(in);
      return solve({at, options, loc}, Arrays(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n)), in[n]);
    };
    return custom_vjp_of(
        forward,
        [&](const Arrays& in) {
          const Arrays ys = forward(in);
          Arrays residuals = ys;
          residuals.insert(residuals.end(), in.begin() + static_cast<std::ptrdiff_t>(n), in.end());
          return std::pair{ys, residuals};
        },
        [&](const Arrays& residuals, const Arrays& cotangents) {
          const TracedFunction at = with(residuals);
          const Equation equation{at, options, loc};
          const Arrays ys(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(n));
          return Adjoint(equation, ys, residuals[n], cotangents).run();
        },
        leaves, loc);
  };
  return as_one({}, [&](const Arrays&) { return run(); });
}

}  // namespace neap::detail
