// What the programs of limits_ranks share.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

namespace limits {

inline int rank_of() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Returns the seconds of a call, which all ranks make: the mean of as many as fill a second, after one.
template <class F>
double seconds_of(F f) {
  f();
  const auto timed = [&](int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (int i = 0; i < calls; ++i) f();
    double seconds = (MPI_Wtime() - began) / calls, slowest = 0;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
  };
  return timed(std::clamp(static_cast<int>(1 / timed(1)), 3, 10000));
}

/// Trains the transformer of examples/mpi/transformer_ranks.cpp for so many steps, and prints its speed.
void transformer(int64_t steps);

}  // namespace limits
