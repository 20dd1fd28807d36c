// The C library behind Opcode::call.
#include <cmath>
#include <iterator>

#include "core/check.h"
#include "trace/scalar/scalar_eval.h"

extern "C" {  // scalar_special.cpp
double neap_lgamma(double x);
double neap_digamma(double x);
}

namespace neap::scalar {
namespace {

struct Row {
  const char* symbol;
  double (*one)(double);
  double (*two)(double, double);
};

// In the order of the enumeration.
constexpr Row kRows[] = {
    {"sin", sin, nullptr},
    {"cos", cos, nullptr},
    {"tan", tan, nullptr},
    {"neap_lgamma", neap_lgamma, nullptr},
    {"neap_digamma", neap_digamma, nullptr},
    {"fmod", nullptr, fmod},
    {"nextafter", nullptr, nextafter},
};
static_assert(std::size(kRows) == static_cast<size_t>(Function::nextafter) + 1);

const Row& row(Function function) {
  const auto i = static_cast<size_t>(function);
  NEAP_CHECK(i < std::size(kRows), "function {}", i);
  return kRows[i];
}

}  // namespace

const char* symbol(Function function) { return row(function).symbol; }
int arity(Function function) { return row(function).two ? 2 : 1; }

void* address(Function function) {
  const Row& r = row(function);
  return r.two ? reinterpret_cast<void*>(r.two) : reinterpret_cast<void*>(r.one);
}

double call_function(Function function, double a, double b) {
  const Row& r = row(function);
  return r.two ? r.two(a, b) : r.one(a);
}

}  // namespace neap::scalar
