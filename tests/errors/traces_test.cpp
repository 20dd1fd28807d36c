// Mistakes with traced values, specs, and arrays without a value.
#include "mistake.h"

MISTAKE(Traces, KeepsAnArgument, TracerError,
        "add: a traced f32[3] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  Array kept;
  const auto f = jit([&](const Array& x) { return kept = x; });  // there
  f(ones({3}));
  kept + 1;  // here
}

MISTAKE(Traces, KeepsAResult, TracerError,
        "item: a traced f32[] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  Array kept;
  const auto f = grad([&](const Array& x) { return kept = sum(x); });  // there
  f(ones({3}));
  kept.item<float>();  // here
}

MISTAKE(Traces, KeepsACarry, TracerError,
        "add: a traced f32[] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  Array kept;
  const auto body = [&](const Array& c, const Array& x) { return std::pair(kept = c, x); };
  scan(body, array(0.0f), ones({3}));  // there
  kept + 1;                            // here
}

MISTAKE(Traces, KeepsWhatVmapMaps, TracerError,
        "add: a traced f32[] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  Array kept;
  const auto f = jit([&](const Array& x) {
    vmap([&](const Array& row) { return kept = row * 2; })(x);  // there
    return kept + 1;                                            // here
  });
  f(ones({3}));
}

MISTAKE(Traces, PassesWhatItKept, TracerError,
        "jit: a traced f32[3] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  Array kept;
  jit([&](const Array& x) { return kept = x * 2; })(ones({3}));  // there
  jit([](const Array& x) { return x; })(kept);                   // here
}

MISTAKE(Traces, ReturnsWhatItKept, TracerError,
        "return: a traced f32[3] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  Array kept;
  jit([&](const Array& x) { return kept = x * 2; })(ones({3}));  // there
  const auto f = jit([&](const Array&) { return kept; });        // here
  f(ones({3}));
}

MISTAKE(Traces, ReadsATracedNumber, TracerError,
        "item: the elements of a traced f32[] are not known yet; return the array from the function and read it there; "
        "branch with where()") {
  const auto f = jit([](const Array& x) {
    return x * x.item<float>();  // here
  });
  f(array(1.0f));
}

MISTAKE(Traces, BranchesOnATracedBool, TracerError,
        "item: the elements of a traced bool[] are not known yet; return the array from the function and read it "
        "there; branch with where()") {
  const auto f = grad([](const Array& x) {
    return (x > 0).item<bool>() ? x : -x;  // here
  });
  f(array(1.0f));
}

MISTAKE(Traces, LoopsOnATracedNumber, TracerError,
        "item: the elements of a traced f32[] are not known yet; return the array from the function and read it there; "
        "branch with where()") {
  const auto f = jit([](Array x) {
    while (sum(x).item<float>() < 100) x *= 2;  // here
    return x;
  });
  f(ones({3}));
}

MISTAKE(Traces, IndexesByATracedNumber, TracerError,
        "item: the elements of a traced i32[] are not known yet; return the array from the function and read it there; "
        "branch with where()") {
  const auto body = [](const Array& i, const Array& c) {
    return c[i.item<int>()];  // here
  };
  fori_loop(0, 3, body, array(0.0f));
}

MISTAKE(Traces, ReadsTracedElements, TracerError,
        "to_vector: the elements of a traced f32[3] are not known yet; return the array from the function and read it "
        "there; branch with where()") {
  const auto f = vmap([](const Array& x) {
    return x * x.to_vector<float>()[0];  // here
  });
  f(ones({2, 3}));
}

MISTAKE(Traces, LooksAtTracedMemory, TracerError,
        "data: the elements of a traced f32[3] are not known yet; return the array from the function and read it "
        "there; branch with where()") {
  const auto f = jit([](const Array& x) {
    return x * x.data<float>()[0];  // here
  });
  f(ones({3}));
}

MISTAKE(Traces, SavesATracedArray, TracerError,
        "save_npy: the elements of a traced f32[3] are not known yet; return the array from the function and read it "
        "there; branch with where()") {
  const auto f = jit([](const Array& x) {
    save_npy("never.npy", x);  // here
    return x;
  });
  f(ones({3}));
}

