#include "trace/graph/collective.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "core/at_line.h"
#include "core/background.h"
#include "core/check.h"
#include "core/convert.h"
#include "core/dispatch.h"
#include "core/hash.h"
#include "trace/graph/infer_rules.h"

namespace neap::tracing {
namespace {

// A tree goes over elements in strips that stay in registers and the first cache.
constexpr size_t kStrip = 256;
// Up to so many ranks, a guess, a message to each other one takes less than to wait for others on every level of the
// tree, up and down.
constexpr int64_t kFewRanks = 128;
// Bytes of the shortest part of an array that is worth a message to each of many ranks.
constexpr size_t kLeastPart = 512;
// Bytes that go along the tree at a time; and of the arrays of all ranks where each sends all of its own.
constexpr size_t kSegment = 16384;

// Levels of the tree.
int depth(int64_t ranks) {
  int levels = 0;
  for (; ranks > 1; ranks = rank_tree_half(ranks)) ++levels;
  return levels;
}

template <class T>
T combined(Op op, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == Op::pmin ? x && y : x || y;
  } else {
    if (op == Op::psum) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) + static_cast<std::make_unsigned_t<T>>(y));
      else
        return x + y;
    }
    if (y != y) return y;
    return op == Op::pmax ? (x < y ? y : x) : (y < x ? y : x);
  }
}

template <class T>
void combine(Op op, T* into, const T* from, size_t count) {
  for (size_t i = 0; i < count; ++i) into[i] = combined(op, into[i], from[i]);
}

template <class T>
T* typed(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);  // NOLINT: the plan's memory is aligned to 64
}
template <class T>
const T* typed(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);  // NOLINT
}

std::byte* read_only(const std::byte* bytes) { return const_cast<std::byte*>(bytes); }

// Elements are combined as they are, but halves, in f32.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

// A tree over what ranks have of a part, strip by strip. The sums may take the place of what one of them has.
template <class T>
struct Tree {
  Op op;
  int64_t ranks;
  std::span<const T* const> parts;  // of each rank

  void run(T* out, size_t part) const {
    std::array<Wide<T>, kStrip> sums;
    for (size_t at = 0; at < part; at += kStrip) {
      const size_t count = std::min(kStrip, part - at);
      node(depth(ranks), 0, at, count, sums.data());
      for (size_t i = 0; i < count; ++i) out[at + i] = convert_element<T>(sums[i]);
    }
  }

 private:
  // How many values there are after so many levels.
  int64_t after(int level) const {
    int64_t left = ranks;
    while (level-- > 0) left = rank_tree_half(left);
    return left;
  }

  void node(int level, int64_t i, size_t at, size_t count, Wide<T>* sums) const {
    if (level == 0) {
      const T* from = parts[static_cast<size_t>(i)] + at;
      for (size_t j = 0; j < count; ++j) sums[j] = convert_element<Wide<T>>(from[j]);
      return;
    }
    node(level - 1, i, at, count, sums);
    const int64_t before = after(level - 1), other = i + rank_tree_half(before);
    if (other >= before) return;
    std::array<Wide<T>, kStrip> theirs;
    node(level - 1, other, at, count, theirs.data());
    combine(op, sums, theirs.data(), count);
  }
};

}  // namespace

bool has_collectives(const Node& node, const MeshAxis* axis) {
  if (op_info(node.op).family == Family::collective) return !axis || *node.attrs.mesh_axis() == *axis;
  return std::ranges::any_of(node.attrs.items(), [&](const auto& item) {
    const GraphPtr* graph = std::get_if<GraphPtr>(&item.second);
    return graph && has_collectives(**graph, axis);
  });
}

bool has_collectives(const Graph& graph, const MeshAxis* axis) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return has_collectives(node, axis); });
}

Op combined_by(Op reduction) {
  return reduction == Op::psum ? Op::add : reduction == Op::pmax ? Op::maximum : Op::minimum;
}

DType combined_in(Op reduction, DType dtype) {
  const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
  return is_half && reduction == Op::psum ? DType::f32 : dtype;
}

namespace {

// How a sum over ranks goes over an array. Of few ranks each sends all of it where that is little; else each combines a
// part and gives it to the others, the last ones a shorter part or none. Of many ranks the parts are equal, and what is
// left, or would be parts too short, goes along the tree.
struct Shares {
  size_t element;  // bytes
  size_t count;    // elements
  size_t part;     // elements of a rank's part; 0: there are none
  size_t rest;     // elements that are of no part
  bool whole;      // each rank sends these to all

