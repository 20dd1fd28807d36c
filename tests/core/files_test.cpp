// Files: .npy and safetensors read, written and refused; how files are replaced, with their modes and links, leaving
// strangers' alone; dumps and hashes.
#include <fcntl.h>
#include <neap/error.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>

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
           "",
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
  const auto reason = [&](const std::string& header) -> std::string {
    try {
      read_safetensors(file(header));
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  const std::string whole = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
  EXPECT_EQ(reason("{\"w\":{" + whole + "}}"), "accepted");
  using testing::HasSubstr;
  EXPECT_THAT(reason("{\"a\":{" + whole + "},\"b\":{" + whole + "}}"), HasSubstr("'b' begins at byte 0"));
  EXPECT_THAT(reason("{\"a\":{" + whole + "},\"a\":{" + whole + "}}"), HasSubstr("two arrays named 'a'"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})"), HasSubstr("begins at byte 2"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})"), HasSubstr("and 4 follow the header"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})"), HasSubstr("cut short"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[4.9],"data_offsets":[0,4]}})"),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4.0]}})"), HasSubstr("expected a whole"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4]}})"),
              HasSubstr("two of 'shape'"));
  EXPECT_THAT(reason(R"({"__metadata__":{"n":1}})"), HasSubstr("expected a string"));
  EXPECT_THAT(reason(R"({"w":{"dtype":"U8","shape":[4611686018427387904,4,0],"data_offsets":[0,0]}})"),
              HasSubstr("do not fit"));
  EXPECT_THAT(reason("{\"\xff\":{" + whole + "}}"), HasSubstr("no UTF-8"));
  EXPECT_EQ(reason("{\"w\":{" + whole + R"(,"note":[{"a":null}]}})"), "accepted") << "what later versions may add";
  EXPECT_THROW(read_safetensors(put("bad", "1234")), UserError);
  EXPECT_THROW(read_safetensors(put("bad", "\xff\xff\xff\xff\xff\xff\xff\x7f{}")), UserError);
  EXPECT_THROW(read_safetensors(dir_ / "absent"), UserError);
}

// Nothing is kept of a header whose brackets open without end.
TEST_F(Files, SafetensorsRefusesDeepAndLongHeadersAtOnce) {
  for (const std::string& header : {std::string(20'000'000, '['), "{\"w\":{\"x\":" + std::string(20'000'000, '[')}) {
    std::string text(8, '\0');
    for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW(read_safetensors(put("deep", text + header)), UserError);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  }
  std::ofstream file(dir_ / "long", std::ios::binary);
  file.write("\x01\xe1\xf5\x05\0\0\0\0", 8);  // 100,000,001
  file.close();
  fs::resize_file(dir_ / "long", 8 + 100'000'001);
  EXPECT_THAT([&] { read_safetensors(dir_ / "long"); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("header has 100000001 bytes; at most 100000000")));
}

TEST_F(Files, SafetensorsSavesNoNameThatWouldBeLost) {
  const auto save = [&](const std::string& name) { write_safetensors(dir_ / "a", {{name, make({1}, f32)}}); };
  EXPECT_THAT([&] { save("__metadata__"); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("an array named '__metadata__'; expected another")));
  EXPECT_THAT([&] { save("b\xe9"); }, testing::ThrowsMessage<UserError>(testing::HasSubstr("the name 'b\\xe9'")));
  EXPECT_EQ(file_count(), 0u);
  save("\u20ac \n");
  EXPECT_EQ(read_safetensors(dir_ / "a").count("\u20ac \n"), 1u);
  EXPECT_THROW(write_safetensors(dir_ / "a.safetensors", {{"a", make(Shape(65, 1), f32)}}), UserError);
  write_safetensors(dir_ / "a.safetensors", {{"a", make(Shape(64, 1), f32)}});
  EXPECT_EQ(read_safetensors(dir_ / "a.safetensors").size(), 1u);
}

TEST_F(Files, ShapesBeyondAllStridesAreRefused) {
  const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0), }";
  EXPECT_THROW(read_npy(put("a", npy(1, dict, ""))), UserError);
}

struct Mode {
  explicit Mode(mode_t mask) : before(umask(mask)) {}
  ~Mode() { umask(before); }
  mode_t before;
};

unsigned mode_of(const fs::path& path) { return static_cast<unsigned>(fs::symlink_status(path).permissions()); }

