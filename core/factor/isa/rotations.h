// Plane rotations that an iteration makes one by one are applied many at a time to strips that stay in the cache.
#pragma once

#include "core/factor/isa/view.h"

namespace neap::factor::NEAP_ISA {

/// A row of a strip has this many bytes; strips are gathered in the packing space of the work. Wider rows use more
/// vector registers and cache, narrower ones gather more often: time form svd of case ops to choose it again.
inline constexpr size_t kRotatedBytes = 256;

/// Magnitudes below this, in a matrix whose largest element is about 1, count as zero: their squares, and products with
/// others like them, vanish in double (its smallest number is 5e-324).
inline constexpr double kTiny = 1e-290;

/// Says whether an element beside the diagonal counts as zero, of a matrix whose largest is about 1: where it is small
/// to its neighbours on the diagonal (their sum is `near`), to the largest of the part at which an iteration begins, or
/// at all. In the last two cases products of what it couples vanish in the end, and no step would change anything.
inline bool is_apart(double beside, double near, double epsilon, double largest) {
  return std::abs(beside) <= 1e-150 + epsilon * near + 1e-70 * largest;
}

/// Returns sqrt(a^2 + b^2), also where the squares vanish.
inline double length(double a, double b) {
  const double squared = a * a + b * b;
  return squared > kTiny ? std::sqrt(squared) : std::hypot(a, b);
}

template <class T>
class Rotations {
 public:
  struct Rotation {
    int32_t first, second;
    T c, s;
  };
  // Rotations are collected until there are so many: each flush reads and writes the whole of z once, which took half
  // of the time of svd of 1000 x 1000 where there were 4 n. The list is part of the work space that the plan counts.
  static int64_t capacity(int64_t n) { return std::clamp<int64_t>((n <= kHeldRows ? 8 : 32) * n, 16, 65536); }
  static constexpr int64_t kHeldRows = 512;  // of a matrix that a cache near the core holds
  static size_t room(int64_t n) { return round_up(static_cast<size_t>(capacity(n)) * sizeof(Rotation)); }

  /// Prepares rotations of the rows of z; where z is null they are dropped.
  Rotations(T* z, int64_t n, std::byte* room, const Work<T>& work)
      : z_(z), n_(n), list_(reinterpret_cast<Rotation*>(room)), work_(work) {}

  /// Sets (row i, row j) := (c row i + s row j, c row j - s row i).
  void add(int64_t i, int64_t j, double c, double s) {
    if (!z_) return;
    list_[count_++] = {static_cast<int32_t>(i), static_cast<int32_t>(j), static_cast<T>(c), static_cast<T>(s)};
    if (count_ == capacity(n_)) flush();
  }

  void flush() {
    work_.strips(
        count_ > 0 ? n_ : 0, [&](int64_t begin, int64_t end, const Work<T>& own) { turn(begin, end, own.room()); },
        kStrip);
    count_ = 0;
  }

 private:
  static constexpr int64_t kStrip = kRotatedBytes / sizeof(T);

  // Rotates columns begin to end of z, gathered: rows a power of two apart would share few places of a cache. A
  // rotation mostly begins with the row at which the one before ended, which stays in registers.
  void turn(int64_t begin, int64_t end, T* rows) const {
    const auto width = static_cast<size_t>(end - begin) * sizeof(T);
    for (int64_t i = 0; i < n_; ++i) {
      std::memset(rows + i * kStrip, 0, kRotatedBytes);
      std::memcpy(rows + i * kStrip, z_ + i * n_ + begin, width);
    }
    constexpr int64_t kHeld = kStrip / kLanes<T>;
    Register<T> held[kHeld] = {};
    int64_t row = -1;
    const auto put_back = [&] {
      for (int64_t v = 0; v < kHeld; ++v) lanes(rows + row * kStrip + v * kLanes<T>) = held[v];
    };
    for (int64_t r = 0; r < count_; ++r) {
      const auto [first, second, c, s] = list_[r];
      T *const x = rows + first * kStrip, *const y = rows + second * kStrip;
      if (row != first) {
        if (row >= 0) put_back();
        for (int64_t v = 0; v < kHeld; ++v) held[v] = lanes(x + v * kLanes<T>);
      }
      for (int64_t v = 0; v < kHeld; ++v) {
        const Register<T> b = lanes(y + v * kLanes<T>), cb = b * c, sb = b * s;
        lanes(x + v * kLanes<T>) = sb + held[v] * c;
        held[v] = cb - held[v] * s;  // all that the next rotation waits for
      }
      row = second;
    }
    put_back();
    for (int64_t i = 0; i < n_; ++i) std::memcpy(z_ + i * n_ + begin, rows + i * kStrip, width);
  }

  T* z_;
  int64_t n_;
  Rotation* list_;
  int64_t count_ = 0;
  const Work<T>& work_;
};

/// Turned rotates rows of a small matrix at once.
template <class T>
struct Turned {
  T* rows;
  int64_t n, stride;
  /// As that of Rotations.
  void add(int64_t i, int64_t j, double c, double s) const {
    const auto cosine = static_cast<T>(c), sine = static_cast<T>(s);
    T *const x = rows + i * stride, *const y = rows + j * stride;
    for (int64_t at = 0; at < n; ++at) {
      const T a = x[at], b = y[at];
      x[at] = cosine * a + sine * b;
      y[at] = cosine * b - sine * a;
    }
  }
};

/// Puts values in order by `before`, and the rows of each matrix [n, n] that is not null with them.
template <class T, class Before>
void sort_rows(double* values, int64_t n, std::initializer_list<T*> matrices, Before before) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t best = std::min_element(values + i, values + n, before) - values;
    if (best == i) continue;
    std::swap(values[i], values[best]);
    for (T* z : matrices)
      if (z) std::swap_ranges(z + i * n, z + (i + 1) * n, z + best * n);
  }
}

/// Returns the largest magnitude, or NaN where an element is NaN or infinite. `lower` reads the lower triangle alone.
template <class T>
T largest(View<const T> a, bool lower) {
  T most = 0;
  bool finite = true;
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < (lower ? i + 1 : a.columns); ++j) {
      const T x = std::abs(a(i, j));
      finite &= x <= std::numeric_limits<T>::max();
      most = std::max(most, x);
    }
  }
  return finite ? most : std::numeric_limits<T>::quiet_NaN();
}

/// Carver cuts room into arrays; without room it only counts.
class Carver {
 public:
  explicit Carver(std::byte* room) : room_(room) {}
  template <class U>
  U* take(int64_t count) {
    U* const at = room_ ? reinterpret_cast<U*>(room_ + used_) : nullptr;
    used_ += round_up(static_cast<size_t>(count) * sizeof(U));
    return at;
  }
  std::byte* bytes(size_t count) { return take<std::byte>(static_cast<int64_t>(count)); }
  size_t used() const { return used_; }

 private:
  std::byte* room_;
  size_t used_ = 0;
};

}  // namespace neap::factor::NEAP_ISA