MISTAKE(Traces, AddsToNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  ones({3}) + bias;  // here
}

MISTAKE(Traces, SumsNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  sum(bias);  // here
}

MISTAKE(Traces, ShapeOfNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  bias.shape();  // here
}

MISTAKE(Traces, LengthOfNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  bias.shape(0);  // here
}

MISTAKE(Traces, ConvertsNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  bias.astype(f64);  // here
}

MISTAKE(Traces, ReshapesNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  reshape(bias, {3});  // here
}

MISTAKE(Traces, GathersFromNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array table;
  gather(table, zeros({2, 1}, i32));  // here
}

MISTAKE(Traces, ZerosLikeNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  zeros_like(bias);  // here
}

MISTAKE(Traces, LoopsOverNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array rows;
  for (const Array& row : rows) row.wait();  // here
}

MISTAKE(Traces, CapturesNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const Array bias;
  const auto f = jit([bias](const Array& x) {
    return x + bias;  // here
  });
  f(ones({3}));
}

MISTAKE(Traces, PassesNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const auto f = jit([](const Array& x) { return x; });  // here
  f(Array());
}

MISTAKE(Traces, ReturnsNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const auto f = jit([](const Array&) { return Array(); });  // here
  f(ones({3}));
}

MISTAKE(Traces, ReturnsNoValueToGrad, UserError, "array: an Array without a value is used; assign it first") {
  const auto f = grad([](const Array&) { return Array(); });  // here
  f(ones({3}));
}

MISTAKE(Traces, DifferentiatesNoValue, UserError, "array: an Array without a value is used; assign it first") {
  const auto f = grad([](const Array& x) { return sum(x); });  // here
  f(Array());
}

MISTAKE(Traces, LinearizesAtNoValue, UserError, "array: an Array without a value is used; assign it first") {
  linearize([](const Array& x) { return x; }, Array());  // here
}

MISTAKE(Traces, PullsBackThroughNoValue, UserError, "array: an Array without a value is used; assign it first") {
  vjp([](const Array& x) { return x; }, Array());  // here
}

MISTAKE(Traces, TracesNoValue, UserError, "array: an Array without a value is used; assign it first") {
  trace([](const Array& x) { return x; }, Array());  // here
}

MISTAKE(Traces, AddsToASpec, UserError,
        "add: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  spec({3}, f32) + 1;  // here
}

MISTAKE(Traces, CallsWithASpec, UserError,
        "jit: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  const auto f = jit([](const Array& x) { return x; });  // here
  f(spec({3}, f32));
}

MISTAKE(Traces, DifferentiatesASpec, UserError,
        "grad: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  const auto f = grad([](const Array& x) { return sum(x); });  // here
  f(spec({3}, f32));
}

MISTAKE(Traces, LoopsOverASpec, UserError,
        "dynamic_slice: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  const Array rows = spec({3}, f32);
  for (const Array& row : rows) row.wait();  // here
}

MISTAKE(Traces, CapturesASpec, UserError,
        "multiply: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  const Array weight = spec({3}, f32);
  const auto f = jit([weight](const Array& x) {
    return x * weight;  // here
  });
  f.plan(spec({3}, f32));
}

MISTAKE(Traces, SpecOfANegativeExtent, ShapeError,
        "spec: shape [3,-1] has a negative extent; expected extents of 0 or more; a NaN or an overflow cast to an "
        "integer also looks like this") {
  spec({3, -1}, f32);  // here
}

MISTAKE(Traces, CallsItselfWithoutEnd, UserError,
        "jit: calls are nested so deep that the stack is used up; expected fewer; a function that calls itself while "
        "it is traced has no values of arrays to end at: use scan, fori_loop or while_loop, or recur on a C++ number") {
  std::function<Array(const Array&)> f;
  f = [&](const Array& x) { return jit(f)(x); };  // here
  jit(f)(ones({3}));
}

MISTAKE(Traces, CallsAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const std::function<Array(const Array&)> empty;
  const auto f = jit(empty);  // here
  f(ones({3}));
}

MISTAKE(Traces, PlansAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const std::function<Array(const Array&)> empty;
  jit(empty).plan(spec({3}, f32));  // here
}

