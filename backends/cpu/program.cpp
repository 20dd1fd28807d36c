#include "backends/cpu/program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "backends/cpu/column_loop.h"
#include "backends/cpu/fourier.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/one_thread.h"
#include "backends/cpu/scalar_loop.h"
#include "core/check.h"
#include "core/thread_pool.h"
#include "planner/kernels/cost.h"
#include "planner/plan/queries.h"
#include "trace/graph/loop.h"

namespace neap::cpu {

using backends::Kernel;
using backends::kRangeUnit;
using backends::Launch;
using planner::PlanData;
using planner::PlanStep;
using tracing::Attr;

namespace {

// No measurement is recorded; neap-cost takes the time of kernels (NEAP_NUM_THREADS says on how many threads).
constexpr double kElementSeconds = 0.1e-9;  // memory and loop, whatever is computed
// Where lanes jump through memory, a tile is one vector by so many elements that lie side by side: with a jump of a
// power of two, which puts all lanes in one set of the cache, a second vector would cost four times the time.
constexpr int64_t kTile = 64;
constexpr int64_t kSomeIterations = 100;  // of a loop that ends when it will

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

void choose_split(const Launch& launch, const VectorUnit& unit, LaunchCode& code) {
  const Kernel& kernel = launch.kernel;
  const auto [rows, columns] = kernel.extent;
  code.extent = kernel.extent;
  code.partials = launch.partials;
  if (launch.partials > 1) {
    code.split = Split::partials;
    code.part_level = kernel.kind == Kernel::Kind::scatter && rows > 1 ? 0 : 1;
    code.grain = (code.extent[code.part_level] + launch.partials - 1) / launch.partials;
    if (code.part_level == 1) code.grain = round_up(code.grain, kRangeUnit);
    return;
  }
  const auto unique = [](const backends::Scatter& s) { return s.unique_indices; };
  if (kernel.kind == Kernel::Kind::scatter && !std::ranges::all_of(kernel.scatters, unique)) return;
  const double elements = std::max(1.0, std::floor(kTaskSeconds / seconds_of_element(kernel)));
  const auto is_brief = [&](int64_t of_each) {
    return static_cast<double>(code.grain) * static_cast<double>(of_each) <= 2 * elements;
  };
  // Tiles need loops of a vector's length, and elements that do not fit a small cache (neap-cost "transpose" measures).
  const bool loops = !kernel.carried.empty();  // whose columns are one task each
  if (kernel.kind == Kernel::Kind::map && !loops && std::min(rows, columns) >= 16 && rows * columns > 4096) {
    if (const Analysis analysis(kernel, unit); analysis.crosses()) {
      code.split = Split::tiles;
      code.tile = {kTile, kTile};
      code.tile[static_cast<size_t>(kernel.vector_level)] = analysis.lanes;
      code.grain = static_cast<int64_t>(elements) / (kTile * analysis.lanes) + 1;
      code.is_brief = is_brief(kTile * analysis.lanes);
      return;
    }
  }
  if (static_cast<double>(rows) * static_cast<double>(columns) < 2 * elements) return;
  constexpr int64_t kManyRows = 32;  // from so many on rows are cut, which lie together, else columns
  const auto per_task = [&](int64_t other) {
    return static_cast<int64_t>(elements / static_cast<double>(std::max<int64_t>(other, 1))) + 1;
  };
  if (kernel.kind == Kernel::Kind::reduce || loops || rows >= kManyRows || columns < 2 * kRangeUnit) {
    if (rows < 2) return;
    code.split = Split::rows;
    code.grain = per_task(columns);
    if (kernel.vector_level == 0) {
      code.grain = round_up(code.grain, kRangeUnit);
      code.unit = kRangeUnit;
      code.in_shares = kernel.kind == Kernel::Kind::reduce && Analysis(kernel, unit).takes_columns();
    }
    if (code.grain * 2 > rows) code.split = Split::none;
    code.is_brief = !code.in_shares && is_brief(columns);
    return;
  }
  code.split = Split::columns;
  code.unit = kRangeUnit;
  code.grain = round_up(per_task(rows), kRangeUnit);
  if (code.grain * 2 > columns) code.split = Split::none;
  code.is_brief = is_brief(rows);
}

class Lowering {
 public:
  Lowering(const VectorUnit& unit, int threads) : unit_(unit), threads_(threads) {}

