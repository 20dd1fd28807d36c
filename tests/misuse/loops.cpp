// Loops and branches.
#include <neap/neap.h>

using neap::Array;

// expect: scan: the body returns std::pair{carry, y}
void scan_returns_the_carry(const Array& x) {
  neap::scan([](const Array& sum, const Array& y) { return sum + y; }, neap::array(0.0f), x);
}

// expect: scan: the body returns std::pair{carry, y}
void scan_returns_three(const Array& x) {
  neap::scan([](const Array& sum, const Array& y) { return std::tuple(sum, y, y); }, neap::array(0.0f), x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void scan_takes_the_carry_alone(const Array& x) {
  neap::scan([](const Array& sum) { return std::pair(sum, sum); }, neap::array(0.0f), x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void scan_returns_nothing(const Array& x) {
  neap::scan([](const Array&, const Array&) {}, neap::array(0.0f), x);
}

// expect: the function is a mutable lambda, or its operator() is not const
void scan_that_counts(const Array& x) {
  neap::scan([n = 0](const Array& sum, const Array& y) mutable { return std::pair(sum + static_cast<float>(++n), y); },
             neap::array(0.0f), x);
}

// expect: an array or a number stands where a function is expected
void scan_begins_with_the_carry(const Array& x) {
  neap::scan(neap::array(0.0f), [](const Array& sum, const Array& y) { return std::pair(sum, y); }, x);
}

// expect: while_loop: the condition returns an Array, a bool scalar
void while_true(const Array& x) {
  neap::while_loop([](const Array&) { return true; }, [](const Array& c) { return c + 1; }, x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void while_nothing(const Array& x) {
  neap::while_loop([](const Array&) {}, [](const Array& c) { return c + 1; }, x);
}

// expect: while_loop: the body returns a carry of the type that it takes
void while_returns_more(const Array& x) {
  neap::while_loop([](const Array& c) { return c < 3; }, [](const Array& c) { return std::pair(c + 1, c); }, x);
}

// expect: the function takes an argument by T& or T&&; take it by value or by const T&, and return what changed
void while_changes_its_carry(const Array& x) {
  neap::while_loop([](const Array& c) { return c < 3; }, [](Array& c) { return c += 1; }, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void fori_without_the_counter(const Array& x) {
  neap::fori_loop(0, 3, [](const Array& c) { return c * 2; }, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void fori_counts_in_int(const Array& x) {
  neap::fori_loop(0, 3, [](int i, const Array& c) { return c * i; }, x);
}

// expect: fori_loop: the body takes (i, carry) and returns the next carry
void fori_returns_a_pair(const Array& x) {
  neap::fori_loop(0, 3, [](const Array& i, const Array& c) { return std::pair(i, c); }, x);
}

// expect: fori_loop: the body takes (i, carry) and returns the next carry
void fori_to_an_array_returns_a_pair(const Array& n, const Array& x) {
  neap::fori_loop(0, n, [](const Array& i, const Array& c) { return std::pair(i, c); }, x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void fori_returns_nothing(const Array& x) {
  neap::fori_loop(0, 3, [](const Array&, const Array&) {}, x);
}

// expect: an array or a number stands where a function is expected
void fori_begins_with_the_carry(const Array& x) {
  neap::fori_loop(0, 3, x, [](const Array&, const Array& c) { return c; });
}

// expect: cond: both functions return the same type
void cond_of_an_array_and_a_number(const Array& x) {
  neap::cond(neap::sum(x) > 0, [](const Array& a) { return a; }, [](const Array&) { return 0.0f; }, x);
}

// expect: an array or a number stands where a function is expected
void cond_of_values(const Array& x) { neap::cond(neap::sum(x) > 0, x, -x); }

// expect: the function does not take these arguments: it wants another number of them, or other types
void cond_without_the_argument(const Array& x) {
  neap::cond(neap::sum(x) > 0, [](const Array& a) { return a; }, [](const Array& a) { return -a; });
}

// expect: the function is a mutable lambda, or its operator() is not const
void cond_that_counts(const Array& x) {
  neap::cond(
      neap::sum(x) > 0, [n = 0](const Array& a) mutable { return a * static_cast<float>(++n); },
      [](const Array& a) { return a; }, x);
}

// expect: switch_: all branches return the same type
void switch_of_an_array_and_a_pair(const Array& x) {
  neap::switch_(0, std::tuple{[](const Array& a) { return a; }, [](const Array& a) { return std::pair(a, a); }}, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void switch_with_one_of_two(const Array& x) {
  neap::switch_(0, std::tuple{[](const Array& a) { return a; }, [](const Array& a, const Array& b) { return a + b; }},
                x);
}

// expect: switch_: the branches are a std::tuple or std::vector of functions
void switch_without_braces(const Array& x) {
  neap::switch_(0, [](const Array& a) { return a; }, [](const Array& a) { return -a; }, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void map_with_one_of_two(const Array& x) {
  neap::map([](const Array& a, const Array& b) { return a + b; }, x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void map_to_nothing(const Array& x) {
  neap::map([](const Array& a) { neap::sum(a); }, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void join_of_one(const Array& x) {
  neap::associative_scan([](const Array& a) { return a; }, x);
}

// expect: associative_scan: f takes two trees and gives one like them
void join_to_a_pair(const Array& x) {
  neap::associative_scan([](const Array& a, const Array& b) { return std::pair(a, b); }, x);
}
