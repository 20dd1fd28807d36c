// Mistakes with random numbers and their keys.
#include "mistake.h"

MISTAKE(Random, SeedForAKey, DTypeError,
        "random_bits: the key is i32[]; expected u32[..., 2] or u32[..., 4]; make one with random::key") {
  nr::normal(42, {3});  // here
}

MISTAKE(Random, KeyOfFloats, DTypeError,
        "random_bits: the key is f32[2]; expected u32[..., 2] or u32[..., 4]; make one with random::key") {
  nr::normal(zeros({2}), {3});  // here
}

MISTAKE(Random, KeyOfThreeWords, ShapeError,
        "random_bits: the key is u32[3]; expected u32[..., 2] or u32[..., 4]; make one with random::key") {
  nr::normal(zeros({3}, u32), {3});  // here
}

MISTAKE(Random, KeyThatIsMappedAway, ShapeError,
        "random_bits: the key is u32[]; expected u32[..., 2] or u32[..., 4]; make one with random::key") {
  const auto f = vmap([](const Array& key) {
    return nr::normal(key, {3});  // here
  });
  f(nr::key(0));
}

MISTAKE(Random, NormalIntegers, DTypeError, "normal: dtype i32; expected a floating dtype; randint draws integers") {
  nr::normal(nr::key(0), {3}, i32);  // here
}

MISTAKE(Random, FloatingRandint, DTypeError, "randint: dtype f32; expected an integer dtype") {
  nr::randint(nr::key(0), {3}, 0, 10, f32);  // here
}

MISTAKE(Random, RandintToAFraction, DTypeError, "randint: a floating bound; expected an integer") {
  nr::randint(nr::key(0), {3}, 0.5f, 3.5f);  // here
}

MISTAKE(Random, SignedBits, DTypeError, "bits: dtype i32; expected u8, u16, u32 or u64") {
  nr::bits(nr::key(0), {3}, i32);  // here
}

MISTAKE(Random, NegativeShape, ShapeError,
        "uniform: shape [-3] has a negative extent; expected extents of 0 or more; a NaN or an overflow cast to an "
        "integer also looks like this") {
  nr::uniform(nr::key(0), {-3});  // here
}

MISTAKE(Random, BoundsOfAnotherShape, ShapeError, "uniform: bound f32[4] does not broadcast to [3]") {
  nr::uniform(nr::key(0), {3}, f32, zeros({4}));  // here
}

MISTAKE(Random, ProbabilityAboveOne, UserError, "bernoulli: probability 1.5; expected a number in [0, 1]") {
  nr::bernoulli(nr::key(0), 1.5f);  // here
}

MISTAKE(Random, NegativeMean, UserError, "poisson: mean -1; expected a number not below 0") {
  nr::poisson(nr::key(0), -1.0f);  // here
}

MISTAKE(Random, NegativeGamma, UserError, "gamma: shape parameter -1; expected a number above 0") {
  nr::gamma(nr::key(0), -1.0f);  // here
}

MISTAKE(
    Random, MoreDrawsThanElements, UserError,
    "choice: 5 draws from 3 elements; expected no more draws than elements; replace = true draws with replacement") {
  nr::choice(nr::key(0), 3, {5}, false);  // here
}

MISTAKE(Random, ProbabilitiesOfOtherElements, ShapeError,
        "choice: probabilities [4]; expected [3]; one for each element") {
  nr::choice(nr::key(0), 3, {2}, true, zeros({4}));  // here
}

MISTAKE(Random, CovarianceOfAnotherSize, ShapeError,
        "multivariate_normal: mean [3] and covariance [4,4]; expected [..., n] and [..., n, n]") {
  nr::multivariate_normal(nr::key(0), zeros({3}), eye(4));  // here
}

MISTAKE(Random, FoldsInAFraction, DTypeError, "fold_in: a floating number; expected an integer") {
  nr::fold_in(nr::key(0), 1.5f);  // here
}
