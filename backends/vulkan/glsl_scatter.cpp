// Scatters: an invocation for each update. Updates of the same element meet in atomics; where the last one must stay,
// they run one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/vulkan/glsl_kernel.h"

namespace neap::vk {
namespace {

using backends::Combine;
using backends::Kernel;
using backends::kRangeUnit;
using backends::Launch;
using backends::Scatter;

constexpr int64_t kIterationsAtOnce = 1 << 16;  // turns of a dispatch, where the driver sets no limit

class Updates {
 public:
  Updates(const Launch& launch, const Choices& choices, std::span<const Viewable> viewable)
      : launch_(launch), kernel_(launch.kernel), choices_(choices), m_(choices, viewable), body_(m_, kernel_, 0) {}

  Shader emit() {
    const bool ordered = std::ranges::any_of(
        kernel_.scatters, [](const Scatter& s) { return s.combine == Combine::set && !s.unique_indices; });
    const auto [rows, columns] = kernel_.extent;
    const bool serial = (ordered || launch_.in_order) && rows * columns > 1;
    int together = serial ? 1 : body_.side_by_side(4);
    while (columns % together != 0) together /= 2;
    together = together == 1 ? 1 : body_.side_by_side(together);
    body_.write(together);
    const auto operands = static_cast<int>(kernel_.buffers.size());
    std::string text = bases(m_, operands + (launch_.part0_operand >= 0 ? 1 : 0)) + body_.text(0);
    Shader shader;
    text += serial                ? in_order(shader)
            : has_lanes()         ? by_lanes(shader, together)
            : has_shared_tables() ? by_shared_tables(shader, together)
                                  : parallel(shader, together);
    m_.finish(shader, text);
    return shader;
  }

 private:
  // An invocation for each part. Long ranges are cut into several dispatches: drivers end what runs for long.
  std::string in_order(Shader& shader) {
    const auto [rows, columns] = kernel_.extent;
    const bool by_rows = rows > 1;
    const int64_t extent = by_rows ? rows : columns, own = 1 + body_.turns(), inner = by_rows ? columns * own + 1 : own;
    const int64_t most = choices_.most_iterations > 0 ? choices_.most_iterations / 2 : kIterationsAtOnce;
    if (choices_.most_iterations > 0 && inner >= most) {
      lacking(kernel_.name, fmt::format("loops of more than {} iterations", choices_.most_iterations));
    }
    const int64_t at_once = std::max<int64_t>(1, most / inner);
    shader.local_size = 1;
    shader.groups = {static_cast<uint32_t>(launch_.partials), 1, 1};
    shader.dispatches = static_cast<uint32_t>((grain() + at_once - 1) / at_once);
    shader.iterations = static_cast<uint64_t>(std::min(at_once, grain()) * inner + 1);
    const std::string type = body_.index_type();
    std::string text = fmt::format(
        "  const {0} part_begin = {0}(gl_WorkGroupID.x) * {1};\n"
        "  const {0} begin = part_begin + {0}(turn) * {2};\n"
        "  const {0} end = min(min(begin + {2}, part_begin + {1}), {3});\n",
        type, body_.number(grain()), body_.number(at_once), body_.number(extent));
    const std::string zero = body_.number(0), one = body_.number(1);
    text +=
        fmt::format("  for ({0} i0 = {1}; i0 < {2}; ++i0) {{\n", type, by_rows ? "begin" : zero, by_rows ? "end" : one);
    text += body_.text(1);
    text += fmt::format("  for ({0} j = {1}; j < {2}; ++j) {{\n", type, by_rows ? zero : "begin",
                        by_rows ? body_.number(columns) : "end");
    return text + iteration(body_, 0, "j", updates(/*alone=*/true)) + "  }\n  }\n";
  }

  // Of the rows, or of the columns of a single row: what one part takes.
  int64_t grain() const {
    const int level = kernel_.extent[0] > 1 ? 0 : 1;
    const int64_t own = (kernel_.extent[level] + launch_.partials - 1) / launch_.partials;
    return level == 1 && launch_.partials > 1 ? (own + kRangeUnit - 1) / kRangeUnit * kRangeUnit : own;
  }

