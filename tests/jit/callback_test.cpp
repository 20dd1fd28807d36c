// Functions of the program in compiled code: what they see, how often they are called and in which order, and what
// becomes of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/callback.h>
#include <neap/neap.h>

#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "tests/message.h"

namespace neap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// What f prints.
template <class F>
std::string printed(const F& f) {
  testing::internal::CaptureStdout();
  f();
  return testing::internal::GetCapturedStdout();
}

template <class F>
std::string complaint(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

std::vector<float> seen;
void see(const Array& x) { seen.push_back(x.item<float>()); }

struct Point {
  Array x, y;
};

class Callback : public testing::Test {
 protected:
  void SetUp() override { seen.clear(); }
};
using Check = Callback;
using Print = Callback;

TEST_F(Print, WritesScalarsAndArrays) {
  const auto f = jit([](const Array& x, const Array& n) {
    debug::print("x {} of {:03}, {{{:.2f}}} {}", x, n, sum(x), 7);
    return x * 2;
  });
  EXPECT_EQ(printed([&] { f(array({1.0f, 2.5f}), array(5)); }),
            "x " + to_string(array({1.0f, 2.5f})) + " of 005, {3.50} 7\n");
  EXPECT_EQ(printed([&] { debug::print("eager {:>6}", array(true)); }), "eager   true\n");
  EXPECT_EQ(printed([&] { debug::print("{} {} {}", array(0.1f), 0.1, array(false)); }), "0.1 0.1 false\n");
  EXPECT_EQ(printed([&] { debug::print("{:.1f}", array(std::complex<float>(1, -2))); }), "(1.0, -2.0)\n");
}

// They are not rounded to the dtype that an array of them would have.
TEST_F(Print, WritesNumbersOfTheProgramAsTheyAre) {
  const auto f = jit([](const Array& x) {
    debug::print("{} {} {} {}", int64_t{1} << 40, 16777217.0, std::numeric_limits<uint64_t>::max(), x);
    debug::print("{} {:.3f} {:>5} {}", 0.1, 1.0f / 3, true, std::complex<double>(0.1, -1));
    debug::print("{:x} {} {}", 255, float16(0.5f), uint8_t{200});
    check(x > 0, "{} of {}", x, int64_t{1} << 40);
    return x;
  });
  EXPECT_EQ(printed([&] { f(array(0.1f)); }),
            "1099511627776 16777217 18446744073709551615 0.1\n0.1 0.333  true (0.1, -1)\nff 0.5 200\n");
  printed([&] { EXPECT_THAT(complaint([&] { f(array(-0.1f)); }), HasSubstr("-0.1 of 1099511627776")); });
  EXPECT_THAT(complaint([] { debug::print("{:.2f}", 7); }), AllOf(HasSubstr("i64"), HasSubstr("callback_test.cpp")));
}

TEST_F(Print, RefusesFormatsWhereTheyAreWritten) {
  const Array x = array({1.0f, 2.0f});
  EXPECT_THAT(complaint([&] { debug::print("{} {}", x); }), AllOf(HasSubstr("1 arguments"), HasSubstr("2")));
  EXPECT_THAT(complaint([&] { debug::print("{:.2f}", x); }), HasSubstr("no scalar"));
  EXPECT_THAT(complaint([&] { debug::print("{:d}", sum(x)); }), HasSubstr("callback_test.cpp"));
  EXPECT_THAT(complaint([&] { debug::print("{", x); }), HasSubstr("a single {"));
  EXPECT_THAT(complaint([&] { debug::print("}", x); }), HasSubstr("a single }"));
  EXPECT_THAT(complaint([&] { debug::print("{x}", x); }), HasSubstr("{x}"));
}

TEST_F(Callback, IsCalledWhereverItsLineIs) {
  const auto f = [](const Array& x) {
    debug::callback(see, x);
    const Array y = fori_loop(
        0, 3,
        [](const Array& i, const Array& c) {
          debug::callback(see, c);
          return c + convert(i, f32);
        },
        x);
    debug::callback(see, y * 100);
    return y;
  };
  EXPECT_EQ(f(array(1.0f)).item<float>(), 4);
  const std::vector<float> eager = seen;
  EXPECT_THAT(eager, ElementsAre(1, 1, 1, 2, 400));
  const auto compiled = jit(f);
  for (int i = 0; i < 2; ++i) {
    seen.clear();
    EXPECT_EQ(compiled(array(1.0f)).item<float>(), 4);
    EXPECT_EQ(seen, eager);
  }
  JitOptions naive;
  naive.pipeline = Pipeline::naive;
  seen.clear();
  jit(f, naive)(array(1.0f));
  EXPECT_EQ(seen, eager);
  seen.clear();
  {
    const eager_reference reference;
    f(array(1.0f));
  }
  EXPECT_EQ(seen, eager);
}

TEST_F(Callback, InBranchesAndLoopsWithoutResults) {
  const auto f = jit([](const Array& x) {
    cond(
        x > 0,
        [](const Array& a) {
          debug::callback(see, a);
          return std::tuple<>();
        },
        [](const Array& a) {
          debug::callback(see, a * 10);
          return std::tuple<>();
        },
        x);
    switch_(convert(x, i32),
            std::tuple(
                [](const Array& a) {
                  debug::callback(see, a + 100);
                  return std::tuple<>();
                },
                [](const Array& a) {
                  debug::callback(see, a + 200);
                  return std::tuple<>();
                }),
            x);
    scan(
        [](const std::tuple<>& c, const Array& a) {
          debug::callback(see, a);
          return std::pair(c, std::tuple<>());
        },
        std::tuple<>(), stack({x, x + 1}));
    return while_loop([](const Array& c) { return c < 3; },
                      [](const Array& c) {
                        debug::callback(see, c);
                        return c + 1;
                      },
                      x);
  });
  f(array(1.0f));
  EXPECT_THAT(seen, ElementsAre(1, 201, 1, 2, 1, 2));
  seen.clear();
  f(array(-1.0f));
  EXPECT_THAT(seen, ElementsAre(-10, 99, -1, 0, -1, 0, 1, 2));
}

TEST_F(Callback, IsCalledForEachExample) {
  const auto f = [](const Array& x, const Array& y) {
    debug::callback([](const Array& a, const Array& b) { seen.push_back(a.item<float>() * b.item<float>()); }, x, y);
    return x + y;
  };
  jit(vmap(f, {.in_axes = {0, none}}))(array({1.0f, 2.0f, 3.0f}), array(10.0f));
  EXPECT_THAT(seen, ElementsAre(10, 20, 30));
  seen.clear();
  jit(vmap(vmap(f, {.in_axes = {0, none}}), {.in_axes = {none, 0}}))(array({1.0f, 2.0f}), array({1.0f, 10.0f}));
  EXPECT_THAT(seen, ElementsAre(1, 2, 10, 20));
}

// Where no argument differs between them it is one call for all.
TEST_F(Callback, IsCalledOnceForWhatAllExamplesShare) {
  int draws = 0;
  const auto f = [&](const Array& x) {
    debug::callback(see, array(7.0f));
    const Array shared = io_callback([&](const Array&) { return array(static_cast<float>(draws++)); }, x, array(0.0f));
    return cond(
        x > 1,
        [&](const Array& a) {
          debug::callback(see, array(8.0f));
          return a + shared;
        },
        [&](const Array& a) { return a - shared; }, x);
  };
  const Array y = jit(vmap(f))(array({1.0f, 2.0f, 3.0f}));
  EXPECT_THAT(seen, ElementsAre(7, 8, 8));
  EXPECT_EQ(draws, 1);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(1, 2, 3));
}