  Shares(DType dtype, size_t elements, int64_t ranks) : element(size_of(dtype)), count(elements) {
    const auto all = static_cast<size_t>(ranks);
    const bool few = ranks <= kFewRanks;
    whole = few && count * element * all <= kSegment;
    if (few) {
      part = whole ? 0 : (count + all - 1) / all;
      rest = whole ? count : 0;
    } else {
      part = count / all * element < kLeastPart ? 0 : count / all;
      rest = count - part * all;
    }
  }

  size_t in_parts() const { return count - rest; }
};

Shares shares_of(const Aval& operand, int64_t ranks) {
  const size_t components = is_complex(operand.dtype) ? 2 : 1;
  return {real_dtype(operand.dtype), static_cast<size_t>(operand.size()) * components, ranks};
}

// Elements that go along the tree at a time.
template <class T>
constexpr size_t kAtOnce = kSegment / sizeof(Wide<T>);

}  // namespace

size_t sent_bytes(Op op, const Aval& operand, int64_t ranks) {
  if (ranks <= 1) return 0;
  const size_t others = static_cast<size_t>(ranks - 1);
  switch (op) {
    case Op::psum:
    case Op::pmax:
    case Op::pmin: {
      const Shares shares = shares_of(operand, ranks);
      if (shares.whole) return others * shares.rest * shares.element;
      const size_t parts = shares.in_parts() + shares.part * (others - 1);  // of others, and its own to each
      // Up once, as they are combined, unless that is for others; down on all other levels.
      const auto levels = static_cast<size_t>(depth(ranks));
      const size_t wide = dispatch(real_dtype(operand.dtype), []<class T>() { return sizeof(Wide<T>); });
      const size_t along = std::max(levels * shares.element, (levels - 1) * shares.element + wide);
      return parts * shares.element + shares.rest * along;
    }
    case Op::all_gather: return operand.bytes() * others;
    case Op::all_to_all: return operand.bytes() / static_cast<size_t>(ranks) * others;
    case Op::ragged_all_to_all:
    case Op::ppermute: return operand.bytes();
    default: return 0;
  }
}

int64_t exchanges(Op op, const Aval& operand, int64_t ranks) {
  if (ranks <= 1) return 0;
  switch (op) {
    case Op::psum:
    case Op::pmax:
    case Op::pmin: {
      const Shares shares = shares_of(operand, ranks);
      const size_t at_once = dispatch(real_dtype(operand.dtype), []<class T>() { return kAtOnce<T>; });
      const size_t segments = shares.whole ? 0 : (shares.rest + at_once - 1) / at_once;
      return (shares.part > 0 ? 2 : 0) + (shares.whole && shares.rest > 0 ? 1 : 0) +
             2 * depth(ranks) * static_cast<int64_t>(segments);
    }
    case Op::all_gather:
    case Op::all_to_all:
    case Op::ragged_all_to_all:
    case Op::ppermute: return 1;
    default: return 0;
  }
}

bool sends_messages(const Node& node, std::span<const Aval> operands) {
  if (op_info(node.op).family != Family::collective || operands.empty()) return false;
  return exchanges(node.op, operands[0], node.attrs.mesh_axis()->size) > 0;
}

namespace {

void add_axes(const Graph& graph, std::vector<MeshAxisPtr>& axes) {
  for (const Node& node : graph.nodes) {
    for (const auto& [attr, value] : node.attrs.items()) {
      if (const GraphPtr* inner = std::get_if<GraphPtr>(&value)) add_axes(**inner, axes);
      const MeshAxisPtr* axis = std::get_if<MeshAxisPtr>(&value);
      const auto same = [&](const MeshAxisPtr& other) { return *other == **axis; };
      if (axis && (*axis)->communicator && std::ranges::none_of(axes, same)) axes.push_back(*axis);
    }
  }
}

// The axes along which processes run the graph, in an order that does not depend on it.
std::vector<MeshAxisPtr> axes_of(const Graph& graph) {
  std::vector<MeshAxisPtr> axes;
  add_axes(graph, axes);
  std::ranges::sort(axes, {}, [](const MeshAxisPtr& axis) { return axis->name; });
  return axes;
}

// What the ranks along the axis say, by rank.
template <class T>
std::vector<T> told(const MeshAxis& axis, const T& mine, std::string_view what, std::source_location loc) {
  std::vector<T> all(static_cast<size_t>(axis.size), mine);
  T sent = mine;
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < axis.size; ++peer) {
    if (peer == axis.communicator->rank()) continue;
    sends.push_back({peer, reinterpret_cast<std::byte*>(&sent), sizeof(T)});                               // NOLINT
    receives.push_back({peer, reinterpret_cast<std::byte*>(&all[static_cast<size_t>(peer)]), sizeof(T)});  // NOLINT
  }
  try {
    axis.communicator->exchange(sends, receives, what, std::source_location());  // lines may differ, of other programs
  } catch (const CommunicationError& error) {
    throw CommunicationError(with_line(error.what(), loc));
  }
  return all;
}

