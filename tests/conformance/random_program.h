// Makes graphs at random, such that every pipeline must give the same bits.
//
// Elementwise ops take whatever there is: infinities, NaN, wrapped integers. What depends on the order of a float sum
// or product is made exact first (small integers are summed, units multiplied), so an order never shows. Where even the
// sign of a NaN would show (bitcast, copysign), operands are finite.
#pragma once

#include "tests/conformance/harness.h"
#include "tests/conformance/host_lines.h"
#include "trace/graph/convolution.h"

namespace neap::conformance {

class ProgramMaker {
 public:
  /// for_users: only what users can write, to transform it (offsets of random bits are the planner's own). large: only
  /// to be planned, without inputs.
  explicit ProgramMaker(uint64_t seed, bool for_users = false, bool large = false)
      : random_(seed),
        for_users_(for_users),
        large_(large),
        calls_(seed / 8 % 4 == 1 && default_device().backend != "object"),  // no object file calls the host
        most_elements_(large ? 1 << 24 : 20'000) {}

  Graph graph;
  Arrays inputs;

  /// 5 to 60 nodes; from one to four outputs.
  void make() {
    const size_t target = 5 + pick(56);
    add_input({2}, u32);
    for (size_t i = 0, n = 1 + pick(4); i < n; ++i) add_input(some_shape(), some_dtype());
    while (graph.nodes.size() < target) step();
    for (size_t i = 0, n = 1 + pick(4); i < n; ++i) graph.outputs.push_back(recent());
    // Something to differentiate.
    if (for_users_ && !is_float(aval(graph.outputs[0]).dtype)) graph.outputs[0] = convert(graph.outputs[0], f32);
  }

 private:
  size_t pick(size_t n) { return random_() % n; }
  bool chance(size_t one_in) { return pick(one_in) == 0; }
  const Aval& aval(ValueId v) const { return graph.aval(v); }

  Shape some_shape() {
    static const Shape kShapes[] = {{},       {1},     {7},         {64},      {1000}, {3, 5}, {5, 3},
                                    {16, 33}, {40, 1}, {2, 3, 129}, {6, 5, 4}, {0},    {3, 0}};
    static const Shape kLarge[] = {{},         {1},       {100'000},     {1 << 20},    {300, 500}, {500, 300},
                                   {4000, 33}, {4000, 1}, {20, 30, 129}, {64, 50, 40}, {0},        {3000, 0}};
    return large_ ? kLarge[pick(std::size(kLarge))] : kShapes[pick(std::size(kShapes))];
  }
  DType some_dtype() {
    if (for_users_ && !chance(4)) return chance(3) ? f64 : f32;
    return chance(2) ? f32 : kAllDTypes[pick(std::size(kAllDTypes))];
  }

  void add_input(Shape shape, DType t) {
    static constexpr Fill kFills[] = {Fill::wild, Fill::tame, Fill::few};
    graph.add_input({shape, t});
    if (!large_) inputs.push_back(random_array({shape, t}, kFills[pick(std::size(kFills))], random_));
  }

  ValueId any() { return static_cast<ValueId>(pick(graph.values.size())); }
  ValueId recent() {
    const size_t n = graph.values.size(), window = std::min<size_t>(n, 8);
    return static_cast<ValueId>(n - 1 - pick(window));
  }
  ValueId operand() { return chance(3) ? any() : recent(); }

  ValueId add(Op op, std::vector<ValueId> in, Attrs attrs = {}) {
    return graph.add(op, std::move(in), std::move(attrs));
  }
  ValueId number(double value, DType t, Shape shape) { return graph.constant(value, t, shape); }
  ValueId convert(ValueId v, DType t) { return aval(v).dtype == t ? v : add(Op::convert, {v}, {{Attr::dtype, t}}); }

  /// Some value as a value of this aval: found, converted, broadcast from a scalar, or made.
  ValueId like(Aval want) {  // by value: the graph grows meanwhile
    std::vector<ValueId> same, converted;
    for (ValueId v = 0; v < static_cast<ValueId>(graph.values.size()); ++v) {
      if (aval(v) == want) same.push_back(v);
      if (aval(v).shape == want.shape) converted.push_back(v);
    }
    if (!same.empty() && !chance(4)) return same[pick(same.size())];
    if (!converted.empty() && !chance(4)) return convert(converted[pick(converted.size())], want.dtype);
    if (chance(3)) return number(static_cast<double>(pick(5)), want.dtype, want.shape);
    const ValueId v = operand();
    if (!chance(3) && aval(v).size() >= 1 && want.size() <= most_elements_)
      return broadcast(scalar_of(convert(v, want.dtype)), want.shape);
    if (want.dtype == bool_ || want.shape.empty()) return number(1, want.dtype, want.shape);
    return add(Op::iota, {},
               {{Attr::dtype, want.dtype},
                {Attr::shape, want.shape},
                {Attr::axis, static_cast<int64_t>(pick(want.shape.size()))}});
  }

  ValueId broadcast(ValueId scalar, Shape shape) {
    return add(Op::broadcast_in_dim, {scalar}, {{Attr::shape, shape}, {Attr::axes, Ints{}}});
  }
  ValueId scalar_of(ValueId v) {
    const Shape shape = aval(v).shape;
    Ints start, limit;
    for (const int64_t n : shape)
      start.push_back(static_cast<int64_t>(pick(static_cast<size_t>(n)))), limit.push_back(start.back() + 1);
    const ValueId one =
        add(Op::slice, {v}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, Ints(shape.size(), 1)}});
    return shape.empty() ? one : add(Op::reshape, {one}, {{Attr::shape, Ints{}}});
  }

