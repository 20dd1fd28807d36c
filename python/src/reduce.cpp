// Reductions and running results.
#include "args.h"

namespace neap::python {
namespace {

using Reduce = Array (*)(const Operand&, const Axes&, bool);
using Running = Array (*)(const Operand&, std::optional<int64_t>, bool);

// The elements that count: those where a mask is true, others replaced by what changes nothing.
Operand masked(const Operand& x, const std::optional<nb::handle>& mask, const Operand& neutral) {
  if (!mask || mask->is_none()) return x;
  return {neap::where(operand_from(*mask, x.loc()), x, neutral), x.loc()};
}

Operand converted(const Operand& x, DTypeArg dtype) {
  return dtype.object ? Operand(convert(x, dtype.value_or(f32)), x.loc()) : x;
}

void plain(Binder& b, const char* name, Reduce f, const char* doc) {
  b.both(
      name, "a",
      [f](Arg a, AxesArg axis, bool keepdims) {
        const Operand x = a;
        const Axes axes = axis;
        return unlocked([&] { return f(x, axes, keepdims); });
      },
      "axis"_a = nb::none(), "keepdims"_a = false, doc);
}

using Join = Array (*)(const Operand&, const Operand&);

// sum and prod: a dtype, a mask, and what to begin with.
void adding(Binder& b, const char* name, Reduce f, Join join, int neutral, const char* doc) {
  b.both(
      name, "a",
      [=](Arg a, AxesArg axis, DTypeArg dtype, bool keepdims, std::optional<nb::handle> initial,
          std::optional<nb::handle> where) {
        const Operand x = masked(converted(a, dtype), where, Operand(neutral, here()));
        const Axes axes = axis;
        const Array y = unlocked([&] { return f(x, axes, keepdims); });
        const Array all =
            initial && !initial->is_none() ? join(Operand(y, x.loc()), operand_from(*initial, x.loc())) : y;
        return dtype.object ? all.astype(dtype.value_or(f32), x.loc()) : all;
      },
      "axis"_a = nb::none(), "dtype"_a = nb::none(), "keepdims"_a = false, nb::kw_only(), "initial"_a = nb::none(),
      "where"_a = nb::none(), doc);
}

// max and min: a mask needs something to begin with.
void extreme(Binder& b, const char* name, Reduce f, Join join, const char* doc) {
  b.both(
      name, "a",
      [=](Arg a, AxesArg axis, bool keepdims, std::optional<nb::handle> initial, std::optional<nb::handle> where) {
        const bool begins = initial && !initial->is_none();
        if (where && !where->is_none() && !begins)
          type_error("max", "a mask without a value to begin with", "initial=...");
        const Operand x = begins ? masked(a, where, operand_from(*initial, here())) : Operand(a);
        const Axes axes = axis;
        const Array y = unlocked([&] { return f(x, axes, keepdims); });
        return begins ? join(Operand(y, x.loc()), operand_from(*initial, x.loc())) : y;
      },
      "axis"_a = nb::none(), "keepdims"_a = false, nb::kw_only(), "initial"_a = nb::none(), "where"_a = nb::none(),
      doc);
}

int64_t count_along(const Operand& x, const Axes& axes) {
  int64_t count = 1;
  for (const int64_t axis : axes.resolve(static_cast<int64_t>(x.shape().size()), "var", x.loc()))
    count *= x.shape()[axis];
  return count;
}

void spread(Binder& b, const char* name, bool root, const char* doc) {
  b.both(
      name, "a",
      [=](Arg a, AxesArg axis, DTypeArg dtype, bool keepdims, double ddof, double correction) {
        const Operand x = converted(a, dtype);
        const Axes axes = axis;
        const double less = ddof + correction;
        return unlocked([&] {
          Array v = var(x, axes, keepdims);
          if (less != 0) {
            const auto n = static_cast<double>(count_along(x, axes));
            v = Operand(v, x.loc()) * (n / (n - less));
          }
          return root ? sqrt(Operand(v, x.loc())) : v;
        });
      },
      "axis"_a = nb::none(), "dtype"_a = nb::none(), "keepdims"_a = false, nb::kw_only(), "ddof"_a = 0.0,
      "correction"_a = 0.0, doc);
}

void running(Binder& b, const char* name, Running f, const char* doc) {
  b.both(
      name, "a",
      [f](Arg a, std::optional<int64_t> axis, DTypeArg dtype, bool reverse) {
        const Operand x = converted(a, dtype);
        const Array y = unlocked([&] { return f(x, axis, reverse); });
        return dtype.object ? y.astype(dtype.value_or(f32), x.loc()) : y;
      },
      "axis"_a = nb::none(), "dtype"_a = nb::none(), nb::kw_only(), "reverse"_a = false, doc);
}

void position(Binder& b, const char* name, Running f, const char* doc) {
  b.both(
      name, "a",
      [f](Arg a, std::optional<int64_t> axis, bool keepdims) {
        const Operand x = a;
        return unlocked([&] { return f(x, axis, keepdims); });
      },
      "axis"_a = nb::none(), "keepdims"_a = false, doc);
}

using Quantile = Array (*)(const Operand&, const Operand&, std::optional<int64_t>, bool);

void quantiles(Binder& b, const char* name, Quantile f, const char* doc) {
  b.m.def(
      name,
      [f](Arg a, Arg q, std::optional<int64_t> axis, bool keepdims) {
        const Operand x = a, p = q;
        return unlocked([&] { return f(x, p, axis, keepdims); });
      },
      "a"_a, "q"_a, "axis"_a = nb::none(), "keepdims"_a = false, doc);
}

}  // namespace

void bind_reduce(Binder& b) {
  adding(
      b, "sum", sum, [](const Operand& x, const Operand& y) { return x + y; }, 0,
      "Adds up the elements along these axes, all unless given.");
  adding(b, "prod", prod, [](const Operand& x, const Operand& y) { return x * y; }, 1, "Multiplies the elements.");
  extreme(b, "max", max, maximum, "The largest element, NaN if any is.");
  extreme(b, "min", min, minimum, "The smallest element, NaN if any is.");
  b.alias("amax", "max");
  b.alias("amin", "min");
  plain(b, "any", any, "Whether any element is true.");
  plain(b, "all", all, "Whether all elements are true.");
  b.both(
      "mean", "a",
      [](Arg a, AxesArg axis, DTypeArg dtype, bool keepdims, std::optional<nb::handle> where) {
        const Operand x = converted(a, dtype);
        const Axes axes = axis;
        if (!where || where->is_none()) return unlocked([&] { return mean(x, axes, keepdims); });
        const Operand mask(broadcast_to(operand_from(*where, x.loc()), x.shape()), x.loc());
        return sum(masked(x, where, Operand(0, x.loc())), axes, keepdims) / sum(mask, axes, keepdims);
      },
      "axis"_a = nb::none(), "dtype"_a = nb::none(), "keepdims"_a = false, nb::kw_only(), "where"_a = nb::none(),
      "The arithmetic mean; integers give float32.");
  spread(b, "var", false, "The variance, over n - ddof.");
  spread(b, "std", true, "The standard deviation, sqrt(var).");
  plain(b, "logsumexp", logsumexp, "log(sum(exp(x))) without overflow.");
  plain(b, "count_nonzero", count_nonzero, "Counts the elements that are not zero.");
  plain(b, "ptp", ptp, "max(x) - min(x).");
  plain(b, "nansum", nansum, "sum() of the elements that are not NaN.");
  plain(b, "nanprod", nanprod, "prod() of the elements that are not NaN.");
  plain(b, "nanmax", nanmax, "max() of the elements that are not NaN.");
  plain(b, "nanmin", nanmin, "min() of the elements that are not NaN.");
  plain(b, "nanmean", nanmean, "mean() of the elements that are not NaN.");
  plain(b, "nanvar", nanvar, "var() of the elements that are not NaN.");
  plain(b, "nanstd", nanstd, "std() of the elements that are not NaN.");
  position(b, "argmax", argmax,
           "The index of the first largest element along an axis, unless given of the flat array.");
  position(b, "argmin", argmin,
           "The index of the first smallest element along an axis, unless given of the flat array.");
  position(b, "nanargmax", nanargmax, "argmax() of the elements that are not NaN; -1 where all are.");
  position(b, "nanargmin", nanargmin, "argmin() of the elements that are not NaN; -1 where all are.");
  running(b, "cumsum", cumsum, "Adds up from the first element to each.");
  running(b, "cumprod", cumprod, "Multiplies from the first element to each.");
  running(b, "cummax", cummax, "The largest element so far.");
  running(b, "cummin", cummin, "The smallest element so far.");
  running(b, "cumlogsumexp", cumlogsumexp, "logsumexp() of the elements so far.");
  running(b, "nancumsum", nancumsum, "cumsum() with NaN as 0.");
  running(b, "nancumprod", nancumprod, "cumprod() with NaN as 1.");
  b.both(
      "trace", "a",
      [](Arg a, int64_t offset, int64_t axis1, int64_t axis2, DTypeArg dtype) {
        const Operand x = converted(a, dtype);
        const Array y = unlocked([&] { return trace(x, offset, axis1, axis2); });
        return dtype.object ? y.astype(dtype.value_or(f32), x.loc()) : y;
      },
      "offset"_a = 0, "axis1"_a = 0, "axis2"_a = 1, "dtype"_a = nb::none(), "Adds up a diagonal.");
  quantiles(b, "quantile", quantile, "Interpolates linearly between sorted elements; q is in 0 to 1.");
  quantiles(b, "percentile", percentile, "quantile(a, q / 100).");
  b.m.def(
      "median",
      [](Arg a, std::optional<int64_t> axis, bool keepdims) {
        const Operand x = a;
        return unlocked([&] { return median(x, axis, keepdims); });
      },
      "a"_a, "axis"_a = nb::none(), "keepdims"_a = false, "quantile(a, 0.5).");
  b.m.def(
      "average",
      [](Arg a, std::optional<int64_t> axis, nb::handle weights) {
        if (weights.is_none()) return mean(a, axis ? Axes(*axis) : Axes());
        return average(a, array_from(weights, here()), axis);
      },
      "a"_a, "axis"_a = nb::none(), "weights"_a = nb::none(), "sum(a * weights) / sum(weights).");
  b.m.def("cov", [](Arg m) { return cov(m); }, "m"_a, "Covariances; variables are rows.");
  b.m.def("corrcoef", [](Arg x) { return corrcoef(x); }, "x"_a, "Correlation coefficients; variables are rows.");
  b.m.def(
      "trapezoid",
      [](Arg y, std::optional<nb::handle> x, double dx, int64_t axis) {
        if (!x || x->is_none()) return trapezoid(y, dx, axis);
        type_error("trapezoid", "positions x", "their distance dx");
      },
      "y"_a, "x"_a = nb::none(), "dx"_a = 1.0, "axis"_a = -1, "Integrates by the trapezoidal rule.");
}

}  // namespace neap::python