// What ranks tell each other of their programs.
struct Program {
  uint64_t hash = 0, collectives = 0;
  std::array<char, 48> label{};
};

}  // namespace

void check_same_program(const Graph& graph, const std::string& text, size_t collectives, std::string_view label,
                        std::source_location loc) {
  Program mine{.hash = xxh3_64(text), .collectives = collectives};
  label.copy(mine.label.data(), mine.label.size() - 1);
  std::string differs;
  for (const MeshAxisPtr& axis : axes_of(graph)) {  // along all of them, so that nobody waits for one that throws
    const std::vector<Program> all = told(*axis, mine, "comparison of programs", loc);
    for (size_t peer = 0; peer < all.size() && differs.empty(); ++peer) {
      if (all[peer].hash == mine.hash) continue;
      const auto name = [](const Program& p) { return std::string_view(p.label.data(), strnlen(p.label.data(), 48)); };
      differs = fmt::format("rank {} along \"{}\" runs \"{}\" with {} collectives; this one, {}, \"{}\" with {}", peer,
                            axis->name, name(all[peer]), all[peer].collectives, axis->communicator->rank(), name(mine),
                            mine.collectives);
    }
  }
  if (!differs.empty())
    throw_user<CommunicationError>(
        "shard", differs, "the same collectives, in the same order and of the same arrays, on all ranks",
        "all ranks trace the same function, with blocks of the same shapes, for like devices", loc);
}

size_t least_of_ranks(const Graph& graph, size_t value, std::source_location loc) {
  for (const MeshAxisPtr& axis : axes_of(graph))
    value = std::ranges::min(told(*axis, value, "comparison of memory", loc));
  return value;
}

Collective::Collective(const Node& node, std::span<const Aval> operands)
    : op_(node.op),
      line_(node.loc),
      axis_(node.attrs.mesh_axis()),
      ranks_(axis_->size),
      dtype_(operands.empty() ? DType::i32 : real_dtype(operands[0].dtype)),
      count_(operands.empty() ? 0 : operands[0].size() * (is_complex(operands[0].dtype) ? 2 : 1)) {
  if (op_ == Op::ppermute) sources_ = node.attrs.ints(Attr::permutation);
  if (op_ == Op::ragged_all_to_all && !operands.empty()) {
    rows_ = operands[0].shape[0];
    result_ = node.attrs.integer(Attr::length);
    adds_ = node.attrs.integer_or(Attr::adds, 0) != 0;
    row_ = is_complex(operands[0].dtype) ? 2 : 1;  // also where there are no rows
    for (size_t d = 1; d < operands[0].shape.size(); ++d) row_ *= operands[0].shape[d];
  }
  if (axis_->communicator) rank_ = axis_->communicator->rank();
}

void Collective::run(std::span<const std::byte* const> operands, std::byte* out) const {
  if (ranks_ > 1 && !axis_->communicator)
    throw_user<UserError>(name(op_), fmt::format("axis \"{}\" of a mesh that no processes run", axis_->name),
                          "a mesh of processes, or an emulated one", "this one is for plans", line_);
  const size_t bytes = static_cast<size_t>(count_) * size_of(dtype_);
  switch (op_) {
    case Op::axis_index: *typed<int32_t>(out) = static_cast<int32_t>(rank_); return;
    case Op::psum:
    case Op::pmax:
    case Op::pmin:
      if (ranks_ > 1) return reduce(operands[0], out);
      break;
    case Op::all_gather:
      if (ranks_ > 1) return all_gather(operands[0], out);
      break;
    case Op::all_to_all:
      if (ranks_ > 1) return all_to_all(operands[0], out);
      break;
    case Op::ragged_all_to_all: return ragged_all_to_all(operands, out);
    case Op::ppermute: return permute(operands[0], out);
    default: break;
  }
  if (bytes > 0) std::memcpy(out, operands[0], bytes);
}

void Collective::exchange(std::span<const Message> sends, std::span<const Message> receives) const {
  axis_->communicator->exchange(sends, receives, name(op_), line_);
}