// Examples that do not take a branch, or have left a loop, are not seen.
TEST_F(Callback, IsCalledForExamplesThatComeByOnly) {
  const auto branch = [](const Array& x) {
    return cond(
        x > 0,
        [](const Array& a) {
          debug::callback(see, a);
          return a;
        },
        [](const Array& a) {
          return fori_loop(
              0, 2,
              [](const Array&, const Array& c) {
                debug::callback(see, c * 10);
                return c;
              },
              a);
        },
        x);
  };
  const Array x = array({1.0f, -2.0f, 3.0f});
  jit(vmap(branch))(x);
  EXPECT_THAT(seen, ElementsAre(1, 3, -20, -20));
  seen.clear();
  const auto loop = [](const Array& from) {
    return while_loop([](const Array& c) { return c < 3; },
                      [](const Array& c) {
                        debug::callback(see, c);
                        return c + 1;
                      },
                      from);
  };
  jit(vmap(loop))(array({1.0f, 5.0f, 2.0f}));
  EXPECT_THAT(seen, ElementsAre(1, 2, 2));
  seen.clear();
  jit(vmap(vmap(
               [&](const Array& a, const Array& b) {
                 return cond(
                     a > 0,
                     [](const Array& p, const Array& q) {
                       return cond(
                           q > 0,
                           [](const Array& u) {
                             debug::callback(see, u);
                             return u;
                           },
                           [](const Array& u) { return u; }, p * q);
                     },
                     [](const Array& p, const Array&) { return p; }, a, b);
               },
               {.in_axes = {0, none}}),
           {.in_axes = {none, 0}}))(array({1.0f, -1.0f, 2.0f}), array({10.0f, -10.0f}));
  EXPECT_THAT(seen, ElementsAre(10, 20));
}

