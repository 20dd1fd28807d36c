// Functions of the program in compiled code: how often they are called under vmap, derivatives and budgets.
#include "tests/jit/callback.h"

namespace neap::callbacks {
namespace {

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
                    HasSubstr("callback_transforms_test.cpp:" + std::to_string(line))));
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

}  // namespace
}  // namespace neap::callbacks