void Collective::reduce(const std::byte* in, std::byte* out) const {
  dispatch(dtype_, [&]<class T>() {
    const Shares shares(dtype_, static_cast<size_t>(count_), ranks_);
    const size_t begin = shares.in_parts();
    if (shares.part > 0) reduce_parts(typed<T>(in), typed<T>(out), shares.part, begin);
    if (shares.rest > 0 && shares.whole) reduce_whole(typed<T>(in) + begin, typed<T>(out) + begin, shares.rest);
    if (shares.rest > 0 && !shares.whole) reduce_along(typed<T>(in) + begin, typed<T>(out) + begin, shares.rest);
  });
}

// Each rank combines a part of `count` elements and gives it to the others. What others have of it lies where their
// parts will; what does not fit there, as their parts are shorter, where this one's will, and beside.
template <class T>
void Collective::reduce_parts(const T* in, T* out, size_t part, size_t count) const {
  const auto begin_of = [&](int64_t rank) { return std::min(count, static_cast<size_t>(rank) * part); };
  const auto size_of_part = [&](int64_t rank) { return begin_of(rank + 1) - begin_of(rank); };
  const size_t size = size_of_part(rank_), mine = begin_of(rank_);
  const auto bytes = [](const T* at) { return read_only(reinterpret_cast<const std::byte*>(at)); };  // NOLINT
  std::array<T, kFewRanks> beside;  // ranks without room for a part are few if parts are long
  size_t used = 0;
  bool is_free = true;  // the place of this one's part
  std::vector<const T*> parts;
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) {
      parts.push_back(in + mine);
      continue;
    }
    T* theirs = out + begin_of(peer);
    if (size_of_part(peer) < size) {
      theirs = is_free ? out + mine : beside.data() + used;
      if (!is_free) used += size;
      is_free = false;
      NEAP_CHECK(used <= beside.size(), "{} of {} elements for {} ranks", used, count, ranks_);
    }
    parts.push_back(theirs);
    sends.push_back({peer, bytes(in + begin_of(peer)), size_of_part(peer) * sizeof(T)});
    receives.push_back({peer, bytes(theirs), size * sizeof(T)});
  }
  exchange(sends, receives);
  Tree<T>{op_, ranks_, parts}.run(out + mine, size);
  for (Message& message : sends) message = {message.peer, bytes(out + mine), size * sizeof(T)};
  for (Message& message : receives)
    message = {message.peer, bytes(out + begin_of(message.peer)), size_of_part(message.peer) * sizeof(T)};
  exchange(sends, receives);
}

// Each rank has what all have, and combines it all.
template <class T>
void Collective::reduce_whole(const T* in, T* out, size_t count) const {
  alignas(64) std::array<std::byte, kSegment> received;
  std::vector<const T*> parts;
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < ranks_; ++peer) {
    std::byte* const theirs = received.data() + static_cast<size_t>(peer) * count * sizeof(T);
    parts.push_back(peer == rank_ ? in : typed<T>(theirs));
    if (peer == rank_) continue;
    sends.push_back({peer, reinterpret_cast<std::byte*>(const_cast<T*>(in)), count * sizeof(T)});  // NOLINT
    receives.push_back({peer, theirs, count * sizeof(T)});
  }
  exchange(sends, receives);
  Tree<T>{op_, ranks_, parts}.run(out, count);
}

// Up and down the tree.
template <class T>
void Collective::reduce_along(const T* from, T* to, size_t whole) const {
  using W = Wide<T>;
  std::array<W, kAtOnce<T>> sums, theirs;
  for (size_t at = 0; at < whole; at += sums.size()) {
    const size_t count = std::min(sums.size(), whole - at);
    for (size_t i = 0; i < count; ++i) sums[i] = convert_element<W>(from[at + i]);
    // Between ranks i and i + h of a level of k values. All ranks come by all levels. Returns whether this one
    // receives.
    const auto meet = [&](int64_t k, bool up, void* bytes, size_t element) {
      const int64_t h = rank_tree_half(k);
      const bool lower = rank_ + h < k, upper = rank_ >= h && rank_ < k;
      const Message one{upper ? rank_ - h : rank_ + h, static_cast<std::byte*>(bytes), element * count};
      exchange(std::span(&one, up ? upper : lower), std::span(&one, up ? lower : upper));
      return up ? lower : upper;
    };
    std::vector<int64_t> left;  // values before each level
    for (int64_t k = ranks_; k > 1; k = rank_tree_half(k)) left.push_back(k);
    for (const int64_t k : left)
      if (meet(k, true, rank_ < rank_tree_half(k) ? theirs.data() : sums.data(), sizeof(W)))
        combine(op_, sums.data(), theirs.data(), count);
    if (rank_ == 0)
      for (size_t i = 0; i < count; ++i) to[at + i] = convert_element<T>(sums[i]);
    for (size_t level = left.size(); level-- > 0;) meet(left[level], false, to + at, sizeof(T));
  }
}

