// Functions of numpy.h that give places of arrays: indices, in the order of several keys, of flat arrays.
#include <neap/creation.h>
#include <neap/numpy.h>

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

}  // namespace neap
