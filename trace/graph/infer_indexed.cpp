// Inference for reductions, sorting, products, gather and scatter, and random numbers.
#include <algorithm>
#include <limits>

#include "trace/graph/infer_rules.h"

namespace neap::tracing {
namespace {

Shape without_axes(const Shape& shape, const Ints& axes) {
  Shape kept;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (std::ranges::find(axes, static_cast<int64_t>(i)) == axes.end()) kept.push_back(shape[i]);
  }
  return kept;
}

Shape joined(Shape a, std::span<const int64_t> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void require_numeric(const Site& site, const Aval& x) {
  if (x.dtype == DType::bool_) {
    site.fail<DTypeError>(to_string(x), "a floating or integer dtype",
                          "convert it first, for example with astype(i32)");
  }
}

// Checks indices [B..., k] against the indexed axes; returns B.
Shape check_indices(const Site& site) {
  const Aval& x = site.in[0];
  const Aval& indices = site.in[1];
  const Ints& axes = site.attrs.ints(Attr::axes);
  site.check_axes(axes, x.ndim(), /*ascending=*/true);
  if (!is_integer(indices.dtype)) {
    site.fail<DTypeError>(fmt::format("index {}", to_string(indices)), "an integer dtype",
                          "convert it, for example with astype(i32)");
  }
  if (indices.ndim() < 1) {
    site.fail<ShapeError>(fmt::format("index {}", to_string(indices)), "at least one dimension: its columns");
  }
  const int64_t columns = indices.shape.back();
  if (columns != static_cast<int64_t>(axes.size())) {
    const bool whole = static_cast<int64_t>(axes.size()) == x.ndim();
    site.fail<ShapeError>(
        whole ? fmt::format("index has {} columns, operand has {} dimensions ({})", columns, x.ndim(), to_string(x))
              : fmt::format("index has {} columns for {} axes of {}", columns, axes.size(), to_string(x)),
        "", whole ? "pass one column per dimension" : "pass one column per indexed axis");
  }
  const int64_t mode = site.attrs.integer(Attr::mode);
  const IndexMode last = site.op == Op::gather ? IndexMode::promise_in_bounds : IndexMode::clamp_update;
  if (mode < 0 || mode > static_cast<int64_t>(last)) {
    throw InternalError(fmt::format("{}: index mode {}", name(site.op), mode));
  }
  return Shape(indices.shape.begin(), indices.shape.end() - 1);
}

void check_dot_axes(const Site& site, const Ints& lhs, const Ints& rhs, std::string_view what) {
  if (lhs.size() != rhs.size()) {
    site.fail<ShapeError>(fmt::format("{} {} axes of lhs, {} of rhs", lhs.size(), what, rhs.size()), "as many");
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t a = site.in[0].shape[lhs[i]];
    const int64_t b = site.in[1].shape[rhs[i]];
    if (a == b) continue;
    site.fail<ShapeError>(fmt::format("{} and {}: {} axis {} of lhs has {} elements, axis {} of rhs {}",
                                      to_string(site.in[0]), to_string(site.in[1]), what, lhs[i], a, rhs[i], b),
                          "equal extents");
  }
}

// Checks a key, u32[B..., 2] of threefry or u32[B..., 4] of philox; returns B.
Shape check_key(const Site& site) {
  const Aval& key = site.in[0];
  constexpr auto kExpected = "u32[..., 2] or u32[..., 4]", kHint = "make one with random::key";
  if (key.dtype != DType::u32) site.fail<DTypeError>(fmt::format("the key is {}", to_string(key)), kExpected, kHint);
  if (key.ndim() < 1 || (key.shape.back() != 2 && key.shape.back() != 4)) {
    site.fail<ShapeError>(fmt::format("the key is {}", to_string(key)), kExpected, kHint);
  }
  return Shape(key.shape.begin(), key.shape.end() - 1);
}

void check_offset(const Site& site, const Shape& shape) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (!site.attrs.has(Attr::full_shape)) throw InternalError("random_bits: an offset needs attribute full_shape");
  const Shape& full = site.check_shape(site.attrs.ints(Attr::full_shape));
  if (static_cast<int64_t>(full.size()) != rank) {
    site.fail<ShapeError>(fmt::format("shape {} of full shape {}", to_string(shape), to_string(full)),
                          "as many dimensions");
  }
  if (site.in[1] != Aval{{rank}, DType::i64}) {
    site.fail<ShapeError>(fmt::format("the offset is {}", to_string(site.in[1])), fmt::format("i64[{}]", rank));
  }
}

}  // namespace

