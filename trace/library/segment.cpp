// Reductions of segments (neap/reduce.h): scatters of whole slices into what a segment of none gives.
#include <neap/creation.h>
#include <neap/reduce.h>

#include <fmt/format.h>

#include "trace/ops/ops_common.h"

namespace neap {

using namespace tracing;

namespace {

// Returns a scalar that no value of the dtype is below, or above.
Array extreme_value(DType dtype, bool lowest) {
  if (is_float(dtype)) return full({}, (lowest ? -1 : 1) * std::numeric_limits<double>::infinity(), dtype);
  const Array low = full({}, lowest_of(dtype), dtype);
  return lowest ? low : ~low;
}

using Update = Array (IndexUpdate::*)(const Operand&) const;

Array reduce_segments(std::string_view op, const Operand& data, const Operand& segment_ids, int64_t segments,
                      Update update, const std::function<Array(DType)>& of_none) {
  const AtLine line(data.loc());
  const Array x = data.as_array(), ids = segment_ids.as_array();
  const auto leading = ids.ndim();
  if (!is_integer(ids.dtype()))
    throw_user<DTypeError>(op, "segment_ids " + to_string(ids.aval()), "integers", "", user_line(data.loc()));
  if (leading == 0 || leading > x.ndim() || !std::equal(ids.shape().begin(), ids.shape().end(), x.shape().begin()))
    throw_user<ShapeError>(op, "segment_ids " + to_string(ids.aval()) + " for data " + to_string(x.aval()),
                           "the leading axes of data, one or more", "", user_line(data.loc()));
  if (segments < 0)
    throw_user<ShapeError>(op, fmt::format("{} segments", segments), "0 or more", "", user_line(data.loc()));
  Shape shape(x.shape().begin() + leading, x.shape().end());
  shape.insert(shape.begin(), segments);
  check_extents(op, shape, DType::c128, user_line(data.loc()));
  const bool adds = update != &IndexUpdate::min && update != &IndexUpdate::max;
  const DType dtype = x.dtype(), computed = dtype == DType::bool_ ? DType::u8 : adds ? wide(dtype) : dtype;
  return composite(fmt::format("{} {}", op, segments), {x, ids}, [&](const Arrays& in) {
    // A dtype that does not hold the number of segments holds no id that is too large.
    const DType held = promote(in[1].dtype(), index_dtype(segments));
    const Array id = in[1].astype(is_integer(held) ? held : DType::i64);
    const Array start = broadcast_to(of_none(dtype).astype(computed), shape);
    const Array to = is_unsigned(id.dtype()) ? id : where(id < 0, segments, id);
    return (start.at(to, GatherMode::fill).*update)(in[0].astype(computed)).astype(dtype);
  });
}

void refuse_bool(std::string_view op, const Operand& data) {
  if (data.dtype() == DType::bool_)
    throw_user<DTypeError>(op, to_string(Aval{data.shape(), data.dtype()}), "numbers",
                           "convert it, for example with astype(i32)", user_line(data.loc()));
}
void refuse_complex(std::string_view op, const Operand& data, std::string_view hint) {
  if (is_complex(data.dtype()))
    throw_user<DTypeError>(op, to_string(Aval{data.shape(), data.dtype()}), "a real dtype", std::string(hint),
                           user_line(data.loc()));
}

}  // namespace

Array segment_sum(const Operand& data, const Operand& segment_ids, int64_t num_segments) {
  refuse_bool("segment_sum", data);
  return reduce_segments("segment_sum", data, segment_ids, num_segments, &IndexUpdate::add,
                         [](DType dtype) { return full({}, 0, dtype); });
}
Array segment_prod(const Operand& data, const Operand& segment_ids, int64_t num_segments) {
  refuse_bool("segment_prod", data);
  refuse_complex("segment_prod", data, "");
  return reduce_segments("segment_prod", data, segment_ids, num_segments, &IndexUpdate::mul,
                         [](DType dtype) { return full({}, 1, dtype); });
}
Array segment_max(const Operand& data, const Operand& segment_ids, int64_t num_segments) {
  refuse_complex("segment_max", data, "complex numbers have no order");
  return reduce_segments("segment_max", data, segment_ids, num_segments, &IndexUpdate::max,
                         [](DType dtype) { return extreme_value(dtype, true); });
}
Array segment_min(const Operand& data, const Operand& segment_ids, int64_t num_segments) {
  refuse_complex("segment_min", data, "complex numbers have no order");
  return reduce_segments("segment_min", data, segment_ids, num_segments, &IndexUpdate::min,
                         [](DType dtype) { return extreme_value(dtype, false); });
}

}  // namespace neap
