#include "core/buffer.h"

#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/check.h"
#include "core/heap.h"
#include "core/os/os.h"
#include "core/sanitize.h"

namespace neap {

namespace {
// Bytes. From here a block is a mapping of its own: glibc's malloc, too, would map it anew for each call (its default
// M_MMAP_THRESHOLD), and so fault its pages each time, while the heap keeps them.
constexpr size_t kSlabThreshold = size_t{128} << 10;
// Bytes. From here a small block begins at a page, so that the padding is at most a sixteenth of it.
constexpr size_t kPageAligned = size_t{64} << 10;
// Bytes of a slab's pieces that are copied out of it as it is carved, which takes less than to move their pages. So a
// run's small results, a loss for one, hold no part of its arena.
constexpr size_t kCopied = size_t{64} << 10;
constexpr size_t kLargest = size_t{1} << 56;  // past any address space; rounding up cannot overflow below it

// Whether a piece is copied out of a slab from which so many bytes have been.
bool is_copied(size_t bytes, size_t copied) { return copied + bytes <= kCopied; }

// Lost is the residence of what take_over() had no memory for.
class Lost : public Residence {
  std::byte* arrive(const Buffer& buffer) override {
    throw OutOfMemoryError(fmt::format("out of memory: there were no {} to keep an array that a callback was given",
                                       format_bytes(buffer.requested())));
  }
};
const std::shared_ptr<Residence>& lost() {
  static const auto& all = *new std::shared_ptr<Residence>(std::make_shared<Lost>());  // buffers may die after statics
  return all;
}
}  // namespace

struct Buffer::Access {
  struct Constructible : Buffer {};

  static std::shared_ptr<Buffer> make(std::byte* data, size_t requested) {
    std::shared_ptr<Buffer> buffer = std::make_shared<Constructible>();
    buffer->data_ = data;
    buffer->requested_ = requested;
    buffer->bytes_ = round_up_64(requested);
    buffer->counted_ = false;  // until it is
    return buffer;
  }

  // The handle first: where there is no memory for it, nothing has been mapped or counted yet.
  static BufferPtr allocate_slab(size_t bytes, std::string_view what) {
    BufferPtr buffer = make(nullptr, bytes);
    detail::Slab* slab = detail::Heap::instance().map(round_up_64(bytes), what);
    sanitize::permit(slab->base, bytes);
    sanitize::forbid(slab->base + bytes, slab->capacity - bytes);
    buffer->data_ = slab->base;
    buffer->slab_ = slab;
    buffer->counted_ = true;
    return buffer;
  }

  static BufferPtr allocate_small(size_t bytes, std::string_view what) {
    BufferPtr buffer = make(nullptr, bytes);
    take_small(*buffer, what);
    detail::Heap::instance().count(buffer->bytes_, what);
    buffer->counted_ = true;
    return buffer;
  }

  // Gives the buffer a block of its own, which is not counted yet.
  static void take_small(Buffer& buffer, std::string_view what) {
    const size_t bytes = buffer.requested_, whole = std::max<size_t>(buffer.bytes_, 64);
    void* const memory = os::allocate(whole, bytes >= kPageAligned ? 4096 : 64);
    if (!memory) {
      throw OutOfMemoryError(fmt::format("out of memory: {} needs {}; the system refuses", what, format_bytes(bytes)));
    }
    buffer.owner_ = std::shared_ptr<void>(memory, os::release);
    buffer.data_ = static_cast<std::byte*>(memory);
    sanitize::forbid(buffer.data_ + bytes, whole - bytes);
  }

  static BufferPtr wrap(void* data, size_t bytes, std::shared_ptr<void> owner) {
    BufferPtr buffer = make(static_cast<std::byte*>(data), bytes);
    buffer->owner_ = std::move(owner);
    return buffer;
  }

  static void take_over(Buffer& wrapped) {
    BufferPtr own;
    try {
      own = allocate(wrapped.requested_, "an array that a callback keeps");
    } catch (...) {
      wrapped.data_ = nullptr;
      wrapped.set_residence(lost());
      wrapped.await_residence();
      throw;
    }
    if (wrapped.requested_ > 0) std::memcpy(own->data_, wrapped.data_, wrapped.requested_);
    wrapped.data_ = own->data_;
    wrapped.owner_ = std::move(own);
  }

  static BufferPtr lend(const void* data, size_t bytes, std::shared_ptr<void> owner, std::string_view what) {
    BufferPtr buffer = make(const_cast<std::byte*>(static_cast<const std::byte*>(data)), bytes);  // never written
    detail::Heap::instance().count(buffer->bytes_, what);
    buffer->counted_ = true;
    buffer->lent_ = true;
    buffer->owner_ = std::move(owner);
    return buffer;
  }

  static BufferPtr remote(size_t bytes, std::shared_ptr<Residence> residence) {
    BufferPtr buffer = make(nullptr, bytes);
    buffer->set_residence(std::move(residence));
    buffer->await_residence();
    return buffer;
  }

