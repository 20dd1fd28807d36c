// Mistakes with derivatives, vmap, loops, branches and trees.
#include "mistake.h"

namespace {
using Arrays = std::vector<Array>;
struct Layer {
  Array weight, bias;
};
struct Counted {
  Array sum;
  int steps;
};
}  // namespace

MISTAKE(Transforms, GradientOfAVector, ShapeError,
        "grad: the function returns f32[3]; expected a scalar; reduce it with sum() or mean(), or use vjp or jacrev") {
  const auto f = grad([](const Array& x) { return x * x; });  // here
  f(ones({3}));
}

MISTAKE(Transforms, GradientOfAnInteger, DTypeError,
        "grad: the function returns i32[]; expected a floating dtype; convert it, for example with astype(f32), before "
        "the arithmetic") {
  const auto f = grad([](const Array& x) { return sum(x > 0); });  // here
  f(ones({3}));
}

MISTAKE(Transforms, GradientOfTwo, ShapeError,
        "grad: the function returns 2 arrays; expected one scalar; vjp takes any result") {
  const auto f = grad([](const Array& x) { return std::pair(sum(x), x); });  // here
  f(ones({3}));
}

MISTAKE(Transforms, GradientOfANumber, ShapeError,
        "grad: the function returns 0 arrays; expected one scalar; vjp takes any result") {
  const auto f = grad([](const Array&) { return 1.0f; });  // here
  f(ones({3}));
}

MISTAKE(Transforms, GradientOfComplex, DTypeError,
        "grad: the function returns c64[]; expected a floating dtype; take abs(), real() or imag() of it, or grad(f, "
        "holomorphic) where f is that") {
  const auto f = grad([](const Array& x) { return sum(complex(x, x)); });  // here
  f(ones({3}));
}

MISTAKE(
    Transforms, GradientInIntegers, DTypeError,
    "grad: argument 0 is i32[3]; expected a floating dtype; convert it, or choose another argument, as in grad<1>(f)") {
  const auto f = grad([](const Array& x) { return sum(x * x); });  // here
  f(arange(3));
}

MISTAKE(Transforms, GradientInATreeWithIntegers, DTypeError,
        "grad: argument 0 holds i32[3]; expected a floating dtype; convert it, or choose another argument, as in "
        "grad<1>(f)") {
  const auto f = grad([](const Layer& l) { return sum(l.weight); });  // here
  f(Layer{ones({3}), arange(3)});
}

MISTAKE(Transforms, GradientInANumber, UserError,
        "grad: argument 0 holds no array; make it an array, for example array(1.0f)") {
  const auto f = grad([](float k, const Array& x) { return sum(x * k); });  // here
  f(2.0f, ones({3}));
}

MISTAKE(Transforms, GradientInNoArrays, UserError,
        "grad: argument 0 holds no array; make it an array, for example array(1.0f)") {
  const auto f = grad([](const Arrays&) { return array(1.0f); });  // here
  f(Arrays());
}

MISTAKE(Transforms, HolomorphicInReals, DTypeError,
        "grad: argument 0 is f32[3]; expected a complex dtype, as holomorphic says; convert it, or choose another "
        "argument, as in grad<1>(f)") {
  const auto f = grad([](const Array& x) { return sum(x); }, holomorphic);  // here
  f(ones({3}));
}

MISTAKE(Transforms, ForwardInComplex, DTypeError,
        "jacfwd: argument 0 is c64[3]; expected a floating dtype; jacfwd(f, holomorphic) is for complex functions, "
        "jacrev for complex arguments") {
  const auto f = jacfwd([](const Array& x) { return x; });  // here
  f(ones({3}, c64));
}

MISTAKE(Transforms, BackwardOfComplex, DTypeError,
        "jacrev: the function returns c64[3]; expected a floating dtype; jacfwd, or jacrev(f, holomorphic)") {
  const auto f = jacrev([](const Array& x) { return complex(x, x); });  // here
  f(ones({3}));
}

MISTAKE(Transforms, BackwardThroughAWhileLoop, UserError,
        "while_loop: a reverse-mode derivative through a loop whose number of steps is not known; expected jvp, "
        "jacfwd, or a loop with a fixed number of steps; use scan or fori_loop with integer bounds, or stop_gradient "
        "or a custom_vjp around the loop") {
  const auto f = grad([](const Array& x) {
    return while_loop([](const Array& c) { return c < 3; }, [](const Array& c) { return c * 2; }, x);  // here
  });
  f(array(1.0f));
}

MISTAKE(Transforms, TangentOfAnotherShape, ShapeError, "jvp: tangent 0 is f32[4]; expected f32[3]") {
  jvp([](const Array& x) { return x; }, ones({3}), ones({4}));  // here
}

