// The product of halves by cooperative matrices: a subgroup holds small matrices together and multiplies them at once,
// f16 by f16 into f32. A workgroup makes one tile of the output as in matmul.cpp: slices of both operands come into
// shared memory as they lie in the operands, with zeros where they end; each subgroup adds up a block of the tile.
#include <iterator>

#include "backends/vulkan/glsl_kernel.h"
#include "backends/vulkan/matmul.h"
#include "core/check.h"

namespace neap::vk {
namespace {

using planner::DotForm;

constexpr uint32_t kWord = 8;    // halves in a uvec4
constexpr uint32_t kSlice = 32;  // of k in shared memory, at least
constexpr int64_t kBand = 8;     // as in matmul.cpp

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
        slice_(std::max(kSlice, choices.matrix[2])) {
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
      m_.use("GL_NV_cooperative_matrix");
      m_.use("GL_EXT_shader_explicit_arithmetic_types_float16");
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
    const Side lhs{"l", "a0", !f_.lhs_transposed, f_.m, rows_}, rhs{"r", "a1", f_.rhs_transposed, f_.n, columns_};
    std::string shared = declare(lhs) + declare(rhs);
    shared += fmt::format("shared float sums[{}];\n", rows_.groups * columns_.groups * rows_.extent * columns_.extent);
    for (uint32_t i = 0; i < rows_.matrices; ++i) {
      for (uint32_t j = 0; j < columns_.matrices; ++j) say("  MatrixC c{}_{} = NO_SUM;\n", i, j);
    }
    say("  MatrixA x;\n");
    for (uint32_t j = 0; j < columns_.matrices; ++j) say("  MatrixB y{};\n", j);
    begin(lhs), begin(rhs);
    fetch(lhs, "0u"), fetch(rhs, "0u");
    say("  for (uint k = 0u; k < {}u; k += {}u) {{\n", f_.k, slice_);
    put(lhs), put(rhs);
    say("    barrier();\n    if (k + {0}u < {1}u) {{\n", slice_, f_.k);
    fetch(lhs, fmt::format("(k + {}u)", slice_)), fetch(rhs, fmt::format("(k + {}u)", slice_));
    say("    }}\n");
    for (uint32_t k = 0; k < slice_; k += k_) multiply(lhs, rhs, k);
    say("    barrier();\n  }}\n");
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
  };

  template <class... T>
  void say(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
  }

  std::string types() const {
    const auto type = [](const char* name, int bits, uint32_t rows, uint32_t columns) {
      return fmt::format("#define {} fcoopmatNV<{}, gl_ScopeSubgroup, {}, {}>\n", name, bits, rows, columns);
    };
    return type("MatrixA", 16, rows_.extent, k_) + type("MatrixB", 16, k_, columns_.extent) +
           type("MatrixC", 32, rows_.extent, columns_.extent) + "#define NO_SUM MatrixC(0.0)\n";
  }

  // A slice in shared memory: rows as in the operand, of so many words, one more so that they lie in different banks.
  uint32_t inner(const Side& s) const { return (s.along_k ? slice_ : s.along.tile()) / kWord; }
  uint32_t outer(const Side& s) const { return s.along_k ? s.along.tile() : slice_; }
  uint32_t pitch(const Side& s) const { return inner(s) + 1; }
  uint32_t slots(const Side& s) const { return (inner(s) * outer(s) + invocations_ - 1) / invocations_; }

  std::string declare(const Side& s) const {
    return fmt::format("shared uvec4 {}_tile[{}];\n", s.name, outer(s) * pitch(s));
  }

  // Which words of a slice an invocation brings: (outer, inner) of each.
  void begin(const Side& s) {
    for (uint32_t i = 0; i < slots(s); ++i) {
      say("  const uint {0}_o{1} = (id + {2}u) / {3}u, {0}_i{1} = (id + {2}u) % {3}u;\n", s.name, i, i * invocations_,
          inner(s));
      say("  uvec4 {}{} = uvec4(0u);\n", s.name, i);
    }
  }

