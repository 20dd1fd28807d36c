// That the shaders of every kind of kernel compile for devices that are not there. No device needed.
#include <fstream>
#include <iterator>
#include <set>

#include "backends/vulkan/spirv.h"
#include "tests/backends/vulkan_trials.h"

namespace neap::vk::test {
namespace {

Choices poor() {
  Choices c;
  c.storage8 = c.storage16 = c.float64 = false;
  c.add32 = c.add64 = Choices::FloatAdd::exchange;
  c.int64 = true;
  c.denorm32 = c.specials32 = true;
  return c;
}

bool has_doubles(const Trial& t) {
  return std::ranges::any_of(t.kernel.buffers, [](const auto& b) { return b.type == f64; });
}

TEST(GlslText, CompilesForADeviceWithFewFeatures) {
  for (const Trial& t : all_maps()) {
    if (has_doubles(t)) continue;
    EXPECT_FALSE(compile_glsl(emit(t.launch(), poor()).glsl, "test").empty());
  }
  for (const int level : {0, 1}) {
    EXPECT_FALSE(compile_glsl(emit(reductions(0, 3, 300, level, true, false).launch(), poor()).glsl, "test").empty());
  }
  for (const DType t : kAll) {
    if (size_of(t) == 8 || t == bool_) continue;
    for (const Combine combine : {set, add, mul, max, min}) {
      EXPECT_FALSE(compile_glsl(emit(scatters(combine, t, 5, 33, true).launch(), poor()).glsl, "test").empty());
    }
  }
}

std::set<std::string> capabilities(const std::string& glsl) {
  constexpr std::string_view kWord = "OpCapability ";
  const std::string text = disassemble(compile_glsl(glsl, "test"));
  std::set<std::string> all;
  for (size_t at = 0; (at = text.find(kWord, at)) != text.npos;) {
    at += kWord.size();
    all.insert(text.substr(at, text.find('\n', at) - at));
  }
  return all;
}

TEST(GlslText, AsksForNothingThatTheDeviceLacks) {
  for (const char* name : {"apple-m1-moltenvk", "arm-mali-g57", "intel-uhd630-anv", "qualcomm-adreno740-turnip"}) {
    SCOPED_TRACE(name);
    std::ifstream file(std::string(NEAP_TESTS_DIR "/data/devices/") + name + ".json");
    DeviceRecord d = record_from_json(std::string{std::istreambuf_iterator<char>(file), {}});
    d.scalar_block_layout = true;
    const Choices c = choose(d);
    std::set<std::string> asked = capabilities(sort_dispatches({3, 5000, bf16}, c)[2].shader.glsl);
    const auto add = [&](const Trial& t) {
      if (!has_doubles(t)) asked.merge(capabilities(emit(t.launch(), c).glsl));
    };
    for (const Trial& t : all_maps()) add(t);
    for (const int level : {0, 1}) add(reductions(0, 3, 300, level, true, false));
    for (const DType t : {i8, bf16, i32, f32}) add(scatters(Combine::add, t, 5, 33, true));
    const std::pair<const char*, bool> known[] = {{"Shader", true},
                                                  {"Int64", d.int64},
                                                  {"PhysicalStorageBufferAddresses", d.buffer_device_address},
                                                  {"Float64", d.float64},
                                                  {"Int8", d.int8},
                                                  {"Int16", d.int16},
                                                  {"StorageBuffer8BitAccess", d.storage_8bit},
                                                  {"StorageBuffer16BitAccess", d.storage_16bit},
                                                  {"AtomicFloat32AddEXT", d.atomic_float32_add},
                                                  {"GroupNonUniform", d.subgroup_arithmetic},
                                                  {"GroupNonUniformArithmetic", d.subgroup_arithmetic},
                                                  {"DenormPreserve", d.denorm_preserve32},
                                                  {"SignedZeroInfNanPreserve", d.signed_zero_inf_nan_preserve32}};
    for (const std::string& capability : asked) {
      const auto* it = std::ranges::find_if(known, [&](const auto& k) { return k.first == capability; });
      EXPECT_TRUE(it != std::end(known) && it->second) << capability;
    }
    EXPECT_GE(asked.size(), 3u);
  }
}

TEST(GlslText, CountsBeyond32Bits) {
  constexpr int64_t kMany = int64_t{1} << 33;
  for (Choices c : {poor(), Choices{.storage8 = true, .storage16 = true, .int64 = true, .float64 = true}}) {
    Trial map;
    map.kernel.extent = {1, kMany};
    const X i = map.kernel.dag.index(1, i64);
    map.input(bf16, 1);
    map.store(i, map.kernel.dag.load(0, bf16, i), 1);
    EXPECT_FALSE(compile_glsl(emit(map.launch(), c).glsl, "map").empty());
    map.kernel.extent = {kMany / 64, 64};
    EXPECT_FALSE(compile_glsl(emit(map.launch(), c).glsl, "rows").empty());

    for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{1, kMany}, {kMany / 8, 8}, {64, kMany / 64}}) {
      Trial sum;
      sum.kernel.kind = Kernel::Kind::reduce;
      sum.kernel.extent = {kept, reduced};
      const X j = sum.kernel.dag.index(1, i64);
      sum.input(f32, 1);
      const X x = sum.kernel.dag.load(0, f32, j);
      sum.kernel.reductions = {{max, x.id, f32, f32, sum.output(f32, 1)}};
      Launch launch = sum.launch();
      EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "max").empty());
      launch.partials = 64;
      launch.kernel.finish = false;
      EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "parts of max").empty());
    }

    Trial updates = scatters(add, f32, 1, 64, true);
    updates.kernel.extent = {1, kMany};
    Launch launch = updates.launch();
    EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "updates").empty());
    launch.partials = 5;
    launch.part0_operand = 0;
    EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "parts of updates").empty());
  }
}

