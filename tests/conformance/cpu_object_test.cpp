// With NEAP_DEVICE=object every program of this suite is compiled into an object file, linked with libneap-runtime.a by
// the compiler, loaded and run: as the reference says, with the bits of the same plan on the CPU (naive plans run
// there), in the bytes that were planned.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <neap/ops.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "backends/host.h"
#include "core/check.h"
#include "core/round_up.h"
#include "tests/conformance/harness.h"

namespace neap::backends {
CompileObject object_cpu;  // backends/cpu/object.h
}

namespace neap::conformance {
namespace {

using backends::Object;
using backends::Parameter;
using planner::PlanData;

constexpr size_t kMostPointers = 320;
std::atomic<int> compiled = 0;

template <size_t... kIndex>
void call(void* function, void* const* p, std::index_sequence<kIndex...>) {
  reinterpret_cast<void (*)(decltype(static_cast<void>(kIndex), static_cast<void*>(nullptr))...)>(function)(
      p[kIndex]...);
}

// Calls a function of so many pointers.
void call(void* function, const std::vector<void*>& pointers) {
  static constexpr auto kCalls = []<size_t... kCount>(std::index_sequence<kCount...>) {
    return std::array<void (*)(void*, void* const*), sizeof...(kCount)>{
        [](void* f, void* const* p) { call(f, p, std::make_index_sequence<kCount>()); }...};
  }(std::make_index_sequence<kMostPointers>());
  NEAP_CHECK(pointers.size() < kCalls.size(), "{} parameters", pointers.size());
  kCalls[pointers.size()](function, pointers.data());
}

std::filesystem::path folder() {
  static const std::filesystem::path path = [] {
    std::string name = testing::TempDir() + "neap_object_XXXXXX";
    NEAP_CHECK(mkdtemp(name.data()), "no folder for objects");
    return std::filesystem::path(name);
  }();
  return path;
}

// The function, from a file of its own that is gone when this returns.
void* load(const Object& object) {
  const std::string stem = folder() / std::to_string(++compiled);
  std::ofstream(stem + ".o", std::ios::binary) << object.code;
  const std::string command = std::string(NEAP_COMPILER) + " -shared -fuse-ld=lld -o " + stem + ".so " + stem + ".o " +
                              NEAP_RUNTIME_LIBRARY + " -lm";
  NEAP_CHECK(std::system(command.c_str()) == 0, "{}", command);
  void* const library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  NEAP_CHECK(library, "{}", dlerror());
  std::filesystem::remove(stem + ".o");
  std::filesystem::remove(stem + ".so");
  return dlsym(library, "program");
}

class Loaded final : public backends::Executable {
 public:
  explicit Loaded(PlanData plan)
      : plan_(std::move(plan)),
        object_(backends::object_cpu(plan_, {"program", {}, {}, {}})),
        function_(load(object_)) {}

  const PlanData& plan() const override { return plan_; }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs, std::vector<backends::StepTiming>*) const override {
    const size_t arguments = inputs.size() - static_cast<size_t>(plan_.num_captured);
    std::vector<BufferPtr> outputs(plan_.outputs.size());
    std::vector<void*> pointers;
    std::vector<std::vector<std::byte>> copies;  // of what is an argument or another result: not planned
    for (const Parameter& p : object_.parameters) {
      if (p.kind == Parameter::Kind::argument) {
        pointers.push_back(inputs[p.number]->data());
      } else if (p.kind == Parameter::Kind::captured) {
        pointers.push_back(inputs[arguments + p.number]->data());
      } else if (p.copied) {
        pointers.push_back(copies.emplace_back(p.aval.bytes()).data());
      } else {
        pointers.push_back((outputs[p.number] = allocate(p.aval.bytes(), "result"))->data());
      }
    }
    const BufferPtr arena = object_.arena_bytes > 0 ? allocate(object_.arena_bytes, "arena") : nullptr;
    pointers.push_back(arena ? arena->data() : nullptr);
    call(function_, pointers);
    for (const auto& [result, argument] : object_.in_arguments) outputs[result] = inputs[argument];
    size_t copy = 0;
    for (const Parameter& p : object_.parameters) {
      if (!p.copied) continue;
      const BufferPtr& original = home(p.number, inputs, outputs);
      NEAP_CHECK(copies[copy].empty() || std::memcmp(original->data(), copies[copy].data(), copies[copy].size()) == 0,
                 "result {} is another than what it was copied from", p.number);
      outputs[p.number] = original;
      ++copy;
    }
    for (size_t i = 0; i < inputs.size() && i < plan_.donated.size(); ++i) {
      if (plan_.donated[i]) inputs[i].reset();
    }
    return outputs;
  }

 private:
  // What holds the bytes of a result that is copied.
  const BufferPtr& home(int result, const std::vector<BufferPtr>& inputs, const std::vector<BufferPtr>& outputs) const {
    const int root = plan_.root(plan_.outputs[result]);
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      if (plan_.inputs[i] == root) return inputs[i];
    }
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.root(plan_.outputs[i]) == root && outputs[i]) return outputs[i];
    }
    NEAP_CHECK(false, "result {} is nowhere", result);
  }

  PlanData plan_;
  Object object_;
  void* function_;
};

class ObjectBackend final : public backends::Backend {
 public:
  std::string_view name() const override { return "object"; }
  std::vector<backends::FoundDevice> list() const override { return {{"object files", "", 0}}; }
  Limits limits(int) const override {
    Limits limits = host_.limits(0);
    limits.host_memory = false;  // results lie where the caller says
    return limits;
  }
  std::shared_ptr<const backends::Executable> compile(PlanData plan, int, const std::string& dump) const override {
    if (plan.naive) return host_.compile(std::move(plan), 0, dump);
    return std::make_shared<Loaded>(std::move(plan));
  }
  BufferPtr bring(const BufferPtr& buffer, int) const override { return host_.bring(buffer, 0); }

 private:
  const backends::Backend& host_ = *backends::find_backend("cpu");
};

bool asked() {
  const char* const device = std::getenv("NEAP_DEVICE");
  return device && std::string_view(device) == "object";
}

[[maybe_unused]] const bool kRegistered = [] {
  if (asked()) backends::register_backend(std::make_unique<ObjectBackend>());
  return true;
}();

TEST(ObjectBackend, RunsWhatIsAskedOfIt) {
  if (!asked()) GTEST_SKIP() << "NEAP_DEVICE=object asks for it";
  const int before = compiled;
  const auto f = jit([](const Array& x) { return sum(square(x)); });
  EXPECT_EQ(f(array({1.0f, 2.0f, 3.0f})).item<float>(), 14.0f);
  EXPECT_EQ(compiled, before + 1);
}

}  // namespace
}  // namespace neap::conformance
