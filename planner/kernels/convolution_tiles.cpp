#include <algorithm>
#include <numeric>

#include "planner/kernels/convolution_form.h"
#include "planner/kernels/dot_scratch.h"

namespace neap::planner {
namespace {

// `neap-bench --case ops --form conv` measures these. A tile of sums, what it reads and a block of the window share the
// cache nearest to the core but one.
constexpr int64_t kTileColumns = 768, kTileOut = 256, kLeastOut = 32;
constexpr int64_t kSlabElements = 1 << 18;  // that a tile may read at once, where its columns leave a choice
constexpr int64_t kEnoughTiles = 8;
// Examples are interleaved where columns are so much better used, and each of their elements, which is moved alone, is
// multiplied so often.
constexpr double kWorthInterleaving = 1.1;
constexpr int64_t kWorthMoving = 1024;
// Groups are interleaved where columns are used so badly (more, where one tile leaves nothing to other threads), as
// each group has a window of its own, which is read for a few results alone, and only where the windows of a tile are
// so small. `conv-depthwise-grad` measures it.
constexpr double kWorthGroups = 2, kWorthOneTile = 8;
constexpr int64_t kGroupWindows = 1 << 14;  // elements

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t padded(int64_t n) { return ceil_div(n, kColumnVector) * kColumnVector; }
int64_t even(int64_t extent, int64_t tile) { return ceil_div(extent, ceil_div(extent, std::max<int64_t>(1, tile))); }
size_t bytes_of(int64_t elements, size_t size) { return (static_cast<size_t>(elements) * size + 63) / 64 * 64; }

ConvolutionBlock block_of(const ConvolutionForm& form) {
  const auto& [depth, height, width] = form.space;
  ConvolutionBlock block;
  const int64_t window = form.window_size();
  if (window <= kDotBlock) return {std::min(form.in, form.block_features()), true, height.window, width.window};
  block.columns = std::min(width.window, kDotBlock);
  block.rows = block.columns < width.window ? 1 : std::clamp<int64_t>(kDotBlock / block.columns, 1, height.window);
  return block;
}

// Columns of a tile of so many examples, rows and columns: how they run, and how many vectors would be enough and are
// needed.
struct Runs {
  bool flat = false;
  int64_t run = 0, runs = 0;
  double use = 0;
};
Runs runs_of(const ConvolutionForm& form, const ConvolutionTiles& t) {
  const int64_t rows = phases_of(form.space[1], t.rows, t.block.rows).length;
  const int64_t columns = phases_of(form.space[2], t.columns, t.block.columns).length;
  const int64_t inner = t.interleaved ? t.batch : 1, outer = t.interleaved ? 1 : t.batch;
  Runs each{false, padded(t.columns * inner), outer * t.rows, 0};
  if (t.by_group) {
    const int64_t tiles = ceil_div(form.groups, t.batch);
    each.use = static_cast<double>(form.groups) / static_cast<double>(tiles * t.batch);
    return each;
  }
  const Runs one{true, padded((((outer - 1) * rows + t.rows - 1) * columns + t.columns) * inner), 1, 0};
  Runs best = one.run <= each.run * each.runs ? one : each;
  best.use = static_cast<double>(t.batch * t.rows * t.columns) / static_cast<double>(best.run * best.runs);
  return best;
}

// Chooses rows, columns and examples of a tile.
Runs choose_columns(const ConvolutionForm& form, ConvolutionTiles& t) {
  const auto& [depth, height, width] = form.space;
  if (t.by_group) {
    t.batch = kColumnVector;
    t.columns = even(width.count, kTileColumns / t.batch);
    t.rows = even(height.count, std::max<int64_t>(1, kTileColumns / (t.batch * t.columns)));
  } else if (t.interleaved) {
    // Whole vectors of few examples, so that there is room for rows, which share what windows read.
    t.columns = even(width.count, kTileColumns / kColumnVector);
    t.batch = std::min(form.batch, t.columns % 2 == 0 ? kColumnVector : 2 * kColumnVector);
    t.rows = even(height.count, std::max<int64_t>(1, kTileColumns / (t.batch * t.columns)));
    if (t.rows == height.count && t.columns == width.count) {
      const int64_t most = kTileColumns / (t.rows * t.columns);
      t.batch = std::min(form.batch, std::max(t.batch, padded(even(form.batch, most))));
    }
  } else {
    t.columns = even(width.count, kTileColumns);
    t.rows = even(height.count, std::max<int64_t>(1, kTileColumns / t.columns));
    const int64_t rows = phases_of(height, t.rows, t.block.rows).length;
    const int64_t columns = phases_of(width, t.columns, t.block.columns).length;
    const bool whole = t.rows == height.count && t.columns == width.count;
    t.batch = whole ? even(form.batch, std::max<int64_t>(1, kTileColumns / (rows * columns))) : 1;
  }
  return runs_of(form, t);
}

int64_t slab_elements(const ConvolutionForm& form, const ConvolutionTiles& t) {
  const Phases rows = phases_of(form.space[1], t.rows, t.block.rows);
  const Phases columns = phases_of(form.space[2], t.columns, t.block.columns);
  return t.block.features * (t.block.planes ? form.space[0].window : 1) * rows.count * columns.count * t.batch *
         rows.length * columns.length;
}

}  // namespace

bool ConvolutionForm::is_long() const { return std::max(in, whole_in) * window_size() > kLongDot; }

int64_t ConvolutionForm::block_features() const { return std::max<int64_t>(1, kDotBlock / window_size()); }

Phases phases_of(const ConvolutionForm::Space& space, int64_t results, int64_t places) {
  const int64_t apart = std::gcd(space.stride, space.dilation);
  const Phases shared{false, space.stride, apart, space.stride / apart,
                      results + (places - 1) * space.dilation / space.stride};
  const Phases own{true, space.stride, space.dilation, places, results};
  return own.count * own.length <= shared.count * shared.length ? own : shared;
}

ConvolutionTiles convolution_tiles(const ConvolutionForm& form) {
  ConvolutionTiles t;
  t.block = block_of(form);
  Runs runs = choose_columns(form, t);
  if (form.batch > 1 && form.out * form.window_size() >= kWorthMoving) {
    ConvolutionTiles other = t;
    other.interleaved = true;
    const Runs of_other = choose_columns(form, other);
    if (of_other.use > kWorthInterleaving * runs.use) t = other, runs = of_other;
  }
  if (form.groups >= kColumnVector && form.out * t.block.terms(form) * kColumnVector <= kGroupWindows) {
    ConvolutionTiles other;
    other.block = t.block;
    other.interleaved = other.by_group = true;
    const double worth = form.groups > kColumnVector || form.batch > 1 ? kWorthGroups : kWorthOneTile;
    if (choose_columns(form, other).use > worth * runs.use) t = other;
  }
  // What a tile reads of one feature grows with the window: fewer rows where that is much.
  while (t.rows > 1 && slab_elements(form, t) > kSlabElements) t.rows = ceil_div(t.rows, 2);
  runs = runs_of(form, t);
  for (; runs.run * runs.runs > 2 * kTileColumns && t.rows * t.batch > 1; runs = runs_of(form, t)) {
    int64_t& tile = t.rows > 1 ? t.rows : t.batch;
    tile = ceil_div(tile, 2);
  }
  t.flat = runs.flat, t.run = runs.run, t.runs = runs.runs;
  t.out = even(form.out, kTileOut);

  const auto& [depth, height, width] = form.space;
  const auto tiles = [&] {
    const int64_t parts =
        t.by_group ? ceil_div(form.groups, t.batch) * form.batch : form.groups * ceil_div(form.batch, t.batch);
    return parts * depth.count * ceil_div(height.count, t.rows) * ceil_div(width.count, t.columns) *
           ceil_div(form.out, t.out);
  };
  const auto work = [&] {
    return static_cast<double>(t.out) * static_cast<double>(t.run * t.runs) *
           static_cast<double>(form.in * form.window_size());
  };
  while (tiles() < kEnoughTiles && t.out > kLeastOut && work() > 2 * kWorthATile) t.out = ceil_div(t.out, 2);
  t.count = tiles();

  const size_t size = size_of(form.dtype);
  const int64_t terms = t.block.terms(form);
  t.slab = slab_elements(form, t);
  t.window_bytes = bytes_of(t.out * terms * (t.by_group ? t.batch : 1), size);
  t.slab_bytes = bytes_of(t.slab + 2 * kColumnVector, size);
  t.sum_bytes = bytes_of(t.out * t.run * t.runs, size);
  t.offset_bytes = bytes_of(2 * terms, sizeof(int64_t));
  const double bytes =
      static_cast<double>(size) * static_cast<double>(form.groups) *
      (static_cast<double>(form.batch * form.in) * static_cast<double>(depth.extent * height.extent * width.extent) +
       static_cast<double>(form.out * form.in) * static_cast<double>(form.window_size()) +
       static_cast<double>(form.batch * form.out) * static_cast<double>(form.count()));
  t.slots = tiles_in_flight(t.count, work(), bytes, t.slot_bytes());
  return t;
}

size_t convolution_scratch_bytes(const ConvolutionForm& form) {
  const ConvolutionTiles t = convolution_tiles(form);
  return static_cast<size_t>(t.slots) * t.slot_bytes();
}

}  // namespace neap::planner