  /// Floats as integers in [-4, 4] (for users: any number there, so that a derivative goes through); others as they
  /// are.
  ValueId exact(ValueId v) {
    const auto [shape, t] = aval(v);
    if (!is_float(t)) return v;
    const ValueId whole = for_users_ ? v : add(Op::rint, {v});
    const ValueId bounded = add(Op::minimum, {add(Op::maximum, {whole, number(-4, t, shape)}), number(4, t, shape)});
    const ValueId finite = add(Op::select, {add(Op::isnan, {v}), number(1, t, shape), bounded});
    return add(Op::add, {finite, number(0, t, shape)});  // no negative zero
  }
  /// 1 and -1.
  ValueId units(ValueId v) {
    const auto [shape, t] = aval(v);
    if (!is_float(t)) return v;
    return add(Op::select, {add(Op::less, {v, number(0, t, shape)}), number(-1, t, shape), number(1, t, shape)});
  }

  void step() {
    if (calls_ && chance(10)) return host_call();
    switch (pick(16)) {
      case 0:
      case 1:
      case 2: return layout();
      case 3:
      case 4: return reduce();
      case 5: return gather();
      case 6: return scatter();
      case 7: return random_numbers();
      case 8: return chance(3) ? convolution() : dot();
      case 9: return chance(3) ? scan() : converts();
      case 10: return chance(3) ? cumulative() : chance(2) ? sort() : elementwise();
      default: return elementwise();
    }
  }

  void elementwise() {
    const auto ops = tracing::elementwise_ops();
    const Op op = ops[pick(ops.size())];
    const tracing::OpInfo& info = tracing::op_info(op);
    const ValueId x = operand();
    Aval type = aval(x);
    if (!tracing::accepts(info.types, type.dtype)) {
      if (!chance(3)) return;
      type.dtype = tracing::accepts(info.types, f32) ? f32 : u32;
    }
    if (info.types == tracing::TypeRule::select) {
      add(op, {like({type.shape, bool_}), convert(x, type.dtype), like(type)});
    } else if (op == Op::copysign) {
      add(op, {convert(x, type.dtype), exact(like(type))});
    } else {
      std::vector<ValueId> in{convert(x, type.dtype)};
      for (int i = 1; i < info.arity; ++i) in.push_back(like(type));
      if (info.arity == 2 && chance(2)) std::swap(in[0], in[1]);
      add(op, in);
    }
  }