MISTAKE(Traces, CallsANullPointer, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  Array (*const null)(const Array&) = nullptr;
  const auto f = jit(null);  // here
  f(ones({3}));
}

MISTAKE(Traces, SwitchesToAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const std::vector<std::function<Array(const Array&)>> branches(2);
  switch_(0, branches, ones({3}));  // here
}

using unary = std::function<Array(const Array&)>;

MISTAKE(Traces, MapsAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  map(unary(), ones({3}));  // here
}

MISTAKE(Traces, LoopsOverAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  fori_loop(0, 3, std::function<Array(const Array&, const Array&)>(), ones({3}));  // here
}

MISTAKE(Traces, LoopsToATracedBoundOverAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  fori_loop(0, array(3), std::function<Array(const Array&, const Array&)>(), ones({3}));  // here
}

MISTAKE(Traces, ScansAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  scan(std::function<std::pair<Array, Array>(const Array&, const Array&)>(), array(0.0f), ones({3}));  // here
}

MISTAKE(Traces, LoopsWhileAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  while_loop(unary(), [](const Array& x) { return x; }, ones({}));  // here
}

MISTAKE(Traces, TakesAnEmptyBranch, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  cond(array(true), [](const Array& x) { return x; }, unary(), ones({3}));  // here
}

MISTAKE(Traces, JoinsByAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  associative_scan(std::function<Array(const Array&, const Array&)>(), ones({3}));  // here
}

MISTAKE(Traces, DifferentiatesAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const auto slope = grad(unary());  // here
  slope(ones({}));
}

MISTAKE(Traces, PushesThroughAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  jvp(unary(), ones({}), ones({}));  // here
}

MISTAKE(Traces, PullsThroughAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  vjp(unary(), ones({}));  // here
}

MISTAKE(Traces, VectorizesAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const auto f = vmap(unary());  // here
  f(ones({3}));
}

MISTAKE(Traces, ChecksPointsOfAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const auto f = checkpoint(unary());  // here
  f(ones({3}));
}

MISTAKE(Traces, HasAnEmptyRule, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const auto f =
      custom_jvp([](const Array& x) { return x; }, std::function<Array(const Array&, const Array&)>());  // here
  grad(f)(ones({}));
}

MISTAKE(Traces, HasAnEmptyWayBack, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  const auto forward = [](const Array& x) { return std::pair(x, x); };
  const std::function<Array(const Array&, const Array&)> backward;
  const auto f = custom_vjp([](const Array& x) { return x; }, forward, backward);  // here
  grad(f)(ones({}));
}

MISTAKE(Traces, MapsATreeByNothing, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  tree_map(static_cast<Array (*)(const Array&)>(nullptr), ones({3}));  // here
}

MISTAKE(Traces, CallsANullMember, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  struct Layer {
    Array weight;
    Array twice() const { return weight * 2; }
  };
  Array (Layer::* const null)() const = nullptr;
  const auto f = jit(null);  // here
  f(Layer{ones({3})});
}

MISTAKE(Traces, TracesAnEmptyFunction, UserError,
        "call: a null pointer or an empty std::function stands for the function; expected a function") {
  trace(unary(), ones({3}));  // here
}

MISTAKE(Traces, KeepsAPullback, TracerError,
        "jit: a traced f32[3] made at {there} is used after its trace has ended; return it from the traced function "
        "instead of storing it elsewhere") {
  std::function<Array(const Array&)> kept;
  const auto f = jit([&](const Array& x) {  // there
    const auto [y, pullback] = vjp([](const Array& a) { return a * a; }, x);
    kept = [pullback](const Array& c) { return pullback(c); };  // here
    return y;
  });
  f(ones({3}));
  kept(ones({3}));
}

MISTAKE(
    Traces, KeepsAFunctionOfATracedValue, TracerError,
    "multiply: a traced f32[3] made at {there} is used after its trace has ended; return it from the traced function "
    "instead of storing it elsewhere") {
  std::function<Array(const Array&)> kept;
  const auto f = jit([&](const Array& x) {  // there
    kept = jit([x](const Array& a) {
      return a * x;  // here
    });
    return x;
  });
  f(ones({3}));
  kept(ones({3}));
}
