// Memory may run out inside LLVM, which is built without exceptions: its answer to a malloc that fails is to abort, and
// what is thrown through its functions unwinds them (they have the tables) but runs no destructor of theirs, so that
// locks stay taken and objects half changed. Three things help, each where the one before does not suffice:
//
// 1. A compilation begins only if the system gives twice the memory that it is expected to take, or LLVM is not touched
//    and an OutOfMemoryError says so. One half is given back at once, for LLVM to find, the other is the reserve.
// 2. An operator new that fails in LLVM all the same (another thread may have been faster) gets the reserve and tries
//    again: LLVM finishes as usual.
// 3. Where that is not enough, and for a malloc, std::bad_alloc is thrown through LLVM. All that LLVM was working on is
//    never destroyed (with_fragile, and all of a session, jit.cpp), and what is compiled next begins with a new
//    session. What remains is LLVM's own state of the process, of which almost all is made as LLVM starts (jit.cpp): a
//    failure there can leave a lock taken, so that it is refused from then on.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace neap::cpu {

/// An LlvmMemory surrounds all uses of LLVM on the thread that makes it; an LlvmThread does on others that help. Those
/// of several threads share the reserve.
class LlvmMemory {
 public:
  /// Throws OutOfMemoryError where the system does not give that much, and as much again.
  explicit LlvmMemory(size_t bytes);
  ~LlvmMemory();
  LlvmMemory(const LlvmMemory&) = delete;
  LlvmMemory& operator=(const LlvmMemory&) = delete;

  /// Tells whether this thread is at work in LLVM.
  static bool inside();
};

/// An LlvmThread surrounds the work of a thread that helps the one with the LlvmMemory.
class LlvmThread {
 public:
  LlvmThread();
  ~LlvmThread();
  LlvmThread(const LlvmThread&) = delete;
  LlvmThread& operator=(const LlvmThread&) = delete;

 private:
  bool outer_;
};

/// Holds an object that LLVM works on, with all that belongs to it. It is destroyed as others are, unless an allocation
/// failed.
class Kept {
 public:
  virtual ~Kept() = default;

 private:
  friend void keep_for_ever(Kept* object) noexcept;
  Kept* next_ = nullptr;
};
void keep_for_ever(Kept* object) noexcept;

/// Returns f of a new T, which is kept for the life of the process where an allocation fails.
template <class T, class F>
auto with_fragile(F&& f) {
  auto object = std::make_unique<T>();
  try {
    return std::forward<F>(f)(*object);
  } catch (const std::bad_alloc&) {
    keep_for_ever(object.release());
    throw;
  }
}

}  // namespace neap::cpu
