// What Neap asks of the operating system, beside the standard library and files (core/file.h): all of it stands in this
// folder, once for Linux (*_linux.cpp) and once with the standard library alone (*_portable.cpp), which CMake takes for
// other systems and where NEAP_PORTABLE is on. Tested in tests/core/os_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace neap::os {

/// Returns the bytes of a page of memory.
size_t page_bytes();

/// Returns the bytes of the second and the third cache, of which cores mostly have the one alone and share the other.
/// Where the system does not tell, what most machines have at least.
struct Caches {
  size_t of_core = size_t{512} << 10, shared = size_t{8} << 20;
};
Caches caches();

/// Maps memory that begins `past` bytes after a multiple of `alignment`, a power of two; its pages are taken when they
/// are first written, and are huge ones where the alignment is that of those. Returns nullptr where the system refuses.
/// (Portable: all of it is taken at once, and `past` is 0 to it.)
std::byte* map(size_t bytes, size_t alignment, size_t past = 0);
/// Gives back what map() returned.
void unmap(std::byte* data, size_t bytes);
/// Gives back the whole pages of a range of what map() returned; they come again, with any contents, when they are
/// written. (Portable: nothing happens.)
void drop(std::byte* data, size_t bytes);
/// Returns whether pages can be moved, as far as is known. (Portable: they cannot, and the next two must not be
/// called.)
bool can_move();
/// Moves whole pages of one mapping to another of their size, without copying them, huge ones as such if both begin as
/// far past a multiple of theirs. The place that they leave stays mapped; its pages come again, with any contents, when
/// they are written. Returns false where the system refuses: the pages are where they were, but the other mapping may
/// be gone, even another's already, and must not be touched any more.
bool move_out(std::byte* from, std::byte* to, size_t bytes);
/// Moves all of a mapping to a place of whole pages in another, instead of what is there; returns false as move_out()
/// does.
bool move_in(std::byte* from, std::byte* to, size_t bytes);

/// Returns `bytes` aligned so, or nullptr; to be freed by release().
void* allocate(size_t bytes, size_t alignment);
void release(void* data);

/// Returns the bytes that the machine, or the control group that the process is in, can still give without swapping or
/// killing; nullopt where the system does not tell.
std::optional<size_t> available_memory();
/// As neap::memory has them (neap/memory.h).
size_t resident_bytes();
size_t peak_resident_bytes();
bool reset_peak_resident();

/// Lets the calling thread wake when a sleep of microseconds ends, and not up to 50 later. (Portable: nothing happens.)
void wake_on_time();

/// The addresses that the calling thread's stack may have, from the lowest; size 0 where the system does not tell.
struct Stack {
  uintptr_t low = 0;
  size_t size = 0;
};
Stack stack();

/// Returns how many columns the terminal has that standard error goes to; 0 where it goes elsewhere. (Portable: 0.)
int columns_of_errors();

/// Returns a number that a child of fork() does not share. (Portable: there are none.)
long process();

/// Makes what exceptions need that pass functions of C: glibc loads it when the first one does, and aborts where it
/// cannot. Returns whether it is there. (Portable: it is.)
bool load_unwinder();

/// Makes a folder that is the user's alone, where there is none of that name.
void make_private_folder(const std::filesystem::path& path);

}  // namespace neap::os