MISTAKE(Transforms, TangentOfAnotherDType, DTypeError, "jvp: tangent 0 is f64[3]; expected f32[3]") {
  jvp([](const Array& x) { return x; }, ones({3}), ones({3}, f64));  // here
}

MISTAKE(Transforms, OneTangentForTwo, ShapeError, "jvp: 1 arrays of tangents; expected 2, as of primals") {
  const auto f = [](const Array& a, const Array& b) { return a * b; };
  jvp(f, std::tuple(ones({3}), ones({3})), ones({3}));  // here
}

MISTAKE(Transforms, NumberForATangent, ShapeError, "jvp: 0 arrays of tangents; expected 1, as of primals") {
  jvp([](const Array& x) { return x; }, array(1.0f), 1.0f);  // here
}

MISTAKE(Transforms, CotangentOfAnotherShape, ShapeError, "vjp: cotangent 0 is f32[]; expected f32[3]") {
  const auto [y, pullback] = vjp([](const Array& x) { return x; }, ones({3}));
  pullback(array(1.0f));  // here
}

MISTAKE(Transforms, OneCotangentForTwo, ShapeError, "vjp: 1 arrays of cotangents; expected 2, as of results") {
  const auto [y, pullback] = vjp([](const Array& x) { return Arrays{x, x}; }, ones({3}));
  pullback(Arrays{ones({3})});  // here
}

MISTAKE(Transforms, LinearMapOfAnotherShape, ShapeError, "linearize: tangent 0 is f32[4]; expected f32[3]") {
  const auto [y, linear] = linearize([](const Array& x) { return x; }, ones({3}));
  linear(ones({4}));  // here
}

MISTAKE(Transforms, LinearMapOfNothing, ShapeError, "linearize: 0 arrays of tangents; expected 1, as of primals") {
  const auto [y, linear] = linearize([](const Arrays& x) { return x[0]; }, Arrays{ones({3})});
  linear(Arrays());  // here
}

MISTAKE(Transforms, MapsAScalar, ShapeError,
        "vmap: argument 0 has f32[]; expected an axis to map over; pass none for it in in_axes") {
  const auto f = vmap([](const Array& x) { return x; });  // here
  f(array(1.0f));
}

MISTAKE(Transforms, MapsOtherExtents, ShapeError,
        "vmap: axis 0 of argument 1 (f32[4]) has 4 elements, argument 0 3; expected equal extents") {
  const auto f = vmap([](const Array& a, const Array& b) { return a + b; });  // here
  f(ones({3}), ones({4}));
}

MISTAKE(Transforms, MapsOneOfTwoArguments, OptionError,
        "vmap: in_axes has 1 entries for 2 arguments; expected one for each argument; none leaves an argument whole") {
  const auto f = vmap([](const Array& a, const Array& b) { return a + b; }, {.in_axes = {0}});  // here
  f(ones({3}), ones({3}));
}

MISTAKE(Transforms, MapsNoAxis, UserError, "vmap: no array is mapped; expected at least one; give an axis in in_axes") {
  const auto f = vmap([](const Array& x) { return x; }, {.in_axes = {none}});  // here
  f(ones({3}));
}

MISTAKE(Transforms, MapsAMissingAxis, IndexError, "vmap: axis 1; expected an axis from -1 to 0") {
  const auto f = vmap([](const Array& x) { return x; }, {.in_axes = {1}});  // here
  f(ones({3}));
}

MISTAKE(Transforms, MapsToAMissingAxis, IndexError, "vmap: axis 3; expected an axis from -1 to 0") {
  const auto f = vmap([](const Array& x) { return x; }, {.out_axes = 3});  // here
  f(ones({3}));
}

MISTAKE(Transforms, SumsTheMappedAxisInside, IndexError, "sum: axis 1; expected an axis from -1 to 0") {
  const auto f = vmap([](const Array& x) {
    return sum(x, 1);  // here
  });
  f(ones({3, 4}));
}

MISTAKE(Transforms, RuleGivesAnotherShape, ShapeError, "custom_jvp: tangent 0 is f32[3]; expected f32[]") {
  const auto square = [](const Array& x) { return sum(x * x); };
  const auto f = custom_jvp(square, [](const Array& x, const Array& t) { return x * t; });  // here
  grad(f)(ones({3}));
}

MISTAKE(Transforms, RuleIsNotLinear, UserError,
        "custom_jvp: multiply of what depends on a tangent; expected a derivative, which is linear in the tangents; "
        "see the rule given to custom_jvp") {
  const auto square = [](const Array& x) { return sum(x * x); };
  const auto f = custom_jvp(square, [](const Array&, const Array& t) {
    return sum(t * t);  // here
  });
  grad(f)(ones({3}));
}

