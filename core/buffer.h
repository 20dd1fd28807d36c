// Buffers. Every byte that scales with data comes from allocate(); <neap/memory.h> reports on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/round_up.h"

namespace neap {

namespace detail {
struct Slab;
}

class Buffer;
using BufferPtr = std::shared_ptr<Buffer>;

// Residence is what a device knows of a buffer: that it is still writing it, or that the bytes lie in its own memory.
class Residence {
 public:
  virtual ~Residence() = default;

 private:
  friend class Buffer;
  // Returns when the host may read the bytes, with the place where they then are. It is called once for each
  // Buffer::await_residence, and throws DeviceError or OutOfMemoryError.
  virtual std::byte* arrive(const Buffer& buffer) = 0;
  std::mutex mutex_;
};

// Buffer is a block of memory, live (and counted) for as long as a handle to it lives.
class Buffer {
 public:
  struct Access;  // the allocator's side, in buffer.cpp

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  // Returns where the bytes are; waits for a device that is still writing them, and fetches them from its memory.
  std::byte* data() const { return pending_.load(std::memory_order_acquire) ? arrive() : data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  // Returns the size asked for.
  size_t requested() const { return requested_; }
  // Returns requested() rounded up to 64: these bytes are counted, unless the memory is wrapped.
  size_t bytes() const { return bytes_; }

  // For device backends. Residences are attached by one thread at a time, before others have the buffer or under a lock
  // of the backend's. await_residence: the next data() asks it where the bytes are.
  const std::shared_ptr<Residence>& residence() const { return residence_; }
  void set_residence(std::shared_ptr<Residence> residence) { residence_ = std::move(residence); }
  void await_residence() { pending_.store(true, std::memory_order_release); }
  // Returns whether the memory is somebody else's, to be read alone: lend() made it.
  bool lent() const { return lent_; }
  // Returns the block of the host that holds the bytes, whoever writes them; null for memory of a device. It never
  // waits.
  std::byte* block() const { return data_; }

 private:
  Buffer() = default;
  std::byte* arrive() const;

  mutable std::byte* data_ = nullptr;
  mutable std::atomic<bool> pending_ = false;
  std::shared_ptr<Residence> residence_;
  size_t requested_ = 0;
  size_t bytes_ = 0;
  detail::Slab* slab_ = nullptr;  // the mapping that this is a part of; nullptr for a small or a wrapped block
  std::shared_ptr<void> owner_;   // of a small block or of wrapped memory
  bool counted_ = true;
  bool carved_ = false;
  bool lent_ = false;
};

// Returns uninitialized memory: 64-byte aligned, page aligned from 64 KiB, with huge pages from 1 MiB. Zero bytes give
// a valid handle with a non-null data(). `what` names the purpose in the message of OutOfMemoryError, which is thrown
// past memory::limit(), past the memory that the machine has available, and where the system refuses.
BufferPtr allocate(size_t bytes, std::string_view what);

// Piece is a range of a slab, in bytes; offsets are multiples of 64.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;
};

// Turns a slab into independent buffers for some disjoint ranges of it. The slab must be the only handle to what
// allocate() returned, not itself a piece. Afterwards only the pieces (each rounded up to 64) are counted, and lie
// where their data() says: their pages may have moved. Pages that belong to no piece are idle from then on, as those of
// a piece are when it dies, or go back to the operating system (heap.cpp).
std::vector<BufferPtr> carve(BufferPtr slab, std::span<const Piece> pieces);
// Says what carve() moves where the system lets it: runs of pages, of so many bytes together. As many come in again
// before the next run.
struct Moves {
  size_t runs = 0;
  size_t bytes = 0;
};
Moves moves_of_carve(size_t slab_bytes, std::span<const Piece> pieces);

// Returns a handle to memory that somebody else owns, kept alive through `owner`. It is not counted.
BufferPtr wrap(void* data, size_t bytes, std::shared_ptr<void> owner);

// Copies wrapped memory whose owner takes it back, for handles that outlive that. Pointers into it are not followed.
// Where there is no memory for a copy it throws OutOfMemoryError, and so does data() from then on.
void take_over(Buffer& wrapped);

// Does as wrap() and counts it, as an array's memory: what a user lends. `what` is as in allocate(), which throws as
// this does.
BufferPtr lend(const void* data, size_t bytes, std::shared_ptr<void> owner, std::string_view what);

// Returns a handle to `bytes` of a device's memory, which `residence` keeps alive; data() fetches it. The device counts
// it.
BufferPtr remote(size_t bytes, std::shared_ptr<Residence> residence);

// Fills a range with 0xCD: reading a value after its death then gives nonsense, not luck.
void poison(const Buffer& buffer, size_t offset, size_t bytes);
inline constexpr uint8_t kPoison = 0xCD;
// Returns whether NEAP_POISON=1 is set, with which runs overwrite what dies in their arena.
bool poisoning();

}  // namespace neap
