// Reductions: a workgroup takes `across` kept elements and gives each of them `along` invocations, which walk over the
// reduced range in steps of `along` and are then combined as a tree in shared memory. The order of combination depends
// on the kernel and the choices alone.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {
namespace {

using backends::Combine;
using backends::Kernel;
using backends::kRangeUnit;
using backends::Launch;
using backends::Reduction;

constexpr int64_t kManyOnCpu = 4096, kMany = 65536;  // invocations that keep a device busy
constexpr int64_t kShort = 32;                       // a range that one invocation walks over

bool is_arg(const Reduction& r) { return r.combine == Combine::argmax || r.combine == Combine::argmin; }

constexpr int64_t kMostCopies = 128;  // of the body in a loop

class Reduce {
 public:
  Reduce(const Launch& launch, const Choices& choices, std::span<const Viewable> viewable)
      : kernel_(launch.kernel),
        choices_(choices),
        partials_(launch.partials),
        kept_(kernel_.extent[0]),
        reduced_(kernel_.extent[1]),
        m_(choices, viewable),
        body_(m_, kernel_, 0) {
    grain_ = (reduced_ + partials_ - 1) / partials_;
    if (partials_ > 1) grain_ = (grain_ + kRangeUnit - 1) / kRangeUnit * kRangeUnit;
    choose_shape();
    // Ranges begin at multiples of 64; the last one ends with the extent.
    together_ = body_.side_by_side(8);
    while (reduced_ % together_ != 0) together_ /= 2;
    together_ = together_ == 1 || !body_.has_runs() ? 1 : body_.side_by_side(together_);
    body_.write(together_);
    // Where the driver ends long loops: several steps in one iteration.
    if (choices_.most_iterations > 0) {
      const int64_t loops = (choices_.most_iterations - turns_of(along_)) / 2, steps = along_ * together_ * loops;
      const int64_t range = std::min(grain_, reduced_);
      if (loops > 0) copies_ = std::max<int64_t>(1, (range + steps - 1) / steps);
      if (loops <= 0 || copies_ > kMostCopies) {
        lacking(kernel_.name, fmt::format("loops of more than {} iterations", choices_.most_iterations));
      }
    }
  }

