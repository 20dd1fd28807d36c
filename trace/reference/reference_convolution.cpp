// Convolutions, element by element of the result.
#include "trace/graph/convolution.h"
#include "trace/reference/reference_values.h"

namespace neap::tracing {

HostValue reference_convolution(std::span<const HostValue> in, const Attrs& attrs, Aval out) {
  const ConvolutionView view{attrs};
  const Ints &lhs = view.lhs(), &rhs = view.rhs(), &axes = view.out();
  const Shape &x = in[0].aval.shape, &w = in[1].aval.shape;
  const Ints x_strides = row_major_strides(x), w_strides = row_major_strides(w);
  const Ints window(rhs.begin() + 3, rhs.end());
  const std::vector<int64_t> taps = offsets_along(w, window);
  Shape window_shape;
  std::vector<Window> windows;
  for (size_t i = 0; i < view.space(); ++i) {
    window_shape.push_back(w[rhs[3 + i]]);
    windows.push_back(view.window(i, window_shape[i]));
  }
  return dispatch_all(out.dtype, [&]<class T>() {
    using A = Accumulator<T>;
    const auto a = elements<T>(in[0]);
    const auto b = elements<T>(in[1]);
    std::vector<A> result(static_cast<size_t>(out.size()));
    std::vector<int64_t> at, tap;
    for (size_t r = 0; r < result.size(); ++r) {
      unravel(static_cast<int64_t>(r), out.shape, at);
      const int64_t group = at[axes[0]];
      A total = in.size() == 3 ? static_cast<A>(elements<T>(in[2])[r]) : A(0);
      for (int64_t feature = 0; feature < x[lhs[2]]; ++feature) {
        for (size_t t = 0; t < taps.size(); ++t) {
          unravel(static_cast<int64_t>(t), window_shape, tap);
          int64_t from = group * x_strides[lhs[0]] + at[axes[1]] * x_strides[lhs[1]] + feature * x_strides[lhs[2]];
          bool between = false, inside = true;
          for (size_t i = 0; i < windows.size(); ++i) {
            const int64_t dilated = at[axes[3 + i]] * windows[i].stride + tap[i] * windows[i].dilation - windows[i].low;
            const int64_t step = windows[i].interior + 1;
            between = between || dilated % step != 0;
            inside = inside && dilated >= 0 && dilated / step < x[lhs[3 + i]];
            from += dilated / step * x_strides[lhs[3 + i]];
          }
          if (between) continue;
          const A weight = static_cast<A>(
              b[group * w_strides[rhs[0]] + at[axes[2]] * w_strides[rhs[1]] + feature * w_strides[rhs[2]] + taps[t]]);
          total = sum(total, product(inside ? static_cast<A>(a[from]) : A(0), weight));
        }
      }
      result[r] = total;
    }
    return encode(result, std::move(out));
  });
}

}  // namespace neap::tracing