  std::unique_ptr<Program> program(const PlanData& plan) {
    auto result = std::make_unique<Program>();
    const auto count = static_cast<int>(plan.buffers.size());
    for (int b = 0; b < count; ++b) {
      const auto& buffer = plan.buffers[b];
      result->root.push_back(plan.root(b));
      result->shift.push_back(plan.shift(b));
      NEAP_CHECK(buffer.alias_of < 0 || plan.buffers[buffer.alias_of].alias_of < 0, "a chain of aliases");
      if (buffer.alias_of < 0 && buffer.offset >= 0) result->in_arena.emplace_back(b, buffer.offset);
    }
    result->arena_bytes = plan.arena_bytes;
    result->steps.resize(plan.steps.size());
    lives(plan, *result);
    std::vector<size_t> own;  // launches that are no loop's
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      step(plan, static_cast<int>(s), result->steps[s]);
      for (size_t i = result->steps[s].launches.size(); i > 0; --i) own.push_back(launches_.size() - i);
    }
    std::vector<const Launch*> launches;
    for (const size_t i : own) launches.push_back(&launches_[i]);
    auto runs = row_runs_of(*result, plan, launches, unit_);
    for (size_t s = 0; s < runs.size(); ++s) result->steps[s].rows = std::move(runs[s]);
    result->only_calls = std::ranges::all_of(result->steps, is_only_calls);
    return result;
  }

  Lowered finish(std::unique_ptr<Program> program) {
    Lowered lowered{std::move(program), std::move(launches_), {}, std::move(code_)};
    for (size_t i = 0; i < lowered.launches.size(); ++i) {
      lowered.kernels.push_back(&lowered.launches[i].kernel);
      lowered.code[i]->kernel = i;
    }
    return lowered;
  }

 private:
  static bool is_only_calls(const StepCode& code) {
    using Kind = PlanStep::Kind;
    if (code.kind != Kind::map && code.kind != Kind::reduce && code.kind != Kind::scatter) return false;
    return std::ranges::all_of(code.launches,
                               [](const LaunchCode& l) { return l.split == Split::none && l.zero_fill.empty(); });
  }

  // Gives each step what is born and what dies with it.
  static void lives(const PlanData& plan, Program& result) {
    const auto steps = static_cast<int>(result.steps.size());
    std::vector<bool> is_output(plan.buffers.size(), false);
    for (const int b : plan.outputs) is_output[result.root[b]] = true;
    for (const auto& [b, offset] : result.in_arena) {
      const auto& buffer = plan.buffers[b];
      if (0 <= buffer.first && buffer.first < steps) {
        result.steps[buffer.first].born.emplace_back(offset, buffer.aval.bytes());
      }
      if (0 <= buffer.last && buffer.last < steps && !is_output[b]) {
        result.steps[buffer.last].dead.emplace_back(offset, buffer.bytes);
      }
    }
  }

  void step(const PlanData& plan, int number, StepCode& code) {
    const PlanStep& step = plan.steps[number];
    code.kind = step.kind;
    switch (step.kind) {
      case PlanStep::Kind::dot:
        code.dot.form = planner::dot_form(step.group, step.group.nodes.at(0));
        return operands(plan, step, code.dot);
      case PlanStep::Kind::convolution:
        code.convolution.form = planner::convolution_form(step.group, step.group.nodes.at(0));
        return operands(plan, step, code.convolution);
      case PlanStep::Kind::fourier:
        code.fourier.form = planner::fourier_form(step.group, step.group.nodes.at(0));
        code.fourier.tables = fourier_tables(code.fourier.form);
        return operand(step, code.fourier);
      case PlanStep::Kind::sort:
        code.sort.form = planner::sort_form(step.group, step.group.nodes.at(0));
        return operand(step, code.sort);
      case PlanStep::Kind::cumulative:
        code.cumulative.form = planner::cumulative_form(step.group, step.group.nodes.at(0));
        return operand(step, code.cumulative);
      case PlanStep::Kind::factor: return factor(step, code.factor);
      case PlanStep::Kind::scan: return scan(plan, step, code.scan);
      case PlanStep::Kind::host: return host(plan, step, code.host);
      default: return launches(plan, step, code);
    }
  }

  void launches(const PlanData& plan, const PlanStep& step, StepCode& code) {
    std::vector<int> operands = step.reads;
    operands.insert(operands.end(), step.writes.begin(), step.writes.end());
    operands.insert(operands.end(), step.scratch.begin(), step.scratch.end());
    std::vector<Launch> all = backends::lower(step);
    code.launches.resize(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      LaunchCode& c = code.launches[i];
      for (const int o : all[i].operands) {
        NEAP_CHECK(o < static_cast<int>(operands.size()), "{}: operand {} of {}", step.op, o, operands.size());
        c.buffers.push_back(operands[o]);
      }
      choose_split(all[i], unit_, c);
      for (const int o : all[i].zero_fill)
        c.zero_fill.emplace_back(operands[o], plan.buffers[operands[o]].aval.bytes());
      if (all[i].part0_operand >= 0) {
        c.part0_buffer = operands[all[i].part0_operand];
        c.table = all[i].kernel.scatters.at(0).buffer;
      }
      c.copies = copy_of(all[i].kernel, c.buffers);
      launches_.push_back(std::move(all[i]));
      code_.push_back(&c);
    }
  }

