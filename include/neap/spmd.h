// One program on many ranks (SPMD): functions of blocks of arrays, and collectives between those who have the others.
//
//   const Mesh mesh = Mesh::emulated({{"x", 4}});               // or mpi::mesh({{"x", 4}}), of four processes
//   const auto average = shard([](const Array& block) { return pmean(mean(block), "x"); },
//                              {.mesh = mesh, .in = {{"x"}}, .out = {{}}});
//
// A Mesh gives ranks names: those along an axis "x" are numbered from 0. shard(f, ...) cuts the arguments of f into
// blocks, one for each rank; inside f every rank sees its own, and collectives are between the ranks along an axis. All
// ranks run the same program: a collective in a branch or a loop is reached by all of them or by none.
//
// What a process passes to a sharded function, and gets from it, is its part of an array. A process that emulates all
// ranks has the whole array; one of many processes, which run a rank each, has the block of its rank (Mesh::local cuts
// it out of a whole one). Outside f an array is that part and no more: what is to be seen by all ranks is computed in
// f. Emulated ranks are one program without messages, which every transform and device takes. Collectives give the same
// bits there; what a rank computes alone may be rounded otherwise, as under vmap.
//
// Derivatives inside f are those of what all ranks compute together: grad(f) on a rank is the derivative of the sum of
// all ranks' results in what this rank has, as under jax.shard_map without check_vma: a gradient in parameters of which
// each rank has a copy is this rank's, and psum() makes the whole. Derivatives of a sharded function from outside are
// the whole ones.
//
// psum and its kin add up in one fixed tree, which depends on the number of ranks and on nothing else; halves in f32
// along each axis.
#pragma once

#include <neap/communicator.h>
#include <neap/transforms.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

namespace tracing {
struct MeshImpl;
}

/// PartitionSpec says how an array is cut into blocks: entry i names the axis of the mesh over whose ranks axis i of
/// the array is cut; axes with an empty name, and those after the last entry, are whole. PartitionSpec{} is an array
/// of which every rank has all.
struct PartitionSpec {
  PartitionSpec() = default;
  PartitionSpec(std::initializer_list<const char*> axes) : axes(axes.begin(), axes.end()) {}
  explicit PartitionSpec(std::vector<std::string> axes) : axes(std::move(axes)) {}

  std::vector<std::string> axes;
};

/// Mesh is ranks along named axes; the last axis is innermost.
class Mesh {
 public:
  using Axes = std::vector<std::pair<std::string, int64_t>>;

  /// Returns a mesh whose ranks this process emulates. Throws OptionError where an axis has no name, the name of
  /// another, or no rank.
  static Mesh emulated(const Axes& axes, std::source_location loc = std::source_location::current());
  /// Returns a mesh that nobody runs: for the plan of one rank of many, without them. Its functions take the blocks of
  /// one rank; to call one (but where all axes have one rank) is a UserError.
  static Mesh planned(const Axes& axes, std::source_location loc = std::source_location::current());

  /// Returns a mesh of processes: for each axis its name, and how this process, one rank, reaches the others along it.
  static Mesh processes(const std::vector<std::pair<std::string, std::shared_ptr<Communicator>>>& axes,
                        std::source_location loc = std::source_location::current());

  /// Returns names and sizes.
  Axes axes() const;
  /// Returns the number of ranks along an axis. Throws OptionError where there is no such axis.
  int64_t size(std::string_view axis, std::source_location loc = std::source_location::current()) const;
  /// Returns the number of all ranks.
  int64_t ranks() const;
  /// Returns the number of this process's rank; 0 where it emulates all, or none.
  int64_t rank() const;
  /// Returns whether this process emulates all ranks, and its part of an array is all of it.
  bool emulates() const;

  /// Returns this process's part of an array that every process has whole: all of it, or the block of its rank. Throws
  /// ShapeError where the spec cuts what does not divide.
  Array local(const Array& whole, const PartitionSpec& spec,
              std::source_location loc = std::source_location::current()) const;
  /// Returns the shape of a rank's block of such an array.
  Shape block(const Shape& whole, const PartitionSpec& spec,
              std::source_location loc = std::source_location::current()) const;

  /// Returns what is inside.
  const std::shared_ptr<const tracing::MeshImpl>& impl() const { return impl_; }