Aval infer_reduce(const Site& site) {
  const Aval& x = site.in[0];
  const Ints& axes = site.attrs.ints(Attr::axes);
  site.check_axes(axes, x.ndim(), /*ascending=*/false);
  if (site.op == Op::reduce_any || site.op == Op::reduce_all) {
    if (x.dtype != DType::bool_) site.fail<DTypeError>(to_string(x), "bool", "compare it: x != 0");
  } else if (site.op == Op::reduce_xor && !is_integer(x.dtype)) {
    site.fail<DTypeError>(to_string(x), "integers", "reinterpret its bits: bitcast(x, u32)");
  } else {
    require_numeric(site, x);
  }
  Aval result{without_axes(x.shape, axes), x.dtype};
  const bool begins = site.in.size() == 2 && (site.op == Op::reduce_sum || site.op == Op::reduce_prod);
  if (site.in.size() != 1 && !begins)
    throw InternalError(fmt::format("{}: {} operands", name(site.op), site.in.size()));
  if (begins && site.in[1] != result) {
    site.fail<ShapeError>(fmt::format("{} to begin with", to_string(site.in[1])), to_string(result));
  }
  return result;
}

Aval infer_argreduce(const Site& site) {
  const Aval& x = site.in[0];
  const int64_t axis = site.attrs.integer(Attr::axis);
  site.check_axis(axis, x.ndim());
  if (x.shape[axis] == 0) {
    site.fail<ShapeError>(fmt::format("axis {} of {} is empty", axis, to_string(x)), "at least one element");
  }
  if (x.shape[axis] > std::numeric_limits<int32_t>::max()) {
    site.fail<ShapeError>(fmt::format("axis {} of {}", axis, to_string(x)), "fewer than 2^31 elements",
                          "the index is an i32: reshape, and reduce twice");
  }
  return {without_axes(x.shape, {axis}), DType::i32};
}

Aval infer_sort(const Site& site) {
  const Aval& x = site.in[0];
  const int64_t axis = site.attrs.integer(Attr::axis);
  site.check_axis(axis, x.ndim());
  Shape shape = x.shape;
  if (site.attrs.has(Attr::limit)) {
    const Ints &start = site.attrs.ints(Attr::start), &limit = site.attrs.ints(Attr::limit);
    if (start.size() != 1 || limit.size() != 1 || start[0] < 0 || start[0] >= limit[0] || limit[0] > shape[axis])
      throw InternalError("sort: ranks that are not there");
    shape[axis] = limit[0] - start[0];
  }
  if (site.op == Op::sort) return {shape, x.dtype};
  if (x.shape[axis] > std::numeric_limits<int32_t>::max()) {
    site.fail<ShapeError>(fmt::format("axis {} of {}", axis, to_string(x)), "fewer than 2^31 elements",
                          "the index is an i32: reshape, and sort the pieces");
  }
  return {shape, DType::i32};
}

Aval infer_cumulative(const Site& site) {
  const Aval& x = site.in[0];
  site.check_axis(site.attrs.integer(Attr::axis), x.ndim());
  if (is_complex(x.dtype) && site.op != Op::cumsum) throw InternalError("cumulative: of complex numbers");
  return x;
}

