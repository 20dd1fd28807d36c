// A pass of a sort by digits for devices whose subgroups add up at once. A workgroup brings a tile of a block into
// shared memory, neighbours reading neighbouring elements; each invocation then has neighbouring elements of the tile
// and counts their digits in the bits of a few words, of which subgroups add up what the invocations before have. So
// the tile is put in order in shared memory, and neighbours write neighbouring elements.
#include "backends/vulkan/sort_element.h"

namespace neap::vk {
namespace {

using planner::SortForm;

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kWords = kSortDigits / 2;  // counts of two digits in a word, 16 bits each

uint32_t in_tile(const SortForm& form) { return static_cast<uint32_t>(planner::sort_tile(form)); }
int64_t blocks_of(const SortForm& form) {
  const int64_t block = planner::sort_block(form);
  return (form.length + block - 1) / block;
}

// The cell of a row's digit and a block, or (block == blocks) of the digit in the whole row.
std::string cell(Module& m, const SortForm& form, const char* base, const std::string& row, const std::string& digit,
                 const std::string& block) {
  return fmt::format("{}({}).v", m.use("R32"),
                     element_address(base,
                                     fmt::format("((uint64_t({}) * {}ul + {}) * {}ul + {})", row, kSortDigits, digit,
                                                 blocks_of(form) + 1, block),
                                     DType::u64, 4));
}

// Row, block and where it begins and ends, of a workgroup for each block.
std::string block_text(const SortForm& form, Grid& g) {
  const auto groups = static_cast<uint64_t>(form.rows * blocks_of(form));
  g = grid(groups, "uint");
  return g.text + fmt::format(R"(  if (group >= {0}u) return;
  const uint row = group / {1}u, block = group - row * {1}u, id = gl_LocalInvocationIndex, shift = push.count * {2}u;
  const uint64_t first = uint64_t(row) * {3}ul;
  const uint begin = block * {4}u, end = min(begin + {4}u, {3}u);
)",
                              groups, blocks_of(form), planner::kSortDigitBits, form.length, planner::sort_block(form));
}

std::string digit(const char* x) { return fmt::format("(uint(key({}) >> shift) & {}u)", x, kSortDigits - 1); }

// Of an invocation's counts, 4 bits each, those of word `w`.
std::string two_counts(const char* counts, uint32_t w) {
  return fmt::format("bitfieldExtract({0}[{1}], {2}, 4) | bitfieldExtract({0}[{1}], {3}, 4) << 16", counts, w / 4,
                     w % 4 * 8, w % 4 * 8 + 4);
}

Shader finish(Module& m, const Grid& g, const std::string& text) {
  Shader shader;
  shader.local_size = kWorkgroup;
  shader.groups = g.groups;
  shader.full_subgroups = true;
  shader.glsl = m.finish(kWorkgroup, text);
  return shader;
}

void use_subgroups(Module& m) {
  m.use("GL_KHR_shader_subgroup_basic");
  m.use("GL_KHR_shader_subgroup_arithmetic");
}

}  // namespace

bool sorts_by_subgroups(const Choices& choices) {
  constexpr uint32_t kShared = 20 << 10;  // bytes, a little more than move_elements_by_subgroups() has
  return !choices.cpu && choices.subgroup >= 8 && choices.workgroup == kWorkgroup && choices.shared_bytes >= kShared;
}

