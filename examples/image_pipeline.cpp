// A photograph becomes a thumbnail with sharp edges: smaller by antialiasing, blurred, and the blur's difference added.
// The pipeline is one program; each stage is a function of its own, and only what the next stage reads is ever held.
#include <neap/neap.h>

#include <cmath>
#include <iostream>

using neap::Array;

Array photograph(int64_t n) {  // rings, a gradient and a dark square, in three colours
  Array at = neap::linspace(-1, 1, n), x = neap::broadcast_to(at, {n, n}), y = neap::transpose(x);
  Array rings = 0.5f + 0.5f * neap::cos(40 * (x * x + y * y)), slope = 0.5f + 0.5f * x;
  Array square = (neap::maximum(neap::abs(x - 0.3f), neap::abs(y + 0.2f)) < 0.25f).astype(neap::f32);
  return neap::stack({rings * (1 - square), slope * (1 - square), 0.5f + 0.25f * y}, 2);
}

Array gaussian(int64_t radius, float deviation) {
  Array at = neap::arange(-radius, radius + 1).astype(neap::f32), one = neap::exp(-neap::square(at / deviation) / 2);
  return neap::outer(one, one) / neap::square(neap::sum(one));
}

Array thumbnail(const Array& image, int64_t size) {
  Array small = neap::image::resize(image, {size, size, 3}, neap::image::Method::lanczos3);
  auto blur = [](const Array& plane) {  // what is beyond the edges is as the edges are
    Array wider = neap::pad(plane, {{3, 3}, {3, 3}}, neap::PadMode::edge);
    return neap::signal::convolve2d(wider, gaussian(3, 1.5f), neap::ConvolveMode::valid);
  };
  Array blurred = neap::vmap(blur, {.in_axes = {2}, .out_axes = 2})(small);
  return neap::clip(small + 0.8f * (small - blurred), 0.0f, 1.0f);
}

int main() {
  const Array image = photograph(1024);
  auto make = neap::jit([](const Array& x) { return thumbnail(x, 128); });
  const Array small = make(image);

  // What must be true: colours stay, flat places stay flat, and the edge of the square is steeper than without the mask.
  const Array plain = neap::image::resize(image, {128, 128, 3}, neap::image::Method::lanczos3);
  auto colour = [](const Array& x) { return neap::mean(x, {0, 1})[2].item<float>(); };
  auto steepest = [](const Array& x) { return neap::max(neap::abs(neap::diff(x[{64, neap::slice(), 1}]))).item<float>(); };
  const float before = steepest(plain), after = steepest(small);
  std::cout << "blue " << colour(image) << " before, " << colour(small) << " after; steepest edge " << before << ", sharpened "
            << after << '\n'
            << "peak " << neap::Bytes(make.last_plan().peak_bytes()) << ", of which the photograph is "
            << neap::Bytes(image.bytes()) << '\n';
  return std::abs(colour(image) - colour(small)) < 2e-3f && after > 1.2f * before ? 0 : 1;
}
