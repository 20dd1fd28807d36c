// Messages that take longer than this machine's: a library to be loaded before MPI's, which holds back what has arrived
// for LIMITS_LATENCY microseconds. Time passes as over a network, and no processor is busy meanwhile.
//
//   mpirun -n 2 -x LD_PRELOAD=.../limits_slow_network.so -x LIMITS_LATENCY=1000 transformer_ranks
#include <mpi.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using Clock = std::chrono::steady_clock;

thread_local Clock::time_point arrives;

std::chrono::microseconds latency() {
  static const int64_t microseconds = [] {
    int64_t value = 0;
    if (const char* text = std::getenv("LIMITS_LATENCY")) std::from_chars(text, text + std::strlen(text), value);
    return value;
  }();
  return std::chrono::microseconds(microseconds);
}

}  // namespace

extern "C" {

// Each process is on a machine of its own.
int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm* alone) { return PMPI_Comm_dup(MPI_COMM_SELF, alone); }

int MPI_Irecv(void* bytes, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  arrives = Clock::now() + latency();
  return PMPI_Irecv(bytes, count, type, source, tag, comm, request);
}

int MPI_Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]) {
  if (Clock::now() >= arrives) return PMPI_Testall(count, requests, done, statuses);
  *done = 0;
  return MPI_SUCCESS;
}
}