Shader count_digits_by_subgroups(const SortForm& form, const Choices& choices) {
  Module m(choices);
  use_subgroups(m);
  const SortElement e(m, form);
  Grid g;
  const std::string head = block_text(form, g);
  const uint32_t subgroups = kWorkgroup / choices.subgroup;
  m.define("sums", fmt::format("shared uint sums[{}];\n", subgroups * kWords));
  std::string text = bases(m, 2) + head;
  for (uint32_t w = 0; w < kWords; ++w) text += fmt::format("  uint s{} = 0u;\n", w);
  text += fmt::format(R"(  for (uint tile = begin; tile < end; tile += {0}u) {{
    uvec2 own = uvec2(0u);
    for (uint p = id; p < {0}u; p += {1}u) {{
      if (tile + p >= end) break;
      const {2} x = {3};
      const uint d = {4};
      own[d >> 3] += 1u << (d & 7u) * 4u;
    }}
)",
                      in_tile(form), kWorkgroup, e.type, e.read("a0", "(first + uint64_t(tile + p))"), digit("x"));
  for (uint32_t w = 0; w < kWords; ++w) {
    text += fmt::format("    s{} += {};\n", w, two_counts("own", w));
  }
  text += "  }\n";
  for (uint32_t w = 0; w < kWords; ++w) {
    text += fmt::format("  s{0} = subgroupAdd(s{0});\n", w);
  }
  text += "  if (subgroupElect()) {\n";
  for (uint32_t w = 0; w < kWords; ++w)
    text += fmt::format("    sums[gl_SubgroupID * {}u + {}u] = s{};\n", kWords, w, w);
  text += fmt::format(R"(  }}
  barrier();
  if (id < {0}u) {{
    uint total = 0u;
    for (uint s = 0u; s < {1}u; ++s) total += sums[s * {2}u + id / 2u] >> id % 2u * 16u & 0xffffu;
    {3}
  }}
)",
                      kSortDigits, subgroups, kWords,
                      blocks_of(form) > 1 ? cell(m, form, "a1", "row", "id", "block") + " = total;"
                                          : fmt::format("{} = 0u; {} = total;", cell(m, form, "a1", "row", "id", "0ul"),
                                                        cell(m, form, "a1", "row", "id", "1ul")));
  return finish(m, g, text);
}

Shader add_counts_of_digits(const SortForm& form, const Choices& choices) {
  Module m(choices);
  use_subgroups(m);
  const auto groups = static_cast<uint64_t>(form.rows * kSortDigits);
  const Grid g = grid(groups, "uint");
  const uint32_t subgroups = kWorkgroup / choices.subgroup;
  m.define("sums", fmt::format("shared uint sums[{}];\n", subgroups));
  const std::string text =
      bases(m, 1) + g.text +
      fmt::format(R"(  if (group >= {0}u) return;
  const uint row = group / {1}u, digit = group - row * {1}u, id = gl_LocalInvocationIndex;
  uint place = 0u;
  for (uint b = 0u; b < {2}u; b += {3}u) {{
    const uint block = b + id;
    const uint own = block < {2}u ? {4} : 0u;
    const uint before = subgroupExclusiveAdd(own), all = subgroupAdd(own);
    if (subgroupElect()) sums[gl_SubgroupID] = all;
    barrier();
    uint mine = place;
    for (uint s = 0u; s < {5}u; ++s) {{
      if (s == gl_SubgroupID) mine = place;
      place += sums[s];
    }}
    if (block < {2}u) {4} = mine + before;
    barrier();
  }}
  if (id == 0u) {6} = place;
)",
                  groups, kSortDigits, blocks_of(form), kWorkgroup, cell(m, form, "a0", "row", "digit", "block"),
                  subgroups, cell(m, form, "a0", "row", "digit", fmt::format("{}ul", blocks_of(form))));
  return finish(m, g, text);
}

