// The product of halves by cooperative matrices: a subgroup holds small matrices together and multiplies them at once,
// f16 by f16 (or bf16 by bf16) into f32. A workgroup makes one tile of the output as in matmul.cpp: slices of both
// operands come into shared memory as they lie in the operands, with zeros where they end; each subgroup adds up a
// block of the tile. The compiler of Debian 12 knows nothing of VK_KHR_cooperative_matrix: its type and instructions
// are declared by their numbers (GL_EXT_spirv_intrinsics), and what no number says, the type of a matrix's elements,
// name_matrix_elements() in spirv.cpp puts in.
#include <iterator>

#include "backends/vulkan/glsl_kernel.h"
#include "backends/vulkan/matmul.h"
#include "backends/vulkan/spirv.h"
#include "core/check.h"

namespace neap::vk {
namespace {

using planner::DotForm;

constexpr uint32_t kWord = 8;  // halves in a uvec4
constexpr int64_t kBand = 8;   // as in matmul.cpp

// What a workgroup does along m or n: so many subgroups, each so many matrices.
struct Along {
  uint32_t extent;  // of a matrix
  uint32_t groups, matrices;
  uint32_t tile() const { return extent * groups * matrices; }
  void halve() { (matrices > 1 ? matrices : groups) /= 2; }
  bool smallest() const { return groups * matrices == 1; }
};

class ByMatrices {
 public:
  ByMatrices(const DotForm& f, const Choices& choices)
      : f_(f),
        c_(choices),
        m_(choices),
        rows_{choices.matrix[0], choices.matrix_groups[0], choices.matrix_block[0]},
        columns_{choices.matrix[1], choices.matrix_groups[1], choices.matrix_block[1]},
        k_(choices.matrix[2]),
        slice_(choices.matrix_slice) {
    // No larger than the product, and small enough that there is work for the whole device.
    for (auto [along, extent] : {std::pair{&rows_, f.m}, {&columns_, f.n}}) {
      while (!along->smallest() && along->tile() / 2 >= extent) along->halve();
    }
    while (f.batch * tiles(f.m, rows_.tile()) * tiles(f.n, columns_.tile()) < choices.enough_groups) {
      Along& larger = rows_.tile() >= columns_.tile() ? rows_ : columns_;
      if (larger.smallest()) break;
      larger.halve();
    }
    invocations_ = rows_.groups * columns_.groups * choices.subgroup;
  }

  Shader emit(const std::string* types) {
    m_.use("GL_KHR_shader_subgroup_basic");
    if (!types) {
      m_.use("GL_KHR_memory_scope_semantics");
      m_.use("GL_EXT_spirv_intrinsics");
    }
    m_.define("RV4", "layout(buffer_reference, scalar, buffer_reference_align = 16) buffer RV4 { uvec4 v; };\n");
    m_.define("halves", fmt::format(R"(
// The first `count` of 8 halves, then zeros.
uvec4 halves(uint64_t a, uint count) {{
  if (count >= 8u && (uint(a) & 15u) == 0u) return RV4(a).v;
  uvec4 r = uvec4(0u);
{}  return r;
}}
)",
                                    [&] {
                                      std::string text;
                                      for (uint32_t i = 0; i < kWord; ++i) {
                                        text += fmt::format("  if (count > {0}u) r[{1}] |= {2} << {3};\n", i, i / 2,
                                                            load(m_, fmt::format("(a + {}ul)", 2 * i), DType::u16),
                                                            i % 2 * 16);
                                      }
                                      return text;
                                    }()));
    const int64_t down = tiles(f_.m, rows_.tile()), across = tiles(f_.n, columns_.tile());
    const int64_t groups = f_.batch * down * across;
    NEAP_CHECK(groups < int64_t{1} << 32, "{} tiles", groups);
    const Grid g = grid(static_cast<uint64_t>(groups), "uint");
    text_ = bases(m_, 3) + g.text;
    say("  if (group >= {}u) return;\n", groups);
    say("  const uint batch = group / {0}u, tile = group % {0}u, id = gl_LocalInvocationIndex;\n", down * across);
    say("  const uint band = tile / {0}u * {1}u, in_band = tile % {0}u, rows = min({1}u, {2}u - band);\n",
        kBand * across, kBand, down);
    say("  const uint l_first = (band + in_band % rows) * {}u, r_first = in_band / rows * {}u;\n", rows_.tile(),
        columns_.tile());
    say("  const uint l_group = gl_SubgroupID / {0}u, r_group = gl_SubgroupID % {0}u;\n", columns_.groups);
    Side lhs{"l", "a0", !f_.lhs_transposed, f_.m, rows_}, rhs{"r", "a1", f_.rhs_transposed, f_.n, columns_};
    rhs.offset = outer(lhs) * pitch(lhs);
    const uint32_t sums = rows_.groups * columns_.groups * rows_.extent * columns_.extent / 4;
    const uint32_t size = rhs.offset + outer(rhs) * pitch(rhs);
    const std::string shared = fmt::format("shared uvec4 words[{}];\n", std::max(sums, size));
    for (uint32_t i = 0; i < rows_.matrices; ++i) {
      for (uint32_t j = 0; j < columns_.matrices; ++j) say("  MatrixC c{}_{} = NO_SUM;\n", i, j);
    }
    begin(lhs), begin(rhs);
    if (whole_words(lhs) && whole_words(rhs)) {
      say("  if (((uint(l_base) | uint(r_base)) & 15u) == 0u) {{\n");
      walk(lhs, rhs, /*aligned=*/true);
      say("  }} else {{\n");
      walk(lhs, rhs, /*aligned=*/false);
      say("  }}\n");
    } else {
      walk(lhs, rhs, /*aligned=*/false);
    }
    for (uint32_t i = 0; i < rows_.matrices; ++i) {
      for (uint32_t j = 0; j < columns_.matrices; ++j) write(i, j);
    }
    Shader shader;
    shader.local_size = invocations_;
    shader.groups = g.groups;
    shader.full_subgroups = true;
    m_.define("tiles", shared + (types ? *types : this->types()));
    shader.glsl = m_.finish(shader.local_size, text_);
    return shader;
  }

