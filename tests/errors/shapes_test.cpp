// Mistakes in shapes, axes and numbers of arrays.
#include "mistake.h"

MISTAKE(Shapes, AddsWhatDoesNotBroadcast, ShapeError,
        "add: shapes [2,3] and [2] do not broadcast; expected axes, aligned at the last, that are equal or 1; insert "
        "axes with x[{slice(), newaxis}] or reshape") {
  zeros({2, 3}) + zeros({2});  // here
}

MISTAKE(Shapes, GrowsInPlace, ShapeError,
        "add: shapes [3] and [2,2] do not broadcast; expected axes, aligned at the last, that are equal or 1; insert "
        "axes with x[{slice(), newaxis}] or reshape") {
  Array x = zeros({3});
  x += zeros({2, 2});  // here
}

MISTAKE(Shapes, ChoosesBetweenOtherShapes, ShapeError,
        "where: shapes [2] and [3] do not broadcast; expected axes, aligned at the last, that are equal or 1; insert "
        "axes with x[{slice(), newaxis}] or reshape") {
  where(zeros({2}, bool_), zeros({3}), 0);  // here
}

MISTAKE(Shapes, ClampsToOtherShapes, ShapeError,
        "clamp: shapes [2] and [3] do not broadcast; expected axes, aligned at the last, that are equal or 1; insert "
        "axes with x[{slice(), newaxis}] or reshape") {
  clamp(zeros({2}), zeros({3}), 1);  // here
}

MISTAKE(
    Shapes, MultipliesMatricesOfOtherDepth, ShapeError,
    "matmul: f32[2,3] and f32[4,5]; expected [..., m, k] and [..., k, n]; the contracted axes must be equally long") {
  matmul(zeros({2, 3}), zeros({4, 5}));  // here
}

MISTAKE(Shapes, MultipliesAMatrixByANumber, ShapeError,
        "matmul: f32[2,3] and f32[]; expected [..., m, k] and [..., k, n]; a scalar is multiplied with *") {
  matmul(zeros({2, 3}), 2.0f);  // here
}

MISTAKE(Shapes, MultipliesOtherBatches, ShapeError,
        "matmul: f32[2,3,4] and f32[5,4,6]; expected [..., m, k] and [..., k, n]; the batch axes do not broadcast") {
  matmul(zeros({2, 3, 4}), zeros({5, 4, 6}));  // here
}

MISTAKE(Shapes, DotOfOtherLengths, ShapeError,
        "dot: f32[3] and f32[4]; expected as many elements along the contracted axes, the last and the last but one") {
  dot(zeros({3}), zeros({4}));  // here
}

MISTAKE(Shapes, ContractsOtherExtents, ShapeError,
        "dot_general: f32[2,3] and f32[4,5]: contracted axis 1 of lhs has 3 elements, axis 0 of rhs 4; expected equal "
        "extents") {
  dot_general(zeros({2, 3}), zeros({4, 5}), {1}, {0});  // here
}

MISTAKE(Shapes, ContractsTwoAxesWithOne, ShapeError,
        "dot_general: 1 contracted axes of lhs, 0 of rhs; expected as many") {
  dot_general(zeros({2, 3}), zeros({3, 5}), {1}, {});  // here
}

MISTAKE(Shapes, ReshapesToMoreElements, ShapeError,
        "reshape: f32[6] (6 elements) to [4,2] (8); expected as many elements") {
  reshape(zeros({6}), {4, 2});  // here
}

MISTAKE(Shapes, ReshapesWithTwoUnknowns, ShapeError,
        "reshape: shape [-1,-1]; expected one extent of -1, others of 0 or more") {
  reshape(zeros({6}), {-1, -1});  // here
}

MISTAKE(Shapes, ReshapesToWhatDoesNotDivide, ShapeError,
        "reshape: f32[6] has 6 elements, the shape is [-1,4]; expected a multiple of 4") {
  reshape(zeros({6}), {-1, 4});  // here
}

MISTAKE(Shapes, BroadcastsToFewerAxes, ShapeError,
        "broadcast_to: f32[2,3] does not broadcast to [3]; expected axes, aligned at the last, that are equal or 1") {
  broadcast_to(zeros({2, 3}), {3});  // here
}

MISTAKE(Shapes, BroadcastsToAnUnknownExtent, ShapeError,
        "broadcast_to: shape [-1,3] has a negative extent; expected extents of 0 or more; a NaN or an overflow cast to "
        "an integer also looks like this") {
  broadcast_to(zeros({3}), {-1, 3});  // here
}

