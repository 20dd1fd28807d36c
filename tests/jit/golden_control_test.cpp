// What JAX answers for loops and branches: tests/golden/control.json, made by tools/golden_control.py, which has the
// same functions.
#include "tests/jit/golden.h"

namespace neap {
namespace {

using Pair = std::pair<Array, Array>;

Pair newton(const Array& a) {
  return while_loop([&](const Pair& s) { return (abs(s.first * s.first - a) > 1e-5f * a) & (s.second < 50); },
                    [&](const Pair& s) { return Pair(0.5f * (s.first + a / s.first), s.second + 1); },
                    Pair(a, array(0)));
}

Array collatz(const Array& n) {
  return while_loop([](const Pair& s) { return s.first != 1; },
                    [](const Pair& s) {
                      return Pair(where(s.first % 2 == 0, floor_divide(s.first, 2), s.first * 3 + 1), s.second + 1);
                    },
                    Pair(n, array(0)))
      .second;
}

Array shrink(const Array& x) {
  return while_loop([](const Array& c) { return sum(c * c) > 0.5f; }, [](const Array& c) { return 0.75f * sin(c); }, x);
}

Array chosen(const Array& x) {
  return cond(
      sum(x) > 0, [](const Array& y) { return sum(y * y * y); }, [](const Array& y) { return sum(sin(y) * y); }, x);
}

Array picked(const Array& i, const Array& x) {
  return switch_(i,
                 std::tuple{[](const Array& y) { return y + 1; }, [](const Array& y) { return y * y; },
                            [](const Array& y) { return -2 * y; }},
                 x);
}

Pair nested(const Array& x, const Array& rows) {
  const auto turn = [](const Array& c) {
    return cond(c[{0}] > 0, [](const Array& a) { return a * 0.5f; }, [](const Array& a) { return cos(a) * 0.25f; }, c);
  };
  const auto step = [&](const Array& c, const Array& row) {
    const Array next = while_loop([](const Array& a) { return max(abs(a)) > 1; }, turn, c + row);
    return Pair(next, sum(next));
  };
  return scan(step, x, rows);
}

Array power(const Array& x, const Array& n) {
  return fori_loop(0, n, [&](const Array& i, const Array& c) { return c * x + i; }, ones_like(x));
}

Arrays both(const auto& pair) { return tree_leaves(pair); }

TEST(GoldenControl, AnswersWhatJaxAnswers) {
  const json golden = read_golden("control.json");
  std::map<std::string, Array> in = inputs_of(golden);
  const Array x = in["x"], t = in["t"], rows = in["rows"];
  Calls calls;
  calls["newton"] = [&] { return both(newton(in["positive"][{1}])); };
  calls["newton vmap"] = [&] { return both(vmap(newton)(in["positive"])); };
  calls["collatz vmap"] = [&] { return Arrays{vmap(collatz)(in["counts"])}; };
  calls["while"] = [&] { return Arrays{shrink(x)}; };
  calls["while jvp"] = [&] { return both(jvp(shrink, std::tuple{x}, std::tuple{t})); };
  calls["while jacfwd"] = [&] { return Arrays{jacfwd(shrink)(x)}; };
  calls["while vmap jvp"] = [&] {
    return both(vmap([&](const Array& r) { return jvp(shrink, std::tuple{r}, std::tuple{t}); })(rows));
  };
  calls["cond"] = [&] { return Arrays{chosen(x), chosen(-x)}; };
  calls["cond grad"] = [&] { return Arrays{grad(chosen)(x), grad(chosen)(-x)}; };
  calls["cond hessian"] = [&] { return Arrays{hessian(chosen)(x), hessian(chosen)(-x)}; };
  calls["cond vmap grad"] = [&] { return Arrays{vmap(grad(chosen))(rows)}; };
  calls["cond flags"] = [&] {
    const auto f = [](const Array& p, const Array& row) {
      return cond(p, [](const Array& y) { return exp(y); }, [](const Array& y) { return tanh(y); }, row);
    };
    return Arrays{vmap(f)(in["flags"], rows)};
  };
  calls["switch"] = [&] { return Arrays{vmap(picked, {.in_axes = {0, none}})(in["indices"], x)}; };
  calls["switch jacrev"] = [&] {
    Arrays all;
    for (const int k : {-1, 1, 5}) all.push_back(jacrev<1>(picked)(array(k), x));
    return all;
  };
  calls["nested"] = [&] { return both(nested(x, rows)); };
  calls["nested jvp"] = [&] { return both(jvp(nested, std::tuple{x, rows}, std::tuple{t, rows})); };
  calls["fori dynamic"] = [&] { return Arrays{power(x, array(0)), power(x, array(3))}; };
  calls["fori dynamic jvp"] = [&] {
    return both(jvp([](const Array& y) { return power(y, array(4)); }, std::tuple{x}, std::tuple{t}));
  };
  expect_answers(golden, calls);
}

}  // namespace
}  // namespace neap
