// A plan says what will run, where every byte lies, and why. It is a plain value: it never allocates memory for arrays
// and never runs anything.
//
// Buffers are numbered; steps name them. A buffer is an argument, a captured array, an output, an intermediate or
// scratch. Intermediates and scratch (and outputs when `slab`) lie in one arena at `offset`. A step is one fused group:
// a small graph whose inputs are the buffers it reads and whose outputs are the buffers it writes, lowered to kernels
// by backends/lower.h, or an opaque kernel (dot, sort, factor), or a loop over a plan of its own (scan, which is
// also what a while_loop and a branch of a cond are).
//
// Loops. A scan step runs the plan of its body once for each iteration. That of a while_loop runs it while carry 0 is
// true, but not more often than Attr::length where there is one: so a branch of a cond runs (lower_cond in
// planner/rewrite/simplify.h).
//
// Its reads are (consts, carries, xs), writes are (carries, ys). Carry j is one buffer: the step's read and write
// of it are the same number, an earlier step puts its initial value there, and nothing else reads that value.
// scratch[0], if there, is the arena of the body.
//
// The body's plan (PlanData, never naive about memory): body.inputs[i] is bound, before each iteration, to the const,
// to the carry's buffer, or to slice t of xs (t = length - 1 - iteration when reversed). body.outputs:
//   carry j   either alias_of body.inputs[num_consts + j]: written in place; or a buffer at an offset of the arena:
//             after the last step of the iteration its bytes are copied to the carry's buffer
//   y k       offset -1, no alias: bound to slice t of the step's write, written where it belongs
// All outputs are distinct buffers and none is an input. Everything else lies in the arena. Slices are as long as the
// array's own bytes (not rounded), so a bound pointer is aligned to its element only.
#pragma once

#include <neap/dtype.h>
#include <neap/plan.h>
#include <neap/shape.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/strategy.h"
#include "trace/graph/graph.h"