MISTAKE(Shapes, TransposesAnAxisTwice, IndexError, "transpose: axis 0 appears twice in [0,0]; name each axis once") {
  transpose(zeros({2, 3}), Shape{0, 0});  // here
}

MISTAKE(Shapes, TransposesOneOfTwoAxes, ShapeError,
        "transpose: permutation [0] for 2 dimensions (f32[2,3]); expected one entry for each dimension") {
  transpose(zeros({2, 3}), Shape{0});  // here
}

MISTAKE(Shapes, SqueezesALongAxis, ShapeError, "squeeze: axis 0 of [2,3] has 2 elements; expected 1") {
  squeeze(zeros({2, 3}), 0);  // here
}

MISTAKE(Shapes, ExpandsBeyondTheEnd, IndexError, "expand_dims: axis 4; expected an axis from -3 to 2") {
  expand_dims(zeros({2, 3}), 4);  // here
}

MISTAKE(Shapes, ConcatenatesNothing, ShapeError, "concatenate: no arrays; expected one or more") {
  concatenate({});  // here
}

MISTAKE(Shapes, ConcatenatesOtherExtents, ShapeError,
        "concatenate: f32[2,3] and f32[2,4] along axis 0; expected shapes that differ in that axis only") {
  concatenate({zeros({2, 3}), zeros({2, 4})});  // here
}

MISTAKE(Shapes, ConcatenatesAlongAMissingAxis, IndexError, "concatenate: axis 1; expected an axis from -1 to 0") {
  concatenate({zeros({2}), zeros({2})}, 1);  // here
}

MISTAKE(Shapes, ConcatenatesScalars, IndexError, "concatenate: axis 0; expected no axis, the operand is a scalar") {
  concatenate({array(1.0f), array(2.0f)});  // here
}

MISTAKE(Shapes, StacksOtherShapes, ShapeError, "stack: f32[2] and f32[3]; expected equal shapes") {
  stack({zeros({2}), zeros({3})});  // here
}

MISTAKE(Shapes, StacksAtAMissingAxis, IndexError, "stack: axis 3; expected an axis from -2 to 1") {
  stack({zeros({2}), zeros({2})}, 3);  // here
}

MISTAKE(Shapes, SplitsIntoUnequalParts, ShapeError,
        "split: 3 parts of 7 elements; expected equal parts; array_split() makes parts that are nearly equal") {
  split(zeros({7}), 3);  // here
}

MISTAKE(Shapes, SplitsIntoNoParts, ShapeError,
        "split: 0 parts; expected 1 to 1048576; each part is an array: keep them as one, with an axis for the parts") {
  split(zeros({6}), 0);  // here
}

MISTAKE(Shapes, TilesBelowZero, ShapeError,
        "tile: shape [-2] has a negative extent; expected extents of 0 or more; a NaN or an overflow cast to an "
        "integer also looks like this") {
  tile(zeros({2}), {-1});  // here
}

MISTAKE(Shapes, PadsOneOfTwoAxes, ShapeError,
        "pad: low [1] for 2 dimensions (f32[2,2]); expected one entry for each dimension") {
  pad(zeros({2, 2}), {1}, {1});  // here
}

MISTAKE(Shapes, CutsMoreThanThereIs, ShapeError,
        "pad: low -2, high -1 and interior 0 on axis 0 of f32[2]; expected to cut at most the extent") {
  pad(zeros({2}), {-2}, {-1});  // here
}

MISTAKE(Shapes, SumsAlongAMissingAxis, IndexError, "sum: axis 2; expected an axis from -2 to 1") {
  sum(zeros({2, 3}), 2);  // here
}

MISTAKE(Shapes, SumsAlongAnAxisTwice, IndexError, "sum: axis -2 appears twice in [0,-2]; name each axis once") {
  sum(zeros({2, 3}), {0, -2});  // here
}

MISTAKE(Shapes, LargestOfNothing, ShapeError, "max: axis 1 of [2,0] is empty; expected at least one element") {
  max(zeros({2, 0}), 1);  // here
}

MISTAKE(Shapes, SoftmaxOfAScalar, IndexError, "softmax: axis -1; expected no axis, the operand is a scalar") {
  softmax(array(1.0f));  // here
}

MISTAKE(Shapes, AsksForAMissingAxis, IndexError, "shape: axis 1; expected an axis from -1 to 0") {
  zeros({3}).shape(1);  // here
}

MISTAKE(Shapes, LoopsOverAScalar, IndexError,
        "a loop over rows: a scalar; expected an array with an axis; read it with item") {
  const Array x = array(1.0f);
  for (const Array& row : x) row.wait();  // here
}