 private:
  explicit Mesh(std::shared_ptr<const tracing::MeshImpl> impl) : impl_(std::move(impl)) {}
  static Mesh of(const std::vector<std::pair<std::string, int64_t>>& axes,
                 const std::vector<std::shared_ptr<Communicator>>& communicators, bool emulates,
                 std::source_location loc);

  std::shared_ptr<const tracing::MeshImpl> impl_;
};

/// ShardOptions says over which mesh, and how arguments and results are cut: one entry of `in` for each argument, for
/// all its arrays; one of `out` for each result (each element, where f returns a tuple), or one for all.
struct ShardOptions {
  Mesh mesh;
  std::vector<PartitionSpec> in, out;
};

/// AxisNames is one axis of a mesh or more: "x", or {"x", "y"}.
struct AxisNames {
  AxisNames(const char* name) : names{name} {}
  AxisNames(std::string name) : names{std::move(name)} {}
  AxisNames(std::initializer_list<const char*> names) : names(names.begin(), names.end()) {}
  std::vector<std::string> names;
};

namespace detail {

/// Shards a function on leaves; result_of says to which result each leaf of what f has returned belongs.
std::vector<Array> shard_of(const LeafFunction& f, const std::vector<Array>& leaves,
                            const std::vector<int>& argument_of, size_t arguments, const std::vector<int>& result_of,
                            const ShardOptions& options, std::source_location loc);
Array reduce_over_ranks(std::string_view op, const Array& x, const AxisNames& axes, std::source_location loc);

template <class F>
struct Shard {
  F f;
  ShardOptions options;
  std::source_location loc;

  template <class... A>
  auto operator()(const A&... arguments) const {
    LeafwiseCall<F, A...> flat(loc, f, arguments...);
    std::vector<int> result_of;
    const LeafFunction call = [&, whole = flat.function()](const std::vector<Array>& leaves) mutable {
      std::vector<Array> out = whole(leaves);
      result_of.clear();
      const auto mark = [&](const auto& result, int number) {
        result_of.resize(result_of.size() + tree_leaves(result).size(), number);
      };
      using Result = typename LeafwiseCall<F, A...>::Result;
      if constexpr (is_tuple<Result>)
        std::apply(
            [&](const auto&... element) {
              int number = 0;
              (mark(element, number++), ...);
            },
            flat.returned());
      else
        mark(flat.returned(), 0);
      return out;
    };
    return flat.result(shard_of(call, flat.leaves, flat.argument_of, sizeof...(A), result_of, options, loc));
  }
};

template <class T>
T reduce_tree(std::string_view op, const T& tree, const AxisNames& axes, std::source_location loc) {
  static_assert(!Scalar<T>, "neap: a number is the same on all ranks: give an array");
  const auto one = [&](const Array& x) { return reduce_over_ranks(op, x, axes, loc); };
  return tree_map_at(loc, one, tree);
}

}  // namespace detail

/// Returns f on the ranks of a mesh: a function of this process's parts of arrays, whose blocks each rank gets. Extents
/// that are cut must divide by the number of ranks; arrays that f closes over are whole on every rank. Throws UserError
/// where a result that `out` says is the same along an axis may differ there.
template <class F>
auto shard(F f, ShardOptions options, std::source_location loc = std::source_location::current()) {
  detail::check_function(f, loc);
  return detail::Shard<F>{std::move(f), std::move(options), loc};
}

// The following are called inside shard(); outside it there are no axes, and they throw UserError. Each takes an axis
// by its name, and any dtype unless said.

/// Returns the rank along an axis, an i32 scalar.
Array axis_index(std::string_view axis_name, std::source_location loc = std::source_location::current());
/// Returns the number of ranks along it.
int64_t axis_size(std::string_view axis_name, std::source_location loc = std::source_location::current());

/// Returns the sum over the ranks along one axis or more (in their order), of each array of a tree: numbers of any
/// kind; of bools their count, i32. All ranks get it.
template <class T>
T psum(const T& tree, const AxisNames& axes, std::source_location loc = std::source_location::current()) {
  return detail::reduce_tree("psum", tree, axes, loc);
}
/// Returns the mean over the ranks: psum divided by their number. Integers give f32.
template <class T>
T pmean(const T& tree, const AxisNames& axes, std::source_location loc = std::source_location::current()) {
  return detail::reduce_tree("pmean", tree, axes, loc);
}
/// Returns the largest over the ranks, element by element: real numbers, NaN if any is; of
/// bools whether any is true.
template <class T>
T pmax(const T& tree, const AxisNames& axes, std::source_location loc = std::source_location::current()) {
  return detail::reduce_tree("pmax", tree, axes, loc);
}
/// Returns the smallest over the ranks, element by element: real numbers, NaN if any is; of
/// bools whether all are true.
template <class T>
T pmin(const T& tree, const AxisNames& axes, std::source_location loc = std::source_location::current()) {
  return detail::reduce_tree("pmin", tree, axes, loc);
}