namespace neap::planner {

enum class Storage : uint8_t { argument, captured, output, intermediate, scratch };
std::string_view name(Storage);

struct PlanBuffer {
  Aval aval;
  size_t bytes = 0;  // rounded up to 64; what the buffer adds to the live bytes when it is not an alias
  Storage storage = Storage::intermediate;
  int64_t offset = -1;       // in the arena; -1: a buffer of its own (arguments, captured arrays, outputs unless slab)
  int first = 0;             // first step that needs it
  int last = 0;              // last step that needs it (inclusive); outputs: the last step of the plan
  int alias_of = -1;         // the bytes are among those of this buffer (in place, donated, joined); never a chain
  int64_t alias_offset = 0;  // where in them
  tracing::ValueId value = tracing::no_value;  // in the graph that was planned; scratch has none
  std::string label;                           // for the report: the op that makes it
  std::source_location source;
  std::string origin;  // "file:line" in place of source, in a plan that was read (parse_plan)
};

/// Says how a scatter keeps partial results, which lie in scratch tables of the step (`partials` of them).
enum class ScatterForm : uint8_t {
  direct,   // one pass in row order straight into the output
  tables,   // `partials` private tables of table_dtype, each over a fixed range of rows, then a combining pass. Partial
            // 0 lies in the output where it fits and may (tables_of in planner/kernels/partials.h), else in scratch
  counts,   // the same with u32 counts, for an update that is one constant c: out = operand + c * count
  winners,  // a set by threads in no order: a table of u32 holds the last row, from 1, that updates each element
};

/// Counts what a step that a GPU leaves to the host takes beside the device's memory.
struct HostWork {
  size_t sent = 0, returned = 0;  // bytes copied to the host and back; 0 where it works on the arrays in place
  size_t held = 0;                // bytes held there meanwhile
};

struct PlanStep {
  enum class Kind : uint8_t {
    map,      // group of elementwise, layout, gather, iota, random nodes; every output is written element by element
    reduce,   // the same below, outputs are reductions (same operand shape and axes) of it
    scatter,  // one scatter node at the output, its operand, indices and updates fused
    dot,      // one canonical dot_general (see planner/kernels/dot.h); opaque
    convolution,  // one convolution (see planner/kernels/convolution.h); opaque
    fourier,      // one fft of pairs (see planner/kernels/fourier.h); opaque
    sort,         // one canonical sort or argsort (see planner/kernels/sort.h); opaque
    cumulative,   // one cumsum, cumprod, cummax or cummin (see planner/kernels/cumulative.h); opaque
    factor,       // one dense factorization (see core/factor/factor.h); opaque
    scan,         // body run `length` times, or while carry 0 is true
    host,         // one host_call, of a function of the program that runs the plan, or one collective; opaque
  };
  // A collective whose messages are under way while other steps run is two steps of one node. Neither its operands nor
  // its result are touched from `begin` to `end`, where it is done.
  enum class Phase : uint8_t { whole, begin, end };
  Kind kind = Kind::map;
  Phase phase = Phase::whole;
  tracing::Graph group;      // inputs: reads; outputs: writes. For opaque kernels: one node. For scan: one (its avals)
  std::vector<int> reads;    // buffer of each group input
  std::vector<int> writes;   // buffer of each group output
  std::vector<int> scratch;  // reduce: one of accumulators [partials, kept] for each output when partials > 1;
                             // scatter: one of tables [partials or partials - 1, elements]; dot, convolution:
                             // [packing]; fourier: planner/kernels/fourier_form.h; sort: planner/kernels/sort.h;
                             // factor: core/factor/factor.h; scan: [arena]
  int partials = 1;          // partial results; by shape and budget, never by threads
  ScatterForm form = ScatterForm::direct;
  DType table_dtype = DType::f32;
  bool in_order = false;          // scatter: a part's rows one after the other, for their bits
  bool unique_indices = false;    // scatter: no element is updated twice (planner/kernels/unique_indices.h)
  bool covering = false;          // scatter: and every element is updated
  bool operand_in_place = false;  // scatter: writes[0] already holds the operand
  std::optional<HostWork> host;   // factor and host on a GPU
  std::shared_ptr<const struct PlanData> body;  // scan: inputs (consts, carry, x), outputs (carry, y)

  // Report.
  std::string op;  // "sum(multiply(gather))", "normal", ...
  Strategy strategy = Strategy::fused;
  std::string reason;
  std::source_location source;
  std::string origin;      // as a buffer's
  size_t bytes_added = 0;  // bytes that come to life with this step
  size_t bytes_live = 0;   // bytes held during it, arguments and the arena's extent included
};

/// Tells whether a step of the kind is one node that runs by itself: nothing can be fused into it.
inline bool is_opaque(PlanStep::Kind kind) {
  using Kind = PlanStep::Kind;
  return kind == Kind::dot || kind == Kind::convolution || kind == Kind::fourier || kind == Kind::sort ||
         kind == Kind::cumulative || kind == Kind::factor || kind == Kind::scan || kind == Kind::host;
}

struct Alternative {
  std::string name;
  size_t peak_bytes = 0;
  double cost = 0;  // predicted seconds
};

struct Decision {
  std::string what;  // "random_bits at model.cpp:41"
  std::string chosen;
  std::string reason;
  std::vector<Alternative> alternatives;  // the chosen one included
};

/// Holds what a pass left, as text for people.
struct PassRecord {
  std::string name, text;
};

struct PlanData {
  std::string name;
  bool naive = false;  // every buffer is its own allocation, made at its first step and dropped after its last
  bool slab = false;   // outputs lie in the arena, which is cut up (Buffer carve) after the last step
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<int> inputs;         // buffer of each graph input: arguments, then captured
  std::vector<int> outputs;        // buffer of each graph output; may be an argument's (returned as it is), may repeat
  std::vector<Aval> output_avals;  // an output's buffer may be shared by a reshape
  std::vector<bool> donated;       // of each input
  int num_captured = 0;
  std::vector<Decision> decisions;
  size_t arena_bytes = 0;
  std::vector<size_t> arena_blocks;            // its allocations, one after the other; empty: it is one
  size_t peak_bytes = 0;                       // arguments + captured + outputs + arena (planned), exact
  size_t lower_bound_bytes = 0;                // largest sum of live bytes in this order
  size_t naive_peak_bytes = 0;                 // of the naive pipeline, 0 when not computed
  std::shared_ptr<const PlanData> naive_plan;  // for the report; null when not computed
  double predicted_seconds = 0;
  std::optional<size_t> budget;
  bool budget_of_machine = false;           // nobody set it: it is what the machine had
  std::vector<Tradeoff> tradeoff;           // what other budgets would get, as far as the search went
  Strategies strategies;                    // names in use, sorted: "chunked", "fused", ...
  std::shared_ptr<const PlanData> ordered;  // with collectives: the plan before values shared bytes, or null
  std::vector<PassRecord> passes;           // in their order, the graph that they began with first; with keep_passes