MISTAKE(Transforms, RuleReadsWhereATangentSays, UserError,
        "custom_jvp: convert of what depends on a tangent; expected a derivative, which is linear in the tangents; "
        "see the rule given to custom_jvp") {
  const auto first = [](const Array& x) { return x[0]; };
  const auto f = custom_jvp(first, [](const Array&, const Array& t) {
    return take(t, t.astype(i32))[0];  // here
  });
  grad(f)(ones({3}));
}

MISTAKE(Transforms, RuleReadsInALoopWhereATangentSays, UserError,
        "custom_jvp: argsort of what depends on a tangent; expected a derivative, which is linear in the tangents; "
        "see the rule given to custom_jvp") {
  const auto first = [](const Array& x) { return x[0]; };
  const auto f = custom_jvp(first, [](const Array&, const Array& t) {
    const auto step = [](const Array&, const Array& v) {
      return take(v, argsort(v));  // here
    };
    return fori_loop(0, 3, step, t)[0];
  });
  grad(f)(ones({3}));
}

MISTAKE(Transforms, BackwardGivesAnotherShape, ShapeError, "custom_vjp: cotangent 0 is f32[]; expected f32[3]") {
  const auto square = [](const Array& x) { return sum(x * x); };
  const auto forward = [square](const Array& x) { return std::pair(square(x), x); };
  const auto f = custom_vjp(square, forward, [](const Array&, const Array& c) { return c; });  // here
  grad(f)(ones({3}));
}

MISTAKE(Transforms, ForwardGivesAnotherShape, ShapeError,
        "custom_vjp: forward returns other arrays than the function; expected the same, with residuals") {
  const auto square = [](const Array& x) { return sum(x * x); };
  const auto forward = [](const Array& x) { return std::pair(x, x); };
  const auto f = custom_vjp(square, forward, [](const Array& x, const Array& c) { return x * c; });  // here
  grad(f)(ones({3}));
}

MISTAKE(Transforms, ForwardThroughACustomVjp, UserError,
        "custom_vjp: a forward derivative of a function with a custom_vjp; expected its reverse only; use grad or vjp, "
        "or give the function a custom_jvp") {
  const auto square = [](const Array& x) { return sum(x * x); };
  const auto forward = [square](const Array& x) { return std::pair(square(x), x); };
  const auto f = custom_vjp(square, forward, [](const Array& x, const Array& c) { return x * c; });  // here
  jvp(f, ones({3}), ones({3}));
}

MISTAKE(Transforms, CheckpointNameWithAComma, OptionError,
        "save_only_these_names: the name 'a,b'; expected names without commas and asterisks") {
  checkpoint_policies::save_only_these_names({"a,b"});  // here
}

MISTAKE(Transforms, ScansOtherLengths, ShapeError,
        "scan: stacked input 1 is f32[4], which is 4 steps; expected 3 steps") {
  const auto body = [](const Array& c, const Layer& x) { return std::pair(c + x.weight, x); };
  scan(body, array(0.0f), Layer{ones({3}), ones({4})});  // here
}

MISTAKE(Transforms, ScansAScalar, ShapeError, "scan: stacked input 0 is f32[]; expected an axis to go along") {
  scan([](const Array& c, const Array& x) { return std::pair(c + x, x); }, array(0.0f), array(1.0f));  // here
}

MISTAKE(Transforms, ScansWithoutALength, UserError,
        "scan: neither stacked inputs nor a length; expected one of them; pass the length") {
  scan([](const Array& c, std::nullptr_t) { return std::pair(c, c); }, array(0.0f), nullptr);  // here
}

MISTAKE(Transforms, ScansAnotherLength, ShapeError,
        "scan: stacked input 0 is f32[3], which is 3 steps; expected 4 steps") {
  scan([](const Array& c, const Array& x) { return std::pair(c + x, x); }, array(0.0f), ones({3}), 4);  // here
}

MISTAKE(Transforms, ScanGrowsItsCarry, ShapeError,
        "scan: carry 0 enters as f32[] and leaves as f32[2]; expected f32[]; a carry keeps its shape") {
  scan([](const Array& c, const Array& x) { return std::pair(c + x, x); }, array(0.0f), ones({3, 2}));  // here
}

MISTAKE(Transforms, ScanConvertsItsCarry, DTypeError,
        "scan: carry 0 enters as i32[] and leaves as f32[]; expected i32[]; a carry keeps its dtype: convert it with "
        "astype(i32)") {
  scan([](const Array& c, const Array& x) { return std::pair(c + x, x); }, array(0), ones({3}));  // here
}

MISTAKE(Transforms, ScanReturnsMoreCarries, ShapeError,
        "scan: the body returns a carry of 2 arrays; expected 1, as it takes; a carry keeps its arrays; make a number "
        "that changes one, as array(0)") {
  const auto body = [](const Arrays& c, const Array& x) { return std::pair(Arrays{c[0], x}, x); };
  scan(body, Arrays{array(0.0f)}, ones({3}));  // here
}

