// Sharded functions: of emulated ranks, a batch along each axis of the mesh; of processes, the program of one rank.
#include <neap/creation.h>
#include <neap/ops.h>
#include <neap/spmd.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.h"
#include "trace/graph/collective.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/rank_tree.h"
#include "trace/tracing/tracing.h"
#include "trace/vmap/vmap.h"

namespace neap {

using namespace tracing;
using Loc = std::source_location;

namespace {

using Axes = std::vector<MeshAxisPtr>;

// The axes of a sharded function that is being traced on this thread; those of functions around it are outside.
class AxisScope;
thread_local const AxisScope* innermost = nullptr;

class AxisScope {
 public:
  explicit AxisScope(const Axes& axes) : axes(axes), outside(innermost) { innermost = this; }
  ~AxisScope() { innermost = outside; }
  AxisScope(const AxisScope&) = delete;
  AxisScope& operator=(const AxisScope&) = delete;

  const Axes& axes;
  const AxisScope* outside;
};

std::string names_of(const Axes& axes) {
  std::vector<std::string> names;
  for (const MeshAxisPtr& axis : axes) names.push_back('"' + axis->name + '"');
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

const MeshAxisPtr& axis_named(std::string_view op, std::string_view name, Loc loc) {
  Axes all;
  for (const AxisScope* scope = innermost; scope; scope = scope->outside)
    for (const MeshAxisPtr& axis : scope->axes) {
      if (axis->name == name) return axis;
      all.push_back(axis);
    }
  throw_user<UserError>(op, fmt::format("axis \"{}\"", name),
                        all.empty() ? "a call inside shard(), which gives ranks along axes" : names_of(all),
                        all.empty() ? "" : "the axes are those of the mesh", loc);
}

Array collective(Op op, const Array& x, const MeshAxisPtr& axis, Attrs attrs, Loc loc) {
  check_usable(x, name(op), loc);
  attrs.set(Attr::mesh_axis, axis);
  return tracing::apply(op, {x}, std::move(attrs), loc);
}

// Cut says which axis of an array each axis of a mesh cuts, -1: none.
using Cut = std::vector<int64_t>;

Cut cut_of(const MeshImpl& mesh, const PartitionSpec& spec, int64_t ndim, std::string_view op, std::string_view what,
           Loc loc) {
  if (std::ssize(spec.axes) > ndim)
    throw_user<ShapeError>(op, fmt::format("{} of {} axes", what, ndim),
                           fmt::format("{} or more, as its PartitionSpec has", spec.axes.size()), "", loc);
  Cut cut(mesh.axes.size(), -1);
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    if (spec.axes[i].empty()) continue;
    const auto found = std::ranges::find_if(mesh.axes, [&](const MeshAxisPtr& a) { return a->name == spec.axes[i]; });
    if (found == mesh.axes.end())
      throw_user<OptionError>(op, fmt::format("axis \"{}\" in the PartitionSpec of {}", spec.axes[i], what),
                              names_of(mesh.axes), "the axes are those of the mesh", loc);
    int64_t& axis = cut[static_cast<size_t>(found - mesh.axes.begin())];
    if (axis >= 0)
      throw_user<OptionError>(op, fmt::format("two axes of {} cut along \"{}\"", what, spec.axes[i]), "one", "", loc);
    axis = static_cast<int64_t>(i);
  }
  return cut;
}

Shape block_of(const MeshImpl& mesh, const Cut& cut, Shape shape, std::string_view op, std::string_view what, Loc loc) {
  for (size_t m = 0; m < cut.size(); ++m) {
    if (cut[m] < 0) continue;
    int64_t& extent = shape[static_cast<size_t>(cut[m])];
    const int64_t ranks = mesh.axes[m]->size;
    if (extent % ranks != 0)
      throw_user<ShapeError>(op, fmt::format("{} with {} elements along axis {}", what, extent, cut[m]),
                             fmt::format("a multiple of the {} ranks along \"{}\"", ranks, mesh.axes[m]->name),
                             "pad it", loc);
    extent /= ranks;
  }
  return shape;
}

// The array by blocks: for each axis of the mesh that cuts it, in their order, an axis of ranks before all others.
Array by_blocks(const MeshImpl& mesh, const Cut& cut, const Array& x) {
  Shape split, order;
  std::vector<int64_t> ranks(cut.size(), -1);
  for (int64_t i = 0; i < x.ndim(); ++i) {
    const int64_t extent = x.shape()[static_cast<size_t>(i)];
    const auto m = std::ranges::find(cut, i) - cut.begin();
    if (m == std::ssize(cut)) {
      order.push_back(std::ssize(split));
      split.push_back(extent);
      continue;
    }
    const int64_t size = mesh.axes[static_cast<size_t>(m)]->size;
    ranks[static_cast<size_t>(m)] = std::ssize(split);
    split.push_back(size);
    order.push_back(std::ssize(split));
    split.push_back(extent / size);
  }
  std::erase(ranks, -1);
  order.insert(order.begin(), ranks.begin(), ranks.end());
  return transpose(reshape(x, split), order);
}

// What by_blocks gives, as one array again.
Array joined(const MeshImpl& mesh, const Cut& cut, const Array& blocks) {
  const auto ranks = std::ranges::count_if(cut, [](int64_t axis) { return axis >= 0; });
  Shape order, shape;
  for (int64_t i = ranks; i < blocks.ndim(); ++i) {
    int64_t extent = blocks.shape()[static_cast<size_t>(i)];
    const auto m = std::ranges::find(cut, i - ranks) - cut.begin();
    if (m < std::ssize(cut)) {
      order.push_back(std::count_if(cut.begin(), cut.begin() + m, [](int64_t axis) { return axis >= 0; }));
      extent *= mesh.axes[static_cast<size_t>(m)]->size;
    }
    order.push_back(i);
    shape.push_back(extent);
  }
  return reshape(transpose(blocks, order), shape);
}

// A traced function and how its arrays are cut.
struct Sharded {
  const MeshImpl& mesh;
  TracedFunction traced;
  std::vector<Cut> in, out;  // of the graph's inputs, and of its results
};

// The graph with a batch in place of each axis of the mesh: before the others of each array that differs along it.
struct Emulated {
  Graph graph;
  std::vector<std::vector<bool>> differs;  // by axis of the mesh: which results do along it
};

Emulated emulated(const Sharded& s) {
  Emulated all{s.traced.graph, std::vector<std::vector<bool>>(s.mesh.axes.size())};
  for (size_t m = s.mesh.axes.size(); m-- > 0;) {
    const MeshAxis& axis = *s.mesh.axes[m];
    std::vector<bool> batched;
    for (const Cut& cut : s.in) batched.push_back(cut[m] >= 0);
    BatchedGraph one = vmap_active(all.graph, batched, axis.size, &axis);
    all.graph = std::move(one.graph);
    all.differs[m] = std::move(one.batched);
  }
  return all;
}

void check_same(const Sharded& s, const Emulated& all, const std::vector<int>& result_of, Loc loc) {
  for (size_t i = 0; i < s.out.size(); ++i)
    for (size_t m = 0; m < s.mesh.axes.size(); ++m)
      if (all.differs[m][i] && s.out[i][m] < 0)
        throw_user<UserError>(
            "shard",
            fmt::format("result {} ({}) may differ between the ranks along \"{}\"", result_of[i],
                        to_string(s.traced.graph.aval(s.traced.graph.outputs[i])), s.mesh.axes[m]->name),
            "one that is the same on them, as its PartitionSpec in out does not name that axis",
            "psum(), pmean() or all_gather() it, or name the axis", loc);
}

// All ranks, on whole arrays.
Graph on_whole(const Sharded& s, const Emulated& all) {
  const Graph& g = s.traced.graph;
  std::vector<Aval> parameters = g.avals(g.inputs);
  for (size_t i = 0; i < parameters.size(); ++i)
    for (size_t m = 0; m < s.mesh.axes.size(); ++m)
      if (s.in[i][m] >= 0) parameters[i].shape[static_cast<size_t>(s.in[i][m])] *= s.mesh.axes[m]->size;
  return trace_closed(
      parameters,
      [&](const Arrays& whole) {
        Arrays in;
        for (size_t i = 0; i < whole.size(); ++i) in.push_back(by_blocks(s.mesh, s.in[i], whole[i]));
        Arrays out = inline_graph(all.graph, in);
        for (size_t i = 0; i < out.size(); ++i) {
          int64_t at = 0;
          for (size_t m = 0; m < s.mesh.axes.size(); ++m) {
            if (s.out[i][m] < 0) continue;
            if (!all.differs[m][i]) {  // the same block on all ranks
              Shape shape = out[i].shape(), axes;
              shape.insert(shape.begin() + at, s.mesh.axes[m]->size);
              for (int64_t axis = 0; axis < std::ssize(shape); ++axis)
                if (axis != at) axes.push_back(axis);
              out[i] = broadcast_in_dim(out[i], shape, axes);
            }
            ++at;
          }
          out[i] = joined(s.mesh, s.out[i], out[i]);
        }
        return out;
      },
      g.name);
}

// One rank, on its blocks. What all ranks have is marked, for derivatives from outside.
Graph on_blocks(const Sharded& s) {
  const Graph& g = s.traced.graph;
  const auto marked = [&](Op op, Array x, const Cut& cut) {
    for (size_t m = 0; m < cut.size(); ++m)
      if (cut[m] < 0 && is_inexact(x.dtype())) x = tracing::apply(op, {x}, {{Attr::mesh_axis, s.mesh.axes[m]}}, Loc());
    return x;
  };
  return trace_closed(
      g.avals(g.inputs),
      [&](const Arrays& inputs) {
        Arrays in;
        for (size_t i = 0; i < inputs.size(); ++i) in.push_back(marked(Op::pvary, inputs[i], s.in[i]));
        Arrays out = inline_graph(g, in);
        for (size_t i = 0; i < out.size(); ++i) out[i] = marked(Op::pinvariant, out[i], s.out[i]);
        return out;
      },
      g.name);
}

}  // namespace

Mesh Mesh::of(const Axes& axes, const std::vector<std::shared_ptr<Communicator>>& communicators, bool emulates,
              Loc loc) {
  MeshImpl mesh;
  if (axes.empty()) throw_user<OptionError>("mesh", "no axes", "one or more", "as in {{\"x\", 4}}", loc);
  mesh.ranks = emulates                ? MeshImpl::Ranks::emulated
               : communicators.empty() ? MeshImpl::Ranks::planned
                                       : MeshImpl::Ranks::processes;
  int64_t all = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto& [name, size] = axes[i];
    if (name.empty()) throw_user<OptionError>("mesh", "an axis without a name", "a name for each axis", "", loc);
    if (std::ranges::any_of(mesh.axes, [&](const MeshAxisPtr& other) { return other->name == name; }))
      throw_user<OptionError>("mesh", fmt::format("two axes \"{}\"", name), "different names", "", loc);
    if (size < 1 || __builtin_mul_overflow(all, size, &all) || all > std::numeric_limits<int32_t>::max())
      throw_user<OptionError>("mesh", fmt::format("axis \"{}\" of {} ranks", name, size),
                              "1 rank or more, and 2^31 - 1 in all at most", "", loc);
    mesh.axes.push_back(
        std::make_shared<const MeshAxis>(MeshAxis{name, size, communicators.empty() ? nullptr : communicators[i]}));
  }
  return Mesh(std::make_shared<const MeshImpl>(std::move(mesh)));
}