 private:
  // An operand: rows of lhs, columns of rhs.
  struct Side {
    const char *name, *base;
    bool along_k;  // consecutive in memory
    int64_t extent;
    const Along& along;
    uint32_t offset = 0;  // in shared memory
  };

  template <class... T>
  void say(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
  }

  // 0x20, NonPrivatePointer: barriers order these loads and stores with those of other invocations.
  std::string types() const {
    const auto type = [](const char* name, std::string_view element, uint32_t rows, uint32_t columns, uint32_t use) {
      return fmt::format(
          "#define {} spirv_type(extensions = [\"SPV_KHR_cooperative_matrix\"], capabilities = [6022], id = 4456, {}, "
          "kSubgroup, kExtent{}, kExtent{}, kUse{})\n",
          name, element, rows, columns, use);
    };
    std::string text = fmt::format(
        "#pragma use_vulkan_memory_model\n"
        "const uint kFactor = {}u, kSum = {}u, kSubgroup = 3u, kUse0 = 0u, kUse1 = 1u, kUse2 = 2u, ROWS = 0u, COLUMNS "
        "= 1u;\n",
        static_cast<uint32_t>(f_.dtype == DType::bf16 ? MatrixElement::bf16 : MatrixElement::f16),
        static_cast<uint32_t>(MatrixElement::f32));
    std::vector<uint32_t> extents{rows_.extent, columns_.extent, k_};
    std::ranges::sort(extents);
    extents.erase(std::ranges::unique(extents).begin(), extents.end());
    for (const uint32_t n : extents) text += fmt::format("const uint kExtent{0} = {0}u;\n", n);
    return text + type("MatrixA", "kFactor", rows_.extent, k_, 0) + type("MatrixB", "kFactor", k_, columns_.extent, 1) +
           type("MatrixC", "kSum", rows_.extent, columns_.extent, 2) + R"(
spirv_instruction(id = 4457) MatrixA load_a(spirv_by_reference uvec4 first, uint order, uint pitch, spirv_literal int operands);
spirv_instruction(id = 4457) MatrixB load_b(spirv_by_reference uvec4 first, uint order, uint pitch, spirv_literal int operands);
spirv_instruction(id = 4458) void store_c(spirv_by_reference uvec4 first, MatrixC m, uint order, uint pitch, spirv_literal int operands);
spirv_instruction(id = 4459) MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c);
spirv_instruction(id = 80) MatrixC all_elements(float x);
#define MATRIX_A(first, order, pitch) load_a(words[first], order, pitch, 0x20)
#define MATRIX_B(first, order, pitch) load_b(words[first], order, pitch, 0x20)
#define STORE(m, first, pitch) store_c(words[first], m, ROWS, pitch, 0x20)
#define NO_SUM all_elements(0.0)
)";
  }

  // A slice in shared memory: rows as in the operand, of so many words, one more so that they lie in different banks.
  uint32_t inner(const Side& s) const { return (s.along_k ? slice_ : s.along.tile()) / kWord; }
  uint32_t outer(const Side& s) const { return s.along_k ? s.along.tile() : slice_; }
  uint32_t pitch(const Side& s) const { return inner(s) + 1; }
  uint32_t slots(const Side& s) const { return (inner(s) * outer(s) + invocations_ - 1) / invocations_; }
  // Of the operand: elements of a row in memory.
  int64_t row(const Side& s) const { return s.along_k ? f_.k : s.extent; }
  // Whole words, where the operand begins at one.
  bool whole_words(const Side& s) const { return row(s) % kWord == 0; }

  // Which words of a slice an invocation brings: (outer, inner) of slot 0, and in which row another slot lies. All
  // slots have the same place in their rows, or the slice is smaller than the workgroup.
  void begin(const Side& s) {
    say("  const uint {0}_o = id / {1}u, {0}_i = id % {1}u;\n", s.name, inner(s));
    say("  const uint64_t {0}_base = {1} + uint64_t(batch) * {2}ul;\n", s.name, s.base, 2 * s.extent * f_.k);
    const std::string along = fmt::format("{0}_first", s.name);
    say("  uint64_t {0}_at = {0}_base + (uint64_t({1}) * {2}ul + {3}) * 2ul;\n", s.name,
        s.along_k ? fmt::format("({} + {}_o)", along, s.name) : fmt::format("{}_o", s.name), row(s),
        s.along_k ? fmt::format("{}_i * 8u", s.name) : fmt::format("{} + {}_i * 8u", along, s.name));
    for (uint32_t i = 0; i < slots(s); ++i) say("  uvec4 {}{} = uvec4(0u);\n", s.name, i);
  }

  // Along k. The next slice is on its way into registers while this one is multiplied. Words that are known to be
  // aligned are read without a branch each.
  void walk(const Side& lhs, const Side& rhs, bool aligned) {
    fetch(lhs, "0u", aligned), fetch(rhs, "0u", aligned);
    say("  for (uint k = 0u; k < {}u; k += {}u) {{\n", f_.k, slice_);
    put(lhs), put(rhs);
    say("    barrier();\n    if (k + {0}u < {1}u) {{\n", slice_, f_.k);
    advance(lhs), advance(rhs);
    const std::string next = fmt::format("(k + {}u)", slice_);
    fetch(lhs, next, aligned), fetch(rhs, next, aligned);
    say("    }}\n");
    for (uint32_t k = 0; k < slice_; k += k_) multiply(lhs, rhs, k);
    say("    barrier();\n  }}\n");
  }

  void advance(const Side& s) { say("      {}_at += {}ul;\n", s.name, 2 * slice_ * (s.along_k ? 1 : s.extent)); }

  uint32_t rows_apart(const Side& s) const { return invocations_ / inner(s); }

  // The slice that begins at k into registers; outside the operand there are zeros.
  void fetch(const Side& s, const std::string& k, bool aligned) {
    const bool inside = s.extent % s.along.tile() == 0, ends = f_.k % slice_ != 0;
    for (uint32_t i = 0; i < slots(s); ++i) {
      const std::string o = fmt::format("{}_o + {}u", s.name, i * rows_apart(s)), in = fmt::format("{}_i * 8u", s.name);
      std::string guard;
      const auto also = [&](const std::string& condition) { guard += (guard.empty() ? "" : " && ") + condition; };
      const std::string along = fmt::format("{}_first + {}", s.name, s.along_k ? o : in);
      const std::string down = fmt::format("{} + {}", k, s.along_k ? in : o);
      if (!inside) also(fmt::format("{} < {}u", along, s.extent));
      if (ends) also(fmt::format("{} < {}u", down, f_.k));
      if ((i + 1) * invocations_ > inner(s) * outer(s)) also(fmt::format("{} < {}u", o, outer(s)));
      const std::string at = fmt::format("{}_at + {}ul", s.name, 2 * i * rows_apart(s) * row(s));
      const std::string value = aligned ? fmt::format("RV4({}).v", at)
                                        : fmt::format("halves({}, {}u - ({}))", at, row(s), s.along_k ? down : along);
      if (guard.empty()) {
        say("      {}{} = {};\n", s.name, i, value);
      } else {
        say("      {0}{1} = uvec4(0u);\n      if ({2}) {0}{1} = {3};\n", s.name, i, guard, value);
      }
    }
  }

  void put(const Side& s) {
    for (uint32_t i = 0; i < slots(s); ++i) {
      const bool all = (i + 1) * invocations_ <= inner(s) * outer(s);
      const std::string o = fmt::format("({}_o + {}u)", s.name, i * rows_apart(s));
      say("    {}words[{} * {}u + {}_i + {}u] = {}{};\n", all ? "" : fmt::format("if ({} < {}u) ", o, outer(s)), o,
          pitch(s), s.name, s.offset, s.name, i);
    }
  }

  // The matrix of `s` at number `i` of its subgroup and at k of the slice.
  std::string matrix(const Side& s, const char* name, uint32_t i, uint32_t k, bool columns) const {
    const std::string first = fmt::format("({}_group * {}u + {}u) * {}u", s.name, s.along.matrices, i, s.along.extent);
    const std::string at = s.along_k ? fmt::format("({}) * {}u + {}u", first, pitch(s), k / kWord)
                                     : fmt::format("{}u + ({}) / 8u", k * pitch(s), first);
    return fmt::format("MATRIX_{}({} + {}u, {}, {}u)", name, at, s.offset, columns ? "COLUMNS" : "ROWS", pitch(s));
  }

  void multiply(const Side& lhs, const Side& rhs, uint32_t k) {
    say("    {{\n");
    for (uint32_t j = 0; j < columns_.matrices; ++j)
      say("      MatrixB y{} = {};\n", j, matrix(rhs, "B", j, k, rhs.along_k));
    for (uint32_t i = 0; i < rows_.matrices; ++i) {
      say("      {} = {};\n", i == 0 ? "MatrixA x" : "x", matrix(lhs, "A", i, k, !lhs.along_k));
      for (uint32_t j = 0; j < columns_.matrices; ++j) say("      c{0}_{1} = multiply_add(x, y{1}, c{0}_{1});\n", i, j);
    }
    say("    }}\n");
  }

  // Through shared memory, where each subgroup has a place of its own: only there is known which invocation has which
  // element.
  void write(uint32_t i, uint32_t j) {
    const uint32_t elements = rows_.extent * columns_.extent;
    say("  STORE(c{}_{}, gl_SubgroupID * {}u, {}u);\n  subgroupBarrier();\n", i, j, elements / 4, columns_.extent / 4);
    say("  for (uint e = gl_SubgroupInvocationID; e < {}u; e += {}u) {{\n", elements, c_.subgroup);
    say("    const uint row = l_first + (l_group * {}u + {}u) * {}u + e / {}u;\n", rows_.matrices, i, rows_.extent,
        columns_.extent);
    say("    const uint column = r_first + (r_group * {0}u + {1}u) * {2}u + e % {2}u;\n", columns_.matrices, j,
        columns_.extent);
    say("    if (row < {0}u && column < {1}u) {{\n      const uint64_t at = a2 + ((uint64_t(batch) * {0}ul + row) * "
        "{1}ul "
        "+ column) * 2ul;\n",
        f_.m, f_.n);
    say("      const float sum = uintBitsToFloat(words[gl_SubgroupID * {}u + e / 4u][e % 4u]);\n      {}\n    }}\n  "
        "}}\n"
        "  subgroupBarrier();\n",
        elements / 4, store(m_, "at", convert(m_, "sum", DType::f32, f_.dtype), f_.dtype));
  }

  const DotForm& f_;
  const Choices& c_;
  Module m_;
  Along rows_, columns_;
  const uint32_t k_, slice_;
  uint32_t invocations_ = 0;
  std::string text_;
};

}  // namespace

Shader matmul_by_matrices(const DotForm& form, const Choices& choices, const std::string* types) {
  const bool has = choices.matrix[0] > 0 && (form.dtype == DType::f16 || choices.matrix_bf16);
  NEAP_CHECK(has && size_of(form.dtype) == 2, "a product of halves without matrices");
  return ByMatrices(form, choices).emit(types);
}

}  // namespace neap::vk
