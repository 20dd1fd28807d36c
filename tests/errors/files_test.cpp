// Mistakes with files, devices and profiles.
#include <neap/safetensors.h>

#include "mistake.h"

#ifdef NEAP_VULKAN
#define DEVICES "cpu, vulkan, vulkan:N"
#else
#define DEVICES "cpu"
#endif

MISTAKE(Files, LoadsAMissingFile, UserError, "load_npy: no.npy: No such file or directory") {
  load_npy("no.npy");  // here
}

MISTAKE(Files, LoadsAFolder, UserError, "load_npy: /tmp: Is a directory") {
  load_npy("/tmp");  // here
}

MISTAKE(Files, LoadsWhatIsNoArray, UserError,
        "load_npy: " NEAP_TESTS_DIR "/errors/mistake.h: it does not begin as a .npy file does") {
  load_npy(NEAP_TESTS_DIR "/errors/mistake.h");  // here
}

MISTAKE(Files, SavesIntoAMissingFolder, UserError,
        "save_npy: no/where/x.npy: there is no folder no/where: No such file or directory") {
  save_npy("no/where/x.npy", ones({3}));  // here
}

MISTAKE(Files, SavesOverAFolder, UserError, "save_npy: /tmp: Is a directory") {
  save_npy("/tmp", ones({3}));  // here
}

MISTAKE(Files, SavesToAFullDevice, UserError, "save_npy: /dev/full: No space left on device") {
  save_npy("/dev/full", ones({3}));  // here
}

MISTAKE(Files, SavesASpec, UserError,
        "save_npy: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  save_npy("never.npy", spec({3}, f32));  // here
}

MISTAKE(Files, SavesNoValue, UserError, "array: an Array without a value is used; assign it first") {
  save_npy("never.npy", Array());  // here
}

MISTAKE(Files, LoadsMissingTensors, UserError, "load_safetensors: no.safetensors: No such file or directory") {
  load_safetensors("no.safetensors");  // here
}

MISTAKE(Files, LoadsWhatAreNoTensors, UserError,
        "load_safetensors: " NEAP_TESTS_DIR "/errors/mistake.h: it does not begin with the length of a header") {
  load_safetensors(NEAP_TESTS_DIR "/errors/mistake.h");  // here
}

MISTAKE(Files, SavesTensorsOfASpec, UserError,
        "save_safetensors: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  save_safetensors("never.safetensors", {{"weight", spec({3}, f32)}});  // here
}

MISTAKE(Files, SavesTensorsWithoutAValue, UserError, "array: an Array without a value is used; assign it first") {
  save_safetensors("never.safetensors", {{"weight", Array()}});  // here
}

MISTAKE(Files, NamesATensorMetadata, UserError,
        "save_safetensors: an array named '__metadata__'; expected another name; the format keeps this one for texts "
        "about the file") {
  save_safetensors("never.safetensors", {{"__metadata__", ones({3})}});  // here
}

MISTAKE(Files, NamesATensorInLatin1, UserError,
        "save_safetensors: the name 'gr\\xfc\\xdf'; expected UTF-8; the file's header is a text of Unicode") {
  save_safetensors("never.safetensors", {{"gr\xfc\xdf", ones({3})}});  // here
}

MISTAKE(Files, WritesAPlanIntoAMissingFolder, UserError,
        "write_json: no/where/plan.json: there is no folder no/where: No such file or directory") {
  const Plan plan = jit([](const Array& x) { return x + 1; }).plan(spec({3}, f32));
  plan.write_json("no/where/plan.json");  // here
}

MISTAKE(Files, WritesAPageIntoAMissingFolder, UserError,
        "write_html: no/where/plan.html: there is no folder no/where: No such file or directory") {
  const Plan plan = jit([](const Array& x) { return x + 1; }).plan(spec({3}, f32));
  plan.write_html("no/where/plan.html");  // here
}

MISTAKE(Files, ReadsMissingLimits, UserError, "read_limits: no.json: No such file or directory") {
  read_limits("no.json");  // here
}

MISTAKE(Files, ReadsLimitsThatAreNone, UserError,
        "read_limits: " NEAP_TESTS_DIR
        "/golden/fft.json: inputs: expected one of name, gpu, memory, largest_allocation, "
        "largest_buffer, alignment, wide_atomics, half_products, bf16_products, count_tables, host_memory; or a "
        "device's record, "
        "which has api_version") {
  read_limits(NEAP_TESTS_DIR "/golden/fft.json");  // here
}

MISTAKE(Files, ProfilesTwice, UserError,
        "Profile: one is recording already; expected one at a time; end its life before making another") {
  const Profile first;
  const Profile second;  // here
}

MISTAKE(Files, WritesAProfileIntoAMissingFolder, UserError,
        "write_json: no/where/profile.json: there is no folder no/where: No such file or directory") {
  const Profile profile;
  profile.write_json("no/where/profile.json");  // here
}

MISTAKE(Files, UnknownDevice, DeviceError, "cuda:0: this build has no such backend; expected " DEVICES) {
  const auto f = jit([](const Array& x) { return x; }, {.device = {"cuda", 0}});  // here
  f(ones({3}));
}

MISTAKE(Files, PlansForAnUnknownDevice, DeviceError, "cuda:0: this build has no such backend; expected " DEVICES) {
  const auto f = jit([](const Array& x) { return x; }, {.device = {"cuda", 0}});  // here
  f.plan(ones({3}));
}

MISTAKE(Files, SecondHost, DeviceError, "cpu:3: the host is one device, cpu") {
  const auto f = jit([](const Array& x) { return x; }, {.device = {"cpu", 3}});  // here
  f(ones({3}));
}

MISTAKE(Files, BringsToAnUnknownDevice, DeviceError, "cuda:0: this build has no such backend; expected " DEVICES) {
  to_device(ones({3}), {"cuda", 0});  // here
}

MISTAKE(Files, BringsASpec, UserError,
        "to_device: a spec f32[3] has no elements; expected an array; specs are only for jit(f).plan(...)") {
  to_device(spec({3}, f32), cpu());  // here
}

MISTAKE(Files, LimitsOfAnUnknownDevice, DeviceError, "cuda:0: this build has no such backend; expected " DEVICES) {
  limits({"cuda", 0});  // here
}
