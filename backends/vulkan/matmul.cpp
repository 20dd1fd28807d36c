// The matrix product as a GLSL shader. A workgroup makes one tile of the output: it walks along k in slices, brings a
// slice of both operands into shared memory (the next one is on its way into registers meanwhile), and each invocation
// adds up a block of the tile in registers. Each element is one chain of fma in the order of k: the bits depend on the
// sizes alone. Products too small for that take one invocation for each element. On a CPU a subgroup is a vector
// register, and a load costs as much for each of its lanes as it does on its own, shared memory or not: there each
// subgroup adds up a block by itself, from rows of rhs and shuffled lhs, with as few loads as possible.
#include "backends/vulkan/matmul.h"

#include <iterator>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {

namespace {

using planner::DotForm;
using Element = MatmulElement;

constexpr int64_t kDirect = 4096;  // multiplications up to which a matrix is not worth tiles

// All are powers of two.
struct Tiling {
  uint32_t m, n, k;             // of the workgroup
  uint32_t thread_m, thread_n;  // of an invocation
  uint32_t across() const { return n / thread_n; }
  uint32_t down() const { return m / thread_m; }
  uint32_t invocations() const { return across() * down(); }
};

// No larger than the product, and small enough that there is work for the whole device.
Tiling tiling(const DotForm& f, const Choices& c) {
  Tiling t{fitted(c.tile_m, f.m), fitted(c.tile_n, f.n), c.tile_k, c.thread_m, c.thread_n};
  if (f.dtype == DType::f64) t.k = std::max(t.k / 2, 1u);  // the same bytes of shared memory
  while (t.m * t.n > 1024 && f.batch * tiles(f.m, t.m) * tiles(f.n, t.n) < c.enough_groups) {
    (t.m >= t.n ? t.m : t.n) /= 2;
  }
  t.thread_m = std::min(t.thread_m, t.m), t.thread_n = std::min(t.thread_n, t.n);
  while (t.invocations() < 64 && t.thread_m * t.thread_n > 1) {
    (t.thread_m >= t.thread_n ? t.thread_m : t.thread_n) /= 2;
  }
  return t;
}

std::string component(uint32_t length, uint32_t i) { return length == 1 ? "" : fmt::format("[{}]", i); }

// One operand on its way into shared memory: `tile` rows (of lhs; columns of rhs) times `t.k`.
class Side {
 public:
  Side(const DotForm& f, const Tiling& t, const Element& e, bool lhs)
      : e_(e),
        name_(lhs ? "l" : "r"),
        along_k_(lhs ? !f.lhs_transposed : f.rhs_transposed),
        extent_(lhs ? f.m : f.n),
        k_(f.k),
        tile_(lhs ? t.m : t.n),
        slice_(t.k),
        invocations_(t.invocations()) {
    const uint32_t widest = e.bytes == 8 ? 2 : 4;
    block_ = lhs ? t.thread_m : t.thread_n;
    length = std::min(block_, widest);
    vectors = block_ / length;
    across_ = tile_ / block_;
    slots_ = std::max(1u, tile_ * slice_ / invocations_);
  }

  uint32_t length;   // of a vector in shared memory
  uint32_t vectors;  // that an invocation takes of them

  std::string declaration() const {
    return fmt::format("shared {} {}_tile[{}];\n", e_.of_length(length), name_, slice_ * row());
  }

  // Where this invocation reads first: `at` moves from slice to slice, by a step that is the same for all.
  std::string prologue(const std::string& base) const {
    const uint32_t inner = along_k_ ? slice_ : tile_;
    std::string text = fmt::format("  const uint {0}_in = id % {1}u, {0}_out = id / {1}u;\n", name_, inner);
    text += fmt::format("  const uint {0}_r = {0}_{1}, {0}_k = {0}_{2};\n", name_, along_k_ ? "out" : "in",
                        along_k_ ? "in" : "out");
    const std::string index = along_k_ ? fmt::format("uint64_t({0}_first + {0}_r) * {1}ul + {0}_k", name_, k_)
                                       : fmt::format("uint64_t({0}_k) * {1}ul + {0}_first + {0}_r", name_, extent_);
    text += fmt::format("  uint64_t {}_at = {} + (uint64_t(batch) * {}ul + {}) * {}ul;\n", name_, base, extent_ * k_,
                        index, e_.bytes);
    for (uint32_t i = 0; i < slots_; ++i) text += fmt::format("  {} {}{} = {};\n", e_.type, name_, i, e_.zero);
    return text;
  }

