// Mistakes in dtypes, in indices, and in what is read as what.
#include "mistake.h"

MISTAKE(DTypes, ShiftsFloats, DTypeError,
        "shift_left: f32[3]; expected an integer dtype or bool; bitcast the array to an unsigned dtype of its width") {
  zeros({3}) << 2;  // here
}

MISTAKE(DTypes, InvertsBitsOfFloats, DTypeError,
        "bitwise_not: f32[3]; expected an integer dtype or bool; bitcast the array to an unsigned dtype of its width") {
  ~zeros({3});  // here
}

MISTAKE(DTypes, ComparesComplexNumbers, DTypeError,
        "sort: c64[3]; expected a real dtype; take abs(), real() or imag() of it") {
  sort(zeros({3}, c64));  // here
}

MISTAKE(DTypes, LargestComplexNumber, DTypeError,
        "max: c64[3]; expected a real dtype; take abs(), real() or imag() of it") {
  max(zeros({3}, c64));  // here
}

MISTAKE(DTypes, RoundsComplexNumbers, DTypeError,
        "floor: c64[3]; expected a real dtype; take abs(), real() or imag() of it") {
  floor(zeros({3}, c64));  // here
}

MISTAKE(DTypes, ErfOfComplexNumbers, DTypeError,
        "erf: c64[3]; expected a real dtype; take abs(), real() or imag() of it") {
  erf(zeros({3}, c64));  // here
}

MISTAKE(DTypes, GammaOfComplexNumbers, DTypeError,
        "gammainc: c64[3]; expected a real dtype; take abs(), real() or imag() of it") {
  gammainc(1.0f, zeros({3}, c64));  // here
}

MISTAKE(DTypes, MakesComplexOfComplex, DTypeError,
        "complex: c64[3] and f32[3]; expected two real arrays; real() and imag() are the parts of a complex one") {
  complex(zeros({3}, c64), zeros({3}));  // here
}

MISTAKE(DTypes, SelectsByFloats, DTypeError, "select: the condition is f32[2]; expected bool; compare it: x != 0") {
  select(zeros({2}), zeros({2}), 1);  // here
}

MISTAKE(DTypes, ReinterpretsWidthsOfBool, DTypeError,
        "bitcast: f32[3] to bool; expected dtypes of numbers that are not complex, or of equal width") {
  bitcast(zeros({3}), bool_);  // here
}

MISTAKE(DTypes, ReinterpretsTooFew, ShapeError,
        "bitcast: u8[3] to f32; expected a last axis of 4 elements; f32 has elements of 4 bytes") {
  bitcast(zeros({3}, u8), f32);  // here
}

MISTAKE(DTypes, AddsTooLargeANumber, DTypeError,
        "scalar: 300 is not a number of i8; convert the array to a wider dtype first, or give the dtype") {
  arange(3, i8) + 300;  // here
}

MISTAKE(DTypes, AddsANegativeToUnsigned, DTypeError,
        "scalar: -1 is not a number of u8; convert the array to a wider dtype first, or give the dtype") {
  arange(3, u8) + -1;  // here
}

MISTAKE(DTypes, FillsWithTooLargeANumber, DTypeError,
        "scalar: 300 is not a number of i8; convert the array to a wider dtype first, or give the dtype") {
  full({3}, 300, i8);  // here
}

MISTAKE(DTypes, RealTransformOfComplex, DTypeError,
        "rfft: c64[8]; expected a real dtype; fft takes complex numbers, real() their real parts") {
  fft::rfft(zeros({8}, c64));  // here
}

MISTAKE(DTypes, FrequenciesAsIntegers, DTypeError, "fftfreq: dtype i32; expected a floating dtype") {
  fft::fftfreq(4, 1, i32);  // here
}

MISTAKE(DTypes, CountsFloats, DTypeError, "bincount: f32[3]; expected integers") {
  bincount(zeros({3}), 3);  // here
}

MISTAKE(DTypes, SolvesComplexDiagonals, DTypeError, "tridiagonal_solve: c64; expected real numbers") {
  linalg::tridiagonal_solve(ones({3}), ones({3}, c64), ones({3}), ones({3, 1}));  // here
}

MISTAKE(DTypes, ReadsComplexAsReal, DTypeError,
        "item: the array is c64[]; expected std::complex<float> or std::complex<double>; or take real(), imag() or "
        "abs() of it first") {
  array(std::complex<float>(1, 2)).item<float>();  // here
}

MISTAKE(DTypes, ReadsAllComplexAsReal, DTypeError,
        "to_vector: the array is c64[3]; expected std::complex<float> or std::complex<double>; or take real(), imag() "
        "or abs() of it first") {
  zeros({3}, c64).to_vector<float>();  // here
}

MISTAKE(DTypes, ReadsOneOfThree, ShapeError,
        "item: the array is f32[3]; expected one element; index it first, or read it with to_vector") {
  zeros({3}).item<float>();  // here
}

MISTAKE(DTypes, ReadsOneOfNone, ShapeError,
        "item: the array is f32[0]; expected one element; index it first, or read it with to_vector") {
  zeros({0}).item<float>();  // here
}

MISTAKE(DTypes, ReadsFloatsAsDoubles, DTypeError,
        "data: the array is f32[3]; expected f64; read it as its own type, or convert it with astype") {
  zeros({3}).data<double>();  // here
}

