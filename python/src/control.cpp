// Loops and branches on leaves; python/neap/_control.py makes functions on trees of them.
#include "leaves.h"

namespace neap::python {
namespace {

nb::tuple scan_of(const std::string& op, nb::callable f, nb::list init, nb::list xs, std::optional<int64_t> length,
                  bool reverse, int64_t unroll) {
  const std::source_location loc = here();
  const std::vector<Array> carry = leaves_from(init, loc), slices = leaves_from(xs, loc);
  const auto function = leaf_function(f);
  const detail::LoopResult out =
      unlocked([&] { return detail::scan_of(op, function, carry, slices, length, reverse, unroll, loc); });
  return nb::make_tuple(list_of(out.carry), list_of(out.stacked));
}

nb::list while_of(const std::string& op, size_t counters, nb::callable condition, nb::callable body, nb::list init) {
  const std::source_location loc = here();
  const std::vector<Array> carry = leaves_from(init, loc);
  const auto test = leaf_function(condition), step = leaf_function(body);
  return list_of(unlocked([&] { return detail::while_of(op, counters, test, step, carry, loc); }));
}

nb::list cond_of(Arg predicate, nb::callable yes, nb::callable no, nb::list leaves) {
  const std::vector<Array> in = leaves_from(leaves, here());
  const Operand p = predicate;
  const auto f = leaf_function(yes), g = leaf_function(no);
  return list_of(unlocked([&] { return detail::cond_of(p, f, g, in); }));
}

nb::list switch_of(Arg index, nb::list branches, nb::list leaves) {
  const std::vector<Array> in = leaves_from(leaves, here());
  const Operand i = index;
  std::vector<detail::LeafFunction> functions;
  for (nb::handle branch : branches) functions.push_back(leaf_function(branch));
  return list_of(unlocked([&] { return detail::switch_of(i, functions, in); }));
}

nb::list associative_scan_of(nb::callable f, nb::list leaves, bool reverse, int64_t axis) {
  const std::source_location loc = here();
  const std::vector<Array> in = leaves_from(leaves, loc);
  const auto join = leaf_function(f);
  return list_of(unlocked([&] { return detail::associative_scan_of(join, in, reverse, axis, loc); }));
}

}  // namespace

void bind_control(nb::module_& m) {
  m.def("_scan", scan_of, "op"_a, "f"_a, "init"_a, "xs"_a, "length"_a.none(), "reverse"_a, "unroll"_a);
  m.def("_while", while_of, "op"_a, "counters"_a, "condition"_a, "body"_a, "init"_a);
  m.def("_cond", cond_of, "predicate"_a, "true_fn"_a, "false_fn"_a, "leaves"_a);
  m.def("_switch", switch_of, "index"_a, "branches"_a, "leaves"_a);
  m.def("_associative_scan", associative_scan_of, "f"_a, "leaves"_a, "reverse"_a, "axis"_a);
  m.def("_bounds", [](Arg lo, Arg hi) { return detail::bounds_of(lo, hi); }, "lo"_a, "hi"_a);
  m.def("_counters", [](int64_t lo, int64_t hi) { return detail::counters(lo, hi, here()); }, "lo"_a, "hi"_a);
  m.def(
      "_check_slices", [](nb::list leaves) { detail::check_slices(leaves_from(leaves, here()), here()); }, "leaves"_a);
  m.def(
      "_batches",
      [](nb::list leaves, int64_t size) {
        const detail::Batches batches = detail::batches_of(leaves_from(leaves, here()), size, here());
        return nb::make_tuple(list_of(batches.whole), list_of(batches.rest));
      },
      "leaves"_a, "size"_a);
  m.def(
      "_joined_batches",
      [](nb::list whole, nb::list rest) {
        return list_of(detail::joined_batches(leaves_from(whole, here()), leaves_from(rest, here())));
      },
      "whole"_a, "rest"_a);
}

}  // namespace neap::python
