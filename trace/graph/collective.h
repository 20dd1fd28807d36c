// Collectives: ops whose results are made of what all ranks along an axis of a mesh have.
//
// A sum over ranks is one tree, whatever arrives first: h = ceil(n / 2), and x[i] + x[i + h] for i < n - h, until one
// is left; halves are summed in f32 and rounded once. All ranks add parts of the array, and give them to each other, so
// that nothing is held but the operand and the result.
#pragma once

#include <cstddef>
#include <source_location>
#include <span>

#include "trace/graph/graph.h"
#include "trace/graph/mesh.h"

namespace neap::tracing {

/// Returns whether the node is a collective, or has one in a graph of it, along this axis (nullptr: along any).
bool has_collectives(const Node& node, const MeshAxis* axis = nullptr);
bool has_collectives(const Graph& graph, const MeshAxis* axis = nullptr);

/// Returns how many of n values are left after a level of the tree.
constexpr int64_t rank_tree_half(int64_t n) { return (n + 1) / 2; }
/// Returns the op that makes one of two values, of which trees of the reduction are: add, maximum or minimum.
Op combined_by(Op reduction);
/// Returns the dtype in which a tree of the reduction adds.
DType combined_in(Op reduction, DType dtype);

/// Returns the bytes that a rank sends for a collective of this operand, to all others.
size_t sent_bytes(Op op, const Aval& operand, int64_t ranks);

/// Throws UserError unless all ranks of the graph's axes that processes run have the same collectives: the same text,
/// which says them in the order in which a plan has them. All ranks call it.
void check_same_program(const Graph& graph, const std::string& collectives, std::string_view label,
                        std::source_location loc);

/// Collective is a node of family collective, taken apart.
class Collective {
 public:
  Collective(const Node& node, std::span<const Aval> operands);

  /// Computes this rank's result, with the others. Throws UserError where there are no ranks.
  void run(std::span<const std::byte* const> operands, std::byte* out) const;

 private:
  void reduce(const std::byte* in, std::byte* out) const;
  void all_gather(const std::byte* in, std::byte* out) const;
  void all_to_all(const std::byte* in, std::byte* out) const;
  void permute(const std::byte* in, std::byte* out) const;
  void exchange(std::span<const Message> sends, std::span<const Message> receives) const;

  Op op_;
  std::source_location line_;
  std::shared_ptr<const MeshAxis> axis_;
  int64_t ranks_, rank_ = 0;
  Ints sources_;  // ppermute
  DType dtype_;
  int64_t count_;  // elements of the operand
};

}  // namespace neap::tracing
