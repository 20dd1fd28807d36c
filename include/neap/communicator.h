// How ranks of a mesh reach each other. neap/mpi.h has them by MPI; a program may bring others.
#pragma once

#include <neap/error.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// CommunicationError means that another rank did not answer, or runs another program.
struct CommunicationError : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// A Message is bytes that go to a rank, or come from it.
struct Message {
  int64_t peer;      // the other rank
  std::byte* bytes;  // of one that is sent: they are only read
  size_t size;       // in bytes; it may be 0
};

/// A Communicator moves messages between the ranks along one axis of a mesh. Each rank has its own. Threads may call it
/// at the same time; a program that computes while its messages are under way calls exchange() on a thread beside it.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  /// Returns this rank, from 0.
  virtual int64_t rank() const = 0;
  /// Returns the number of ranks.
  virtual int64_t size() const = 0;
  /// Sends and receives, and returns when all is done. All ranks make the same calls in the same order; there is at
  /// most one message to each other rank and one from each, and the two ends of a message agree on its size. Throws
  /// CommunicationError where a rank does not answer in time, or with another size, and from then on in each call, as
  /// what arrives may belong to the one before: `what` and `line` are the operation.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view what,
                        std::source_location line) = 0;
  /// Returns whether exchange() mostly waits, for a network or another processor, so that it may as well go on beside
  /// what a program computes. Else it is work for processors that all compute, and called by the thread that computes.
  virtual bool waits() const { return true; }

 protected:
  /// Where exchange() was called while the program computes something else, and nothing waits for it yet: sleeps for so
  /// long, or until something waits, as others want the processor, and returns true. Else returns false at once.
  static bool rest(std::chrono::microseconds time);
};

}  // namespace neap

#pragma GCC visibility pop