  // The plan buffers of which one is copied to the other, where that is all that the kernel does.
  static std::optional<std::pair<int, int>> copy_of(const backends::Kernel& k, const std::vector<int>& buffers) {
    if (k.kind != backends::Kernel::Kind::map || !k.carried.empty() || k.stores.size() != 1) return std::nullopt;
    const backends::Store& store = k.stores[0];
    const scalar::Inst& value = k.dag[store.value];
    if (value.op != scalar::Opcode::load || value.a != store.index) return std::nullopt;
    return std::pair{buffers[static_cast<size_t>(value.imm)], buffers[store.buffer]};
  }

  template <class Form>
  static void operands(const PlanData& plan, const PlanStep& step, ProductCode<Form>& code) {
    // The group lists each operand once, so that x @ x has one read.
    const auto read = [&](tracing::ValueId v) {
      return step.reads.at(static_cast<size_t>(step.group.values[v].index));
    };
    code.lhs = read(step.group.nodes[0].inputs[0]);
    code.rhs = read(step.group.nodes[0].inputs[1]);
    code.out = step.writes.at(0);
    code.bytes = plan.buffers[code.out].aval.bytes();
    if (code.form.adds) code.initial = read(step.group.nodes[0].inputs[2]);
    if (!step.scratch.empty()) code.scratch = step.scratch[0];
  }

  // Of what has one operand.
  template <class Code>
  static void operand(const PlanStep& step, Code& code) {
    code.in = step.reads.at(0);
    code.out = step.writes.at(0);
    if (!step.scratch.empty()) code.scratch = step.scratch[0];
  }

  static void factor(const PlanStep& step, FactorCode& code) {
    code.form = planner::factor_form(step.group, step.group.nodes.at(0));
    if (step.reads.size() > 1) code.triangle = step.reads[0];
    code.in = step.reads.back();
    code.out = step.writes.at(0);
    if (!step.scratch.empty()) code.scratch = step.scratch[0];
  }

  void host(const PlanData& plan, const PlanStep& step, HostCode& code) {
    const tracing::Node& node = step.group.nodes.at(0);
    code.task.emplace(node, step.group.avals(node.inputs));
    for (const tracing::ValueId v : node.inputs)
      code.in.push_back(step.reads.at(static_cast<size_t>(step.group.values[v].index)));
    code.in.resize(code.task->reads());
    code.out = step.writes.at(0);
    code.phase = step.phase;
    int& begun = begun_[{&plan, code.out}];
    if (code.phase != PlanStep::Phase::end) begun = ++tasks_;
    code.number = begun;
  }

