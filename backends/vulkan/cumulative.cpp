// cumsum and its kin as GLSL shaders (planner/kernels/cumulative.h). An invocation walks over a block of a row; where a
// row has several, over each twice: for its total, and again to add what those before it give.
#include <fmt/format.h>

#include "backends/vulkan/glsl_kernel.h"
#include "planner/kernels/cumulative.h"

namespace neap::vk {
namespace {

using backends::Combine;
using planner::Cumulation;
using planner::CumulativeForm;

class Cumulate {
 public:
  Cumulate(const CumulativeForm& form, const Choices& choices)
      : form_(form),
        choices_(choices),
        accumulator_(planner::cumulative_accumulator(form)),
        block_(planner::cumulative_block(form)),
        blocks_((form.length + block_ - 1) / block_) {}

  std::vector<OpaqueDispatch> dispatches() const {
    constexpr int kIn = 0, kOut = 1, kTotals = 2;
    if (blocks_ == 1) return {{walk(true), {kIn, kOut}, {kOut}}};
    return {{walk(false), {kIn, kTotals}, {kTotals}},
            {totals_before(), {kTotals}, {kTotals}},
            {walk(true), {kIn, kOut, kTotals}, {kOut}}};
  }

 private:
  // Operands: in, out where it writes, totals where there are several blocks.
  Shader walk(bool writes) const {
    Module m(choices_);
    const std::string totals = writes ? "a2" : "a1", total = element(totals, "id");
    const bool joins = writes && blocks_ > 1;  // what the blocks before give
    const size_t bytes = size_of(form_.dtype);
    std::string text = fmt::format(
        R"(  const uint64_t c = id % {0}ul, b = id / {0}ul % {1}ul, o = id / {0}ul / {1}ul;
  const uint64_t begin = b * {2}ul, end = min(begin + {2}ul, {3}ul);
  {4} sum = {5};
{9}  for (uint64_t n = begin; n < end; ++n) {{
    const uint64_t i = (o * {3}ul + {6}) * {0}ul + c;
    const {4} x = {7};
    sum = {8};
)",
        form_.inner, blocks_, block_, form_.length, m.type(accumulator_), first(m),
        form_.reverse ? fmt::format("({}ul - n)", form_.length - 1) : "n",
        convert(m, load(m, element_address("a0", "i", DType::u64, bytes), form_.dtype), form_.dtype, accumulator_),
        joined(m, "x"),
        joins ? fmt::format("  const {} before = {};\n", m.type(accumulator_), load(m, total, accumulator_)) : "");
    if (writes) {
      text += fmt::format("    const {} whole = {};\n", m.type(accumulator_),
                          joins ? combined(m, combine(), accumulator_, "before", "sum") : "sum");
      text += "    " +
              store(m, element_address("a1", "i", DType::u64, bytes), convert(m, "whole", accumulator_, form_.dtype),
                    form_.dtype) +
              "\n";
    }
    text += "  }\n";
    if (!writes) text += "  " + store(m, total, "sum", accumulator_) + "\n";
    return finish(m, form_.outer * blocks_ * form_.inner, (writes ? 2 : 1) + (blocks_ > 1 ? 1 : 0), block_, text);
  }

  // Operand: totals.
  Shader totals_before() const {
    Module m(choices_);
    const std::string total = element("a0", "i");
    const std::string text = fmt::format(
        R"(  const uint64_t c = id % {0}ul, o = id / {0}ul;
  {1} sum = {2};
  for (uint64_t b = 0ul; b < {3}ul; ++b) {{
    const uint64_t i = (o * {3}ul + b) * {0}ul + c;
    const {1} x = {4};
    {5}
    sum = {6};
  }}
)",
        form_.inner, m.type(accumulator_), first(m), blocks_, load(m, total, accumulator_),
        store(m, total, "sum", accumulator_), joined(m, "x"));
    return finish(m, form_.outer * form_.inner, 1, blocks_, text);
  }

  Shader finish(Module& m, int64_t invocations, int operands, int64_t iterations, const std::string& text) const {
    const auto count = static_cast<uint64_t>(invocations);
    const Grid g = grid((count + choices_.workgroup - 1) / choices_.workgroup, "uint64_t");
    Shader shader;
    shader.local_size = choices_.workgroup;
    shader.groups = g.groups;
    shader.iterations = static_cast<uint64_t>(iterations);
    m.finish(shader, bases(m, operands) + g.text +
                         fmt::format("  const uint64_t id = group * {}ul + gl_LocalInvocationIndex;\n"
                                     "  if (id >= {}ul) return;\n",
                                     choices_.workgroup, count) +
                         text);
    return shader;
  }

  std::string element(const std::string& base, const std::string& index) const {
    return element_address(base, index, DType::u64, size_of(accumulator_));
  }

  Combine combine() const {
    switch (form_.kind) {
      case Cumulation::sum: return Combine::add;
      case Cumulation::prod: return Combine::mul;
      case Cumulation::max: return Combine::max;
      case Cumulation::min: break;
    }
    return Combine::min;
  }
  std::string joined(Module& m, const std::string& x) const { return combined(m, combine(), accumulator_, "sum", x); }
  // Nothing but -0 added to -0 is -0.
  std::string first(Module& m) const {
    const bool adds = form_.kind == Cumulation::sum && is_float(form_.dtype);
    return literal(m, adds ? uint64_t{1} << 63 : identity_bits(combine(), accumulator_), accumulator_);
  }

  const CumulativeForm& form_;
  const Choices& choices_;
  const DType accumulator_;
  const int64_t block_, blocks_;
};

}  // namespace

std::vector<OpaqueDispatch> cumulative_dispatches(const CumulativeForm& form, const Choices& choices) {
  if (form.size() == 0) return {};
  return Cumulate(form, choices).dispatches();
}

}  // namespace neap::vk
