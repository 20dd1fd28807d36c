// How a row's numbers come about, in this order:
//   plan       planned_peak_bytes, lower_bound_bytes, strategies: from shapes alone
//   compile    the resident size after it is the base of rss_growth_bytes
//   arguments  made on the host, and copied to a device that has memory of its own
//   warm-up    on a Vulkan device only: drivers compile a kernel when it first runs, some of them in this process; what
//              stays resident of it, with no array left, is added to the base of rss_growth_bytes
//   first run  the allocator's and the system's high-water marks are reset before it, read after it
//   reps       timed, each with the outputs of the one before dropped and donated arguments made again
//   checksum   of the last outputs, outside the timing
//   limits     with --limits, on a Vulkan device: how fast it copies its memory
#include "bench/measure.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "bench/checksum.h"
#include "bench/device_copy.h"
#include "bench/job.h"
#include "bench/report_html.h"
#include "bench/trace.h"
#include "core/os/os.h"
#include "planner/plan/plan.h"

namespace bench {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void progress(const std::string& text) { send_to_parent({{"progress", text}}); }

Json empty_row(const Request& r) {
  return {{"case", r.name},
          {"form", r.form},
          {"under", r.under},
          {"pipeline", r.pipeline},
          {"device", r.device},
          {"dtype", r.dtype},
          {"shape", r.shape},
          {"planned_peak_bytes", nullptr},
          {"measured_peak_bytes", nullptr},
          {"rss_growth_bytes", nullptr},
          {"output_bytes", nullptr},
          {"lower_bound_bytes", nullptr},
          {"predicted_seconds", nullptr},
          {"seconds_median", nullptr},
          {"seconds_min", nullptr},
          {"elements_per_second", nullptr},
          {"checksum", nullptr},
          {"output_sum", nullptr},
          {"strategies", Json::array()},
          {"note", nullptr}};
}

void put_plan(Json& row, const Request& r, const neap::Plan& plan) {
  row["planned_peak_bytes"] = plan.peak_bytes();
  row["lower_bound_bytes"] = plan.lower_bound_bytes();
  row["predicted_seconds"] = plan.data().predicted_seconds;
  row["strategies"] = plan.strategies();
  if (!r.plan_file.empty()) plan.write_json(r.plan_file);
  if (!r.plan_html.empty()) plan.write_html(r.plan_html);
}

void settle_memory(const Request& r) {
  neap::memory::release_cached();
  neap::memory::release_cached(device_of(r));
  malloc_trim(0);
}

void put_times(Json& row, std::vector<double> seconds, const Job& job) {
  std::sort(seconds.begin(), seconds.end());
  const size_t n = seconds.size();
  const double median = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2 / job.calls;
  row["seconds_median"] = median;
  row["seconds_min"] = seconds.front() / job.calls;
  row["elements_per_second"] = median > 0 ? job.elements / median : 0;
}

double timed_run(Job& job, const Request& r) {
  const double start = now();
  job.run();
  if (r.device != "cpu") neap::synchronize();
  return now() - start;
}

// A first run that takes longer than all reps together may take stands for them.
std::vector<double> repeat(Job& job, const Request& r, double first, Trace& trace) {
  constexpr double kPatience = 10;
  const int most = r.reps > 0 ? r.reps : 5;
  if (job.first_call || (r.reps == 0 && first > kPatience)) return {first};
  std::vector<double> seconds;
  const double start = now();
  while (static_cast<int>(seconds.size()) < most) {
    job.drop_outputs();
    job.restock();
    const auto slice = trace.slice(fmt::format("repetition {}", seconds.size() + 1));
    seconds.push_back(timed_run(job, r));
    progress(fmt::format("{}/{}", seconds.size(), most));
    if (r.reps == 0 && now() - start > kPatience) break;
  }
  return seconds;
}

// The run that a driver's compiler is in. Gives the bytes that the driver keeps of it in this process.
size_t warm_up(Job& job, const Request& r, Trace& trace) {
  progress("warm-up");
  const auto slice = trace.slice("warm-up");
  const size_t live = neap::memory::live_bytes(), resident = neap::memory::resident_bytes();
  timed_run(job, r);
  job.drop_outputs();
  job.restock();
  neap::synchronize();
  settle_memory(r);
  const size_t after = neap::memory::resident_bytes();
  return neap::memory::live_bytes() <= live && after > resident ? after - resident : 0;
}

// The bytes that the job must read and write at the least, set against what the device's own copies move.
void put_limits(Json& row, const Request& r, const Job& job, size_t output_bytes) {
  const double bytes = static_cast<double>(job.argument_bytes + output_bytes);
  const double rate = bytes / row["seconds_median"].get<double>(), limit = device_copy_rate(device_of(r));
  row["bytes_per_second"] = rate;
  row["device_copy_bytes_per_second"] = limit;
  const std::string text = fmt::format("arguments and outputs at {:.3g} GB/s, {:.3f} of a device copy's {:.3g} GB/s",
                                       rate * 1e-9, rate / limit, limit * 1e-9);
  row["note"] = row["note"].is_null() ? text : row["note"].get<std::string>() + "; " + text;
}

void measure(Json& row, const Request& r, Job& job, Trace& trace) {
  size_t base = 0;
  if (!job.first_call) {
    progress("compiling");
    const auto slice = trace.slice("compile");
    job.compile();
    settle_memory(r);
    base = neap::memory::resident_bytes();
  }
  progress("arguments");
  {
    const auto slice = trace.slice("arguments");
    job.make_arguments();
    settle_memory(r);
  }
  if (job.first_call)
    base = neap::memory::resident_bytes();
  else if (r.device != "cpu")
    base += warm_up(job, r, trace);
  const bool resident_known = neap::memory::reset_peak_resident();
  neap::memory::reset_peak(device_of(r));
  progress("first run");
  const double first = [&] {
    const auto slice = trace.slice("first run");
    return timed_run(job, r);
  }();
  row["measured_peak_bytes"] = neap::memory::peak_bytes(device_of(r));
  if (resident_known) {
    row["rss_growth_bytes"] = static_cast<int64_t>(neap::memory::peak_resident_bytes()) - static_cast<int64_t>(base);
  }
  put_times(row, repeat(job, r, first, trace), job);
  progress("checksum");
  const Digest digest = digest_of(job.outputs);
  row["checksum"] = digest.checksum;
  row["output_sum"] = digest.sum;
  if (const std::string remarks = job.remarks(); !remarks.empty()) row["note"] = remarks;
  if (r.limits && r.device != "cpu") {
    size_t output_bytes = 0;
    for (const neap::Array& a : job.outputs) output_bytes += a.bytes();
    job.drop_outputs();
    settle_memory(r);
    put_limits(row, r, job, output_bytes);
  }
}

// Whether there is memory for a run of `needed` bytes: the host's, or the device's own and, beside it, the host's for
// arguments on their way there and outputs on their way back.
bool fits(size_t needed, const Request& r, const Job& job) {
  for (const neap::DeviceInfo& d : neap::devices()) {
    if (d.device != device_of(r) || d.memory == 0) continue;
    return needed <= d.memory - d.memory / 32 && !missing_memory(std::max(job.argument_bytes, job.output_bytes));
  }
  return !missing_memory(needed);
}

Json run(const Request& r) {
  Json row = empty_row(r);
  Trace trace(!r.trace_file.empty(), device_of(r));
  progress("planning");
  std::unique_ptr<Job> job;
  try {
    job = find_case(r.name).build(r);
  } catch (const DoesNotFit& missing) {
    row["note"] = fmt::format("not run: needs {}", neap::format_bytes(missing.bytes));
    return row;
  }
  row["output_bytes"] = job->output_bytes;
  const auto plan_now = [&]() -> size_t {
    const auto plan = job->plan();
    if (plan) put_plan(row, r, *plan);
    return plan ? plan->peak_bytes() : job->output_bytes + job->argument_bytes;
  };
  if (job->first_call && !r.plan_only) {  // planning would warm what is to be measured
    measure(row, r, *job, trace);
    plan_now();
    if (!r.trace_file.empty()) trace.write(r.trace_file);
    return row;
  }
  const size_t needed = [&] {
    const auto slice = trace.slice("plan");
    return plan_now();
  }();
  if (r.plan_only) return row;
  if (!fits(needed, r, *job)) {
    row["note"] = fmt::format("not run: needs {}", neap::format_bytes(needed));
    return row;
  }
  measure(row, r, *job, trace);
  if (!r.trace_file.empty()) trace.write(r.trace_file);
  return row;
}

int fail(const std::string& message, int code) {
  send_to_parent({{"error", message}});
  return code;
}

}  // namespace

size_t missing_memory(size_t needed) {
  const size_t margin = needed / 64 + (size_t{256} << 20);  // page tables, code, stacks
  return needed + margin > neap::os::available_memory().value_or(SIZE_MAX) ? needed : 0;
}

int measure_one(const std::string& request_json) {
  try {
    const Request r = nlohmann::json::parse(request_json).get<Request>();
    neap::set_default_device(device_of(r));
    if (r.threads > 0) setenv("NEAP_NUM_THREADS", std::to_string(r.threads).c_str(), 1);
    setenv("NEAP_CACHE_DIR", r.cache.c_str(), 1);  // an empty disk cache: each run pays its own compilation
    send_to_parent({{"row", run(r)}});
    return 0;
  } catch (const UsageError& e) {
    return fail(e.message, 2);
  } catch (const neap::UserError& e) {
    return fail(e.what(), 2);
  } catch (const neap::RuntimeError& e) {
    return fail(e.what(), 2);
  } catch (const std::exception& e) {
    return fail(e.what(), 1);
  }
}

}  // namespace bench