Mesh Mesh::emulated(const Axes& axes, Loc loc) { return of(axes, {}, true, loc); }
Mesh Mesh::planned(const Axes& axes, Loc loc) { return of(axes, {}, false, loc); }

Mesh Mesh::processes(const std::vector<std::pair<std::string, std::shared_ptr<Communicator>>>& axes, Loc loc) {
  Axes sizes;
  std::vector<std::shared_ptr<Communicator>> communicators;
  for (const auto& [name, communicator] : axes) {
    if (!communicator)
      throw_user<OptionError>("mesh", fmt::format("axis \"{}\" without a communicator", name), "one", "", loc);
    sizes.emplace_back(name, communicator->size());
    communicators.push_back(communicator);
  }
  return of(sizes, communicators, false, loc);
}

Mesh::Axes Mesh::axes() const {
  Axes result;
  for (const MeshAxisPtr& axis : impl_->axes) result.emplace_back(axis->name, axis->size);
  return result;
}

int64_t Mesh::size(std::string_view axis, Loc loc) const {
  for (const MeshAxisPtr& a : impl_->axes)
    if (a->name == axis) return a->size;
  throw_user<OptionError>("mesh", fmt::format("axis \"{}\"", axis), names_of(impl_->axes), "", loc);
}

int64_t Mesh::ranks() const {
  int64_t all = 1;
  for (const MeshAxisPtr& axis : impl_->axes) all *= axis->size;
  return all;
}

