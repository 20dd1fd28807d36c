// A case: what one benchmark computes, at which sizes and in which forms. bench/cases holds one file for each family.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/options.h"

namespace bench {

// One measured run, whole: what a fresh process is told.
struct Request {
  std::string name, form, under, pipeline, dtype, device, strategy;
  std::vector<int64_t> shape;
  int64_t chunks = 0;
  size_t budget = 0;  // 0: none
  int threads = 0, reps = 0;
  bool plan_only = false, limits = false;
  std::string plan_file, plan_html, trace_file;  // "": not wanted
  std::string cache;                             // folder of code on disk
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Request, name, form, under, pipeline, dtype, device, strategy, shape, chunks, budget,
                                   threads, reps, plan_only, limits, plan_file, plan_html, trace_file, cache)

class Job;  // bench/job.h

// Thrown by a case that needs its arguments before it can be planned, when they do not fit this machine.
struct DoesNotFit {
  size_t bytes;
};
// Memory that a run of this many bytes needs and the machine has not; 0 where it fits.
size_t missing_memory(size_t needed);

struct Case {
  std::string name, what;           // what: one line for --list
  std::string size_means;           // "extents", "rows", "steps", "samples"
  std::vector<int64_t> size, full;  // default and full
  bool has_peers = false;           // peers/ holds the same case
  bool any_rank = false;            // --size may have any number of extents
  bool first_call = false;          // what is measured is the first call in a process
  // The first of each is the default.
  std::vector<std::string> dtypes{"f32"}, forms{"plain"}, unders{"none"};
  std::function<std::unique_ptr<Job>(const Request&)> build;
};

// In the order of --list.
const std::vector<Case>& all_cases();
// The case of that name, which must exist.
const Case& find_case(const std::string& name);

// The request that the options make of a case, without pipeline. UsageError where the case does not offer what they
// ask.
Request resolve(const Case& c, const Options& o);

// bench/cases/*.cpp
void add_random_cases(std::vector<Case>& cases);
void add_random_loop_cases(std::vector<Case>& cases);
void add_random_matmul_cases(std::vector<Case>& cases);
void add_monte_carlo_cases(std::vector<Case>& cases);
void add_gather_cases(std::vector<Case>& cases);
void add_dropout_mlp_cases(std::vector<Case>& cases);
void add_hessian_cases(std::vector<Case>& cases);
void add_per_example_cases(std::vector<Case>& cases);
void add_attention_cases(std::vector<Case>& cases);
void add_residual_cases(std::vector<Case>& cases);
void add_transformer_cases(std::vector<Case>& cases);
void add_diffusion_cases(std::vector<Case>& cases);
void add_nbody_cases(std::vector<Case>& cases);
void add_rollout_cases(std::vector<Case>& cases);
void add_embedding_cases(std::vector<Case>& cases);
void add_graph_net_cases(std::vector<Case>& cases);
void add_ops_cases(std::vector<Case>& cases);
void add_throughput_cases(std::vector<Case>& cases);
void add_program_cases(std::vector<Case>& cases);
void add_report_cases(std::vector<Case>& cases);
void add_dispatch_cases(std::vector<Case>& cases);

}  // namespace bench
