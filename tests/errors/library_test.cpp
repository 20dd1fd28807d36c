// Mistakes in segments, windows, attention, images and signals.
#include "mistake.h"

MISTAKE(Library, SegmentsByOtherIds, ShapeError,
        "segment_sum: segment_ids i32[3] for data f32[4,2]; expected the leading axes of data, one or more") {
  segment_sum(zeros({4, 2}), zeros({3}, i32), 5);  // here
}

MISTAKE(Library, SegmentsByFloats, DTypeError, "segment_max: segment_ids f32[4]; expected integers") {
  segment_max(zeros({4}), zeros({4}), 5);  // here
}

MISTAKE(Library, ReducesToAnotherDType, DTypeError,
        "reduce: f gives bool[2,2] of f32[2,2]; expected what it takes; convert it with astype()") {
  reduce(zeros({2, 4}), 0, [](const Array& x, const Array& y) { return x < y; }, 1);  // here
}

MISTAKE(Library, WindowsOfTooManyAxes, ShapeError,
        "reduce_window: window [2,2] over f32[4]; expected one to as many axes as the array has") {
  reduce_window(zeros({4}), 0, [](const Array& x, const Array& y) { return x + y; }, {2, 2});  // here
}

MISTAKE(
    Library, AttendsWithOtherHeads, ShapeError,
    "dot_product_attention: f32[2,3,4,8], f32[2,5,3,8] and f32[2,5,3,8]; expected heads that the key heads divide") {
  dot_product_attention(zeros({2, 3, 4, 8}), zeros({2, 5, 3, 8}), zeros({2, 5, 3, 8}));  // here
}

MISTAKE(Library, MasksByNumbers, DTypeError,
        "dot_product_attention: mask f32[3,5]; expected bool; numbers to add are a bias") {
  const Array q = zeros({2, 3, 4, 8}), k = zeros({2, 5, 4, 8});
  dot_product_attention(q, k, k, {.mask = zeros({3, 5})});  // here
}

MISTAKE(Library, ResizesToOtherAxes, ShapeError, "resize: shape [4,4] for f32[2,3,3]; expected as many axes") {
  image::resize(zeros({2, 3, 3}), {4, 4}, image::Method::linear);  // here
}

MISTAKE(Library, ConvolvesWhatCoversNeither, ShapeError,
        "fftconvolve: f32[2,5] and f32[5,2]; expected one array that is at least as long as the other along all axes") {
  signal::fftconvolve(zeros({2, 5}), zeros({5, 2}), ConvolveMode::valid);  // here
}

MISTAKE(Library, InsertsBeyondTheEnd, IndexError, "insert: place 4 of 3; expected -3 to 3") {
  insert(zeros({3}), {4}, 1);  // here
}
