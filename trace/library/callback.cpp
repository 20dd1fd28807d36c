#include <neap/callback.h>
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include <fmt/format.h>

#include "core/dispatch.h"
#include "trace/graph/host_call.h"
#include "trace/ops/ops_common.h"
#include "trace/tracing/tracing.h"

namespace neap::detail {

using namespace tracing;

namespace {

using Loc = std::source_location;

// As the host's function has it: complex numbers are pairs.
Aval real_aval(const Aval& aval) {
  if (!is_complex(aval.dtype)) return aval;
  Aval pairs{aval.shape, real_dtype(aval.dtype)};
  pairs.shape.push_back(2);
  return pairs;
}

Array as_pairs(const Array& x) { return is_complex(x.dtype()) ? stack({real(x), imag(x)}, -1) : x; }

Array from_pairs(const Array& x, DType dtype) {
  if (!is_complex(dtype)) return x;
  const auto part = [&](int64_t i) { return squeeze(slice_in_dim(x, i, i + 1, -1), -1); };
  return complex(part(0), part(1));
}

// A result, of the words of a call.
Array unpacked(const Array& words, int64_t at, const Aval& aval) {
  const size_t word = size_of(words.dtype()), element = size_of(aval.dtype);
  const auto ratio = static_cast<int64_t>(element / word);
  Shape shape = aval.shape;
  if (ratio > 1) shape.push_back(ratio);
  const Array own = reshape(slice_in_dim(words, at, at + aval.size() * ratio, 0), shape);
  if (aval.dtype == DType::bool_) return not_equal(own, 0);
  return own.dtype() == aval.dtype ? own : bitcast(own, aval.dtype);
}

// Calls f on arrays that lie where the plan has them.
struct Caller {
  std::string op;
  LeafFunction f;
  std::vector<Aval> operands, results;
  Loc loc;

