// What jax.numpy answers: tests/golden/ops, made by tools/make_golden.py.
#include <neap/neap.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/near.h"

namespace neap {
namespace {

using nlohmann::json;
using Arrays = std::vector<Array>;
using Call = std::function<Array(const Arrays& in, const json& params)>;

const std::string folder = NEAP_TESTS_DIR "/golden/ops/";

json read(const std::string& name) {
  std::ifstream file(folder + name);
  return json::parse(file);
}

Axes axes_of(const json& p) {
  if (!p.contains("axis") || p["axis"].is_null()) return {};
  return p["axis"].is_array() ? Axes(p["axis"].get<Shape>()) : Axes(p["axis"].get<int64_t>());
}
std::optional<int64_t> axis_of(const json& p) {
  return p["axis"].is_null() ? std::nullopt : std::optional(p["axis"].get<int64_t>());
}
bool keep(const json& p) { return p.value("keepdims", false); }
Array rows_of(const json& p, const char* name = "rows") { return array(p[name].get<std::vector<int32_t>>()); }

Array dot_general_of(const Arrays& in, const json& p) {
  const json& d = p["dimension_numbers"];
  return dot_general(in[0], in[1], d[0][0].get<Shape>(), d[0][1].get<Shape>(), d[1][0].get<Shape>(),
                     d[1][1].get<Shape>());
}

Array pad_of(const Arrays& in, const json& p) {
  Shape low, high;
  for (const json& width : p["pad_width"]) {
    low.push_back(width[0]);
    high.push_back(width[1]);
  }
  return pad(in[0], low, high, p["constant_values"].get<double>());
}

Array sliced(const Array& x, const json& p) {
  const auto bound = [](const json& b) { return b.is_null() ? std::nullopt : std::optional(b.get<int64_t>()); };
  const auto at = [&](size_t i) {
    const json& s = p["slices"][i];
    return slice(bound(s[0]), bound(s[1]), s[2].is_null() ? 1 : s[2].get<int64_t>());
  };
  return p["slices"].size() == 2 ? x[{at(0), at(1)}] : x[{at(0), at(1), at(2)}];
}

Array rows_read(const Arrays& in, const json& p) {
  const std::string mode = p.value("mode", "fill");
  return take(in[0], rows_of(p), 0, mode == "clip" ? GatherMode::clip : GatherMode::fill);
}

// The functions of the manifest that Neap has.
const std::map<std::string, Call>& calls() {
  static const std::map<std::string, Call> table = [] {
    std::map<std::string, Call> t;
    const auto unary = [&](const char* name, Array (*f)(const Operand&)) {
      t[name] = [f](const Arrays& in, const json&) { return f(in[0]); };
    };
    const auto binary = [&](const char* name, Array (*f)(const Operand&, const Operand&)) {
      t[name] = [f](const Arrays& in, const json&) { return f(in[0], in[1]); };
    };
    const auto reduction = [&](const char* name, Array (*f)(const Operand&, const Axes&, bool)) {
      t[name] = [f](const Arrays& in, const json& p) { return f(in[0], axes_of(p), keep(p)); };
    };
    unary("jnp.abs", abs), unary("jnp.sign", sign), unary("jnp.floor", floor), unary("jnp.ceil", ceil);
    unary("jnp.round", rint), unary("jnp.trunc", trunc), unary("jnp.exp", exp), unary("jnp.exp2", exp2);
    unary("jnp.expm1", expm1), unary("jnp.log", log), unary("jnp.log2", log2), unary("jnp.log1p", log1p);
    unary("jnp.sqrt", sqrt), unary("jnp.cbrt", cbrt), unary("jnp.reciprocal", reciprocal);
    unary("jnp.square", square), unary("jnp.sin", sin), unary("jnp.cos", cos), unary("jnp.tan", tan);
    unary("jnp.arcsin", asin), unary("jnp.arccos", acos), unary("jnp.arctan", atan), unary("jnp.sinh", sinh);
    unary("jnp.cosh", cosh), unary("jnp.tanh", tanh), unary("jnp.arcsinh", asinh), unary("jnp.arccosh", acosh);
    unary("jnp.arctanh", atanh), unary("jnp.isnan", isnan), unary("jnp.isinf", isinf);
    unary("jnp.isfinite", isfinite), unary("jnp.negative", negative), unary("special.erf", erf);
    unary("special.erfc", erfc), unary("special.erfinv", erf_inv), unary("special.gammaln", lgamma);
    unary("special.digamma", digamma), unary("nn.relu", relu), unary("nn.sigmoid", sigmoid);
    unary("nn.softplus", softplus), unary("nn.silu", silu);
    binary("jnp.add", add), binary("jnp.subtract", subtract), binary("jnp.multiply", multiply);
    binary("jnp.divide", operator/), binary("jnp.maximum", maximum), binary("jnp.minimum", minimum);
    binary("jnp.power", power), binary("jnp.remainder", mod), binary("jnp.fmod", remainder);
    t["jnp.floor_divide"] = [](const Arrays& in, const json&) {  // JAX's of an infinite dividend is NaN
      const Array q = floor_divide(in[0], in[1]);
      return is_float(q.dtype()) ? where(isinf(in[0]) & (in[1] != 0), std::nanf(""), q) : q;
    };
    binary("jnp.arctan2", atan2), binary("jnp.hypot", hypot);
    binary("jnp.logaddexp", logaddexp), binary("jnp.copysign", copysign), binary("jnp.nextafter", nextafter);
    binary("jnp.bitwise_and", bitwise_and), binary("jnp.bitwise_or", bitwise_or);
    binary("jnp.bitwise_xor", bitwise_xor), binary("jnp.left_shift", shift_left);
    binary("jnp.right_shift", shift_right);
    binary("jnp.matmul", matmul), binary("jnp.dot", dot), binary("jnp.outer", outer);
    reduction("jnp.sum", sum), reduction("jnp.prod", prod), reduction("jnp.max", max), reduction("jnp.min", min);
    reduction("jnp.mean", mean), reduction("jnp.var", var), reduction("jnp.std", std), reduction("jnp.any", any);
    reduction("jnp.all", all), reduction("special.logsumexp", logsumexp);
    t["jnp.argmax"] = [](const Arrays& in, const json& p) { return argmax(in[0], axis_of(p)); };
    t["jnp.argmin"] = [](const Arrays& in, const json& p) { return argmin(in[0], axis_of(p)); };
    t["jnp.sort"] = [](const Arrays& in, const json& p) { return sort(in[0], p["axis"].get<int64_t>()); };
    t["jnp.argsort"] = [](const Arrays& in, const json& p) { return argsort(in[0], p["axis"].get<int64_t>()); };
    t["nn.softmax"] = [](const Arrays& in, const json& p) { return softmax(in[0], p["axis"].get<int64_t>()); };
    t["nn.log_softmax"] = [](const Arrays& in, const json& p) { return log_softmax(in[0], p["axis"].get<int64_t>()); };
    t["nn.one_hot"] = [](const Arrays& in, const json& p) { return one_hot(in[0], p["num_classes"].get<int64_t>()); };
    t["jnp.tensordot"] = [](const Arrays& in, const json& p) {
      return dot_general(in[0], in[1], p["axes"][0].get<Shape>(), p["axes"][1].get<Shape>());
    };
    t["lax.dot_general"] = dot_general_of;
    t["jnp.transpose"] = [](const Arrays& in, const json& p) { return transpose(in[0], p["axes"].get<Shape>()); };
    t["jnp.reshape"] = [](const Arrays& in, const json& p) { return reshape(in[0], p["shape"].get<Shape>()); };
    t["jnp.swapaxes"] = [](const Arrays& in, const json& p) {
      return swapaxes(in[0], p["axis1"].get<int64_t>(), p["axis2"].get<int64_t>());
    };
    t["jnp.moveaxis"] = [](const Arrays& in, const json& p) {
      return moveaxis(in[0], p["source"].get<int64_t>(), p["destination"].get<int64_t>());
    };
    t["jnp.broadcast_to"] = [](const Arrays& in, const json& p) {
      return broadcast_to(in[0], p["shape"].get<Shape>());
    };
    t["jnp.expand_dims"] = [](const Arrays& in, const json& p) { return expand_dims(in[0], p["axis"].get<int64_t>()); };
    t["jnp.flip"] = [](const Arrays& in, const json& p) { return reverse(in[0], p["axis"].get<Shape>()); };
    t["jnp.pad"] = pad_of;
    t["jnp.tile"] = [](const Arrays& in, const json& p) { return tile(in[0], p["reps"].get<Shape>()); };
    t["jnp.where"] = [](const Arrays& in, const json&) { return where(in[0], in[1], in[2]); };
    t["jnp.clip"] = [](const Arrays& in, const json& p) {
      return clip(in[0], p["min"].get<double>(), p["max"].get<double>());
    };
    t["jnp.take"] = [](const Arrays& in, const json& p) { return take(in[0], in[1], p["axis"].get<int64_t>()); };
    t["jnp.take_along_axis"] = [](const Arrays& in, const json& p) {
      return take_along_axis(in[0], in[1], p["axis"].get<int64_t>());
    };
    t["jnp.concatenate"] = [](const Arrays& in, const json& p) { return concatenate(in, p["axis"].get<int64_t>()); };
    t["jnp.stack"] = [](const Arrays& in, const json& p) { return stack(in, p["axis"].get<int64_t>()); };
    t["jnp.arange"] = [](const Arrays&, const json& p) {
      return arange(p["start"].get<int>(), p["stop"].get<int>(), p["step"].get<int>());
    };
    t["jnp.linspace"] = [](const Arrays&, const json& p) {
      return linspace(p["start"].get<double>(), p["stop"].get<double>(), p["num"].get<int64_t>());
    };
    t["index.get"] = rows_read;
    t["index.get_tuple"] = [](const Arrays& in, const json& p) { return in[0][{rows_of(p), rows_of(p, "columns")}]; };
    t["index.slice"] = [](const Arrays& in, const json& p) { return sliced(in[0], p); };
    const auto update = [&](const char* name, Array (IndexUpdate::*f)(const Operand&) const) {
      t[name] = [f](const Arrays& in, const json& p) { return (in[0].at(rows_of(p)).*f)(p["value"].get<double>()); };
    };
    update("index.add", &IndexUpdate::add), update("index.set", &IndexUpdate::set);
    update("index.max", &IndexUpdate::max), update("index.min", &IndexUpdate::min);
    update("index.multiply", &IndexUpdate::mul);
    return t;
  }();
  return table;
}

bool supported(const json& entry) {
  return calls().contains(entry["function"]) || (entry["function"] == "nn.gelu" && !entry["params"]["approximate"]);
}

Array answer(const json& entry, const Arrays& in) {
  if (entry["function"] == "nn.gelu") return gelu(in[0]);
  return calls().at(entry["function"])(in, entry["params"]);
}

TEST(GoldenOps, AnswerWhatJaxAnswers) {
  int compared = 0;
  for (const json& entry : read("manifest.json")) {
    if (!supported(entry)) continue;
    SCOPED_TRACE(entry["name"].get<std::string>());
    Arrays in;
    for (const json& input : entry["inputs"]) in.push_back(load_npy(folder + input["file"].get<std::string>()));
    const Array expected = load_npy(folder + entry["outputs"][0]["file"].get<std::string>());
    const double rtol = entry["rtol"], atol = entry["atol"];
    expect_near(answer(entry, in), expected, rtol, atol);
    const eager_reference reference;
    SCOPED_TRACE("reference");
    expect_near(answer(entry, in), expected, rtol, atol);
    ++compared;
  }
  EXPECT_EQ(compared, 150);
}

TEST(GoldenOps, PromoteAsJaxDoes) {
  const json table = read("promotion.json");
  int pairs = 0;
  for (const auto& [a, row] : table["array"].items()) {
    for (const auto& [b, result] : row.items()) {
      EXPECT_EQ(name(promote(*parse_dtype(a), *parse_dtype(b))), result.get<std::string>()) << a << ' ' << b;
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, kDTypeCount * kDTypeCount);
  for (const auto& [kind, weak] : {std::pair("bool", WeakKind::bool_),
                                   {"integer", WeakKind::integer},
                                   {"floating", WeakKind::floating},
                                   {"complex", WeakKind::complex}}) {
    for (const auto& [a, result] : table["scalar"][kind].items())
      EXPECT_EQ(name(promote_weak(*parse_dtype(a), weak)), result.get<std::string>()) << a << ' ' << kind;
  }
}

}  // namespace
}  // namespace neap