  Shader emit() {
    const std::string type = body_.index_type();
    const int64_t kept_groups = (kept_ + across_ - 1) / across_, groups = kept_groups * partials_;
    Shader shader;
    shader.local_size = static_cast<uint32_t>(across_ * along_);
    const Grid g = grid(static_cast<uint64_t>(groups), type);
    shader.groups = g.groups;
    std::string text = bases(m_, static_cast<int>(kernel_.buffers.size()));
    text += g.text;
    text += fmt::format("  if (group >= {}) return;\n", body_.number(groups));
    // Neighbours in a workgroup go along what lies side by side in memory.
    const std::string lane = "gl_LocalInvocationID.x";
    if (kernel_.vector_level == 0) {
      text += fmt::format("  const uint x = {0} % {1}u, y = {0} / {1}u;\n", lane, across_);
    } else {
      text += fmt::format("  const uint y = {0} % {1}u, x = {0} / {1}u;\n", lane, along_);
    }
    text += fmt::format("  const {} part = group / {};\n", type, body_.number(kept_groups));
    text += fmt::format("  const {} i0 = (group - part * {}) * {} + x;\n", type, body_.number(kept_groups),
                        body_.number(across_));
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) {
      const Reduction& r = kernel_.reductions[i];
      text += fmt::format("  {} r{} = {};\n", m_.type(r.accumulator), i,
                          literal(m_, identity_bits(r.combine, r.accumulator), r.accumulator));
      if (r.initial >= 0) text += fmt::format("  if (i0 < {}) {}\n", body_.number(kept_), begin(i));
      if (is_arg(r)) text += fmt::format("  uint n{} = 0xffffffffu;\n", i);
    }
    text += body_.text(0);
    text += fmt::format("  if (i0 < {}) {{\n", body_.number(kept_)) + body_.text(1) + walk() + "  }\n";
    if (along_ > 1) text += tree(shader);
    text += fmt::format("  if (i0 < {}{}) {{\n", body_.number(kept_), along_ > 1 ? " && y == 0u" : "");
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) text += "    " + write(i) + "\n";
    text += "  }\n";
    const int64_t walked = std::min(grain_, reduced_) / (along_ * together_ * copies_) + 1;
    const int64_t joined =
        along_ / std::max<uint32_t>(1, choices_.subgroup) + std::bit_width(static_cast<uint64_t>(along_));
    shader.combining = static_cast<uint32_t>(along_);
    shader.iterations = static_cast<uint64_t>(walked * (1 + together_ * copies_ * body_.turns()) + body_.turns() +
                                              static_cast<int64_t>(kernel_.reductions.size()) * joined);
    m_.finish(shader, text);
    return shader;
  }

 private:
  void choose_shape() {
    const auto size = static_cast<int64_t>(choices_.reduce_workgroup);
    const int64_t range = std::min(grain_, reduced_);
    const int64_t most = choices_.most_iterations / 2;
    const bool ends = most == 0 || range + turns_of(1) < most;
    const bool in_order = std::ranges::any_of(kernel_.reductions, [](const Reduction& r) { return r.initial >= 0; });
    const int64_t rows = std::max(kept_, kernel_.whole_rows);  // slices are reduced as the whole is
    if (in_order) {
      along_ = 1;
    } else if (ends && rows * partials_ >= (choices_.cpu ? kManyOnCpu : kMany) &&
               (kernel_.vector_level == 0 || range <= kShort || choices_.cpu)) {
      along_ = 1;
    } else if (kernel_.vector_level == 0) {
      // Enough invocations side by side to read whole cache lines, the rest along the range.
      across_ = std::min({static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))), kShort, size});
      while (most > 0 && across_ > 1 && turns_of(size / across_) > most) across_ /= 2;
      along_ = std::min(size / across_,
                        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(range, 1)))));
    } else {
      along_ =
          std::min(size, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(range / 4, 1)))));
    }
    // Whole workgroups, where there is enough to do.
    const auto wanted = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(kept_)));
    across_ = std::max<int64_t>(1, choices_.one_workgroup ? size / along_ : std::min(size / along_, wanted));
  }

  // Of the loops of functions, in an invocation of so many along the range.
  int64_t turns_of(int64_t along) const { return (std::min(grain_, reduced_) + along - 1) / along * body_.turns(); }

  std::string walk() {
    const std::string type = body_.index_type();
    std::string begin = together_ > 1 ? fmt::format("{}(y) * {}", type, body_.number(together_)) : "y",
                end = body_.number(reduced_);
    if (along_ == 1) begin = body_.number(0);
    std::string text;
    if (partials_ > 1) {
      text += fmt::format("    const {0} begin = part * {1}, end = min({2}, begin + {1});\n", type,
                          body_.number(grain_), end);
      begin = along_ > 1 ? "begin + " + begin : "begin";
      end = "end";
    }
    std::string accumulate;
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) {
      const Reduction& r = kernel_.reductions[i];
      NEAP_CHECK(body_.type(r.value) == r.accumulator, "{}: a {} into a {}", kernel_.name, name(body_.type(r.value)),
                 name(r.accumulator));
      const std::string& value = body_.value(r.value);
      accumulate += is_arg(r) ? take(i, value, "uint(i1)") : assign(i, value);
    }
    const int64_t step = along_ * together_;
    text +=
        fmt::format("    for ({0} k = {1}; k < {2}; k += {3}) {{\n", type, begin, end, body_.number(step * copies_));
    for (int64_t copy = 0; copy < copies_; ++copy) {
      const std::string j = copy == 0 ? "k" : fmt::format("k + {}", body_.number(step * copy));
      const std::string guard = copy == 0 ? "" : fmt::format("if ({} < {}) ", j, end);
      text += fmt::format("    {}{{\n    const {} j = {};\n", guard, type, j) + body_.shared();
      for (int e = 0; e < together_; ++e) {
        text += iteration(body_, e, e == 0 ? "j" : fmt::format("j + {}", body_.number(e)), accumulate);
      }
      text += "    }\n";
    }
    return text + "    }\n";
  }

  std::string assign(size_t i, const std::string& value) {
    const Reduction& r = kernel_.reductions[i];
    const std::string mine = fmt::format("r{}", i);
    const bool real = is_float(r.accumulator) && m_.held(r.accumulator) != Register::pair;
    return fmt::format("    {{ {} {} s = {}; {} = s; }}\n", real ? "precise" : "const", m_.type(r.accumulator),
                       combined(m_, r.combine, r.accumulator, mine, value), mine);
  }

  // Takes (value, index) when it comes before what there is: better, NaN before all, then the smaller index.
  std::string take(size_t i, const std::string& value, const std::string& index) {
    const Reduction& r = kernel_.reductions[i];
    const char* op = r.combine == Combine::argmax ? ">" : "<";
    std::string more = fmt::format("{} {} r{}", value, op, i), same = fmt::format("{} == r{}", value, i);
    if (is_float(r.accumulator)) {
      const std::string mine = fmt::format("r{}", i);
      const std::string nan = is_nan(m_, value, r.accumulator), had = is_nan(m_, mine, r.accumulator);
      more = fmt::format("({0} && !{1}) || ({2} && !{1})", more, had, nan);
      same = fmt::format("({0} || ({1} && {2}))", same, nan, had);
    } else if (r.accumulator == DType::bool_) {
      more = fmt::format("int({}) {} int(r{})", value, op, i);
    }
    return fmt::format("    if ({0} || ({1} && {2} < n{3})) {{ r{3} = {4}; n{3} = {2}; }}\n", more, same, index, i,
                       value);
  }

  // Accumulators of each type have shared memory of their own.
  std::string shared_of(DType type) {
    std::string name = fmt::format("shared_{}", neap::name(type));
    m_.define(name, fmt::format("shared {} {}[{}];\n", type == DType::bool_ ? "uint" : m_.type(type), name,
                                across_ * along_));
    return name;
  }

  // What the device's subgroups combine at once: whole subgroups of one row, in types that all of them have. A maximum
  // of floats is not among them: theirs may drop a NaN.
  const char* subgroup_function(const Reduction& r) const {
    if (choices_.subgroup < 2 || kernel_.vector_level == 0 || along_ < choices_.subgroup || is_arg(r)) return nullptr;
    const Register held = m_.held(r.accumulator);
    const bool real = held == Register::f32 || held == Register::f64;
    if (!real && held != Register::i32 && held != Register::u32) return nullptr;
    switch (r.combine) {
      case Combine::add: return "subgroupAdd";
      case Combine::mul: return "subgroupMul";
      case Combine::max: return real ? nullptr : "subgroupMax";
      case Combine::min: return real ? nullptr : "subgroupMin";
      case Combine::bit_xor: return "subgroupXor";
      default: return nullptr;
    }
  }

  // Each subgroup at once, then its results one after the other.
  std::string by_subgroup(size_t i, const char* function) {
    const Reduction& r = kernel_.reductions[i];
    m_.use("GL_KHR_shader_subgroup_arithmetic");
    const std::string lane = "gl_LocalInvocationID.x";
    std::string text = fmt::format("  r{0} = {1}(r{0});\n", i, function);
    if (along_ == choices_.subgroup) return text;
    const std::string cells = shared_of(r.accumulator);
    text += fmt::format("  if ({0} % {1}u == 0u) {2}[{0} / {1}u] = r{3};\n  barrier();\n", lane, choices_.subgroup,
                        cells, i);
    text += fmt::format("  if (y == 0u) {{\n    for (uint k = 1u; k < {}u; ++k) {{\n", along_ / choices_.subgroup);
    text += fmt::format("    const {} o = {}[{} / {}u + k];\n", m_.type(r.accumulator), cells, lane, choices_.subgroup);
    return text + assign(i, "o") + "    }\n  }\n  barrier();\n";
  }

  std::string tree(Shader& shader) {
    const std::string lane = "gl_LocalInvocationID.x";
    const int64_t step = kernel_.vector_level == 0 ? across_ : 1;  // from y to y + 1
    const std::string other = step == 1 ? fmt::format("{} + apart", lane) : fmt::format("{} + apart * {}u", lane, step);
    std::string text;
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) {
      const Reduction& r = kernel_.reductions[i];
      if (const char* function = subgroup_function(r)) {
        shader.full_subgroups = true;
        text += by_subgroup(i, function);
        continue;
      }
      const bool truth = r.accumulator == DType::bool_;
      const std::string cells = shared_of(r.accumulator),
                        mine = truth ? fmt::format("uint(r{})", i) : fmt::format("r{}", i);
      if (is_arg(r)) m_.define("shared_index", fmt::format("shared uint shared_index[{}];\n", across_ * along_));
      text += fmt::format("  for (uint apart = {}u; apart > 0u; apart >>= 1) {{\n", along_ / 2);
      text += fmt::format("    {}[{}] = {};\n", cells, lane, mine);
      if (is_arg(r)) text += fmt::format("    shared_index[{}] = n{};\n", lane, i);
      text += "    barrier();\n    if (y < apart) {\n";
      text += fmt::format("    const {} o = {}[{}]{};\n", m_.type(r.accumulator), cells, other, truth ? " != 0u" : "");
      if (is_arg(r)) text += fmt::format("    const uint on = shared_index[{}];\n", other);
      text += is_arg(r) ? take(i, "o", "on") : assign(i, "o");
      text += "    }\n    barrier();\n  }\n";
    }
    return text;
  }

  std::string begin(size_t i) {
    const Reduction& r = kernel_.reductions[i];
    const DType index = body_.wide() ? DType::u64 : DType::u32;
    const std::string address = element_address(fmt::format("a{}", r.initial), "i0", index, size_of(r.accumulator));
    return fmt::format("r{} = {};", i, load(m_, address, r.accumulator));
  }

  std::string write(size_t i) {
    const Reduction& r = kernel_.reductions[i];
    const std::string base = fmt::format("a{}", r.buffer), mine = fmt::format("r{}", i);
    const DType index = body_.wide() ? DType::u64 : DType::u32;
    if (!kernel_.finish) {
      const std::string at = fmt::format("(part * {} + i0)", body_.number(kept_));
      return store(m_, element_address(base, at, index, size_of(r.accumulator)), mine, r.accumulator);
    }
    // Nothing was looked at in an empty range: index 0.
    const std::string result = is_arg(r)
                                   ? convert(m_, reduced_ == 0 ? "0u" : fmt::format("n{}", i), DType::u32, r.output)
                                   : convert(m_, mine, r.accumulator, r.output);
    return store(m_, element_address(base, "i0", index, size_of(r.output)), result, r.output);
  }

  const Kernel& kernel_;
  const Choices& choices_;
  const int64_t partials_, kept_, reduced_;
  int64_t grain_ = 0, across_ = 1, along_ = 1;
  int64_t copies_ = 1;
  int together_ = 1;
  Module m_;
  Body body_;
};

}  // namespace

Shader emit_reduce(const Launch& launch, const Choices& choices, std::span<const Viewable> viewable) {
  return Reduce(launch, choices, viewable).emit();
}

}  // namespace neap::vk
