// The matrix product by subgroups, each of which makes a block of the result in registers. For devices whose registers
// are memory and whose loads go lane by lane: what counts is the number of loads, so that neighbouring floats are read
// as pairs, one operand's neighbours along k or along the other axis, wherever they lie side by side.
#include "backends/vulkan/matmul.h"

#include <iterator>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {
namespace {

using planner::DotForm;

// One operand's registers: `count` vectors of a value for each lane, for each of the steps along k made together.
struct Operand {
  char name;
  int64_t along, k;  // elements from one row (lhs) or column (rhs) to the next; from one k to the next
  int64_t extent;    // rows or columns
  uint32_t count;
  bool k_pairs = false, pairs = false;  // what a pair is along
  uint32_t width() const { return pairs ? 2 : 1; }
};

class BySubgroup {
 public:
  BySubgroup(const DotForm& f, const Choices& choices)
      : f_(f), m_(choices), e_(m_, f.dtype), lanes_(choices.subgroup), rows_(fitted(choices.thread_m, f.m)) {
    auto vectors = fitted(choices.thread_n * sizeof(float) / static_cast<uint32_t>(e_.bytes), tiles(f.n, lanes_));
    const bool paired = e_.bytes == 4 && choices.cpu;  // a CPU reads pairs anywhere
    const auto pairs_along_k = [&](bool contiguous) { return paired && contiguous && f.k > 1; };
    const bool l_k = pairs_along_k(!f.lhs_transposed), r_k = pairs_along_k(f.rhs_transposed);
    unit_ = l_k || r_k ? 2 : 1;
    // Steps along k in one iteration, so that there are not too many iterations; in exchange blocks are smaller.
    const int64_t most = choices.most_iterations ? choices.most_iterations - 1 : f.k;
    const int64_t units = f.k / unit_;
    together_ = units > most ? (units + most - 1) / most : 1;
    while (rows_ * vectors > 1 && rows_ * vectors * together_ * unit_ > 1024) {
      (rows_ >= vectors ? rows_ : vectors) /= 2;
    }
    const bool l_rows = paired && f.lhs_transposed && f.m % 2 == 0 && rows_ > 1;
    const uint32_t l_lanes = lanes_ * (l_rows ? 2 : 1);
    l_ = {'l',
          f.lhs_transposed ? 1 : f.k,
          f.lhs_transposed ? f.m : 1,
          f.m,
          (rows_ + l_lanes - 1) / l_lanes * (l_rows ? 2 : 1),
          l_k,
          l_rows};
    r_ = {'r',
          f.rhs_transposed ? f.k : 1,
          f.rhs_transposed ? 1 : f.n,
          f.n,
          vectors,
          r_k,
          paired && !f.rhs_transposed && f.n % 2 == 0 && vectors > 1};
    if (paired) m_.use("R64");
  }

  Shader emit() {
    m_.use("GL_KHR_shader_subgroup_basic");
    m_.use("GL_KHR_shader_subgroup_shuffle");
    const uint32_t columns = r_.count * lanes_;
    const int64_t across = tiles(f_.n, columns), down = tiles(f_.m, rows_), blocks = f_.batch * down * across;
    NEAP_CHECK(blocks < int64_t{1} << 32, "{} blocks", blocks);
    const Grid g = grid(static_cast<uint64_t>(blocks), "uint");
    text_ = bases(m_, 3) + g.text;
    say("  if (group >= {}u) return;\n", blocks);
    // Compilers must not know the number of the lane whose value all take: llvmpipe would find it in a loop.
    say("  const uint batch = group / {}u, lane = gl_SubgroupInvocationID, none = turn >> 31;\n", down * across);
    say("  const uint row = group / {}u % {}u * {}u, column = group % {}u * {}u + lane * {}u;\n", across, down, rows_,
        across, columns, r_.width());
    say("  const uint lane_row = row + lane * {}u;\n", l_.width());
    say("  uint64_t l = a0 + (uint64_t(batch) * {}ul + uint64_t(lane_row) * {}ul) * {}ul;\n", f_.m * f_.k, l_.along,
        e_.bytes);
    say("  uint64_t r = a1 + (uint64_t(batch) * {}ul + uint64_t(column) * {}ul) * {}ul;\n", f_.n * f_.k, r_.along,
        e_.bytes);
    for (uint32_t i = 0; i < rows_; ++i) {
      for (uint32_t j = 0; j < r_.count; ++j) say("  {} c{}_{} = {};\n", e_.type, i, j, e_.zero);
    }
    say("  const uint64_t o = a2 + ((uint64_t(batch) * {0}ul + row) * {1}ul + column) * {2}ul;\n", f_.m, f_.n,
        e_.bytes);
    if (f_.adds) each_of_block([&](uint32_t i, uint32_t j) { take(i, j, columns); });
    say("  {} s;\n", e_.type);
    const int64_t at_once = unit_ * together_;
    say("  for (uint i = 0u; i < {}u; ++i) {{\n", f_.k / at_once);
    steps(at_once);
    say("  }}\n");
    if (f_.k % at_once != 0) {
      say("  {{\n");
      steps(f_.k % at_once);
      say("  }}\n");
    }
    each_of_block([&](uint32_t i, uint32_t j) { store(i, j, columns); });
    Shader shader;
    shader.local_size = lanes_;
    shader.groups = g.groups;
    shader.full_subgroups = true;
    shader.glsl = m_.finish(shader.local_size, text_);
    return shader;
  }

