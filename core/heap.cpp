// Fresh pages cost more than the arithmetic that fills them, so freed pages are kept; but the promise is that the
// process grows by the planned peak and no more, so they are kept only where that is free. The rules:
//
// 1. A block of 128 KiB or more is a mapping of its own (a slab), from 1 MiB on aligned to huge pages, but for what was
//    cut out of another. Start reading at map() and unmap().
// 2. A piece that dies leaves its pages behind as idle. A slab whose pieces are all dead serves a later request that
//    fills 8/9 of it or more: the second run of a plan asks for what the first freed, and touches no fresh page.
// 3. Live and idle pages together never exceed the most that live ones ever were (the ceiling). So a peak is never
//    higher because of what is cached. Past the ceiling idle pages go back to the system, the longest dead first.
// 4. When a slab is carved, as a plan's results are from its arena, the pages of the pieces move into slabs of their
//    own: page tables change, no byte is copied. The slab, idle with holes, serves the next run; pages that left and
//    have died since, such as those of the result of the run before, fill the hole that they left. (They are one
//    mapping with what lies around them again. Other pages would not be, and the system moves no more than one at once
//    for sure.) Where little would be kept so, or the system cannot, the pieces stay, and the pages that none needs go
//    back at once. Small pieces are copied instead (buffer.cpp), which a process may grow by beyond a peak: 64 KiB.
//
// All sizes here are bytes; `used_`, `cached_` and idle ranges are whole pages, `live_` and `peak_` multiples of 64.
#include "core/heap.h"

#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/error.h>
#include <neap/memory.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/check.h"
#include "core/os/os.h"

