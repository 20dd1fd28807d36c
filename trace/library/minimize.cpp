// minimize on leaves: BFGS and its form with limited memory. All variables are one vector.
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/optimize.h>
#include <neap/transforms.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap::detail {

using namespace tracing;
using Loc = std::source_location;

namespace {

/// Point is a place with the function's value and gradient there.
struct Point {
  Array x, f, g;
};
using Evaluate = std::function<Point(const Array& x)>;

struct Search {
  Point best;
  Array length, found, evaluations;  // found: bool
};

// Returns the minimum of the cubic with these values and slopes at a and b; where it is none, or lies near an end or
// outside, the middle.
Array between(const Array& a, const Array& fa, const Array& da, const Array& b, const Array& fb, const Array& db) {
  const Array width = b - a, d1 = da + db - 3 * (fb - fa) / width, square_root = d1 * d1 - da * db;
  const Array d2 = copysign(sqrt(maximum(square_root, zeros_like(a))), width);
  const Array at = b - width * ((db + d2 - d1) / (db - da + 2 * d2)), part = (at - a) / width;
  return where((square_root >= 0) & (part > 0.1) & (part < 0.9), at, 0.5 * (a + b));
}

// Nocedal and Wright, algorithms 3.5 and 3.6, as one loop that evaluates the function once: it doubles the step until a
// good one is known to lie between two, then narrows that down.
Search line_search(const Evaluate& evaluate, const Point& from, const Array& p, const Array& first, int64_t most,
                   Loc loc) {
  const DType dtype = from.f.dtype();
  constexpr double kDecrease = 1e-4, kCurvature = 0.9;
  const Array slope0 = sum(from.g * p), zero = zeros({}, dtype);
  // Near a minimum differences of the function are rounding.
  const double epsilon =
      dtype == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const Array rounding = 2 * epsilon * abs(from.f);
  enum : size_t { kCount, kTrial, kNarrows, kDone, kLow, kLowF, kLowD, kLowG, kHigh, kHighF, kHighD, kParts };
  Arrays init(kParts);
  init[kCount] = zeros({}, DType::i32), init[kTrial] = first;
  init[kNarrows] = init[kDone] = full({}, false, DType::bool_);
  init[kLow] = zero, init[kLowF] = from.f, init[kLowD] = slope0, init[kLowG] = from.g;
  init[kHigh] = zero, init[kHighF] = from.f, init[kHighD] = slope0;
  const auto more = [&](const Arrays& s) { return Arrays{!s[kDone] & (s[kCount] < most)}; };
  const auto step = [&](const Arrays& s) {
    const Array a = s[kTrial];
    const Point at = evaluate(from.x + a * p);
    const Array slope = sum(at.g * p);
    // NaN counts as too high.
    const Array low_enough = at.f <= from.f + kDecrease * a * slope0 + rounding;
    const Array is_first = s[kCount] == 0;
    const Array beyond = !low_enough | ((at.f >= s[kLowF] + rounding) & (s[kNarrows] | !is_first));
    const Array good = !beyond & (abs(slope) <= -kCurvature * slope0);
    // Behind a the function rises again: towards what was the low end, the high end is not needed any more.
    const Array width = s[kHigh] - s[kLow];
    const Array turns = where(s[kNarrows], slope * width >= 0, slope >= 0);
    Arrays out(kParts);
    out[kCount] = s[kCount] + 1;
    out[kDone] = good;
    out[kNarrows] = s[kNarrows] | beyond | turns;
    const auto choose = [&](size_t low, size_t high, const Array& fresh) {
      out[low] = where(beyond, s[low], fresh);
      out[high] = where(beyond, fresh, where(turns, s[low], s[high]));
    };
    choose(kLow, kHigh, a), choose(kLowF, kHighF, at.f), choose(kLowD, kHighD, slope);
    out[kLowG] = where(beyond, s[kLowG], at.g);
    const Array narrowed = between(out[kLow], out[kLowF], out[kLowD], out[kHigh], out[kHighF], out[kHighD]);
    out[kTrial] = where(out[kNarrows], narrowed, 2 * a);
    return out;
  };
  const Arrays s = while_of("minimize", 0, more, step, init, loc);
  // Without a good step the lowest one found serves.
  const Array found = s[kDone] | (s[kLow] > 0);
  return {{from.x + s[kLow] * p, s[kLowF], s[kLowG]}, s[kLow], found, s[kCount]};
}

/// Direction is how a method goes on: from its memory and the gradient to a direction, and what it learns of a step.
struct Direction {
  Arrays memory;
  std::function<Array(const Arrays& memory, const Array& g, const Array& k)> next;
  std::function<Arrays(const Arrays& memory, const Array& s, const Array& y, const Array& k)> learn;
};

Direction bfgs(int64_t n, DType dtype) {
  return {{eye(n, {}, dtype)},
          [](const Arrays& memory, const Array& g, const Array&) { return -matmul(memory[0], g); },
          [](const Arrays& memory, const Array& s, const Array& y, const Array&) {
            const Array& h = memory[0];
            const Array sy = sum(s * y), hy = matmul(h, y), rho = 1 / where(sy > 0, sy, ones_like(sy));
            const Array mixed = outer(s, hy);
            const Array updated = h - rho * (mixed + transpose(mixed)) + rho * (rho * sum(y * hy) + 1) * outer(s, s);
            return Arrays{where(sy > 0, updated, h)};
          }};
}

// The last m steps and changes of the gradient lie in rings; those that are not there yet have weight 0.
Direction lbfgs(int64_t n, int64_t m, DType dtype) {
  const auto next = [m](const Arrays& memory, const Array& g, const Array& k) {
    const Array &s = memory[0], &y = memory[1], &rho = memory[2], &scale = memory[3];
    const auto place = [&](const Array& back) { return mod(k - 1 - back, m); };
    using Pair = std::pair<Array, Array>;
    const auto [q, alphas] = fori_loop(
        0, m,
        [&](const Array& i, const Pair& now) {
          const Array at = place(i), alpha = rho[at] * sum(s[at] * now.first);
          return Pair{now.first - alpha * y[at], now.second.at(at).set(alpha)};
        },
        Pair{g, zeros_like(rho)});
    const Array r = fori_loop(
        0, m,
        [&, &alphas = alphas](const Array& i, const Array& now) {
          const Array at = place(m - 1 - i), beta = rho[at] * sum(y[at] * now);
          return now + (alphas[at] - beta) * s[at];
        },
        scale * q);
    return -r;
  };
  const auto learn = [m](const Arrays& memory, const Array& s, const Array& y, const Array& k) {
    const Array sy = sum(s * y), yy = sum(y * y), is_good = (sy > 0) & (yy > 0), at = mod(k, m);
    const Array rho = where(is_good, 1 / where(is_good, sy, ones_like(sy)), zeros_like(sy));
    return Arrays{memory[0].at(at).set(s), memory[1].at(at).set(y), memory[2].at(at).set(rho),
                  where(is_good, sy / where(is_good, yy, ones_like(yy)), memory[3])};
  };
  return {{zeros({m, n}, dtype), zeros({m, n}, dtype), zeros({m}, dtype), ones({}, dtype)}, next, learn};
}

// Returns x, gradient, value, memory..., success, status, nit, nfev.
Arrays minimized(const Evaluate& evaluate, const Array& x0, const Direction& direction, const MinimizeOptions& options,
                 int64_t maxiter, Loc loc) {
  const Point start = evaluate(x0);
  const DType dtype = x0.dtype();
  enum : size_t { kIteration, kEvaluations, kFailed, kX, kF, kG, kBefore, kMemory };
  Arrays init(kMemory);
  init[kIteration] = zeros({}, DType::i32), init[kEvaluations] = ones({}, DType::i32);
  init[kFailed] = full({}, false, DType::bool_);
  init[kX] = x0, init[kF] = start.f, init[kG] = start.g;
  init[kBefore] = start.f + 0.5 * sqrt(sum(square(start.g)));  // the value before, of which the first length is guessed
  init.insert(init.end(), direction.memory.begin(), direction.memory.end());
  const auto small = [&](const Array& g) { return max(abs(g)) <= options.gtol; };
  const auto more = [&](const Arrays& s) { return Arrays{!small(s[kG]) & !s[kFailed] & (s[kIteration] < maxiter)}; };
  const auto step = [&](const Arrays& s) {
    const Arrays memory(s.begin() + kMemory, s.end());
    const Array steepest = -s[kG], wanted = direction.next(memory, s[kG], s[kIteration]);
    // Rounding may spoil the memory; what does not go down is no direction.
    const Array descends = sum(wanted * s[kG]) < 0, p = where(descends, wanted, steepest);
    const Array slope = sum(p * s[kG]), guess = 2.02 * (s[kF] - s[kBefore]) / slope, one = ones({}, dtype);
    const Array first = where((guess > 0) & (guess < 1), guess, one);
    const Search found = line_search(evaluate, {s[kX], s[kF], s[kG]}, p, first, options.line_search_maxiter, loc);
    Arrays out(kMemory);
    out[kIteration] = s[kIteration] + 1, out[kEvaluations] = s[kEvaluations] + found.evaluations;
    // Where rounding is all that is left, steps gain nothing any more.
    const auto largest = [](const Array& g) { return max(abs(g)); };
    out[kFailed] = !found.found | ((found.best.f >= s[kF]) & (largest(found.best.g) >= largest(s[kG])));
    out[kX] = found.best.x, out[kF] = found.best.f, out[kG] = found.best.g, out[kBefore] = s[kF];
    const Arrays learnt = direction.learn(memory, found.best.x - s[kX], found.best.g - s[kG], s[kIteration]);
    out.insert(out.end(), learnt.begin(), learnt.end());
    return out;
  };
  const Arrays s = while_of("minimize", 0, more, step, init, loc);
  const Array success = small(s[kG]);
  const auto status = [](int code) { return full({}, code, DType::i32); };
  Arrays out{s[kX], s[kG], s[kF], s[kMemory]};
  out.push_back(success);
  out.push_back(where(success, status(0), where(s[kFailed], status(3), status(1))));
  out.push_back(s[kIteration]), out.push_back(s[kEvaluations]);
  return out;
}

}  // namespace

