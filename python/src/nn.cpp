// neap.nn: jax.nn's activations, and attention.
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

std::optional<Array> maybe_array(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional<Array>(array_from(object, here()));
}

Array attention_of(Arg query, Arg key, Arg value, nb::handle bias, nb::handle mask, std::optional<double> scale,
                   bool is_causal, nb::handle queries, nb::handle keys, nb::handle window) {
  const Operand q = query, k = key, v = value;
  AttentionOptions options{.bias = maybe_array(bias),
                           .mask = maybe_array(mask),
                           .scale = scale,
                           .is_causal = is_causal,
                           .query_seq_lengths = maybe_array(queries),
                           .key_value_seq_lengths = maybe_array(keys)};
  if (!window.is_none()) {
    const Shape sides = shape_from(window, "local_window_size");
    if (sides.empty() || sides.size() > 2)
      type_error("dot_product_attention", "a window of " + std::to_string(sides.size()) + " sizes", "one or two");
    options.local_window = std::pair(sides.front(), sides.back());
  }
  return unlocked([&] { return dot_product_attention(q, k, v, options); });
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
  m.def("dot_product_attention", attention_of, "query"_a, "key"_a, "value"_a, "bias"_a = nb::none(),
        "mask"_a = nb::none(), nb::kw_only(), "scale"_a = nb::none(), "is_causal"_a = false,
        "query_seq_lengths"_a = nb::none(), "key_value_seq_lengths"_a = nb::none(), "local_window_size"_a = nb::none(),
        "softmax(query key^T * scale + bias) value for each head; arrays are [batch, length, heads, depth].",
        nb::sig("def dot_product_attention(query: neap.typing.ArrayLike, key: neap.typing.ArrayLike, value: "
                "neap.typing.ArrayLike, bias: neap.typing.ArrayLike | None = None, mask: neap.typing.ArrayLike | None "
                "= None, *, scale: float | None = None, is_causal: bool = False, query_seq_lengths: "
                "neap.typing.ArrayLike | None = None, key_value_seq_lengths: neap.typing.ArrayLike | None = None, "
                "local_window_size: int | tuple[int, int] | None = None) -> Array"));
}

}  // namespace neap::python
