// Functions of numpy.h that give places of arrays: indices, in the order of several keys, of flat arrays.
#include <neap/creation.h>
#include <neap/numpy.h>

#include <algorithm>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

Array argwhere(const Operand& x, int64_t size, int64_t fill) {
  const AtLine line(x.loc());
  return stack(nonzero(x, size, fill), -1, x.loc());
}

Array lexsort(const std::vector<Array>& keys, int64_t axis, std::source_location loc) {
  const AtLine line(loc);
  if (keys.empty()) throw_user<ShapeError>("lexsort", "no keys", "one or more", "", user_line(loc));
  const Shape shape = keys[0].shape();
  for (const Array& key : keys)
    if (key.shape() != shape)
      throw_user<ShapeError>("lexsort", "keys " + to_string(keys[0].aval()) + " and " + to_string(key.aval()),
                             "one shape", "", user_line(loc));
  const int64_t along = normalize_axis(axis, std::ssize(shape), "lexsort", user_line(loc));
  return composite(fmt::format("lexsort {}", along), keys, [&](const Arrays& in) {
    Array order = argsort(in[0], along);
    for (size_t i = 1; i < in.size(); ++i)
      order = take_along_axis(order, argsort(take_along_axis(in[i], order, along), along), along);
    return order;
  });
}

namespace {
int64_t checked_size(std::string_view op, const Shape& shape, std::source_location loc) {
  check_extents(op, shape, DType::u8, user_line(loc));
  const int64_t size = element_count(shape);
  if (size == 0) throw_user<ShapeError>(op, "shape " + to_string(shape), "one element or more", "", user_line(loc));
  return size;
}
void require_integers(std::string_view op, const Array& index, std::source_location loc) {
  if (!is_integer(index.dtype()))
    throw_user<DTypeError>(op, "an index " + to_string(index.aval()), "integers", "", user_line(loc));
}
}  // namespace

std::vector<Array> unravel_index(const Operand& index, const Shape& shape) {
  const AtLine line(index.loc());
  const int64_t size = checked_size("unravel_index", shape, index.loc());
  const Array given = index.as_array();
  require_integers("unravel_index", given, index.loc());
  const bool counts = is_signed(given.dtype());
  const DType dtype = promote(given.dtype(), index_dtype(size));
  const Array flat = given.astype(is_integer(dtype) ? dtype : DType::i64);
  Array rest = clip(counts ? where(flat < 0, flat + size, flat) : flat, 0, size - 1);
  std::vector<Array> result(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    result[axis] = mod(rest, shape[axis]).astype(dtype);
    rest = floor_divide(rest, shape[axis]);
  }
  return result;
}

Array ravel_multi_index(const std::vector<Array>& index, const Shape& shape, IndexRange range,
                        std::source_location loc) {
  const AtLine line(loc);
  const int64_t size = checked_size("ravel_multi_index", shape, loc);
  if (index.size() != shape.size())
    throw_user<ShapeError>("ravel_multi_index", fmt::format("{} indices for shape {}", index.size(), to_string(shape)),
                           "one for each axis", "", user_line(loc));
  DType dtype = index_dtype(size);
  for (const Array& i : index) {
    require_integers("ravel_multi_index", i, loc);
    dtype = promote(dtype, i.dtype());
  }
  if (!is_integer(dtype)) dtype = DType::i64;  // u64 with a signed type
  Array flat = full({}, 0, dtype);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Array i = index[axis].astype(dtype);
    const int64_t n = shape[axis];
    flat = flat * n + (range == IndexRange::clip ? clip(i, 0, n - 1) : mod(i, n));
  }
  return flat;
}