TEST_F(Files, AtomicFilesKeepTheMode) {
  const Mode mask(022);
  write_file_atomic(dir_ / "new", "x");
  EXPECT_EQ(mode_of(dir_ / "new"), 0644u);
  for (const unsigned mode : {0600u, 0640u, 0755u}) {
    fs::permissions(dir_ / "new", static_cast<fs::perms>(mode));
    write_file_atomic(dir_ / "new", std::to_string(mode));
    EXPECT_EQ(mode_of(dir_ / "new"), mode);
    EXPECT_EQ(slurp(dir_ / "new"), std::to_string(mode));
  }
  {
    AtomicFile file(dir_ / "new");
    fs::permissions(dir_ / "new", fs::perms::owner_read);
  }
  if (geteuid() != 0) EXPECT_THROW(write_file_atomic(dir_ / "new", "x"), std::system_error) << "read-only";
  if (geteuid() != 0) return;
  ASSERT_EQ(chown((dir_ / "new").c_str(), 1234, 2345), 0);
  fs::permissions(dir_ / "new", static_cast<fs::perms>(0660));
  write_file_atomic(dir_ / "new", "x");
  struct stat status = {};
  ASSERT_EQ(stat((dir_ / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 2345u);
  EXPECT_EQ(mode_of(dir_ / "new"), 0660u);
}

TEST_F(Files, AtomicFilesFollowLinksAndLeaveThem) {
  fs::create_directories(dir_ / "far");
  put("far/target", "old");
  fs::create_symlink("far/target", dir_ / "link");
  fs::create_symlink("link", dir_ / "second");
  write_file_atomic(dir_ / "second", "new");
  EXPECT_TRUE(fs::is_symlink(dir_ / "link") && fs::is_symlink(dir_ / "second"));
  EXPECT_EQ(slurp(dir_ / "far" / "target"), "new");
  fs::create_symlink(dir_ / "far" / "made", dir_ / "dangling");
  write_file_atomic(dir_ / "dangling", "made");
  EXPECT_EQ(slurp(dir_ / "far" / "made"), "made");
  fs::create_symlink("loop", dir_ / "loop");
  EXPECT_THROW(write_file_atomic(dir_ / "loop", "x"), std::system_error);
  EXPECT_THROW(write_file_atomic(dir_ / "far", "x"), std::system_error) << "a folder";
  EXPECT_THROW(write_file_atomic(dir_ / "far" / "", "x"), std::system_error);
  EXPECT_THROW(write_file_atomic("", "x"), std::system_error);
}

TEST_F(Files, WhatIsNoRegularFileIsWrittenTo) {
  const fs::path pipe = dir_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(pipe); });
  write_file_atomic(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_THROW(read_npy(pipe), UserError) << "and nothing waits for a writer";
  // A device of our own where we may make one: a defect would cost root the machine's.
  const fs::path null = geteuid() == 0 ? dir_ / "null" : fs::path("/dev/null");
  if (geteuid() == 0 && mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) return;
  try {
    write_file_atomic(null, "gone");
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), EACCES) << "a file system that holds no devices";
  }
  EXPECT_TRUE(fs::is_character_file(null));
}

