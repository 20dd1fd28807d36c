#include "core/safetensors.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "core/ascii.h"
#include "core/file.h"
#include "core/json.h"

namespace neap {

namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // as the format's own implementation
constexpr size_t kMostAxes = 64;                  // of an array; more are taken for a damaged header
constexpr std::string_view kMetadata = "__metadata__";

// The format names the dtypes as we do, in capitals.
std::string format_name(DType dtype) { return ascii::to_upper(name(dtype)); }

std::optional<DType> dtype_named(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (format_name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

struct BadFile {
  std::string what;
};

struct Entry {
  Aval aval;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// A list of at most `most` whole numbers from 0 to INT64_MAX.
Shape read_naturals(JsonReader& reader, size_t most) {
  Shape list;
  reader.array([&] {
    if (list.size() == most) reader.fail(fmt::format("more than {} numbers", most));
    if (reader.kind() != JsonReader::Kind::number) reader.fail("expected a whole number");
    const JsonReader::Number number = reader.number();
    if (number.kind != JsonReader::Number::Kind::natural || number.bits > INT64_MAX) {
      reader.fail(fmt::format("expected a whole number from 0 to {}", INT64_MAX));
    }
    list.push_back(static_cast<int64_t>(number.bits));
  });
  return list;
}

Entry read_entry(JsonReader& reader, const std::string& name) {
  std::optional<DType> dtype;
  std::optional<Shape> shape, offsets;
  reader.object([&](const std::string& key) {
    const bool again = (key == "dtype" && dtype) || (key == "shape" && shape) || (key == "data_offsets" && offsets);
    if (again) reader.fail(fmt::format("'{}' has two of '{}'", name, key));
    if (key == "dtype") {
      const std::string text = reader.string();
      dtype = dtype_named(text);
      if (!dtype) throw BadFile{fmt::format("'{}' has elements of type {}", name, text.substr(0, 40))};
    } else if (key == "shape") {
      shape = read_naturals(reader, kMostAxes);
    } else if (key == "data_offsets") {
      offsets = read_naturals(reader, 2);
    } else {
      reader.skip();
    }
  });
  if (!dtype || !shape || !offsets || offsets->size() != 2) {
    throw BadFile{fmt::format("'{}' lacks dtype, shape or two data_offsets", name)};
  }
  Entry entry{{std::move(*shape), *dtype}, static_cast<uint64_t>((*offsets)[0]), static_cast<uint64_t>((*offsets)[1])};
  const std::optional<uint64_t> bytes = counted_bytes(entry.aval);
  if (!bytes || entry.begin > entry.end || entry.end - entry.begin != *bytes) {
    throw BadFile{fmt::format("'{}' is {}, which its offsets [{},{}] do not fit", name, to_string(entry.aval),
                              entry.begin, entry.end)};
  }
  return entry;
}

std::map<std::string, Entry> read_header(std::string_view text) {
  std::map<std::string, Entry> entries;
  JsonReader reader(text);
  bool metadata = false;
  reader.object([&](std::string name) {
    if (name == kMetadata) {
      if (std::exchange(metadata, true)) reader.fail("two of __metadata__");
      reader.object([&](const std::string&) { reader.string(); });
    } else if (entries.contains(name)) {
      reader.fail(fmt::format("two arrays named '{}'", name));
    } else {
      Entry entry = read_entry(reader, name);
      entries.emplace(std::move(name), std::move(entry));
    }
  });
  reader.end();
  return entries;
}

// Throws unless the arrays lie one behind the other and fill the file: otherwise a small file could claim any amount of
// memory.
void check_tiling(const std::map<std::string, Entry>& entries, uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, Entry>*> order;
  for (const auto& item : entries) order.push_back(&item);
  std::ranges::sort(order, {}, [](const auto* item) { return std::pair(item->second.begin, item->second.end); });
  uint64_t end = 0;
  for (const auto* item : order) {
    if (item->second.begin != end) {
      throw BadFile{fmt::format("'{}' begins at byte {} of the data, where the arrays before it end at {}", item->first,
                                item->second.begin, end)};
    }
    end = item->second.end;
  }
  if (end != data_bytes) {
    throw BadFile{fmt::format("its arrays have {} bytes, and {} follow the header{}", end, data_bytes,
                              end > data_bytes ? "; the file was cut short" : "")};
  }
}

std::map<std::string, HostArray> read(const std::filesystem::path& path) {
  const InputFile file(path);
  uint64_t length = 0;
  if (!file.read_at(0, &length, sizeof length) || length > file.size() - sizeof length) {
    throw BadFile{"it does not begin with the length of a header"};
  }
  if (length > kLargestHeader) {
    throw BadFile{fmt::format("its header has {} bytes; at most {} make sense", length, kLargestHeader)};
  }
  std::string text(length, ' ');
  if (!file.read_at(sizeof length, text.data(), text.size())) throw BadFile{"it ends within its header"};
  const uint64_t data = sizeof length + length;
  const std::map<std::string, Entry> entries = read_header(text);
  check_tiling(entries, file.size() - data);

  std::map<std::string, HostArray> arrays;
  for (const auto& [name, entry] : entries) {
    HostArray array{entry.aval, allocate(entry.end - entry.begin, name)};
    if (!file.read_at(data + entry.begin, array.data->data(), entry.end - entry.begin)) {
      throw BadFile{fmt::format("'{}' cannot be read", name)};
    }
    if (entry.aval.dtype == DType::bool_) {
      auto* values = array.data->as<uint8_t>();
      std::transform(values, values + entry.aval.size(), values, [](uint8_t v) { return v != 0; });
    }
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

// Throws where an array could not be read back as it was written.
void check_names(const std::map<std::string, HostArray>& arrays, std::source_location loc) {
  for (const auto& [name, array] : arrays) {
    if (name == kMetadata) {
      throw_user<UserError>("save_safetensors", "an array named '__metadata__'", "another name",
                            "the format keeps this one for texts about the file", loc);
    }
    if (array.aval.shape.size() > kMostAxes) {
      throw_user<UserError>("save_safetensors", fmt::format("'{}' of {} axes", name, array.aval.shape.size()),
                            fmt::format("at most {}", kMostAxes), "", loc);
    }
    if (!is_utf8(name)) {
      std::string shown;
      for (const char c : name) {
        shown += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
      throw_user<UserError>("save_safetensors", fmt::format("the name '{}'", shown), "UTF-8",
                            "the file's header is a text of Unicode", loc);
    }
  }
}

}  // namespace

std::map<std::string, HostArray> read_safetensors(const std::filesystem::path& path, std::source_location loc) {
  std::string what;
  try {
    return read(path);
  } catch (const BadFile& bad) {
    what = bad.what;
  } catch (const JsonError& error) {
    what = fmt::format("its header is damaged: {}", error.what());
  } catch (const std::system_error& error) {
    throw_user<UserError>("load_safetensors", error.what(), "", "", loc);
  }
  throw_user<UserError>("load_safetensors", fmt::format("{}: {}", path.string(), what), "", "", loc);
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, HostArray>& arrays,
                       std::source_location loc) {
  check_names(arrays, loc);
  std::vector<const std::pair<const std::string, HostArray>*> order;
  for (const auto& item : arrays) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const size_t width_a = size_of(a->second.aval.dtype);
    const size_t width_b = size_of(b->second.aval.dtype);
    return width_a != width_b ? width_a > width_b : a->first < b->first;
  });

  JsonWriter header;
  header.begin_object();
  size_t offset = 0;
  for (const auto* item : order) {
    const Aval& aval = item->second.aval;
    header.key(item->first).begin_object().key("data_offsets").begin_array();
    header.value(offset).value(offset + aval.bytes()).end_array();
    header.member("dtype", format_name(aval.dtype)).member("shape", aval.shape).end_object();
    offset += aval.bytes();
  }
  std::string text = header.end_object().take();
  if (text.size() + 8 > kLargestHeader) {
    throw_user<UserError>("save_safetensors", fmt::format("names and shapes of {} bytes", text.size()),
                          fmt::format("less than {}", kLargestHeader), "", loc);
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  try {
    AtomicFile file(path);
    file.write(&length, sizeof length);
    file.write(text.data(), text.size());
    for (const auto* item : order) file.write(item->second.data->data(), item->second.aval.bytes());
    file.commit();
  } catch (const std::system_error& error) {
    throw_user<UserError>("save_safetensors", error.what(), "", "", loc);
  }
}

}  // namespace neap