namespace {

int64_t place_of(std::string_view op, int64_t place, int64_t n, bool end, std::source_location loc) {
  const int64_t from_start = place < 0 ? place + n : place;
  if (from_start < 0 || from_start >= n + end)
    throw_user<IndexError>(op, fmt::format("place {} of {}", place, n), fmt::format("-{} to {}", n, end ? n : n - 1),
                           "", user_line(loc));
  return from_start;
}

// Returns the array, flat unless an axis is given, and that axis.
std::pair<Array, int64_t> along_axis(std::string_view op, const Operand& x, std::optional<int64_t> axis) {
  if (!axis) return {ravel(x), 0};
  const Array a = x.as_array();
  return {a, normalize_axis(*axis, a.ndim(), op, user_line(x.loc()))};
}

std::pair<Array, Array> triangle_indices(std::string_view op, int64_t n, std::optional<int64_t> m, int64_t k,
                                         bool lower, std::source_location loc) {
  const AtLine line(loc);
  const int64_t columns = m.value_or(n);
  check_extents(op, {n, columns}, DType::c128, user_line(loc));
  k = std::clamp(k, -n, columns);
  int64_t count = 0;
  for (int64_t row = 0; row < n; ++row) {
    const int64_t below = std::clamp(row + k + (lower ? 1 : 0), int64_t{0}, columns);
    count += lower ? below : columns - below;
  }
  const Array inside = tri(n, columns, lower ? k : k - 1, DType::bool_);
  const std::vector<Array> at = nonzero(lower ? inside : !inside, count);
  return {at[0], at[1]};
}

}  // namespace

std::pair<Array, Array> tril_indices(int64_t n, int64_t k, std::optional<int64_t> m, std::source_location loc) {
  return triangle_indices("tril_indices", n, m, k, true, loc);
}
std::pair<Array, Array> triu_indices(int64_t n, int64_t k, std::optional<int64_t> m, std::source_location loc) {
  return triangle_indices("triu_indices", n, m, k, false, loc);
}

Array insert(const Operand& x, const Shape& places, const Operand& values, std::optional<int64_t> axis) {
  const AtLine line(x.loc());
  const auto [a, over] = along_axis("insert", x, axis);
  const int64_t n = a.shape(over);
  Shape given = values.shape(), shape = a.shape();
  if (given.size() > shape.size())
    throw_user<ShapeError>("insert", fmt::format("values {} into {}", to_string(given), to_string(a.aval())),
                           "at most as many axes", "", user_line(x.loc()));
  given.insert(given.begin(), shape.size() - given.size(), 1);
  shape[over] = places.size() == 1 ? given[over] : std::ssize(places);
  if (broadcast_shapes(given, shape) != shape)
    throw_user<ShapeError>("insert", fmt::format("values {} for {}", to_string(values.shape()), to_string(shape)),
                           "what broadcasts to that", "", user_line(x.loc()));
  const Array all = fit(values, shape, a.dtype());
  std::vector<std::pair<int64_t, int64_t>> order;  // place, which value
  for (int64_t i = 0; i < shape[over]; ++i)
    order.emplace_back(place_of("insert", places[places.size() == 1 ? 0 : i], n, true, x.loc()), i);
  std::ranges::sort(order);
  Arrays parts;
  int64_t before = 0;
  for (const auto& [place, value] : order) {
    if (place > before) parts.push_back(slice_in_dim(a, before, place, over));
    parts.push_back(slice_in_dim(all, value, value + 1, over));
    before = place;
  }
  parts.push_back(slice_in_dim(a, before, n, over));
  return concatenate(parts, over);
}

Array delete_(const Operand& x, const Shape& places, std::optional<int64_t> axis) {
  const AtLine line(x.loc());
  const auto [a, over] = along_axis("delete_", x, axis);
  const int64_t n = a.shape(over);
  Shape gone;
  for (const int64_t place : places) gone.push_back(place_of("delete_", place, n, false, x.loc()));
  std::ranges::sort(gone);
  Arrays parts;
  int64_t before = 0;
  for (const int64_t place : gone) {
    if (place > before) parts.push_back(slice_in_dim(a, before, place, over));
    before = place + 1;
  }
  parts.push_back(slice_in_dim(a, before, n, over));
  return parts.size() == 1 ? parts[0] : concatenate(parts, over);
}

