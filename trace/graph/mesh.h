// Axes of a mesh: ranks, one process each or all in this one, that run the same program on blocks of arrays.
#pragma once

#include <neap/communicator.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace neap::tracing {

/// MeshAxis is one axis. Without a communicator it is of ranks that this process emulates, or that no process runs.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  std::shared_ptr<Communicator> communicator = {};

  bool operator==(const MeshAxis&) const = default;
};

/// MeshImpl is what a Mesh points to.
struct MeshImpl {
  enum class Ranks : uint8_t { emulated, planned, processes };
  std::vector<std::shared_ptr<const MeshAxis>> axes;
  Ranks ranks = Ranks::emulated;
};

}  // namespace neap::tracing