  // The slice that begins at k into registers.
  void fetch(const Side& s, const std::string& k) {
    const int64_t row = s.along_k ? f_.k : s.extent, rows = s.along_k ? s.extent : f_.k;
    for (uint32_t i = 0; i < slots(s); ++i) {
      std::string o = fmt::format("({}_o{})", s.name, i), in = fmt::format("({}_i{} * 8u)", s.name, i);
      (s.along_k ? in : o) += " + " + k;
      (s.along_k ? o : in) += fmt::format(" + {}_first", s.name);
      say("    {{ const uint o = {}, i = {};\n", o, in);
      say("      {0}{1} = o < {2}u && i < {3}u ? halves({4} + ((uint64_t(batch) * {2}ul + o) * {3}ul + i) * 2ul, {3}u "
          "- "
          "i) : uvec4(0u); }}\n",
          s.name, i, rows, row, s.base);
    }
  }

  void put(const Side& s) {
    for (uint32_t i = 0; i < slots(s); ++i) {
      const bool all = (i + 1) * invocations_ <= inner(s) * outer(s);
      say("    {3}{0}_tile[{0}_o{1} * {2}u + {0}_i{1}] = {0}{1};\n", s.name, i, pitch(s),
          all ? "" : fmt::format("if ({}_o{} < {}u) ", s.name, i, outer(s)));
    }
  }

  // The matrix of `s` at number `i` of its subgroup and at k of the slice.
  void take(const Side& s, const std::string& matrix, uint32_t i, uint32_t k, bool column_major) {
    const std::string first =
        fmt::format("(({}_group * {}u + {}u) * {}u)", s.name, s.along.matrices, i, s.along.extent);
    const std::string at = s.along_k ? fmt::format("{} * {}u + {}u", first, pitch(s), k / kWord)
                                     : fmt::format("{}u + {} / 8u", k * pitch(s), first);
    say("    coopMatLoadNV({}, {}_tile, {}, {}u, {});\n", matrix, s.name, at, pitch(s), column_major);
  }

  void multiply(const Side& lhs, const Side& rhs, uint32_t k) {
    for (uint32_t j = 0; j < columns_.matrices; ++j) take(rhs, fmt::format("y{}", j), j, k, rhs.along_k);
    for (uint32_t i = 0; i < rows_.matrices; ++i) {
      take(lhs, "x", i, k, !lhs.along_k);
      for (uint32_t j = 0; j < columns_.matrices; ++j)
        say("    c{0}_{1} = coopMatMulAddNV(x, y{1}, c{0}_{1});\n", i, j);
    }
  }

  // Through shared memory, since only there is known which invocation has which element.
  void write(uint32_t i, uint32_t j) {
    const uint32_t elements = rows_.extent * columns_.extent;
    say("  coopMatStoreNV(c{}_{}, sums, gl_SubgroupID * {}u, {}u, false);\n  barrier();\n", i, j, elements,
        columns_.extent);
    say("  for (uint e = gl_SubgroupInvocationID; e < {}u; e += {}u) {{\n", elements, c_.subgroup);
    say("    const uint row = l_first + (l_group * {}u + {}u) * {}u + e / {}u;\n", rows_.matrices, i, rows_.extent,
        columns_.extent);
    say("    const uint column = r_first + (r_group * {0}u + {1}u) * {2}u + e % {2}u;\n", columns_.matrices, j,
        columns_.extent);
    say("    if (row < {0}u && column < {1}u) {{\n      const uint64_t at = a2 + ((uint64_t(batch) * {0}ul + row) * "
        "{1}ul "
        "+ column) * 2ul;\n",
        f_.m, f_.n);
    say("      const float sum = sums[gl_SubgroupID * {}u + e];\n      {}\n    }}\n  }}\n  barrier();\n", elements,
        store(m_, "at", convert(m_, "sum", DType::f32, DType::f16), DType::f16));
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
  NEAP_CHECK(form.dtype == DType::f16 && choices.matrix[0] > 0, "a product of halves without matrices");
  return ByMatrices(form, choices).emit(types);
}

}  // namespace neap::vk