 private:
  template <class... T>
  void say(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<T>(values)...);
  }

  void steps(int64_t count) {
    for (int64_t k = 0; k < count; k += unit_) {
      const int64_t here = std::min(unit_, count - k);
      say("    {{\n");
      load(r_, "column", f_.n % (r_.count * lanes_) != 0, k, here);
      // Lanes beyond the rows of a block would read those behind it.
      load(l_, "lane_row", f_.m % rows_ != 0 || rows_ % (lanes_ * l_.width()) != 0, k, here);
      for (int64_t step = 0; step < here; ++step) {
        for (uint32_t i = 0; i < rows_; ++i) {
          const uint32_t at = i % (lanes_ * l_.width());
          const uint32_t vector = i / (lanes_ * l_.width()) * l_.width() + at % l_.width();
          say("    s = subgroupShuffle(l{}_{}, none + {}u);\n", step, vector, at / l_.width());
          for (uint32_t j = 0; j < r_.count; ++j) say("    c{0}_{1} = fma(s, r{2}_{1}, c{0}_{1});\n", i, j, step);
        }
      }
      say("    }}\n");
    }
    say("    l += {}ul;\n    r += {}ul;\n", count * l_.k * bytes(), count * r_.k * bytes());
  }

  // The vectors of `here` steps from step k of this iteration on. What lies outside is 0.
  void load(const Operand& o, const char* first, bool guarded, int64_t k, int64_t here) {
    for (int64_t step = 0; step < here; ++step) {
      for (uint32_t i = 0; i < o.count; ++i) say("    {} {}{}_{} = {};\n", e_.type, o.name, step, i, e_.zero);
    }
    const bool k_pairs = o.k_pairs && here == 2;
    for (int64_t step = 0; step < here; step += k_pairs ? 2 : 1) {
      for (uint32_t i = 0; i < o.count; i += o.width()) {
        if (guarded) say("    if ({} + {}u < {}u)", first, i * lanes_, o.extent);
        const std::string address =
            fmt::format("({} + {}ul)", o.name, (i * lanes_ * o.along + (k + step) * o.k) * bytes());
        if (k_pairs || o.pairs) {
          say("    {{ const vec2 d = uintBitsToFloat(unpackUint2x32(R64({}).v)); {}{}_{} = d.x; {}{}_{} = d.y; }}\n",
              address, o.name, step, i, o.name, step + (k_pairs ? 1 : 0), i + (k_pairs ? 0 : 1));
        } else {
          say("    {}{}_{} = {};\n", o.name, step, i, e_.at(address));
        }
      }
    }
  }

  template <class Visit>
  void each_of_block(const Visit& visit) {
    for (uint32_t i = 0; i < rows_; ++i) {
      for (uint32_t j = 0; j < r_.count; j += r_.width()) visit(i, j);
    }
  }

  // Says which elements at (i, j) of the block the output has; returns their address.
  std::string place(uint32_t i, uint32_t j, uint32_t columns) {
    std::string inside = f_.m % rows_ == 0 ? "" : fmt::format("row + {}u < {}u", i, f_.m);
    if (f_.n % columns != 0) {
      inside += fmt::format("{}column + {}u < {}u", inside.empty() ? "" : " && ", j * lanes_, f_.n);
    }
    if (!inside.empty()) say("  if ({})", inside);
    return fmt::format("(o + {}ul)", (i * f_.n + j * lanes_) * bytes());
  }

  void take(uint32_t i, uint32_t j, uint32_t columns) {
    const std::string address = place(i, j, columns);
    if (r_.pairs) {
      say("  {{ const vec2 d = uintBitsToFloat(unpackUint2x32(R64({}).v)); c{}_{} = d.x; c{}_{} = d.y; }}\n", address,
          i, j, i, j + 1);
    } else {
      say("  c{}_{} = {};\n", i, j, e_.at(address));
    }
  }

  void store(uint32_t i, uint32_t j, uint32_t columns) {
    const std::string address = place(i, j, columns);
    if (r_.pairs) {
      say("  R64({}).v = packUint2x32(floatBitsToUint(vec2(c{}_{}, c{}_{})));\n", address, i, j, i, j + 1);
    } else {
      say("  {} = c{}_{};\n", e_.at(address), i, j);
    }
  }

  int64_t bytes() const { return static_cast<int64_t>(e_.bytes); }

  const DotForm& f_;
  Module m_;
  MatmulElement e_;
  const uint32_t lanes_;
  uint32_t rows_;
  int64_t unit_ = 1, together_ = 1;  // steps along k for a pair; pairs in one iteration
  Operand l_{}, r_{};
  std::string text_;
};

}  // namespace

Shader matmul_by_subgroup(const DotForm& form, const Choices& choices) { return BySubgroup(form, choices).emit(); }

}  // namespace neap::vk
