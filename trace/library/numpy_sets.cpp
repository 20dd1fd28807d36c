// Functions of numpy.h that take arrays for sets of their elements.
#include <neap/creation.h>
#include <neap/numpy.h>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

// Up to so many elements are compared with each: that fuses, and a search has as many steps as their number has bits.
constexpr int64_t kFew = 32;

Array is_element(const Array& x, const Array& set) {
  if (set.size() == 0) return full(x.shape(), false);
  if (set.size() <= kFew || is_complex(x.dtype())) return any(expand_dims(x, -1) == ravel(set), -1);
  const Array sorted = sort(ravel(set));
  return take(sorted, minimum(searchsorted(sorted, x), sorted.size() - 1)) == x;
}

// Marked holds sorted elements, and which of them count.
struct Marked {
  Array sorted, counts;
};

// Returns the first `size` of the elements that count, then `fill`.
Array first_of(const Marked& m, int64_t size, const Array& fill) {
  const Array filled = broadcast_to(fill, {size});
  if (m.sorted.size() == 0) return filled;
  const DType dtype = index_dtype(std::max(m.sorted.size(), size));
  const Array place = cumsum(m.counts.astype(dtype)) - 1;
  return filled.at(where(m.counts, place, size), GatherMode::fill).set(m.sorted);
}

// Returns which elements of a sorted array differ from the one before.
Array begins(const Array& sorted) {
  const int64_t n = sorted.size();
  if (n == 0) return zeros({0}, DType::bool_);
  const Array left = slice_in_dim(sorted, 0, n - 1, 0), right = slice_in_dim(sorted, 1, n, 0);
  Array differs = left != right;
  if (is_float(sorted.dtype())) differs = differs & !(isnan(left) & isnan(right));
  return concatenate({ones({1}, DType::bool_), differs});
}

Array of_both(const std::string& key, const Operand& x, const Operand& y, int64_t size,
              const std::function<Array(const Array&, const Array&)>& f) {
  const AtLine line(x.loc());
  check_extents(key.substr(0, key.find(' ')), {size}, DType::c128, user_line(x.loc()));
  const Arrays both = promoted({x.as_array(), y.as_array()}, x.loc());
  return composite(key, both, [&](const Arrays& in) { return f(ravel(in[0]), ravel(in[1])); });
}

std::string key_of(std::string_view op, int64_t size, std::optional<double> fill) {
  return fmt::format("{} {} {} {}", op, size, fill.has_value(), fill.value_or(0));
}

}  // namespace

Array isin(const Operand& x, const Operand& test, bool invert) {
  const AtLine line(x.loc());
  const std::array<const Operand*, 2> operands{&x, &test};
  const DType dtype = common_dtype(operands);
  return composite(fmt::format("isin {}", invert), {x.as(dtype), test.as(dtype)}, [&](const Arrays& in) {
    const Array found = is_element(in[0], in[1]);
    return invert ? !found : found;
  });
}

Array union1d(const Operand& x, const Operand& y, int64_t size, std::optional<double> fill) {
  return of_both(key_of("union1d", size, fill), x, y, size,
                 [&](const Array& a, const Array& b) { return unique(concatenate({a, b}), size, fill); });
}

Array intersect1d(const Operand& x, const Operand& y, int64_t size, std::optional<double> fill) {
  return of_both(key_of("intersect1d", size, fill), x, y, size, [&](const Array& a, const Array& b) {
    const Array sorted = sort(a), counts = begins(sorted) & is_element(sorted, b);
    const Array none = full({}, fill.value_or(0), a.dtype());
    if (fill || a.size() == 0) return first_of({sorted, counts}, size, none);
    const Array smallest = sorted[argmax(counts)];
    return first_of({sorted, counts}, size, where(any(counts), smallest, none));
  });
}

// Elements of x keep its dtype, which may hold more of their digits than the one that both are compared in.
Array setdiff1d(const Operand& x, const Operand& y, int64_t size, double fill) {
  const AtLine line(x.loc());
  check_extents("setdiff1d", {size}, DType::c128, user_line(x.loc()));
  const std::array<const Operand*, 2> operands{&x, &y};
  const DType compared = common_dtype(operands);
  return composite(key_of("setdiff1d", size, fill), {x.as_array(), y.as(compared)}, [&](const Arrays& in) {
    const Array sorted = sort(ravel(in[0])), counts = begins(sorted) & !is_element(sorted.astype(compared), in[1]);
    return first_of({sorted, counts}, size, full({}, fill, sorted.dtype()));
  });
}

}  // namespace neap