  // The slice at `at` into registers; `left` is what is left of k. Outside the operand there are zeros.
  std::string load(const std::string& indent) const {
    std::string text;
    auto out = std::back_inserter(text);
    for (uint32_t i = 0; i < slots_; ++i) {
      const auto [r, k] = slot(i);
      std::string inside = guard();
      const auto also = [&](const std::string& condition) { inside += (inside.empty() ? "" : " && ") + condition; };
      if (extent_ % tile_ != 0) also(fmt::format("{0}_first + {0}_r + {1}u < {2}u", name_, r, extent_));
      if (k_ % slice_ != 0) also(fmt::format("{}_k + {}u < left", name_, k));
      const uint64_t offset = static_cast<uint64_t>(along_k_ ? r * k_ + k : k * extent_ + r) * e_.bytes;
      const std::string value = e_.at(fmt::format("{}_at + {}ul", name_, offset));
      if (inside.empty()) {
        fmt::format_to(out, "{}{}{} = {};\n", indent, name_, i, value);
      } else {
        fmt::format_to(out, "{0}{1}{2} = {3};\n{0}if ({4}) {1}{2} = {5};\n", indent, name_, i, e_.zero, inside, value);
      }
    }
    const int64_t step = along_k_ ? slice_ : slice_ * extent_;
    fmt::format_to(out, "{}{}_at += {}ul;\n", indent, name_, static_cast<uint64_t>(step) * e_.bytes);
    return text;
  }

  // From registers to shared memory.
  std::string share(const std::string& indent) const {
    std::string text;
    for (uint32_t i = 0; i < slots_; ++i) {
      const auto [r, k] = slot(i);
      const std::string row_index = fmt::format("({}_k + {}u) * {}u", name_, k, row());
      const std::string r_index = fmt::format("({}_r + {}u)", name_, r);
      text += indent;
      if (!guard().empty()) text += fmt::format("if ({}) ", guard());
      if (length == 1) {
        text += fmt::format("{}_tile[{} + {}] = {}{};\n", name_, row_index, r_index, name_, i);
      } else {
        text += fmt::format("{0}_tile[{1} + {2} / {3}u][{2} % {3}u] = {0}{4};\n", name_, row_index, r_index, length, i);
      }
    }
    return text;
  }

  // The vectors of this invocation, from slice row `kk`; `lane` says which it is.
  std::string take(const std::string& indent, const std::string& lane) const {
    std::string text;
    for (uint32_t v = 0; v < vectors; ++v) {
      text += fmt::format("{0}const {1} {2}v{3} = {2}_tile[kk * {4}u + {5}u + {6}];\n", indent, e_.of_length(length),
                          name_, v, row(), v * across_, lane);
    }
    return text;
  }

  // Of element `i` of the block, within the tile.
  std::string position(uint32_t i, const std::string& lane) const {
    return fmt::format("({}u + {}) * {}u + {}u", i / length * across_, lane, length, i % length);
  }

 private:
  uint32_t row() const { return tile_ / length + 1; }  // vectors; one more, so that columns lie in different banks
  std::string guard() const {
    return tile_ * slice_ < invocations_ ? fmt::format("id < {}u", tile_ * slice_) : std::string();
  }
  // Slot i of an invocation lies (r, k) behind its slot 0.
  std::pair<int64_t, int64_t> slot(uint32_t i) const {
    const uint32_t inner = along_k_ ? slice_ : tile_;
    const uint32_t in = invocations_ >= inner ? 0 : i * invocations_ % inner;
    const uint32_t out = i * invocations_ / inner;
    return along_k_ ? std::pair<int64_t, int64_t>{out, in} : std::pair<int64_t, int64_t>{in, out};
  }