  void converts() {
    const ValueId x = operand();
    const DType from = aval(x).dtype, to = kAllDTypes[pick(std::size(kAllDTypes))];
    if (chance(2) || from == bool_ || to == bool_ || size_of(from) != size_of(to))
      add(Op::convert, {x}, {{Attr::dtype, to}});
    else
      add(Op::bitcast, {exact(x)}, {{Attr::dtype, to}});
  }

  Ints some_axes(size_t rank) {
    Ints axes;
    for (size_t i = 0; i < rank; ++i)
      if (chance(2)) axes.push_back(static_cast<int64_t>(i));
    return axes;
  }

  void layout() {
    const ValueId x = operand();
    const Shape shape = aval(x).shape;
    const size_t rank = shape.size();
    switch (pick(9)) {
      case 0: {
        Ints permutation(rank);
        for (size_t i = 0; i < rank; ++i) permutation[i] = static_cast<int64_t>(i);
        std::ranges::shuffle(permutation, random_);
        add(Op::transpose, {x}, {{Attr::permutation, permutation}});
        return;
      }
      case 1: {
        Shape to = shape;
        if (chance(2))
          to = {aval(x).size()};
        else if (rank >= 2 && chance(2))
          to = {shape[0], shape[0] ? aval(x).size() / shape[0] : 0};
        else
          to.insert(to.begin() + static_cast<std::ptrdiff_t>(pick(rank + 1)), 1);
        if (element_count(to) == aval(x).size()) add(Op::reshape, {x}, {{Attr::shape, to}});
        return;
      }
      case 2: {
        Ints start, limit, stride;
        for (const int64_t n : shape) {
          start.push_back(static_cast<int64_t>(pick(static_cast<size_t>(n) / 2 + 1)));
          limit.push_back(n - static_cast<int64_t>(pick(static_cast<size_t>(n - start.back()) / 2 + 1)));
          stride.push_back(static_cast<int64_t>(1 + pick(3)));
        }
        add(Op::slice, {x}, {{Attr::start, start}, {Attr::limit, limit}, {Attr::stride, stride}});
        return;
      }
      case 3: {
        Ints low, high, interior;
        int64_t size = 1;
        for (const int64_t n : shape) {
          low.push_back(static_cast<int64_t>(pick(5)) - 2);
          high.push_back(static_cast<int64_t>(pick(5)) - 2);
          interior.push_back(static_cast<int64_t>(pick(3) / 2));
          const int64_t extent = low.back() + high.back() + n + interior.back() * std::max<int64_t>(n - 1, 0);
          if (extent < 0) return;
          size *= extent;
        }
        if (size > most_elements_) return;
        add(Op::pad, {x, like({{}, aval(x).dtype})},
            {{Attr::low, low}, {Attr::high, high}, {Attr::interior, interior}});
        return;
      }
      case 4: add(Op::reverse, {x}, {{Attr::axes, some_axes(rank)}}); return;
      case 5: {
        const Shape to = chance(2) ? Shape{3} : Shape{2, 4};
        if (aval(x).size() * element_count(to) > most_elements_) return;
        Shape joined = shape;
        Ints axes(rank);
        const bool before = chance(2);
        joined.insert(before ? joined.begin() : joined.end(), to.begin(), to.end());
        for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i + (before ? to.size() : 0));
        add(Op::broadcast_in_dim, {x}, {{Attr::shape, joined}, {Attr::axes, axes}});
        return;
      }
      case 6: {
        if (rank == 0 || aval(x).size() > most_elements_ / 3) return;
        std::vector<ValueId> parts{x, like(aval(x))};
        if (chance(3)) parts.push_back(x);
        add(Op::concatenate, parts, {{Attr::axis, static_cast<int64_t>(pick(rank))}});
        return;
      }
      case 7: {
        Shape window;
        for (const int64_t n : shape) window.push_back(n - static_cast<int64_t>(pick(static_cast<size_t>(n) / 2 + 1)));
        add(Op::dynamic_slice, {x, start(rank)}, {{Attr::shape, window}});
        return;
      }
      default: {
        Shape window;
        for (const int64_t n : shape) window.push_back(n - static_cast<int64_t>(pick(static_cast<size_t>(n) / 2 + 1)));
        const ValueId update = like({window, aval(x).dtype});
        add(Op::dynamic_update_slice, {x, update, start(rank)});
        return;
      }
    }
  }

