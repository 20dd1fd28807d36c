// Collectives: ops whose results are made of what all ranks along an axis of a mesh have.
//
// A sum over ranks is one tree, whatever arrives first: h = ceil(n / 2), and x[i] + x[i + h] for i < n - h, until one
// is left; halves are summed in f32 and rounded once. All ranks add parts of the array, and give them to each other, so
// that nothing is held but the operand and the result. Of small arrays each rank gets what all have, in one exchange;
// of small ones of more than 128 ranks, and of what does not divide by these, they go up and down the tree.
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

/// Returns the bytes that a rank sends at most for a collective of this operand, to all others; of ragged_all_to_all
/// where it sends each row to one.
size_t sent_bytes(Op op, const Aval& operand, int64_t ranks);
/// Returns how often ranks wait for each other meanwhile, one time after the other.
int64_t exchanges(Op op, const Aval& operand, int64_t ranks);
/// Returns whether the node is a collective for which there are any messages.
bool sends_messages(const Node& node, std::span<const Aval> operands);

/// Throws CommunicationError unless all processes that run the graph have the same text, which says its collectives as
/// their plan has them. All ranks call it, and all throw.
void check_same_program(const Graph& graph, const std::string& text, size_t collectives, std::string_view label,
                        std::source_location loc);
/// Returns the smallest value that one of those processes has. All ranks call it.
size_t least_of_ranks(const Graph& graph, size_t value, std::source_location loc);

/// Collective is a node of family collective, taken apart.
class Collective {
 public:
  Collective(const Node& node, std::span<const Aval> operands);

  /// Computes this rank's result, with the others. Throws UserError where there are no ranks.
  void run(std::span<const std::byte* const> operands, std::byte* out) const;
  /// Returns whether that mostly waits (Communicator::waits()).
  bool waits() const { return axis_->communicator && axis_->communicator->waits(); }

 private:
  void reduce(const std::byte* in, std::byte* out) const;
  template <class T>
  void reduce_parts(const T* in, T* out, size_t part, size_t count) const;
  template <class T>
  void reduce_whole(const T* in, T* out, size_t count) const;
  template <class T>
  void reduce_along(const T* in, T* out, size_t count) const;
  void all_gather(const std::byte* in, std::byte* out) const;
  void all_to_all(const std::byte* in, std::byte* out) const;
  void ragged_all_to_all(std::span<const std::byte* const> operands, std::byte* out) const;
  void send_nothing() const;
  void permute(const std::byte* in, std::byte* out) const;
  void exchange(std::span<const Message> sends, std::span<const Message> receives) const;

  Op op_;
  std::source_location line_;
  std::shared_ptr<const MeshAxis> axis_;
  int64_t ranks_, rank_ = 0;
  Ints sources_;  // ppermute
  DType dtype_;
  int64_t count_;                  // elements of the operand
  int64_t row_ = 0;                // ragged_all_to_all: elements of a row of it
  int64_t rows_ = 0, result_ = 0;  // its rows, and those of the result
  bool adds_ = false;              // it is one on the way back
};

}  // namespace neap::tracing