namespace neap::detail {

namespace {
constexpr size_t kHugePage = size_t{2} << 20;
// Bytes, half a huge page: from here a mapping is padded to begin at a huge page. It trades address space against page
// faults and misses of the TLB; no case of bench/ isolates it.
constexpr size_t kHugeThreshold = size_t{1} << 20;
// Bytes mapped between two questions to the system. A question takes as long as touching 100 KiB of fresh pages, so
// this bounds its share at about 0.3 %.
constexpr size_t kCheckEvery = size_t{32} << 20;
// Bytes of an arena, for each move, that are worth keeping: a move takes 7 to 9 us, fresh pages 0.27 us a KiB (Zen 5, a
// virtual machine).
constexpr size_t kWorthAMove = size_t{64} << 10;
// Moves of one slab, and slabs that moves have made: each is a mapping, of which the system allows a process 65,530.
constexpr size_t kMostMoves = 64;
constexpr size_t kMostApart = 4096;

size_t page_floor(size_t n) { return n & ~(os::page_bytes() - 1); }
size_t page_ceil(size_t n) { return page_floor(n + os::page_bytes() - 1); }

// Of a mapping of so many bytes. Smaller ones may lie side by side, for the kernel to merge.
size_t alignment_of(size_t pages) { return pages >= kHugeThreshold ? kHugePage : os::page_bytes(); }

// They begin as far past a huge page, if they may have any, as those that they are like. Returns nullptr where the
// system refuses.
std::byte* map_pages(size_t pages, const std::byte* like = nullptr) {
  const size_t alignment = alignment_of(pages);
  return os::map(pages, alignment, reinterpret_cast<uintptr_t>(like) % alignment);
}

// Returns the pages that pieces touch, as ranges that do not touch each other.
std::vector<Range> pages_of(const std::vector<Range>& pieces) {
  std::vector<Range> runs;
  for (const Range& piece : pieces) {
    const size_t begin = page_floor(piece.begin), end = page_ceil(piece.end);
    if (runs.empty() || runs.back().end < begin) {
      runs.push_back({begin, end});
    } else {
      runs.back().end = end;
    }
  }
  return runs;
}

// Whether so many runs of pages are worth to be moved out of a slab in which so many bytes stay.
bool is_worth_moving(size_t runs, size_t rest) { return runs <= kMostMoves && rest >= runs * kWorthAMove; }

// Calls visit(hole) for what is not idle of the first `pages` of a free slab.
template <class Visit>
void for_each_hole(const Slab& slab, size_t pages, const Visit& visit) {
  size_t begin = 0;
  for (const Range& range : slab.idle) {
    if (begin < std::min(range.begin, pages)) visit(Range{begin, std::min(range.begin, pages)});
    begin = range.end;
  }
  if (begin < pages) visit(Range{begin, pages});
}
}  // namespace

Heap& Heap::instance() {
  static Heap& heap = *new Heap;  // never destroyed: arrays in static objects die after it would
  return heap;
}

Heap::Heap() : process_(os::process()), moves_(os::can_move()) {
  const char* text = std::getenv("NEAP_MEMORY");
  if (!text || !*text) return;
  limit_ = parse_bytes(text);
  if (!limit_) throw OptionError(fmt::format("NEAP_MEMORY: got '{}'; expected bytes, such as 8GiB", text));
  asks_machine_ = false;
}

Slab* Heap::map(size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  check_refusal(bytes, what);
  check_limit(bytes, what);
  const size_t pages = page_ceil(bytes);
  Slab* slab = reuse(pages, bytes, what);
  if (!slab) slab = map_fresh(pages, bytes, what);
  slab->pieces.push_back({0, bytes});
  used_ += pages;
  high_water_ = std::max(high_water_, used_);
  trim(ceiling());
  add_live(bytes);
  return slab;
}

Slab* Heap::reuse(size_t pages, size_t bytes, std::string_view what) {
  auto found = free_.end();
  for (size_t asked = 0;;) {
    found = free_.lower_bound(pages);
    // A slab may be larger than the request by an eighth: more would keep memory idle inside it, less would fault fresh
    // pages where sizes vary a little.
    if (found == free_.end() || found->first > pages + pages / 8) return nullptr;
    const size_t fresh = fresh_pages(*found->second, pages);
    if (fresh <= asked) break;
    require_available(fresh, bytes, what);  // it may trim what was found, and what would fill it
    asked = fresh;
  }
  Slab* slab = found->second;
  slab->pieces.reserve(1);
  slab->idle.reserve(slab->idle.size() + 1);
  take_free(slab);
  if (slab->idle.empty()) return slab;
  slab->aging_entry = aging_.extract(slab->died);
  if (const std::optional<Range> lost = fill_holes(slab, pages)) {
    abandon(slab, *lost);
    return nullptr;
  }
  for (Range& range : slab->idle) {  // idle pages past the request stay idle
    const size_t begin = std::min(std::max(range.begin, pages), range.end);
    cached_ -= begin - range.begin;
    range.begin = begin;
  }
  std::erase_if(slab->idle, [](const Range& range) { return range.size() == 0; });
  if (!slab->idle.empty()) age(slab);
  return slab;
}

// Returns how many of the first `pages` of a free slab are neither idle nor will be filled.
size_t Heap::fresh_pages(const Slab& slab, size_t pages) const {
  size_t sum = 0;
  for_each_hole(slab, pages, [&](const Range& hole) { sum += filler_of(slab, hole) ? 0 : hole.size(); });
  return sum;
}

// Returns a slab that left this hole, and that is as it left; else null.
Slab* Heap::filler_of(const Slab& slab, const Range& hole) const {
  if (!moves_) return nullptr;
  const auto [first, last] = fillers_.equal_range(Origin{slab.number, hole.begin});
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    const Slab& filler = *entry.second;
    return filler.capacity == hole.size() && filler.idle.size() == 1 && filler.idle.front().size() == filler.capacity;
  });
  return found == last ? nullptr : found->second;
}

// Fills the holes of a slab that is neither free nor aging with what left them. Returns one that may be lost, with
// which the slab must not be used.
std::optional<Range> Heap::fill_holes(Slab* slab, size_t pages) {
  std::optional<Range> lost;
  for_each_hole(*slab, pages, [&](const Range& hole) {
    Slab* filler = filler_of(*slab, hole);
    if (!filler) return;
    moves_ = os::move_in(filler->base, slab->base + hole.begin, hole.size());
    if (!moves_) {
      lost = hole;
      return;
    }
    aging_.erase(filler->died);
    cached_ -= hole.size();
    take_free(filler);
    forget(filler);
  });
  return lost;
}