TEST_F(Callback, PureCallbackForExamplesThatComeByOnly) {
  const auto identity = [](const Array& x) {
    return pure_callback(
        [](const Array& a) {
          see(a);
          return a;
        },
        x, x);
  };
  const auto same = [](const Array& a) { return a; };
  const Array x = array({1.0f, -2.0f, 3.0f});
  const auto branch = [&](const Array& a) { return cond(a > 0, identity, same, a); };
  EXPECT_EQ(jit(vmap(branch))(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_THAT(seen, ElementsAre(1, 3));
  seen.clear();
  const auto loop = [&](const Array& a) {
    return while_loop([](const Array& c) { return c < 3; }, [&](const Array& c) { return identity(c) + 1; }, a);
  };
  EXPECT_THAT(jit(vmap(loop))(array({1.0f, 5.0f, 2.0f})).to_vector<float>(), ElementsAre(3, 5, 3));
  EXPECT_THAT(seen, ElementsAre(1, 2, 2));
  seen.clear();
  const auto nested = [&](const Array& a) {
    return cond(
        a > 0,
        [&](const Array& b) { return fori_loop(0, 2, [&](const Array&, const Array& c) { return branch(c); }, b); },
        same, a);
  };
  EXPECT_EQ(jit(vmap(nested))(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_THAT(seen, ElementsAre(1, 3, 1, 3));
  seen.clear();
  jit(vmap(vmap(
               [&](const Array& a, const Array& b) {
                 return cond(
                     a > 0, [&](const Array& p, const Array& q) { return branch(p * q); },
                     [](const Array& p, const Array&) { return p; }, a, b);
               },
               {.in_axes = {0, none}}),
           {.in_axes = {none, 0}}))(array({1.0f, -1.0f, 2.0f}), array({10.0f, -10.0f}));
  EXPECT_THAT(seen, ElementsAre(10, 20));
  // What is the same for all examples is asked for once.
  const auto constant = [&](const Array& a) {
    return cond(a > 0, [&](const Array& b) { return b * identity(array(7.0f)); }, same, a);
  };
  seen.clear();
  EXPECT_THAT(jit(vmap(constant))(x).to_vector<float>(), ElementsAre(7, -2, 21));
  EXPECT_THAT(seen, ElementsAre(7));
  seen.clear();
  jit(vmap(constant))(array({-1.0f, -2.0f}));
  EXPECT_THAT(seen, ElementsAre());
}

// The rule of a derivative is run later than vmap, which knows who takes the branch.
TEST_F(Callback, RulesForExamplesThatComeByOnly) {
  const auto square = custom_jvp([](const Array& x) { return x * x; },
                                 [](const Array& x, const Array& t) {
                                   debug::callback(see, x * 10);
                                   return 2 * x * t;
                                 });
  const auto branch = [&](const Array& x) {
    return cond(x > 0, [&](const Array& a) { return square(a); }, [](const Array& a) { return a; }, x);
  };
  const Array x = array({1.0f, -2.0f, 3.0f});
  EXPECT_THAT(jit(grad([&](const Array& a) { return sum(vmap(branch)(a)); }))(x).to_vector<float>(),
              ElementsAre(2, 1, 6));
  EXPECT_THAT(seen, ElementsAre(10, 30));
  seen.clear();
  EXPECT_THAT(jit(vmap(grad(branch)))(x).to_vector<float>(), ElementsAre(2, 1, 6));
  EXPECT_THAT(seen, ElementsAre(10, 30));
}

TEST_F(Callback, IsCalledOnceUnderDerivatives) {
  const auto step = [](const Array& c, const Array& x) {
    debug::callback(see, c);
    const Array next = sin(c) * x;
    return std::pair(next, next * next);
  };
  const auto f = [&](const Array& x) {
    const auto [last, ys] = scan(step, x, arange(1, 4, 1, f32));
    debug::callback(see, last * 0 - 1);
    return last + sum(ys);
  };
  f(array(0.5f));
  const std::vector<float> once = seen;
  ASSERT_EQ(once.size(), 4);
  const auto count = [&](const auto& g) {
    seen.clear();
    g(array(0.5f));
    EXPECT_EQ(seen, once);
  };
  count(jit(grad(f)));
  count(jit(value_and_grad(f)));
  count(jit(jacfwd(f)));
  count(jit(grad(checkpoint(f))));
  count([&](const Array& x) { return jvp(f, x, x); });
  count([&](const Array& x) { return vjp(f, x).second(x); });
  const auto whole = jit(grad(f));
  for (const Tradeoff& t : whole.tradeoff(array(0.5f))) count(jit(grad(f), {.memory_budget = t.peak_bytes}));
}

// A pass for each argument, or for each result, would call them as often.
TEST_F(Callback, IsCalledOnceByJacobiansOfSeveralLeaves) {
  const auto f = [](const Point& p) {
    debug::callback(see, sum(p.x));
    return Point{p.x * p.y, p.y * p.y};
  };
  const Point p{array({1.0f, 2.0f}), array(3.0f)};
  const auto check_rows = [](const std::vector<Point>& rows) {
    EXPECT_EQ(rows[0].x.shape(), (Shape{2, 2}));
    EXPECT_THAT(rows[0].x.to_vector<float>(), ElementsAre(3, 0, 0, 3));
    EXPECT_THAT(rows[0].y.to_vector<float>(), ElementsAre(1, 2));
    EXPECT_THAT(rows[1].x.to_vector<float>(), ElementsAre(0, 0));
    EXPECT_THAT(rows[1].y.to_vector<float>(), ElementsAre(6));
  };
  check_rows(jit(jacfwd(f))(p));
  EXPECT_THAT(seen, ElementsAre(3));
  seen.clear();
  check_rows(jacrev(f)(p));
  EXPECT_THAT(seen, ElementsAre(3));
  float drawn = 0;
  const auto draws = [&](const Point& q) {
    const Array d = io_callback([&](const Array&) { return array(++drawn); }, spec({}, f32), stop_gradient(q.y));
    return Point{q.x * d, q.y * d};
  };
  for (const std::vector<Point>& rows : {jacfwd(draws)(p), jacrev(draws)(p)}) {
    const float d = rows[1].y.item<float>();
    EXPECT_THAT(rows[0].x.to_vector<float>(), ElementsAre(d, 0, 0, d));
  }
  EXPECT_EQ(drawn, 2);
}

TEST_F(Callback, InRulesOfDerivatives) {
  const auto f = custom_jvp(
      [](const Array& x) {
        debug::callback(see, x);
        return x * x;
      },
      [](const Array& x, const Array& t) {
        debug::callback(see, x * 10);
        debug::callback(see, t * 1000);
        return 2 * x * t;
      });
  EXPECT_EQ(jit(f)(array(3.0f)).item<float>(), 9);
  EXPECT_THAT(seen, ElementsAre(3));
  seen.clear();
  jit([&](const Array& x) { return jvp(f, x, x * 2).tangent; })(array(3.0f));
  EXPECT_THAT(seen, ElementsAre(3, 30, 6000));
  seen.clear();
  EXPECT_EQ(jit(grad(f))(array(3.0f)).item<float>(), 6);
  EXPECT_THAT(seen, ElementsAre(3, 30));
  const auto g = custom_vjp([](const Array& x) { return x * x; },
                            [](const Array& x) {
                              debug::callback(see, x);
                              return std::pair(x * x, x);
                            },
                            [](const Array& x, const Array& ct) {
                              debug::callback(see, ct * 100);
                              return 2 * x * ct;
                            });
  seen.clear();
  EXPECT_EQ(jit(grad(g))(array(3.0f)).item<float>(), 6);
  EXPECT_THAT(seen, ElementsAre(3, 100));
}

// What is there for its effects alone, as nothing else of it is known before the tangents are.
TEST_F(Callback, InLoopsAndBranchesOfRulesUnderGrad) {
  const auto called = [](const auto& rule) {
    const auto f = custom_jvp([](const Array& x) { return x * x; }, rule);
    const auto seen_by = [](const auto& g) {
      seen.clear();
      g(array(3.0f));
      return seen;
    };
    const std::vector<float> forward = seen_by(jit([&](const Array& x) { return jvp(f, x, x).tangent; }));
    EXPECT_EQ(seen_by(jit(grad(f))), forward);
    EXPECT_EQ(seen_by(grad(checkpoint(f))), forward);
    EXPECT_EQ(seen_by([&](const Array& x) { return vjp(f, x).second(x); }), forward);
    EXPECT_EQ(seen_by([&](const Array& x) {
                const auto linear = linearize(f, x);
                return linear.second(x) + linear.second(x * 2);
              }),
              forward);
    const auto looped = [&](const Array& x) {
      return fori_loop(0, 1, [&](const Array&, const Array& c) { return f(c); }, x);
    };
    EXPECT_EQ(seen_by(jit(grad(looped))), forward);
    return forward;
  };
  const auto in_branch = [](const Array& x, const Array& t) {
    return cond(
        x > 0,
        [](const Array& a, const Array& b) {
          debug::callback(see, a * 10);
          return 2 * a * b;
        },
        [](const Array& a, const Array& b) { return 2 * a * b; }, x, t);
  };
  EXPECT_THAT(called(in_branch), ElementsAre(30));
  EXPECT_THAT(called([](const Array& x, const Array& t) {
                return fori_loop(
                    0, 3,
                    [&](const Array&, const Array& c) {
                      debug::callback(see, x * 10);
                      return c * x;
                    },
                    t);
              }),
              ElementsAre(30, 30, 30));
  EXPECT_THAT(called([](const Array& x, const Array& t) {
                return scan(
                           [&](const Array& c, const Array& k) {
                             debug::callback(see, k + x);
                             return std::pair(c * x, std::tuple<>());
                           },
                           t, stack({x, x * 2}))
                    .first;
              }),
              ElementsAre(6, 9));
  EXPECT_THAT(called([&](const Array& x, const Array& t) {
                return fori_loop(0, 2, [&](const Array&, const Array& c) { return in_branch(x, c); }, t);
              }),
              ElementsAre(30, 30));
}

TEST_F(Callback, LinearMapsCallWhatRulesDoWithTangents) {
  const auto f = custom_jvp([](const Array& x) { return x * x; },
                            [](const Array& x, const Array& t) {
                              debug::callback(see, x * 10);
                              debug::callback(see, t * 1000);
                              return 2 * x * t;
                            });
  const auto expect = [&](const auto& g, const std::vector<float>& made, const std::vector<float>& mapped) {
    seen.clear();
    const auto linear = linearize(g, array(2.0f));
    EXPECT_EQ(seen, made);
    for (int i = 0; i < 2; ++i) {
      seen.clear();
      linear.second(array(1.0f));
      EXPECT_EQ(seen, mapped);
    }
  };
  const auto twice = [&](const Array& x) {
    return fori_loop(0, 2, [&](const Array&, const Array& c) { return f(c); }, x);
  };
  const auto branch = [&](const Array& x) { return cond(x > 0, f, [](const Array& c) { return c; }, x); };
  const auto until = [](const auto& step) {
    return [step](const Array& x) { return while_loop([](const Array& c) { return c < 10; }, step, x); };
  };
  expect(f, {20}, {1000});
  expect(twice, {20, 40}, {1000, 4000});
  expect(branch, {20}, {1000});
  expect(until(f), {20, 40}, {1000, 4000});
  expect(until(branch), {20, 40}, {1000, 4000});
  expect(until(twice), {20, 40}, {1000, 4000});
}

// The linear map runs a while_loop again, and nothing keeps what a function gave in each step.
TEST_F(Callback, LinearMapsOfWhileLoops) {
  const auto prints = [](const Array& x) {
    return while_loop([](const Array& c) { return c < 10; },
                      [](const Array& c) {
                        debug::callback(see, c);
                        return c * 3;
                      },
                      x);
  };
  const auto linear = linearize(prints, array(1.0f));
  EXPECT_EQ(linear.second(array(1.0f)).item<float>(), 27);
  EXPECT_THAT(seen, ElementsAre(1, 3, 9));
  seen.clear();
  const auto rule = [](const Array& x, const Array& t) {
    return while_loop([](const std::pair<Array, Array>& c) { return c.first < 2; },
                      [&](const std::pair<Array, Array>& c) {
                        debug::callback(see, c.first);
                        return std::pair(c.first + 1, c.second * x);
                      },
                      std::pair(array(0.0f), t))
        .second;
  };
  const auto in_rule = linearize(custom_jvp([](const Array& x) { return x; }, rule), array(3.0f));
  EXPECT_EQ(in_rule.second(array(1.0f)).item<float>(), 9);
  EXPECT_THAT(seen, ElementsAre(0, 1));
  float drawn = 0;
  const auto draw = [&] { return array(++drawn); };
  const int line = __LINE__ + 2;
  const auto draws = [&](const Array& x) {
    return while_loop([](const Array& c) { return c < 100; },
                      [&](const Array& c) { return c * (io_callback(draw, spec({}, f32)) + 1); }, x);
  };
  EXPECT_THAT(complaint([&] { linearize(draws, array(1.0f)); }),
              AllOf(HasSubstr("while_loop"), HasSubstr("what io_callback gives"),
                    HasSubstr("callback_test.cpp:" + std::to_string(line))));
  EXPECT_THAT(complaint([&] { grad(draws)(array(1.0f)); }), HasSubstr("while_loop"));
  EXPECT_EQ(drawn, 0);
  EXPECT_EQ(jvp(draws, array(1.0f), array(1.0f)).tangent.item<float>(), 120);
  EXPECT_EQ(drawn, 4);
  const auto before = [&](const Array& x) {
    return while_loop([](const Array& c) { return c < 100; }, [](const Array& c) { return c * 3; },
                      x * io_callback(draw, spec({}, f32)));
  };
  EXPECT_EQ(linearize(before, array(1.0f)).second(array(1.0f)).item<float>(), 135);
  EXPECT_EQ(drawn, 5);
}

// Loops that are run again, in segments or in slices, see their values once.
// The gradient of a scan of such steps, in each memory that a budget may leave it.
template <class Step>
void expect_once_under_budgets(Step step, size_t calls) {
  const auto f = [step](const Array& x) {
    const auto [last, ys] = scan(
        [step](const Array& c, const Array& k) {
          const Array next = tanh(step(c, k) * 1.1f) + k;
          return std::pair(next, sum(next * next));
        },
        x, arange(0, 40, 1, f32));
    return sum(last) + sum(ys);
  };
  const Array x = ones({4096});
  const auto g = jit(grad(f));
  seen.clear();
  const auto want = Array(g(x)).to_vector<float>();
  const std::vector<float> once = seen;
  ASSERT_EQ(once.size(), calls);
  ASSERT_TRUE(std::ranges::is_sorted(once));
  size_t smaller = 0;
  for (const Tradeoff& t : g.tradeoff(x)) {
    seen.clear();
    const auto under = jit(grad(f), {.memory_budget = t.peak_bytes});
    EXPECT_EQ(Array(under(x)).to_vector<float>(), want);
    EXPECT_EQ(seen, once) << t.peak_bytes;
    smaller += t.peak_bytes < g.plan(x).peak_bytes();
  }
  EXPECT_GT(smaller, 0u);
}

void note(const Array& x) {
  debug::callback([](const Array& s) { seen.push_back(s.item<float>()); }, x);
}

TEST_F(Callback, IsCalledOnceUnderBudgets) {
  const auto step = [](const Array& c, const Array& k) {
    note(k);
    return c;
  };
  expect_once_under_budgets(step, 40);
}

TEST_F(Callback, IsCalledOnceUnderBudgetsInLoopsOfALoop) {
  const auto inner = [](const Array& c, const Array& k) {
    const auto step = [k](const Array& j, const Array& d) {
      note(k * 10 + convert(j, f32));
      return sin(d);
    };
    return fori_loop(0, 3, step, c);
  };
  expect_once_under_budgets(inner, 120);
}

TEST_F(Callback, IsCalledOnceUnderBudgetsInBranchesOfALoop) {
  const auto branch = [](const Array& c, const Array& k) {
    const auto taken = [](const Array& d, const Array& at) {
      note(at);
      return sin(d);
    };
    return cond(k > 9.5f, taken, [](const Array& d, const Array&) { return d; }, c, k);
  };
  expect_once_under_budgets(branch, 30);
}

TEST_F(Callback, MayCallItsOwnFunction) {
  std::function<Array(const Array&)> again;
  const auto f = jit([&](const Array& x) {
    const auto call = [&](const Array& a) {
      seen.push_back(a.item<float>());
      return a.item<float>() > 0 ? again(a - 1) : a;
    };
    return 2 * io_callback(call, x, x) + x;
  });
  again = [&](const Array& x) { return f(x); };
  EXPECT_EQ(f(array(3.0f)).item<float>(), 11);
  EXPECT_EQ(seen, (std::vector<float>{3, 2, 1, 0}));
}

TEST_F(Callback, MayWaitForAThreadThatCallsItsOwnFunction) {
  std::function<float(float)> again;
  const auto f = jit([&](const Array& x) {
    const auto call = [&](const Array& a) {
      const float value = a.item<float>();
      return value > 0 ? array(std::async(std::launch::async, again, value - 1).get()) : a;
    };
    return io_callback(call, x, x) + 1;
  });
  again = [&](float x) { return f(array(x)).item<float>(); };
  EXPECT_EQ(again(4), 5);
}

TEST_F(Callback, MayKeepWhatItWasGiven) {
  std::vector<Array> kept;
  const auto f = jit([&](const Array& x) {
    debug::callback(
        [&](const Array& a) {
          kept.push_back(reshape(a, {2, 1}));
          kept.push_back(a);
        },
        x + 1);
    return x * 3;
  });
  for (float i = 0; i < 3; ++i) f(array({i, i}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(kept[2 * i].to_vector<float>(), std::vector<float>(2, i + 1));
    EXPECT_EQ(kept[2 * i + 1].to_vector<float>(), std::vector<float>(2, i + 1));
  }
}

// It cannot be copied when the function returns: it says so to whoever reads it, and hides no other error.
TEST_F(Callback, WhatThereIsNoMemoryToKeepIsGone) {
  const int64_t n = 1 << 20;
  std::vector<Array> kept;
  bool limits = false, fails = false;
  const auto f = jit([&](const Array& x) {
    debug::callback(
        [&](const Array& large, const Array& small) {
          kept = {large, reshape(large, {n / 2, 2}), small};
          if (limits) memory::set_limit(memory::live_bytes() + 4096);
          if (fails) throw std::invalid_argument("of its own");
        },
        x * 2, sum(x));
    return sum(x * 3);
  });
  const Array x = ones({n});
  f(x);
  EXPECT_EQ(kept[0].to_vector<float>()[5], 2);
  for (const bool own : {false, true}) {
    limits = true;
    fails = own;
    kept.clear();
    if (own) {
      EXPECT_THROW(f(x), std::invalid_argument);
    } else {
      EXPECT_THROW(f(x), OutOfMemoryError);
    }
    memory::set_limit(std::nullopt);
    EXPECT_THROW(kept[0].item<float>(), ShapeError);
    EXPECT_THROW(kept[0].to_vector<float>(), OutOfMemoryError);
    EXPECT_THROW(kept[1] + 1, OutOfMemoryError);
    EXPECT_THROW(jit([](const Array& a) { return a + 1; })(kept[0]), OutOfMemoryError);
    EXPECT_EQ(kept[2].item<float>(), n) << "the others are copied";
  }
  kept.clear();
  limits = fails = false;
  EXPECT_EQ(f(x).item<float>(), 3 * n);
}

// A function whose result is refused has kept its arguments all the same.
TEST_F(Callback, MayKeepWhatItWasGivenAndFail) {
  std::vector<Array> kept;
  const auto f = jit([&](const Array& x) {
    return pure_callback(
        [&](const Array& a) {
          kept.push_back(a);
          return stack({a, a});
        },
        x, x * 2);
  });
  for (float i = 0; i < 3; ++i) EXPECT_THROW(f(full({100}, i, f32)), ShapeError);
  const auto over = jit([](const Array& x) { return x - 1; });
  for (int i = 0; i < 3; ++i) over(ones({100}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kept[i].to_vector<float>(), std::vector<float>(100, 2.0f * i));
}

TEST_F(Callback, ResultsMayBeReferences) {
  const auto f = jit([](const Array& x, const Array& y) {
    const Array same = pure_callback([](const Array& a) -> const Array& { return a; }, x, x + 1);
    const auto [a, b] =
        pure_callback([](const Array& p, const Array& q) { return std::tie(q, p); }, std::tuple(x, x), x + 2, y + 3);
    return std::tuple(same, a, b);
  });
  for (float i = 0; i < 3; ++i) {
    const auto [same, a, b] = f(full({50}, i, f32), full({50}, 10.0f, f32));
    EXPECT_EQ(same.to_vector<float>(), std::vector<float>(50, i + 1));
    EXPECT_EQ(a.to_vector<float>(), std::vector<float>(50, 13));
    EXPECT_EQ(b.to_vector<float>(), std::vector<float>(50, i + 2));
  }
}

// With up to four arguments; those of five and more say none.
TEST_F(Callback, ErrorsSayTheLine) {
  const Array x = array(1.0f);
  const auto wrong = [](const auto&...) { return array({1.0f, 2.0f}); };
  const auto here = [](int line) { return HasSubstr("callback_test.cpp:" + std::to_string(line)); };
  EXPECT_THAT(complaint([&] { pure_callback(wrong, x); }), here(__LINE__));
  EXPECT_THAT(complaint([&] { pure_callback(wrong, x, x, x); }), here(__LINE__));
  EXPECT_THAT(complaint([&] { jit([&](const Array& a) { return io_callback(wrong, a, a, a, a); })(x); }),
              here(__LINE__));
  EXPECT_THAT(complaint([&] { io_callback(wrong, std::tuple(x), x, Point{x, x}, x, x); }), here(__LINE__));
  EXPECT_THAT(complaint([&] { debug::callback(wrong, x, Array(), x); }), here(__LINE__));
  EXPECT_THAT(complaint([&] { pure_callback(wrong, x, x, x, x, x, x); }), HasSubstr("f32[2]"));
  int calls = 0;
  debug::callback([&] { ++calls; });
  debug::callback([&](const auto&... a) { calls += sizeof...(a); }, x, x, x, Point{x, x}, x, x);
  EXPECT_EQ(calls, 7);
}

TEST_F(Callback, ResultsOfEveryDType) {
  const auto f = [](const Array& x) {
    const auto [b, h, z, d, p] = pure_callback(
        [](const Array& a) {
          return std::tuple(a > 1, a.astype(f16), complex(a, -a), a.astype(f64) / 3, Point{a + 1, a.astype(i8)});
        },
        std::tuple(spec({3}, bool_), spec({3}, f16), spec({3}, c64), spec({3}, f64),
                   Point{spec({3}, f32), spec({3}, i8)}),
        x);
    return std::tuple(b, h, z, d, p);
  };
  const Array x = array({0.5f, 1.5f, -2.5f});
  for (const auto& [b, h, z, d, p] : {f(x), jit(f)(x)}) {
    EXPECT_EQ(b.to_vector<bool>(), (std::vector{false, true, false}));
    EXPECT_EQ(h.dtype(), f16);
    EXPECT_EQ(h.to_vector<float>(), x.to_vector<float>());
    EXPECT_EQ(z.to_vector<std::complex<float>>()[2], std::complex<float>(-2.5f, 2.5f));
    EXPECT_EQ(d.to_vector<double>()[1], 0.5);
    EXPECT_EQ(p.x.to_vector<float>(), (std::vector{1.5f, 2.5f, -1.5f}));
    EXPECT_EQ(p.y.to_vector<int>(), (std::vector{0, 1, -2}));
  }
  const auto rows = jit(vmap(f))(stack({x, x + 1}));
  EXPECT_EQ(std::get<3>(rows).shape(), (Shape{2, 3}));
  EXPECT_EQ(std::get<3>(rows).to_vector<double>()[4], 2.5 / 3);
  const auto complex_in =
      jit([](const Array& c) { return pure_callback([](const Array& a) { return a * 2; }, spec({}, c128), c); });
  EXPECT_EQ(complex_in(array(std::complex<double>(1, 2))).item<std::complex<double>>(), std::complex<double>(2, 4));
}

TEST_F(Callback, IoCallbackKeepsItsOrder) {
  int next = 0;
  const auto draw = [&](const Array&) { return array(static_cast<float>(next++)); };
  const auto f = jit([&](const Array& x) {
    const Array first = io_callback(draw, spec({}, f32), x);
    const Array second = io_callback(draw, spec({}, f32), x);
    io_callback(draw, spec({}, f32), x);  // nobody reads it
    return stack({second, first});
  });
  EXPECT_THAT(f(array(0.0f)).to_vector<float>(), ElementsAre(1, 0));
  EXPECT_THAT(f(array(0.0f)).to_vector<float>(), ElementsAre(4, 3));
  EXPECT_EQ(next, 6);
}

// Examples that do not take a branch get zeros, whatever the memory held.
TEST_F(Callback, ResultsOfExamplesThatDoNotComeByAreZero) {
  const auto f = jit(vmap([](const Array& x) {
    return cond(
        x > 1,
        [](const Array& a) {
          const auto [b, c] = io_callback([](const Array& v) { return std::tuple(v.astype(u8), v.astype(f64)); },
                                          std::tuple(spec({}, u8), spec({}, f64)), a);
          return b.astype(f32) + c.astype(f32);
        },
        [](const Array& a) { return a * 0; }, x);
  }));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(f(array({3.0f, 1.0f, 2.0f})).to_vector<float>(), ElementsAre(6, 0, 4));
}

TEST_F(Callback, PureCallbackIsLeftOutWhereNobodyReads) {
  int calls = 0;
  const auto f = jit([&](const Array& x) {
    pure_callback(
        [&](const Array& a) {
          ++calls;
          return a;
        },
        x, x);
    return x;
  });
  f(array(1.0f));
  EXPECT_EQ(calls, 0);
}

TEST_F(Callback, HasNoDerivativeOfItsOwn) {
  const auto square = [](const Array& x) { return pure_callback([](const Array& a) { return a * a; }, x, x); };
  EXPECT_THAT(complaint([&] { grad(square)(array(3.0f)); }),
              AllOf(HasSubstr("pure_callback"), HasSubstr("custom_jvp")));
  EXPECT_EQ(grad([&](const Array& x) { return x * square(stop_gradient(x)); })(array(3.0f)).item<float>(), 9);
  const auto whole = [](const Array& x) {
    return x * pure_callback([](const Array& a) { return a.astype(i32); }, spec({}, i32), x);
  };
  EXPECT_EQ(jit(grad(whole))(array(3.5f)).item<float>(), 3);
  const auto several = [](const Array& x) {
    const auto [n, positive] = io_callback([](const Array& a) { return std::tuple(a.astype(i32), a > 0); },
                                           std::tuple(spec({}, i32), spec({}, bool_)), x);
    return select(positive, x * n, x);
  };
  EXPECT_EQ(jit(grad(several))(array(3.5f)).item<float>(), 3);
  EXPECT_EQ(jvp(several, array(3.5f), array(2.0f)).tangent.item<float>(), 6);
  EXPECT_THAT(complaint([&] {
                grad([](const Array& x) {
                  return std::get<1>(pure_callback([](const Array& a) { return std::tuple(a > 0, a); },
                                                   std::tuple(spec({}, bool_), x), x));
                })(array(3.0f));
              }),
              HasSubstr("pure_callback"));
  const auto given = custom_jvp(square, [&](const Array& x, const Array& tangent) { return 2 * x * tangent; });
  EXPECT_EQ(jit(grad(given))(array(3.0f)).item<float>(), 6);
}

// The search for a NaN runs the program again, but not what it calls.
TEST_F(Callback, IsNotCalledBySearchesForNans) {
  const debug_nans on;
  const auto f = jit([](const Array& x) {
    debug::callback(see, x);
    const Array y = fori_loop(
        0, 3,
        [](const Array&, const Array& c) {
          debug::callback(see, c);
          return cond(
              c > 2,
              [](const Array& a) {
                debug::callback(see, a * 10);
                check(a > 0, "positive");
                return sqrt(2.5f - a);
              },
              [](const Array& a) { return a + 1; }, c);
        },
        x);
    const auto called = custom_jvp(
        [](const Array& a) {
          debug::callback(see, a * 0 - 1);
          return a * 2;
        },
        [](const Array&, const Array& t) { return t * 2; });
    debug::callback(see, array(-2.0f));
    return called(y);
  });
  EXPECT_THAT(complaint([&] { f(array(1.0f)); }), AllOf(HasSubstr("sqrt gives NaN"), HasSubstr("in step 2 of a scan")));
  ASSERT_EQ(seen.size(), 7);
  EXPECT_THAT(std::vector(seen.begin(), seen.begin() + 5), ElementsAre(1, 1, 2, 3, 30));
  // What an io_callback gave is not known any more.
  int calls = 0;
  const auto draw = [&](const Array&) {
    ++calls;
    return array(-1.0f);
  };
  const int line = __LINE__ + 3;
  const auto g = [&](const Array& x) {
    debug::callback(see, x);
    const Array drawn = io_callback(draw, spec({}, f32), x);
    return std::pair(log(x), log(drawn * x));
  };
  EXPECT_THAT(complaint([&] { jit(g)(array(-1.0f)); }), HasSubstr("log gives NaN of f32[] -1.0"));
  EXPECT_THAT(complaint([&] { jit(g)(array(1.0f)); }),
              AllOf(HasSubstr("result 1 holds NaN of f32[]"), HasSubstr("io_callback"),
                    HasSubstr("callback_test.cpp:" + std::to_string(line))));
  EXPECT_EQ(calls, 2);
  const auto looped = [&](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return log(c * io_callback(draw, spec({}, f32), c)); }, x);
  };
  EXPECT_THAT(complaint([&] { jit(looped)(array(1.0f)); }), HasSubstr("does not call again"));
  EXPECT_EQ(calls, 5);
  EXPECT_THAT(complaint([&] {
                jit([](const Array& x) { return pure_callback([](const Array&) { return array(NAN); }, x, x) + 1; })(
                    array(1.0f));
              }),
              HasSubstr("pure_callback gives NaN"));
}

TEST_F(Callback, WrongResultsAreSaid) {
  const auto f = jit([](const Array& x) { return pure_callback([](const Array& a) { return stack({a, a}); }, x, x); });
  EXPECT_THAT(complaint([&] { f(array(1.0f)); }), AllOf(HasSubstr("f32[2]"), HasSubstr("f32[]")));
  const auto g = jit([](const Array& x) { return pure_callback([](const Array& a) { return a.astype(f64); }, x, x); });
  EXPECT_THAT(complaint([&] { g(array(1.0f)); }), AllOf(HasSubstr("f64[]"), HasSubstr("callback_test.cpp")));
}

TEST_F(Callback, ExceptionsEndTheCall) {
  const auto f = jit([](const Array& x) {
    debug::callback(
        [](const Array& a) {
          if (a.item<float>() > 1) throw std::runtime_error("too much");
        },
        x);
    return x + 1;
  });
  EXPECT_EQ(f(array(1.0f)).item<float>(), 2);
  EXPECT_THROW(f(array(2.0f)), std::runtime_error);
  EXPECT_EQ(f(array(0.0f)).item<float>(), 1);
  JitOptions donating;
  donating.donate = {0};
  const auto g = jit(
      [](const Array& x) {
        const Array y = x * 2;
        check(sum(y) < 10, "too much");
        return y;
      },
      donating);
  const Array good = ones({4}), bad = full({4}, 5.0f, f32);
  EXPECT_EQ(g(good).to_vector<float>()[0], 2);
  EXPECT_THROW(g(bad), CheckError);
  EXPECT_THAT(complaint([&] { bad + 1; }), HasSubstr("donated"));
}

TEST_F(Check, SaysTheTextAndTheLine) {
  const int line = __LINE__ + 2;
  const auto f = jit([](const Array& x) {
    check(x > 0, "x must be positive, but is {}", x);
    return sqrt(x);
  });
  EXPECT_EQ(f(array({4.0f, 9.0f})).to_vector<float>()[1], 3);
  EXPECT_THAT(complaint([&] { f(array({4.0f, -9.0f})); }),
              AllOf(HasSubstr("x must be positive, but is"), HasSubstr("-9"),
                    HasSubstr("callback_test.cpp:" + std::to_string(line))));
  EXPECT_THAT(complaint([] { check(array(1) + 1, "no bool"); }), HasSubstr("i32[]"));
  EXPECT_THROW(check(array(false), "eager"), CheckError);
  EXPECT_THROW(vmap([](const Array& x) {
                 check(x > 0, "one");
                 return x;
               })(array({1.0f, 0.0f})),
               CheckError);
}

TEST_F(Callback, PlansSayWhatItTakes) {
  const auto f = jit([](const Array& x) {
    debug::callback(see, sum(x));
    return x * 2;
  });
  const Plan plan = f.plan(spec({1000}, f32));
  EXPECT_THAT(plan.to_text(), AllOf(HasSubstr("callback"), HasSubstr("1 call of the host")));
  const Array x = ones({1000});
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  const Array y = f(x);
  EXPECT_EQ(memory::peak_bytes() - before + x.bytes() + 32, plan.peak_bytes()) << "4000 bytes are counted as 4032";
}

}  // namespace
}  // namespace neap
