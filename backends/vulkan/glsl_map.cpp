// Element-wise kernels: an invocation computes some elements, the narrow ones side by side so that a word is stored at
// once, the others a workgroup apart so that neighbours in a workgroup are neighbours in memory.
#include <fmt/format.h>

#include <algorithm>

#include "backends/vulkan/glsl_kernel.h"

namespace neap::vk {
namespace {

using backends::Kernel;
using backends::Launch;
using backends::Store;

bool in_words(const Body& body, const Store& s, int fast) {
  const auto stride = body.stride(s.index, fast);
  return stride && *stride == 1 && size_of(body.kernel.buffers[s.buffer].type) < 8;
}

// Elements side by side. A row that they do not divide is cut off at its end, which costs a CPU too much.
int side_by_side(const Body& body, int fast) {
  const auto [rows, columns] = body.kernel.extent;
  const int64_t slow_extent = fast == 1 ? rows : columns, extent = fast == 1 ? columns : rows;
  const bool whole = slow_extent > 1 || body.m.choices.cpu || body.has_runs();
  int count = body.side_by_side(8);
  while (count > 1 && (extent < count || (whole && extent % count != 0))) count /= 2;
  return count == 1 ? 1 : body.side_by_side(count);
}

// The bits of a narrow element in the low end of a uint.
std::string bits_of(Module& m, const std::string& value, DType type) {
  if (size_of(type) == 4) return bitcast(m, value, type, DType::u32);
  if (is_signed(type)) return fmt::format("(uint({}) & 0x{:x}u)", value, size_of(type) == 1 ? 0xff : 0xffff);
  return fmt::format("uint({})", value);
}

class Map {
 public:
  Map(const Launch& launch, const Choices& choices, std::span<const Viewable> viewable)
      : kernel_(launch.kernel),
        choices_(choices),
        fast_(kernel_.vector_level),
        m_(choices, viewable),
        body_(m_, kernel_, 1 - fast_),
        slow_extent_(kernel_.extent[1 - fast_]),
        extent_(kernel_.extent[fast_]),
        packed_(stage_columns() ? 1 : side_by_side(body_, fast_)) {
    body_.write(packed_);
  }

  Shader emit() {
    if (!columns_.empty()) return by_tiles();
    // Units of `packed_` elements.
    const int64_t across = (extent_ + packed_ - 1) / packed_, units = slow_extent_ * across;
    const int64_t repeats = repeats_of(units, packed_, choices_);
    const int64_t group_units = repeats * choices_.workgroup, groups = (units + group_units - 1) / group_units;
    const std::string type = body_.index_type();
    Shader shader;
    shader.local_size = choices_.workgroup;
    std::string text = bases(m_, static_cast<int>(kernel_.buffers.size())) + body_.text(0);
    const Grid g = grid(static_cast<uint64_t>(groups), type);
    shader.groups = g.groups;
    text += g.text;
    text += fmt::format("  if (group >= {}) return;\n", body_.number(groups));
    text += fmt::format("  {} unit = group * {} + gl_LocalInvocationID.x;\n", type, body_.number(group_units));
    if (!choices_.cpu && packed_ == 1 && repeats > 1 && is_short(repeats)) {
      const auto unit = [&](int64_t r) { return fmt::format("unit + {}", body_.number(r * choices_.workgroup)); };
      text += at_once(
          repeats,
          [&](int64_t r) {
            const std::string one = fmt::format("min({}, {})", unit(r), body_.number(units - 1));
            if (slow_extent_ == 1) return fmt::format("    const {} first = {};\n", type, one);
            return fmt::format("    const {0} u = {1}, i{2} = u / {3}, first = u - i{2} * {3};\n", type, one, 1 - fast_,
                               body_.number(across));
          },
          [&](int64_t r) { return fmt::format("{} < {}", unit(r), body_.number(units)); });
      shader.iterations = static_cast<uint64_t>(repeats * (1 + body_.turns()));
      m_.finish(shader, text);
      return shader;
    }
    const bool loops = repeats > 1;
    if (loops) {
      text += fmt::format("  for (int r = 0; r < {}; ++r, unit += {}) {{\n", repeats, body_.number(choices_.workgroup));
    }
    if (units % group_units != 0) text += fmt::format("    if (unit >= {}) {};\n", body_.number(units), "return");
    const std::string row = fmt::format("i{}", 1 - fast_);
    if (slow_extent_ > 1) {
      text += fmt::format("    const {} {} = unit / {};\n", type, row, body_.number(across));
      text += fmt::format("    const {} first = (unit - {} * {}) * {};\n", type, row, body_.number(across),
                          body_.number(packed_));
    } else {
      text += fmt::format("    const {} first = unit * {};\n", type, body_.number(packed_));
    }
    text += body_.text(1) + elements();
    if (loops) text += "  }\n";
    shader.iterations = static_cast<uint64_t>(repeats * (1 + packed_ * body_.turns()));
    m_.finish(shader, text);
    return shader;
  }

