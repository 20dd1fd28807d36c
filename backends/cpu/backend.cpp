#include "backends/backend.h"

#include <neap/error.h>

#include "backends/cpu/executor.h"

namespace neap::backends {
namespace {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::vector<FoundDevice> list() const override { return {{"CPU", "", 0}}; }

  Limits limits(int device) const override {
    check(device);
    Limits limits;
    limits.name = name();
    return limits;
  }

  std::shared_ptr<const Executable> compile(planner::PlanData plan, int device,
                                            const std::string& dump_name) const override {
    check(device);
    return compile_cpu(std::move(plan), dump_name);
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
};

}  // namespace

std::unique_ptr<const Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace neap::backends