int64_t Mesh::rank() const {
  int64_t rank = 0;
  for (const MeshAxisPtr& axis : impl_->axes)
    rank = rank * axis->size + (axis->communicator ? axis->communicator->rank() : 0);
  return rank;
}

bool Mesh::emulates() const { return impl_->ranks == MeshImpl::Ranks::emulated; }

Shape Mesh::block(const Shape& whole, const PartitionSpec& spec, Loc loc) const {
  const Cut cut = cut_of(*impl_, spec, std::ssize(whole), "block", "an array", loc);
  return block_of(*impl_, cut, whole, "block", "an array", loc);
}

Array Mesh::local(const Array& whole, const PartitionSpec& spec, Loc loc) const {
  const AtLine line(loc);
  check_usable(whole, "local", loc);
  const Cut cut = cut_of(*impl_, spec, whole.ndim(), "local", "the array", loc);
  const Shape shape = block_of(*impl_, cut, whole.shape(), "local", "the array", loc);
  if (emulates()) return whole;
  Array part = whole;
  for (size_t m = 0; m < cut.size(); ++m) {
    if (cut[m] < 0) continue;
    const MeshAxis& axis = *impl_->axes[m];
    const int64_t at = axis.communicator ? axis.communicator->rank() : 0, extent = shape[static_cast<size_t>(cut[m])];
    part = slice_in_dim(part, at * extent, (at + 1) * extent, cut[m]);
  }
  return part;
}

