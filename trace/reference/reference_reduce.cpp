// Reductions, sorting and products.
#include <functional>
#include <numeric>

#include "trace/reference/reference_math.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {
namespace {

template <class A>
A lowest() {
  if constexpr (std::is_floating_point_v<A>) return -std::numeric_limits<A>::infinity();
  return std::numeric_limits<A>::lowest();
}
template <class A>
A highest() {
  if constexpr (std::is_floating_point_v<A>) return std::numeric_limits<A>::infinity();
  return std::numeric_limits<A>::max();
}

// T: the storage type, A: what accumulates. A second operand is what to begin with.
template <class T, class A, class Combine>
HostValue reduce(std::span<const HostValue> in, const Ints& axes, Aval out, A identity, Combine combine) {
  const HostValue& x = in[0];
  const auto from = elements<T>(x);
  const std::vector<int64_t> kept = offsets_along(x.aval.shape, other_axes(x.aval.ndim(), axes));
  const std::vector<int64_t> reduced = offsets_along(x.aval.shape, axes);
  std::vector<A> result;
  for (const int64_t start : kept) {
    A total = in.size() == 2 ? static_cast<A>(elements<T>(in[1])[result.size()]) : identity;
    for (const int64_t offset : reduced) total = combine(total, static_cast<A>(from[start + offset]));
    result.push_back(total);
  }
  return encode(result, std::move(out));
}

}  // namespace

HostValue reference_reduce(Op op, std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  Ints axes = attrs.ints(Attr::axes);
  std::ranges::sort(axes);  // elements are combined in row-major order
  return dispatch_all(in[0].aval.dtype, [&]<class T>() {
    if constexpr (kIsComplex<T>) {
      return reduce<T>(in, axes, out, Compute<T>(0), sum<Compute<T>>);
    } else if constexpr (std::same_as<T, bool>) {
      if (op == Op::reduce_any) return reduce<bool>(in, axes, out, false, [](bool a, bool b) { return a || b; });
      return reduce<bool>(in, axes, out, true, [](bool a, bool b) { return a && b; });
    } else {
      using C = Compute<T>;
      using A = Accumulator<T>;
      constexpr C kLowest = std::is_integral_v<C> ? C(std::numeric_limits<T>::lowest()) : C(0);
      constexpr C kHighest = std::is_integral_v<C> ? C(std::numeric_limits<T>::max()) : C(0);
      switch (op) {
        case Op::reduce_sum: return reduce<T>(in, axes, out, A(0), sum<A>);
        case Op::reduce_prod: return reduce<T>(in, axes, out, A(1), product<A>);
        case Op::reduce_max:
          return reduce<T>(in, axes, out, std::is_integral_v<C> ? kLowest : lowest<C>(), ref::maximum<C>);
        case Op::reduce_min:
          return reduce<T>(in, axes, out, std::is_integral_v<C> ? kHighest : highest<C>(), ref::minimum<C>);
        case Op::reduce_xor:
          if constexpr (std::is_integral_v<C>) return reduce<T>(in, axes, out, C(0), std::bit_xor<C>());
          [[fallthrough]];
        default: throw InternalError("no reduction");
      }
    }
  });
}

HostValue reference_argreduce(Op op, const HostValue& x, const Attrs& attrs, Aval out) {
  const int64_t axis = attrs.integer(Attr::axis);
  return dispatch(x.aval.dtype, [&]<class T>() {
    using C = Compute<T>;
    const auto from = elements<T>(x);
    const int64_t stride = row_major_strides(x.aval.shape)[axis];
    const auto better = [&](C a, C b) { return a != a ? b == b : op == Op::argmax ? a > b : a < b; };
    std::vector<int64_t> result;
    for (const int64_t start : offsets_along(x.aval.shape, other_axes(x.aval.ndim(), {axis}))) {
      int64_t best = 0;
      for (int64_t i = 1; i < x.aval.shape[axis]; ++i) {
        const C candidate = static_cast<C>(from[start + i * stride]);
        if (better(candidate, static_cast<C>(from[start + best * stride]))) best = i;
      }
      result.push_back(best);
    }
    return encode(result, std::move(out));
  });
}