void Collective::all_gather(const std::byte* in, std::byte* out) const {
  const size_t bytes = static_cast<size_t>(count_) * size_of(dtype_);
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < ranks_; ++peer) {
    std::byte* const at = out + static_cast<size_t>(peer) * bytes;
    if (peer == rank_) {
      if (bytes > 0) std::memcpy(at, in, bytes);
      continue;
    }
    sends.push_back({peer, read_only(in), bytes});
    receives.push_back({peer, at, bytes});
  }
  exchange(sends, receives);
}

void Collective::all_to_all(const std::byte* in, std::byte* out) const {
  const size_t bytes = static_cast<size_t>(count_ / ranks_) * size_of(dtype_);
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < ranks_; ++peer) {
    const size_t at = static_cast<size_t>(peer) * bytes;
    if (peer == rank_) {
      if (bytes > 0) std::memcpy(out + at, in + at, bytes);
      continue;
    }
    sends.push_back({peer, read_only(in) + at, bytes});
    receives.push_back({peer, out + at, bytes});
  }
  exchange(sends, receives);
}

namespace {

// Rows of an array for each rank, or from it.
class Windows {
 public:
  Windows(const std::byte* offsets, const std::byte* sizes, int64_t ranks)
      : offsets_(typed<int64_t>(offsets), static_cast<size_t>(ranks)),
        sizes_(typed<int64_t>(sizes), static_cast<size_t>(ranks)) {}

  int64_t begin(int64_t rank) const { return offsets_[static_cast<size_t>(rank)]; }
  int64_t size(int64_t rank) const { return sizes_[static_cast<size_t>(rank)]; }
  int64_t end(int64_t rank) const { return begin(rank) + size(rank); }

  // Throws where one does not lie in `rows` rows.
  void check(int64_t rows, std::string_view which, std::source_location loc) const {
    for (int64_t r = 0; r < std::ssize(sizes_); ++r) {
      if (size(r) == 0 || (size(r) > 0 && begin(r) >= 0 && size(r) <= rows && begin(r) <= rows - size(r))) continue;
      throw_user<IndexError>("ragged_all_to_all",
                             fmt::format("{} rows from row {} on in `{}`, rank {}", size(r), begin(r), which, r),
                             fmt::format("rows of the {} that there are", rows), "", loc);
    }
  }

  // The ranks that have rows, in the order of these. Throws where two have the same; `back`: they were sent to both.
  std::vector<int64_t> in_order(bool back, std::source_location loc) const {
    std::vector<int64_t> order;
    for (int64_t r = 0; r < std::ssize(sizes_); ++r)
      if (size(r) > 0) order.push_back(r);
    std::ranges::sort(order, {}, [&](int64_t r) { return begin(r); });
    for (size_t i = 1; i < order.size(); ++i)
      if (begin(order[i]) < end(order[i - 1]))
        throw_user<IndexError>(
            "ragged_all_to_all",
            fmt::format("row {} {} ranks {} and {}", begin(order[i]),
                        back ? "of the operand was sent to" : "in `recv` twice, of", order[i - 1], order[i]),
            back ? "rows that are sent to one rank each, on the way back of a derivative"
                 : "rows that come from one rank only",
            back ? "send a copy of the row to each" : "", loc);
    return order;
  }

 private:
  std::span<const int64_t> offsets_, sizes_;
};

}  // namespace

