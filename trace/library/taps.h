// Windows over the last axes of an array (Windows of neap/numpy.h), checked.
#pragma once

#include <neap/creation.h>
#include <neap/numpy.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/size.h"
#include "trace/graph/convolution.h"
#include "trace/ops/ops_common.h"

namespace neap::tracing {

// Elements of a window: where each tap is an operation of the graph (poolings, convolutions on a GPU), a larger window
// would be slow to plan and to compile.
inline constexpr int64_t kMostTaps = int64_t{1} << 16;

// More elements than an array has: with it, positions of windows and what is between them fit int64.
inline constexpr int64_t kMostPadding = int64_t{1} << 60;

/// Taps describes windows over the last axes of an array, checked, with nothing left out.
class Taps {
 public:
  Taps(std::string_view op, const Shape& x, const Shape& window, const Windows& windows, std::source_location loc)
      : axes_(window.size()), lead_(x.size() - window.size()), window_(window) {
    const auto listed = [&](const Shape& list, std::string_view what) {
      if (list.empty()) return Shape(axes_, 1);
      if (list.size() != axes_ || std::ranges::any_of(list, [](int64_t n) { return n < 1; }))
        throw_user<ShapeError>(op, fmt::format("{} {}", what, to_string(list)),
                               fmt::format("{} numbers of 1 and more", axes_), "", loc);
      return list;
    };
    stride_ = listed(windows.stride, "stride");
    dilation_ = listed(windows.dilation, "dilation");
    const Shape inner = listed(windows.input_dilation, "input dilation");
    if (windows.same && !windows.padding.empty())
      throw_user<ShapeError>(op, "both `same` and a padding", "one of them", "", loc);
    if (!windows.padding.empty() && windows.padding.size() != axes_)
      throw_user<ShapeError>(op, fmt::format("{} paddings", windows.padding.size()), fmt::format("{}", axes_), "", loc);
    low_.assign(x.size(), 0), high_ = interior_ = low_;
    for (size_t i = 0; i < axes_; ++i) {
      if (window[i] < 1) throw_user<ShapeError>(op, "window " + to_string(window), "extents of 1 and more", "", loc);
      const int64_t along = x[lead_ + i];
      const int64_t n = along == 0 ? 0 : (Size(along - 1) * inner[i] + 1).value(op, "the dilated input", loc);
      const Size reach = Size(window[i] - 1) * dilation_[i] + 1;
      interior_[lead_ + i] = inner[i] - 1;
      if (windows.same) {
        const int64_t fit = n == 0 ? 0 : (n - 1) / stride_[i] + 1;
        const Size all = Size(fit - 1) * stride_[i] + reach - n;
        const int64_t padding = std::max<int64_t>(0, all.value(op, "the padded input", loc));
        low_[lead_ + i] = padding / 2, high_[lead_ + i] = padding - padding / 2;
      } else if (!windows.padding.empty()) {
        low_[lead_ + i] = windows.padding[i].first, high_[lead_ + i] = windows.padding[i].second;
      }
      const int64_t padded = (Size(n) + low_[lead_ + i] + high_[lead_ + i]).value(op, "the padded input", loc);
      const auto is_far = [](int64_t n) { return n < -kMostPadding || n > kMostPadding; };
      if (padded < 0 || is_far(low_[lead_ + i]) || is_far(high_[lead_ + i]))
        throw_user<ShapeError>(op, fmt::format("padding {}, {} of {} elements", low_[lead_ + i], high_[lead_ + i], n),
                               "to cut at most what there is", "", loc);
      // A window that is longer than the input fits nowhere.
      count_.push_back(!reach.fits() || padded < reach.value() ? 0 : (padded - reach.value()) / stride_[i] + 1);
    }
    if (!empty() && (!Size::product(window_).fits() || size() > kMostTaps))
      throw_user<ShapeError>(op, "window " + to_string(window), fmt::format("at most {} elements", kMostTaps),
                             "a reduction takes an axis that a window spans", loc);
  }

  /// Returns whether there is no window.
  bool empty() const { return std::ranges::find(count_, 0) != count_.end(); }
  Array padded(const Array& x, double value) const { return padded(x, full({}, value, x.dtype())); }
  Array padded(const Array& x, const Array& value) const { return pad(x, low_, high_, value, interior_); }
  int64_t size() const { return element_count(window_); }
  /// Returns where in the window a tap is.
  Shape position(int64_t tap) const {
    Shape p(axes_);
    for (size_t i = axes_; i-- > 0; tap /= window_[i]) p[i] = tap % window_[i];
    return p;
  }
  /// Returns what that tap of every window reads of the padded array; there must be a window.
  Array read(const Array& padded, const Shape& position) const {
    Shape start(lead_, 0), limit(padded.shape().begin(), padded.shape().begin() + static_cast<std::ptrdiff_t>(lead_)),
        stride(lead_, 1);
    for (size_t i = 0; i < axes_; ++i) {
      start.push_back(position[i] * dilation_[i]);
      limit.push_back(start.back() + (count_[i] - 1) * stride_[i] + 1);
      stride.push_back(stride_[i]);
    }
    return strided_slice(padded, start, limit, stride);
  }
  /// Returns how many windows there are along each of the last axes.
  const Shape& count() const { return count_; }
  const Shape& stride() const { return stride_; }
  const Shape& dilation() const { return dilation_; }
  std::vector<Window> windows() const {
    std::vector<Window> all;
    for (size_t i = 0; i < axes_; ++i)
      all.push_back({window_[i], stride_[i], dilation_[i], low_[lead_ + i], high_[lead_ + i], interior_[lead_ + i]});
    return all;
  }

 private:
  size_t axes_, lead_;
  Shape window_, stride_, dilation_, low_, high_, interior_, count_;
};

}  // namespace neap::tracing
