// A program is a plan as the executor runs it: compiled launches, and for every step the plan buffers that they touch.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/cpu/row_runs.h"
#include "backends/cpu/time_blocks.h"
#include "backends/kernel.h"
#include "core/background.h"
#include "planner/kernels/convolution.h"
#include "planner/kernels/cumulative.h"
#include "planner/kernels/dot.h"
#include "planner/kernels/factor.h"
#include "planner/kernels/fourier.h"
#include "planner/kernels/sort.h"
#include "planner/plan/plan.h"
#include "trace/graph/host_task.h"

namespace neap::cpu {

struct Program;

/// What a task must cost to be worth its start, and what a kernel takes for an element, about.
inline constexpr double kTaskSeconds = 4e-6;
double seconds_of_element(const backends::Kernel& kernel);

/// Returns the least that a task gets, no less than `grain`, which is a multiple of `unit` as the result is. Where
/// tasks are few, all are about as long, and loops that go through the same arrays one after the other give a thread
/// the same part, which its cache still has.
int64_t even_grain(int64_t n, int64_t grain, int64_t unit);

/// Says how a launch is spread over threads. Only `partials` decides bits: the ranges of partials are fixed by the
/// kernel's shape.
enum class Split : uint8_t { none, rows, columns, tiles, partials };

struct LaunchCode {
  backends::KernelFunction function = nullptr;
  size_t kernel = 0;  // in Lowered::kernels
  std::array<int64_t, 2> extent{};
  std::vector<int> buffers;  // plan buffer of each of the kernel's
  Split split = Split::none;
  int64_t grain = 1;       // rows, columns or tiles of the smallest task; of partials: rows or columns of each
  int64_t unit = 1;        // tasks begin at multiples of so many
  bool is_brief = false;   // so many take a few microseconds
  bool in_shares = false;  // Split::rows: about as many tasks as threads, so that each goes along rows for long
  std::array<int64_t, 2> tile{};
  int part_level = 1;  // the level whose range the partials share
  int partials = 1;
  int part0_buffer = -1;                          // plan buffer that part 0 writes its table to
  int table = -1;                                 // which of `buffers` that replaces
  std::vector<std::pair<int, size_t>> zero_fill;  // plan buffer, bytes
  // Of a kernel that does nothing but copy: the plan buffers. A carry of a loop may lie where it comes from.
  std::optional<std::pair<int, int>> copies;
};

struct ScanCode {
  std::unique_ptr<Program> body;
  int64_t length = 0;  // at most
  int condition = -1;  // plan buffer of a bool: the loop ends where it is false; -1: none
  bool reverse = false;
  std::string label;                       // "scan at model.cpp:41", for NEAP_PROGRESS
  bool counted = false;                    // whether `length` is how often it runs
  int arena = -1;                          // plan buffer
  std::vector<std::pair<int, int>> fixed;  // (body buffer, plan buffer): consts and carries
  struct Sliced {
    int body_buffer, plan_buffer;
    size_t bytes;  // of a slice
    bool stored = false;
  };
  std::vector<Sliced> sliced;                                // xs and ys
  std::vector<std::pair<int, int>> sliced_aliases, aliases;  // (body buffer, the sliced or other one that holds it)
  struct Copy {
    int from, to;
    size_t bytes;
    int in_place_of = -1;  // carried: the body buffer that is bound to `to`
    bool trades = false;   // ... which may change places with `from` from iteration to iteration, instead of a copy
  };
  std::vector<Copy> initial;  // plan buffers, where the carry does not start in place
  std::vector<Copy> carried;  // body buffer to plan buffer, after each iteration
  std::optional<TimeBlocks> blocks;
  bool at_once = false;     // the body is one kernel, of which each row is an iteration (scalar_loop.h)
  bool by_columns = false;  // ... or each column (column_loop.h)
};

/// A product or a convolution.
template <class Form>
struct ProductCode {
  Form form;
  int lhs = -1, rhs = -1, out = -1, scratch = -1;  // plan buffers; scratch may be none
  int initial = -1;                                // what to add to, where it is not in `out`
  size_t bytes = 0;                                // of out
};

struct FourierCode {
  planner::FourierForm form;
  std::vector<std::byte> tables;
  int in = -1, out = -1, scratch = -1;  // plan buffers
};

struct SortCode {
  planner::SortForm form;
  int in = -1, out = -1, scratch = -1;  // plan buffers; without elements there is no scratch
};

struct CumulativeCode {
  planner::CumulativeForm form;
  int in = -1, out = -1, scratch = -1;  // plan buffers; scratch may be none
};

struct FactorCode {
  factor::Form form;
  int triangle = -1, in = -1, out = -1, scratch = -1;  // plan buffers; triangle and scratch may be none
};

struct HostCode {
  std::optional<tracing::HostTask> task;
  std::vector<int> in;  // plan buffers
  int out = -1;
  planner::PlanStep::Phase phase = planner::PlanStep::Phase::whole;
  int number = 0;  // of both steps of what begins in one and ends in another; no other of the program has it
};

struct StepCode {
  planner::PlanStep::Kind kind = planner::PlanStep::Kind::map;
  std::vector<LaunchCode> launches;
  std::optional<RowRun> rows;  // of this step and those after it
  ProductCode<planner::DotForm> dot;
  ProductCode<planner::ConvolutionForm> convolution;
  FourierCode fourier;
  SortCode sort;
  CumulativeCode cumulative;
  FactorCode factor;
  ScanCode scan;
  HostCode host;
  std::vector<std::pair<int64_t, size_t>> born;  // (offset, bytes) in the arena that nobody touches before this step
  std::vector<std::pair<int64_t, size_t>> dead;  // ... that nobody reads after it
};

struct Program {
  std::vector<int> root;                          // of each buffer: itself, or the one whose bytes it shares
  std::vector<int64_t> shift;                     // of each buffer: where in them it begins
  std::vector<std::pair<int, int64_t>> in_arena;  // (buffer, offset)
  std::vector<StepCode> steps;
  size_t arena_bytes = 0;
  bool only_calls = false;  // every step is kernels that one thread runs whole
};

/// Holds a program whose kernels have no code yet, those of loop bodies included.
struct Lowered {
  std::unique_ptr<Program> program;
  std::vector<backends::Launch> launches;  // in the order of their kernels
  std::vector<const backends::Kernel*> kernels;
  std::vector<LaunchCode*> code;  // in the program
};
/// `num_threads` decides which loops stay on one (one_thread.h): they do until they are compiled anew.
Lowered lower_program(const planner::PlanData& plan, const VectorUnit& unit, int num_threads);

/// Lowers and compiles all kernels of the plan as one module, for this machine.
std::unique_ptr<Program> compile_program(const planner::PlanData& plan, const std::string& dump_name);
/// Compiles the same kernels one by one, until it is asked to stop.
void compile_program_ahead(const planner::PlanData& plan, const std::stop_token& stop);

/// Runs a step of a program, or all of the run that begins there, and returns how many. `memory` is where each plan
/// buffer lies, aliases included. Messages that are under way while other steps run are moved by `background`. What
/// lives in the arena is told by enter() and leave(); nullptr: to nobody.
size_t run_steps(const Program& program, size_t first, std::byte** memory, Background& background, std::byte* arena);
/// Runs a loop, in sweeps if they are of more than one iteration (never where the arena is poisoned).
void run_loop(const ScanCode& scan, std::byte* const* memory, const SweepSize& size, Background& background);

/// These check that steps keep to the live ranges of the buffers in their arena: empty() before the first step, enter()
/// and leave() around each, or around the run of steps that go through rows together (row_runs.h): of such a run, what
/// lives in any part of it. With NEAP_POISON=1 what dies is overwritten, so that reading it again gives nonsense, and
/// there are no such runs; under the address sanitizer what is not alive cannot be touched. They do nothing where the
/// arena is null.
void empty(std::byte* arena, size_t bytes);
void enter(const StepCode& step, std::byte* arena);
void leave(const StepCode& step, std::byte* arena);

}  // namespace neap::cpu
