// Gather and scatter.
#include <optional>

#include "trace/reference/reference_math.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {
namespace {

// Rows are the rows of an index array against the operand that they index.
class Rows {
 public:
  Rows(const HostValue& x, const HostValue& indices, const Attrs& attrs)
      : shape_(x.aval.shape),
        strides_(row_major_strides(shape_)),
        axes_(attrs.ints(Attr::axes)),
        columns_(decode_integers(indices)),
        window_(offsets_along(shape_, other_axes(x.aval.ndim(), axes_))) {
    count_ = 1;
    for (int64_t i = 0; i + 1 < indices.aval.ndim(); ++i) count_ *= indices.aval.shape[i];
  }

  int64_t count() const { return count_; }
  /// Returns the offsets of the elements that one row addresses, from its base.
  const std::vector<int64_t>& window() const { return window_; }
  /// Returns the flat offset that row r addresses; negative indices count from the end. A row out of range is clamped,
  /// or gives nullopt.
  std::optional<int64_t> base(int64_t r, bool clamp) const {
    int64_t offset = 0;
    for (size_t j = 0; j < axes_.size(); ++j) {
      const int64_t extent = shape_[axes_[j]];
      int64_t index = columns_[r * static_cast<int64_t>(axes_.size()) + static_cast<int64_t>(j)];
      if (index < 0) index += extent;
      if (clamp && extent > 0) index = std::clamp<int64_t>(index, 0, extent - 1);
      if (index < 0 || index >= extent) return std::nullopt;
      offset += index * strides_[axes_[j]];
    }
    return offset;
  }

 private:
  Shape shape_;
  Shape strides_;
  Ints axes_;
  std::vector<int64_t> columns_;
  std::vector<int64_t> window_;
  int64_t count_ = 0;
};

// Returns what mode fill_or_drop reads out of range, as JAX: NaN, the lowest signed, the highest unsigned integer,
// true.
template <class T>
T fill_value() {
  if constexpr (kIsComplex<T>)
    return {std::numeric_limits<typename T::value_type>::quiet_NaN(),
            std::numeric_limits<typename T::value_type>::quiet_NaN()};
  else if constexpr (kIsFloat<T>)
    return convert_element<T>(std::numeric_limits<double>::quiet_NaN());
  else if constexpr (std::is_signed_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return std::numeric_limits<T>::max();
}

template <class C>
C combine(Op op, C old, C update) {
  if constexpr (kIsComplex<C>) {
    NEAP_CHECK(op == Op::scatter_add, "op {} of complex numbers", static_cast<int>(op));
    return old + update;
  } else
    switch (op) {
      case Op::scatter_add:
        if constexpr (std::is_floating_point_v<C>)
          return old + update;
        else
          return ref::add(old, update);
      case Op::scatter_mul:
        if constexpr (std::is_floating_point_v<C>)
          return old * update;
        else
          return ref::multiply(old, update);
      case Op::scatter_min: return ref::minimum(old, update);
      case Op::scatter_max: return ref::maximum(old, update);
      default: throw InternalError("no combining scatter");
    }
}

}  // namespace

HostValue reference_gather(const HostValue& x, const HostValue& indices, const Attrs& attrs, Aval out) {
  const Rows rows(x, indices, attrs);
  const bool fill = attrs.integer(Attr::mode) == static_cast<int64_t>(IndexMode::fill_or_drop);
  HostValue result = make_value(std::move(out));
  dispatch_all(x.aval.dtype, [&]<class T>() {
    const auto from = elements<T>(x);
    const auto to = elements<T>(result);
    size_t i = 0;
    for (int64_t r = 0; r < rows.count(); ++r) {
      if (rows.window().empty()) continue;
      const std::optional<int64_t> base = rows.base(r, /*clamp=*/!fill);
      for (const int64_t offset : rows.window()) to[i++] = base ? from[*base + offset] : fill_value<T>();
    }
  });
  return result;
}

HostValue reference_scatter(Op op, std::span<const HostValue> in, const Attrs& attrs) {
  const HostValue& x = in[0];
  const HostValue& updates = in[2];
  const Rows rows(x, in[1], attrs);
  const bool clamp = attrs.integer(Attr::mode) == static_cast<int64_t>(IndexMode::clamp_update);
  if (op == Op::scatter_set) {
    HostValue result = copy_of(x);
    int64_t i = 0;
    for (int64_t r = 0; r < rows.count(); ++r) {
      const std::optional<int64_t> base = rows.base(r, clamp);
      for (const int64_t offset : rows.window()) {
        if (base) copy_element(result, *base + offset, updates, i);
        ++i;
      }
    }
    return result;
  }
  return dispatch_all(x.aval.dtype, [&]<class T>() -> HostValue {
    if constexpr (std::same_as<T, bool>) {
      throw InternalError("scatter of bool");
    } else {
      using A = Accumulator<T>;
      const auto old = elements<T>(x);
      const auto update = elements<T>(updates);
      std::vector<A> result(old.size());
      for (size_t i = 0; i < old.size(); ++i) result[i] = static_cast<A>(old[i]);
      size_t i = 0;
      for (int64_t r = 0; r < rows.count(); ++r) {
        const std::optional<int64_t> base = rows.base(r, clamp);
        for (const int64_t offset : rows.window()) {
          if (base) result[*base + offset] = combine<A>(op, result[*base + offset], static_cast<A>(update[i]));
          ++i;
        }
      }
      return encode(result, x.aval);
    }
  });
}

}  // namespace neap::tracing