namespace detail {

std::vector<Array> shard_of(const LeafFunction& f, const std::vector<Array>& leaves,
                            const std::vector<int>& argument_of, size_t arguments, const std::vector<int>& result_of,
                            const ShardOptions& options, Loc loc) {
  const AtLine line(loc);
  const MeshImpl& mesh = *options.mesh.impl();
  if (options.in.size() != arguments)
    throw_user<OptionError>("shard", fmt::format("in has {} entries for {} arguments", options.in.size(), arguments),
                            "one for each argument", "PartitionSpec{} leaves an argument whole", loc);
  Sharded s{mesh, {}, {}, {}};
  std::vector<Aval> parameters;
  for (size_t i = 0; i < leaves.size(); ++i) {
    check_usable(leaves[i], "shard", loc);
    const std::string what = fmt::format("argument {} ({})", argument_of[i], to_string(leaves[i].aval()));
    const PartitionSpec& spec = options.in[static_cast<size_t>(argument_of[i])];
    s.in.push_back(cut_of(mesh, spec, leaves[i].ndim(), "shard", what, loc));
    parameters.push_back(leaves[i].aval());
    if (options.mesh.emulates()) parameters[i].shape = block_of(mesh, s.in[i], parameters[i].shape, "shard", what, loc);
  }
  {
    const AxisScope axes(mesh.axes);
    s.traced = tracing::trace(parameters, f);
  }
  s.in.resize(s.traced.graph.inputs.size(), Cut(mesh.axes.size(), -1));  // captured arrays are whole
  const int results = result_of.empty() ? 0 : result_of.back() + 1;
  if (options.out.size() != 1 && options.out.size() != static_cast<size_t>(results))
    throw_user<OptionError>("shard", fmt::format("out has {} entries for {} results", options.out.size(), results),
                            "one for each result, or one for all", "PartitionSpec{} is a result that all ranks have",
                            loc);
  for (size_t i = 0; i < s.traced.graph.outputs.size(); ++i) {
    const Aval& aval = s.traced.graph.aval(s.traced.graph.outputs[i]);
    const size_t entry = options.out.size() == 1 ? 0 : static_cast<size_t>(result_of[i]);
    s.out.push_back(cut_of(mesh, options.out[entry], aval.ndim(), "shard",
                           fmt::format("result {} ({})", result_of[i], to_string(aval)), loc));
  }
  const Emulated all = emulated(s);
  check_same(s, all, result_of, loc);
  Arrays inputs = leaves;
  inputs.insert(inputs.end(), s.traced.captured.begin(), s.traced.captured.end());
  return stage_or_run(options.mesh.emulates() ? on_whole(s, all) : on_blocks(s), inputs);
}

Array reduce_over_ranks(std::string_view op, const Array& x, const AxisNames& axes, Loc loc) {
  const AtLine line(loc);
  check_usable(x, op, loc);
  if (axes.names.empty()) throw_user<OptionError>(op, "no axis", "one or more", "", loc);
  const Op reduction = op == "pmax" ? Op::pmax : op == "pmin" ? Op::pmin : Op::psum;
  // Of bools psum counts; the largest is whether any is, the smallest whether all are.
  const bool is_bool = x.dtype() == DType::bool_;
  Array result = is_bool ? convert(x, reduction == Op::psum ? DType::i32 : DType::u8) : x;
  int64_t ranks = 1;
  for (const std::string& name : axes.names) {
    const MeshAxisPtr& axis = axis_named(op, name, loc);
    if (is_complex(x.dtype()) && reduction != Op::psum)
      throw_user<DTypeError>(op, to_string(x.aval()), "real numbers", "", loc);
    result = collective(reduction, result, axis, {}, loc);
    ranks *= axis->size;
  }
  if (is_bool && reduction != Op::psum) return convert(result, DType::bool_);
  return op == "pmean" ? result / static_cast<double>(ranks) : result;
}

}  // namespace detail

