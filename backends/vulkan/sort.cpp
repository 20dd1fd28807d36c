// Sorting as GLSL shaders (planner/kernels/sort.h). Short rows: one invocation for each element counts those before it.
// Longer ones by digits, lowest first: in each pass workgroups count the digits of their blocks, one workgroup of each
// row adds the counts up to places, and workgroups move their elements there. An invocation has neighbouring elements
// of a block and its own count of each digit, so that equal digits stay in order without a word from other invocations.
// Where subgroups can add up at once, workgroups move a block through shared memory, so that neighbours read and write
// neighbouring elements (sort_subgroups.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "backends/vulkan/glsl.h"
#include "backends/vulkan/glsl_kernel.h"
#include "backends/vulkan/sort_element.h"
#include "core/check.h"

namespace neap::vk {

namespace {

using planner::SortForm;
using Element = SortElement;
using Move = SortMove;

constexpr uint32_t kWorkgroup = 64;          // of a block
constexpr uint32_t kPitch = kWorkgroup + 1;  // counts of a digit; one more, so that they lie in different banks
constexpr int kDigits = kSortDigits;

std::string groups_of(const Grid& g, uint64_t wanted) {
  const bool exact = uint64_t{g.groups[0]} * g.groups[1] * g.groups[2] == wanted;
  return g.text + (exact ? "" : fmt::format("  if (group >= {}ul) return;\n", wanted));
}

Shader finish(Module& m, uint32_t local_size, const Grid& g, const std::string& text) {
  Shader shader;
  shader.local_size = local_size;
  shader.groups = g.groups;
  shader.glsl = m.finish(local_size, text);
  return shader;
}

// Operands: in, out.
Shader by_counting(const SortForm& form, const Choices& choices) {
  Module m(choices);
  const Element e(m, form);
  const auto elements = static_cast<uint64_t>(form.rows * form.length);
  const Grid g = grid((elements + choices.workgroup - 1) / choices.workgroup, "uint64_t");
  std::string text = bases(m, 2) + g.text;
  text += fmt::format(R"(  const uint64_t i = group * {0}ul + gl_LocalInvocationIndex;
  if (i >= {1}ul) return;
  const uint64_t row = i / {2}ul * {2}ul;
  const uint own = uint(i - row);
  const {3} x = {4};
  const {3} k = key(x);
  uint place = 0u;
  for (uint j = 0u; j < {2}u; ++j) {{
    const {3} other = key({5});
    if (other < k || (other == k && j < own)) ++place;
  }}
)",
                      choices.workgroup, elements, form.length, e.type, e.read("a0", "i"),
                      e.read("a0", "(row + uint64_t(j))"));
  text += "  const uint64_t to = row + uint64_t(place);\n  ";
  text += form.indices ? store(m, element_address("a1", "to", DType::u64, 4), "int(own)", DType::i32)
                       : e.write("a1", "to", "x");
  return finish(m, choices.workgroup, g, text + "\n");
}

// The blocks of all rows; the text begins in front of the elements of an invocation, and has counted their digits.
class Blocks {
 public:
  Blocks(Module& m, const SortForm& form, const Element& e, int operands) : e_(e) {
    const int64_t block = planner::sort_block(form);
    count = (form.length + block - 1) / block;
    const auto groups = static_cast<uint64_t>(form.rows * count);
    g = grid(groups, "uint64_t");
    m.define("counted", fmt::format("shared uint counted[{}];\n", kDigits * kPitch));
    text = bases(m, operands) + groups_of(g, groups);
    text += fmt::format(R"(  const uint64_t row = group / {0}ul;
  const uint block = uint(group % {0}ul), id = gl_LocalInvocationIndex, shift = push.count * {1}u;
  const uint64_t first = row * {2}ul;
  const uint begin = min(block * {3}u + id * {4}u, {2}u), end = min(begin + {4}u, {2}u);
  for (uint d = 0u; d < {5}u; ++d) counted[d * {6}u + id] = 0u;
  for (uint i = begin; i < end; ++i) {{
    const {7} x = {8};
    ++counted[{9} * {6}u + id];
  }}
  barrier();
)",
                        count, planner::kSortDigitBits, form.length, block, block / kWorkgroup, kDigits, kPitch, e.type,
                        element(), digit());
  }

  int64_t count = 0;
  Grid g;
  std::string text;

  std::string element() const { return e_.read("a0", "(first + uint64_t(i))"); }
  static std::string digit() { return fmt::format("(uint(key(x) >> shift) & {}u)", kDigits - 1); }
  // Where the count of digit `id` of this block is.
  std::string cell(Module& m, int operand) const {
    const std::string at = fmt::format("((row * {}ul + uint64_t(id)) * {}ul + uint64_t(block))", kDigits, count);
    return fmt::format("{}({}).v", m.use("R32"), element_address(fmt::format("a{}", operand), at, DType::u64, 4));
  }

 private:
  const Element& e_;
};

// Operands: elements, counts.
Shader count_digits(const SortForm& form, const Choices& choices) {
  Module m(choices);
  const Element e(m, form);
  const Blocks b(m, form, e, 2);
  return finish(m, kWorkgroup, b.g,
                b.text + fmt::format(R"(  if (id < {}u) {{
    uint total = 0u;
    for (uint t = 0u; t < {}u; ++t) total += counted[id * {}u + t];
    {} = total;
  }}
)",
                                     kDigits, kWorkgroup, kPitch, b.cell(m, 1)));
}