Shader move_elements_by_subgroups(const SortForm& form, const Choices& choices, const SortMove& move) {
  Module m(choices);
  use_subgroups(m);
  const SortElement e(m, form);
  Grid g;
  const std::string head = block_text(form, g);
  const uint32_t subgroups = kWorkgroup / choices.subgroup, tile = in_tile(form), own = tile / kWorkgroup;
  m.define("cells", fmt::format(R"(shared {} cells[{}];
shared uint before[{}], sums[{}], places[{}], starts[{}];
)",
                                e.type, tile, kWords * kWorkgroup, subgroups * kWords, kSortDigits, kSortDigits));
  const int operands = 2 + move.reads_indices + move.writes_elements + move.writes_indices;
  int next = 2;
  const auto operand = [&] { return fmt::format("a{}", next++); };
  std::string text = bases(m, operands) + head;
  // Where the digits of this block go: after those of smaller digits of the row, and of the blocks before.
  text += fmt::format(R"(  if (id < {0}u) {{
    uint place = {1};
    for (uint d = 0u; d < id; ++d) place += {2};
    places[id] = place;
  }}
  for (uint tile = begin; tile < end; tile += {3}u) {{
    const uint count = min({3}u, end - tile);
    barrier();
    for (uint p = id; p < count; p += {4}u) cells[p] = {5};
    barrier();
    uvec2 digits = uvec2(0u);
)",
                      kSortDigits, cell(m, form, "a1", "row", "id", "block"),
                      cell(m, form, "a1", "row", "d", fmt::format("{}ul", blocks_of(form))), tile, kWorkgroup,
                      e.read("a0", "(first + uint64_t(tile + p))"));
  for (uint32_t i = 0; i < own; ++i) {
    text += fmt::format(R"(    const {0} x{1} = cells[id * {2}u + {1}u];
    const uint d{1} = {3}, in{1} = digits[d{1} >> 3] >> (d{1} & 7u) * 4u & 15u;
    const bool has{1} = id * {2}u + {1}u < count;
    if (has{1}) digits[d{1} >> 3] += 1u << (d{1} & 7u) * 4u;
)",
                        e.type, i, own, digit(fmt::format("x{}", i).c_str()));
  }
  for (uint32_t w = 0; w < kWords; ++w) {
    text += fmt::format("    const uint s{0} = {1};\n    const uint b{0} = subgroupExclusiveAdd(s{0});\n", w,
                        two_counts("digits", w));
  }
  text += fmt::format("    if (gl_SubgroupInvocationID == {}u) {{\n", choices.subgroup - 1);
  for (uint32_t w = 0; w < kWords; ++w) {
    text += fmt::format("      sums[gl_SubgroupID * {}u + {}u] = b{} + s{};\n", kWords, w, w, w);
  }
  // Then of the subgroups before, and of smaller digits.
  text += fmt::format(R"(    }}
    barrier();
    if (id < {0}u) {{
      uint sum = 0u;
      for (uint s = 0u; s < {1}u; ++s) {{
        const uint word = sums[s * {0}u + id];
        sums[s * {0}u + id] = sum;
        sum += word;
      }}
      starts[2u * id] = sum & 0xffffu, starts[2u * id + 1u] = sum >> 16;
    }}
    barrier();
    uint start = 0u, size = 0u;
    if (id < {2}u) {{
      for (uint d = 0u; d < id; ++d) start += starts[d];
      size = starts[id];
    }}
    barrier();
    if (id < {2}u) starts[id] = start;
    barrier();
)",
                      kWords, subgroups, kSortDigits);
  for (uint32_t w = 0; w < kWords; ++w) {
    text += fmt::format(
        "    before[{0}u + id] = b{1} + sums[gl_SubgroupID * {2}u + {1}u] + (starts[{3}u] | starts[{4}u] << 16);\n",
        w * kWorkgroup, w, kWords, 2 * w, 2 * w + 1);
  }
  for (uint32_t i = 0; i < own; ++i) {
    text += fmt::format(
        "    const uint to{0} = (before[(d{0} >> 1) * {1}u + id] >> (d{0} & 1u) * 16u & 0xffffu) + in{0};\n", i,
        kWorkgroup);
  }
  for (uint32_t i = 0; i < own; ++i) text += fmt::format("    if (has{0}) cells[to{0}] = x{0};\n", i);
  text += "    barrier();\n";
  std::string load_index = "int(i)";
  if (move.reads_indices) {
    load_index = load(m, element_address(operand(), "(first + uint64_t(i))", DType::u64, 4), DType::i32);
  }
  text += fmt::format("    for (uint p = id; p < count; p += {}u) {{\n      const {} x = cells[p];\n      ", kWorkgroup,
                      e.type);
  text += fmt::format("const uint d = {};\n      const uint64_t to = first + uint64_t(places[d] + p - starts[d]);\n",
                      digit("x"));
  if (move.writes_elements) text += "      " + e.write(operand(), "to", "x") + "\n";
  text += "    }\n";
  if (move.writes_indices) {
    // Where the elements of this invocation went.
    const std::string to = operand();
    for (uint32_t i = 0; i < own; ++i) {
      text += fmt::format(R"(    if (has{0}) {{
      const uint i = tile + id * {1}u + {0}u;
      const uint64_t to = first + uint64_t(places[d{0}] + to{0} - starts[d{0}]);
      {2}
    }}
)",
                          i, own, store(m, element_address(to, "to", DType::u64, 4), load_index, DType::i32));
    }
  }
  text += fmt::format("    barrier();\n    if (id < {}u) places[id] += size;\n  }}\n", kSortDigits);
  return finish(m, g, text);
}

}  // namespace neap::vk