Array put_along_axis(const Operand& x, const Operand& index, const Operand& values, int64_t axis) {
  const AtLine line(x.loc());
  const Array a = x.as_array(), i = index.as_array();
  const int64_t along = normalize_axis(axis, a.ndim(), "put_along_axis", user_line(x.loc()));
  if (i.ndim() != a.ndim())
    throw_user<ShapeError>("put_along_axis", "index " + to_string(i.aval()) + " for " + to_string(a.aval()),
                           "as many axes", "", user_line(x.loc()));
  std::vector<IndexList::Entry> entries;
  for (int64_t d = 0; d < a.ndim(); ++d) {
    if (d != along && i.shape(d) != a.shape(d) && i.shape(d) != 1)
      throw_user<ShapeError>("put_along_axis", "index " + to_string(i.aval()) + " for " + to_string(a.aval()),
                             "equal extents, or 1, besides the axis", "", user_line(x.loc()));
    Shape shape(a.shape().size(), 1);
    shape[d] = a.shape(d);
    entries.emplace_back(d == along ? i : iota(shape, d, index_dtype(a.shape(d))));
  }
  return a.at(IndexList(entries, user_line(x.loc())), GatherMode::fill).set(values);
}

Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices, const Operand& otherwise,
             std::source_location loc) {
  const AtLine line(loc);
  if (conditions.empty() || conditions.size() != choices.size())
    throw_user<ShapeError>("select", fmt::format("{} conditions and {} choices", conditions.size(), choices.size()),
                           "as many, one or more", "", user_line(loc));
  std::vector<Operand> operands(choices.begin(), choices.end());
  operands.push_back(otherwise);
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const DType dtype = common_dtype(all);
  Array result = otherwise.as(dtype);
  for (size_t i = choices.size(); i-- > 0;) result = where(conditions[i], choices[i].astype(dtype), result);
  return result;
}

Array packbits(const Operand& x, std::optional<int64_t> axis, bool little) {
  const AtLine line(x.loc());
  const auto [a, over] = along_axis("packbits", x, axis);
  if (a.dtype() != DType::bool_ && !is_integer(a.dtype()))
    throw_user<DTypeError>("packbits", to_string(a.aval()), "bool or integers", "", user_line(x.loc()));
  const Array last = moveaxis((a != 0).astype(DType::u8), over, -1);
  const int64_t n = last.shape(-1), bytes = (n + 7) / 8;
  Shape low(last.shape().size(), 0), high = low, shape = last.shape();
  high.back() = 8 * bytes - n;
  shape.back() = bytes, shape.push_back(8);
  const Array place = iota({8}, 0, DType::u8), shift = little ? place : 7 - place;
  const Array bits = reshape(pad(last, low, high), shape) << shift;
  return moveaxis(sum(bits, -1).astype(DType::u8), -1, over);
}

Array unpackbits(const Operand& x, std::optional<int64_t> axis, std::optional<int64_t> count, bool little) {
  const AtLine line(x.loc());
  const auto [a, over] = along_axis("unpackbits", x, axis);
  if (a.dtype() != DType::u8) throw_user<DTypeError>("unpackbits", to_string(a.aval()), "u8", "", user_line(x.loc()));
  if (count && *count < 0)
    throw_user<ShapeError>("unpackbits", fmt::format("{} bits", *count), "0 or more", "", user_line(x.loc()));
  const Array last = moveaxis(a, over, -1);
  const int64_t n = (Size(8) * last.shape(-1)).value("unpackbits", "the result", user_line(x.loc()));
  Shape shape = last.shape();
  shape.back() = n;
  const Array place = iota({8}, 0, DType::u8), shift = little ? place : 7 - place;
  Array bits = reshape((expand_dims(last, -1) >> shift) & 1, shape);
  if (count) {
    Shape low(shape.size(), 0), high = low;
    high.back() = *count - n;
    bits = pad(bits, low, high);
  }
  return moveaxis(bits, -1, over);
}

}  // namespace neap