Slab* Heap::map_fresh(size_t pages, size_t bytes, std::string_view what) {
  const size_t ceiling_with = std::max(ceiling(), used_ + pages);
  trim(ceiling_with - pages);
  require_available(pages, bytes, what);
  std::unique_ptr<Slab> slab = new_slab(pages, 1);
  slab->base = map_pages(pages);
  if (!slab->base) {
    trim(used_);
    slab->base = map_pages(pages);
  }
  if (!slab->base) out_of_memory(bytes, what, "the system refuses the mapping");
  return slab.release();
}

// Without a mapping yet, and with room for so many pieces.
std::unique_ptr<Slab> Heap::new_slab(size_t pages, size_t pieces, Origin origin) {
  auto slab = std::make_unique<Slab>();
  slab->capacity = pages;
  slab->number = ++slabs_;
  slab->origin = origin;
  slab->pieces.reserve(pieces);
  slab->idle.reserve(pieces);  // each piece may leave one range
  std::multimap<size_t, Slab*> free{{pages, slab.get()}};
  slab->free_entry = free.extract(free.begin());
  if (slab->is_apart()) {
    std::multimap<Origin, Slab*> fillers{{origin, slab.get()}};
    slab->filler_entry = fillers.extract(fillers.begin());
  }
  std::map<uint64_t, Slab*> aging{{0, slab.get()}};
  slab->aging_entry = aging.extract(aging.begin());
  return slab;
}

// Bytes; and how many of them what is live or cached has been promised and has not touched yet.
std::optional<size_t> Heap::available(size_t& promised) const {
  const std::optional<size_t> bytes = asks_machine_ ? os::available_memory() : std::nullopt;
  const size_t held = used_ + cached_, resident = bytes ? memory::resident_bytes() : 0;
  promised = held > resident ? held - resident : 0;
  return bytes;
}

void Heap::require_available(size_t pages, size_t bytes, std::string_view what) {
  unchecked_ += pages;
  if (unchecked_ < kCheckEvery) return;
  size_t promised = 0;
  const std::optional<size_t> available = this->available(promised);
  if (!available) return;
  const size_t wanted = pages + promised;
  if (wanted <= *available) {
    unchecked_ = 0;
    return;
  }
  const size_t missing = wanted - *available;
  if (missing > cached_) {
    out_of_memory(bytes, what, fmt::format("the machine has {} available", format_bytes(*available + cached_)));
  }
  trim(used_ + cached_ - missing);
}

std::optional<size_t> Heap::room() const {
  const std::lock_guard lock(mutex_);
  std::optional<size_t> room;
  size_t promised = 0;
  if (const std::optional<size_t> available = this->available(promised)) {
    const size_t all = *available + cached_;
    room = all - std::min(all, promised);
  }
  if (limit_) room = std::min(room.value_or(SIZE_MAX), *limit_ - std::min(*limit_, live_));
  return room;
}

std::vector<Home> Heap::split(Slab* slab, std::vector<Range> pieces, size_t copied) {
  const std::lock_guard lock(mutex_);
  const std::vector<Range> runs = pages_of(pieces);
  const Range whole = slab->pieces.front();
  size_t kept = 0, rest = page_ceil(whole.end);  // bytes of pieces; of pages that none touches
  for (const Range& piece : pieces) kept += piece.size();
  for (const Range& run : runs) rest -= run.size();
  // All memory that this takes, before anything changes.
  std::vector<Home> homes;
  homes.reserve(pieces.size());
  std::vector<std::unique_ptr<Slab>> apart;
  if (may_move(runs.size(), rest)) {
    auto piece = pieces.begin();
    for (const Range& run : runs) {
      const auto first = piece;
      while (piece != pieces.end() && piece->begin < run.end) ++piece;
      apart.push_back(new_slab(run.size(), static_cast<size_t>(piece - first), {slab->number, run.begin}));
    }
  }
  slab->idle.reserve(slab->idle.size() + pieces.size() + runs.size() + 1);
  slab->pieces.reserve(pieces.size());

  slab->pieces.clear();
  size_t next = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    Slab* home = apart.empty() || !moves_ ? nullptr : move_out(slab, runs[i], apart[i]);
    const size_t base = home ? runs[i].begin : 0;
    if (!home) home = slab;
    for (; next < pieces.size() && pieces[next].begin < runs[i].end; ++next) {
      homes.push_back({home, pieces[next].begin - base});
      home->pieces.push_back({pieces[next].begin - base, pieces[next].end - base});
    }
  }
  used_ -= rest;
  live_ -= whole.size() - kept - copied;
  if (slab->pieces.empty()) add_free(slab);
  // What no piece touches stays, idle, where the slab is free for others; else it goes.
  size_t end = 0;
  const auto no_piece = [&](size_t from, size_t to) {
    if (from >= to) return;
    if (slab->pieces.empty()) {
      add_idle(slab, {from, to});
    } else {
      os::drop(slab->base + from, to - from);
    }
  };
  for (const Range& run : runs) {
    no_piece(end, run.begin);
    end = run.end;
  }
  no_piece(end, page_ceil(whole.end));
  trim(ceiling());
  return homes;
}