Aval infer_dot(const Site& site) {
  if (site.in.size() != 2 && site.in.size() != 3) throw InternalError("dot_general: two or three operands");
  const Ints& lhs_batch = site.attrs.ints(Attr::lhs_batch);
  const Ints& rhs_batch = site.attrs.ints(Attr::rhs_batch);
  const Ints& lhs_contract = site.attrs.ints(Attr::lhs_contract);
  const Ints& rhs_contract = site.attrs.ints(Attr::rhs_contract);
  const Ints lhs_used = joined(lhs_batch, lhs_contract);
  const Ints rhs_used = joined(rhs_batch, rhs_contract);
  site.check_axes(lhs_used, site.in[0].ndim(), /*ascending=*/false);
  site.check_axes(rhs_used, site.in[1].ndim(), /*ascending=*/false);
  check_dot_axes(site, lhs_batch, rhs_batch, "batch");
  check_dot_axes(site, lhs_contract, rhs_contract, "contracted");
  DType dtype = site.in[0].dtype;
  if (site.attrs.has(Attr::dtype)) {
    dtype = site.attrs.dtype(Attr::dtype);
    for (const Aval& x : site.in) {
      const bool is_narrow = size_of(x.dtype) == (is_float(x.dtype) ? 2 : 1) && x.dtype != DType::bool_;
      if (x.dtype != dtype && !(is_narrow && dtype == DType::f32)) {
        throw InternalError("dot_general: an operand is neither of the output's dtype nor a narrower one");
      }
    }
  } else {
    site.check_same_dtype();
  }
  require_numeric(site, site.in[0]);
  Shape shape;
  for (const int64_t axis : lhs_batch) shape.push_back(site.in[0].shape[axis]);
  shape = joined(std::move(shape), without_axes(site.in[0].shape, lhs_used));
  shape = joined(std::move(shape), without_axes(site.in[1].shape, rhs_used));
  if (site.in.size() == 3 && site.in[2].shape != shape) {
    site.fail<ShapeError>(fmt::format("{} to add to", to_string(site.in[2])), to_string(shape));
  }
  return {site.check_shape(shape), dtype};
}

Aval infer_gather(const Site& site) {
  const Aval& x = site.in[0];
  const Ints& axes = site.attrs.ints(Attr::axes);
  const Shape shape = joined(check_indices(site), without_axes(x.shape, axes));
  site.check_shape(shape);
  // Clipping needs an element to clip to.
  const bool reads = element_count(shape) > 0;
  const bool clips = site.attrs.integer(Attr::mode) != static_cast<int64_t>(IndexMode::fill_or_drop);
  for (const int64_t axis : axes) {
    if (!reads || !clips || x.shape[axis] > 0) continue;
    site.fail<IndexError>(fmt::format("axis {} of {} is empty", axis, to_string(x)), "at least one element",
                          "use mode fill");
  }
  return {shape, x.dtype};
}

Aval infer_scatter(const Site& site) {
  const Aval& x = site.in[0];
  const Aval& updates = site.in[2];
  const Shape expected = joined(check_indices(site), without_axes(x.shape, site.attrs.ints(Attr::axes)));
  if (updates.dtype != x.dtype) {
    site.fail<DTypeError>(fmt::format("{} updated by {}", to_string(x), to_string(updates)), "equal dtypes",
                          fmt::format("convert the updates with astype({})", neap::name(x.dtype)));
  }
  if (updates.shape != expected) {
    site.fail<ShapeError>(
        fmt::format("updates {} for {} at index {}", to_string(updates), to_string(x), to_string(site.in[1])),
        fmt::format("shape {}", to_string(expected)));
  }
  if (site.op != Op::scatter_set) require_numeric(site, x);
  return x;
}

Aval infer_random(const Site& site) {
  if (site.in.empty()) throw InternalError(fmt::format("{}: no key", name(site.op)));
  const Shape batch = check_key(site);
  if (site.op == Op::random_fold_in) {
    if (site.in[1].dtype != DType::u32) {
      site.fail<DTypeError>(fmt::format("the data is {}", to_string(site.in[1])), "u32");
    }
    if (site.in[1].shape != batch) {
      site.fail<ShapeError>(fmt::format("key {} and data {}", to_string(site.in[0]), to_string(site.in[1])),
                            fmt::format("data of shape {}", to_string(batch)));
    }
    return site.in[0];
  }
  const Shape& shape = site.check_shape(site.attrs.ints(Attr::shape));
  if (site.op == Op::random_split) {
    return {site.check_shape(joined(joined(batch, shape), Shape{site.in[0].shape.back()})), DType::u32};
  }
  const DType dtype = site.attrs.dtype(Attr::dtype);
  if (!is_unsigned(dtype)) {
    site.fail<DTypeError>(fmt::format("dtype {}", neap::name(dtype)), "u8, u16, u32 or u64");
  }
  if (site.in.size() > 2) throw InternalError("random_bits: more than two operands");
  if (site.in.size() == 2) check_offset(site, shape);
  return {site.check_shape(joined(batch, shape)), dtype};
}

}  // namespace neap::tracing
