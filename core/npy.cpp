#include "core/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/error.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <system_error>

#include "core/file.h"
#include "core/thread_pool.h"

static_assert(std::endian::native == std::endian::little, "the files are little-endian, and are read in place");

namespace neap {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  Aval aval;
  bool fortran_order = false;
};

// What went wrong with a file, without the file's name; read_npy adds it.
struct BadFile {
  std::string got;
  std::string expected;
  std::string hint;
};

std::optional<DType> parse_descr(std::string_view descr) {
  if (descr.size() < 3 || descr[0] == '>') return std::nullopt;
  const std::string_view kind = descr.substr(1);
  if (kind == "c8") return DType::c64;
  if (kind == "c16") return DType::c128;
  if (kind.size() != 2) return std::nullopt;
  if (kind == "b1") return DType::bool_;
  if (kind == "V2") return DType::bf16;
  if (kind == "f2") return DType::f16;
  if (kind == "f4") return DType::f32;
  if (kind == "f8") return DType::f64;
  constexpr std::string_view kSizes = "1248";
  const size_t log = kSizes.find(kind[1]);
  if (log == std::string_view::npos || (kind[0] != 'i' && kind[0] != 'u')) return std::nullopt;
  return static_cast<DType>(static_cast<size_t>(kind[0] == 'i' ? DType::i8 : DType::u8) + log);
}

std::string descr_of(DType t) {
  if (t == DType::bool_) return "|b1";
  if (t == DType::bf16) return "<V2";
  const char kind = is_complex(t) ? 'c' : is_float(t) ? 'f' : is_signed(t) ? 'i' : 'u';
  return fmt::format("{}{}{}", size_of(t) == 1 ? '|' : '<', kind, size_of(t));
}

// Returns the text after "'key':" in the header, which is a Python dictionary of three entries.
std::string_view entry(std::string_view dict, std::string_view key) {
  const size_t at = dict.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) throw BadFile{fmt::format("its header has no '{}'", key), "", ""};
  std::string_view rest = dict.substr(at + key.size() + 3);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

Shape parse_shape(std::string_view text) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos)
    throw BadFile{"its header has a shape that is no tuple", "", ""};
  Shape shape;
  const char* p = text.data() + 1;
  const char* const last = text.data() + end;
  while (p < last) {
    if (*p == ' ' || *p == ',') {
      ++p;
      continue;
    }
    int64_t extent = -1;
    const auto parsed = std::from_chars(p, last, extent);
    if (parsed.ec != std::errc() || extent < 0) throw BadFile{"its header has a damaged shape", "", ""};
    shape.push_back(extent);
    p = parsed.ptr;
  }
  return shape;
}

Header parse_header(std::string_view dict) {
  const std::string_view descr = entry(dict, "descr");
  const size_t end = descr.find('\'', 1);
  const std::string_view text = descr.starts_with('\'') && end != std::string_view::npos ? descr.substr(1, end - 1)
                                                                                         : std::string_view("a record");
  const std::optional<DType> dtype = parse_descr(text);
  if (!dtype) {
    throw BadFile{fmt::format("its elements are {}", text), "little-endian bool, integers, floats or complex numbers",
                  "convert it in NumPy with astype before saving"};
  }
  Header header;
  header.aval = {parse_shape(entry(dict, "shape")), *dtype};
  header.fortran_order = entry(dict, "fortran_order").starts_with("True");
  return header;
}

// Returns the header, and where the data begin.
std::pair<Header, uint64_t> read_header(const InputFile& file) {
  char start[8] = {};
  if (!file.read_at(0, start, sizeof start) || std::string_view(start, 6) != kMagic)
    throw BadFile{"it does not begin as a .npy file does", "", ""};
  const int version = start[6];
  if (version < 1 || version > 3) throw BadFile{fmt::format("it has format version {}", version), "1, 2 or 3", ""};
  uint32_t length = 0;
  const size_t width = version == 1 ? 2 : 4;
  // Bytes; a longer header is taken for a damaged one before memory is allocated for it.
  constexpr uint32_t kSane = 1 << 20;
  if (!file.read_at(sizeof start, &length, width) || length > kSane) throw BadFile{"its header is damaged", "", ""};
  std::string dict(length, ' ');
  const uint64_t begin = sizeof start + width;
  if (!file.read_at(begin, dict.data(), length)) throw BadFile{"it ends within its header", "", ""};
  return {parse_header(dict), begin + length};
}

