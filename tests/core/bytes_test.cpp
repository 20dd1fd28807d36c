// Numbers of bytes: written as literals, printed, and read from text or refused.
#include <neap/bytes.h>

namespace neap {
namespace {

using namespace literals;

TEST(Bytes, Literals) {
  static_assert(3_KiB == 3072 && 1_MiB == 1048576 && 4_GiB == size_t{1} << 32);
  static_assert(std::is_same_v<decltype(1_MiB), size_t>);
}

TEST(Bytes, Format) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(512_MiB), "512.00 MiB");
  EXPECT_EQ(format_bytes(4_GiB), "4.00 GiB");
  EXPECT_EQ(format_bytes(SIZE_MAX), "16.00 EiB");
}

TEST(Bytes, Parse) {
  EXPECT_EQ(parse_bytes("512MiB"), 512_MiB);
  EXPECT_EQ(parse_bytes("1.5GB"), 1500000000u);
  EXPECT_EQ(parse_bytes(" 1.5 gib "), 1536_MiB);
  EXPECT_EQ(parse_bytes("64k"), 64_KiB);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("7 B"), 7u);
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("18446744073709551615"), SIZE_MAX);
  EXPECT_EQ(parse_bytes("12.5 EiB"), size_t{25} << 59);
  for (const char* bad : {"", "MiB", "-1", "1.2.3", "5 XB", "1 MiBs", "20 EiB", "18446744073709551616", "1e3", "."}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace neap
