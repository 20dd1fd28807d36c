// Arrays that are cut over ranks, in files: checkpoints that a run on any number of ranks reads. Not part of neap.h.
//
// A folder has a .safetensors file of each rank's blocks, and index.json, which says what they are. All ranks write at
// once, each its own file; what the folder held before stays until what all have written is on the disk, and is what is
// read if one of them does not come to that.
#pragma once

#include <neap/spmd.h>

#include <filesystem>
#include <map>
#include <source_location>
#include <string>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Writes arrays by name, of which each process gives its part; an array that is not in `specs` is whole on every rank,
/// and the first one writes it. All ranks of the mesh call it; it returns when all have written. The folder is made if
/// it is not there; all processes see the same one. Throws UserError where a file cannot be written, or where the mesh
/// is one that nobody runs.
void save_sharded(const std::filesystem::path& folder, const std::map<std::string, Array>& arrays, const Mesh& mesh,
                  const std::map<std::string, PartitionSpec>& specs,
                  std::source_location loc = std::source_location::current());

/// Reads this process's parts of the arrays of such a folder, cut as `specs` says now: by ranks and along axes that
/// need not be those of the run that wrote them. It reads the files that its parts are in, one at a time, and holds one
/// beside its parts. Throws UserError where the folder holds nothing whole, or an array does not divide.
std::map<std::string, Array> load_sharded(const std::filesystem::path& folder, const Mesh& mesh,
                                          const std::map<std::string, PartitionSpec>& specs,
                                          std::source_location loc = std::source_location::current());

}  // namespace neap

#pragma GCC visibility pop