  std::string parallel(Shader& shader, int together) {
    shader.local_size = choices_.workgroup;
    const auto [rows, columns] = kernel_.extent;
    const int64_t across = columns / together, count = rows * across;
    const int64_t repeats = repeats_of(count, together, choices_);
    shader.iterations = static_cast<uint64_t>(repeats * (1 + together * body_.turns()));
    const int64_t in_group = repeats * choices_.workgroup, groups = (count + in_group - 1) / in_group;
    const std::string type = body_.index_type();
    const Grid g = grid(static_cast<uint64_t>(groups), type);
    shader.groups = g.groups;
    std::string text = g.text;
    text += fmt::format("  if (group >= {}) return;\n", body_.number(groups));
    text += fmt::format("  {} unit = group * {} + gl_LocalInvocationID.x;\n", type, body_.number(in_group));
    text += fmt::format("  for (int r = 0; r < {}; ++r, unit += {}) {{\n", repeats, body_.number(choices_.workgroup));
    if (count % in_group != 0) text += fmt::format("    if (unit >= {}) return;\n", body_.number(count));
    text += place_of_unit(across, together);
    for (int e = 0; e < together; ++e) {
      text += iteration(body_, e, fmt::format("first + {}", body_.number(e)), updates());
    }
    return text + "  }\n";
  }

