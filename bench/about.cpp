#include "bench/about.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <neap/bytes.h>
#include <neap/device.h>
#include <neap/version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/file.h"
#include "core/thread_pool.h"

namespace bench {
namespace {

struct Origin {
  std::string_view name, text;
};

constexpr std::string_view kModel =
    "A model's program as users of JAX and MLX write it; bench/peers has theirs, and --peers runs them in turn.";

constexpr Origin kOrigins[] = {
    {"random-normal",
     "One of the three cases that Neap was made for: frameworks store the random bits, the floats that are made of "
     "them "
     "and the rounded result, and hold three times the output at the worst moment."},
    {"random-uniform", "As random-normal, with less arithmetic: here memory is what takes the time."},
    {"random-loop",
     "One of the three cases that Neap was made for: many small draws, each reduced to a number. Frameworks store all "
     "samples, or users split the loop by hand."},
    {"random-matmul", "Draws that are multiplied at once, under a budget that does not hold all of them."},
    {"monte-carlo",
     "As random-loop, with a gradient: a price and its derivatives, held against the formula of Black and Scholes."},
    {"gather-forward",
     "One of the three cases that Neap was made for, from a report on XLA, which copies the indices and widens i16: "
     "129.01 GiB at full size."},
    {"gather-grad",
     "One of the three cases that Neap was made for, from a report on XLA, whose gradient holds 224.01 GiB at full "
     "size, "
     "whatever the type of the indices."},
    {"gather-grad-nonlinear", "gather-grad through functions that need the values again, and second derivatives."},
    {"dropout-mlp", "Training with dropout: masks are drawn again in the backward pass instead of being kept."},
    {"hessian-mlp", kModel},
    {"per-example-grad", kModel},
    {"attention", kModel},
    {"resnet-step", kModel},
    {"transformer-step", kModel},
    {"diffusion-sampler", kModel},
    {"nbody", kModel},
    {"rollout",
     "Paths of a simulation, as pricing and reinforcement learning have them: vmap of a loop, and its gradient."},
    {"embedding-step", kModel},
    {"graph-net", kModel},
    {"reports",
     "Programs that ran out of memory in JAX, MLX, PyTorch and their libraries, as their users wrote and reported "
     "them."},
    {"ops", "What users call most, at the sizes at which they compare libraries."},
    {"throughput",
     "What each byte and each multiplication costs once arrays are long: how near a device comes to its limits."},
    {"programs",
     "Samplers, solvers, layers and training steps as users write them in JAX: what a framework makes of operations "
     "that it was not asked about one by one."},
    {"first-call", "What a framework costs before it computes: tracing, planning and compiling, with nothing cached."},
    {"dispatch", "What a framework costs for each call: finding the compiled program and calling it."},
};

// The rest of the first line that begins with the word, without ':' and spaces; "" where there is none.
std::string after(const std::string& text, std::string_view word) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.starts_with(word)) {
      const size_t begin = line.find_first_not_of(" \t:=\"", word.size());
      if (begin == line.npos) return {};
      const size_t last = line.find_last_not_of(" \t\"");
      return std::string(line.substr(begin, last + 1 - begin));
    }
    at = end + 1;
  }
  return {};
}

std::string text_of(const char* path) {
  try {
    return neap::read_file(path);
  } catch (const std::system_error&) {
    return {};
  }
}

// What a command prints, without the line's end; "" where it fails.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char buffer[256];
  for (size_t got; pipe && (got = std::fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) text.append(buffer, got);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string memory() {
  const std::string kib = after(text_of("/proc/meminfo"), "MemTotal");
  size_t n = 0;
  std::from_chars(kib.data(), kib.data() + kib.size(), n);
  return n > 0 ? neap::format_bytes(n << 10) : std::string();
}

std::string system() {
  utsname name{};
  const std::string kernel = uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : std::string();
  const std::string pretty = after(text_of("/etc/os-release"), "PRETTY_NAME");
  return pretty.empty() || kernel.empty() ? pretty + kernel : pretty + ", " + kernel;
}

std::string device_name(const std::string& device) {
  for (const neap::DeviceInfo& d : neap::devices()) {
    if (neap::to_string(d.device) == device || (d.device.index == 0 && d.device.backend == device)) return d.name;
  }
  return {};
}

// Of the sources that this was built from, as they are now.
std::string commit() {
  const std::string git = "git -C '" NEAP_SOURCE_DIR "' ";
  const std::string id = output_of(git + "rev-parse --short=12 HEAD 2>/dev/null");
  if (id.empty()) return {};
  const bool changed = !output_of(git + "status --porcelain --untracked-files=no 2>/dev/null").empty();
  return changed ? id + ", and changes since" : id;
}

std::string build() {
#ifdef NDEBUG
  return "without asserts";
#else
  return "with asserts, for developing: times are longer than a release's";
#endif
}

}  // namespace

std::string origin_of(const std::string& name) {
  const auto* found = std::ranges::find(kOrigins, name, &Origin::name);
  return found == std::end(kOrigins) ? std::string() : std::string(found->text);
}

Facts facts_of_run(const std::string& device, int threads) {
  Facts facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  add("Processor", after(text_of("/proc/cpuinfo"), "model name"));
  if (device != "cpu") add("Device", fmt::format("{}, {}", device, device_name(device)));
  add("Threads", fmt::format("{} of {} cores", threads > 0 ? threads : neap::num_threads(),
                             std::max(1U, std::thread::hardware_concurrency())));
  add("Memory", memory());
  add("System", system());
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  add("Date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now)));
  const int version = neap::version();
  add("Neap", fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100));
  add("Commit of the sources now", commit());
  add("Build", build());
  return facts;
}

}  // namespace bench
