#include <neap/jit.h>
#include <neap/mpi.h>

#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace neap::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using Loc = std::source_location;

constexpr size_t kMostBytes = size_t{1} << 30;  // of one message: MPI counts by int
constexpr auto kLastWait = std::chrono::seconds(1);
constexpr auto kBetweenLooks = std::chrono::microseconds(100);  // at what arrives while others compute: 5 % of a core

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<size_t>(length));
}

bool is_initialized() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

void check_initialized(std::string_view op, Loc loc) {
  if (!is_initialized())
    throw_user<UserError>(op, "a process without MPI", "one in which MPI is initialized", "call it inside mpi::run()",
                          loc);
}

// How many seconds a collective waits.
double patience(Loc loc) {
  const char* text = std::getenv("NEAP_MPI_TIMEOUT");
  if (!text || !*text) return 300;
  const char* const end = text + std::string_view(text).size();
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text, end, seconds);
  if (error != std::errc() || stop != end || !(seconds > 0 && seconds < 1e9))
    throw_user<OptionError>("NEAP_MPI_TIMEOUT", '"' + std::string(text) + '"', "a number of seconds above 0", "", loc);
  return seconds;
}

// A message's tag says which operation it belongs to: the first 15 bits that all implementations have.
int tag_of(uint64_t sequence, std::string_view what, Loc line) {
  uint64_t hash = sequence;
  for (const char c : what) hash = hash * 1099511628211u ^ static_cast<unsigned char>(c);
  hash = hash * 1099511628211u ^ line.line();
  return static_cast<int>((hash ^ hash >> 17 ^ hash >> 37) & 0x7fff);
}

// One at a time of this process speaks to MPI.
std::mutex& speaking() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

// Returns how many of these processes are on this machine. All of them call it.
int on_this_machine(MPI_Comm comm) {
  MPI_Comm here = MPI_COMM_NULL;
  int count = 1;
  if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS) return count;
  MPI_Comm_size(here, &count);
  MPI_Comm_free(&here);
  return count;
}

// Whether messages are to be beside computation wherever they can be.
bool always_beside() {
  const char* text = std::getenv("NEAP_OVERLAP");
  return text && std::string_view(text) == "all";
}

class Ranks : public Communicator {
 public:
  // `near`: ranks on this machine; `beside`: all processes there, which share its processors.
  Ranks(MPI_Comm comm, double patience, int near = 1, int beside = 1)
      : comm_(comm), patience_(patience), near_(near), beside_(beside) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  // Between processes of a machine messages are copies: only a processor with nothing else to do makes them beside.
  bool waits() const override {
    const int64_t threads = int64_t{beside_} * num_threads();
    return always_ || near_ < size_ || threads < std::thread::hardware_concurrency();
  }