Array axis_index(std::string_view axis_name, Loc loc) {
  return tracing::apply(Op::axis_index, {}, {{Attr::mesh_axis, axis_named("axis_index", axis_name, loc)}}, loc);
}

int64_t axis_size(std::string_view axis_name, Loc loc) { return axis_named("axis_size", axis_name, loc)->size; }

Array psum_of_blocks(const Array& x, std::string_view axis_name, Loc loc) {
  const AtLine line(loc);
  check_usable(x, "psum_of_blocks", loc);
  if (x.ndim() == 0 || x.shape()[0] == 0)
    throw_user<ShapeError>("psum_of_blocks", to_string(x.aval()), "one block or more along axis 0", "", loc);
  if (x.dtype() == DType::bool_)
    throw_user<DTypeError>("psum_of_blocks", to_string(x.aval()), "numbers", "convert it to i32", loc);
  return tree_over_ranks(Op::psum, all_gather(x, axis_name, 0, true, loc));
}

Array all_gather(const Array& x, std::string_view axis_name, int64_t axis, bool tiled, Loc loc) {
  const AtLine line(loc);
  const MeshAxisPtr& ranks = axis_named("all_gather", axis_name, loc);
  check_usable(x, "all_gather", loc);
  const int64_t at = normalize_axis(axis, x.ndim() + (tiled ? 0 : 1), "all_gather", loc);
  const Array all = moveaxis(collective(Op::all_gather, x, ranks, {}, loc), 0, at);
  if (!tiled) return all;
  Shape shape = x.shape();
  shape[static_cast<size_t>(at)] *= ranks->size;
  return reshape(all, shape);
}

