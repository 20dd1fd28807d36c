#include "core/safetensors.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "core/file.h"

namespace neap {

namespace {

using nlohmann::json;

// The format's dtype names are ours in capitals.
std::string upper(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::optional<DType> dtype_named(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (upper(name(static_cast<DType>(i))) == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

struct BadFile {
  std::string what;
};

struct Entry {
  Aval aval;
  size_t begin = 0;
  size_t end = 0;
};

Entry parse_entry(const std::string& name, const json& value, size_t data_bytes) {
  const auto dtype = dtype_named(value.at("dtype").get<std::string>());
  if (!dtype) throw BadFile{fmt::format("'{}' has elements of type {}", name, value.at("dtype").dump())};
  const auto offsets = value.at("data_offsets").get<std::vector<size_t>>();
  Entry entry{{value.at("shape").get<Shape>(), *dtype}, 0, 0};
  size_t bytes = size_of(*dtype);
  for (const int64_t extent : entry.aval.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes)) {
      throw BadFile{fmt::format("'{}' has the shape {}", name, to_string(entry.aval.shape))};
    }
  }
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes || offsets[1] - offsets[0] != bytes) {
    throw BadFile{fmt::format("'{}' is {}, and its offsets {} do not fit that or the file", name, to_string(entry.aval),
                              value.at("data_offsets").dump())};
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

std::map<std::string, HostArray> read(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw BadFile{error.message()};
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  if (!file.read(reinterpret_cast<char*>(&length), sizeof length) || length > size - sizeof length) {
    throw BadFile{"it does not begin with the length of a header"};
  }
  std::string text(length, ' ');
  if (!file.read(text.data(), static_cast<std::streamsize>(length))) throw BadFile{"it ends within its header"};
  const size_t data = sizeof length + length;

  std::map<std::string, HostArray> arrays;
  const json header = json::parse(text);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    const Entry entry = parse_entry(name, value, size - data);
    HostArray array{entry.aval, allocate(entry.end - entry.begin, name)};
    file.seekg(static_cast<std::streamoff>(data + entry.begin));
    file.read(reinterpret_cast<char*>(array.data->data()), static_cast<std::streamsize>(entry.end - entry.begin));
    if (!file) throw BadFile{fmt::format("'{}' cannot be read", name)};
    if (entry.aval.dtype == DType::bool_) {
      auto* values = array.data->as<uint8_t>();
      std::transform(values, values + entry.aval.size(), values, [](uint8_t v) { return v != 0; });
    }
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

}  // namespace

std::map<std::string, HostArray> read_safetensors(const std::filesystem::path& path, std::source_location loc) {
  std::string what;
  try {
    return read(path);
  } catch (const BadFile& bad) {
    what = bad.what;
  } catch (const json::exception& error) {
    what = fmt::format("its header is damaged ({})", error.what());
  }
  throw_user<UserError>("read_safetensors", fmt::format("{}: {}", path.string(), what), "", "", loc);
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, HostArray>& arrays,
                       std::source_location loc) {
  std::vector<const std::pair<const std::string, HostArray>*> order;
  for (const auto& item : arrays) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const size_t width_a = size_of(a->second.aval.dtype);
    const size_t width_b = size_of(b->second.aval.dtype);
    return width_a != width_b ? width_a > width_b : a->first < b->first;
  });

  json header = json::object();
  size_t offset = 0;
  for (const auto* item : order) {
    const Aval& aval = item->second.aval;
    header[item->first] = {
        {"dtype", upper(name(aval.dtype))}, {"shape", aval.shape}, {"data_offsets", {offset, offset + aval.bytes()}}};
    offset += aval.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  try {
    AtomicFile file(path);
    file.write(&length, sizeof length);
    file.write(text.data(), text.size());
    for (const auto* item : order) file.write(item->second.data->data(), item->second.aval.bytes());
    file.commit();
  } catch (const std::system_error& error) {
    throw_user<UserError>("write_safetensors", error.what(), "", "", loc);
  }
}

}  // namespace neap