TEST(GlslText, LoopsOfFunctionsAreCounted) {
  Choices c{.cpu = true, .int64 = true, .float64 = true, .most_iterations = 65535};
  for (const auto& make : {remainders, remainders64, lgammas}) {
    for (const int level : {0, 1}) {
      for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{1, 300'000}, {20, 300'000}, {5000, 7000}}) {
        const Shader shader = emit(make(kept, reduced, level).launch(), c);
        EXPECT_LT(shader.iterations, c.most_iterations) << kept << " x " << reduced;
        EXPECT_GT(shader.iterations * shader.combining, static_cast<uint64_t>(reduced));
      }
    }
  }
  try {
    emit(lgammas(1, int64_t{1} << 40, 1).launch(), c);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("loops of more than 65535"), std::string::npos) << error.what();
  }
}

TEST(GlslText, NamesTheFeatureThatIsMissing) {
  const auto message = [](const Trial& t) {
    try {
      emit(t.launch(), poor());
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message(arithmetic(f64)).find("shaderFloat64"), std::string::npos);
  EXPECT_NE(message(scatters(max, i64, 1, 9, false)).find("shaderBufferInt64Atomics"), std::string::npos);
  EXPECT_EQ(message(scatters(add, i64, 1, 9, false)), "");
}

TEST(GlslText, StoresWholeWordsOfNarrowElements) {
  Choices c;
  c.storage16 = true;
  const Trial t = copies(bf16, 1 << 20);
  const Shader shader = emit(t.launch(), c);
  EXPECT_NE(shader.glsl.find("R64("), std::string::npos);
  EXPECT_EQ(shader.groups[0] * shader.groups[1] * shader.groups[2], (1u << 18) / c.workgroup);
  // A row of odd length that lies behind another has no words of its own.
  Trial rows = indices(1);
  EXPECT_EQ(emit(rows.launch(), c).glsl.find("w0["), std::string::npos);
}

}  // namespace
}  // namespace neap::vk::test