TEST_F(Files, OpenFilesAreWrittenThroughTheirDescriptors) {
  const int fd = open((dir_ / "open").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  write_file_atomic("/proc/self/fd/" + std::to_string(fd), "here");
  char text[8] = {};
  EXPECT_EQ(pread(fd, text, sizeof text, 0), 4) << "the file that is open, not another of its name";
  close(fd);
  EXPECT_EQ(slurp(dir_ / "open"), "here");
}

TEST_F(Files, AskingWhetherAnOpenFileCanBeWrittenLosesNothing) {
  const int fd = open(put("open", "what was there").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  { const AtomicFile probe("/proc/self/fd/" + std::to_string(fd)); }
  EXPECT_EQ(slurp(dir_ / "open"), "what was there");
  write_file_atomic("/proc/self/fd/" + std::to_string(fd), "");
  close(fd);
  EXPECT_EQ(slurp(dir_ / "open"), "");
}

TEST_F(Files, OthersFilesInFoldersOfAllAreNeitherFollowedNorReplaced) {
  if (geteuid() != 0) GTEST_SKIP() << "files of other users need the superuser";
  fs::create_directories(dir_ / "all");
  ASSERT_EQ(chmod((dir_ / "all").c_str(), 01777), 0);
  put("victim", "safe");
  fs::create_symlink("../victim", dir_ / "all" / "link");
  write_file_atomic(dir_ / "all" / "link", "mine");
  EXPECT_EQ(slurp(dir_ / "victim"), "mine");
  put("all/file", "theirs");
  constexpr uid_t kOther = 65534;
  ASSERT_EQ(lchown((dir_ / "all" / "link").c_str(), kOther, kOther), 0);
  ASSERT_EQ(chown((dir_ / "all" / "file").c_str(), kOther, kOther), 0);
  EXPECT_THROW(write_file_atomic(dir_ / "all" / "link", "x"), std::system_error);
  EXPECT_THROW(write_file_atomic(dir_ / "all" / "file", "x"), std::system_error);
  EXPECT_EQ(slurp(dir_ / "victim"), "mine");
  EXPECT_EQ(slurp(dir_ / "all" / "file"), "theirs");
}

TEST_F(Files, TemporaryNamesAreNeitherGuessedNorFollowed) {
  put("victim", "safe");
  for (int n = 0; n < 200; ++n) {  // what the names once were
    fs::create_symlink("victim", dir_ / ("a." + std::to_string(getpid()) + "." + std::to_string(n) + ".tmp"));
  }
  write_file_atomic(dir_ / "a", "x");
  EXPECT_EQ(slurp(dir_ / "victim"), "safe");
  EXPECT_EQ(slurp(dir_ / "a"), "x");
  std::set<std::string> names;
  for (int n = 0; n < 3; ++n) {
    const AtomicFile file(dir_ / "b");
    for (const auto& entry : fs::directory_iterator(dir_)) {
      if (entry.path().filename().string().starts_with(".neap-")) names.insert(entry.path().filename());
    }
  }
  EXPECT_EQ(names.size(), 3u);
  write_file_atomic(dir_ / std::string(255, 'n'), "x");
  EXPECT_EQ(slurp(dir_ / std::string(255, 'n')), "x");
}

TEST_F(Files, MissingFoldersAreNotMade) {
  EXPECT_THAT(
      [&] { write_npy(dir_ / "no" / "where" / "a.npy", make({1}, f32)); },
      testing::ThrowsMessage<UserError>(testing::HasSubstr("there is no folder " + (dir_ / "no/where").string())));
  EXPECT_FALSE(fs::exists(dir_ / "no"));
}

TEST_F(Files, CachesTrustOnlyWhatThisUserAloneWrites) {
  put("victim", "safe");
  fs::create_symlink("victim", dir_ / "a");
  EXPECT_EQ(read_own_file(dir_ / "a"), std::nullopt) << "a link";
  {
    AtomicFile file(dir_ / "a", AtomicFile::Kind::cache);
    file.write("mine", 4);
    file.commit();
  }
  EXPECT_EQ(slurp(dir_ / "victim"), "safe");
  EXPECT_FALSE(fs::is_symlink(dir_ / "a"));
  EXPECT_EQ(mode_of(dir_ / "a"), 0600u);
  EXPECT_EQ(read_own_file(dir_ / "a"), "mine");
  for (const unsigned mode : {0620u, 0602u}) {
    fs::permissions(dir_ / "a", static_cast<fs::perms>(mode));
    EXPECT_EQ(read_own_file(dir_ / "a"), std::nullopt) << "others may write it";
  }
  fs::permissions(dir_ / "a", static_cast<fs::perms>(0644));
  EXPECT_EQ(read_own_file(dir_ / "a"), "mine");
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_own_file(dir_ / "pipe"), std::nullopt);
  EXPECT_EQ(read_own_file(dir_), std::nullopt);
  if (geteuid() != 0) return;
  ASSERT_EQ(chown((dir_ / "a").c_str(), 1234, 1234), 0);
  EXPECT_EQ(read_own_file(dir_ / "a"), std::nullopt) << "another's";
}

TEST_F(Files, UncommittedFilesLeaveNothingBehind) {
  {
    AtomicFile file(dir_ / "a");
    file.write("half", 4);
    EXPECT_FALSE(fs::exists(dir_ / "a"));
  }
  EXPECT_EQ(file_count(), 0u);
  write_file_atomic(dir_ / "b", "whole");
  EXPECT_EQ(slurp(dir_ / "b"), "whole");
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
