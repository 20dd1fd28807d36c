// Arrays: elements that are assigned, types that are no element types, indices that are none.
#include <neap/neap.h>

using neap::Array;

// expect: x[i] = y changes nothing: write x = x.at(i).set(y)
void assigns_to_an_element(Array& x) { x[0] = 1.0f; }

// expect: x[i] = y changes nothing: write x = x.at(i).set(y)
void assigns_an_array_to_a_slice(Array& x, const Array& y) { x[neap::slice(2)] = y; }

// expect: x.at(i) = y changes nothing: write x = x.at(i).set(y)
void assigns_to_an_update(Array& x) { x.at(0) = 1.0f; }

// expect: x[i] += y changes nothing: write x = x.at(i).add(y)
void adds_to_an_element(Array& x) { x[0] += 1.0f; }

// expect: x[i] += y changes nothing: write x = x.at(i).add(y)
void adds_to_an_update(Array& x) { x.at(0) += 1.0f; }

// expect: x[i] -= y changes nothing: write x = x.at(i).add(-y)
void takes_from_an_element(Array& x) { x[0] -= 1.0f; }

// expect: x[i] *= y changes nothing: write x = x.at(i).mul(y)
void scales_a_slice(Array& x, const Array& y) { x[neap::slice(2)] *= y; }

// expect: x[i] /= y changes nothing: write x = x.at(i).mul(1 / y)
void divides_an_element(Array& x) { x[0] /= 2; }

// expect: a number is no Array: write x = array(y), or x = full(x.shape(), y)
void assigns_a_number(Array& x) { x = 1.0f; }

// expect: an index is an integer, a slice, newaxis, ellipsis or Array
void index_is_a_fraction(const Array& x) { x[1.5]; }

// expect: not an element type: expected bool, an integer of up to 64 bits, float, double, float16, bfloat16
long double reads_a_long_double(const Array& x) { return x.item<long double>(); }

// expect: array: expected vectors of vectors of numbers
void array_of_texts() { neap::array(std::vector<std::string>{"a", "b"}); }

// expect: bool
void branches_on_an_array(const Array& x) {
  if (neap::sum(x) > 0) throw 1;
}

// expect: float
void reads_without_item(const Array& x) {
  const float y = neap::sum(x);
  throw y;
}

// expect: span
void span_of_what_ends_here(const Array& x) { (x + 1).span<float>(); }