  void operator()(std::span<const std::byte* const> in, std::span<std::byte* const> out) const {
    Arrays arrays;
    std::vector<BufferPtr> buffers;
    for (size_t i = 0; i < operands.size(); ++i) {
      // wrap() takes what may be written; nothing here writes it.
      buffers.push_back(wrap(const_cast<std::byte*>(in[i]), operands[i].bytes(), nullptr));
      arrays.push_back(make_concrete(operands[i], buffers.back()));
    }
    std::exception_ptr failure;
    try {
      const Arrays given = f(arrays);
      check_results(given);
      for (size_t i = 0; i < results.size(); ++i) {
        const std::span<const std::byte> bytes = given[i].raw(loc);
        if (!bytes.empty()) std::memcpy(out[i], bytes.data(), bytes.size());
      }
    } catch (...) {
      failure = std::current_exception();
    }
    arrays.clear();
    for (const BufferPtr& buffer : buffers) {
      if (buffer.use_count() == 1) continue;
      try {
        take_over(*buffer);  // f, or what it threw, keeps an array
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  void check_results(const Arrays& given) const {
    if (given.size() != results.size())
      throw_user<UserError>(op, fmt::format("the function returns {} arrays", given.size()),
                            fmt::format("{}, as its result was said to be", results.size()), "", loc);
    for (size_t i = 0; i < results.size(); ++i) {
      const Aval& aval = aval_of(given[i], loc);
      if (aval == results[i]) continue;
      const std::string got = fmt::format("the function returns {} for array {}", to_string(aval), i);
      if (aval.shape != results[i].shape) throw_user<ShapeError>(op, got, to_string(results[i]), "", loc);
      throw_user<DTypeError>(op, got, to_string(results[i]), fmt::format("astype({})", name(results[i].dtype)), loc);
    }
  }
};

using Number = TextArgument::Number;

// Returns get.operator()<T>() of the type that a number of the dtype is written as.
template <class Get>
Number number_of(DType dtype, const Get& get) {
  if (dtype == DType::c64) return get.template operator()<std::complex<float>>();
  if (dtype == DType::c128) return get.template operator()<std::complex<double>>();
  if (dtype == DType::f64) return get.template operator()<double>();
  if (dtype == DType::bool_) return get.template operator()<bool>();
  if (!is_integer(dtype)) return get.template operator()<float>();
  if (is_signed(dtype)) return get.template operator()<int64_t>();
  return get.template operator()<uint64_t>();
}
Number number_of(const Array& x) {
  return number_of(x.dtype(), [&]<class T>() { return x.item<T>(); });
}

// A text with places for arguments. Numbers of C++ are written into it at once.
struct Format {
  std::string_view op;
  Loc loc;
  std::vector<std::string> texts;  // one more than places
  std::vector<std::string> specs;
  Arrays arrays;  // by place

  Format(std::string_view op, std::string_view text, const std::vector<TextArgument>& arguments, Loc loc)
      : op(op), loc(loc) {
    texts.emplace_back();
    size_t places = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const bool twice = (c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c;
      if (twice) ++i;
      if (twice || (c != '{' && c != '}')) {
        texts.back() += c;
        continue;
      }
      const size_t end = c == '{' ? text.find('}', i) : std::string_view::npos;
      if (end == std::string_view::npos) fail(fmt::format("a single {} in \"{}\"", c, text), "{} or {:format}");
      std::string spec(text.substr(i + 1, end - i - 1));
      if (!spec.empty() && spec[0] != ':') fail(fmt::format("{{{}}}", spec), "{} or {:format}, one for each argument");
      if (places++ < arguments.size()) add(arguments[places - 1], std::move(spec));
      i = end;
    }
    if (places != arguments.size())
      fail(fmt::format("{} arguments for \"{}\"", arguments.size(), text), fmt::format("{}", places));
  }

  std::string operator()(std::span<const Array> values) const {
    std::string text = texts[0];
    for (size_t i = 0; i < specs.size(); ++i)
      text += (values[i].ndim() > 0 ? to_string(values[i]) : formatted(specs[i], number_of(values[i]))) + texts[i + 1];
    return text;
  }

 private:
  [[noreturn]] void fail(std::string got, std::string expected) const {
    throw_user<UserError>(op, std::move(got), std::move(expected), "{{ and }} are braces", loc);
  }

  void add(const TextArgument& argument, std::string spec) {
    if (const Number* number = std::get_if<Number>(&argument.value)) {
      texts.back() += formatted(spec, *number);
      return;
    }
    const Array& x = std::get<Array>(argument.value);
    check_usable(x, op, loc);
    if (spec.size() > 1 && x.ndim() > 0)
      fail(fmt::format("{{{}}} for {}", spec, to_string(x.aval())), "{} for an array that is no scalar");
    if (spec.size() > 1)
      formatted(spec,
                number_of(x.dtype(), []<class T>() { return T(); }));  // an error of the format, before anything runs
    arrays.push_back(x);
    specs.push_back(std::move(spec));
    texts.emplace_back();
  }

  std::string formatted(const std::string& spec, const Number& number) const {
    const std::string format = "{" + spec + "}";
    const auto write = [&](auto value) { return fmt::format(fmt::runtime(format), value); };
    try {
      return std::visit(
          [&]<class T>(T value) {
            if constexpr (ComplexScalar<T>)
              return fmt::format("({}, {})", write(value.real()), write(value.imag()));
            else
              return write(value);
          },
          number);
    } catch (const fmt::format_error& error) {
      const std::string of = std::visit([]<class T>(T) { return std::string(name(dtype_of<T>())); }, number);
      throw_user<UserError>(op, fmt::format("{} for a number of {}: {}", format, of, error.what()),
                            "a format of its dtype, as {:.3f}", "", loc);
    }
  }
};

}  // namespace

std::vector<Array> callback_of(std::string_view op, LeafFunction f, const std::vector<Array>& operands,
                               const std::vector<Aval>& results, bool effect, Loc loc) {
  const AtLine line(loc);
  for (const Array& x : operands) check_usable(x, op, loc);
  if (!effect && results.empty())
    throw_user<UserError>(op, "a function without results", "one or more arrays", "debug::callback is for effects",
                          loc);
  const Caller caller{std::string(op), std::move(f), avals_of(operands, loc), results, user_line(loc)};
  HostFunction function{std::string(op), {}, {}, effect, caller};
  Arrays in;
  for (const Array& x : operands) {
    in.push_back(as_pairs(x));
    function.operands.push_back(in.back().aval());
  }
  for (const Aval& aval : results) function.results.push_back(real_aval(aval));
  const HostFunctionPtr callee = make_host_function(std::move(function));
  const Array given = tracing::apply(Op::host_call, in, {{Attr::callee, callee}, {Attr::batch, Ints{}}}, loc);
  const Packing packing = packing_of(*callee);
  Arrays out;
  for (size_t i = 0; i < results.size(); ++i) {
    const Array x = packing.packed ? unpacked(given, packing.at[i], callee->results[i]) : given;
    out.push_back(from_pairs(x, results[i].dtype));
  }
  return out;
}

void print_of(const TextAt& format, const std::vector<TextArgument>& arguments) {
  static constexpr std::string_view op = "print";
  const AtLine line(format.loc);
  Format text(op, format.text, arguments, user_line(format.loc));
  const Arrays arrays = std::exchange(text.arrays, {});
  const auto write = [text = std::move(text)](const Arrays& in) {
    const std::string out = text(in) + "\n";
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);  // with what the program writes elsewhere, and before it may end
    return Arrays();
  };
  callback_of(op, write, arrays, {}, true, format.loc);
}

void check_of(const Operand& condition, const TextAt& format, const std::vector<TextArgument>& arguments) {
  static constexpr std::string_view op = "check";
  const AtLine line(format.loc);
  const Loc loc = user_line(format.loc);
  const Array flags = condition.as_array();
  check_usable(flags, op, loc);
  if (flags.dtype() != DType::bool_)
    throw_user<DTypeError>(op, to_string(flags.aval()), "a bool array", "compare it, as in x > 0", loc);
  Format text(op, format.text, arguments, loc);
  Arrays arrays = std::exchange(text.arrays, {});
  const auto look = [text = std::move(text), loc](const Arrays& in) {
    if (!in[0].item<bool>()) throw_user<CheckError>(op, text(std::span(in).subspan(1)), "", "", loc);
    return Arrays();
  };
  arrays.insert(arrays.begin(), flags.ndim() == 0 ? flags : all(flags));
  callback_of(op, look, arrays, {}, true, format.loc);
}

}  // namespace neap::detail