HostValue reference_sort(Op op, const HostValue& x, const Attrs& attrs, Aval out) {
  const int64_t axis = attrs.integer(Attr::axis);
  const bool descending = attrs.integer(Attr::descending) != 0;
  HostValue result = make_value(std::move(out));
  dispatch(x.aval.dtype, [&]<class T>() {
    using C = Compute<T>;
    const auto from = elements<T>(x);
    const int64_t stride = row_major_strides(x.aval.shape)[axis];
    const Ints others = other_axes(x.aval.ndim(), {axis});
    const std::vector<int64_t> rows = offsets_along(x.aval.shape, others),
                               to_rows = offsets_along(result.aval.shape, others);
    const int64_t first = attrs.has(Attr::start) ? attrs.ints(Attr::start)[0] : 0;
    const auto less = [](C a, C b) { return a < b || (a == a && b != b); };  // NaN is larger than anything
    const auto before = [&](C a, C b) { return descending ? less(b, a) : less(a, b); };
    std::vector<int64_t> order(static_cast<size_t>(x.aval.shape[axis]));
    for (size_t row = 0; row < rows.size(); ++row) {
      const int64_t start = rows[row];
      const auto at = [&](int64_t i) { return static_cast<C>(from[start + i * stride]); };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, [&](int64_t i, int64_t j) {
        if (before(at(i), at(j))) return true;
        return i < j && !before(at(j), at(i));
      });
      for (int64_t i = 0; i < result.aval.shape[axis]; ++i) {
        const int64_t to = to_rows[row] + i * stride, from_rank = order[static_cast<size_t>(first + i)];
        if (op == Op::sort)
          copy_element(result, to, x, start + from_rank * stride);
        else
          elements<int32_t>(result)[to] = static_cast<int32_t>(from_rank);
      }
    }
  });
  return result;
}

HostValue reference_cumulative(Op op, const HostValue& x, const Attrs& attrs) {
  const int64_t axis = attrs.integer(Attr::axis), n = x.aval.shape[axis];
  const bool reverse = attrs.integer(Attr::reverse) != 0;
  const int64_t stride = row_major_strides(x.aval.shape)[axis];
  return dispatch_all(x.aval.dtype, [&]<class T>() {
    using C = Compute<T>;
    const auto from = elements<T>(x);
    const auto along = [&]<class A>(A first, auto join) {
      std::vector<A> result(static_cast<size_t>(x.aval.size()));
      for (const int64_t start : offsets_along(x.aval.shape, other_axes(x.aval.ndim(), {axis}))) {
        A total = first;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = start + (reverse ? n - 1 - i : i) * stride;
          result[static_cast<size_t>(at)] = total = join(total, static_cast<A>(from[at]));
        }
      }
      return encode(result, Aval(x.aval));
    };
    if constexpr (kIsComplex<T>) {
      return along(C(-0.0, -0.0), sum<C>);
    } else {
      using A = Accumulator<T>;
      constexpr A kNothing = std::is_floating_point_v<A> ? static_cast<A>(-0.0) : A(0);  // added to -0, that is -0
      switch (op) {
        case Op::cumsum: return along(kNothing, sum<A>);
        case Op::cumprod: return along(A(1), product<A>);
        case Op::cummax:
          return along(std::is_integral_v<C> ? C(std::numeric_limits<T>::lowest()) : lowest<C>(), ref::maximum<C>);
        case Op::cummin:
          return along(std::is_integral_v<C> ? C(std::numeric_limits<T>::max()) : highest<C>(), ref::minimum<C>);
        default: throw InternalError("not cumulative");
      }
    }
  });
}

HostValue reference_dot(std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  const auto as_out = [&](const HostValue& x) {
    return x.aval.dtype == out.dtype ? x : reference_convert(Op::convert, x, {x.aval.shape, out.dtype});
  };
  const HostValue lhs = as_out(in[0]), rhs = as_out(in[1]);
  const auto along = [](const HostValue& x, const Ints& batch, const Ints& contract) {
    Ints used = batch;
    used.insert(used.end(), contract.begin(), contract.end());
    const Shape& shape = x.aval.shape;
    return std::array{offsets_along(shape, batch), offsets_along(shape, other_axes(x.aval.ndim(), used)),
                      offsets_along(shape, contract)};
  };
  const auto [lhs_batch, lhs_free, lhs_contract] =
      along(lhs, attrs.ints(Attr::lhs_batch), attrs.ints(Attr::lhs_contract));
  const auto [rhs_batch, rhs_free, rhs_contract] =
      along(rhs, attrs.ints(Attr::rhs_batch), attrs.ints(Attr::rhs_contract));
  return dispatch_all(out.dtype, [&]<class T>() {
    using A = Accumulator<T>;
    const auto a = elements<T>(lhs);
    const auto b = elements<T>(rhs);
    std::vector<A> result;
    for (size_t batch = 0; batch < lhs_batch.size(); ++batch) {
      for (const int64_t row : lhs_free) {
        for (const int64_t column : rhs_free) {
          A total = in.size() == 3 ? static_cast<A>(elements<T>(in[2])[result.size()]) : A(0);
          for (size_t k = 0; k < lhs_contract.size(); ++k) {
            total = sum(total, product(static_cast<A>(a[lhs_batch[batch] + row + lhs_contract[k]]),
                                       static_cast<A>(b[rhs_batch[batch] + column + rhs_contract[k]])));
          }
          result.push_back(total);
        }
      }
    }
    return encode(result, std::move(out));
  });
}

}  // namespace neap::tracing