/// Returns the sum over axis 0 of x and over the ranks, whose bits do not depend on how many ranks there are: of the
/// blocks x[0], x[1], ... of all ranks in their order, in the tree of psum over all of them. It holds all blocks.
Array psum_of_blocks(const Array& x, std::string_view axis_name,
                     std::source_location loc = std::source_location::current());

/// Returns the arrays of all ranks in their order: along a new axis `axis`, or one behind the other along the axis that
/// is there (tiled). All ranks get it.
Array all_gather(const Array& x, std::string_view axis_name, int64_t axis = 0, bool tiled = false,
                 std::source_location loc = std::source_location::current());
/// Returns this rank's block of psum(x): block r along `axis` for rank r, whose extent is the number of ranks; that
/// axis goes. tiled: its extent is divided by them, and it stays. (jax.lax.psum_scatter.)
Array reduce_scatter(const Array& x, std::string_view axis_name, int64_t axis = 0, bool tiled = false,
                     std::source_location loc = std::source_location::current());
/// Returns the blocks that all ranks have for this one: x is cut along split_axis into a block for each rank, and those
/// that come are joined along concat_axis in the order of ranks. Without tiled, split_axis has as many elements as
/// there are ranks and goes, and the new axis concat_axis counts ranks. (jax.lax.all_to_all.)
Array all_to_all(const Array& x, std::string_view axis_name, int64_t split_axis, int64_t concat_axis,
                 bool tiled = false, std::source_location loc = std::source_location::current());
/// RaggedRows says which rows of an array are for each rank along an axis, or come from it: sizes[i] of them from row
/// offsets[i] on. Both are integers [ranks].
struct RaggedRows {
  Array offsets, sizes;
};
/// Returns `rows` rows, of which rank i has sent recv.sizes[i], which lie from row recv.offsets[i] on; rows that nobody
/// has sent are zeros. To rank i go the rows of x that `send` says. Nothing else is sent, so that ranks may have much
/// for one and little for another; memory is that of x and of the result. Sizes agree: what rank i sends to j is what
/// j says of i, and no row of the result comes twice. A process throws IndexError for rows that are not there or come
/// twice, CommunicationError where another says otherwise; where ranks are emulated such rows are those of one of them,
/// or zeros. The derivative of a row that is sent to several ranks is the sum of theirs where ranks are emulated;
/// processes throw IndexError on the way back. ShapeError for more than 2^63 bytes. (jax.lax.ragged_all_to_all with
/// zeros as its output, whose output_offsets are the receiver's here: MPI_Alltoallv.)
Array ragged_all_to_all(const Array& x, const RaggedRows& send, const RaggedRows& recv, int64_t rows,
                        std::string_view axis_name, std::source_location loc = std::source_location::current());
/// Returns the array of another rank: of each pair (source, destination), the destination gets the source's. A rank
/// that is no destination gets zeros. No rank may be a source, or a destination, twice.
Array ppermute(const Array& x, std::string_view axis_name, const std::vector<std::pair<int64_t, int64_t>>& pairs,
               std::source_location loc = std::source_location::current());

/// HaloOptions says along which axis of the array blocks lie, and whether the last rank is beside the first.
struct HaloOptions {
  int64_t axis = 0;
  bool periodic = false;
};
/// Returns the block with `width` elements of its neighbours before and behind it along an axis, for stencils; zeros
/// beyond the first and the last rank, unless periodic. The block has at least that many elements there.
Array halo_exchange(const Array& x, std::string_view axis_name, int64_t width, HaloOptions options = {},
                    std::source_location loc = std::source_location::current());

/// Returns this rank's block of an array that every rank could compute, cut along an axis. What makes it is computed
/// for the block alone where it is element by element: local_block(random::normal(key, {n, d}), "x") draws the numbers
/// of the block, which are those of one process, and nothing is sent.
Array local_block(const Array& whole, std::string_view axis_name, int64_t axis = 0,
                  std::source_location loc = std::source_location::current());

}  // namespace neap

#pragma GCC visibility pop
