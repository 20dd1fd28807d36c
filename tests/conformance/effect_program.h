// Makes programs at random that call the host in every way and place: in loops, branches, batches, checkpoints and
// under derivatives. All numbers are whole and small, so that each call sees the same bits however the program runs.
#pragma once

#include <neap/neap.h>

#include "tests/conformance/host_lines.h"

namespace neap::conformance {

/// A function of a vector. It makes its choices anew, and the same, each time that it is traced.
class EffectBlock {
 public:
  /// turns: loops of which no more is known than when they end, which have no way back.
  EffectBlock(uint64_t seed, int depth, bool turns) : seed_(seed), depth_(depth), turns_(turns) {}

  Array operator()(const Array& x) const {
    Random random(seed_);
    Array y = x;
    for (size_t i = 0, n = depth_ == 2 ? 1 + random() % 3 : 1 + random() % 2; i < n; ++i) y = step(y, random);
    return y;
  }

 private:
  static Array small(const Array& x) { return clip(x, -4, 4); }
  static Array line(const std::string& name, const Array& x) {
    say(name + ": " + in_short(x.aval(), x.raw().data()));
    return x;
  }

  Array calls(const Array& x, Random& random) const {
    const std::string name = fmt::format("{:04x}", random() % 0x10000);
    const auto f = [name](const Array& a) { return line(name, a); };
    switch (random() % 4) {
      case 0: debug::print(name + ": {} of {}", x[0], sum(x)); return x;
      case 1: return small(x + pure_callback([](const Array& a) { return a; }, x, stop_gradient(x)));
      case 2: return small(flip(x) - io_callback(f, x, stop_gradient(x)));
      default: debug::callback(f, x); return x;
    }
  }

  Array step(const Array& x, Random& random) const {
    const size_t how = random() % 18;
    if (how < 4 || depth_ == 0) return how < 3 ? calls(x, random) : how % 2 ? small(x * x - 2) : small(x + cumsum(x));
    const EffectBlock f(random(), depth_ - 1, turns_), g(random(), depth_ - 1, turns_);
    const EffectBlock known(random(), depth_ - 1, false);  // to be gone back through
    const auto some = static_cast<int64_t>(1 + random() % 3);
    const bool flag = random() % 2;
    const Array two = stack({x, small(1 - x)});
    const Array count = remainder(abs(sum(x)), 3).astype(i32);
    switch (how) {
      case 4: return small(f(x) + x);
      case 5: {
        const auto [last, rows] = scan(
            [&](const Array& c, const Array& row) { return std::pair(f(small(c + row)), g(row)); }, x, two, {}, flag);
        return small(last - sum(rows, 0));
      }
      case 6: return fori_loop(0, some, [&](const Array&, const Array& c) { return f(c); }, x);
      case 7:
        if (!turns_) return known(x);
        return fori_loop(0, count, [&](const Array&, const Array& c) { return f(c); }, x);
      case 8: {
        if (!turns_) return known(x);
        using State = std::pair<Array, Array>;
        return while_loop([](const State& s) { return s.first < 3; },
                          [&](const State& s) { return State(s.first + 1, f(s.second)); }, State(count, x))
            .second;
      }
      case 9:
      case 10: return cond(x[0] > 0, f, g, x);
      case 11: return switch_(count, std::vector{f, g, known}, x);
      case 12: return small(sum(map(f, two, flag ? std::optional<int64_t>(some) : std::nullopt), 0));
      case 13: return small(sum(vmap(f)(two), 0));
      case 14: return checkpoint(f)(x);
      case 15: {
        const auto [value, tangent] = jvp(f, x, x);
        return small(value + small(tangent));
      }
      case 16: return small(grad([&](const Array& a) { return sum(known(a) * a); })(x));
      default: {
        const auto rule = [name = fmt::format("rule {:04x}", random() % 0x10000)](const Array& a, const Array& t) {
          debug::callback([name](const Array& b) { return line(name, b); }, a);
          return t * 2;
        };
        return custom_jvp(f, rule)(x);
      }
    }
  }

  uint64_t seed_;
  int depth_;
  bool turns_;
};

struct EffectProgram {
  explicit EffectProgram(uint64_t seed) {
    Random random(seed);
    how = random() % 9;
    const bool square = how == 6 || how == 8;  // else now and then large enough for budgets
    const auto n = static_cast<int64_t>(square || random() % 2 ? 1 + random() % 5 : 64);
    const bool batch = how == 1 || how == 2 || how == 7;
    const Array x = random_integers({batch ? Shape{3, n} : Shape{n}, f64}, -4, 4, random);
    block.emplace(random(), 2, how < 3);
    input = x;
  }

  size_t how;
  Array input;
  std::optional<EffectBlock> block;

  /// Whether it says what the function itself does.
  bool derives() const { return how >= 3 && how != 7; }

  Array operator()(const Array& x) const {
    const EffectBlock& f = *block;
    const auto total = [&](const Array& a) { return sum(f(a) * a); };
    switch (how) {
      case 1: return vmap(f)(x);
      case 2: return map(f, x, 2);
      case 3: return grad(total)(x);
      case 4: return grad(checkpoint(total))(x);
      case 5: return jvp(f, x, x + 1).tangent;
      case 6: return hessian(total)(x);
      case 7: return vmap(grad(total))(x);
      case 8: return jacfwd(f)(x);
      default: return f(x);
    }
  }
};

}  // namespace neap::conformance
