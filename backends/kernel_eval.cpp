#include "backends/kernel_eval.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/check.h"
#include "core/dispatch.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::backends {
namespace {

using scalar::Inst;
using scalar::Opcode;
using Operands = std::vector<std::span<std::byte>>;

constexpr int64_t kLanes = 256;  // elements of which an instruction is evaluated at a time; any number gives the same

uint64_t read(std::span<std::byte> buffer, int64_t at, DType type) {
  const auto size = static_cast<int64_t>(size_of(type));
  NEAP_CHECK(at >= 0 && (at + 1) * size <= static_cast<int64_t>(buffer.size()), "element {} of {} bytes of {}", at,
             buffer.size(), name(type));
  uint64_t bits = 0;
  std::memcpy(&bits, buffer.data() + at * size, size);
  return bits;
}

void write(std::span<std::byte> buffer, int64_t at, DType type, uint64_t bits) {
  read(buffer, at, type);  // checks
  std::memcpy(buffer.data() + at * static_cast<int64_t>(size_of(type)), &bits, size_of(type));
}

uint64_t convert(uint64_t bits, DType from, DType to) {
  if (from == to) return bits;
  uint64_t out = 0;
  scalar::evaluate({.op = Opcode::convert, .type = to}, from, &bits, nullptr, nullptr, {&out, 1});
  return out;
}

uint64_t apply(Opcode op, DType type, uint64_t a, uint64_t b) {
  uint64_t out = 0;
  const bool compare = op == Opcode::lt || op == Opcode::eq;
  scalar::evaluate({.op = op, .type = compare ? bool_ : type}, type, &a, &b, nullptr, {&out, 1});
  return out;
}

bool is_nan(DType type, uint64_t a) { return !apply(Opcode::eq, type, a, a); }

// Whether `b` takes the place of `a` in a max or min: it is better, or the first NaN.
bool replaces(Combine combine, DType type, uint64_t a, uint64_t b) {
  if (is_float(type) && is_nan(type, a)) return false;
  if (is_float(type) && is_nan(type, b)) return true;
  const bool larger = combine == Combine::max || combine == Combine::argmax;
  return larger ? apply(Opcode::lt, type, a, b) : apply(Opcode::lt, type, b, a);
}

uint64_t combined(Combine combine, DType type, uint64_t a, uint64_t b) {
  if (type == f16 || type == bf16) {
    return convert(combined(combine, f32, convert(a, type, f32), convert(b, type, f32)), f32, type);
  }
  switch (combine) {
    case Combine::set: return b;
    case Combine::add: return apply(Opcode::add, type, a, b);
    case Combine::mul: return apply(Opcode::mul, type, a, b);
    case Combine::any: return a | b;
    case Combine::all: return a & b;
    case Combine::bit_xor: return a ^ b;
    default: return replaces(combine, type, a, b) ? b : a;
  }
}

uint64_t identity(Combine combine, DType type) {
  return dispatch(type, [&]<class T>() -> uint64_t {
    auto bits = [](auto value) {
      uint64_t out = 0;
      std::memcpy(&out, &value, sizeof(value));
      return out;
    };
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      NEAP_CHECK(false, "accumulator of {}", name(type));
      return 0;
    } else {
      using Limits = std::numeric_limits<T>;
      constexpr bool kReal = std::is_floating_point_v<T>;
      switch (combine) {
        case Combine::mul:
        case Combine::all: return bits(T(1));
        case Combine::max:
        case Combine::argmax: return bits(kReal ? -Limits::infinity() : Limits::lowest());
        case Combine::min:
        case Combine::argmin: return bits(kReal ? Limits::infinity() : Limits::max());
        default: return bits(T(0));
      }
    }
  });
}

// The lanes [first, first + lanes) of the iterations of rows [.., ..) x columns [begin1, begin1 + width).
struct Batch {
  int64_t begin0, begin1, width, first;
  int lanes;
  int64_t index(int level, int lane) const {
    const int64_t i = first + lane;
    return level == 0 ? begin0 + i / width : begin1 + i % width;
  }
};

class Runner {
 public:
  Runner(const Kernel& kernel, Operands buffers, int part)
      : kernel_(kernel), buffers_(std::move(buffers)), part_(part) {}

  void run(int64_t begin0, int64_t end0, int64_t begin1, int64_t end1) {
    if (kernel_.kind == Kernel::Kind::reduce) {
      for (int64_t i = begin0; i < end0; ++i) reduce(i, begin1, end1);
      return;
    }
    const int64_t total = (end0 - begin0) * (end1 - begin1), most = kernel_.carried.empty() ? kLanes : 1;
    for (int64_t first = 0; first < total; first += most) {
      const Batch batch{begin0, begin1, end1 - begin1, first, static_cast<int>(std::min(most, total - first))};
      if (kernel_.kind == Kernel::Kind::map) {
        map(batch);
      } else {
        scatter(batch);
      }
    }
  }

 private:
  std::vector<std::vector<uint64_t>> lanes(const std::vector<int32_t>& roots, const Batch& batch) {
    return scalar::evaluate(kernel_.dag, roots, batch.lanes,
                            [&](const Inst& inst, const uint64_t* index, std::span<uint64_t> out) {
                              for (size_t i = 0; i < out.size(); ++i)
                                out[i] = leaf(inst, index ? index[i] : 0, batch, i);
                            });
  }

