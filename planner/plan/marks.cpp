#include "planner/plan/marks.h"

namespace neap::planner {

using namespace tracing;

void set_mark(Attrs& attrs, Mark mark) {
  attrs.set(Attr::marks, attrs.integer_or(Attr::marks, 0) | static_cast<int64_t>(mark));
}

bool has_mark(const Attrs& attrs, Mark mark) {
  return (attrs.integer_or(Attr::marks, 0) & static_cast<int64_t>(mark)) != 0;
}

bool is_join(const Node& node) { return node.op == Op::concatenate && has_mark(node, Mark::join); }

bool is_copy(const Node& node) { return node.attrs.has(Attr::copy); }

}  // namespace neap::planner