  void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view what,
                Loc line) override {
    const std::lock_guard lock(speaking());
    if (!broken_.empty()) fail(broken_, what, line);
    tag_ = tag_of(sequence_++, what, line);
    pieces_.clear();
    for (const Message& message : receives) cut(message, false);
    for (const Message& message : sends) cut(message, true);
    requests_.assign(pieces_.size(), MPI_REQUEST_NULL);
    statuses_.resize(pieces_.size());
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const auto& [peer, bytes, size, sent] = pieces_[i];
      const int code = sent ? MPI_Isend(bytes, size, MPI_BYTE, peer, tag_, comm_, &requests_[i])
                            : MPI_Irecv(bytes, size, MPI_BYTE, peer, MPI_ANY_TAG, comm_, &requests_[i]);
      if (code != MPI_SUCCESS) fail(text_of(code), what, line);
    }
    wait(what, line);
  }

 private:
  struct Piece {
    int peer;
    std::byte* bytes;
    int size;
    bool sent;
  };

  void cut(const Message& message, bool sent) {
    size_t at = 0;
    do {  // an empty message is one, too
      const size_t size = std::min(kMostBytes, message.size - at);
      pieces_.push_back({static_cast<int>(message.peer), message.bytes + at, static_cast<int>(size), sent});
      at += size;
    } while (at < message.size);
  }

  // Returns whether all is done.
  bool test(std::string_view what, Loc line) {
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
    if (code == MPI_ERR_IN_STATUS) fail_of_status(what, line);
    if (code != MPI_SUCCESS) fail(text_of(code), what, line);
    return done != 0;
  }

  void wait(std::string_view what, Loc line) {
    const auto began = Clock::now();
    for (int64_t turns = 1; !test(what, line); ++turns) {
      if (turns < 100) continue;
      if (!rest(kBetweenLooks)) std::this_thread::yield();  // ranks may share a core
      if (turns % 1000 == 0 && std::chrono::duration<double>(Clock::now() - began).count() > patience_)
        give_up(what, line);
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.sent) continue;
      const std::string peer = "rank " + std::to_string(piece.peer);
      if (statuses_[i].MPI_TAG != tag_) fail(peer + " is at another operation", what, line);
      int bytes = 0;
      MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes);
      if (bytes != piece.size)
        fail(peer + " sent " + std::to_string(bytes) + " bytes, not " + std::to_string(piece.size), what, line);
    }
  }

  [[noreturn]] void fail_of_status(std::string_view what, Loc line) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      int kind = MPI_SUCCESS;
      MPI_Error_class(statuses_[i].MPI_ERROR, &kind);
      const std::string peer = "rank " + std::to_string(pieces_[i].peer);
      if (kind == MPI_ERR_TRUNCATE)
        fail(peer + " sent more than " + std::to_string(pieces_[i].size) + " bytes", what, line);
      if (kind != MPI_SUCCESS && kind != MPI_ERR_PENDING)
        fail(peer + ": " + text_of(statuses_[i].MPI_ERROR), what, line);
    }
    fail("a message failed", what, line);
  }

  [[noreturn]] void give_up(std::string_view what, Loc line) {
    std::string late;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL || pieces_[i].sent || late.size() > 60) continue;
      late += (late.empty() ? "" : ", ") + std::to_string(pieces_[i].peer);
    }
    fail(late.empty() ? "no rank takes what this one sends" : "no answer of rank " + late, what, line);
  }

  // From here on nothing that arrives can be told from what should: no exchange goes through any more.
  [[noreturn]] void fail(const std::string& got, std::string_view what, Loc line) {
    const std::string who = "rank " + std::to_string(rank_) + " of " + std::to_string(size_);
    if (broken_.empty()) {
      broken_ = got;
      for (size_t i = 0; i < requests_.size(); ++i)
        if (requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
      const auto began = Clock::now();
      const auto is_open = [&](MPI_Request& request) {
        int done = 1;
        return request != MPI_REQUEST_NULL && MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;
      };
      while (std::ranges::count_if(requests_, is_open) > 0) {
        std::this_thread::yield();
        if (Clock::now() - began < kLastWait) continue;
        // Arrays that MPI still reads or writes cannot be given back.
        const std::string text = user_message(what, who + ": " + got, "", "", line) + "\n";
        std::fputs(text.c_str(), stderr);
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    std::string seconds = std::to_string(patience_);  // "0.500000"
    seconds.erase(seconds.find_last_not_of('0') + 1);
    if (seconds.ends_with('.')) seconds.pop_back();
    throw_user<CommunicationError>(what, who + ": " + got,
                                   "an answer of all ranks within " + seconds + " s (NEAP_MPI_TIMEOUT)",
                                   "all ranks run the same program, and come by the same collectives", line);
  }

  MPI_Comm comm_;
  double patience_;
  int near_, beside_;
  const bool always_ = always_beside();
  int rank_ = 0, size_ = 1, tag_ = 0;
  uint64_t sequence_ = 0;
  std::string broken_;  // what went wrong
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Piece> pieces_;
};

// All processes, apart from what the program sends to them itself.
MPI_Comm world() {
  static const MPI_Comm comm = [] {
    const std::lock_guard lock(speaking());
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  return comm;
}

using Axes = std::vector<std::pair<std::string, std::shared_ptr<Communicator>>>;

// Throws unless all processes ask for the same axes, as making them waits for all without end.
void check_same_axes(const Mesh::Axes& axes, Loc loc) {
  static Ranks& all_ranks = *new Ranks(world(), patience(loc));
  std::string text;
  for (const auto& [name, size] : axes) text += name + " " + std::to_string(size) + " ";
  uint64_t hash = 1469598103934665603u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::vector<uint64_t> all(static_cast<size_t>(all_ranks.size()), hash);
  std::vector<Message> sends, receives;
  for (int64_t peer = 0; peer < all_ranks.size(); ++peer) {
    if (peer == all_ranks.rank()) continue;
    sends.push_back({peer, reinterpret_cast<std::byte*>(&hash), sizeof hash});                               // NOLINT
    receives.push_back({peer, reinterpret_cast<std::byte*>(&all[static_cast<size_t>(peer)]), sizeof hash});  // NOLINT
  }
  try {
    all_ranks.exchange(sends, receives, "mesh", Loc());  // it may be called from another line
  } catch (const CommunicationError& error) {
    throw CommunicationError(std::string(error.what()) + "  [" + to_string(loc) + "]");
  }
  const auto other = std::ranges::find_if(all, [&](uint64_t theirs) { return theirs != hash; });
  if (other != all.end())
    throw_user<CommunicationError>("mesh", "other axes on rank " + std::to_string(other - all.begin()),
                                   "the same axes on all processes", "", loc);
}

}  // namespace

int run(int argc, char** argv, const std::function<int()>& program) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  const std::string who = "rank " + std::to_string(rank()) + " of " + std::to_string(ranks()) + ": ";
  const auto end_all = [&](const char* thrown) {
    std::fputs((who + thrown + "\n").c_str(), stderr);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  };
  if (provided < MPI_THREAD_SERIALIZED) end_all("MPI without MPI_THREAD_SERIALIZED");
  world();
  int result = 1;
  try {
    result = program();
  } catch (const std::exception& error) {
    end_all(error.what());
  } catch (...) {
    end_all("an exception that is no std::exception");
  }
  if (is_initialized()) MPI_Finalize();
  return result;
}

int64_t rank(Loc loc) {
  check_initialized("rank", loc);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int64_t ranks(Loc loc) {
  check_initialized("ranks", loc);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

Mesh mesh(const Mesh::Axes& axes, Loc loc) {
  check_initialized("mesh", loc);
  Mesh::Axes sizes = axes;
  const int64_t all = ranks(loc);
  int64_t product = 1;
  std::pair<std::string, int64_t>* rest = nullptr;
  for (auto& axis : sizes) {
    if (axis.second == -1 && !rest)
      rest = &axis;
    else if (axis.second < 1 || __builtin_mul_overflow(product, axis.second, &product))
      throw_user<OptionError>("mesh", "axis \"" + axis.first + "\" of " + std::to_string(axis.second) + " ranks",
                              "1 rank or more, -1 of one axis for as many as are left", "", loc);
  }
  if (rest) rest->second = all / product;
  if (product * (rest ? rest->second : 1) != all)
    throw_user<OptionError>("mesh",
                            "axes of " + std::to_string(product) + " ranks for " + std::to_string(all) + " processes",
                            "as many ranks as there are processes", "mpirun -n says how many", loc);
  const int64_t mine = rank(loc);
  // Made once, and kept: MPI has few, and giving one back waits for all ranks.
  static std::mutex& making = *new std::mutex;
  static std::map<Mesh::Axes, Axes>& made = *new std::map<Mesh::Axes, Axes>;
  const std::lock_guard lock(making);
  check_same_axes(sizes, loc);
  Axes& communicators = made[sizes];
  if (communicators.empty()) {
    const std::lock_guard speaks(speaking());
    const int beside = on_this_machine(world());
    int64_t inner = all;  // ranks along this axis and those inside it
    for (const auto& [name, size] : sizes) {
      const int64_t stride = inner / size, place = mine / stride % size;
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_split(world(), static_cast<int>(mine - place * stride), static_cast<int>(place), &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      communicators.emplace_back(name, std::make_shared<Ranks>(comm, patience(loc), on_this_machine(comm), beside));
      inner = stride;
    }
  }
  return Mesh::processes(communicators, loc);
}

}  // namespace neap::mpi
