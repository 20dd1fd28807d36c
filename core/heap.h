// The allocator behind core/buffer.h; the essay at the top of heap.cpp explains it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.h"

namespace neap::detail {

struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};

struct Slab;
// Origin is a place in a slab that may be gone; {0, 0} is none.
using Origin = std::pair<uint64_t, size_t>;

// Slab is one mapping of the operating system.
struct Slab {
  std::byte* base = nullptr;
  size_t capacity = 0;        // bytes, whole pages
  std::vector<Range> pieces;  // what live buffers hold of it, sorted, disjoint
  std::vector<Range> idle;    // whole pages that no live buffer touches and that may be resident, sorted, disjoint
  uint64_t died = 0;          // when a piece last died, for trimming the oldest first
  uint64_t number = 0;        // of all slabs that ever were
  Origin origin;              // where its pages were before they moved

  // Its entries of Heap::free_, fillers_ and aging_ while it has none there. With them, and with room in `pieces` and
  // `idle`, all memory that the end of a piece needs is taken when the piece begins: destructors cannot fail.
  std::multimap<size_t, Slab*>::node_type free_entry;
  std::multimap<Origin, Slab*>::node_type filler_entry;  // where there is an origin
  std::map<uint64_t, Slab*>::node_type aging_entry;
  std::multimap<size_t, Slab*>::iterator free_at;  // while it has one there
  std::multimap<Origin, Slab*>::iterator filler_at;

  bool is_apart() const { return origin.first != 0; }
};

// Home is where a piece lies: at `begin` of a slab.
struct Home {
  Slab* slab = nullptr;
  size_t begin = 0;
};

class Heap {
 public:
  static Heap& instance();

  // Returns a slab with the single piece [0, bytes). Of the functions that need memory for themselves, this one and
  // split() change nothing where there is none (they throw std::bad_alloc); the others need none.
  Slab* map(size_t bytes, std::string_view what);
  // Replaces the slab's only piece by these, sorted and disjoint, and by `copied` bytes that live elsewhere from now
  // on. Returns where each piece lies from now on: they may move.
  std::vector<Home> split(Slab* slab, std::vector<Range> pieces, size_t copied);
  // Returns what split() moves of a slab of so many bytes, runs of pages, where the system lets it.
  static std::vector<Range> moved_by_split(size_t bytes, const std::vector<Range>& pieces);
  // Ends the life of the piece that begins at `begin`.
  void unmap(Slab* slab, size_t begin);

  // Counts a block that is not mapped here as live. Throws OutOfMemoryError past the limit.
  void count(size_t bytes, std::string_view what);
  void discount(size_t bytes);

  // Makes the n-th of the next allocations, from 1, fail, here or on a device; 0: none. Tests use it.
  void refuse(size_t n);
  // Returns whether refuse() has made one fail since.
  bool refused() const;
  // Counts an allocation that is not made here. Throws OutOfMemoryError where it is the one to refuse.
  void pass(size_t bytes, std::string_view what);

  size_t live() const;
  size_t peak() const;
  void reset_peak();
  size_t cached() const;
  void release_cached();
  std::optional<size_t> limit() const;
  void set_limit(std::optional<size_t> bytes);
  // Returns the bytes that may be allocated beside those that are live, by the limit and by what the machine has
  // available; nullopt where neither says.
  std::optional<size_t> room() const;

 private:
  Heap();  // throws OptionError for what NEAP_MEMORY must not be
  void check_limit(size_t bytes, std::string_view what) const;
  void check_refusal(size_t bytes, std::string_view what);
  void add_live(size_t bytes);
  Slab* reuse(size_t pages, size_t bytes, std::string_view what);
  size_t fresh_pages(const Slab& slab, size_t pages) const;
  Slab* filler_of(const Slab& slab, const Range& hole) const;
  std::optional<Range> fill_holes(Slab* slab, size_t pages);
  Slab* map_fresh(size_t pages, size_t bytes, std::string_view what);
  bool may_move(size_t runs, size_t rest);
  Slab* move_out(Slab* slab, const Range& pages, std::unique_ptr<Slab>& apart);
  std::unique_ptr<Slab> new_slab(size_t pages, size_t pieces, Origin origin = {});
  std::optional<size_t> available(size_t& promised) const;
  void require_available(size_t pages, size_t bytes, std::string_view what);
  size_t ceiling() const;
  void trim(size_t kept);
  size_t drop_idle(Slab* slab, size_t excess);
  void add_idle(Slab* slab, Range range);
  void age(Slab* slab);
  void add_free(Slab* slab);
  void take_free(Slab* slab);
  void destroy(Slab* slab);
  void abandon(Slab* slab, const Range& lost);
  void forget(Slab* slab);
  [[noreturn]] void out_of_memory(size_t bytes, std::string_view what, std::string_view reason) const;

  mutable std::mutex mutex_;
  size_t live_ = 0;
  size_t peak_ = 0;
  std::optional<size_t> limit_;
  bool asks_machine_ = true;  // what it has available: not where NEAP_MEMORY says what may be had
  size_t refuse_ = 0;         // how many allocations from now
  bool refused_ = false;

  // Of slabs alone, in whole pages.
  size_t used_ = 0;        // pages that live pieces touch
  size_t high_water_ = 0;  // the most that used_ ever was
  size_t cached_ = 0;      // the sum of all idle ranges
  size_t unchecked_ = 0;   // pages mapped since the system was last asked what it has left
  size_t apart_ = 0;       // how many slabs are apart
  uint64_t slabs_ = 0;     // how many there ever were
  const long process_;     // that this is the heap of
  bool moves_;             // until the system has refused to move pages
  uint64_t clock_ = 0;
  std::multimap<size_t, Slab*> free_;     // slabs without a live piece, by capacity
  std::multimap<Origin, Slab*> fillers_;  // those of them that are apart
  std::map<uint64_t, Slab*> aging_;       // slabs with idle ranges, by died
};

}  // namespace neap::detail
