// Products of arrays, convolutions, pooling.
#include "args.h"

namespace neap::python {
namespace {

Array tensordot_of(Arg x, Arg y, nb::handle axes, nb::handle) {
  if (PyIndex_Check(axes.ptr())) return tensordot(x, y, int_from(axes, "tensordot"));
  const nb::object pair = nb::borrow(axes);
  return tensordot(x, y, shape_from(pair[0], "tensordot"), shape_from(pair[1], "tensordot"));
}

Windows windows_from(nb::handle stride, nb::handle padding, nb::handle dilation, nb::handle input_dilation,
                     int64_t groups) {
  Windows w;
  if (!stride.is_none()) w.stride = shape_from(stride, "stride");
  if (!dilation.is_none()) w.dilation = shape_from(dilation, "dilation");
  if (!input_dilation.is_none()) w.input_dilation = shape_from(input_dilation, "input_dilation");
  w.groups = groups;
  if (nb::isinstance<nb::str>(padding)) {
    const std::string text = nb::cast<std::string>(padding);
    if (text != "SAME" && text != "VALID")
      throw_user<OptionError>("padding", "\"" + text + "\"", "\"SAME\", \"VALID\" or pairs", "", here());
    w.same = text == "SAME";
  } else if (!padding.is_none()) {
    for (nb::handle one : padding) {
      const Shape pair = shape_from(one, "padding");
      w.padding.emplace_back(pair.at(0), pair.size() > 1 ? pair[1] : pair[0]);
    }
  }
  return w;
}

using Pool = Array (*)(const Operand&, const Shape&, const Windows&);

void pool(Binder& b, const char* name, Pool f, const char* doc) {
  b.m.def(
      name,
      [f](Arg a, ShapeArg window, nb::handle stride, nb::handle padding) {
        const Operand x = a;
        const Shape extents = window;
        const Windows w = windows_from(stride, padding, nb::none(), nb::none(), 1);
        return unlocked([&] { return f(x, extents, w); });
      },
      "x"_a, "window_shape"_a, "strides"_a = nb::none(), "padding"_a = "VALID", doc);
}

using Binary = Array (*)(const Operand&, const Operand&);

void product(Binder& b, const char* name, const char* first, const char* second, Binary f, const char* doc) {
  b.m.def(name, [f](Arg x, Arg y) { return elementwise(f, x, y); }, nb::arg(first), nb::arg(second), doc);
}

// `precision` is JAX's; products are as exact as their dtype here, whatever it says.
void exact_product(Binder& b, const char* name, Binary f, const char* doc) {
  b.m.def(
      name, [f](Arg x, Arg y, nb::handle) { return elementwise(f, x, y); }, "a"_a, "b"_a, nb::kw_only(),
      "precision"_a = nb::none(), doc);
}

}  // namespace

void bind_products(Binder& b) {
  exact_product(b, "matmul", matmul, "Multiplies matrices as NumPy does.");
  exact_product(b, "dot", dot, "Contracts the last axis of a with the last but one of b.");
  b.c.def("dot", [](const Array& x, Arg y) { return dot(Operand(x, here()), y); }, "b"_a, "dot(self, b).");
  product(b, "outer", "a", "b", outer, "Multiplies each element of a with each of b.");
  exact_product(b, "inner", inner, "Contracts the last axes.");
  exact_product(b, "vdot", vdot, "dot() of the flat arrays, a conjugated.");
  product(b, "kron", "a", "b", kron, "The Kronecker product.");
  product(b, "polyval", "p", "x", polyval, "The value at x of the polynomial p, the highest power first.");
  product(b, "polyadd", "a1", "a2", polyadd, "Adds polynomials.");
  product(b, "polysub", "a1", "a2", polysub, "Subtracts polynomials.");
  product(b, "polymul", "a1", "a2", polymul, "Multiplies polynomials.");
  b.m.def("polyder", [](Arg p, int64_t m) { return polyder(p, m); }, "p"_a, "m"_a = 1, "The m-th derivative.");
  b.m.def("polyint", [](Arg p, int64_t m) { return polyint(p, m); }, "p"_a, "m"_a = 1, "An m-th integral, 0 at 0.");
  b.m.def(
      "polyfit",
      [](Arg xs, Arg ys, int64_t degree, std::optional<double> rcond, nb::handle w) {
        const Operand x = xs, y = ys;
        const std::optional<Array> weights = w.is_none() ? std::nullopt : std::optional<Array>(array_from(w, x.loc()));
        return unlocked([&] { return polyfit(x, y, degree, rcond, weights); });
      },
      "x"_a, "y"_a, "deg"_a, "rcond"_a = nb::none(), nb::kw_only(), "w"_a = nb::none(),
      "The polynomial of this degree that is nearest to y at x.",
      nb::sig(
          "def polyfit(x: neap.typing.ArrayLike, y: neap.typing.ArrayLike, deg: int, rcond: float | None = None, *, "
          "w: neap.typing.ArrayLike | None = None) -> Array"));
  b.m.def(
      "cross", [](Arg x, Arg y, int64_t axis) { return cross(x, y, axis); }, "a"_a, "b"_a, "axis"_a = -1,
      "Cross products.");
  b.m.def("tensordot", tensordot_of, "a"_a, "b"_a, "axes"_a = 2, nb::kw_only(), "precision"_a = nb::none(),
          "Contracts axes of a with axes of b.");
  b.m.def(
      "einsum",
      [](const std::string& formula, nb::args arrays, nb::handle) {
        const std::vector<Array> all = arrays_from(arrays, here());
        const std::source_location loc = here();
        return unlocked([&] { return einsum(formula, all, loc); });
      },
      "subscripts"_a, "operands"_a, "precision"_a = nb::none(), "Sums of products, as \"ij,jk->ik\" says.");
  b.m.def(
      "dot_general",
      [](Arg x, Arg y, nb::handle numbers, nb::handle) {
        const nb::object n = nb::borrow(numbers);
        const nb::object contract = n[0], batch = n[1];
        return dot_general(x, y, shape_from(contract[0], "dot_general"), shape_from(contract[1], "dot_general"),
                           shape_from(batch[0], "dot_general"), shape_from(batch[1], "dot_general"));
      },
      "lhs"_a, "rhs"_a, "dimension_numbers"_a, "precision"_a = nb::none(),
      "Contracts and batches axes: ((lhs, rhs), (batch of lhs, of rhs)).");
  b.m.def(
      "convolve",
      [](Arg x, Arg y, const std::string& mode, nb::handle) { return convolve(x, y, convolve_mode("convolve", mode)); },
      "a"_a, "v"_a, "mode"_a = "full", nb::kw_only(), "precision"_a = nb::none(), "Convolves two vectors.");
  b.m.def(
      "correlate",
      [](Arg x, Arg y, const std::string& mode, nb::handle) {
        return correlate(x, y, convolve_mode("correlate", mode));
      },
      "a"_a, "v"_a, "mode"_a = "valid", nb::kw_only(), "precision"_a = nb::none(), "Correlates two vectors.");
  b.m.def(
      "conv_general",
      [](Arg a, Arg b, nb::handle stride, nb::handle padding, nb::handle lhs, nb::handle rhs, int64_t groups) {
        const Operand x = a, w = b;
        const Windows windows = windows_from(stride, padding, rhs, lhs, groups);
        return unlocked([&] { return conv_general(x, w, windows); });
      },
      "lhs"_a, "rhs"_a, "window_strides"_a = nb::none(), "padding"_a = "VALID", "lhs_dilation"_a = nb::none(),
      "rhs_dilation"_a = nb::none(), "feature_group_count"_a = 1,
      "Convolves [batch, channels, space...] with [out, channels / groups, window...].");
  pool(b, "max_pool", max_pool, "The largest element of each window over the last axes.");
  pool(b, "min_pool", min_pool, "The smallest element of each window over the last axes.");
  pool(b, "avg_pool", avg_pool, "The mean of each window over the last axes.");
}

}  // namespace neap::python
