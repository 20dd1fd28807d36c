#include "core/check.h"
#include "core/factor/isa/rotations.h"

namespace neap::factor::NEAP_ISA {

Layout layout(const Form& form);

namespace {

// The most matrices of a batch, or strips of one, in flight. bench/ has no case for it: time linalg functions on
// batches, with the plan's peak_bytes() beside the time, to choose these four again.
constexpr int64_t kMostSlots = 16;
constexpr size_t kLittle = size_t{1} << 20;  // bytes of work space that any factorization may take
constexpr double kTask = 20e3;               // flops for which starting a task is worth it
constexpr double kInOneStrip = 1e6;          // flops up to which threads do not share one matrix

template <class T>
void run_one(const Form& form, const T* triangle, const T* a, T* out, std::byte* room, const Work<T>& work) {
  const int64_t m = form.m, n = form.n;
  switch (form.kind) {
    case Kind::cholesky: {
      if (out != a) std::copy_n(a, n * n, out);
      cholesky(matrix(out, n, n), work);
      // What failed failed on the diagonal, and its NaN went down to the last element.
      const bool failed = n > 0 && std::isnan(out[n * n - 1]);
      for (int64_t i = 0; i < n; ++i) {
        if (failed) std::fill_n(out + i * n, i, std::numeric_limits<T>::quiet_NaN());
        if (failed) out[i * n + i] = std::numeric_limits<T>::quiet_NaN();
        std::fill(out + i * n + i + 1, out + (i + 1) * n, T(0));
      }
      return;
    }
    case Kind::cholesky_tangent:
      if (out != a) std::copy_n(a, n * n, out);
      return cholesky_tangent(matrix(const_cast<T*>(triangle), n, n), matrix(out, n, n), work);  // L is only read
    case Kind::cholesky_cotangent: {
      auto* const diagonal = reinterpret_cast<T*>(room);
      if (form.packed) {
        if (out != a) std::copy_n(a, n * n, out);
        std::copy_n(triangle, n, diagonal);
      } else {
        pack_cotangent(triangle, a, n, out, diagonal);
      }
      cholesky_cotangent(matrix(out, n, n), diagonal, work);
      return unpack_cotangent(out, n, diagonal);
    }
    case Kind::solve: {
      if (out != a) std::copy_n(a, m * n, out);
      const View<T> t = matrix(const_cast<T*>(triangle), m, m);  // only read
      const Triangle taken{form.lower != form.transposed, form.unit};
      return solve(form.transposed ? t.transposed() : t, taken, matrix(out, m, n), work);
    }
    case Kind::lu: {
      const int64_t k = std::min(m, n);
      auto* const swapped = reinterpret_cast<int64_t*>(room);
      T *const pivots = out + m * n, *const permutation = pivots + k;
      std::copy_n(a, m * n, out);
      lu(matrix(out, m, n), swapped, work);
      for (int64_t i = 0; i < m; ++i) permutation[i] = static_cast<T>(i);
      for (int64_t i = 0; i < k; ++i) {
        pivots[i] = static_cast<T>(swapped[i]);
        std::swap(permutation[i], permutation[swapped[i]]);
      }
      return;
    }
    case Kind::qr: return qr(form, a, out, room, work);
    case Kind::eigh: return eigh(form, a, out, room, work);
    case Kind::svd: return svd(form, a, out, room, work);
  }
}

template <class T>
void run_all(const Form& form, const T* triangle, const T* a, T* out, std::byte* scratch) {
  const Layout sizes = NEAP_ISA::layout(form);
  const int64_t result = result_size(form), operand = form.m * form.n;
  const int64_t triangular = form.one_factor ? 0 : form.packed ? form.m : form.m * form.m;
  const auto one = [&](int64_t i, int slot) {
    std::byte* const room = scratch + static_cast<size_t>(slot) * sizes.slot_bytes();
    const Work<T> work(room + sizes.work_bytes, sizes.packing_bytes, sizes.strips);
    run_one(form, triangle ? triangle + i * triangular : nullptr, a + i * operand, out + i * result, room, work);
  };
  const auto chunk = std::max<int64_t>(1, static_cast<int64_t>(kTask / std::max(1.0, flops(form))));
  const int64_t chunks = (form.batch + chunk - 1) / chunk;
  std::atomic<int64_t> next{0};
  const auto task = [&](int slot) {
    for (int64_t begin; (begin = next.fetch_add(chunk)) < form.batch;) {
      for (int64_t i = begin; i < std::min(begin + chunk, form.batch); ++i) one(i, slot);
    }
  };
  if (chunks < 2) return task(0);
  parallel_tasks(static_cast<int>(std::min<int64_t>(sizes.slots, chunks)), task);
}

}  // namespace

Layout layout(const Form& form) {
  NEAP_CHECK(form.dtype == DType::f32 || form.dtype == DType::f64);
  Layout sizes;
  const int64_t largest = std::max(form.m, form.n);
  if (form.batch == 0 || (result_size(form) == 0)) return sizes;
  switch (form.kind) {
    case Kind::cholesky:
    case Kind::cholesky_tangent:
    case Kind::solve: break;
    case Kind::cholesky_cotangent:
      sizes.work_bytes = round_up(static_cast<size_t>(form.n) * size_of(form.dtype));
      break;
    case Kind::lu: sizes.work_bytes = round_up(static_cast<size_t>(std::min(form.m, form.n)) * sizeof(int64_t)); break;
    case Kind::qr: sizes.work_bytes = qr_room(form); break;
    case Kind::eigh: sizes.work_bytes = eigh_room(form); break;
    case Kind::svd: sizes.work_bytes = svd_room(form); break;
  }
  sizes.packing_bytes =
      form.dtype == DType::f64 ? Work<double>::packing_bytes(largest) : Work<float>::packing_bytes(largest);
  if (form.kind == Kind::cholesky_cotangent) sizes.packing_bytes += kBesideCotangent * size_of(form.dtype);
  size_t packing = sizes.packing_bytes;  // without the room that vectors are made in
  if (form.vectors && (form.kind == Kind::eigh || form.kind == Kind::svd)) {
    const auto rows = static_cast<size_t>(std::min(form.m, form.n));
    const size_t strip_room = form.kind == Kind::eigh ? eigh_strip_room(form) : svd_strip_room(form);
    if (strip_room == 0) packing = std::max(packing, rows * kRotatedBytes);
    sizes.packing_bytes = packing + strip_room;
  }
  // The work space may take a quarter of the operands' bytes, or kLittle where that is more.
  const size_t operands = static_cast<size_t>(form.batch * form.m * form.n) * size_of(form.dtype);
  const size_t affordable = std::max(kLittle, operands / 4);
  const auto most = [&](int64_t useful, size_t bytes) {
    const auto fitting = static_cast<int64_t>(affordable / std::max<size_t>(1, bytes));
    return static_cast<int>(std::clamp<int64_t>(std::min(useful, fitting), 1, kMostSlots));
  };
  sizes.slots = most(form.batch, sizes.slot_bytes());
  if (form.batch == 1 && flops(form) > kInOneStrip) {
    const int64_t useful = (largest + kColumns - 1) / kColumns;  // two, if that room alone is too much for it
    sizes.strips = std::max(most(useful, sizes.packing_bytes), std::min(2, most(useful, packing)));
  }
  return sizes;
}

void run(const Form& form, const void* triangle, const void* a, void* out, std::byte* scratch) {
  if (form.batch == 0 || result_size(form) == 0) return;
  const auto go = [&]<class T>() {
    run_all(form, static_cast<const T*>(triangle), static_cast<const T*>(a), static_cast<T*>(out), scratch);
  };
  form.dtype == DType::f64 ? go.template operator()<double>() : go.template operator()<float>();
}

}  // namespace neap::factor::NEAP_ISA