// Operand: counts, which become places in the row.
Shader add_counts(const SortForm& form, const Choices& choices) {
  Module m(choices);
  const int64_t block = planner::sort_block(form), count = (form.length + block - 1) / block * kDigits;
  const uint32_t across = choices.reduce_workgroup;
  m.define("totals", fmt::format("shared uint totals[{}];\n", across));
  const Grid g = grid(static_cast<uint64_t>(form.rows), "uint64_t");
  const std::string cell =
      fmt::format("{}({}).v", m.use("R32"),
                  element_address("a0", fmt::format("(group * {}ul + uint64_t(i))", count), DType::u64, 4));
  const std::string text = bases(m, 1) + groups_of(g, static_cast<uint64_t>(form.rows)) +
                           fmt::format(R"(  const uint id = gl_LocalInvocationIndex;
  const uint begin = min(id * {0}u, {1}u), end = min(begin + {0}u, {1}u);
  uint own = 0u;
  for (uint i = begin; i < end; ++i) own += {2};
  totals[id] = own;
  barrier();
  for (uint step = 1u; step < {3}u; step <<= 1) {{
    const uint before = id >= step ? totals[id - step] : 0u;
    barrier();
    totals[id] += before;
    barrier();
  }}
  uint place = totals[id] - own;
  for (uint i = begin; i < end; ++i) {{
    const uint digits = {2};
    {2} = place;
    place += digits;
  }}
)",
                                       (count + across - 1) / across, count, cell, across);
  return finish(m, across, g, text);
}

// Operands: elements, counts, then those that are there of: indices; elements and indices to write.
Shader move_elements(const SortForm& form, const Choices& choices, const Move& move) {
  Module m(choices);
  const Element e(m, form);
  const int operands = 2 + move.reads_indices + move.writes_elements + move.writes_indices;
  const Blocks b(m, form, e, operands);
  int next = 2;
  const auto operand = [&] { return fmt::format("a{}", next++); };
  std::string index = "int(i)", moved;
  if (move.reads_indices) {
    index = load(m, element_address(operand(), "(first + uint64_t(i))", DType::u64, 4), DType::i32);
  }
  if (move.writes_elements) moved += "    " + e.write(operand(), "to", "x") + "\n";
  if (move.writes_indices) {
    moved += "    " + store(m, element_address(operand(), "to", DType::u64, 4), index, DType::i32) + "\n";
  }
  return finish(m, kWorkgroup, b.g,
                b.text + fmt::format(R"(  if (id < {0}u) {{
    uint place = {1};
    for (uint t = 0u; t < {2}u; ++t) {{
      const uint digits = counted[id * {3}u + t];
      counted[id * {3}u + t] = place;
      place += digits;
    }}
  }}
  barrier();
  for (uint i = begin; i < end; ++i) {{
    const {4} x = {5};
    const uint d = {6} * {3}u + id, place = counted[d];
    counted[d] = place + 1u;
    const uint64_t to = first + uint64_t(place);
{7}  }}
)",
                                     kDigits, b.cell(m, 1), kWorkgroup, kPitch, e.type, b.element(), b.digit(), moved));
}

}  // namespace

std::vector<OpaqueDispatch> sort_dispatches(const SortForm& form, const Choices& choices) {
  if (form.rows * form.length == 0) return {};
  NEAP_CHECK(form.length < planner::kSortTooLong, "a row of {} elements", form.length);
  constexpr int kIn = 0, kOut = 1, kCounts = 2;
  if (form.length <= planner::kSortByCounting) return {{by_counting(form, choices), {kIn, kOut}, {kOut}, 0}};

  const int passes = planner::sort_passes(form, planner::kSortDigitBits);
  const bool at_once = sorts_by_subgroups(choices);
  const Shader count = at_once ? count_digits_by_subgroups(form, choices) : count_digits(form, choices);
  const Shader add = at_once ? add_counts_of_digits(form, choices) : add_counts(form, choices);
  // Between passes: elements here and there (of argsort; else in the output), indices here (and in the output).
  const int elements[] = {3, form.indices ? 4 : kOut};
  const int indices[] = {passes > 2 ? 5 : 4, kOut};
  std::vector<OpaqueDispatch> all;
  int from = kIn, from_indices = -1;
  for (int pass = 0; pass < passes; ++pass) {
    const size_t side = (passes - 1 - pass) % 2 == 0 ? 1 : 0;
    const bool last = pass == passes - 1;
    const auto number = static_cast<uint32_t>(pass);
    all.push_back({count, {from, kCounts}, {kCounts}, number});
    if (!at_once || form.length > planner::sort_block(form)) all.push_back({add, {kCounts}, {kCounts}, number});
    const Move move{from_indices >= 0, form.indices, !(form.indices && last)};
    OpaqueDispatch& d = all.emplace_back(
        OpaqueDispatch{at_once ? move_elements_by_subgroups(form, choices, move) : move_elements(form, choices, move),
                       {from, kCounts},
                       {},
                       number});
    if (move.reads_indices) d.operands.push_back(from_indices);
    if (move.writes_elements) d.writes.push_back(elements[side]);
    if (move.writes_indices) d.writes.push_back(indices[side]);
    d.operands.insert(d.operands.end(), d.writes.begin(), d.writes.end());
    from = elements[side];
    if (form.indices) from_indices = indices[side];
  }
  return all;
}

}  // namespace neap::vk