Arrays minimize_of(const LeafFunction& f, const Arrays& x0, const MinimizeOptions& options, Loc loc) {
  const auto refuse = [&](std::string got, std::string expected) {
    throw_user<OptionError>("minimize", std::move(got), std::move(expected), "", loc);
  };
  if (!(options.gtol >= 0)) refuse(fmt::format("gtol = {}", options.gtol), "0 or more");
  if (options.maxiter && *options.maxiter < 0) refuse(fmt::format("maxiter = {}", *options.maxiter), "0 or more");
  if (options.line_search_maxiter < 1)
    refuse(fmt::format("line_search_maxiter = {}", options.line_search_maxiter), "1 or more");
  if (options.history < 1) refuse(fmt::format("history = {}", options.history), "1 or more");
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  if (options.history > kMost || options.line_search_maxiter > kMost)
    refuse(fmt::format("history = {}, line_search_maxiter = {}", options.history, options.line_search_maxiter),
           fmt::format("at most {}", kMost));
  int64_t n = 0;
  DType dtype = DType::f32;
  for (size_t i = 0; i < x0.size(); ++i) {
    check_usable(x0[i], "minimize", loc);
    if (!is_float(x0[i].dtype()) || size_of(x0[i].dtype()) < 4)
      throw_user<DTypeError>("minimize", "x0 is " + to_string(x0[i].aval()), "f32 or f64", "", loc);
    n += x0[i].size();
    dtype = promote(dtype, x0[i].dtype());
  }
  if (n == 0) throw_user<ShapeError>("minimize", "x0 has no elements", "one variable or more", "", loc);
  const int64_t maxiter = std::min(options.maxiter.value_or(n <= kMost / 200 ? 200 * n : kMost), kMost);
  const auto flat = [&](const Arrays& leaves) {
    Arrays parts;
    for (const Array& leaf : leaves) parts.push_back(ravel(leaf).astype(dtype));
    return parts.size() == 1 ? parts[0] : concatenate(parts);
  };
  const auto unflat = [&](const Array& vector) {
    Arrays leaves;
    int64_t at = 0;
    for (const Array& like : x0) {
      leaves.push_back(reshape(slice_in_dim(vector, at, at + like.size(), 0), like.shape()).astype(like.dtype()));
      at += like.size();
    }
    return leaves;
  };
  const Evaluate evaluate = [&](const Array& x) {
    const auto value = [&](const Arrays& in) {
      const Arrays values = f(unflat(in[0]));
      if (values.size() != 1 || values[0].ndim() != 0 || !is_float(values[0].dtype()))
        throw_user<ShapeError>("minimize",
                               values.size() == 1 ? "the function gives " + to_string(values[0].aval())
                                                  : fmt::format("the function gives {} arrays", values.size()),
                               "a real scalar", "reduce it with sum() or mean()", loc);
      return values;
    };
    const Arrays out = grad_of(value, {x}, {0}, {0}, true, false, loc);
    return Point{x, out[0].astype(dtype), out[1]};
  };
  const auto run = [&](const Arrays& in) {
    const Direction direction =
        options.method == MinimizeMethod::bfgs ? bfgs(n, dtype) : lbfgs(n, options.history, dtype);
    const Arrays s = minimized(evaluate, flat(in), direction, options, maxiter, loc);
    Arrays out = unflat(s[0]);
    for (Array& leaf : unflat(s[1])) out.push_back(std::move(leaf));
    out.insert(out.end(), s.begin() + 2, s.end());
    if (options.method == MinimizeMethod::lbfgs) out[2 * x0.size() + 1] = zeros({0, 0}, dtype);
    return out;
  };
  return as_one(x0, run);
}

}  // namespace neap::detail
