#include <neap/error.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/dump.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/npy.h"
#include "core/safetensors.h"

namespace neap {
namespace {

namespace fs = std::filesystem;

constexpr DType kAll[] = {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};

class Files : public testing::Test {
 protected:
  Files() { fs::create_directories(dir_); }
  ~Files() override { fs::remove_all(dir_); }
  std::string slurp(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  fs::path put(const std::string& name, const std::string& contents) {
    std::ofstream(dir_ / name, std::ios::binary) << contents;
    return dir_ / name;
  }
  size_t file_count() { return static_cast<size_t>(std::distance(fs::directory_iterator(dir_), {})); }

  const fs::path dir_ = fs::temp_directory_path() / ("neap_files_test_" + std::to_string(getpid()));
};

HostArray make(Shape shape, DType dtype) {
  HostArray array{{std::move(shape), dtype}, nullptr};
  array.data = allocate(array.aval.bytes(), "a test");
  for (size_t i = 0; i < array.aval.bytes(); ++i) {
    array.data->as<uint8_t>()[i] = static_cast<uint8_t>(dtype == bool_ ? i % 2 : i * 37 + 11);
  }
  return array;
}

void expect_same(const HostArray& a, const HostArray& b) {
  ASSERT_EQ(a.aval, b.aval);
  EXPECT_EQ(std::memcmp(a.data->data(), b.data->data(), a.aval.bytes()), 0);
}

// A .npy file by hand.
std::string npy(int version, const std::string& dict, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  const size_t length = dict.size() + 1;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(length >> (8 * i) & 0xff);
  return text + dict + "\n" + data;
}

TEST_F(Files, NpyRoundTripsEveryDtypeAndRank) {
  for (const DType dtype : kAll) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 0}, Shape{2, 3, 5}}) {
      const HostArray array = make(shape, dtype);
      write_npy(dir_ / "a.npy", array);
      expect_same(read_npy(dir_ / "a.npy"), array);
      const std::string bytes = slurp(dir_ / "a.npy");
      EXPECT_EQ((bytes.size() - array.aval.bytes()) % 64, 0u) << "data is aligned";
    }
  }
  EXPECT_EQ(file_count(), 1u) << "temporary files are gone";
}

TEST_F(Files, NpyHeaderIsNumPys) {
  write_npy(dir_ / "a.npy", make({3}, f32));
  const std::string bytes = slurp(dir_ / "a.npy");
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(bytes.substr(10, 56), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), ");
  EXPECT_EQ(bytes.size(), 128u + 12u);
  EXPECT_EQ(bytes[127], '\n');
}