  ValueId start(size_t rank) {
    const Shape shape{static_cast<int64_t>(rank)};
    const ValueId v = like({shape, i64});
    return chance(2) ? v : add(Op::remainder, {v, number(9, i64, shape)});
  }

  void reduce() {
    const ValueId x = operand();
    const auto [shape, t] = aval(x);
    const Ints axes = chance(4)       ? some_axes(shape.size())
                      : shape.empty() ? Ints{}
                                      : Ints{static_cast<int64_t>(pick(shape.size()))};
    if (chance(5) && !shape.empty() && t != bool_) {
      const int64_t axis = static_cast<int64_t>(pick(shape.size()));
      if (shape[axis] > 0) add(chance(2) ? Op::argmax : Op::argmin, {x}, {{Attr::axis, axis}});
      return;
    }
    const Attrs attrs{{Attr::axes, axes}};
    if (t == bool_) {
      add(chance(2) ? Op::reduce_any : Op::reduce_all, {x}, attrs);
      return;
    }
    if (is_integer(t) && chance(6)) {
      add(Op::reduce_xor, {x}, attrs);
      return;
    }
    switch (pick(5)) {
      case 0: add(Op::reduce_prod, {units(x)}, attrs); return;
      case 1: add(Op::reduce_max, {exact(x)}, attrs); return;
      case 2: add(Op::reduce_min, {exact(x)}, attrs); return;
      default: add(Op::reduce_sum, {exact(x)}, attrs); return;
    }
  }

  void sort() {
    const ValueId x = operand();
    const auto rank = aval(x).shape.size();
    if (rank == 0) return;
    add(chance(2) ? Op::sort : Op::argsort, {x},
        {{Attr::axis, static_cast<int64_t>(pick(rank))}, {Attr::descending, static_cast<int64_t>(pick(2))}});
  }

  void cumulative() {
    const ValueId x = operand();
    const auto rank = aval(x).shape.size();
    if (rank == 0 || aval(x).dtype == bool_) return;
    const Attrs attrs{{Attr::axis, static_cast<int64_t>(pick(rank))}, {Attr::reverse, static_cast<int64_t>(pick(2))}};
    switch (pick(4)) {
      case 0: add(Op::cumsum, {exact(x)}, attrs); return;
      case 1: add(Op::cumprod, {units(x)}, attrs); return;
      default: add(chance(2) ? Op::cummax : Op::cummin, {x}, attrs); return;
    }
  }