MISTAKE(Transforms, ScanCountsInItsCarry, UserError,
        "scan: the body returns other numbers, strings or container sizes in its carry than it takes; expected trees "
        "that differ in their arrays alone; make a number that changes an array, as array(0)") {
  const auto body = [](const Counted& c, const Array& x) { return std::pair(Counted{c.sum + x, c.steps + 1}, x); };
  scan(body, Counted{array(0.0f), 0}, ones({3}));  // here
}

MISTAKE(Transforms, CountsToAFraction, DTypeError, "fori_loop: bounds i32[] and f32[]; expected integers") {
  const auto body = [](const Array& i, const Array& c) { return c + i; };
  fori_loop(0, array(3.0f), body, array(1.0f));  // here
}

MISTAKE(Transforms, CountsToSeveral, ShapeError,
        "fori_loop: the upper bound is i32[3]; expected a scalar; where() chooses for each element") {
  const auto body = [](const Array& i, const Array& c) { return c + i; };
  fori_loop(0, arange(3), body, array(1.0f));  // here
}

MISTAKE(Transforms, LoopGrowsItsCarry, ShapeError,
        "fori_loop: carry 0 enters as f32[3] and leaves as f32[6]; expected f32[3]; a carry keeps its shape") {
  fori_loop(0, 3, [](const Array&, const Array& c) { return concatenate({c, c}); }, ones({3}));  // here
}

MISTAKE(Transforms, ConditionOfSeveral, ShapeError,
        "while_loop: the condition returns bool[3]; expected a bool scalar; reduce it with any() or all()") {
  while_loop([](const Array& c) { return c < 3; }, [](const Array& c) { return c + 1; }, ones({3}));  // here
}

MISTAKE(Transforms, ConditionIsANumber, DTypeError,
        "while_loop: the condition returns f32[]; expected a bool scalar; compare it, as in x != 0") {
  while_loop([](const Array& c) { return c; }, [](const Array& c) { return c + 1; }, array(1.0f));  // here
}

MISTAKE(Transforms, PredicateOfSeveral, ShapeError,
        "cond: the predicate is bool[3]; expected a scalar; where() chooses for each element") {
  const auto same = [](const Array& x) { return x; };
  cond(ones({3}) > 0, same, same, ones({3}));  // here
}

MISTAKE(Transforms, BranchesOfOtherShapes, ShapeError,
        "cond: result 0 is f32[3] of true_fn and f32[] of false_fn; expected one shape; broadcast one to the other's") {
  cond(true, [](const Array& x) { return x; }, [](const Array& x) { return sum(x); }, ones({3}));  // here
}

MISTAKE(Transforms, BranchesOfOtherDTypes, DTypeError,
        "cond: result 0 is f32[3] of true_fn and f64[3] of false_fn; expected one dtype; convert one with astype()") {
  cond(true, [](const Array& x) { return x; }, [](const Array& x) { return x.astype(f64); }, ones({3}));  // here
}

MISTAKE(Transforms, BranchesOfOtherNumbers, UserError,
        "cond: the branches return different numbers, strings or container sizes; expected trees that differ in their "
        "arrays alone; make a number that changes an array, as array(0)") {
  const auto once = [](const Array& x) { return Counted{x, 1}; };
  const auto twice = [](const Array& x) { return Counted{x, 2}; };
  cond(true, once, twice, ones({3}));  // here
}

MISTAKE(Transforms, SwitchesAmongNoBranches, OptionError, "switch_: no branches; expected one or more") {
  switch_(0, std::vector<Array (*)(const Array&)>(), ones({3}));  // here
}

MISTAKE(Transforms, SwitchesByAFraction, DTypeError,
        "switch_: the index is f32[]; expected an integer scalar; cond takes a bool") {
  switch_(1.5f, std::vector{+[](const Array& x) { return x; }}, ones({3}));  // here
}

MISTAKE(Transforms, MapsAScalarInALoop, ShapeError, "map: f32[]; expected an axis to map over") {
  map([](const Array& x) { return x; }, array(1.0f));  // here
}

MISTAKE(Transforms, MapsInBatchesOfNone, OptionError,
        "map: batch_size 0; expected 1 or more; leave it out for one at a time") {
  map([](const Array& x) { return x; }, ones({3}), 0);  // here
}

MISTAKE(Transforms, JoinsToAnotherShape, ShapeError,
        "associative_scan: f gives f32[] of f32[1]; expected what it takes") {
  associative_scan([](const Array& a, const Array& b) { return sum(a + b); }, ones({3}));  // here
}

MISTAKE(Transforms, MapsTreesOfOtherSizes, ShapeError,
        "tree_map: a tree of 1 arrays beside one of 0; expected the same structure") {
  tree_map([](const Array& a, const Array& b) { return a + b; }, Arrays{ones({3})}, Arrays());  // here
}
