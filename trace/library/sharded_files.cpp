#include <neap/safetensors.h>
#include <neap/sharded_files.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "core/file.h"
#include "core/json.h"
#include "core/safetensors.h"
#include "trace/graph/mesh.h"
#include "trace/tracing/tracing.h"

namespace neap {

namespace {

using Loc = std::source_location;
namespace fs = std::filesystem;

constexpr std::string_view kFormat = "neap sharded safetensors 1";

// A block of an array: where it begins, its shape, and the file that it is in.
struct Block {
  Shape start, shape;
  std::string file;
};

struct Entry {
  Aval aval;  // of the whole
  std::vector<Block> blocks;
};

struct Contents {
  int64_t generation = 0;
  std::map<std::string, Entry> entries;
};

std::string written(const Contents& index) {
  JsonWriter json(1);
  json.begin_object().member("format", kFormat).member("generation", index.generation).key("arrays");
  json.begin_object();
  for (const auto& [name, entry] : index.entries) {
    json.key(name).begin_object().member("dtype", neap::name(entry.aval.dtype));
    json.member("shape", entry.aval.shape);
    json.key("blocks").begin_array();
    for (const Block& block : entry.blocks) {
      json.begin_object().member("file", block.file).member("start", block.start).member("shape", block.shape);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_object().end_object();
  return json.take() + "\n";
}

struct Damaged {
  std::string what;
};

const Json& member(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  if (!found) throw Damaged{fmt::format("it lacks \"{}\"", name)};
  return *found;
}

std::string text_of(const Json& json) {
  if (!json.is_string()) throw Damaged{fmt::format("{} in place of a text", json.shown())};
  return json.get<std::string>();
}

Shape numbers_of(const Json& json) {
  Shape numbers;
  for (const Json& n : json.items()) {
    if (!n.is_number_unsigned() || n.get<uint64_t>() > INT64_MAX)
      throw Damaged{fmt::format("{} in place of a whole number", n.shown())};
    numbers.push_back(n.get<int64_t>());
  }
  return numbers;
}

Block block_of(const Json& json, const Shape& whole, const std::string& prefix) {
  Block block{numbers_of(member(json, "start")), numbers_of(member(json, "shape")), text_of(member(json, "file"))};
  if (!block.file.starts_with(prefix) || !block.file.ends_with(".safetensors") ||
      fs::path(block.file).filename() != block.file)
    throw Damaged{fmt::format("the file name \"{}\"", block.file)};
  bool fits = block.start.size() == whole.size() && block.shape.size() == whole.size();
  for (size_t i = 0; fits && i < whole.size(); ++i)
    fits = block.start[i] <= whole[i] && block.shape[i] <= whole[i] - block.start[i];
  if (!fits) throw Damaged{fmt::format("a block {} of an array {}", to_string(block.shape), to_string(whole))};
  return block;
}

// Blocks do not share elements: as many as the array has are all of them.
void check_apart(const std::string& name, const Entry& entry) {
  for (size_t a = 0; a < entry.blocks.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const Block &x = entry.blocks[a], &y = entry.blocks[b];
      bool common = true;
      for (size_t i = 0; i < x.shape.size(); ++i)
        common =
            common && std::min(x.start[i] + x.shape[i], y.start[i] + y.shape[i]) > std::max(x.start[i], y.start[i]);
      if (common) throw Damaged{fmt::format("two blocks of '{}' that share elements", name)};
    }
}

Contents parsed(std::string_view text) {
  const Json json = Json::parse(text);
  if (text_of(member(json, "format")) != kFormat) throw Damaged{"it is of another format"};
  Contents index;
  const Json& generation = member(json, "generation");
  if (!generation.is_number_unsigned() || generation.get<uint64_t>() >= INT64_MAX)
    throw Damaged{"its generation is no whole number"};
  index.generation = generation.get<int64_t>();
  if (!member(json, "arrays").is_object()) throw Damaged{"its arrays are no object"};
  for (const auto& [name, array] : member(json, "arrays").members()) {
    const std::optional<DType> dtype = parse_dtype(text_of(member(array, "dtype")));
    if (!dtype) throw Damaged{fmt::format("'{}' has elements of no known type", name)};
    Entry entry{{numbers_of(member(array, "shape")), *dtype}, {}};
    if (!counted_bytes(entry.aval)) throw Damaged{fmt::format("'{}' is {}", name, to_string(entry.aval))};
    for (const Json& block : member(array, "blocks").items())
      entry.blocks.push_back(block_of(block, entry.aval.shape, fmt::format("{}-", index.generation)));
    check_apart(name, entry);
    index.entries.emplace(name, std::move(entry));
  }
  return index;
}

Contents read_index(std::string_view op, const fs::path& folder, Loc loc) {
  const fs::path path = folder / "index.json";
  const auto fail = [&](const std::string& why) {
    throw_user<UserError>(op, fmt::format("{}: {}", path.string(), why), "an index that save_sharded() wrote", "", loc);
  };
  try {
    return parsed(read_file(path));
  } catch (const Damaged& damaged) {
    fail(damaged.what);
  } catch (const JsonError& error) {
    fail(error.what());
  } catch (const std::system_error& error) {
    fail(error.what());
  }
  return {};
}

PartitionSpec spec_of(const std::map<std::string, PartitionSpec>& specs, const std::string& name) {
  const auto found = specs.find(name);
  return found == specs.end() ? PartitionSpec{} : found->second;
}

// Where each rank along the axes of the mesh is.
using Place = std::vector<int64_t>;

std::vector<Place> all_places(const Mesh& mesh) {
  std::vector<Place> places{{}};
  for (const auto& [name, size] : mesh.axes()) {
    std::vector<Place> longer;
    for (const Place& place : places)
      for (int64_t r = 0; r < size; ++r) {
        longer.push_back(place);
        longer.back().push_back(r);
      }
    places = std::move(longer);
  }
  return places;
}

// The block of the rank there; `writes`: whether it is the first that has it.
struct Part {
  Shape start, shape;
  bool writes = true;
};
Part part_of(const Mesh& mesh, const Place& place, const Shape& whole, const PartitionSpec& spec, Loc loc) {
  Part part{Shape(whole.size(), 0), mesh.block(whole, spec, loc), true};
  const Mesh::Axes axes = mesh.axes();
  for (size_t m = 0; m < axes.size(); ++m) {
    const auto cut = std::ranges::find(spec.axes, axes[m].first);
    if (cut == spec.axes.end()) {
      part.writes = part.writes && place[m] == 0;
      continue;
    }
    const auto axis = static_cast<size_t>(cut - spec.axes.begin());
    part.start[axis] = place[m] * part.shape[axis];
  }
  return part;
}

// The shape of the whole of which this process has a part.
Shape whole_of(const Mesh& mesh, Shape part, const PartitionSpec& spec) {
  if (mesh.emulates()) return part;
  for (size_t i = 0; i < spec.axes.size() && i < part.size(); ++i)
    if (!spec.axes[i].empty()) part[i] *= mesh.size(spec.axes[i]);
  return part;
}

// Every rank waits here for every other one.
void meet(const Mesh& mesh, std::string_view op, Loc loc) {
  for (const auto& axis : mesh.impl()->axes) {
    if (!axis->communicator) continue;
    std::vector<Message> messages;
    for (int64_t peer = 0; peer < axis->size; ++peer)
      if (peer != axis->communicator->rank()) messages.push_back({peer, nullptr, 0});
    axis->communicator->exchange(messages, messages, op, loc);
  }
}

// Copies what two blocks of one array have in common.
void copy_common(const Part& to, std::byte* out, const Block& from, const std::byte* in, size_t element) {
  const size_t ndim = to.shape.size();
  Shape begin(ndim), count(ndim);
  for (size_t i = 0; i < ndim; ++i) {
    begin[i] = std::max(to.start[i], from.start[i]);
    count[i] = std::min(to.start[i] + to.shape[i], from.start[i] + from.shape[i]) - begin[i];
    if (count[i] <= 0) return;
  }
  const auto offset = [&](const Shape& at, const Shape& start, const Shape& shape) {
    int64_t index = 0;
    for (size_t i = 0; i < ndim; ++i) index = index * shape[i] + at[i] - start[i];
    return static_cast<size_t>(index) * element;
  };
  const size_t row = (ndim == 0 ? 1 : static_cast<size_t>(count.back())) * element;
  for (Shape at = begin;;) {
    std::memcpy(out + offset(at, to.start, to.shape), in + offset(at, from.start, from.shape), row);
    size_t i = ndim > 0 ? ndim - 1 : 0;
    while (i > 0 && ++at[i - 1] == begin[i - 1] + count[i - 1]) --i, at[i] = begin[i];
    if (i == 0) return;
  }
}

void check_mesh(std::string_view op, const Mesh& mesh, Loc loc) {
  if (mesh.impl()->ranks == tracing::MeshImpl::Ranks::planned && mesh.ranks() > 1)
    throw_user<UserError>(op, "a mesh that no processes run", "a mesh of processes, or an emulated one", "", loc);
}

Place place_of(const Mesh& mesh) {
  Place place;
  for (const auto& axis : mesh.impl()->axes) place.push_back(axis->communicator ? axis->communicator->rank() : 0);
  return place;
}

}  // namespace

void save_sharded(const fs::path& folder, const std::map<std::string, Array>& arrays, const Mesh& mesh,
                  const std::map<std::string, PartitionSpec>& specs, Loc loc) {
  static constexpr std::string_view op = "save_sharded";
  check_mesh(op, mesh, loc);
  const auto refused = [&](const std::string& what) { throw_user<UserError>(op, what, "", "", loc); };
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) refused(fmt::format("{}: {}", folder.string(), code.message()));
  Contents old;
  if (fs::exists(folder / "index.json")) old = read_index(op, folder, loc);

  // All ranks make the same index.
  Contents index{old.generation + 1, {}};
  const std::vector<Place> places = mesh.emulates() ? std::vector<Place>{place_of(mesh)} : all_places(mesh);
  const Place here = place_of(mesh);
  std::map<std::string, Array> mine;
  std::string my_file;
  for (const auto& [name, array] : arrays) {
    tracing::concrete_buffer(array, op, loc);
    const PartitionSpec spec = spec_of(specs, name);
    Entry entry{{whole_of(mesh, array.shape(), spec), array.dtype()}, {}};
    for (size_t r = 0; r < places.size(); ++r) {
      Part part{Shape(entry.aval.shape.size(), 0), entry.aval.shape, true};
      if (!mesh.emulates()) part = part_of(mesh, places[r], entry.aval.shape, spec, loc);
      if (!part.writes) continue;
      std::string file = fmt::format("{}-{:05}-of-{:05}.safetensors", index.generation, r, places.size());
      if (places[r] == here) my_file = file, mine.emplace(name, array);
      entry.blocks.push_back({std::move(part.start), std::move(part.shape), std::move(file)});
    }
    index.entries.emplace(name, std::move(entry));
  }
  // What the index names is on the disk before the index is, and that before what it replaces goes.
  const auto flush_names = [&](const fs::path& of) {
    try {
      flush_to_disk(of.empty() ? "." : of);
    } catch (const std::system_error&) {  // one may write to a folder that one may not read: its names come later
    }
  };
  if (!mine.empty()) {
    save_safetensors(folder / my_file, mine, loc);
    try {
      flush_to_disk(folder / my_file);
    } catch (const std::system_error& error) {
      refused(error.what());
    }
    flush_names(folder);
  }
  meet(mesh, op, loc);
  if (std::ranges::all_of(here, [](int64_t r) { return r == 0; })) {
    try {
      AtomicFile file(folder / "index.json");
      const std::string text = written(index);
      file.write(text.data(), text.size());
      file.flush_to_disk();
      file.commit();
    } catch (const std::system_error& error) {
      refused(error.what());
    }
    flush_names(folder);
    flush_names(fs::absolute(folder).parent_path());
    std::set<std::string> stale;  // a run that ended in between may have left others, which nobody reads
    for (const auto& [name, entry] : old.entries)
      for (const Block& block : entry.blocks) stale.insert(block.file);
    for (const std::string& file : stale) fs::remove(folder / file, code);
  }
  meet(mesh, op, loc);
}

std::map<std::string, Array> load_sharded(const fs::path& folder, const Mesh& mesh,
                                          const std::map<std::string, PartitionSpec>& specs, Loc loc) {
  static constexpr std::string_view op = "load_sharded";
  check_mesh(op, mesh, loc);
  const Contents index = read_index(op, folder, loc);
  const Place here = place_of(mesh);
  struct Wanted {
    Part part;
    BufferPtr data;
    int64_t found = 0;  // elements
  };
  std::map<std::string, Wanted> wanted;
  std::map<std::string, std::vector<std::pair<std::string, const Block*>>> by_file;
  for (const auto& [name, entry] : index.entries) {
    Part part{Shape(entry.aval.shape.size(), 0), entry.aval.shape, true};
    if (!mesh.emulates()) part = part_of(mesh, here, entry.aval.shape, spec_of(specs, name), loc);
    const Aval aval{part.shape, entry.aval.dtype};
    for (const Block& block : entry.blocks) by_file[block.file].emplace_back(name, &block);
    wanted.emplace(name, Wanted{std::move(part), allocate(aval.bytes(), name), 0});
  }
  for (const auto& [file, blocks] : by_file) {
    const auto common = [&](const Part& part, const Block& block) {
      int64_t count = 1;
      for (size_t i = 0; i < part.shape.size(); ++i)
        count *= std::max<int64_t>(0, std::min(part.start[i] + part.shape[i], block.start[i] + block.shape[i]) -
                                          std::max(part.start[i], block.start[i]));
      return count;
    };
    if (std::ranges::none_of(blocks, [&](const auto& b) { return common(wanted.at(b.first).part, *b.second) > 0; }))
      continue;
    const std::map<std::string, HostArray> read = read_safetensors(folder / file, loc);
    for (const auto& [name, block] : blocks) {
      const Aval expected{block->shape, index.entries.at(name).aval.dtype};
      const auto found = read.find(name);
      if (found == read.end() || found->second.aval != expected)
        throw_user<UserError>(op,
                              fmt::format("{}: '{}' is not {}", (folder / file).string(), name, to_string(expected)),
                              "what the index says", "", loc);
      Wanted& to = wanted.at(name);
      copy_common(to.part, to.data->data(), *block, found->second.data->data(), size_of(expected.dtype));
      to.found += common(to.part, *block);
    }
  }
  std::map<std::string, Array> arrays;
  for (auto& [name, to] : wanted) {
    const Aval aval{to.part.shape, index.entries.at(name).aval.dtype};
    if (to.found != aval.size())
      throw_user<UserError>(op, fmt::format("{}: blocks of {} elements of '{}'", folder.string(), to.found, name),
                            fmt::format("all {}", aval.size()), "", loc);
    arrays.emplace(name, detail::make_concrete(aval, std::move(to.data)));
  }
  return arrays;
}

}  // namespace neap