  const Element& e_;
  std::string name_;
  bool along_k_;  // consecutive in memory
  int64_t extent_, k_;
  uint32_t tile_, slice_, invocations_;
  uint32_t block_ = 1, across_ = 1, slots_ = 1;
};

Shader tiled(const DotForm& f, const Choices& choices) {
  constexpr int64_t kBand = 8;  // rows of tiles that are walked together, so that what they read stays in the cache
  Module m(choices);
  const Element e(m, f.dtype);
  const Tiling t = tiling(f, choices);
  const Side lhs(f, t, e, true), rhs(f, t, e, false);
  m.define("tiles", lhs.declaration() + rhs.declaration());

  const int64_t down = tiles(f.m, t.m), across = tiles(f.n, t.n);
  const int64_t groups = f.batch * down * across;
  NEAP_CHECK(groups < int64_t{1} << 32, "{} tiles", groups);
  const Grid g = grid(static_cast<uint64_t>(groups), "uint");
  std::string text = bases(m, 3) + g.text;
  auto out = std::back_inserter(text);
  if (uint64_t{g.groups[0]} * g.groups[1] * g.groups[2] != static_cast<uint64_t>(groups)) {
    fmt::format_to(out, "  if (group >= {}u) return;\n", groups);
  }
  fmt::format_to(out, "  const uint batch = group / {0}u, tile = group % {0}u;\n", down * across);
  fmt::format_to(out, "  const uint band = tile / {0}u * {1}u, in_band = tile % {0}u, rows = min({1}u, {2}u - band);\n",
                 kBand * across, kBand, down);
  fmt::format_to(out, "  const uint l_first = (band + in_band % rows) * {}u, r_first = in_band / rows * {}u;\n", t.m,
                 t.n);
  fmt::format_to(out, "  const uint id = gl_LocalInvocationIndex, x = id % {0}u, y = id / {0}u;\n", t.across());
  const std::string row = e.of_length(rhs.length);
  for (uint32_t i = 0; i < t.thread_m; ++i) {
    for (uint32_t j = 0; j < rhs.vectors; ++j) fmt::format_to(out, "  {0} c{1}_{2} = {0}({3});\n", row, i, j, e.zero);
  }

  // Between registers and the output, whose edges a tile may cross.
  const auto in_place = [&](bool load) {
    for (uint32_t i = 0; i < t.thread_m; ++i) {
      fmt::format_to(out, "  {{\n    const uint row = l_first + {};\n", lhs.position(i, "y"));
      fmt::format_to(out, "    const uint64_t at = a2 + ((uint64_t(batch) * {}ul + row) * {}ul + r_first) * {}ul;\n",
                     f.m, f.n, e.bytes);
      for (uint32_t j = 0; j < t.thread_n; ++j) {
        const std::string column = rhs.position(j, "x");
        std::string inside = f.m % t.m == 0 ? "" : fmt::format("row < {}u", f.m);
        if (f.n % t.n != 0) inside += fmt::format("{}r_first + {} < {}u", inside.empty() ? "" : " && ", column, f.n);
        const std::string there = e.at(fmt::format("at + uint64_t({}) * {}ul", column, e.bytes)),
                          here = fmt::format("c{}_{}{}", i, j / rhs.length, component(rhs.length, j % rhs.length));
        text += "    ";
        if (!inside.empty()) fmt::format_to(out, "if ({}) ", inside);
        fmt::format_to(out, "{} = {};\n", load ? here : there, load ? there : here);
      }
      text += "  }\n";
    }
  };
  if (f.adds) in_place(true);

  if (f.k > 0) {
    text += lhs.prologue("a0") + rhs.prologue("a1");
    fmt::format_to(out, "  uint left = {}u;\n", f.k);
    text += lhs.load("  ") + rhs.load("  ");
    fmt::format_to(out, "  for (uint slice = 1u; slice <= {}u; ++slice) {{\n", tiles(f.k, t.k));
    text += lhs.share("    ") + rhs.share("    ") + "    barrier();\n";
    fmt::format_to(out, "    if (slice < {}u) {{\n      left -= {}u;\n", tiles(f.k, t.k), t.k);
    text += lhs.load("      ") + rhs.load("      ") + "    }\n";
    fmt::format_to(out, "    for (uint kk = 0u; kk < {}u; ++kk) {{\n", t.k);
    text += lhs.take("      ", "y") + rhs.take("      ", "x");
    for (uint32_t i = 0; i < t.thread_m; ++i) {
      for (uint32_t j = 0; j < rhs.vectors; ++j) {
        fmt::format_to(out, "      c{0}_{1} = fma({2}(lv{3}{4}), rv{1}, c{0}_{1});\n", i, j, row, i / lhs.length,
                       component(lhs.length, i % lhs.length));
      }
    }
    text += "    }\n    barrier();\n  }\n";
  }

  in_place(false);
  Shader shader;
  shader.local_size = t.invocations();
  shader.groups = g.groups;
  shader.glsl = m.finish(shader.local_size, text);
  return shader;
}

Shader direct(const DotForm& f, const Choices& choices) {
  Module m(choices);
  const Element e(m, f.dtype);
  const auto elements = static_cast<uint64_t>(f.batch * f.m * f.n);
  // In 32 bits where that is enough: NVIDIA's compiler (580.159) takes two remainders of 64 bits for one another.
  const bool wide = elements >= uint64_t{1} << 31;
  const char *type = wide ? "uint64_t" : "uint", *suffix = wide ? "ul" : "u";
  const Grid g = grid((elements + choices.workgroup - 1) / choices.workgroup, type);
  std::string text = bases(m, 3) + g.text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "  const {} i = group * {}{} + gl_LocalInvocationIndex;\n", type, choices.workgroup, suffix);
  fmt::format_to(out, "  if (i >= {}{}) return;\n", elements, suffix);
  fmt::format_to(out, "  const {0} row = i / {1}{3}, column = i - row * {1}{3}, batch = row / {2}{3};\n", type, f.n,
                 f.m, suffix);
  const std::string in_batch = fmt::format("(row - batch * {}{})", f.m, suffix);
  fmt::format_to(out, "  const uint64_t l = a0 + (uint64_t(batch) * {}ul + {}) * {}ul;\n", f.m * f.k,
                 f.lhs_transposed ? in_batch : fmt::format("{} * {}{}", in_batch, f.k, suffix), e.bytes);
  fmt::format_to(out, "  const uint64_t r = a1 + (uint64_t(batch) * {}ul + {}) * {}ul;\n", f.n * f.k,
                 f.rhs_transposed ? fmt::format("column * {}{}", f.k, suffix) : "column", e.bytes);
  const std::string element = e.at(fmt::format("a2 + uint64_t(i) * {}ul", e.bytes));
  fmt::format_to(out, "  {} c = {};\n  for (uint k = 0u; k < {}u; ++k) {{\n", e.type, f.adds ? element : e.zero, f.k);
  fmt::format_to(out, "    c = fma({}, {}, c);\n  }}\n",
                 e.at(fmt::format("l + uint64_t(k) * {}ul", (f.lhs_transposed ? f.m : 1) * e.bytes)),
                 e.at(fmt::format("r + uint64_t(k) * {}ul", (f.rhs_transposed ? 1 : f.n) * e.bytes)));
  fmt::format_to(out, "  {} = c;\n", element);
  Shader shader;
  shader.local_size = choices.workgroup;
  shader.groups = g.groups;
  shader.glsl = m.finish(shader.local_size, text);
  return shader;
}

}  // namespace

Shader matmul_shader(const DotForm& f, const Choices& choices) {
  constexpr int64_t kLargest = int64_t{1} << 31;
  NEAP_CHECK(f.batch > 0 && f.m > 0 && f.n > 0, "a matrix product without elements");
  NEAP_CHECK(f.m < kLargest && f.n < kLargest && f.k < kLargest && f.batch < kLargest, "{} x {} x {}", f.m, f.n, f.k);
  if (f.dtype == DType::f64 && !choices.float64) lacking("dot_general", *lacks(choices, f.dtype));
  if (size_of(f.dtype) == 2) return matmul_by_matrices(f, choices);
  const bool small = f.k <= kDirect && f.m <= kDirect && f.n <= kDirect && f.m * f.n * f.k <= kDirect;
  if (small && f.k <= 64) return direct(f, choices);
  if (!choices.matmul_by_subgroup && choices.most_iterations && f.k > choices.most_iterations / 2) {
    lacking("dot_general", fmt::format("loops of more than {} iterations", choices.most_iterations));
  }
  return choices.matmul_by_subgroup ? matmul_by_subgroup(f, choices) : tiled(f, choices);
}

}  // namespace neap::vk