MISTAKE(DTypes, SpansSignedAsUnsigned, DTypeError,
        "data: the array is i32[3]; expected u32; read it as its own type, or convert it with astype") {
  const Array x = zeros({3}, i32);
  x.span<uint32_t>();  // here
}

MISTAKE(DTypes, IndexBeyondTheEnd, IndexError, "index: index 5 of axis 0 of f32[3]; expected -3 to 2") {
  zeros({3})[5];  // here
}

MISTAKE(DTypes, IndexBeforeTheBeginning, IndexError, "index: index -4 of axis 0 of f32[3]; expected -3 to 2") {
  zeros({3})[-4];  // here
}

MISTAKE(DTypes, MoreIndicesThanAxes, IndexError, "index: 2 indices for f32[3]; expected at most 1") {
  zeros({3})[{0, 1}];  // here
}

MISTAKE(DTypes, TwoEllipses, IndexError, "index: more than one ellipsis; expected one") {
  zeros({3, 3})[{ellipsis, ellipsis}];  // here
}

MISTAKE(DTypes, SliceWithoutAStep, IndexError, "index: a slice has step 0; expected another step") {
  zeros({3})[slice(0, 3, 0)];  // here
}

MISTAKE(DTypes, IndexOfFloats, DTypeError,
        "index: an index is f32[2]; expected an integer array; convert it, for example with astype(i32)") {
  zeros({3})[zeros({2})];  // here
}

MISTAKE(DTypes, IndexIsAMask, DTypeError,
        "index: an index is bool[3]; expected an integer array; masks have no static size: use where()") {
  const Array x = zeros({3});
  x[x > 0];  // here
}

MISTAKE(DTypes, IndicesThatDoNotBroadcast, ShapeError, "index: index arrays of shapes [2] and [3] do not broadcast") {
  zeros({3, 3})[{arange(2), arange(3)}];  // here
}

MISTAKE(DTypes, UpdatesBeyondTheEnd, IndexError, "index: index 7 of axis 0 of f32[3]; expected -3 to 2") {
  zeros({3}).at(7).set(1);  // here
}

MISTAKE(DTypes, SetsAnotherShape, ShapeError,
        "at: updates of shape [3] for a place of shape [2]; expected a shape that broadcasts to the place's") {
  zeros({3}).at(slice(2)).set(zeros({3}));  // here
}

MISTAKE(
    DTypes, AddsComplexToReal, DTypeError,
    "scalar: a complex number is not a number of f32; convert the array to a complex dtype first, or give the dtype") {
  zeros({3}).at(0).add(std::complex<float>(0, 1));  // here
}

MISTAKE(DTypes, GathersByTooFewColumns, ShapeError,
        "gather: index has 1 columns, operand has 2 dimensions (f32[3,3]); pass one column per dimension") {
  gather(zeros({3, 3}), zeros({2, 1}, i32));  // here
}

MISTAKE(DTypes, GathersByFloats, DTypeError,
        "gather: index f32[2,1]; expected an integer dtype; convert it, for example with astype(i32)") {
  gather(zeros({3}), zeros({2, 1}));  // here
}

MISTAKE(DTypes, GathersByANumber, ShapeError, "gather: index i32[]; expected at least one dimension: its columns") {
  gather(zeros({3}), array(0));  // here
}

MISTAKE(DTypes, ScattersAnotherShape, ShapeError,
        "scatter_add: updates of shape [3] for a place of shape [2]; expected a shape that broadcasts to the place's") {
  scatter_add(zeros({3}), zeros({2, 1}, i32), zeros({3}));  // here
}

MISTAKE(DTypes, TakesByFloats, DTypeError,
        "index: an index is f32[2]; expected an integer array; convert it, for example with astype(i32)") {
  take(arange(3), zeros({2}));  // here
}

MISTAKE(DTypes, TakesAlongOtherAxes, ShapeError,
        "take_along_axis: index i32[2] for f32[2,3]; expected as many dimensions; add axes with index[{slice(), "
        "newaxis}]") {
  take_along_axis(zeros({2, 3}), arange(2), 1);  // here
}

MISTAKE(DTypes, WindowLargerThanTheArray, ShapeError,
        "dynamic_slice: a window of shape [6] of f32[5]; expected as many dimensions, and no extent larger") {
  dynamic_slice(zeros({5}), array({0}), {6});  // here
}

MISTAKE(DTypes, WindowWithoutAStartOfEachAxis, ShapeError,
        "dynamic_slice: the start is i32[1]; expected [2], one entry for each dimension") {
  dynamic_slice(zeros({5, 5}), array({0}), {2, 2});  // here
}

MISTAKE(DTypes, WindowAtAFraction, DTypeError,
        "dynamic_slice: the start is f32[1]; expected integers; convert it, for example with astype(i32)") {
  dynamic_slice(zeros({5}), array({0.5f}), {2});  // here
}

MISTAKE(DTypes, UpdateLargerThanTheArray, ShapeError,
        "dynamic_update_slice: a window of shape [6] of f32[5]; expected as many dimensions, and no extent larger") {
  dynamic_update_slice(zeros({5}), zeros({6}), array({0}));  // here
}
