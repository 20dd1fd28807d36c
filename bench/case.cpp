#include "bench/case.h"

#include <fmt/format.h>

#include <algorithm>

namespace bench {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> c;
    add_random_cases(c);
    add_random_loop_cases(c);
    add_random_matmul_cases(c);
    add_monte_carlo_cases(c);
    add_gather_cases(c);
    add_dropout_mlp_cases(c);
    add_hessian_cases(c);
    add_per_example_cases(c);
    add_attention_cases(c);
    add_residual_cases(c);
    add_transformer_cases(c);
    add_diffusion_cases(c);
    add_nbody_cases(c);
    add_rollout_cases(c);
    add_embedding_cases(c);
    add_graph_net_cases(c);
    add_report_cases(c);
    add_ops_cases(c);
    add_throughput_cases(c);
    add_program_cases(c);
    add_dispatch_cases(c);
    return c;
  }();
  return cases;
}

const Case& find_case(const std::string& name) {
  return *std::find_if(all_cases().begin(), all_cases().end(), [&](const Case& c) { return c.name == name; });
}

Request resolve(const Case& c, const Options& o) {
  Request r;
  r.name = c.name;
  r.form = o.form.empty() ? c.forms.front() : o.form;
  require_one_of("form of " + c.name, r.form, c.forms);
  r.under = o.under;
  require_one_of("transform around " + c.name, r.under, c.unders);
  r.dtype = o.dtype.empty() ? c.dtypes.front() : o.dtype;
  require_one_of("dtype of " + c.name, r.dtype, c.dtypes);
  r.shape = o.size.empty() ? c.size : o.size == "full" ? c.full : parse_extents(o.size);
  if (!c.any_rank && r.shape.size() != c.size.size()) {
    throw UsageError{fmt::format("--size '{}' has {} extents; {} takes {} ({})", o.size, r.shape.size(), c.name,
                                 c.size.size(), c.size_means)};
  }
  r.device = o.device;
  r.strategy = o.strategy;
  r.chunks = o.chunks;
  r.budget = o.budget.value_or(0);
  r.threads = o.threads;
  r.reps = o.reps;
  r.plan_only = o.plan_only;
  r.limits = o.limits;
  return r;
}

}  // namespace bench
