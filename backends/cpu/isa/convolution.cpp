// Convolutions as products without patches in memory. A tile of the result is some features by a range of examples,
// rows and columns; block after block of terms, what the tile reads of the operand is copied to a slab in which it is
// padded and lies so that a step along the result is a step of 1, whatever the stride. Each term then is a row of the
// right factor that begins at its own place in the slab: the product's kernel reads it there. The order in which an
// element is summed is that of the terms: how the result is cut into tiles changes no bit. Where groups are many and
// have few results of small windows, as in the gradient of depthwise ones, a vector holds an element of several groups.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backends/cpu/isa/blocks.h"
#include "core/thread_pool.h"
#include "planner/kernels/convolution_form.h"

namespace neap::cpu::NEAP_ISA {
namespace {

using planner::ConvolutionForm;
using planner::ConvolutionTiles;
using planner::Phases;
using planner::phases_of;

// Few rows are multiplied by more columns at once, so that no sum waits for the one before.
constexpr int kWide = kVectorBytes == 64 ? 4 : 2;  // times kColumns

constexpr int64_t kGroups = planner::kColumnVector;  // of a tile, where lanes are groups

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Rows are often short: no call for each.
template <class T>
[[gnu::always_inline]] inline void copy(const T* from, T* to, int64_t n) {
  constexpr int64_t kLength = 32 / sizeof(T);
  if (n >= kLength) {
    int64_t i = 0;
    for (; i + kLength <= n; i += kLength) std::memcpy(to + i, from + i, 32);
    std::memcpy(to + n - kLength, from + n - kLength, 32);  // what was copied, again
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

template <int64_t kStep, class T>
void copy_every(const T* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * kStep];
}

struct Range {
  int64_t begin, size;
};
Range part(int64_t number, int64_t tile, int64_t extent) {
  return {number * tile, std::min(tile, extent - number * tile)};
}

template <class T>
class Convolution {
 public:
  Convolution(const ConvolutionForm& form, const void* lhs, const void* rhs, void* out)
      : form_(form),
        tiles_(planner::convolution_tiles(form)),
        lhs_(static_cast<const T*>(lhs)),
        rhs_(static_cast<const T*>(rhs)),
        out_(static_cast<T*>(out)) {}

  const ConvolutionTiles& tiles() const { return tiles_; }

  void run(int64_t number, std::byte* slot) const {
    const auto& [depth, height, width] = form_.space;
    const auto next = [&](int64_t extent, int64_t tile) {
      const int64_t count = (extent + tile - 1) / tile;
      return part(std::exchange(number, number / count) % count, tile, extent);
    };
    Tile t;
    t.out = next(form_.out, tiles_.out);
    t.columns = next(width.count, tiles_.columns);
    t.rows = next(height.count, tiles_.rows);
    t.plane = next(depth.count, 1).begin;
    t.batch = next(form_.batch, tiles_.by_group ? 1 : tiles_.batch);
    t.group = tiles_.by_group ? number * kGroups : number;
    t.lanes = tiles_.by_group ? Lanes{std::min(kGroups, form_.groups - t.group), form_.lhs.group, form_.result.group}
                              : Lanes{t.batch.size, form_.lhs.batch, form_.result.batch};
    t.of_rows = phases_of(height, t.rows.size, tiles_.block.rows);
    t.of_columns = phases_of(width, t.columns.size, tiles_.block.columns);
    const int64_t inner = tiles_.by_group ? kGroups : tiles_.interleaved ? t.batch.size : 1;
    const int64_t outer = tiles_.interleaved ? 1 : t.batch.size;
    t.along_column = inner;
    t.along_row = t.of_columns.length * inner;
    t.along_example = tiles_.interleaved ? 1 : t.of_rows.length * t.of_columns.length;
    t.phase = inner * outer * t.of_rows.length * t.of_columns.length;
    const auto padded = [](int64_t n) { return ceil_div(n, planner::kColumnVector) * planner::kColumnVector; };
    t.run = padded(tiles_.flat ? (outer - 1) * t.along_example + (t.rows.size - 1) * t.along_row +
                                     (t.columns.size - 1) * t.along_column + inner
                               : t.columns.size * inner);
    t.runs = tiles_.flat ? 1 : outer * t.rows.size;
    t.packed = reinterpret_cast<T*>(slot);
    t.slab = reinterpret_cast<T*>(slot + tiles_.window_bytes);
    t.sums = reinterpret_cast<T*>(slot + tiles_.window_bytes + tiles_.slab_bytes);
    t.slab_offsets = reinterpret_cast<int64_t*>(slot + tiles_.window_bytes + tiles_.slab_bytes + tiles_.sum_bytes);
    if (form_.adds) move_sums<false>(t);
    add_terms(t);
    move_sums<true>(t);
  }

 private:
  // What lies side by side, or one after the other: examples, or groups.
  struct Lanes {
    int64_t count, of_lhs, of_result;  // strides
  };
  struct Tile {
    Range out, batch, rows, columns;
    int64_t group, plane;  // the first group
    Lanes lanes;
    Phases of_rows, of_columns;
    int64_t along_example, along_row, along_column, phase;  // in the slab
    int64_t run, runs;                                      // of columns
    T *packed, *slab, *sums;
    int64_t* slab_offsets;
  };
  // A block of terms: features, and places of the window.
  struct Block {
    Range features, planes, rows, columns;
    int64_t terms() const { return features.size * planes.size * rows.size * columns.size; }
  };

  // Where a result is among the sums of a row.
  int64_t place(const Tile& t, int64_t example, int64_t row, int64_t column) const {
    if (tiles_.flat) return example * t.along_example + row * t.along_row + column * t.along_column;
    return tiles_.interleaved ? row * t.run + column * t.along_column + example
                              : (example * t.rows.size + row) * t.run + column;
  }

  template <bool kOut>
  void move_sums(const Tile& t) const {
    const auto& to = form_.result;
    const bool dense = to.space[2] == 1 && t.along_column == 1;
    for (int64_t o = 0; o < t.out.size; ++o) {
      T* const sums = t.sums + o * t.run * t.runs;
      T* const result = out_ + t.group * to.group + t.batch.begin * to.batch + (t.out.begin + o) * to.out +
                        t.plane * to.space[0] + t.columns.begin * to.space[2];
      for (int64_t lane = 0; lane < t.lanes.count; ++lane) {
        for (int64_t row = 0; row < t.rows.size; ++row) {
          T* const there = result + lane * t.lanes.of_result + (t.rows.begin + row) * to.space[1];
          T* const here = sums + place(t, lane, row, 0);
          if (dense) {
            kOut ? copy(here, there, t.columns.size) : copy(there, here, t.columns.size);
            continue;
          }
          for (int64_t column = 0; column < t.columns.size; ++column) {
            T &far = there[column * to.space[2]], &near = here[column * t.along_column];
            kOut ? far = near : near = far;
          }
        }
      }
    }
  }

  void add_terms(const Tile& t) const {
    const auto& [depth, height, width] = form_.space;
    const planner::ConvolutionBlock& size = tiles_.block;
    Sums how{form_.adds, form_.is_long()};
    for (int64_t f = 0; f < form_.in; f += size.features) {
      for (int64_t d = 0; d < depth.window; d += size.planes ? depth.window : 1) {
        for (int64_t r = 0; r < height.window; r += size.rows) {
          for (int64_t c = 0; c < width.window; c += size.columns, how.adds = true) {
            const Block block{{f, std::min(size.features, form_.in - f)},
                              {d, size.planes ? depth.window : 1},
                              {r, std::min(size.rows, height.window - r)},
                              {c, std::min(size.columns, width.window - c)}};
            fill_slab(t, block);
            const int64_t* const in_window = find_offsets(t, block);
            if (tiles_.by_group) {
              pack_windows(t, block);
              multiply_groups(t, block.terms(), how);
              continue;
            }
            const auto go = [&]<int kM, int kN>() {
              pack_window<kM>(t, block, in_window);
              multiply<kM, kN>(t, block.terms(), how);
            };
            switch (t.out.size) {
              case 1:
              case 2: go.template operator()<2, kWide * kColumns<T>>(); break;
              case 3: go.template operator()<3, 2 * kColumns<T>>(); break;
              default: go.template operator()<kRows, kColumns<T>>();
            }
          }
        }
      }
    }
  }

  // Where each term begins in the slab, and behind that where it is in the window, from the block's first.
  const int64_t* find_offsets(const Tile& t, const Block& block) const {
    const auto& [depth, height, width] = form_.space;
    const auto& window = form_.rhs;
    int64_t *in_slab = t.slab_offsets, *in_window = in_slab + block.terms();
    int64_t* const result = in_window;
    for (int64_t f = 0; f < block.features.size; ++f) {
      for (int64_t d = 0; d < block.planes.size; ++d) {
        const int64_t first = (f * block.planes.size + d) * t.of_rows.count;
        for (int64_t r = 0; r < block.rows.size; ++r) {
          const int64_t phases = (first + t.of_rows.phase(r, height.dilation)) * t.of_columns.count;
          const int64_t row = t.of_rows.begin(r, height.dilation) * t.along_row;
          for (int64_t c = 0; c < block.columns.size; ++c) {
            *in_slab++ = (phases + t.of_columns.phase(c, width.dilation)) * t.phase + row +
                         t.of_columns.begin(c, width.dilation) * t.along_column;
            *in_window++ = f * window.in + d * window.space[0] + r * window.space[1] + c * window.space[2];
          }
        }
      }
    }
    return result;
  }

  template <int kM>
  void pack_window(const Tile& t, const Block& block, const int64_t* offsets) const {
    const auto& from = form_.rhs;
    const T* const first = rhs_ + t.group * from.group + t.out.begin * from.out + block.features.begin * from.in +
                           block.planes.begin * from.space[0] + block.rows.begin * from.space[1] +
                           block.columns.begin * from.space[2];
    const int64_t terms = block.terms();
    if (offsets[terms - 1] == terms - 1 && std::is_sorted(offsets, offsets + terms)) {  // one behind the other
      return pack<T, kM>({first, from.out, 1}, t.out.size, terms, t.packed);
    }
    in_blocks<kM>(0, t.out.size, [&]<int kBlock>(int64_t begin) {
      T* panel = t.packed + begin * terms;
      const T* const rows = first + begin * from.out;
      for (int64_t p = 0; p < terms; ++p) {
        for (int i = 0; i < kBlock; ++i) panel[p * kBlock + i] = rows[i * from.out + offsets[p]];
      }
    });
  }

  // A window of each group, side by side.
  void pack_windows(const Tile& t, const Block& block) const {
    const auto& from = form_.rhs;
    T* to = t.packed;
    for (int64_t o = 0; o < t.out.size; ++o) {
      for (int64_t f = 0; f < block.features.size; ++f) {
        for (int64_t d = 0; d < block.planes.size; ++d) {
          for (int64_t r = 0; r < block.rows.size; ++r, to += block.columns.size * kGroups) {
            const T* const first = rhs_ + t.group * from.group + (t.out.begin + o) * from.out +
                                   (block.features.begin + f) * from.in + (block.planes.begin + d) * from.space[0] +
                                   (block.rows.begin + r) * from.space[1] + block.columns.begin * from.space[2];
            interleave(first, from.group, t.lanes.count, from.space[2], block.columns.size, to, kGroups);
          }
        }
      }
    }
  }

  void fill_slab(const Tile& t, const Block& block) const {
    const auto& [depth, height, width] = form_.space;
    const auto& from = form_.lhs;
    const int64_t first_row = t.rows.begin * height.stride + block.rows.begin * height.dilation - height.low;
    const int64_t first_column = t.columns.begin * width.stride + block.columns.begin * width.dilation - width.low;
    // By place there may be fewer than a whole block has; phases are there all the same.
    const int64_t row_phases = t.of_rows.by_place ? block.rows.size : t.of_rows.count;
    const int64_t column_phases = t.of_columns.by_place ? block.columns.size : t.of_columns.count;
    T* end = t.slab;
    for (int64_t f = 0; f < block.features.size; ++f) {
      for (int64_t d = 0; d < block.planes.size; ++d) {
        const int64_t plane = t.plane * depth.stride + (block.planes.begin + d) * depth.dilation - depth.low;
        const int64_t first = t.group * from.group + t.batch.begin * from.batch + (block.features.begin + f) * from.in +
                              plane * from.space[0];
        const bool there = plane >= 0 && plane < depth.extent;
        for (int64_t p = 0; p < row_phases; ++p) {
          T* phase = t.slab + ((f * block.planes.size + d) * t.of_rows.count + p) * t.of_columns.count * t.phase;
          for (int64_t q = 0; q < column_phases; ++q, phase += t.phase) {
            const int64_t column = first_column + q * t.of_columns.apart, step = t.of_columns.step;
            const int64_t low = std::clamp<int64_t>(ceil_div(-column, step), 0, t.of_columns.length);
            const int64_t high = std::clamp<int64_t>(ceil_div(width.extent - column, step), low, t.of_columns.length);
            for (int64_t i = 0; i < t.of_rows.length; ++i) {
              const int64_t row = first_row + p * t.of_rows.apart + i * t.of_rows.step;
              T* const to = phase + i * t.along_row;
              const bool is_row = there && row >= 0 && row < height.extent;
              copy_row(t, is_row ? Range{low, high - low} : Range{0, 0},
                       first + row * from.space[1] + (column + low * step) * from.space[2], to);
            }
            end = std::max(end, phase + t.phase);
          }
        }
      }
    }
    std::fill(end, end + 2 * planner::kColumnVector, T{});  // vectors of columns may end behind the last of them
  }

  // A row of each lane: what is in the range, which begins with element `first` of the operand, zeros around it.
  void copy_row(const Tile& t, Range range, int64_t first, T* to) const {
    const int64_t step = t.of_columns.step * form_.lhs.space[2], length = t.of_columns.length;
    const auto [count, along, of_result] = t.lanes;
    if (!tiles_.interleaved) {
      for (int64_t lane = 0; lane < count; ++lane, first += along, to += t.along_example) {
        std::fill(to, to + range.begin, T{});
        T* const there = to + range.begin;
        switch (step) {
          case 1: copy(lhs_ + first, there, range.size); break;
          case 2: copy_every<2>(lhs_ + first, there, range.size); break;
          default:
            for (int64_t j = 0; j < range.size; ++j) there[j] = lhs_[first + j * step];
        }
        std::fill(there + range.size, to + length, T{});
      }
      return;
    }
    const int64_t n = t.along_column;
    T* const there = to + range.begin * n;
    std::fill(to, there, T{});
    std::fill(there + range.size * n, to + length * n, T{});
    if (range.size > 0) interleave(lhs_ + first, along, count, step, range.size, there, n);
  }

  // to[j * n + lane] = from[lane * along + j * step], for `count` lanes and `size` elements of each.
  static void interleave(const T* from, int64_t along, int64_t count, int64_t step, int64_t size, T* to, int64_t n) {
    if (along == 1) {
      for (int64_t j = 0; j < size; ++j)
        std::memcpy(to + j * n, from + j * step, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    int64_t lane = 0;
    for (; step == 1 && lane + 4 <= count; lane += 4) {
      const T* const four = from + lane * along;
      int64_t j = transpose<T, 4>(four, along, size, to + lane, n);
      for (; j < size; ++j) {
        for (int64_t e = 0; e < 4; ++e) to[j * n + lane + e] = four[e * along + j];
      }
    }
    for (; lane < count; ++lane) {
      for (int64_t j = 0; j < size; ++j) to[j * n + lane] = from[lane * along + j * step];
    }
  }

  template <int kM, int kN>
  void multiply(const Tile& t, int64_t terms, Sums how) const {
    const int64_t stride = t.run * t.runs;
    for (int64_t run = 0; run < t.runs; ++run) {
      const int64_t begin = tiles_.interleaved ? run * t.along_row
                                               : run / t.rows.size * t.along_example + run % t.rows.size * t.along_row;
      in_blocks<kN>(0, t.run, [&]<int kColumnsHere>(int64_t column) {
        if constexpr (kColumnsHere * sizeof(T) >= 16) {
          in_blocks<kM>(0, t.out.size, [&]<int kRowsHere>(int64_t row) {
            multiply_block<T, kRowsHere, kColumnsHere>(terms, ByTerms<T>{t.packed + row * terms, kRowsHere},
                                                       Scattered<T>{t.slab + begin + column, t.slab_offsets},
                                                       t.sums + row * stride + run * t.run + column, stride, how);
          });
        }
      });
    }
  }

  // Lanes are groups: each result's are a vector, multiplied by those of the window. Nine results at once, where there
  // are as many, so that no sum waits for the one before.
  void multiply_groups(const Tile& t, int64_t terms, Sums how) const {
    const auto in_threes = [](int64_t extent, const auto& visit) {
      for (int64_t begin = 0; begin < extent;) {
        const int64_t rest = extent - begin, size = ceil_div(rest, ceil_div(rest, 3));
        switch (size) {
          case 1: visit.template operator()<1>(begin); break;
          case 2: visit.template operator()<2>(begin); break;
          default: visit.template operator()<3>(begin);
        }
        begin += size;
      }
    };
    constexpr int kLength = kVectorBytes / static_cast<int>(sizeof(T));
    for (int64_t o = 0; o < t.out.size; ++o) {
      for (int64_t lane = 0; lane < t.lanes.count; lane += kLength) {
        const T* const windows = t.packed + o * terms * kGroups + lane;
        T* const sums = t.sums + o * t.run * t.runs + lane;
        in_threes(t.rows.size, [&]<int kM>(int64_t row) {
          in_threes(t.columns.size, [&]<int kN>(int64_t column) {
            multiply_lanes<kM, kN>(terms, windows, t.slab + row * t.along_row + column * kGroups + lane, t.along_row,
                                   t.slab_offsets, sums + row * t.run + column * kGroups, t.run, how);
          });
        });
      }
    }
  }

  // out[r][c] = (out[r][c] or 0) + sum over k of a[k] * b[offset[k]][r][c], of vectors of groups.
  template <int kM, int kN>
  static void multiply_lanes(int64_t k, const T* a, const T* b, int64_t along_row, const int64_t* offset, T* out,
                             int64_t stride, Sums how) {
    using Vector = typename VectorOf<T, kVectorBytes / static_cast<int>(sizeof(T))>::type;
    const auto there = [&](int r, int c) -> Vector& {
      return *reinterpret_cast<Vector*>(out + r * stride + c * kGroups);
    };
    Vector sum[kM][kN];
    const bool goes_on = how.adds && !how.apart;
    for (int r = 0; r < kM; ++r) {
      for (int c = 0; c < kN; ++c) sum[r][c] = goes_on ? there(r, c) : Vector{};
    }
    for (int64_t p = 0; p < k; ++p) {
      const Vector left = *reinterpret_cast<const Vector*>(a + p * kGroups);
      const T* const right = b + offset[p];
      for (int r = 0; r < kM; ++r) {
        for (int c = 0; c < kN; ++c) {
          sum[r][c] = left * *reinterpret_cast<const Vector*>(right + r * along_row + c * kGroups) + sum[r][c];
        }
      }
    }
    for (int r = 0; r < kM; ++r) {
      for (int c = 0; c < kN; ++c) {
        if (how.apart) sum[r][c] = (how.adds ? there(r, c) : Vector{}) + sum[r][c];
        there(r, c) = sum[r][c];
      }
    }
  }

  const ConvolutionForm& form_;
  const ConvolutionTiles tiles_;
  const T *lhs_, *rhs_;
  T* out_;
};

template <class T>
void convolve(const ConvolutionForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  const Convolution<T> convolution(form, lhs, rhs, out);
  const ConvolutionTiles& tiles = convolution.tiles();
  parallel_in_slots(tiles.count, tiles.slots, [&](int64_t i, int slot) {
    convolution.run(i, scratch + static_cast<size_t>(slot) * tiles.slot_bytes());
  });
}

}  // namespace

// Apart, so that a program that needs one of them is linked with one of them.
void convolve_f32(const ConvolutionForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  convolve<float>(form, lhs, rhs, out, scratch);
}
void convolve_f64(const ConvolutionForm& form, const void* lhs, const void* rhs, void* out, std::byte* scratch) {
  convolve<double>(form, lhs, rhs, out, scratch);
}

}  // namespace neap::cpu::NEAP_ISA
