// trace: shows the graph of a function, before anything is planned.
#pragma once

#include <neap/transform_detail.h>

#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// TracedGraph is the graph of a function: its operations in order, with shapes, dtypes and the lines that made them.
class TracedGraph {
 public:
  struct Impl;
  explicit TracedGraph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  /// Returns one line for each operation; sub-graphs of loops are indented. docs/ops.md says what the operations mean.
  std::string text() const;
  /// Returns how many operations there are, those of sub-graphs aside.
  size_t operations() const;

 private:
  std::shared_ptr<const Impl> impl_;
};
/// Writes its text.
std::ostream& operator<<(std::ostream& out, const TracedGraph& graph);

namespace detail {
TracedGraph trace_of(const LeafFunction& f, const std::vector<Array>& leaves, std::source_location loc);
}

/// Traces f on arguments (arrays, specs or trees of them) without running anything. (Of an array, neap/numpy.h: the sum
/// of its diagonal.)
template <class F, class... A>
  requires(!std::is_convertible_v<const F&, Operand>)
TracedGraph trace(const F& f, const A&... arguments) {
  detail::LeafwiseCall<F, A...> flat(std::source_location{}, f, arguments...);
  return detail::trace_of(flat.function(), flat.leaves, std::source_location{});
}
template <class F, class A>
  requires(!std::is_convertible_v<const F&, Operand>)
TracedGraph trace(const F& f, const A& argument, std::source_location loc = std::source_location::current()) {
  detail::LeafwiseCall<F, A> flat(loc, f, argument);
  return detail::trace_of(flat.function(), flat.leaves, loc);
}

}  // namespace neap

#pragma GCC visibility pop