  static std::vector<BufferPtr> carve(BufferPtr slab, std::span<const Piece> pieces) {
    NEAP_CHECK(slab && slab.use_count() == 1 && slab->counted_ && !slab->carved_,
               "carve needs the only handle of an allocated block");
    std::vector<std::pair<detail::Range, Buffer*>> ranges;
    std::vector<BufferPtr> result;
    for (const Piece& piece : pieces) {
      NEAP_CHECK(piece.offset % 64 == 0 && piece.offset <= slab->bytes_ && piece.bytes <= slab->bytes_ - piece.offset,
                 "piece of {} bytes at {} in a slab of {}", piece.bytes, piece.offset, slab->bytes_);
      if (piece.bytes == 0) {
        result.push_back(allocate_small(0, "an empty piece"));
        continue;
      }
      BufferPtr& buffer = result.emplace_back(make(slab->data_ + piece.offset, piece.bytes));
      ranges.push_back({{piece.offset, piece.offset + buffer->bytes_}, buffer.get()});
    }
    std::ranges::sort(ranges, {}, [](const auto& r) { return r.first.begin; });
    for (size_t i = 1; i < ranges.size(); ++i) {
      NEAP_CHECK(ranges[i - 1].first.end <= ranges[i].first.begin, "pieces overlap at {}", ranges[i].first.begin);
    }
    hand_over(*slab, ranges);
    return result;
  }

  // Moves the slab's life, and its accounting, to the pieces.
  static void hand_over(Buffer& slab, const std::vector<std::pair<detail::Range, Buffer*>>& pieces) {
    std::vector<detail::Range> stay;  // those that are not copied
    stay.reserve(pieces.size());
    size_t kept = 0, copied = 0;
    for (const auto& [range, piece] : pieces) {
      kept += range.size();
      if (slab.slab_ && is_copied(range.size(), copied)) {
        const std::byte* const from = piece->data_;
        take_small(*piece, "a result");
        std::memcpy(piece->data_, from, piece->requested_);
        copied += range.size();
      } else {
        piece->owner_ = slab.owner_;
        stay.push_back(range);
      }
    }
    // Before the slab is free: it may be another thread's then.
    sanitize::forbid(slab.data_, slab.bytes_);
    std::vector<detail::Home> homes;
    if (slab.slab_) {
      homes = detail::Heap::instance().split(slab.slab_, std::move(stay), copied);  // the last that can fail
    } else {
      detail::Heap::instance().discount(slab.bytes_ - kept);
    }
    for (const detail::Home& home : homes) sanitize::forbid(home.slab->base, home.slab->capacity);
    auto home = homes.begin();
    for (const auto& [range, piece] : pieces) {
      if (!piece->owner_) {
        piece->slab_ = home->slab;
        piece->data_ = home->slab->base + home->begin;
        ++home;
      }
      sanitize::permit(piece->data_, piece->requested_);
      piece->counted_ = true;
      piece->carved_ = true;
    }
    slab.slab_ = nullptr;
    slab.counted_ = false;
  }
};

Moves moves_of_carve(size_t slab_bytes, std::span<const Piece> pieces) {
  if (slab_bytes < kSlabThreshold) return {};
  std::vector<detail::Range> stay;
  for (const Piece& piece : pieces) stay.push_back({piece.offset, piece.offset + round_up_64(piece.bytes)});
  std::ranges::sort(stay, {}, &detail::Range::begin);
  size_t copied = 0;
  std::erase_if(stay, [&](const detail::Range& range) {
    const bool is = is_copied(range.size(), copied);
    if (is) copied += range.size();
    return is;
  });
  const std::vector<detail::Range> runs = detail::Heap::moved_by_split(slab_bytes, stay);
  Moves moves{runs.size(), 0};
  for (const detail::Range& run : runs) moves.bytes += run.size();
  return moves;
}

Buffer::~Buffer() {
  residence_.reset();  // it may name the block
  if (counted_ && !lent_) sanitize::forbid(data_, bytes_);
  if (slab_) {
    detail::Heap::instance().unmap(slab_, static_cast<size_t>(data_ - slab_->base));
  } else if (counted_) {
    detail::Heap::instance().discount(bytes_);
  }
}

std::byte* Buffer::arrive() const {
  const std::lock_guard lock(residence_->mutex_);
  if (pending_.load(std::memory_order_relaxed)) {
    data_ = residence_->arrive(*this);
    pending_.store(false, std::memory_order_release);
  }
  return data_;
}

BufferPtr allocate(size_t bytes, std::string_view what) {
  if (bytes > kLargest) {
    throw OutOfMemoryError(fmt::format("out of memory: {} needs {} bytes; no machine has them", what, bytes));
  }
  return bytes >= kSlabThreshold ? Buffer::Access::allocate_slab(bytes, what)
                                 : Buffer::Access::allocate_small(bytes, what);
}

std::vector<BufferPtr> carve(BufferPtr slab, std::span<const Piece> pieces) {
  return Buffer::Access::carve(std::move(slab), pieces);
}

BufferPtr wrap(void* data, size_t bytes, std::shared_ptr<void> owner) {
  return Buffer::Access::wrap(data, bytes, std::move(owner));
}

void take_over(Buffer& wrapped) { Buffer::Access::take_over(wrapped); }

BufferPtr lend(const void* data, size_t bytes, std::shared_ptr<void> owner, std::string_view what) {
  return Buffer::Access::lend(data, bytes, std::move(owner), what);
}

BufferPtr remote(size_t bytes, std::shared_ptr<Residence> residence) {
  return Buffer::Access::remote(bytes, std::move(residence));
}

void poison(const Buffer& buffer, size_t offset, size_t bytes) {
  NEAP_CHECK(offset <= buffer.bytes() && bytes <= buffer.bytes() - offset, "poison {} bytes at {} of {}", bytes, offset,
             buffer.bytes());
  std::memset(buffer.data() + offset, kPoison, bytes);
}

bool poisoning() {
  static const bool on = [] {
    const char* text = std::getenv("NEAP_POISON");
    return text && std::strcmp(text, "1") == 0;
  }();
  return on;
}

}  // namespace neap