  void scan(const PlanData& plan, const PlanStep& step, ScanCode& code) {
    const tracing::Node& node = step.group.nodes.at(0);
    const auto [num_consts, num_carry] = tracing::LoopLayout(node.attrs);
    const PlanData& body = *step.body;
    const size_t first_launch = launches_.size();
    code.length = node.attrs.integer_or(Attr::length, std::numeric_limits<int64_t>::max());
    const double around = runs_;
    runs_ *= static_cast<double>(node.op == tracing::Op::while_loop ? kSomeIterations : code.length);
    code.body = program(body);
    if (node.op == tracing::Op::while_loop) code.condition = step.writes.at(0);
    const std::string line = planner::where(step);
    code.label = line.empty() ? step.op : step.op + " at " + line;
    code.counted = code.condition < 0;
    code.reverse = node.attrs.integer_or(Attr::reverse, 0) != 0;
    if (!step.scratch.empty()) code.arena = step.scratch[0];
    const auto read = [&](size_t i) {
      const auto& value = step.group.values[node.inputs[i]];
      NEAP_CHECK(value.def == tracing::no_node, "{}: an operand of the scan is computed inside its group", step.op);
      return step.reads.at(static_cast<size_t>(value.index));
    };
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      const int b = body.inputs[i];
      if (i < num_consts) {
        code.fixed.emplace_back(b, read(i));
      } else if (i < num_consts + num_carry) {
        const int carry = step.writes.at(i - num_consts);
        code.fixed.emplace_back(b, carry);
        const int from = read(i);
        const size_t bytes = plan.buffers[carry].aval.bytes();
        if (from != carry && bytes > 0) code.initial.push_back({from, carry, bytes});
      } else {
        code.sliced.push_back({b, read(i), body.buffers[b].aval.bytes()});
      }
    }
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      const int b = body.outputs[i];
      const int root = code.body->root[b];
      if (i < num_carry) {
        const int place = body.inputs[num_consts + i];
        const size_t bytes = body.buffers[b].aval.bytes();
        if (root != place && bytes > 0) {
          code.carried.push_back(
              {b, step.writes.at(i), bytes, place, step.writes.at(i) != code.condition && planner::may_trade(body, b)});
        }
      } else {
        code.sliced.push_back({b, step.writes.at(i), body.buffers[b].aval.bytes(), true});
      }
    }
    std::vector<bool> is_sliced(body.buffers.size(), false);
    for (const auto& s : code.sliced) is_sliced[s.body_buffer] = true;
    for (size_t b = 0; b < body.buffers.size(); ++b) {
      const int root = code.body->root[b];
      if (root == static_cast<int>(b)) continue;
      (is_sliced[root] ? code.sliced_aliases : code.aliases).emplace_back(static_cast<int>(b), root);
    }
    const double iterations = std::exchange(runs_, around);
    if (auto loop = scalar_loop_of(code, body, std::span(launches_).subspan(first_launch), iterations)) {
      return run_at_once(*std::move(loop), first_launch, code);
    }
    if (auto loop = column_loop_of(code, body, std::span(launches_).subspan(first_launch))) {
      run_at_once(*std::move(loop), first_launch, code);
      code.by_columns = true;
      return choose_split(launches_.back(), unit_, *code_.back());
    }
    code.blocks = time_blocks_of(code, body, std::span(launches_).subspan(first_launch), unit_);
    const bool sweeps = code.blocks && sweep_size(*code.blocks, code.length).iterations > 1;
    if (!sweeps) keep_to_one_thread(code, body, first_launch);
    for (size_t i = 0; code.blocks && i < code.blocks->parts.size(); ++i) {
      if (code.blocks->parts[i].placement.cuts_lanes()) launches_[first_launch + i].kernel.any_range = true;
    }
  }

  void keep_to_one_thread(ScanCode& code, const PlanData& body, size_t first_launch) {
    if (!is_faster_on_one_thread(code, body, std::span(launches_).subspan(first_launch), unit_, threads_)) return;
    for (StepCode& step : code.body->steps) {
      step.rows.reset();
      for (LaunchCode& launch : step.launches) {
        if (launch.split == Split::tiles) {
          launch.grain = std::numeric_limits<int64_t>::max();  // which caches need as before, in one task
        } else if (launch.split != Split::partials) {
          launch.split = Split::none;
        }
      }
    }
    code.body->only_calls = std::ranges::all_of(code.body->steps, is_only_calls);
  }

  // The kernel of a whole loop takes the place of its body's launches, of which there is one at least.
  void run_at_once(LoopKernel loop, size_t first_launch, ScanCode& code) {
    code.at_once = true;
    code.carried.clear();
    code.body->steps.resize(1);
    code.body->steps[0].rows.reset();
    code.body->steps[0].launches.resize(1);
    launches_.resize(first_launch + 1);
    code_.resize(first_launch + 1);
    launches_.back().kernel = std::move(loop.kernel);
    LaunchCode& launch = *code_.back();
    launch.buffers = std::move(loop.buffers);
    launch.extent = launches_.back().kernel.extent;
    launch.split = Split::none;
  }

  const VectorUnit& unit_;
  const int threads_;
  double runs_ = 1;  // of what is lowered now, in the loops around it
  std::vector<Launch> launches_;
  std::vector<LaunchCode*> code_;
  int tasks_ = 0;                                         // of the host
  std::map<std::pair<const PlanData*, int>, int> begun_;  // number of the latest that writes this buffer
};

}  // namespace

double seconds_of_element(const Kernel& kernel) {
  return kernel.cost_per_element / planner::kUnitsPerSecond + kElementSeconds;
}

Lowered lower_program(const PlanData& plan, const VectorUnit& unit, int num_threads) {
  Lowering lowering(unit, num_threads);
  auto program = lowering.program(plan);
  return lowering.finish(std::move(program));
}

std::unique_ptr<Program> compile_program(const PlanData& plan, const std::string& dump_name) {
  Lowered lowered = lower_program(plan, host_unit(), num_threads());
  const auto functions = compile_kernels(lowered.kernels, dump_name);
  for (size_t i = 0; i < functions.size(); ++i) lowered.code[i]->function = functions[i];
  return std::move(lowered.program);
}

// The shortest first: a plan that another follows has cost little then, and whoever waits for all of them finds the
// longest still to be shared among threads.
void compile_program_ahead(const PlanData& plan, const std::stop_token& stop) {
  const Lowered lowered = lower_program(plan, host_unit(), num_threads());
  std::vector<const backends::Kernel*> shortest_first = lowered.kernels;
  std::ranges::sort(shortest_first, {}, [](const backends::Kernel* kernel) { return kernel->dag.size(); });
  for (const backends::Kernel* kernel : shortest_first) {
    if (stop.stop_requested()) return;
    compile_kernel_ahead(*kernel, stop);
  }
}

}  // namespace neap::cpu