namespace {

// x with axis `at` cut into [ranks, rest], ranks moved to the front.
Array ranks_first(std::string_view op, const Array& x, const MeshAxisPtr& ranks, int64_t at, bool tiled, Loc loc) {
  const int64_t extent = x.shape()[static_cast<size_t>(at)];
  if (tiled ? extent % ranks->size != 0 : extent != ranks->size)
    throw_user<ShapeError>(
        op, fmt::format("{} elements along axis {} of {}", extent, at, to_string(x.aval())),
        fmt::format("{}{} ranks along \"{}\"", tiled ? "a multiple of the " : "as many as there are ", ranks->size,
                    ranks->name),
        tiled ? "pad it" : "tiled cuts a longer axis into blocks", loc);
  Shape split = x.shape();
  if (tiled) {
    split[static_cast<size_t>(at)] = extent / ranks->size;
    split.insert(split.begin() + at, ranks->size);
  }
  return moveaxis(reshape(x, split), at, 0);
}

}  // namespace

Array reduce_scatter(const Array& x, std::string_view axis_name, int64_t axis, bool tiled, Loc loc) {
  const AtLine line(loc);
  const MeshAxisPtr& ranks = axis_named("reduce_scatter", axis_name, loc);
  check_usable(x, "reduce_scatter", loc);
  if (x.dtype() == DType::bool_)
    throw_user<DTypeError>("reduce_scatter", to_string(x.aval()), "numbers", "convert it to i32", loc);
  const int64_t at = normalize_axis(axis, x.ndim(), "reduce_scatter", loc);
  const Array blocks = ranks_first("reduce_scatter", x, ranks, at, tiled, loc);
  return tree_over_ranks(Op::psum, collective(Op::all_to_all, blocks, ranks, {}, loc));
}

Array all_to_all(const Array& x, std::string_view axis_name, int64_t split_axis, int64_t concat_axis, bool tiled,
                 Loc loc) {
  const AtLine line(loc);
  const MeshAxisPtr& ranks = axis_named("all_to_all", axis_name, loc);
  check_usable(x, "all_to_all", loc);
  const int64_t from = normalize_axis(split_axis, x.ndim(), "all_to_all", loc);
  const int64_t to = normalize_axis(concat_axis, x.ndim(), "all_to_all", loc);
  const Array blocks = ranks_first("all_to_all", x, ranks, from, tiled, loc);
  const Array all = moveaxis(collective(Op::all_to_all, blocks, ranks, {}, loc), 0, to);
  if (!tiled) return all;
  Shape shape = x.shape();
  shape[static_cast<size_t>(from)] /= ranks->size;
  shape[static_cast<size_t>(to)] *= ranks->size;
  return reshape(all, shape);
}

Array ragged_all_to_all(const Array& x, const RaggedRows& send, const RaggedRows& recv, int64_t rows,
                        std::string_view axis_name, Loc loc) {
  const AtLine line(loc);
  const MeshAxisPtr& ranks = axis_named("ragged_all_to_all", axis_name, loc);
  check_usable(x, "ragged_all_to_all", loc);
  if (x.ndim() == 0)
    throw_user<ShapeError>("ragged_all_to_all", to_string(x.aval()), "an array of rows", "expand_dims() it", loc);
  if (rows < 0)
    throw_user<ShapeError>("ragged_all_to_all", fmt::format("{} rows of the result", rows), "0 or more", "", loc);
  Shape result = x.shape();
  result[0] = rows;
  check_extents("ragged_all_to_all", result, x.dtype(), loc);
  Arrays operands = {x};
  for (const auto& [which, windows] : {std::pair("send", &send), std::pair("recv", &recv)}) {
    for (const auto& [what, numbers] : {std::pair("offsets", &windows->offsets), std::pair("sizes", &windows->sizes)}) {
      check_usable(*numbers, "ragged_all_to_all", loc);
      if (numbers->shape() != Shape{ranks->size})
        throw_user<ShapeError>("ragged_all_to_all", fmt::format("{}.{} {}", which, what, to_string(numbers->aval())),
                               fmt::format("one number for each of the {} ranks along \"{}\"", ranks->size, axis_name),
                               "", loc);
      if (!is_integer(numbers->dtype()))
        throw_user<DTypeError>("ragged_all_to_all", fmt::format("{}.{} {}", which, what, to_string(numbers->aval())),
                               "integers", "", loc);
      operands.push_back(convert(*numbers, DType::i64));
    }
  }
  return tracing::apply(Op::ragged_all_to_all, operands, {{Attr::mesh_axis, ranks}, {Attr::length, rows}}, loc);
}

