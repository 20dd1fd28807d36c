// Transforms: derivatives, vmap, and derivatives of one's own.
#include <neap/neap.h>

using neap::Array;

// expect: the function does not take these arguments: it wants another number of them, or other types
void grad_with_one_of_two(const Array& x) {
  neap::grad([](const Array& a, const Array& b) { return neap::sum(a * b); })(x);
}

// expect: grad: there is no such argument: the function is called with fewer
void gradient_in_a_missing_argument(const Array& x) {
  neap::grad<1>([](const Array& a) { return neap::sum(a); })(x);
}

// expect: grad: there is no such argument: the function is called with fewer
void value_and_gradients_in_a_missing_argument(const Array& x) {
  neap::value_and_grad<0, 2>([](const Array& a, const Array& b) { return neap::sum(a * b); })(x, x);
}

// expect: jacobian: there is no such argument: the function is called with fewer
void jacfwd_in_a_missing_argument(const Array& x) {
  neap::jacfwd<1>([](const Array& a) { return a; })(x);
}

// expect: jacobian: there is no such argument: the function is called with fewer
void jacrev_in_a_missing_argument(const Array& x) {
  neap::jacrev<2>([](const Array& a) { return a; })(x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void grad_of_nothing(const Array& x) {
  neap::grad([](const Array& a) { neap::sum(a); })(x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void vmap_of_nothing(const Array& x) {
  neap::vmap([](const Array& a) { neap::sum(a); })(x);
}

// expect: the function is a mutable lambda, or its operator() is not const
void vmap_of_a_mutable_lambda(const Array& x) {
  neap::vmap([n = 0](const Array& a) mutable { return a * static_cast<float>(++n); })(x);
}

// expect: the function takes an argument by T& or T&&; take it by value or by const T&, and return what changed
void grad_by_reference(Array& x) {
  neap::grad([](Array& a) {
    a = a * 2;
    return neap::sum(a);
  })(x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void jvp_with_one_of_two(const Array& x) {
  neap::jvp([](const Array& a, const Array& b) { return a * b; }, x, x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void jvp_of_nothing(const Array& x) {
  neap::jvp([](const Array& a) { neap::sum(a); }, x, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void vjp_with_one_of_two(const Array& x) {
  neap::vjp([](const Array& a, const Array& b) { return a * b; }, x);
}

// expect: vjp: the pullback takes one cotangent, like the result
void pullback_of_a_tuple(const Array& x) {
  const auto [y, pullback] = neap::vjp([](const Array& a) { return a; }, x);
  pullback(std::tuple(x));
}

// expect: vjp: the pullback takes one cotangent, like the result
void pullback_of_a_number(const Array& x) {
  const auto [y, pullback] = neap::vjp([](const Array& a) { return a * 2; }, x);
  pullback(1.0f);
}

// expect: vjp: the pullback takes one cotangent, like the result
void pullback_of_two(const Array& x) {
  const auto [y, pullback] = neap::vjp([](const Array& a) { return std::pair(a, a); }, x);
  pullback(x, x);
}

// expect: linearize: the map takes a tangent like each argument
void linear_map_of_two(const Array& x) {
  const auto [y, linear] = neap::linearize([](const Array& a) { return a; }, x);
  linear(x, x);
}

// expect: linearize: the map takes a tangent like each argument
void linear_map_of_a_number(const Array& x) {
  const auto [y, linear] = neap::linearize([](const Array& a) { return a * 2; }, x);
  linear(1.0f);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void rule_without_tangents(const Array& x) {
  neap::custom_jvp([](const Array& a) { return a; }, [](const Array& a) { return a; })(x);
}

// expect: custom_jvp: the rule takes the arguments, then their tangents, and returns a tangent like the result
void rule_returns_value_and_tangent(const Array& x) {
  neap::custom_jvp([](const Array& a) { return a; }, [](const Array& a, const Array& t) { return std::pair(a, t); })(x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void rule_returns_nothing(const Array& x) {
  neap::custom_jvp([](const Array& a) { return a; }, [](const Array&, const Array&) {})(x);
}

// expect: custom_vjp: forward returns std::pair{what the function returns, residuals}
void forward_without_residuals(const Array& x) {
  neap::custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return a; },
                   [](const Array&, const Array& c) { return c; })(x);
}

// expect: custom_vjp: forward returns std::pair{what the function returns, residuals}
void forward_returns_another_value(const Array& x) {
  neap::custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return std::pair(std::pair(a, a), a); },
                   [](const Array&, const Array& c) { return c; })(x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void backward_without_residuals(const Array& x) {
  neap::custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return std::pair(a, a); },
                   [](const Array& c) { return c; })(x);
}

// expect: custom_vjp: backward(residuals, cotangent) returns a tuple of trees like the arguments
void backward_returns_two_of_one(const Array& x) {
  neap::custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return std::pair(a, a); },
                   [](const Array&, const Array& c) { return std::pair(c, c); })(x);
}

// expect: custom_vjp: backward(residuals, cotangent) returns a tuple of trees like the arguments
void backward_returns_one_of_two(const Array& x) {
  neap::custom_vjp([](const Array& a, const Array& b) { return a * b; },
                   [](const Array& a, const Array& b) { return std::pair(a * b, a); },
                   [](const Array&, const Array& c) { return c; })(x, x);
}

// expect: the function is a mutable lambda, or its operator() is not const
void backward_that_counts(const Array& x) {
  neap::custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return std::pair(a, a); },
                   [n = 0](const Array&, const Array& c) mutable { return c * static_cast<float>(++n); })(x);
}

// expect: tree_map: the function takes an Array of each tree, and returns an Array
void tree_map_with_two_of_one(const Array& x) {
  neap::tree_map([](const Array& a, const Array& b) { return a + b; }, x);
}

// expect: tree_map: the function takes an Array of each tree, and returns an Array
void tree_map_to_numbers(const Array& x) {
  neap::tree_map([](const Array& a) { return a.ndim(); }, x);
}
