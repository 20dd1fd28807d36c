// A Profile records each step of a plan's calls, with the bytes alive then, while it lives and not after.
#include <neap/neap.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace neap {
namespace {

TEST(Profile, RecordsTheStepsOfAPlan) {
  const auto f = jit([](const Array& x) { return sum(exp(matmul(x, x))); }, {.name = "profiled"});
  const Array x = ones({64, 64});
  f(x);
  const std::string path = testing::TempDir() + "profile.json";
  {
    const Profile profile;
    EXPECT_THROW(Profile{}, UserError);
    f(x);
    const auto slices = profile.slices();
    ASSERT_EQ(slices.size(), f.last_plan().num_steps());
    size_t most = 0;
    for (const Profile::Slice& s : slices) {
      EXPECT_EQ(s.plan, "profiled");
      EXPECT_LE(s.begin, s.end);
      most = std::max(most, s.live_bytes);
    }
    EXPECT_EQ(most, f.last_plan().peak_bytes());
    profile.write_json(path);
  }
  std::ifstream file(path);
  EXPECT_EQ(nlohmann::json::parse(file)["traceEvents"].size(), 2 * f.last_plan().num_steps());
  std::filesystem::remove(path);
  f(x);
  EXPECT_TRUE(Profile().slices().empty());  // nothing is recorded between lives
}

}  // namespace
}  // namespace neap