 private:
  // A load whose neighbours lie apart, while those of the next row lie beside it, as in a transpose.
  struct Column {
    int32_t load;
    int64_t along, down;  // from an element to the next, and to that of the next row
  };
  static constexpr int64_t kRows = 8, kColumns = 32;
  int64_t tile_rows() const { return kRows * choices_.workgroup / kColumns; }
  int64_t pitch() const { return tile_rows() + 1; }

  // Whether there are some.
  bool stage_columns() {
    if (choices_.cpu || choices_.one_workgroup || choices_.workgroup < kColumns || !is_short(kRows)) return false;
    if (slow_extent_ < kRows || extent_ < kColumns) return false;
    int64_t left = choices_.shared_bytes / 4 * 3;  // bytes
    for (int32_t id = 0; id < kernel_.dag.size(); ++id) {
      const auto& inst = kernel_.dag[id];
      if (inst.op != scalar::Opcode::load || !body_.is_live(id) || inst.type == DType::bool_) continue;
      if (m_.held(inst.type) == Register::pair) continue;
      const auto along = body_.stride(inst.a, fast_), down = body_.stride(inst.a, 1 - fast_);
      if (!along || !down || std::abs(*along) <= 1 || std::abs(*down) != 1) continue;
      const int64_t cells = kColumns * pitch();
      left -= cells * std::max<int64_t>(4, static_cast<int64_t>(size_of(inst.type)));
      if (left < 0) break;
      columns_.push_back({id, *along, *down});
      m_.define(fmt::format("column{}", id), fmt::format("shared {} column{}[{}];\n", m_.type(inst.type), id, cells));
      body_.stage(id,
                  fmt::format("column{}[uint(i{} - column0) * {}u + uint(i{} - row0)]", id, fast_, pitch(), 1 - fast_));
    }
    return !columns_.empty();
  }