  struct Rows {
    ValueId indices;
    Ints axes;
    Shape slices;  // shape of what is read or written
  };
  /// Indices a little wider than the axes that they address.
  Rows rows(Shape shape) {  // by value: the graph grows meanwhile
    Rows r;
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] > 0 && (chance(2) || (i + 1 == shape.size() && r.axes.empty())))
        r.axes.push_back(static_cast<int64_t>(i));
    const Shape batch = chance(4) ? Shape{} : chance(2) ? Shape{50} : Shape{4, 9};
    Shape index = batch;
    index.push_back(static_cast<int64_t>(r.axes.size()));
    static constexpr DType kIndex[] = {i8, i16, i32, i64, u8, u32};
    const DType t = kIndex[pick(std::size(kIndex))];
    const ValueId bits = add(Op::random_bits, {key()}, {{Attr::shape, index}, {Attr::dtype, u32}});
    r.indices = convert(add(Op::remainder, {bits, number(11, u32, index)}), t);
    if (is_signed(t)) r.indices = add(Op::subtract, {r.indices, number(4, t, index)});
    r.slices = batch;
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
      if (std::ranges::find(r.axes, i) == r.axes.end()) r.slices.push_back(shape[i]);
    return r;
  }
  Attrs indexed(const Rows& r) { return {{Attr::axes, r.axes}, {Attr::mode, static_cast<int64_t>(pick(2))}}; }

  void gather() {
    const ValueId x = operand();
    if (aval(x).size() == 0) return;
    const Rows r = rows(aval(x).shape);
    if (element_count(r.slices) <= most_elements_) add(Op::gather, {x, r.indices}, indexed(r));
  }

  void scatter() {
    const ValueId x = operand();
    const auto [shape, t] = aval(x);
    if (aval(x).size() == 0) return;
    const Rows r = rows(shape);
    if (element_count(r.slices) > most_elements_) return;
    const ValueId updates = like({r.slices, t});
    static constexpr Op kOps[] = {Op::scatter_add, Op::scatter_add, Op::scatter_set,
                                  Op::scatter_mul, Op::scatter_min, Op::scatter_max};
    const Op op = t == bool_ ? Op::scatter_set : kOps[pick(std::size(kOps))];
    if (op == Op::scatter_set)
      add(op, {x, r.indices, updates}, indexed(r));
    else if (op == Op::scatter_mul)
      add(op, {units(x), r.indices, units(updates)}, indexed(r));
    else
      add(op, {exact(x), r.indices, exact(updates)}, indexed(r));
  }

  ValueId key() {
    ValueId k = 0;
    if (chance(2)) k = add(Op::random_fold_in, {k, like({{}, u32})});
    if (!chance(4)) return k;
    const ValueId keys = add(Op::random_split, {k}, {{Attr::shape, Ints{3}}});
    const ValueId row =
        add(Op::slice, {keys}, {{Attr::start, Ints{1, 0}}, {Attr::limit, Ints{2, 2}}, {Attr::stride, Ints{1, 1}}});
    return add(Op::reshape, {row}, {{Attr::shape, Ints{2}}});
  }

  void random_numbers() {
    static constexpr DType kBits[] = {u8, u16, u32, u32, u64};
    const Shape shape = some_shape();
    const DType t = kBits[pick(std::size(kBits))];
    if (chance(3) && !for_users_) {
      Shape full = shape;
      const auto rank = static_cast<int64_t>(shape.size()), room = static_cast<int64_t>(pick(1000));
      for (int64_t& n : full) n += room;
      const ValueId where = convert(like({{rank}, u32}), i64);
      const ValueId offset = add(Op::remainder, {where, number(static_cast<double>(room + 1), i64, {rank})});
      add(Op::random_bits, {key(), offset}, {{Attr::shape, shape}, {Attr::dtype, t}, {Attr::full_shape, full}});
      return;
    }
    const ValueId bits = add(Op::random_bits, {key()}, {{Attr::shape, shape}, {Attr::dtype, t}});
    if (t != u32 || chance(3)) return;
    // A uniform number and a normal one.
    const ValueId mantissa =
        add(Op::bitwise_or, {add(Op::shift_right, {bits, number(9, u32, shape)}), number(0x3f800000, u32, shape)});
    const ValueId unit = add(Op::subtract, {add(Op::bitcast, {mantissa}, {{Attr::dtype, f32}}), number(1, f32, shape)});
    if (chance(2)) add(Op::erf_inv, {unit});
  }

  void dot() {
    const ValueId x = operand();
    const auto [shape, t] = aval(x);
    if (t == bool_ || shape.empty()) return;
    const auto axis = static_cast<int64_t>(pick(shape.size()));
    const int64_t other = 1 + static_cast<int64_t>(pick(6));
    if (shape[axis] > 0 && aval(x).size() / shape[axis] * other > most_elements_) return;
    const Shape rhs = chance(2) ? Shape{shape[axis], other} : Shape{other, shape[axis]};
    const int64_t contract = rhs[0] == shape[axis] ? 0 : 1;
    const ValueId y = like({rhs, t});
    add(Op::dot_general, {exact(x), exact(y)},
        {{Attr::lhs_batch, Ints{}},
         {Attr::rhs_batch, Ints{}},
         {Attr::lhs_contract, Ints{axis}},
         {Attr::rhs_contract, Ints{contract}}});
  }

  // Of what has one to three axes: those behind the second are space.
  void convolution() {
    const ValueId x = operand();
    const auto [shape, t] = aval(x);
    if (t == bool_ || shape.empty() || shape.size() > 3 || element_count(shape) == 0) return;
    Shape lhs{1};  // group, batch, in, space
    if (shape.size() == 1) lhs.insert(lhs.end(), {1, 1});
    lhs.insert(lhs.end(), shape.begin(), shape.end());
    if (shape.size() == 2) lhs.insert(lhs.end() - 1, 1);
    const int64_t extent = lhs.back(), out = 1 + static_cast<int64_t>(pick(3));
    const auto upto = [&](int64_t most) { return 1 + static_cast<int64_t>(pick(static_cast<size_t>(most))); };
    tracing::Window w{upto(4), upto(2), upto(2), upto(3) - 1, upto(3) - 1, chance(4) ? 1 : 0};
    if (w.count(extent) == 0) w = {1, 1, 1, 0, 0, 0};
    if (lhs[1] * out * w.count(extent) > most_elements_) return;
    const ValueId weights = like({{1, out, lhs[2], w.size}, t});
    const ValueId image = add(Op::reshape, {exact(x)}, {{Attr::shape, lhs}});
    const Ints axes{0, 1, 2, 3};
    add(Op::convolution, {image, exact(weights)},
        tracing::convolution_attrs(axes, axes, chance(2) ? axes : Ints{2, 0, 3, 1}, std::array{w}));
  }

  ValueId call_of(Graph& g, const std::vector<ValueId>& in, const std::vector<Aval>& results, bool effect) {
    const auto f = host_function(fmt::format("call {}", ++calls_made_), g.avals(in), results, effect);
    return g.add(Op::host_call, in, {{Attr::callee, f}, {Attr::batch, Ints{}}});
  }

  // A pure function, one with an effect, or one with both. All see the key, so that they see each example of a batch.
  void host_call() {
    const ValueId x = operand();
    const Aval type = aval(x);
    const auto still = [&](ValueId v) { return for_users_ ? add(Op::stop_gradient, {v}) : v; };
    switch (pick(3)) {
      case 0: call_of(graph, {still(x), key()}, {type}, false); return;
      case 1: call_of(graph, {x, key()}, {}, true); return;
      default: call_of(graph, {still(exact(x)), key()}, {type}, true); return;  // no NaN: words show its bits
    }
  }

  void scan() {
    const ValueId x = operand();
    const auto [shape, t] = aval(x);
    if (shape.empty() || t == bool_) return;
    const Shape rest(shape.begin() + 1, shape.end());
    Graph body;
    std::vector<ValueId> operands{exact(like({rest, t}))};
    const ValueId w = body.add_input({rest, t}), seen = calls_ ? body.add_input({{2}, u32}) : w;
    if (calls_) operands.push_back(key());
    const auto consts = std::ssize(operands);
    const ValueId carry = body.add_input({rest, t}), item = body.add_input({rest, t});
    const ValueId larger = body.add(Op::maximum, {w, item});
    const ValueId next = is_float(t)
                             ? body.add(Op::minimum, {body.add(Op::add, {carry, larger}), body.constant(100, t, rest)})
                             : body.add(Op::add, {carry, body.add(Op::multiply, {larger, w})});
    if (calls_) call_of(body, {chance(2) ? item : next, seen}, {}, true);
    body.outputs = {next, chance(2) ? carry : larger};
    operands.push_back(exact(like({rest, t})));
    operands.push_back(exact(x));
    graph.add_node(Op::scan, operands,
                   {{Attr::body, std::make_shared<const Graph>(body)},
                    {Attr::length, shape[0]},
                    {Attr::num_consts, consts},
                    {Attr::num_carry, 1},
                    {Attr::reverse, static_cast<int64_t>(pick(2))}},
                   std::source_location::current());
  }

  Random random_;
  bool for_users_, large_, calls_;
  int calls_made_ = 0;
  int64_t most_elements_;
};

}  // namespace neap::conformance
