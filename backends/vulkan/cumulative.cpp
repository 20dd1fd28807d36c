// cumsum and its kin as GLSL shaders (planner/kernels/cumulative.h). Where a row has several blocks, each is walked
// over twice: for its total, and again to add what those before it give.
//
// On a CPU, and for products of floats, an invocation walks over a block, element after element. On a GPU a workgroup
// does where rows lie one behind the other, tile after tile through shared memory: a tile has 16 groups of 16 chunks of
// a few elements, and an element is what whole tiles before it in the block give, whole groups before it in the tile,
// whole chunks before it in the group and the elements of its chunk up to it, each from the first on. Where columns lie
// side by side an invocation walks over a block and adds in the same order, so that bits do not depend on the layout.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/vulkan/glsl_kernel.h"
#include "planner/kernels/cumulative.h"

namespace neap::vk {
namespace {

using backends::Combine;
using planner::Cumulation;
using planner::CumulativeForm;

class Cumulate {
 public:
  Cumulate(const CumulativeForm& form, const Choices& choices)
      : form_(form),
        choices_(choices),
        accumulator_(planner::cumulative_accumulator(form)),
        block_(planner::cumulative_block(form)),
        blocks_((form.length + block_ - 1) / block_) {}

  std::vector<OpaqueDispatch> dispatches() const {
    constexpr int kIn = 0, kOut = 1, kTotals = 2;
    constexpr int64_t kLeast = 64;  // elements of a row that are worth a workgroup; the bits are the same
    const bool by_workgroups = in_tiles() && form_.inner == 1 && form_.length >= kLeast && !is_wide();
    const auto pass = [&](bool writes) { return by_workgroups ? tiles(writes) : walk(writes); };
    if (blocks_ == 1) return {{pass(true), {kIn, kOut}, {kOut}}};
    return {{pass(false), {kIn, kTotals}, {kTotals}},
            {in_tiles() && !is_wide() ? totals_before_at_once() : totals_before(), {kTotals}, {kTotals}},
            {pass(true), {kIn, kOut, kTotals}, {kOut}}};
  }