  // A workgroup computes a tile of kColumns x tile_rows() elements, an invocation one of each of kRows rows. What lies
  // in columns comes into shared memory first, neighbours reading what lies beside each other.
  Shader by_tiles() {
    const int64_t across = (extent_ + kColumns - 1) / kColumns, down = (slow_extent_ + tile_rows() - 1) / tile_rows();
    const std::string type = body_.index_type(), row = fmt::format("i{}", 1 - fast_);
    Shader shader;
    shader.local_size = choices_.workgroup;
    const Grid g = grid(static_cast<uint64_t>(across * down), type);
    shader.groups = g.groups;
    std::string text = bases(m_, static_cast<int>(kernel_.buffers.size())) + body_.text(0) + g.text;
    text += fmt::format(R"(  if (group >= {0}) return;
  const uint id = gl_LocalInvocationID.x;
  const {1} band = group / {2}, column0 = (group - band * {2}) * {3}, row0 = band * {4};
  const {1} column = column0 + id % {5}u, top = row0 + id / {5}u * {6}u;
)",
                        body_.number(across * down), type, body_.number(across), body_.number(kColumns),
                        body_.number(tile_rows()), kColumns, kRows);
    std::string origins;
    for (const Column& c : columns_) {
      const auto& inst = kernel_.dag[c.load];
      text += fmt::format("  uint64_t origin{};\n", c.load);
      origins += fmt::format("    origin{} = {};\n", c.load, body_.address(static_cast<int>(inst.imm), inst.a));
    }
    text += fmt::format("  {{\n    const {} {} = row0;\n", type, row) + body_.text(1) +
            iteration(body_, 0, "column0", origins) + "  }\n";
    text += fmt::format("  for (uint s = id; s < {}u; s += {}u) {{\n    const uint r = s % {}u, c = s / {}u;\n",
                        kColumns * tile_rows(), choices_.workgroup, tile_rows(), tile_rows());
    text += fmt::format("    if (row0 + r >= {} || column0 + c >= {}) continue;\n", body_.number(slow_extent_),
                        body_.number(extent_));
    for (const Column& c : columns_) {
      const DType element = kernel_.dag[c.load].type;
      const std::string from = fmt::format("(origin{} + uint64_t(int64_t(r) * {}l + int64_t(c) * {}l) * {}ul)", c.load,
                                           c.down, c.along, size_of(element));
      text += fmt::format("    column{}[c * {}u + r] = {};\n", c.load, pitch(), load(m_, from, element));
    }
    text += "  }\n  barrier();\n";
    text += at_once(
        kRows,
        [&](int64_t r) {
          return fmt::format("    const {0} {1} = min(top + {2}, {3}), first = min(column, {4});\n", type, row,
                             body_.number(r), body_.number(slow_extent_ - 1), body_.number(extent_ - 1));
        },
        [&](int64_t r) {
          return fmt::format("top + {} < {} && column < {}", body_.number(r), body_.number(slow_extent_),
                             body_.number(extent_));
        });
    shader.iterations = static_cast<uint64_t>(kRows * (2 + body_.turns()));
    m_.finish(shader, text);
    return shader;
  }

  // Whether a body is short enough to be written out so often.
  bool is_short(int64_t copies) const {
    constexpr int64_t kLongBody = 256;  // instructions of all copies
    return copies * body_.live() <= kLongBody;
  }

  // Elements that are all read and computed before any is stored, so that loads wait for each other's data at once: the
  // compiler cannot know that nothing stored is read. `place` says where copy r is, `inside` whether it is to be
  // stored.
  template <class Place, class Inside>
  std::string at_once(int64_t copies, Place place, Inside inside) {
    std::string declared, text, stores;
    for (int64_t r = 0; r < copies; ++r) {
      std::string taken;
      for (size_t s = 0; s < kernel_.stores.size(); ++s) {
        const Store& store_of = kernel_.stores[s];
        const DType type = kernel_.buffers[store_of.buffer].type;
        const std::string name = fmt::format("{}_{}", s, r);
        declared += fmt::format("  {} v{};\n  uint64_t p{};\n", m_.type(type), name, name);
        taken += fmt::format("    v{0} = {1}; p{0} = {2};\n", name, body_.value(store_of.value),
                             body_.address(store_of.buffer, store_of.index));
        stores += fmt::format("  if ({}) {{ {} }}\n", inside(r), store(m_, "p" + name, "v" + name, type));
      }
      text += "  {\n" + place(r) + body_.text(1) + iteration(body_, 0, "first", taken) + "  }\n";
    }
    return declared + text + stores;
  }

  bool packs(const Store& s) const { return packed_ > 1 && in_words(body_, s, fast_); }
  bool cut() const { return extent_ % packed_ != 0; }  // then the last unit is shorter