  /// These return the buffer that owns the bytes of `b`, which may be `b`, and the byte at which they begin in it.
  int root(int b) const { return buffers[b].alias_of < 0 ? b : buffers[b].alias_of; }
  int64_t shift(int b) const { return buffers[b].alias_of < 0 ? 0 : buffers[b].alias_offset; }
};

/// Describes the kind of device that a plan is made for: what its kernels need beside their operands.
struct Target {
  bool gpu = false;               // many threads share one table of a scatter; products pack nothing
  int reduce_partials = 64;       // the most partial results of a reduction to few elements
  int count_tables = 1;           // gpu: the tables of a scatter that counts rows
  bool wide_atomics = true;       // gpu: 64-bit atomics, so that float sums have tables of f64
  bool deterministic = false;     // gpu: float sums in an order that does not depend on scheduling
  bool half_products = false;     // gpu: products of f16 operands with sums in f32, rounded once, where they are large
  bool bf16_products = false;     // gpu: the same of bf16
  bool host_memory = true;        // gpu: the host works on arrays where they lie
  bool carves = true;             // memory can be cut up and given back in part (outputs may lie in the arena)
  size_t largest_allocation = 0;  // bytes: a larger arena is several allocations. 0: no limit
  size_t largest_buffer = 0;      // bytes of one array or scratch. 0: no limit
  size_t alignment = 64;          // of what lies in the arena; a power of two
  std::string device = "the device";  // in messages
};

/// Says which messages of collectives are under way while other steps run (planner/search/overlap.h).
enum class Overlap : uint8_t { none, where_faster, all };

/// Says what a plan may assume and must keep to.
struct PlanOptions {
  std::string name;
  bool naive = false;
  std::optional<size_t> memory_budget;
  std::optional<size_t> machine_memory;  // the budget of a plan that would hold more than this
  std::vector<bool> donated;             // of each input; empty: none
  std::optional<Strategy> strategy;      // pinned: planner/search/pins.h
  std::optional<int64_t> chunks;         // pinned K
  Target target = {};
  Overlap overlap = Overlap::where_faster;
  bool naive_too = true;                         // a naive plan, whose buffers lie apart, may be the one that is chosen
  bool part_steps = false;                       // of fuse() (planner/fuse/fuse.h); the planner's own choice
  std::shared_ptr<class SharedPlacing> placing;  // of plans tried in one search (planner/place/place.h); or null
  std::shared_ptr<class PlanMemo> memo;          // of those too (planner/pipeline/memo.h); or null
  bool keep_passes = false;                      // fill PlanData::passes
  // Is called with each plan that is the answer unless a better one is found, while that is sought; or null.
  std::function<void(const PlanData&)> likely;
  bool want_alternatives = true;  // fill Decision::alternatives and naive_peak_bytes (plans again; off inside)
};

/// Returns the most bytes that a step, or one of a loop's body, holds on the host (HostWork::held).
size_t host_bytes(const PlanData& plan);

}  // namespace neap::planner