MISTAKE(Shapes, EinsumWithHalfAnArrow, ShapeError,
        "einsum: '>'; expected letters, commas, ... and one ->; in \"ij,jk>ik\"") {
  einsum("ij,jk>ik", {zeros({2, 3}), zeros({3, 4})});  // here
}

MISTAKE(Shapes, EinsumOfTwoFormulasWithOneArray, ShapeError, "einsum: 1 arrays; expected 2; in \"ij,jk->ik\"") {
  einsum("ij,jk->ik", {zeros({2, 3})});  // here
}

MISTAKE(Shapes, EinsumOfOtherExtents, ShapeError,
        "einsum: an axis of 3 and of 4; expected equal extents; in \"ij,jk->ik\"") {
  einsum("ij,jk->ik", {zeros({2, 3}), zeros({4, 5})});  // here
}

MISTAKE(Shapes, EinsumOfAnAccent, ShapeError,
        "einsum: byte 0xc3; expected letters, commas, ... and one ->; in \"\u00e9->\u00e9\"") {
  einsum("\u00e9->\u00e9", {zeros({2})});  // here
}

MISTAKE(Shapes, EinsumToAnUnknownAxis, ShapeError,
        "einsum: a result with an axis twice, or one that no array has; expected each axis of the result once; in "
        "\"ij->ik\"") {
  einsum("ij->ik", {zeros({2, 3})});  // here
}

MISTAKE(Shapes, TensordotOfMoreAxesThanThereAre, ShapeError,
        "tensordot: 3 axes of [2,3] and [2,3]; expected at most as many as both have") {
  tensordot(zeros({2, 3}), zeros({2, 3}), 3);  // here
}

MISTAKE(Shapes, CrossOfFour, ShapeError, "cross: f32[4]; expected three elements along axis -1") {
  cross(zeros({4}), zeros({4}));  // here
}

MISTAKE(Shapes, ConvolvesOtherChannels, ShapeError,
        "conv_general: f32[1,3,8,8] with f32[4,2,3,3] in 1 groups; expected channels and outputs that the groups "
        "divide, and the kernel's share of the channels") {
  conv_general(zeros({1, 3, 8, 8}), zeros({4, 2, 3, 3}));  // here
}

MISTAKE(Shapes, ConvolvesWithoutAStep, ShapeError, "conv_general: stride [0,1]; expected 2 numbers of 1 and more") {
  conv_general(zeros({1, 3, 8, 8}), zeros({4, 3, 3, 3}), {.stride = {0, 1}});  // here
}

MISTAKE(Shapes, ConvolvesWithAMatrix, ShapeError,
        "conv_general: f32[1,3,8,8] with f32[4,3,3] in 1 groups; expected [batch, channels, space...] with [out, "
        "channels / groups, window...], one to three spatial axes") {
  conv_general(zeros({1, 3, 8, 8}), zeros({4, 3, 3}));  // here
}

MISTAKE(Shapes, PoolsOverMissingAxes, ShapeError,
        "max_pool: window [2,2] over f32[8]; expected one to as many axes as the array has") {
  max_pool(zeros({8}), {2, 2});  // here
}

MISTAKE(Shapes, TransformsNoElements, ShapeError, "fft: 0 elements along axis 0 of [8]; expected 1 or more") {
  fft::fft(zeros({8}), {.n = 0});  // here
}

MISTAKE(Shapes, TransformsAMissingAxis, IndexError, "fft2: axis -2; expected an axis from -1 to 0") {
  fft::fft2(zeros({8}));  // here
}

MISTAKE(Shapes, InvertsOneFrequency, ShapeError, "irfft: 0 elements along axis 0 of [1]; expected 1 or more") {
  fft::irfft(zeros({1}, c64));  // here
}

MISTAKE(Shapes, MakesANegativeExtent, ShapeError,
        "zeros: shape [2,-1] has a negative extent; expected extents of 0 or more; a NaN or an overflow cast to an "
        "integer also looks like this") {
  zeros({2, -1});  // here
}

MISTAKE(Shapes, MakesMoreThanBytesCount, ShapeError,
        "zeros: shape [4611686018427387904,8] has more than 2^63 bytes; expected a smaller shape") {
  zeros({int64_t{1} << 62, 8});  // here
}

MISTAKE(Shapes, CountsWithoutAStep, UserError, "arange: step is 0; expected another step") {
  arange(0, 3, 0);  // here
}