std::vector<Range> Heap::moved_by_split(size_t bytes, const std::vector<Range>& pieces) {
  std::vector<Range> runs = pages_of(pieces);
  size_t rest = page_ceil(bytes);
  for (const Range& run : runs) rest -= run.size();
  if (!is_worth_moving(runs.size(), rest)) runs.clear();
  return runs;
}

// Returns whether so many runs of pages may leave a slab in which so many bytes stay. Where slabs that are apart are as
// many as there may be, dead ones go. What fork() leaves to a child does not become one mapping again.
bool Heap::may_move(size_t runs, size_t rest) {
  if (!moves_ || !is_worth_moving(runs, rest) || os::process() != process_) return false;
  while (apart_ + runs > kMostApart && !fillers_.empty()) {
    Slab* dead = fillers_.begin()->second;
    for (const Range& range : dead->idle) cached_ -= range.size();
    if (!dead->idle.empty()) aging_.erase(dead->died);
    take_free(dead);
    destroy(dead);
  }
  return apart_ + runs <= kMostApart;
}

// Gives pages of a slab to a slab of their own, which has no mapping yet. Returns null where the system cannot.
Slab* Heap::move_out(Slab* slab, const Range& pages, std::unique_ptr<Slab>& apart) {
  apart->base = map_pages(pages.size(), slab->base + pages.begin);
  if (!apart->base) return nullptr;
  moves_ = os::move_out(slab->base + pages.begin, apart->base, pages.size());
  if (!moves_) return nullptr;
  ++apart_;
  return apart.release();
}

void Heap::unmap(Slab* slab, size_t begin) {
  const std::lock_guard lock(mutex_);
  auto& pieces = slab->pieces;
  const auto piece = std::lower_bound(pieces.begin(), pieces.end(), begin,
                                      [](const Range& range, size_t value) { return range.begin < value; });
  NEAP_DCHECK(piece != pieces.end() && piece->begin == begin, "no piece begins at {}", begin);
  live_ -= piece->size();
  // A page shared with a living neighbour stays the neighbour's.
  Range pages{page_floor(piece->begin), page_ceil(piece->end)};
  if (piece != pieces.begin()) pages.begin = std::max(pages.begin, page_ceil(std::prev(piece)->end));
  if (std::next(piece) != pieces.end()) pages.end = std::min(pages.end, page_floor(std::next(piece)->begin));
  pieces.erase(piece);
  if (pieces.empty()) add_free(slab);
  if (pages.begin < pages.end) {
    used_ -= pages.size();
    add_idle(slab, pages);
  }
  trim(ceiling());
}

void Heap::age(Slab* slab) {
  slab->died = ++clock_;
  slab->aging_entry.key() = slab->died;
  aging_.insert(std::move(slab->aging_entry));
}

void Heap::add_free(Slab* slab) {
  slab->free_at = free_.insert(std::move(slab->free_entry));
  if (slab->is_apart()) slab->filler_at = fillers_.insert(std::move(slab->filler_entry));
}

void Heap::take_free(Slab* slab) {
  slab->free_entry = free_.extract(slab->free_at);
  if (slab->is_apart()) slab->filler_entry = fillers_.extract(slab->filler_at);
}

// Unmaps a slab that is neither free nor aging.
void Heap::destroy(Slab* slab) {
  os::unmap(slab->base, slab->capacity);
  forget(slab);
}

