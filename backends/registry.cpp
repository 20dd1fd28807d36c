// The registry holds the backends of this build and those that a program adds.
#include <mutex>

#include "backends/backend.h"
#include "backends/host.h"
#include "core/check.h"

namespace neap::backends {

Compile compile_cpu;                                   // backends/cpu/executor.h
CompileAhead compile_cpu_ahead;                        //
CompileObject object_cpu;                              // backends/cpu/object.h
std::unique_ptr<const Backend> make_vulkan_backend();  // backends/vulkan/backend.cpp

Object Backend::object(const planner::PlanData&, const ObjectRequest&) const {
  throw UserError(std::string(name()) +
                  ": got a function to save; expected one that runs on the CPU; this backend makes no object files");
}

namespace {

class Registry {
 public:
  Registry() {
#ifdef NEAP_CPU
    add(make_host(compile_cpu, compile_cpu_ahead, object_cpu));
#else
    add(make_host(nullptr, nullptr, nullptr));
#endif
#ifdef NEAP_VULKAN
    add(make_vulkan_backend());
#endif
  }

  void add(std::unique_ptr<const Backend> backend) {
    const std::lock_guard lock(mutex_);
    for (const auto& other : backends_)
      NEAP_CHECK(other->name() != backend->name(), "two backends are called {}", backend->name());
    backends_.push_back(std::move(backend));
  }

  std::vector<const Backend*> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<const Backend*> all;
    for (const auto& backend : backends_) all.push_back(backend.get());
    return all;
  }

  const Backend* find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    for (const auto& backend : backends_)
      if (backend->name() == name) return backend.get();
    return nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const Backend>> backends_;
};

Registry& registry() {
  static Registry& only = *new Registry;  // never destroyed: arrays may be read in the destructor of a static
  return only;
}

}  // namespace

std::vector<const Backend*> all_backends() { return registry().all(); }
const Backend* find_backend(std::string_view name) { return registry().find(name); }
void register_backend(std::unique_ptr<const Backend> backend) { registry().add(std::move(backend)); }

}  // namespace neap::backends