 private:
  static constexpr int64_t kGroups = 16, kChunks = kGroups * kGroups;  // of a tile
  static constexpr int64_t kShort = int64_t{1} << 31;
  // Whether sums are those of tiles, by the length alone, whoever adds them up.
  bool in_tiles() const {
    return !choices_.cpu && choices_.workgroup == kChunks && !form_.is_float_product() && form_.length < kShort;
  }
  // Elements, by length and dtype alone: a tile fits the shared memory that every device has.
  int64_t chunk() const {
    const auto most = static_cast<int64_t>(size_of(form_.dtype) == 8 ? 4 : 8);
    return std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(block_ / kChunks))), 1, most);
  }
  int64_t tile() const { return chunk() * kChunks; }

  // Operands as of walk(). A chunk has one cell more in shared memory, so that those of neighbours lie in different
  // banks.
  Shader tiles(bool writes) const {
    Module m(choices_);
    const size_t bytes = size_of(form_.dtype);
    const std::string a(m.type(accumulator_)), t(m.type(form_.dtype)), none = first(m), sum = sum_type(m);
    const bool truth = form_.dtype == DType::bool_;
    m.define("cells", fmt::format("shared {} cells[{}];\nshared {} chunks[{}], groups[{}];\n", truth ? "uint" : t,
                                  (chunk() + 1) * kChunks, a == "bool" ? "uint" : a, kChunks, kGroups));
    const auto plus = [&](const std::string& x, const std::string& y) {
      return combined(m, combine(), accumulator_, x, y);
    };
    const auto in = [&](const std::string& shared) { return a == "bool" ? fmt::format("({} != 0u)", shared) : shared; };
    const auto out = [&](const std::string& x) { return a == "bool" ? fmt::format("uint({})", x) : x; };
    const std::string cell = "cells[p / {0}u * {1}u + p % {0}u]";
    const std::string at = fmt::format(fmt::runtime(cell), chunk(), chunk() + 1);
    const std::string value = convert(m, truth ? fmt::format("({} != 0u)", at) : at, form_.dtype, accumulator_);
    const std::string total =
        element_address(writes ? "a2" : "a1", "uint64_t(group)", DType::u64, size_of(accumulator_));
    const std::string address = element_address(
        "a0", fmt::format("(row + uint64_t({}))", form_.reverse ? fmt::format("{}u - n", form_.length - 1) : "n"),
        DType::u64, bytes);
    std::string to = address;
    to.replace(to.find("a0"), 2, "a1");
    const bool joins = writes && blocks_ > 1;
    std::string text = fmt::format(
        R"(  const uint id = gl_LocalInvocationIndex;
  const uint64_t row = uint64_t(group / {0}u) * {1}ul;
  const uint begin = group % {0}u * {2}u, end = min(begin + {2}u, {1}u);
{3}  {20} whole = {5};
  for (uint tile = begin; tile < end; tile += {6}u) {{
    for (uint p = id; p < {6}u; p += {7}u) {{
      const uint n = tile + p;
      if (n < end) {8} = {9};
    }}
    barrier();
    const uint mine = tile + id * {10}u < end ? min({10}u, end - tile - id * {10}u) : 0u;
    {20} own = {5};
    for (uint e = 0u; e < mine; ++e) {{ const uint p = id * {10}u + e; const {4} x = {11}; own = {12}; }}
    chunks[id] = {13};
    barrier();
    if (id < {14}u) {{
      {20} sum = {5};
      for (uint j = id * {14}u; j < (id + 1u) * {14}u; ++j) {{ const {4} x = {15}; chunks[j] = {16}; sum = {17}; }}
      groups[id] = {16};
    }}
    barrier();
    {20} before_group = {5}, all = {5};
    for (uint j = 0u; j < {14}u; ++j) {{
      if (j == id / {14}u) before_group = all;
      const {4} x = {18};
      all = {19};
    }}
)",
        blocks_, form_.length, block_,
        joins ? fmt::format("  const {} before = {};\n", a, load(m, total, accumulator_)) : "", a, none, tile(),
        kChunks, at, truth ? fmt::format("uint({})", load(m, address, form_.dtype)) : load(m, address, form_.dtype),
        chunk(), value, plus("own", "x"), out("own"), kGroups, in("chunks[j]"), out("sum"), plus("sum", "x"),
        in("groups[j]"), plus("all", "x"), sum);
    if (writes) {
      const std::string inner = plus("before_chunk", "sum");
      std::string result = fmt::format("      {0} in_group = {1};\n      {0} in_tile = {2};\n      {0} r = {3};\n", sum,
                                       inner, plus("before_group", "in_group"), plus("whole", "in_tile"));
      if (joins) result += fmt::format("      r = {};\n", plus("before", "r"));
      const std::string converted = convert(m, "r", accumulator_, form_.dtype);
      text += fmt::format(R"(    const {0} before_chunk = {1};
    {12} sum = {2};
    for (uint e = 0u; e < mine; ++e) {{
      const uint p = id * {3}u + e;
      const {0} x = {4};
      sum = {5};
{6}      {7} = {8};
    }}
    barrier();
    for (uint p = id; p < {9}u; p += {10}u) {{
      const uint n = tile + p;
      if (n < end) {{ {11} }}
    }}
)",
                          a, in("chunks[id]"), none, chunk(), value, plus("sum", "x"), result, at,
                          truth ? fmt::format("uint({})", converted) : converted, tile(), kChunks,
                          store(m, to, truth ? fmt::format("({} != 0u)", at) : at, form_.dtype), sum);
    }
    text += fmt::format("    whole = {};\n    barrier();\n  }}\n", plus("whole", "all"));
    if (!writes) text += "  if (id == 0u) " + store(m, total, "whole", accumulator_) + "\n";
    return finish_groups(m, form_.outer * blocks_, (writes ? 2 : 1) + (blocks_ > 1 ? 1 : 0), block_, text);
  }

  // Operand: totals, at most kChunks * 4 of a row, one workgroup for each.
  Shader totals_before_at_once() const {
    Module m(choices_);
    const std::string a(m.type(accumulator_)), total = element("a0", "i");
    const bool truth = a == "bool";
    m.define("cells", fmt::format("shared {} cells[{}];\n", truth ? "uint" : a, blocks_));
    const std::string cell = truth ? "(cells[b] != 0u)" : "cells[b]";
    const std::string text = fmt::format(
        R"(  const uint id = gl_LocalInvocationIndex;
  const uint64_t first = uint64_t(group / {0}u) * {1}ul + group % {0}u;
  for (uint b = id; b < {2}u; b += {3}u) {{ const uint64_t i = first + uint64_t(b) * {0}ul; cells[b] = {4}; }}
  barrier();
  if (id == 0u) {{
    {11} sum = {6};
    for (uint b = 0u; b < {2}u; ++b) {{ const {5} x = {7}; cells[b] = {8}; sum = {9}; }}
  }}
  barrier();
  for (uint b = id; b < {2}u; b += {3}u) {{ const uint64_t i = first + uint64_t(b) * {0}ul; {10} }}
)",
        form_.inner, form_.inner * blocks_, blocks_, choices_.workgroup,
        truth ? fmt::format("uint({})", load(m, total, accumulator_)) : load(m, total, accumulator_), a, first(m), cell,
        truth ? "uint(sum)" : "sum", joined(m, "x"), store(m, total, cell, accumulator_), sum_type(m));
    return finish_groups(m, form_.outer * form_.inner, 1, blocks_, text);
  }

  // Operands: in, out where it writes, totals where there are several blocks.
  Shader walk(bool writes) const {
    Module m(choices_);
    const std::string totals = writes ? "a2" : "a1", total = element(totals, "id");
    const bool joins = writes && blocks_ > 1;  // what the blocks before give
    const size_t bytes = size_of(form_.dtype);
    std::string text = fmt::format(
        R"(  const {11} c = id % {12}, b = id / {12} % {13}, o = id / {12} / {13};
  const uint64_t begin = uint64_t(b) * {2}ul, end = min(begin + {2}ul, {3}ul);
  {10} sum = {5};
{9}  for (uint64_t n = begin; n < end; ++n) {{
    const uint64_t i = (uint64_t(o) * {3}ul + {6}) * {0}ul + c;
    const {4} x = {7};
{14}    sum = {8};
)",
        form_.inner, blocks_, block_, form_.length, m.type(accumulator_), first(m),
        form_.reverse ? fmt::format("({}ul - n)", form_.length - 1) : "n",
        convert(m, load(m, element_address("a0", "i", DType::u64, bytes), form_.dtype), form_.dtype, accumulator_),
        joined(m, "x"),
        joins ? fmt::format("  const {} before = {};\n", m.type(accumulator_), load(m, total, accumulator_)) : "",
        sum_type(m), index(), number(form_.inner), number(blocks_), next_chunk(m));
    if (in_tiles())
      text = fmt::format("  {0} chunks = {1}, groups = {1}, tiles = {1};\n", sum_type(m), first(m)) + text;
    const std::string whole = in_tiles() ? so_far(m) : "sum";
    if (writes) {
      text += fmt::format("    {} whole = {};\n", sum_type(m),
                          joins ? combined(m, combine(), accumulator_, "before", whole) : whole);
      text += "    " +
              store(m, element_address("a1", "i", DType::u64, bytes), convert(m, "whole", accumulator_, form_.dtype),
                    form_.dtype) +
              "\n";
    }
    text += "  }\n";
    if (!writes)
      text += fmt::format("  {} whole = {};\n  {}\n", sum_type(m), whole, store(m, total, "whole", accumulator_));
    return finish(m, form_.outer * blocks_ * form_.inner, (writes ? 2 : 1) + (blocks_ > 1 ? 1 : 0), block_, text);
  }

  // Of an invocation that adds up as a workgroup does: where a chunk begins, what lies before it is complete.
  std::string next_chunk(Module& m) const {
    if (!in_tiles()) return "";
    const auto plus = [&](const char* x, const char* y) { return combined(m, combine(), accumulator_, x, y); };
    return fmt::format(R"(    const uint at = uint(n - begin);
    if (at % {0}u == 0u && at > 0u) {{
      chunks = {4}; sum = {3};
      if (at % {1}u == 0u) {{ groups = {5}; chunks = {3}; }}
      if (at % {2}u == 0u) {{ tiles = {6}; groups = {3}; }}
    }}
)",
                       chunk(), chunk() * kGroups, tile(), first(m), plus("chunks", "sum"), plus("groups", "chunks"),
                       plus("tiles", "groups"));
  }
  std::string so_far(Module& m) const {
    const auto plus = [&](const std::string& x, const std::string& y) {
      return combined(m, combine(), accumulator_, x, y);
    };
    return plus("tiles", plus("groups", plus("chunks", "sum")));
  }

  // Sums are added as they stand, so that both ways give the same bits.
  std::string sum_type(const Module& m) const {
    const bool real = is_float(accumulator_) && m.held(accumulator_) != Register::pair;
    return fmt::format("{}{}", real ? "precise " : "", m.type(accumulator_));
  }

  // Of the invocations of walk(): in 32 bits where they fit.
  bool is_wide() const { return form_.outer * blocks_ * form_.inner >= kShort; }
  const char* index() const { return is_wide() ? "uint64_t" : "uint"; }
  std::string number(int64_t n) const { return fmt::format("{}{}", n, is_wide() ? "ul" : "u"); }

  // Operand: totals.
  Shader totals_before() const {
    Module m(choices_);
    const std::string total = element("a0", "i");
    const std::string text = fmt::format(
        R"(  const uint64_t c = id % {7}, o = id / {7};
  {1} sum = {2};
  for (uint64_t b = 0ul; b < {3}ul; ++b) {{
    const uint64_t i = (o * {3}ul + b) * {0}ul + c;
    const {1} x = {4};
    {5}
    sum = {6};
  }}
)",
        form_.inner, m.type(accumulator_), first(m), blocks_, load(m, total, accumulator_),
        store(m, total, "sum", accumulator_), joined(m, "x"), number(form_.inner));
    return finish(m, form_.outer * form_.inner, 1, blocks_, text);
  }

  // Of so many workgroups, fewer than kShort.
  Shader finish_groups(Module& m, int64_t count, int operands, int64_t iterations, const std::string& text) const {
    const Grid g = grid(static_cast<uint64_t>(count), "uint");
    Shader shader;
    shader.local_size = choices_.workgroup;
    shader.groups = g.groups;
    shader.iterations = static_cast<uint64_t>(iterations);
    m.finish(shader, bases(m, operands) + g.text + fmt::format("  if (group >= {}u) return;\n", count) + text);
    return shader;
  }

  Shader finish(Module& m, int64_t invocations, int operands, int64_t iterations, const std::string& text) const {
    const auto count = static_cast<uint64_t>(invocations);
    const Grid g = grid((count + choices_.workgroup - 1) / choices_.workgroup, index());
    Shader shader;
    shader.local_size = choices_.workgroup;
    shader.groups = g.groups;
    shader.iterations = static_cast<uint64_t>(iterations);
    m.finish(shader, bases(m, operands) + g.text +
                         fmt::format("  const {} id = group * {} + gl_LocalInvocationIndex;\n"
                                     "  if (id >= {}) return;\n",
                                     index(), number(choices_.workgroup), number(invocations)) +
                         text);
    return shader;
  }

  std::string element(const std::string& base, const std::string& index) const {
    return element_address(base, index, DType::u64, size_of(accumulator_));
  }

  Combine combine() const {
    switch (form_.kind) {
      case Cumulation::sum: return Combine::add;
      case Cumulation::prod: return Combine::mul;
      case Cumulation::max: return Combine::max;
      case Cumulation::min: break;
    }
    return Combine::min;
  }
  std::string joined(Module& m, const std::string& x) const { return combined(m, combine(), accumulator_, "sum", x); }
  // Nothing but -0 added to -0 is -0.
  std::string first(Module& m) const {
    const bool adds = form_.kind == Cumulation::sum && is_float(form_.dtype);
    return literal(m, adds ? uint64_t{1} << 63 : identity_bits(combine(), accumulator_), accumulator_);
  }

  const CumulativeForm& form_;
  const Choices& choices_;
  const DType accumulator_;
  const int64_t block_, blocks_;
};

}  // namespace

std::vector<OpaqueDispatch> cumulative_dispatches(const CumulativeForm& form, const Choices& choices) {
  if (form.size() == 0) return {};
  return Cumulate(form, choices).dispatches();
}

}  // namespace neap::vk
