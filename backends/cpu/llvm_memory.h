// Memory that runs out inside LLVM, which is built without exceptions: its answer to a malloc that fails is to abort,
// and what is thrown through its functions unwinds them (they have the tables) but runs no destructor of theirs, so
// that locks stay taken and objects half changed. Three things, from the likely to the desperate:
//
// 1. A compilation begins only if the system gives twice the memory that it is expected to take, or LLVM is not touched
//    and an OutOfMemoryError says so. One half is given back at once, for LLVM to find, the other is the reserve.
// 2. An operator new that fails in LLVM all the same (another thread may have been faster) gets the reserve and tries
//    again: LLVM finishes, and nobody sees anything.
// 3. Where that is not enough, and for a malloc, std::bad_alloc flies through LLVM. All that LLVM was working on is
//    left as it is, for ever (with_fragile), and what is compiled next begins with a new session. What remains is
//    LLVM's own state of the process, of which almost all is made by the first compilation: a failure there can leave
//    a lock taken.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace neap::cpu {

/// Around all uses of LLVM; on the thread that makes it and, by LlvmThread, on others that help. There is one at a
/// time: another thread waits.
class LlvmMemory {
 public:
  /// OutOfMemoryError, where the system does not give that much (and as much again).
  explicit LlvmMemory(size_t bytes);
  ~LlvmMemory();
  LlvmMemory(const LlvmMemory&) = delete;
  LlvmMemory& operator=(const LlvmMemory&) = delete;

  /// Whether this thread is at work in LLVM.
  static bool inside();

 private:
  std::unique_lock<std::mutex> lock_;
  std::new_handler outer_;
};

/// Around the work of a thread that helps the one with the LlvmMemory.
class LlvmThread {
 public:
  LlvmThread();
  ~LlvmThread();
  LlvmThread(const LlvmThread&) = delete;
  LlvmThread& operator=(const LlvmThread&) = delete;

 private:
  bool outer_;
};

/// An object that LLVM works on, with all that belongs to it: destroyed as others are, unless an allocation failed.
class Kept {
 public:
  virtual ~Kept() = default;

 private:
  friend void keep_for_ever(Kept* object) noexcept;
  Kept* next_ = nullptr;
};
void keep_for_ever(Kept* object) noexcept;

/// f(T&) of a new T.
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