void Collective::ragged_all_to_all(std::span<const std::byte* const> operands, std::byte* out) const {
  const Windows send(operands[1], operands[2], ranks_), receive(operands[3], operands[4], ranks_);
  std::vector<int64_t> in_order;
  try {
    send.check(rows_, "send", line_);
    receive.check(result_, "recv", line_);
    in_order = receive.in_order(adds_, line_);
    if (send.size(rank_) != receive.size(rank_))
      throw_user<IndexError>("ragged_all_to_all",
                             fmt::format("{} rows of rank {} for itself, and {} from itself", send.size(rank_), rank_,
                                         receive.size(rank_)),
                             "as many", "", line_);
  } catch (const IndexError&) {
    send_nothing();  // the others wait for something
    throw;
  }
  const size_t bytes = static_cast<size_t>(row_) * size_of(dtype_);
  const auto at = [&](int64_t row) { return static_cast<size_t>(row) * bytes; };
  int64_t row = 0;  // rows that nothing comes to are zeros
  const auto clear_to = [&](int64_t end) {
    if (end > row && bytes > 0) std::memset(out + at(row), 0, at(end - row));
  };
  for (const int64_t r : in_order) {
    clear_to(receive.begin(r));
    row = receive.end(r);
  }
  clear_to(result_);
  if (send.size(rank_) > 0 && bytes > 0)
    std::memcpy(out + at(receive.begin(rank_)), operands[0] + at(send.begin(rank_)), at(send.size(rank_)));
  if (ranks_ == 1) return;
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < ranks_; ++peer) {  // where nothing goes, too, as the other may wait for something
    if (peer == rank_) continue;
    const int64_t from = send.size(peer) > 0 ? send.begin(peer) : 0,
                  to = receive.size(peer) > 0 ? receive.begin(peer) : 0;
    sends.push_back({peer, read_only(operands[0]) + at(from), at(send.size(peer))});
    receives.push_back({peer, out + at(to), at(receive.size(peer))});
  }
  exchange(sends, receives);
}

// To all, and lets come what they send. (Who waits for more than a gigabyte waits on: for its second part.)
void Collective::send_nothing() const {
  std::vector<Message> messages;
  for (int64_t peer = 0; peer < ranks_; ++peer)
    if (peer != rank_) messages.push_back({peer, nullptr, 0});
  if (messages.empty()) return;
  try {
    exchange(messages, messages);
  } catch (const CommunicationError&) {  // they have sent something; what is thrown says why it is not taken
  }
}

void Collective::permute(const std::byte* in, std::byte* out) const {
  const size_t bytes = static_cast<size_t>(count_) * size_of(dtype_);
  const int64_t source = sources_[static_cast<size_t>(rank_)];
  if (source < 0 && bytes > 0) std::memset(out, 0, bytes);
  if (source == rank_ && bytes > 0) std::memcpy(out, in, bytes);
  std::vector<Message> sends, receives;
  if (source >= 0 && source != rank_) receives.push_back({source, out, bytes});
  for (int64_t peer = 0; peer < ranks_; ++peer)
    if (peer != rank_ && sources_[static_cast<size_t>(peer)] == rank_) sends.push_back({peer, read_only(in), bytes});
  if (ranks_ > 1) exchange(sends, receives);
}

std::vector<Aval> infer_collective(const Site& site) {
  const int64_t ranks = site.attrs.mesh_axis()->size;
  if (site.op == Op::axis_index) return {{{}, DType::i32}};
  const Aval& x = site.in[0];
  switch (site.op) {
    case Op::psum:
    case Op::pmax:
    case Op::pmin:
      if (x.dtype == DType::bool_)
        site.fail<DTypeError>(to_string(x), "numbers", "convert it to i32, or use pmax of that for any, pmin for all");
      return {x};
    case Op::all_gather: {
      Shape shape = x.shape;
      shape.insert(shape.begin(), ranks);
      return {{std::move(shape), x.dtype}};
    }
    case Op::all_to_all:
      if (x.shape.empty() || x.shape[0] != ranks)
        site.fail<ShapeError>(to_string(x), fmt::format("{} blocks along axis 0, one for each rank", ranks));
      return {x};
    case Op::ragged_all_to_all: {
      if (x.shape.empty()) site.fail<ShapeError>(to_string(x), "rows along axis 0");
      for (const Aval& numbers : site.in.subspan(1))
        if (numbers.shape != Shape{ranks} || numbers.dtype != DType::i64)
          site.fail<ShapeError>(to_string(numbers), fmt::format("offsets and sizes i64[{}]", ranks));
      Shape shape = x.shape;
      shape[0] = site.attrs.integer(Attr::length);
      return {{site.check_shape(shape), x.dtype}};
    }
    case Op::ppermute: {
      const Ints& sources = site.attrs.ints(Attr::permutation);
      NEAP_CHECK(std::ssize(sources) == ranks, "ppermute: {} sources for {} ranks", sources.size(), ranks);
      return {x};
    }
    default: return {x};
  }
}

}  // namespace neap::tracing

bool neap::Communicator::rest(std::chrono::microseconds time) { return Background::rest(time); }