  uint64_t leaf(const Inst& inst, uint64_t index, const Batch& batch, size_t lane) {
    if (inst.op == Opcode::load) {
      return read(buffers_[inst.imm], element(index, kernel_.dag[inst.a].type), inst.type);
    }
    NEAP_CHECK(inst.op == Opcode::index, "a kernel without parameters");
    const int64_t i = batch.index(static_cast<int>(inst.imm), static_cast<int>(lane));
    return convert(static_cast<uint64_t>(i), i64, inst.type);
  }

  static int64_t element(uint64_t bits, DType type) { return static_cast<int64_t>(convert(bits, type, i64)); }
  DType type(int32_t id) const { return kernel_.dag[id].type; }

  void map(const Batch& batch) {
    std::vector<int32_t> roots;
    for (const Store& s : kernel_.stores) roots.insert(roots.end(), {s.index, s.value});
    const auto values = lanes(roots, batch);
    for (size_t s = 0; s < kernel_.stores.size(); ++s) {
      const Store& store = kernel_.stores[s];
      for (int i = 0; i < batch.lanes; ++i) {
        write(buffers_[store.buffer], element(values[2 * s][i], type(store.index)), type(store.value),
              values[2 * s + 1][i]);
      }
    }
  }

  void scatter(const Batch& batch) {
    for (const Scatter& s : kernel_.scatters) {
      std::vector<int32_t> roots{s.index, s.value};
      if (s.valid >= 0) roots.push_back(s.valid);
      const auto values = lanes(roots, batch);
      for (int i = 0; i < batch.lanes; ++i) {
        if (s.valid >= 0 && !values[2][i]) continue;
        const int64_t index = element(values[0][i], type(s.index));
        NEAP_CHECK(index >= 0 && index < s.table_elements, "element {} of a table of {}", index, s.table_elements);
        const int64_t at = part_ * s.table_elements + index;
        const uint64_t old = read(buffers_[s.buffer], at, type(s.value));
        write(buffers_[s.buffer], at, type(s.value), combined(s.combine, type(s.value), old, values[1][i]));
      }
    }
  }

  void reduce(int64_t kept, int64_t begin1, int64_t end1) {
    for (const Reduction& r : kernel_.reductions) {
      NEAP_CHECK(type(r.value) == r.accumulator);
      uint64_t total =
          r.initial < 0 ? identity(r.combine, r.accumulator) : read(buffers_[r.initial], kept, r.accumulator);
      int64_t best = begin1;
      const bool is_arg = r.combine == Combine::argmax || r.combine == Combine::argmin;
      for (int64_t first = begin1; first < end1; first += kLanes) {
        const Batch batch{kept, first, end1 - begin1, 0, static_cast<int>(std::min(kLanes, end1 - first))};
        const auto values = lanes({r.value}, batch);
        for (int i = 0; i < batch.lanes; ++i) {
          const uint64_t value = values[0][i];
          if (is_arg && (first + i == begin1 || replaces(r.combine, r.accumulator, total, value))) {
            total = value;
            best = first + i;
          } else if (!is_arg) {
            total = combined(r.combine, r.accumulator, total, value);
          }
        }
      }
      if (!kernel_.finish) {
        write(buffers_[r.buffer], part_ * kernel_.extent[0] + kept, r.accumulator, total);
      } else {
        const uint64_t result = is_arg ? static_cast<uint64_t>(best) : convert(total, r.accumulator, r.output);
        write(buffers_[r.buffer], kept, r.output, result);
      }
    }
  }

  const Kernel& kernel_;
  Operands buffers_;
  int64_t part_;
};

void run(const Launch& launch, std::span<const std::span<std::byte>> operands) {
  const Kernel& kernel = launch.kernel;
  for (int i : launch.zero_fill) std::ranges::fill(operands[i], std::byte{0});
  const auto [rows, columns] = kernel.extent;
  // A scatter's parts are ranges of rows, where there are any.
  const bool split_rows = kernel.kind == Kernel::Kind::scatter && rows > 1;
  const int64_t extent = split_rows ? rows : columns;
  for (int p = 0; p < launch.partials; ++p) {
    Operands buffers;
    for (int i : launch.operands) buffers.push_back(operands[i]);
    int table = p;
    if (launch.part0_operand >= 0) {
      table = std::max(p - 1, 0);
      if (p == 0) {
        for (const Scatter& s : kernel.scatters) buffers[s.buffer] = operands[launch.part0_operand];
      }
    }
    const int64_t begin = extent * p / launch.partials, end = extent * (p + 1) / launch.partials;
    Runner runner(kernel, std::move(buffers), table);
    if (split_rows) {
      runner.run(begin, end, 0, columns);
    } else {
      runner.run(0, rows, begin, end);
    }
  }
}

}  // namespace

void evaluate(std::span<const Launch> launches, std::span<const std::span<std::byte>> operands) {
  for (const Launch& launch : launches) run(launch, operands);
}

}  // namespace neap::backends