// Does so but for a part that may be no more ours.
void Heap::abandon(Slab* slab, const Range& lost) {
  for (const Range& range : slab->idle) cached_ -= range.size();
  if (lost.begin > 0) os::unmap(slab->base, lost.begin);
  if (lost.end < slab->capacity) os::unmap(slab->base + lost.end, slab->capacity - lost.end);
  forget(slab);
}

void Heap::forget(Slab* slab) {
  if (slab->is_apart()) --apart_;
  delete slab;
}

void Heap::add_idle(Slab* slab, Range range) {
  if (!slab->idle.empty()) slab->aging_entry = aging_.extract(slab->died);
  age(slab);
  cached_ += range.size();
  auto& idle = slab->idle;
  auto next = std::lower_bound(idle.begin(), idle.end(), range.begin,
                               [](const Range& other, size_t value) { return other.begin < value; });
  if (next != idle.begin() && std::prev(next)->end == range.begin) {
    --next;
    next->end = range.end;
  } else {
    next = idle.insert(next, range);
  }
  if (const auto after = std::next(next); after != idle.end() && after->begin == next->end) {
    next->end = after->end;
    idle.erase(after);
  }
}

size_t Heap::ceiling() const { return limit_ ? std::min(high_water_, std::max(*limit_, used_)) : high_water_; }

// Gives idle pages back until live and idle ones together are at most `kept`, or none is idle.
void Heap::trim(size_t kept) {
  while (used_ + cached_ > kept && !aging_.empty()) {
    Slab* slab = aging_.begin()->second;
    cached_ -= drop_idle(slab, used_ + cached_ - kept);
    if (!slab->idle.empty()) continue;
    slab->aging_entry = aging_.extract(aging_.begin());
    if (!slab->pieces.empty()) continue;
    take_free(slab);
    destroy(slab);
  }
}

// Gives back the end of the slab's last idle range: `excess` bytes, rounded up so as not to tear a huge page.
size_t Heap::drop_idle(Slab* slab, size_t excess) {
  Range& last = slab->idle.back();
  size_t begin = last.begin;
  if (excess < last.size()) {
    const size_t past = reinterpret_cast<uintptr_t>(slab->base) % kHugePage;
    const size_t whole = (past + last.end - excess) & ~(kHugePage - 1);
    begin = std::max(begin, whole - std::min(whole, past));
  }
  const size_t dropped = last.end - begin;
  os::drop(slab->base + begin, dropped);
  last.end = begin;
  if (last.size() == 0) slab->idle.pop_back();
  return dropped;
}

void Heap::check_refusal(size_t bytes, std::string_view what) {
  if (bytes > 0 && refuse_ > 0 && --refuse_ == 0) {
    refused_ = true;
    out_of_memory(bytes, what, "a test refuses it");
  }
}

void Heap::check_limit(size_t bytes, std::string_view what) const {
  if (limit_ && (bytes > *limit_ || live_ > *limit_ - bytes)) {
    out_of_memory(bytes, what, fmt::format("the limit is {}", format_bytes(*limit_)));
  }
}

void Heap::add_live(size_t bytes) {
  live_ += bytes;
  peak_ = std::max(peak_, live_);
}

void Heap::out_of_memory(size_t bytes, std::string_view what, std::string_view reason) const {
  throw OutOfMemoryError(fmt::format("out of memory: {} needs {} ({} bytes) with {} live; {}", what,
                                     format_bytes(bytes), bytes, format_bytes(live_), reason));
}

void Heap::count(size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  check_refusal(bytes, what);
  check_limit(bytes, what);
  add_live(bytes);
}

void Heap::discount(size_t bytes) {
  const std::lock_guard lock(mutex_);
  live_ -= bytes;
}

void Heap::refuse(size_t n) {
  const std::lock_guard lock(mutex_);
  refuse_ = n;
  refused_ = false;
}

bool Heap::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

void Heap::pass(size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  check_refusal(bytes, what);
}

size_t Heap::live() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

size_t Heap::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void Heap::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = live_;
}

size_t Heap::cached() const {
  const std::lock_guard lock(mutex_);
  return cached_;
}

void Heap::release_cached() {
  const std::lock_guard lock(mutex_);
  trim(0);
}

std::optional<size_t> Heap::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void Heap::set_limit(std::optional<size_t> bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
  trim(ceiling());
}

}  // namespace neap::detail
