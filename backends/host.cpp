// The host holds arrays in every build, and runs plans in one that has the CPU backend.
#include "backends/host.h"

#include <neap/error.h>

namespace neap::backends {
namespace {

class Host final : public Backend {
 public:
  Host(Compile* compile, CompileAhead* ahead, CompileObject* object)
      : compile_(compile), ahead_(ahead), object_(object) {}

  std::string_view name() const override { return "cpu"; }
  std::vector<FoundDevice> list() const override {
    return compiles() ? std::vector<FoundDevice>{{"CPU", "", 0}} : std::vector<FoundDevice>();
  }
  bool compiles() const override { return compile_ != nullptr; }

  Limits limits(int device) const override {
    check(device);
    Limits limits;
    limits.name = name();
    return limits;
  }

  std::shared_ptr<const Executable> compile(planner::PlanData plan, int device,
                                            const std::string& dump_name) const override {
    check(device);
    if (!compile_) throw DeviceError("cpu: this build has no CPU backend");
    return compile_(std::move(plan), dump_name);
  }

  void compile_ahead(const planner::PlanData& plan, const std::stop_token& stop) const override {
    if (ahead_) ahead_(plan, stop);
  }

  Object object(const planner::PlanData& plan, const ObjectRequest& request) const override {
    return object_ ? object_(plan, request) : Backend::object(plan, request);
  }

  BufferPtr bring(const BufferPtr& buffer, int device) const override {
    check(device);
    buffer->data();
    return buffer;
  }

 private:
  static void check(int device) {
    if (device != 0) throw DeviceError("cpu:" + std::to_string(device) + ": the host is one device, cpu");
  }

  Compile* const compile_;
  CompileAhead* const ahead_;
  CompileObject* const object_;
};

}  // namespace

std::unique_ptr<const Backend> make_host(Compile* compile, CompileAhead* ahead, CompileObject* object) {
  return std::make_unique<Host>(compile, ahead, object);
}

}  // namespace neap::backends
