// neap.nn: jax.nn's activations.
#include "args.h"

namespace neap::python {
namespace {

using Unary = Array (*)(const Operand&);
using Along = Array (*)(const Operand&, int64_t);

void unary(nb::module_& m, const char* name, Unary f, const char* doc) {
  m.def(name, [f](Arg x) { return elementwise(f, x); }, "x"_a, doc);
}
void along(nb::module_& m, const char* name, Along f, const char* doc) {
  m.def(
      name,
      [f](Arg a, int64_t axis) {
        const Operand x = a;
        return unlocked([&] { return f(x, axis); });
      },
      "x"_a, "axis"_a = -1, doc);
}

}  // namespace

void bind_nn(nb::module_ m) {
  unary(m, "relu", relu, "max(x, 0).");
  unary(m, "relu6", relu6, "min(max(x, 0), 6).");
  unary(m, "sigmoid", [](const Operand& x) { return sigmoid(x); }, "1 / (1 + exp(-x)).");
  unary(m, "softplus", softplus, "log(1 + exp(x)) without overflow.");
  unary(m, "silu", silu, "x * sigmoid(x).");
  unary(m, "swish", silu, "x * sigmoid(x).");
  unary(m, "selu", selu, "elu with the constants of self-normalizing networks.");
  unary(m, "mish", mish, "x * tanh(softplus(x)).");
  unary(m, "hard_tanh", hard_tanh, "x cut to [-1, 1].");
  unary(m, "hard_sigmoid", hard_sigmoid, "relu6(x + 3) / 6.");
  unary(m, "hard_silu", hard_silu, "x * hard_sigmoid(x).");
  unary(m, "hard_swish", hard_silu, "x * hard_sigmoid(x).");
  unary(m, "log_sigmoid", log_sigmoid, "log(sigmoid(x)) without overflow.");
  unary(m, "soft_sign", soft_sign, "x / (1 + |x|).");
  unary(m, "tanh", [](const Operand& x) { return tanh(x); }, "Hyperbolic tangent.");
  m.def(
      "gelu",
      [](Arg a, bool approximate) { return elementwise(approximate ? gelu_tanh : static_cast<Unary>(gelu), a); }, "x"_a,
      "approximate"_a = true, "x * ndtr(x), or its approximation by tanh.");
  m.def(
      "leaky_relu", [](Arg x, Arg slope) { return leaky_relu(x, slope); }, "x"_a, "negative_slope"_a = 0.01,
      "x, below 0 slope * x.");
  m.def(
      "elu", [](Arg x, Arg alpha) { return elu(x, alpha); }, "x"_a, "alpha"_a = 1.0,
      "x, below 0 alpha * (exp(x) - 1).");
  m.def(
      "celu", [](Arg x, Arg alpha) { return celu(x, alpha); }, "x"_a, "alpha"_a = 1.0, "elu, smooth for every alpha.");
  m.def("squareplus", [](Arg x, Arg b) { return squareplus(x, b); }, "x"_a, "b"_a = 4.0, "(x + sqrt(x^2 + b)) / 2.");
  along(m, "softmax", softmax, "exp(x) / sum(exp(x)) along an axis.");
  along(m, "log_softmax", log_softmax, "log(softmax(x)) along an axis.");
  along(m, "glu", glu, "The first half along an axis times sigmoid of the second.");
  m.def(
      "standardize",
      [](Arg x, AxesArg axis, double epsilon) { return standardize(x, axis.object ? Axes(axis) : Axes(-1), epsilon); },
      "x"_a, "axis"_a = -1, "epsilon"_a = 1e-5, "(x - mean) / sqrt(var + epsilon).");
  m.def(
      "logsumexp", [](Arg x, AxesArg axis, bool keepdims) { return logsumexp(x, axis, keepdims); }, "a"_a,
      "axis"_a = nb::none(), "keepdims"_a = false, "log(sum(exp(x))) without overflow.");
  m.def(
      "one_hot", [](Arg x, int64_t classes, DTypeArg dtype) { return one_hot(x, classes, dtype.value_or(f32)); }, "x"_a,
      "num_classes"_a, nb::kw_only(), "dtype"_a = nb::none(), "1 where the class is the index, else 0.");
}

}  // namespace neap::python