  // Few elements get a table in the shared memory of each workgroup, in as many copies as fit: atomics on the same
  // element of the device's memory would wait for each other. 256 copies, one for each invocation, need no atomics.
  // A sum of 0 is not added: an element that none is added to may be -0.
  static constexpr int64_t kSharedBytes = 32 << 10;
  int64_t copies() const {
    const Scatter& s = kernel_.scatters[0];
    const auto bytes = static_cast<int64_t>(size_of(kernel_.buffers[s.buffer].type));
    const int64_t most = kSharedBytes / std::max<int64_t>(1, s.table_elements * bytes);
    return std::min<int64_t>(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))), choices_.workgroup);
  }
  bool has_shared_tables() const {
    constexpr int64_t kWorth = 1 << 14;  // updates
    if (choices_.cpu || choices_.one_workgroup || choices_.shared_bytes < kSharedBytes ||
        kernel_.scatters.size() != 1 || launch_.part0_operand >= 0)
      return false;
    const Scatter& s = kernel_.scatters[0];
    const DType type = kernel_.buffers[s.buffer].type;
    if (s.combine != Combine::add || s.unique_indices || launch_.partials != 1 || m_.held(type) == Register::pair)
      return false;
    if (size_of(type) < 4 || (size_of(type) == 8 && type != DType::f64)) return false;
    if (kernel_.extent[0] * kernel_.extent[1] < kWorth || copies() == 0) return false;
    return copies() == choices_.workgroup || !is_float(type) ||
           (type == DType::f32 ? choices_.shared_add32 : choices_.shared_add64);
  }

  std::string by_shared_tables(Shader& shader, int together) {
    constexpr int64_t kMostGroups = 1024, kLeast = 8;  // workgroups; units of an invocation
    const Scatter& s = kernel_.scatters[0];
    const DType type = kernel_.buffers[s.buffer].type;
    const auto [rows, columns] = kernel_.extent;
    const int64_t across = columns / together, count = rows * across;
    const int64_t in_group = choices_.workgroup,
                  groups = std::clamp<int64_t>(count / (in_group * kLeast), 1, kMostGroups);
    const std::string index = body_.index_type(), held(m_.type(type));
    m_.define("bins", fmt::format("shared {} bins[{}];\n", held, s.table_elements * copies()));
    if (copies() < in_group && is_float(type)) m_.use("GL_EXT_shader_atomic_float");
    shader.local_size = choices_.workgroup;
    shader.iterations = static_cast<uint64_t>((count / (groups * in_group) + 1) * (1 + together * body_.turns()));
    const Grid g = grid(static_cast<uint64_t>(groups), index);
    shader.groups = g.groups;
    std::string text = g.text;
    text += fmt::format(R"(  if (group >= {0}) return;
  const uint id = gl_LocalInvocationID.x, copy = id & {1}u;
  for (uint b = id; b < {2}u; b += {3}u) bins[b] = {4};
  barrier();
  for ({5} unit = group * {6} + id; unit < {7}; unit += {8}) {{
)",
                        body_.number(groups), copies() - 1, s.table_elements * copies(), in_group, literal(m_, 0, type),
                        index, body_.number(in_group), body_.number(count), body_.number(groups * in_group));
    text += place_of_unit(across, together);
    const std::string at = fmt::format("bins[uint({}) * {}u + copy]", body_.value(s.index), copies());
    const std::string add = copies() == in_group ? fmt::format("{} += {};", at, body_.value(s.value))
                                                 : fmt::format("atomicAdd({}, {});", at, body_.value(s.value));
    const std::string update =
        fmt::format("    {}{{ {} }}\n", s.valid >= 0 ? fmt::format("if ({}) ", body_.value(s.valid)) : "", add);
    for (int e = 0; e < together; ++e) {
      text += iteration(body_, e, fmt::format("first + {}", body_.number(e)), update);
    }
    const std::string to = element_address(fmt::format("a{}", s.buffer), "b", DType::u32, size_of(type));
    text += fmt::format(R"(  }}
  barrier();
  for (uint b = id; b < {0}u; b += {1}u) {{
    {2} sum = bins[b * {3}u];
    for (uint c = 1u; c < {3}u; ++c) sum += bins[b * {3}u + c];
    if (sum != {4}) {{ {5} }}
  }}
)",
                        s.table_elements, in_group, held, copies(), literal(m_, 0, type),
                        vk::update(m_, s.combine, type, to, "sum", kernel_.name));
    return text;
  }

  // Row and first column of a unit of `together` columns.
  std::string place_of_unit(int64_t across, int together) {
    const std::string type = body_.index_type();
    std::string text;
    if (kernel_.extent[0] > 1) {
      text = fmt::format("    const {0} i0 = unit / {1};\n    const {0} first = (unit - i0 * {1}) * {2};\n", type,
                         body_.number(across), body_.number(together));
    } else {
      text = fmt::format("    const {} first = unit * {};\n", type, body_.number(together));
    }
    return text + body_.text(1) + body_.shared();
  }

  // Whether a subgroup can count for a part, without atomics: in a table of its own that it reads at once.
  bool has_lanes() {
    if (choices_.texels == 0 || !choices_.size_control || choices_.subgroup < 2) return false;
    if (launch_.partials == 1 || kernel_.extent[0] > 1 || kernel_.scatters.size() != 1) return false;
    const Scatter& s = kernel_.scatters[0];
    const DType type = kernel_.buffers[s.buffer].type;
    if (s.combine != Combine::add || is_float(type) || size_of(type) != 4) return false;
    own_ = m_.view(s.buffer, 1, /*written=*/true);
    if (launch_.part0_operand >= 0) first_ = m_.view(static_cast<int>(kernel_.buffers.size()), 1, /*written=*/true);
    return !own_.empty() && (launch_.part0_operand < 0 || !first_.empty());
  }

  // A subgroup for each part; in each step every lane takes `together` updates.
  std::string by_lanes(Shader& shader, int together) {
    m_.use("GL_KHR_shader_subgroup_shuffle");
    shader.local_size = choices_.subgroup;
    shader.full_subgroups = true;
    shader.groups = {static_cast<uint32_t>(launch_.partials), 1, 1};
    const int64_t units = kernel_.extent[1] / together, in_part = (grain() + together - 1) / together;
    const int64_t steps = (in_part + choices_.subgroup - 1) / choices_.subgroup;
    const int64_t most = choices_.most_iterations > 0 ? choices_.most_iterations / 2 : kIterationsAtOnce;
    const int64_t own = 1 + together * body_.turns();
    const int64_t at_once = std::clamp<int64_t>(most / own, 1, steps) * choices_.subgroup;
    shader.dispatches = static_cast<uint32_t>((in_part + at_once - 1) / at_once);
    shader.iterations = static_cast<uint64_t>((at_once / choices_.subgroup + 2) * own);
    const std::string type = body_.index_type();
    std::string text = fmt::format(
        "  const {0} part = {0}(gl_WorkGroupID.x), part_begin = part * {1};\n"
        "  const {0} begin = part_begin + {0}(turn) * {2};\n"
        "  const {0} end = min(min(begin + {2}, part_begin + {1}), {3});\n",
        type, body_.number(in_part), body_.number(at_once), body_.number(units));
    const auto loop = [&](const std::string& view, const std::string& table) {
      return fmt::format(
                 "  for ({0} base = begin; base < end; base += {1}) {{\n"
                 "    const {0} unit = base + gl_LocalInvocationID.x;\n    const bool inside = unit < end;\n"
                 "    const {0} first = min(unit, end - {2}) * {3};\n",
                 type, body_.number(choices_.subgroup), body_.number(1), body_.number(together)) +
             body_.text(1) + body_.shared() + lanes_updates(together, view, table) + "  }\n";
    };
    if (first_.empty()) return text + loop(own_, "part");
    return text + "  if (part == " + body_.number(0) + ") {\n" + loop(first_, "0u") + "  } else {\n" +
           loop(own_, "(part - " + body_.number(1) + ")") + "  }\n";
  }

  // Every update of an element in this step writes what all of them add up to. All elements are read before any is
  // written, and added last, so that the processor waits for many at once. What the lanes wrote in the last step is
  // seen: they run in step, and the image is coherent.
  std::string lanes_updates(int together, const std::string& view, const std::string& table) {
    const Scatter& s = kernel_.scatters[0];
    const bool splat = kernel_.dag[s.value].op == scalar::Opcode::constant;
    std::string text, sums, stores;
    for (int e = 0; e < together; ++e) text += fmt::format("    uint at{0}, mine{0}, now{0};\n    bool live{0};\n", e);
    for (int e = 0; e < together; ++e) {
      const std::string valid = s.valid >= 0 ? fmt::format(" && {}", body_.value(s.valid)) : "";
      const std::string more = fmt::format(
          "    live{0} = inside{1};\n    mine{0} = uint({2});\n"
          "    at{0} = live{0} ? uint({3}) * {4}u + uint({5}) : 0xffffffffu;\n",
          e, valid, body_.value(s.value), table, s.table_elements, body_.value(s.index));
      text += iteration(body_, e, fmt::format("first + {}", body_.number(e)), more);
      sums += fmt::format("    uint sum{0} = mine{0};\n", e);
      for (int other = 0; other < together; ++other) {
        for (uint32_t apart = other == e ? 1 : 0; apart < choices_.subgroup; ++apart) {
          const auto theirs = [&](const char* name) {
            return apart == 0 ? fmt::format("{}{}", name, other)
                              : fmt::format("subgroupShuffleXor({}{}, {}u)", name, other, apart);
          };
          sums += fmt::format("    sum{0} += {1} == at{0} ? {2} : 0u;\n", e, theirs("at"),
                              splat ? fmt::format("mine{}", e) : theirs("mine"));
        }
      }
      stores += fmt::format("    if (live{0}) imageStore({1}, int(at{0}), uvec4(now{0} + sum{0}));\n", e, view);
    }
    for (int e = 0; e < together; ++e) text += fmt::format("    now{0} = imageLoad({1}, int(at{0})).x;\n", e, view);
    return text + sums + stores;
  }

  // Where the table of the part that this update belongs to lies.
  std::string table(const Scatter& s) {
    const std::string own = fmt::format("a{}", s.buffer);
    if (launch_.partials == 1 && launch_.part0_operand < 0) return own;
    const int level = kernel_.extent[0] > 1 ? 0 : 1;
    const int64_t extent = kernel_.extent[level];
    const std::string part = fmt::format("uint64_t(i{} / {})", level, body_.number(grain()));
    const auto bytes = static_cast<uint64_t>(s.table_elements) * size_of(kernel_.buffers[s.buffer].type);
    if (launch_.partials == 1 || grain() >= extent) {
      return launch_.part0_operand < 0 ? own : fmt::format("a{}", kernel_.buffers.size());
    }
    if (launch_.part0_operand < 0) return fmt::format("({} + {} * {}ul)", own, part, bytes);
    return fmt::format("(i{0} < {1} ? a{2} : {3} + ({4} - 1ul) * {5}ul)", level, body_.number(grain()),
                       kernel_.buffers.size(), own, part, bytes);
  }

  std::string updates(bool alone = false) {
    std::string text;
    for (size_t i = 0; i < kernel_.scatters.size(); ++i) {
      const Scatter& s = kernel_.scatters[i];
      const DType type = kernel_.buffers[s.buffer].type;
      const std::string address =
          element_address(fmt::format("base{}", i), body_.value(s.index), body_.type(s.index), size_of(type));
      const std::string& value = body_.value(s.value);
      text += fmt::format("    {}{{\n    const uint64_t base{} = {};\n    {}\n    }}\n",
                          s.valid >= 0 ? fmt::format("if ({}) ", body_.value(s.valid)) : "", i, table(s),
                          s.combine == Combine::set   ? store(m_, address, value, type)
                          : alone || s.unique_indices ? update_alone(m_, s.combine, type, address, value)
                                                      : update(m_, s.combine, type, address, value, kernel_.name));
    }
    return text;
  }

  const Launch& launch_;
  const Kernel& kernel_;
  const Choices& choices_;
  Module m_;
  Body body_;
  std::string own_, first_;  // texel buffers over the tables, and over that of part 0
};

}  // namespace

Shader emit_scatter(const Launch& launch, const Choices& choices, std::span<const Viewable> viewable) {
  return Updates(launch, choices, viewable).emit();
}

}  // namespace neap::vk