TEST_F(Files, NpyReadsAllVersionsAndFortranOrder) {
  for (const int version : {1, 2, 3}) {
    const HostArray a =
        read_npy(put("a.npy", npy(version, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2)}", "abcd")));
    EXPECT_EQ(a.aval, (Aval{{2, 2}, u8}));
    EXPECT_EQ(std::memcmp(a.data->data(), "abcd", 4), 0);
  }
  // Element (i, j, k) of shape (2, 3, 2) lies at i + 2 j + 6 k.
  const HostArray f =
      read_npy(put("f.npy", npy(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 2), }", "abcdefghijkl")));
  EXPECT_EQ(std::string(f.data->as<char>(), 12), "agciekbhdjfl");
  const HostArray wide =
      read_npy(put("w.npy", npy(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }", "aabbccdd")));
  EXPECT_EQ(std::string(wide.data->as<char>(), 8), "aaccbbdd");
}

TEST_F(Files, NpyBoolsBecomeZeroOrOne) {
  const HostArray a = read_npy(
      put("a.npy", npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\7", 3))));
  EXPECT_EQ(std::memcmp(a.data->data(), "\0\1\1", 3), 0);
}

TEST_F(Files, NpyRefusesWhatItCannotRead) {
  auto refuses = [&](const std::string& contents, const std::string& reason) {
    try {
      read_npy(put("bad.npy", contents));
      ADD_FAILURE() << "no exception: " << reason;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("[files_test.cpp:"), std::string::npos) << e.what();
    }
  };
  const std::string tail = "'fortran_order': False, 'shape': (2,), }";
  refuses("", "does not begin");
  refuses("PK\3\4 a zip file", "does not begin");
  refuses(npy(4, "{'descr': '<f4', " + tail, "12345678"), "version 4");
  refuses(npy(1, "{'descr': '>f4', " + tail, "12345678"), "its elements are >f4");
  refuses(npy(1, "{'descr': '<M8', " + tail, "1234567812345678"), "its elements are <M8");
  refuses(npy(1, "{'descr': [('a', '<f4')], " + tail, "12345678"), "a record");
  refuses(npy(1, "{'descr': '<f4', " + tail, "1234567"), "cut short");
  refuses(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 64), }", ""), "cut short");
  refuses(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "12345678"), "damaged shape");
  refuses(npy(1, "{'descr': '<f4', 'shape': (2,), }", "12345678"), "fortran_order");
  refuses(npy(1, "{'descr': '<f4', " + tail, "").substr(0, 30), "ends within its header");
  EXPECT_THROW(read_npy(dir_ / "absent.npy"), UserError);
}

TEST_F(Files, SafetensorsRoundTrip) {
  std::map<std::string, HostArray> arrays;
  for (const DType dtype : kAll) arrays.emplace(std::string("layer.") + std::string(name(dtype)), make({3, 5}, dtype));
  arrays.emplace("scalar", make({}, f32));
  arrays.emplace("empty \"quoted\"", make({0, 2}, i64));
  write_safetensors(dir_ / "a.safetensors", arrays);
  const auto read = read_safetensors(dir_ / "a.safetensors");
  ASSERT_EQ(read.size(), arrays.size());
  for (const auto& [key, array] : arrays) expect_same(read.at(key), array);
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(Files, SafetensorsReadsTheFormat) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})";
  std::string text(8, '\0');
  text[0] = static_cast<char>(header.size());
  const auto read = read_safetensors(put("a", text + header + std::string("\x80\x3f\x00\xc0", 4)));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read.at("w").aval, (Aval{{2}, bf16}));
  EXPECT_EQ(static_cast<float>(read.at("w").data->as<bfloat16>()[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(read.at("w").data->as<bfloat16>()[1]), -2.0f);
}

TEST_F(Files, SafetensorsRefusesDamage) {
  auto file = [&](const std::string& header) {
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    return put("bad", text + header + "1234");
  };
  for (const char* header : {
           "not json",
           "[1]",
           R"({"w":{"dtype":"F32"}})",
           R"({"w":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[4,0]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
       }) {
    EXPECT_THROW(read_safetensors(file(header)), UserError) << header;
  }
  EXPECT_THROW(read_safetensors(put("bad", "1234")), UserError);
  EXPECT_THROW(read_safetensors(put("bad", "\xff\xff\xff\xff\xff\xff\xff\x7f{}")), UserError);
  EXPECT_THROW(read_safetensors(dir_ / "absent"), UserError);
}

TEST_F(Files, UncommittedFilesLeaveNothingBehind) {
  {
    AtomicFile file(dir_ / "a");
    file.write("half", 4);
    EXPECT_FALSE(fs::exists(dir_ / "a"));
  }
  EXPECT_EQ(file_count(), 0u);
  write_file_atomic(dir_ / "sub" / "b", "whole");
  EXPECT_EQ(slurp(dir_ / "sub" / "b"), "whole");
  put("plain", "");
  EXPECT_THROW(write_file_atomic(dir_ / "plain" / "c", "x"), std::system_error);
  EXPECT_THROW(write_npy(dir_ / "plain" / "c", make({1}, f32)), UserError);
}

TEST_F(Files, DumpWritesOnlyWhereAsked) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ASSERT_EQ(std::getenv("NEAP_DUMP"), nullptr) << "run the tests without NEAP_DUMP";
  const std::string target = (fs::temp_directory_path() / "neap_dump_test").string();
  fs::remove_all(target);
  EXPECT_EXIT(
      {
        setenv("NEAP_DUMP", target.c_str(), 1);
        const int first = next_dump_number();
        const bool counts = next_dump_number() == first + 1;
        dump_text("0-plan.txt", "a plan");
        _exit(counts && dump_dir() == fs::path(target) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(slurp(fs::path(target) / "0-plan.txt"), "a plan");
  fs::remove_all(target);
  dump_text("nowhere", "x");
  EXPECT_EQ(dump_dir(), std::nullopt);
}

TEST(Hash, IsXxh3) {
  EXPECT_EQ(xxh3_hex(""), "2d06800538d394c2");  // the empty input's hash, from XXH3's own test vectors
  EXPECT_EQ(xxh3_64("neap"), xxh3_64("neap", 4));
  EXPECT_NE(xxh3_hex("neap"), xxh3_hex("neaq"));
  EXPECT_EQ(xxh3_hex("neap").size(), 16u);
}

}  // namespace
}  // namespace neap
