// Sorting, searching, counting, taking by index.
#include "args.h"

namespace neap::python {
namespace {

GatherMode take_mode(const std::optional<std::string>& mode) {
  return mode ? gather_mode("take", *mode) : GatherMode::clip;
}

nb::tuple nonzero_of(Arg a, std::optional<int64_t> size, int64_t fill) {
  const Operand x = a;
  const int64_t n = known_size(size, "nonzero", "size=...", x, [&] { return count_nonzero(x).item<int64_t>(x.loc()); });
  return nb::tuple(nb::cast(nonzero(x, n, fill)));
}

Array unique_of(Arg a, std::optional<int64_t> size, std::optional<double> fill) {
  const Operand x = a;
  return unique(x, known_size(size, "unique", "size=...", x, [&] { return count_distinct(x); }), fill);
}

Array bincount_of(Arg a, nb::handle weights, int64_t minlength, std::optional<int64_t> length) {
  const Operand x = a;
  const int64_t n = known_size(length, "bincount", "length=...", x, [&]() -> int64_t {
    const int64_t most = x.as_array().size() == 0 ? 0 : max(x).item<int64_t>(x.loc()) + 1;
    return std::max(most, minlength);
  });
  return weights.is_none() ? bincount(x, n) : bincount(x, array_from(weights, x.loc()), n);
}

nb::tuple histogram_of(Arg a, int64_t bins, std::optional<std::pair<double, double>> range) {
  const Operand x = a;
  if (!range) range = std::pair(min(x).item<double>(x.loc()), max(x).item<double>(x.loc()));
  if (range->first == range->second) range->first -= 0.5, range->second += 0.5;
  const auto [counts, edges] = histogram(x, bins, range->first, range->second);
  return nb::make_tuple(counts, edges);
}

}  // namespace

int64_t count_distinct(const Operand& x) {
  if (x.as_array().size() == 0) return 0;
  const Array sorted = sort(Operand(ravel(x), x.loc()));
  const Operand s(sorted, x.loc());
  const int64_t count = sorted.size();
  const Operand next(slice_in_dim(s, 1, count, 0), x.loc()), last(slice_in_dim(s, 0, count - 1, 0), x.loc());
  Array fresh = next != last;
  if (is_float(sorted.dtype())) fresh = Operand(fresh, x.loc()) && !Operand(isnan(last), x.loc());
  return 1 + count_nonzero(fresh).item<int64_t>(x.loc());
}

void bind_search(Binder& b) {
  b.both(
      "sort", "a",
      [](Arg a, std::optional<int64_t> axis, bool, bool descending) {
        const Operand x = a;
        const Operand y = axis ? x : Operand(ravel(x), x.loc());
        return unlocked([&] { return sort(y, axis.value_or(-1), {.descending = descending}); });
      },
      "axis"_a = -1, nb::kw_only(), "stable"_a = true, "descending"_a = false,
      "Sorts along an axis; None: the flat array.");
  b.both(
      "argsort", "a",
      [](Arg a, std::optional<int64_t> axis, bool, bool descending) {
        const Operand x = a;
        const Operand y = axis ? x : Operand(ravel(x), x.loc());
        return unlocked([&] { return argsort(y, axis.value_or(-1), {.descending = descending}); });
      },
      "axis"_a = -1, nb::kw_only(), "stable"_a = true, "descending"_a = false, "The indices that sort along an axis.");
  b.m.def(
      "top_k", [](Arg a, int64_t k) { return top_k(a, k); }, "operand"_a, "k"_a,
      "The k largest along the last axis, and their indices.");
  b.m.def(
      "searchsorted",
      [](Arg a, Arg v, const std::string& side, nb::handle sorter) {
        if (side != "left" && side != "right")
          throw_user<OptionError>("searchsorted", "side \"" + side + "\"", "\"left\" or \"right\"", "", here());
        const Operand x = a, order = sorter.is_none() ? x : operand_from(sorter, x.loc());
        return searchsorted(sorter.is_none() ? x : Operand(take(x, order), x.loc()), v, side == "right");
      },
      "a"_a, "v"_a, "side"_a = "left", "sorter"_a = nb::none(),
      "Where each v would go into a sorted array; sorter: the indices that sort it.");
  b.m.def(
      "digitize", [](Arg x, Arg bins, bool right) { return digitize(x, bins, right); }, "x"_a, "bins"_a,
      "right"_a = false, "The number of the bin in which each element lies.");
  b.m.def("bincount", bincount_of, "x"_a, "weights"_a = nb::none(), "minlength"_a = 0, nb::kw_only(),
          "length"_a = nb::none(), "Counts how often 0, 1, ... occur; inside a trace `length` says how many.");
  b.m.def("histogram", histogram_of, "a"_a, "bins"_a = 10, "range"_a = nb::none(),
          "Counts, and the edges of the bins.");
  b.m.def(
      "histogram_bin_edges",
      [](Arg a, int64_t bins, std::optional<std::pair<double, double>> range) {
        const Operand x = a;
        if (!range) return histogram_bin_edges(x, bins);
        return linspace(Operand(range->first, x.loc()), Operand(range->second, x.loc()), bins + 1,
                        to_float_dtype(x.dtype()));
      },
      "a"_a, "bins"_a = 10, "range"_a = nb::none(), "The bins + 1 edges of the bins.");
  b.m.def("unique", unique_of, "ar"_a, nb::kw_only(), "size"_a = nb::none(), "fill_value"_a = nb::none(),
          "The distinct elements, sorted; inside a trace `size` says how many.");
  b.m.def("nonzero", nonzero_of, "a"_a, nb::kw_only(), "size"_a = nb::none(), "fill_value"_a = 0,
          "Where the array is not zero, an array for each axis; inside a trace `size` says how many.");
  b.m.def(
      "interp", [](Arg x, Arg xp, Arg fp) { return interp(x, xp, fp); }, "x"_a, "xp"_a, "fp"_a,
      "Interpolates linearly.");
  b.both(
      "take", "a",
      [](Arg a, Arg indices, std::optional<int64_t> axis, const std::optional<std::string>& mode) {
        const Operand x = a, i = indices;
        return axis ? take(x, i, *axis, take_mode(mode)) : take(Operand(ravel(x), x.loc()), i, 0, take_mode(mode));
      },
      "indices"_a, "axis"_a = nb::none(), nb::kw_only(), "mode"_a = nb::none(),
      "Slices along an axis; indices out of range are clipped.");
  b.m.def(
      "take_along_axis",
      [](Arg a, Arg i, int64_t axis, const std::optional<std::string>& mode) {
        return take_along_axis(a, i, axis, take_mode(mode));
      },
      "arr"_a, "indices"_a, "axis"_a = -1, nb::kw_only(), "mode"_a = nb::none(),
      "x[..., index[..., j, ...], ...] along an axis.");
  b.m.def(
      "gather", [](Arg a, Arg i, const std::optional<std::string>& mode) { return gather(a, i, take_mode(mode)); },
      "x"_a, "index"_a, nb::kw_only(), "mode"_a = nb::none(), "One element of x for each row of the index.");
  b.m.def(
      "scatter_add",
      [](Arg a, Arg i, Arg u, const std::optional<std::string>& mode) { return scatter_add(a, i, u, take_mode(mode)); },
      "x"_a, "index"_a, "updates"_a, nb::kw_only(), "mode"_a = nb::none(),
      "x with updates added at the rows of the index.");
}

}  // namespace neap::python
