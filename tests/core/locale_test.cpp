// Files, sizes and messages are the same in every locale of the process. tools/check_locale.py finds what these cases
// do not.
#include <neap/bytes.h>
#include <neap/memory.h>
#include <unistd.h>

#include <clocale>
#include <filesystem>
#include <locale>

#include "core/ascii.h"
#include "core/file.h"
#include "core/json.h"
#include "core/npy.h"
#include "core/os/os.h"
#include "core/safetensors.h"

namespace neap {
namespace {

using namespace literals;

struct Points : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "wahr"; }
};

void check_all() {
  EXPECT_EQ(parse_bytes("256MiB"), 256_MiB);
  EXPECT_EQ(parse_bytes("1.5 gib"), 1536_MiB);
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(1234), "1.21 KiB");
  EXPECT_EQ(ascii::to_upper("i32"), "I32");
  EXPECT_EQ(ascii::to_lower("INTEL"), "intel");
  EXPECT_EQ(Json::parse("1.5").get<double>(), 1.5);
  JsonWriter out;
  out.begin_array().value(1234567.5).value(1234567).value(true).end_array();
  EXPECT_EQ(out.take(), "[1234567.5,1234567,true]");
  EXPECT_GT(memory::resident_bytes(), 1_MiB);
  EXPECT_GT(os::available_memory().value_or(SIZE_MAX), 1_MiB);

  const auto folder = std::filesystem::temp_directory_path() / ("neap_locale_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const HostArray array{{{1, 2000}, DType::i32}, allocate(8000, "a test")};
  std::fill_n(array.data->as<int32_t>(), 2000, 7);
  write_npy(folder / "a.npy", array);
  EXPECT_EQ(read_npy(folder / "a.npy").aval, array.aval);
  EXPECT_NE(read_file(folder / "a.npy").find("(1, 2000)"), std::string::npos);
  write_safetensors(folder / "a.safetensors", {{"i", array}});
  EXPECT_NE(read_file(folder / "a.safetensors").find("\"dtype\":\"I32\",\"shape\":[1,2000]"), std::string::npos);
  EXPECT_EQ(read_safetensors(folder / "a.safetensors").at("i").aval, array.aval);
  std::filesystem::remove_all(folder);
}

TEST(Locale, OfStreams) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Points));
  check_all();
  std::locale::global(before);
}

TEST(Locale, OfTheProcess) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  int found = 0;
  for (const char* name : {"tr_TR.UTF-8", "az_AZ.UTF-8", "de_DE.UTF-8", "fa_IR.UTF-8", "ps_AF.UTF-8", "C.UTF-8"}) {
    if (!std::setlocale(LC_ALL, name)) continue;
    SCOPED_TRACE(name);
    ++found;
    check_all();
  }
  std::setlocale(LC_ALL, before.c_str());
  if (found < 2) GTEST_SKIP() << "neither Turkish nor German is installed";
}

}  // namespace
}  // namespace neap
