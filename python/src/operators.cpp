// x + y and its kin. An operand that is neither array nor number gets its own turn (NotImplemented).
#include "args.h"

namespace neap::python {
namespace {

using Unary = Array (*)(const Operand&);
using Binary = Array (*)(const Operand&, const Operand&);

std::string signature(const char* name, const char* argument) {
  return std::string("def ") + name + "(self" + argument + ") -> Array";
}

void unary(Binder& b, const char* name, Unary f) {
  b.c.def(
      name, [f](const Array& x) { return elementwise(f, Operand(x, here())); }, nb::sig(signature(name, "").c_str()));
}

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

void binary(Binder& b, const char* name, Binary f) {
  b.c.def(
      name,
      [f](const Array& x, nb::handle y) {
        if (!is_operand(y)) return not_implemented();
        const std::source_location loc = here();
        return nb::cast(elementwise(f, Operand(x, loc), operand_from(y, loc)));
      },
      "other"_a.none(), nb::sig(signature(name, ", other: neap.typing.ArrayLike").c_str()));
}

void reflected(Binder& b, const char* name, Binary f) {
  b.c.def(
      name,
      [f](const Array& y, nb::handle x) {
        if (!is_operand(x)) return not_implemented();
        const std::source_location loc = here();
        return nb::cast(elementwise(f, operand_from(x, loc), Operand(y, loc)));
      },
      "other"_a.none(), nb::sig(signature(name, ", other: neap.typing.ArrayLike").c_str()));
}

void arithmetic(Binder& b, const char* name, Binary f) {
  binary(b, (std::string("__") + name + "__").c_str(), f);
  reflected(b, (std::string("__r") + name + "__").c_str(), f);
}

}  // namespace

void bind_operators(Binder& b) {
  unary(b, "__neg__", [](const Operand& x) { return -x; });
  unary(b, "__pos__", [](const Operand& x) { return x.as_array(); });
  unary(b, "__abs__", [](const Operand& x) { return abs(x); });
  unary(b, "__invert__", [](const Operand& x) { return ~x; });
  arithmetic(b, "add", [](const Operand& x, const Operand& y) { return x + y; });
  arithmetic(b, "sub", [](const Operand& x, const Operand& y) { return x - y; });
  arithmetic(b, "mul", [](const Operand& x, const Operand& y) { return x * y; });
  arithmetic(b, "truediv", [](const Operand& x, const Operand& y) { return x / y; });
  arithmetic(b, "floordiv", [](const Operand& x, const Operand& y) { return floor_divide(x, y); });
  arithmetic(b, "mod", [](const Operand& x, const Operand& y) { return x % y; });
  arithmetic(b, "pow", [](const Operand& x, const Operand& y) { return power(x, y); });
  arithmetic(b, "matmul", [](const Operand& x, const Operand& y) { return matmul(x, y); });
  arithmetic(b, "and", [](const Operand& x, const Operand& y) { return x & y; });
  arithmetic(b, "or", [](const Operand& x, const Operand& y) { return x | y; });
  arithmetic(b, "xor", [](const Operand& x, const Operand& y) { return x ^ y; });
  arithmetic(b, "lshift", [](const Operand& x, const Operand& y) { return x << y; });
  arithmetic(b, "rshift", [](const Operand& x, const Operand& y) { return x >> y; });
  binary(b, "__eq__", [](const Operand& x, const Operand& y) { return x == y; });
  binary(b, "__ne__", [](const Operand& x, const Operand& y) { return x != y; });
  binary(b, "__lt__", [](const Operand& x, const Operand& y) { return x < y; });
  binary(b, "__le__", [](const Operand& x, const Operand& y) { return x <= y; });
  binary(b, "__gt__", [](const Operand& x, const Operand& y) { return x > y; });
  binary(b, "__ge__", [](const Operand& x, const Operand& y) { return x >= y; });
  b.c.def("__divmod__", [](const Array& x, Arg y) { return divmod(Operand(x, here()), y); }, "other"_a);
}

}  // namespace neap::python
