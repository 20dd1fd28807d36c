// neap.image and neap.scipy.signal; python/neap/image.py and python/neap/scipy/signal.py name methods and modes as JAX.
#include "args.h"

namespace neap::python {
namespace {

image::Method method_from(const char* op, const std::string& method) {
  const std::pair<const char*, image::Method> names[] = {
      {"nearest", image::Method::nearest},  {"linear", image::Method::linear},   {"bilinear", image::Method::linear},
      {"trilinear", image::Method::linear}, {"triangle", image::Method::linear}, {"cubic", image::Method::cubic},
      {"bicubic", image::Method::cubic},    {"tricubic", image::Method::cubic},  {"lanczos3", image::Method::lanczos3},
      {"lanczos5", image::Method::lanczos5}};
  for (const auto& [name, value] : names)
    if (method == name) return value;
  throw_user<OptionError>(op, "method \"" + method + "\"", "nearest, linear, cubic, lanczos3 or lanczos5", "", here());
}

}  // namespace

void bind_image(nb::module_ m) {
  m.def(
      "_resize",
      [](Arg image, ShapeArg shape, const std::string& method, bool antialias) {
        const Operand x = image;
        const Shape wanted = shape;
        const image::Method how = method_from("resize", method);
        return unlocked([&] { return image::resize(x, wanted, how, antialias); });
      },
      "image"_a, "shape"_a, "method"_a, "antialias"_a);
  m.def(
      "_scale_and_translate",
      [](Arg image, ShapeArg shape, ShapeArg dims, Arg scale, Arg translation, const std::string& method,
         bool antialias) {
        const Operand x = image, factor = scale, offset = translation;
        const Shape wanted = shape, axes = dims;
        const image::Method how = method_from("scale_and_translate", method);
        return unlocked([&] { return image::scale_and_translate(x, wanted, axes, factor, offset, how, antialias); });
      },
      "image"_a, "shape"_a, "spatial_dims"_a, "scale"_a, "translation"_a, "method"_a, "antialias"_a);
}

void bind_signal(nb::module_ m) {
  m.def(
      "fftconvolve",
      [](Arg x, Arg y, const std::string& mode, AxesArg axes) {
        const Operand p = x, q = y;
        const ConvolveMode which = convolve_mode("fftconvolve", mode);
        const Axes along = axes;
        return unlocked([&] { return signal::fftconvolve(p, q, which, along); });
      },
      "in1"_a, "in2"_a, "mode"_a = "full", "axes"_a = nb::none(), "Convolves along axes by Fourier transforms.");
  using Convolve = Array (*)(const Operand&, const Operand&, ConvolveMode);
  const std::pair<const char*, Convolve> functions[] = {{"_convolve", signal::convolve},
                                                        {"_correlate", signal::correlate},
                                                        {"_convolve2d", signal::convolve2d},
                                                        {"_correlate2d", signal::correlate2d}};
  for (const auto& [name, f] : functions)
    m.def(
        name,
        [name = name + 1, f = f](Arg x, Arg y, const std::string& mode) {
          const Operand p = x, q = y;
          const ConvolveMode which = convolve_mode(name, mode);
          return unlocked([&] { return f(p, q, which); });
        },
        "in1"_a, "in2"_a, "mode"_a);
}

}  // namespace neap::python
