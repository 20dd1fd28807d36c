// Random programs for ranks: collectives of every kind, in loops, branches, batches and derivatives.
#pragma once

#include <neap/neap.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace neap {

/// Numbers are small integers, so that no order of sums rounds. All ranks draw the same program.
class RandomRanks {
 public:
  RandomRanks(uint64_t seed, Mesh::Axes axes) : random_(seed), axes_(std::move(axes)) {}

  /// Returns what a rank with this block has computed, every value with an axis of one element for each axis of the
  /// mesh before its own.
  std::vector<Array> operator()(const Array& block) {
    values_ = {bounded(block), bounded(block + rank_number())};
    for (int i = 0; i < 6; ++i) values_.push_back(bounded(step(), i));
    std::vector<Array> out;
    for (const Array& value : values_) {
      Shape shape = value.shape();
      shape.insert(shape.begin(), axes_.size(), 1);
      out.push_back(reshape(value, shape));
    }
    return out;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int64_t n) { return below(n) == 0; }
  const std::string& axis() { return axes_[static_cast<size_t>(below(std::ssize(axes_)))].first; }
  Array value() { return values_[static_cast<size_t>(below(std::ssize(values_)))]; }

  AxisNames all_axes() {
    AxisNames names{};
    for (const auto& [name, size] : axes_) names.names.push_back(name);
    return names;
  }
  Array rank_number() {
    Array number = zeros({}, i32);
    for (const auto& [name, size] : axes_) number = number * size + axis_index(name);
    return number;
  }

  // Integers in [-8, 8] in one of a few dtypes, of 4 rows at most.
  Array bounded(const Array& x, int64_t salt = 0) {
    static constexpr DType kTypes[] = {f32, f64, i32, bf16, f16, i64};
    Array v = x;
    if (v.ndim() == 0) v = reshape(v, {1});
    if (v.ndim() > 2) v = reshape(v, {v.shape()[0], -1});
    if (v.shape()[0] > 4) v = v[{slice(0, 4)}];
    if (v.ndim() == 2 && v.shape()[1] > 6) v = v[{slice(), slice(0, 6)}];
    v = clip(convert(v, f64), -1000.0, 1000.0) + static_cast<double>(salt);
    v = v - 17 * floor((v + 8) / 17);
    return convert(v, kTypes[below(std::ssize(kTypes))]);
  }

  // A pairing of ranks: some are no source, some no destination.
  std::vector<std::pair<int64_t, int64_t>> pairs(int64_t n) {
    std::vector<int64_t> to;
    for (int64_t r = 0; r < n; ++r) to.push_back(r);
    std::shuffle(to.begin(), to.end(), random_);
    std::vector<std::pair<int64_t, int64_t>> result;
    for (int64_t r = 0; r < n; ++r)
      if (!chance(4)) result.emplace_back(r, to[static_cast<size_t>(r)]);
    return result;
  }

  // n blocks like x, side by side along axis 0 or a new one.
  Array blocks(const Array& x, int64_t n, bool tiled) {
    std::vector<Array> all;
    for (int64_t i = 0; i < n; ++i) all.push_back(tiled ? x + i : expand_dims(x + i, 0));
    return concatenate(all, 0);
  }

  Array collective(const Array& x) {
    const std::string& over = axis();
    const int64_t n = axis_size(over);
    const bool tiled = chance(2);
    switch (below(9)) {
      case 0: return chance(3) ? psum(x, all_axes()) : psum(x, over);
      case 1: return chance(2) ? pmax(x, over) : pmin(x, over);
      case 2: return all_gather(x, over, tiled ? 0 : below(x.ndim() + 1), tiled);
      case 3: return reduce_scatter(blocks(x, n, tiled), over, 0, tiled);
      case 4: return all_to_all(blocks(x, n, tiled), over, 0, tiled ? x.ndim() - 1 : 0, tiled);
      case 5: return ppermute(x, over, pairs(n));
      case 6:
        if (x.shape()[0] == 0) return ppermute(x, over, pairs(n));  // of a ragged exchange
        return halo_exchange(x, over, 1 + below(x.shape()[0]), {.axis = 0, .periodic = chance(2)});
      case 7: return ragged(blocks(x, n, true), over, n);
      default: return local_block(blocks(x, n, true), over, 0);
    }
  }

  // Windows of rows, side by side or one over the other, which lie apart where they arrive.
  Array ragged(const Array& x, const std::string& over, int64_t n) {
    std::vector<int64_t> first, count, place;
    const int64_t rows = x.shape()[0];
    const bool derives = !chance(4);  // what several ranks have sent has no derivative
    for (int64_t from = 0; from < n; ++from)
      for (int64_t to = 0, next = 0; to < n; ++to) {
        count.push_back(below(derives ? (rows - next) / (n - to) + 1 : rows + 1));
        first.push_back(derives ? next : below(rows - count.back() + 1));
        next += count.back();
      }
    int64_t result = 0;
    for (int64_t to = 0; to < n; ++to) {
      int64_t next = below(2);
      for (int64_t from = n; from-- > 0; next += count[static_cast<size_t>(from * n + to)] + below(2)) {
        place.resize(static_cast<size_t>(n * n));
        place[static_cast<size_t>(to * n + from)] = next;
      }
      result = std::max(result, next);
    }
    const auto table = [&](const std::vector<int64_t>& numbers) {  // made in the program: nothing from outside is read
      std::vector<Array> all;
      for (const int64_t number : numbers) all.push_back(full({1}, number, i32));
      return reshape(concatenate(all, 0), {n, n});
    };
    const Array rank = axis_index(over);
    const Array v = derives ? x : stop_gradient(x);
    return ragged_all_to_all(v, {take(table(first), rank), take(table(count), rank)},
                             {take(table(place), rank), take(table(count), rank, 1)}, result + below(2), over);
  }

  Array step() {
    const Array x = value();
    switch (below(8)) {
      case 0: {  // a loop with a collective in it
        const std::string& over = axis();
        const int64_t n = axis_size(over);
        const auto ring = pairs(n);
        return fori_loop(
            0, 3,
            [&](const Array&, const Array& v) {
              return convert(clip(ppermute(v, over, ring) + psum(v, over), -8, 8), v.dtype());
            },
            x);
      }
      case 1: {  // a branch that all take, or none
        const std::string& over = axis();
        const Array all = pmax(sum(convert(x, f64)), all_axes());
        return cond(
            all > 3.0, [&](const Array& v) { return psum(v, over); }, [&](const Array& v) { return v + pmin(v, over); },
            x);
      }
      case 2: {  // a batch
        const std::string& over = axis();
        const auto ring = pairs(axis_size(over));
        return vmap([&](const Array& row) { return psum(row, over) + ppermute(row, over, ring); })(x);
      }
      case 3: {  // a derivative
        const Array real = convert(x, f64);
        const uint64_t seed = random_();
        return grad([&](const Array& v) {
          RandomRanks inner(seed, axes_);
          return sum(square(inner.collective(v)));
        })(real);
      }
      case 4: return x * convert(rank_number(), x.dtype());
      default: return collective(x);
    }
  }

  std::mt19937_64 random_;
  Mesh::Axes axes_;
  std::vector<Array> values_;
};

}  // namespace neap