  std::string elements() {
    std::string text = body_.shared();
    for (size_t s = 0; s < kernel_.stores.size(); ++s) {
      if (!packs(kernel_.stores[s])) continue;
      text += fmt::format("    uint v{}[{}];\n    uint64_t p{};\n", s, packed_, s);
    }
    for (int e = 0; e < packed_; ++e) {
      std::string index = e == 0 ? "first" : fmt::format("first + {}", body_.number(e));
      // Past the end the last element is computed once more, and not stored.
      if (cut() && e > 0) index = fmt::format("min({}, {})", index, body_.number(extent_ - 1));
      std::string stores;
      for (size_t s = 0; s < kernel_.stores.size(); ++s) stores += store_element(s, e);
      text += iteration(body_, e, index, stores);
    }
    for (size_t s = 0; s < kernel_.stores.size(); ++s) {
      if (packs(kernel_.stores[s])) text += store_words(s);
    }
    return text;
  }

  std::string store_element(size_t number, int e) {
    const Store& s = kernel_.stores[number];
    const DType type = kernel_.buffers[s.buffer].type;
    const std::string& value = body_.value(s.value);
    const std::string address = body_.address(s.buffer, s.index);
    if (packs(s)) {
      const std::string first = e == 0 ? fmt::format("    p{} = {};\n", number, address) : "";
      return first + fmt::format("    v{}[{}] = {};\n", number, e, bits_of(m_, value, type));
    }
    const std::string guard =
        cut() && e > 0 ? fmt::format("if (first + {} < {}) ", body_.number(e), body_.number(extent_)) : "";
    return fmt::format("    {}{{ {} }}\n", guard, store(m_, address, value, type));
  }

  // The elements of a unit, as words where they lie at a word's start; a CPU writes words anywhere.
  std::string store_words(size_t number) {
    const DType type = kernel_.buffers[kernel_.stores[number].buffer].type;
    const auto size = static_cast<int>(size_of(type)), bytes = size * packed_;
    const int word = bytes % 8 == 0 ? 8 : 4;
    const DType plain = size == 1 ? DType::u8 : size == 2 ? DType::u16 : DType::u32;
    std::string words, singles;
    for (int e = 0; e < packed_; ++e) {
      const std::string guard =
          cut() && e > 0 ? fmt::format("if (first + {} < {}) ", body_.number(e), body_.number(extent_)) : "";
      singles += fmt::format(
          "      {}{{ {} }}\n", guard,
          store(m_, fmt::format("(p{} + {}ul)", number, e * size), fmt::format("v{}[{}]", number, e), plain));
    }
    if (bytes % 4 != 0) return singles;
    const auto four = [&](int at) {  // the bytes from `at` on
      std::string text;
      for (int i = 0; i < 4; i += size) {
        const std::string part = fmt::format("v{}[{}]", number, (at + i) / size);
        text += i == 0 ? part : fmt::format(" | ({} << {})", part, 8 * i);
      }
      return text;
    };
    for (int at = 0; at < bytes; at += word) {
      const std::string value =
          word == 4 ? four(at) : fmt::format("packUint2x32(uvec2({}, {}))", four(at), four(at + 4));
      words += fmt::format(
          "      {}\n", store(m_, fmt::format("(p{} + {}ul)", number, at), value, word == 4 ? DType::u32 : DType::u64));
    }
    if (choices_.cpu && !cut()) return words;
    const std::string whole =
        cut() ? fmt::format(" && first + {} < {}", body_.number(packed_ - 1), body_.number(extent_)) : "";
    return fmt::format("    if ((uint(p{}) & {}u) == 0u{}) {{\n{}    }} else {{\n{}    }}\n", number, word - 1, whole,
                       words, singles);
  }

  const Kernel& kernel_;
  const Choices& choices_;
  const int fast_;
  Module m_;
  Body body_;
  const int64_t slow_extent_, extent_;
  std::vector<Column> columns_;
  const int packed_;
};

}  // namespace

Shader emit_map(const Launch& launch, const Choices& choices, std::span<const Viewable> viewable) {
  return Map(launch, choices, viewable).emit();
}

}  // namespace neap::vk
