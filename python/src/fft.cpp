// neap.fft: jax.numpy.fft.
#include "device.h"

namespace neap::python {
namespace {

namespace ff = neap::fft;

ff::Norm norm_from(const std::optional<std::string>& norm) {
  if (!norm || *norm == "backward") return ff::Norm::backward;
  if (*norm == "ortho") return ff::Norm::ortho;
  if (*norm == "forward") return ff::Norm::forward;
  throw_user<OptionError>("fft", "norm \"" + *norm + "\"", "\"backward\", \"ortho\" or \"forward\"", "", here());
}

using One = Array (*)(const Operand&, const ff::Options&);
using Many = Array (*)(const Operand&, const ff::ManyOptions&);

void one(nb::module_& m, const char* name, One f, const char* doc) {
  m.def(
      name,
      [f](Arg a, std::optional<int64_t> n, int64_t axis, const std::optional<std::string>& norm) {
        const Operand x = a;
        const ff::Options options{n, axis, norm_from(norm)};
        return unlocked([&] { return f(x, options); });
      },
      "a"_a, "n"_a = nb::none(), "axis"_a = -1, "norm"_a = nb::none(), doc);
}

void many(nb::module_& m, const char* name, Many f, bool two, const char* doc) {
  const auto run = [f](Arg a, AxesArg s, AxesArg axes, const std::optional<std::string>& norm) {
    const Operand x = a;
    const ff::ManyOptions options{s.shape(), axes.shape(), norm_from(norm)};
    return unlocked([&] { return f(x, options); });
  };
  if (two)
    m.def(name, run, "a"_a, "s"_a = nb::none(), "axes"_a = nb::make_tuple(-2, -1), "norm"_a = nb::none(), doc);
  else
    m.def(name, run, "a"_a, "s"_a = nb::none(), "axes"_a = nb::none(), "norm"_a = nb::none(), doc);
}

}  // namespace

void bind_fft(nb::module_ m) {
  one(m, "fft", ff::fft, "Transforms along an axis.");
  one(m, "ifft", ff::ifft, "Inverts fft.");
  one(m, "rfft", ff::rfft, "Transforms real numbers: the first n / 2 + 1 outputs.");
  one(m, "irfft", ff::irfft, "Inverts rfft; the result is real.");
  one(m, "hfft", ff::hfft, "The real spectrum of what is symmetric.");
  one(m, "ihfft", ff::ihfft, "Inverts hfft.");
  many(m, "fft2", ff::fft2, true, "Transforms along two axes.");
  many(m, "ifft2", ff::ifft2, true, "Inverts fft2.");
  many(m, "rfft2", ff::rfft2, true, "Transforms real numbers along two axes.");
  many(m, "irfft2", ff::irfft2, true, "Inverts rfft2.");
  many(m, "fftn", ff::fftn, false, "Transforms along all axes, or those given.");
  many(m, "ifftn", ff::ifftn, false, "Inverts fftn.");
  many(m, "rfftn", ff::rfftn, false, "Transforms real numbers along all axes.");
  many(m, "irfftn", ff::irfftn, false, "Inverts rfftn.");
  m.def(
      "fftfreq",
      [](int64_t n, double d, DTypeArg dtype, nb::handle device) {
        return placed(ff::fftfreq(n, d, dtype.value_or(f32), here()), device);
      },
      "n"_a, "d"_a = 1.0, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
      "The frequency of each output of fft.");
  m.def(
      "rfftfreq",
      [](int64_t n, double d, DTypeArg dtype, nb::handle device) {
        return placed(ff::rfftfreq(n, d, dtype.value_or(f32), here()), device);
      },
      "n"_a, "d"_a = 1.0, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
      "The frequency of each output of rfft.");
  m.def(
      "fftshift", [](Arg x, AxesArg axes) { return ff::fftshift(x, axes); }, "x"_a, "axes"_a = nb::none(),
      "Moves frequency 0 to the middle.");
  m.def(
      "ifftshift", [](Arg x, AxesArg axes) { return ff::ifftshift(x, axes); }, "x"_a, "axes"_a = nb::none(),
      "Inverts fftshift.");
}

}  // namespace neap::python
