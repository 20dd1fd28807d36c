// Devices, their limits, and neap.memory.
#include <neap/bytes.h>

#include <nanobind/stl/filesystem.h>

#include "device.h"

namespace neap::python {

Device device_from(nb::handle object) {
  if (nb::isinstance<Device>(object)) return nb::cast<Device>(object);
  const std::string text = nb::cast<std::string>(nb::str(object));
  if (text == "cpu") return cpu();
  if (text == "vulkan") return vulkan();
  if (text.starts_with("vulkan:")) return vulkan(nb::cast<int>(nb::int_(nb::str(text.c_str() + 7))));
  throw_user<OptionError>("device", "\"" + text + "\"", "\"cpu\", \"vulkan\" or \"vulkan:1\"", "", here());
}

Array placed(const Array& x, nb::handle device) {
  return device.is_none() ? x : to_device(x, device_from(device), here());
}

namespace {

std::optional<Device> maybe_device(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional<Device>(device_from(object));
}

void bind_memory(nb::module_ m) {
  m.def(
      "live_bytes",
      [](nb::handle d) { return d.is_none() ? memory::live_bytes() : memory::live_bytes(device_from(d)); },
      "device"_a = nb::none(), "The bytes of all arrays, arenas and scratch that are alive.");
  m.def(
      "peak_bytes",
      [](nb::handle d) { return d.is_none() ? memory::peak_bytes() : memory::peak_bytes(device_from(d)); },
      "device"_a = nb::none(), "The highest live_bytes() since the start or the last reset_peak().");
  m.def(
      "reset_peak", [](nb::handle d) { d.is_none() ? memory::reset_peak() : memory::reset_peak(device_from(d)); },
      "device"_a = nb::none(), "Makes peak_bytes() equal to live_bytes().");
  m.def(
      "cached_bytes",
      [](nb::handle d) { return d.is_none() ? memory::cached_bytes() : memory::cached_bytes(device_from(d)); },
      "device"_a = nb::none(), "Freed memory that is kept for reuse.");
  m.def(
      "release_cached",
      [](nb::handle d) { d.is_none() ? memory::release_cached() : memory::release_cached(device_from(d)); },
      "device"_a = nb::none(), "Gives cached memory back.");
  m.def(
      "set_limit",
      [](nb::handle bytes) {
        if (bytes.is_none()) return memory::set_limit({});
        memory::set_limit(nb::cast<size_t>(bytes));
      },
      "bytes"_a.none(),
      "Sets a hard limit on live_bytes(): what would pass it raises OutOfMemoryError. None: no limit.");
  m.def("limit", memory::limit, "The limit, or None.");
  m.def("resident_bytes", memory::resident_bytes, "The process's resident set.");
  m.def("peak_resident_bytes", memory::peak_resident_bytes, "The highest resident set.");
  m.def("reset_peak_resident", memory::reset_peak_resident, "Makes peak_resident_bytes() equal to resident_bytes().");
}

void bind_limits(nb::module_& m) {
  nb::class_<Limits>(m, "Limits",
                     "What a plan needs to know of a device, of one that is here or of any other: what it does not say "
                     "is no limit. jit(f, limits=...) plans for it.")
      .def(
          "__init__",
          [](Limits* self, std::string name, bool gpu, size_t memory, size_t largest_allocation, size_t largest_buffer,
             size_t alignment, bool wide_atomics, bool half_products, bool bf16_products, int count_tables,
             bool host_memory) {
            new (self) Limits{.name = std::move(name),
                              .gpu = gpu,
                              .memory = memory,
                              .largest_allocation = largest_allocation,
                              .largest_buffer = largest_buffer,
                              .alignment = alignment,
                              .wide_atomics = wide_atomics,
                              .half_products = half_products,
                              .bf16_products = bf16_products,
                              .count_tables = count_tables,
                              .host_memory = host_memory};
          },
          nb::kw_only(), "name"_a = "", "gpu"_a = false, "memory"_a = 0, "largest_allocation"_a = 0,
          "largest_buffer"_a = 0, "alignment"_a = 64, "wide_atomics"_a = true, "half_products"_a = false,
          "bf16_products"_a = false, "count_tables"_a = 1, "host_memory"_a = true)
      .def_rw("name", &Limits::name, "In messages.")
      .def_rw("gpu", &Limits::gpu, "Kernels as for a GPU.")
      .def_rw("memory", &Limits::memory, "Bytes that a run may hold; 0: no limit.")
      .def_rw("largest_allocation", &Limits::largest_allocation,
              "Bytes; an arena that is larger spans several; 0: no limit.")
      .def_rw("largest_buffer", &Limits::largest_buffer, "Bytes of one array; 0: no limit.")
      .def_rw("alignment", &Limits::alignment, "Of what lies in an arena: a power of two, from 64 on.")
      .def_rw("wide_atomics", &Limits::wide_atomics, "Float sums of scattered updates are taken in f64.")
      .def_rw("half_products", &Limits::half_products, "On a GPU: large products of f16 with sums in f32.")
      .def_rw("bf16_products", &Limits::bf16_products, "The same of bf16.")
      .def_rw("count_tables", &Limits::count_tables, "On a GPU, of a scatter that counts rows.")
      .def_rw("host_memory", &Limits::host_memory, "Memory is the host's: results may be cut out of the arena.")
      .def("__repr__", [](const Limits& l) {
        return "<Limits" + (l.name.empty() ? "" : " of " + l.name) +
               (l.memory == 0 ? "" : ": " + format_bytes(l.memory)) + ">";
      });
  m.def(
      "limits", [](nb::handle d) { return limits(device_from(d), here()); }, "device"_a,
      "The limits of a device of this machine.", nb::sig("def limits(device: str | Device) -> Limits"));
  m.def(
      "read_limits", [](const std::filesystem::path& path) { return read_limits(path, here()); }, "path"_a,
      "Reads limits from JSON: these by name, or what a Vulkan driver reports.");
}

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<Device>(m, "Device", "A device: a backend and a number.")
      .def_prop_ro(
          "backend", [](const Device& d) { return std::string(d.backend); }, "Its backend's name.")
      .def_ro("index", &Device::index, "Its number among the backend's devices.")
      .def(
          "__eq__",
          [](const Device& d, nb::handle other) {
            return nb::isinstance<Device>(other) && d == nb::cast<Device>(other);
          },
          "other"_a.none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__",
           [](const Device& d) { return std::hash<std::string_view>()(d.backend) + static_cast<size_t>(d.index); })
      .def("__str__", [](const Device& d) { return to_string(d); })
      .def("__repr__", [](const Device& d) { return "<Device " + to_string(d) + ">"; });
  bind_limits(m);
  m.def("device", device_from, "name"_a, "The device that a name such as \"vulkan:1\" says.",
        nb::sig("def device(name: str | Device) -> Device"));
  m.def(
      "devices",
      [] {
        std::vector<Device> found;
        for (const DeviceInfo& info : devices()) found.push_back(info.device);
        return found;
      },
      "Every device that this build and this machine offer.");
  m.def(
      "_memories",
      [] {
        std::vector<Device> found;
        for (const DeviceInfo& info : devices())
          if (info.device == cpu() || info.memory > 0) found.push_back(info.device);
        return found;
      },
      "The devices with a memory of their own, in which arrays can lie.");
  m.def("default_device", default_device, "Where operations outside jit run, and jit's default.");
  m.def(
      "set_default_device", [](nb::handle d) { set_default_device(maybe_device(d)); }, "device"_a.none(),
      "Sets it; None: as the environment says.",
      nb::sig("def set_default_device(device: str | Device | None) -> None"));
  m.def(
      "device_put", [](Arg x, nb::handle d) { return placed(x.array(), d); }, "x"_a, "device"_a = nb::none(),
      "The array in the memory of a device.",
      nb::sig("def device_put(x: neap.typing.ArrayLike, device: str | Device | None = None) -> Array"));
  m.def(
      "synchronize",
      [] {
        unlocked([] {
          synchronize();
          return 0;
        });
      },
      "Waits until every call on every device has finished.");
  bind_memory(m.def_submodule("memory", "What Neap's allocator holds, and what the process holds."));
}

}  // namespace neap::python
