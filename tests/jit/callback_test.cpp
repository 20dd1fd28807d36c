// Functions of the program in compiled code: what they see and keep, in which order, and what becomes of their errors.
#include "tests/jit/callback.h"

#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <stdexcept>

namespace neap::callbacks {
namespace {

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
}  // namespace neap::callbacks
