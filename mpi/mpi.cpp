#include <neap/mpi.h>

#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace neap::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using Loc = std::source_location;

constexpr size_t kMostBytes = size_t{1} << 30;  // of one message: MPI counts by int
constexpr int kTag = 0x6e65;

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

std::chrono::duration<double> patience() {
  double seconds = 0;
  if (const char* text = std::getenv("NEAP_MPI_TIMEOUT"))
    std::from_chars(text, text + std::string_view(text).size(), seconds);
  return std::chrono::duration<double>(seconds > 0 ? seconds : 300);
}

class Ranks : public Communicator {
 public:
  // Owns the communicator.
  explicit Ranks(MPI_Comm comm) : comm_(comm), patience_(patience()) {
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~Ranks() override {
    if (is_initialized()) MPI_Comm_free(&comm_);
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }

  void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view what,
                Loc line) override {
    requests_.clear();
    pieces_.clear();
    for (const Message& message : receives) begin(message, false, what, line);
    for (const Message& message : sends) begin(message, true, what, line);
    wait(what, line);
  }

 private:
  struct Piece {
    int peer, bytes;
    bool sent;
  };

  void begin(const Message& message, bool sends, std::string_view what, Loc line) {
    const int peer = static_cast<int>(message.peer);
    size_t at = 0;
    do {  // an empty message is one, too
      const int bytes = static_cast<int>(std::min(kMostBytes, message.size - at));
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = sends ? MPI_Isend(message.bytes + at, bytes, MPI_BYTE, peer, kTag, comm_, &request)
                             : MPI_Irecv(message.bytes + at, bytes, MPI_BYTE, peer, kTag, comm_, &request);
      if (code != MPI_SUCCESS) fail(text_of(code), what, line);
      requests_.push_back(request);
      pieces_.push_back({peer, bytes, sends});
      at += static_cast<size_t>(bytes);
    } while (at < message.size);
  }

  void wait(std::string_view what, Loc line) {
    statuses_.resize(requests_.size());
    const auto began = Clock::now();
    for (int64_t turns = 0;; ++turns) {
      int done = 0;
      const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
      if (code != MPI_SUCCESS) fail_of(code, what, line);
      if (done != 0) break;
      if (turns < 100) continue;
      std::this_thread::yield();  // ranks may share a core
      if (turns % 1000 != 0) continue;
      if (Clock::now() - began > patience_) give_up(what, line);
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      int bytes = 0;
      if (!pieces_[i].sent) MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes);
      if (!pieces_[i].sent && bytes != pieces_[i].bytes) differs(pieces_[i], std::to_string(bytes), what, line);
    }
  }

  // What Testall says of its requests.
  [[noreturn]] void fail_of(int code, std::string_view what, Loc line) {
    if (code != MPI_ERR_IN_STATUS) fail(text_of(code), what, line);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      int kind = MPI_SUCCESS;
      MPI_Error_class(statuses_[i].MPI_ERROR, &kind);
      if (kind == MPI_ERR_TRUNCATE) differs(pieces_[i], "more", what, line);
      if (kind != MPI_SUCCESS && kind != MPI_ERR_PENDING)
        fail("rank " + std::to_string(pieces_[i].peer) + ": " + text_of(statuses_[i].MPI_ERROR), what, line);
    }
    fail(text_of(code), what, line);
  }

  [[noreturn]] void give_up(std::string_view what, Loc line) {
    std::string late;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      const std::string peer = std::to_string(pieces_[i].peer);
      if (!pieces_[i].sent && late.size() < 60) late += (late.empty() ? "" : ", ") + peer;
    }
    fail(late.empty() ? "no rank takes what this one sends" : "no answer of rank " + late, what, line);
  }

  [[noreturn]] void differs(const Piece& piece, const std::string& bytes, std::string_view what, Loc line) {
    fail("rank " + std::to_string(piece.peer) + " sent " + bytes + " bytes, not " + std::to_string(piece.bytes), what,
         line);
  }

  // The memory of what is not done is given back: requests go first.
  [[noreturn]] void fail(const std::string& got, std::string_view what, Loc line) {
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    throw_user<CommunicationError>(what, "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ": " + got,
                                   "an answer of all ranks within " +
                                       std::to_string(static_cast<int>(patience_.count())) + " s (NEAP_MPI_TIMEOUT)",
                                   "all ranks run the same program, and come by the same collectives", line);
  }

  MPI_Comm comm_;
  std::chrono::duration<double> patience_;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Piece> pieces_;
};

}  // namespace

int run(int argc, char** argv, const std::function<int()>& program) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  std::string thrown;
  int result = 1;
  try {
    result = program();
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "an exception that is no std::exception";
  }
  if (!thrown.empty()) {
    std::fputs(("rank " + std::to_string(rank()) + " of " + std::to_string(ranks()) + ": " + thrown + "\n").c_str(),
               stderr);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
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
  std::vector<std::pair<std::string, std::shared_ptr<Communicator>>> communicators;
  int64_t inner = all;  // ranks along this axis and those inside it
  const int64_t mine = rank(loc);
  for (const auto& [name, size] : sizes) {
    const int64_t stride = inner / size, place = mine / stride % size;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(mine - place * stride), static_cast<int>(place), &comm);
    communicators.emplace_back(name, std::make_shared<Ranks>(comm));
    inner = stride;
  }
  return Mesh::processes(communicators, loc);
}

}  // namespace neap::mpi