Array ppermute(const Array& x, std::string_view axis_name, const std::vector<std::pair<int64_t, int64_t>>& pairs,
               Loc loc) {
  const MeshAxisPtr& ranks = axis_named("ppermute", axis_name, loc);
  Ints sources(static_cast<size_t>(ranks->size), -1), destinations = sources;
  for (const auto& [source, destination] : pairs) {
    for (const int64_t rank : {source, destination})
      if (rank < 0 || rank >= ranks->size)
        throw_user<IndexError>("ppermute", fmt::format("rank {}", rank),
                               fmt::format("one of the {} along \"{}\"", ranks->size, ranks->name), "", loc);
    int64_t& from = sources[static_cast<size_t>(destination)];
    int64_t& to = destinations[static_cast<size_t>(source)];
    if (from >= 0 || to >= 0)
      throw_user<OptionError>(
          "ppermute",
          fmt::format("rank {} twice as a {}", from >= 0 ? destination : source, from >= 0 ? "destination" : "source"),
          "each at most once", "", loc);
    from = source;
    to = destination;
  }
  return collective(Op::ppermute, x, ranks, {{Attr::permutation, std::move(sources)}}, loc);
}

Array halo_exchange(const Array& x, std::string_view axis_name, int64_t width, HaloOptions options, Loc loc) {
  const AtLine line(loc);
  const MeshAxisPtr& ranks = axis_named("halo_exchange", axis_name, loc);
  check_usable(x, "halo_exchange", loc);
  const int64_t axis = normalize_axis(options.axis, x.ndim(), "halo_exchange", loc);
  const int64_t extent = x.shape()[static_cast<size_t>(axis)];
  if (width < 0 || width > extent)
    throw_user<ShapeError>("halo_exchange", fmt::format("a width of {}", width),
                           fmt::format("0 to {}, the extent of {} along axis {}", extent, to_string(x.aval()), axis),
                           "use fewer ranks along the axis", loc);
  if (width == 0) return x;
  std::vector<std::pair<int64_t, int64_t>> up, down;  // to the next rank, to the one before
  const int64_t n = ranks->size;
  for (int64_t r = 0; r < n; ++r) {
    if (r + 1 == n && !options.periodic) break;
    up.emplace_back(r, (r + 1) % n);
    down.emplace_back((r + 1) % n, r);
  }
  const Array before = ppermute(slice_in_dim(x, extent - width, extent, axis), axis_name, up, loc);
  const Array behind = ppermute(slice_in_dim(x, 0, width, axis), axis_name, down, loc);
  return concatenate({before, x, behind}, axis);
}

Array local_block(const Array& whole, std::string_view axis_name, int64_t axis, Loc loc) {
  const AtLine line(loc);
  const MeshAxisPtr& ranks = axis_named("local_block", axis_name, loc);
  check_usable(whole, "local_block", loc);
  const int64_t at = normalize_axis(axis, whole.ndim(), "local_block", loc);
  Shape shape = whole.shape();
  int64_t& extent = shape[static_cast<size_t>(at)];
  if (extent % ranks->size != 0)
    throw_user<ShapeError>("local_block", fmt::format("{} elements along axis {}", extent, at),
                           fmt::format("a multiple of the {} ranks along \"{}\"", ranks->size, ranks->name), "pad it",
                           loc);
  extent /= ranks->size;
  const Array rank = convert(axis_index(axis_name, loc), DType::i64);
  std::vector<Array> start(static_cast<size_t>(whole.ndim()), reshape(zeros_like(rank), {1}));
  start[static_cast<size_t>(at)] = reshape(rank * extent, {1});
  return window_at(whole, concatenate(start, 0), shape, loc);
}

}  // namespace neap