MISTAKE(Shapes, CountsToInfinity, UserError,
        "arange: bounds that are not finite; expected finite bounds, fewer numbers") {
  arange(0.0f, INFINITY);  // here
}

MISTAKE(Shapes, CountsToATracedNumber, UserError,
        "arange: a bound is an array; expected C++ numbers; the number of elements must be known") {
  const auto f = jit([](const Array& n) {
    return arange(n);  // here
  });
  f(array(3));
}

MISTAKE(Shapes, ShapesTooFewNumbers, ShapeError, "array: 3 values for shape [2,2]; expected 4 values") {
  array({1, 2, 3}, Shape{2, 2});  // here
}

MISTAKE(Shapes, RowsOfOtherLengths, ShapeError, "array: rows of 2 and of 1 values; expected rows of one length") {
  array({{1, 2}, {3}});  // here
}

MISTAKE(Shapes, NestedRowsOfOtherLengths, ShapeError, "array: rows of 2 and of 1 values; expected rows of one length") {
  array(std::vector<std::vector<float>>{{1, 2}, {3}});  // here
}

MISTAKE(Shapes, TakesMoreThanThereAre, ShapeError,
        "top_k: the 5 largest of f32[3]; expected at most as many as the last axis has") {
  top_k(zeros({3}), 5);  // here
}

MISTAKE(Shapes, HistogramWithoutBins, UserError, "histogram: 0 bins from 0 to 1; expected low < high, 1 bin or more") {
  histogram(zeros({3}), 0, 0, 1);  // here
}

MISTAKE(Shapes, QuantileInPercent, UserError,
        "quantile: q = 50; expected a number in [0, 1]; percentile() counts from 0 to 100") {
  quantile(zeros({3}), 50);  // here
}

MISTAKE(Shapes, PercentileAboveAll, UserError,
        "percentile: q = 150; expected a number in [0, 100]; quantile() counts from 0 to 1") {
  percentile(zeros({3}), 150);  // here
}

MISTAKE(Shapes, InterpolatesBetweenOtherNumbers, ShapeError,
        "interp: xp f32[3] and fp f32[4]; expected as many of both, one or more") {
  interp(zeros({3}), zeros({3}), zeros({4}));  // here
}

MISTAKE(Shapes, CountsToANegativeLength, ShapeError,
        "bincount: shape [-1] has a negative extent; expected extents of 0 or more; a NaN or an overflow cast to an "
        "integer also looks like this") {
  bincount(arange(3), -1);  // here
}

MISTAKE(Shapes, InvertsARectangle, ShapeError, "inv: f32[2,3]; expected square matrices [..., n, n]") {
  linalg::inv(zeros({2, 3}));  // here
}

MISTAKE(Shapes, FactorsAVector, ShapeError, "cholesky: f32[3]; expected square matrices [..., n, n]") {
  linalg::cholesky(zeros({3}));  // here
}

MISTAKE(Shapes, SolvesForOtherRows, ShapeError, "solve: f32[3,3] and f32[4]; expected as many rows") {
  linalg::solve(eye(3), zeros({4}));  // here
}

MISTAKE(Shapes, SolvesATriangleForAVector, ShapeError, "triangular_solve: f32[3]; expected matrices [..., m, n]") {
  linalg::triangular_solve(eye(3), zeros({3}));  // here
}

MISTAKE(Shapes, LeastSquaresOfOtherRows, ShapeError, "lstsq: f32[3,2] and f32[4]; expected [m, n] and [m] or [m, k]") {
  linalg::lstsq(zeros({3, 2}), zeros({4}));  // here
}

MISTAKE(Shapes, NormOverThreeAxes, ShapeError, "norm: 3 axes; expected one axis of vectors, or two of matrices") {
  linalg::norm(zeros({2, 2, 2}), 2.0);  // here
}

MISTAKE(Shapes, NormOfAnUnknownOrder, ShapeError,
        "norm: order 3 of a matrix; expected 1, 2, inf, their negatives, or a Norm") {
  linalg::norm(zeros({2, 2}), 3.0);  // here
}

MISTAKE(
    Shapes, GammaOfOtherShapes, ShapeError,
    "gammainc: shapes [3] and [4] do not broadcast; expected axes, aligned at the last, that are equal or 1; insert "
    "axes with x[{slice(), newaxis}] or reshape") {
  gammainc(zeros({3}), zeros({4}));  // here
}

MISTAKE(Shapes, GammaOfNoDimension, ShapeError, "multigammaln: dimension 0; expected a dimension of at least 1") {
  multigammaln(zeros({3}), 0);  // here
}
