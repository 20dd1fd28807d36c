// A convolution as its kernel sees it: extents and strides, and how it is cut into tiles. All is chosen by shape alone,
// never by threads, so that the plan is exact. Tested in tests/backends/cpu_convolution_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "planner/kernels/dot_form.h"

namespace neap::planner {

/// Runs of columns are padded to so many elements; vectors of them may read as many twice over behind a slab.
inline constexpr int64_t kColumnVector = 16;

/// Describes a convolution (trace/graph/ops_structural.def) with up to three axes of space; those that are not there
/// come first, with extents of 1. There are no zeros between the operand's elements.
struct ConvolutionForm {
  struct Space {
    int64_t extent = 1, window = 1, count = 1;  // elements of the operand, of the window, of the result
    int64_t stride = 1, dilation = 1;
    int64_t low = 0;  // zeros before the operand; below 0, elements that are left out
    bool operator==(const Space&) const = default;
  };
  /// Strides in elements.
  struct Strides {
    int64_t group = 0;
    int64_t batch = 0;  // of the operand and the result
    int64_t out = 0;    // features of the result: of the window and the result
    int64_t in = 0;     // features that are added up: of the operand and the window
    std::array<int64_t, 3> space{};
    bool operator==(const Strides&) const = default;
  };

  DType dtype = DType::f32;  // or f64
  int64_t groups = 1, batch = 1, out = 1, in = 1;
  std::array<Space, 3> space;
  Strides lhs, rhs, result;
  bool adds = false;     // to what the result holds
  int64_t whole_in = 0;  // features that are added up by the convolution of which this is a part; or 0
  bool operator==(const ConvolutionForm&) const = default;

  int64_t window_size() const { return space[0].window * space[1].window * space[2].window; }
  int64_t count() const { return space[0].count * space[1].count * space[2].count; }
  /// Returns whether sums are long (kLongDot): then each block of terms begins at 0, and is added at its end.
  bool is_long() const;
  /// Returns how many features a block of terms has at most: parts of a convolution have whole blocks.
  int64_t block_features() const;
};

/// A block of terms: features, and of the window one place along its first axis, or all, and rows and columns of the
/// others.
struct ConvolutionBlock {
  int64_t features = 1;           // at most
  bool planes = false;            // all places along the first axis, else one
  int64_t rows = 1, columns = 1;  // at most
  int64_t terms(const ConvolutionForm& form) const {
    return features * (planes ? form.space[0].window : 1) * rows * columns;
  }
};

/// How the result is cut: into tiles of `out` features by so many examples, rows and columns.
struct ConvolutionTiles {
  ConvolutionBlock block;
  int64_t batch = 1, out = 1, rows = 1, columns = 1;
  bool interleaved = false;  // examples are neighbours in the work space, where they are many and the result is small
  bool by_group = false;     // groups are, kColumnVector to a tile, where they are many and have few results each, of
                             // small windows: `batch` counts them
  bool flat = false;         // rows follow one another, with what lies between them; else each is by itself
  int64_t run = 0;           // elements of a run of columns, padded to a vector's length
  int64_t runs = 0;
  int64_t slab = 0;   // elements of the operand that a block reads for a tile, and what lies behind them
  int64_t count = 0;  // tiles
  int slots = 0;      // tiles in flight at most
  size_t window_bytes = 0, slab_bytes = 0, sum_bytes = 0, offset_bytes = 0;  // of a slot, each a multiple of 64
  size_t slot_bytes() const { return window_bytes + slab_bytes + sum_bytes + offset_bytes; }
};

ConvolutionTiles convolution_tiles(const ConvolutionForm& form);
/// Returns the bytes of a convolution's scratch.
size_t convolution_scratch_bytes(const ConvolutionForm& form);

/// The operand along one axis as a tile reads it, so that neighbours of the result read neighbours: in phases, each of
/// which has every step-th element, or, where windows reach far, what each place of the window reads by itself.
struct Phases {
  bool by_place = false;
  int64_t step = 1;    // elements from one of a phase to the next
  int64_t apart = 1;   // elements from a phase's first to the next one's
  int64_t count = 1;   // phases
  int64_t length = 1;  // of each
  /// These say where in its phase a window's place begins to read; places count from a block's first.
  int64_t phase(int64_t place, int64_t dilation) const { return by_place ? place : place * dilation % step / apart; }
  int64_t begin(int64_t place, int64_t dilation) const { return by_place ? 0 : place * dilation / step; }
};
/// Returns them for so many results and places of the window.
Phases phases_of(const ConvolutionForm::Space& space, int64_t results, int64_t places);

}  // namespace neap::planner
