// Meshes of processes, by MPI. Link neap::mpi beside neap::neap (CMake: NEAP_MPI). A program is started by
// `mpirun -n 4 ./program`; each process is a rank.
#pragma once

#include <neap/spmd.h>

#include <cstdint>
#include <functional>
#include <source_location>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::mpi {

/// Initializes MPI, calls the program, and ends MPI; returns what main() is to return. Where the program throws, in
/// one rank or in all, the rank and what it threw (with the user's line) are written to the standard error, and all
/// ranks are ended: nobody waits for one that is gone. A program that calls MPI_Init itself needs none of this.
int run(int argc, char** argv, const std::function<int()>& program);

/// Returns this process's rank among all. Throws UserError where MPI is not initialized.
int64_t rank(std::source_location loc = std::source_location::current());
/// Returns the number of processes. Throws the same.
int64_t ranks(std::source_location loc = std::source_location::current());

/// Returns a mesh of all processes, which all call it, with the same axes: ranks are numbered along the last axis
/// first. One axis may have -1 ranks, which is as many as are left. Throws OptionError unless the product is the number
/// of processes.
///
/// A collective waits for the others for NEAP_MPI_TIMEOUT seconds (environment; 300 where it is not set), and throws
/// CommunicationError then, and from then on each time. One thread of a process at a time speaks to MPI; where several
/// call sharded functions, they do so in the same order on all ranks.
Mesh mesh(const Mesh::Axes& axes, std::source_location loc = std::source_location::current());

}  // namespace neap::mpi

#pragma GCC visibility pop