// Returns the bytes of `aval`. Throws where they do not fit into a file of `rest` bytes, before a byte is allocated.
size_t checked_bytes(const Aval& aval, uintmax_t rest) {
  const std::optional<uint64_t> bytes = counted_bytes(aval);
  if (!bytes || *bytes > rest) {
    throw BadFile{fmt::format("it ends after {} bytes of data", rest), fmt::format("all of {}", to_string(aval)),
                  "the file was cut short"};
  }
  return *bytes;
}

// Makes every non-zero byte 1: a C++ bool of another value than 0 and 1 would be undefined behaviour later.
void normalize_bools(const HostArray& array) {
  if (array.aval.dtype != DType::bool_) return;
  auto* values = array.data->as<uint8_t>();
  for (int64_t i = 0; i < array.aval.size(); ++i) values[i] = values[i] != 0;
}

// Returns a column-major array as a row-major one.
HostArray transposed(const HostArray& source) {
  const Shape& shape = source.aval.shape;
  const size_t width = size_of(source.aval.dtype);
  HostArray result{source.aval, allocate(source.aval.bytes(), "a transposed .npy file")};
  const int64_t columns = shape.back();
  const int64_t rows = columns == 0 ? 0 : source.aval.size() / columns;
  // 256 rows a task trade the balance between threads against the cost of starting tasks; no program of bench/
  // measures it.
  parallel_for(rows, 256, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row;  // to the position of the row's first element in the source
      int64_t from = 0;
      int64_t stride = rows;
      for (size_t axis = shape.size() - 1; axis-- > 0;) {
        stride /= shape[axis];
        from += rest % shape[axis] * stride;
        rest /= shape[axis];
      }
      std::byte* to = result.data->data() + static_cast<size_t>(row * columns) * width;
      for (int64_t column = 0; column < columns; ++column) {
        std::memcpy(to + static_cast<size_t>(column) * width,
                    source.data->data() + static_cast<size_t>(from + column * rows) * width, width);
      }
    }
  });
  return result;
}

HostArray read(const std::filesystem::path& path) {
  const InputFile file(path);
  const auto [header, begin] = read_header(file);
  const size_t bytes = checked_bytes(header.aval, file.size() - begin);
  HostArray array{header.aval, allocate(bytes, "a .npy file")};
  if (!file.read_at(begin, array.data->data(), bytes)) throw BadFile{"it cannot be read to its end", "", ""};
  normalize_bools(array);
  return header.fortran_order && array.aval.ndim() > 1 ? transposed(array) : array;
}

std::string make_header(const Aval& aval) {
  const std::string shape = fmt::format("({}{})", fmt::join(aval.shape, ", "), aval.ndim() == 1 ? "," : "");
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr_of(aval.dtype), shape);
  const bool version2 = dict.size() + 64 > 0xffff;
  const size_t prefix = version2 ? 12 : 10;
  dict.append(63 - (prefix + dict.size()) % 64, ' ');  // with the newline, data begins at a multiple of 64
  dict += '\n';
  std::string header(kMagic);
  header += version2 ? '\2' : '\1';
  header += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) header += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return header + dict;
}

}  // namespace

std::optional<uint64_t> counted_bytes(const Aval& aval) {
  auto bytes = static_cast<int64_t>(size_of(aval.dtype));
  bool empty = false;
  for (const int64_t extent : aval.shape) {
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

HostArray read_npy(const std::filesystem::path& path, std::source_location loc) {
  try {
    return read(path);
  } catch (const BadFile& bad) {
    throw_user<UserError>("load_npy", fmt::format("{}: {}", path.string(), bad.got), bad.expected, bad.hint, loc);
  } catch (const std::system_error& error) {
    throw_user<UserError>("load_npy", error.what(), "", "", loc);
  }
}

void write_npy(const std::filesystem::path& path, const HostArray& array, std::source_location loc) {
  try {
    AtomicFile file(path);
    const std::string header = make_header(array.aval);
    file.write(header.data(), header.size());
    file.write(array.data->data(), array.aval.bytes());
    file.commit();
  } catch (const std::system_error& error) {
    throw_user<UserError>("save_npy", error.what(), "", "", loc);
  }
}

}  // namespace neap
