// An Emitter holds the state while one kernel is written.
//
// The code is two nested loops. One of them, the vector loop, steps by W lanes and ends with a tail: one more iteration
// for the last 1 to W - 1 elements, in which a lane past the end repeats the last element. So every lane always
// computes an address that some element has: nothing reads outside a buffer, and only what is written or accumulated
// needs a mask. (What no address is made of may be 0 there, which masked loads give.) A Body is the code of one variant
// (full or tail) of the vector loop.
//
// Each instruction is written at its depth: before the loops, in the outer loop, or in the inner one; hoisting is this
// placement, no pass does it. Uniform instructions are scalars and are splat where a lane-wise one uses them. Integers
// that are affine in the vector index are computed as a scalar base plus constant lane offsets, and addresses as a
// pointer that advances with the inner loop, or, where those are many, a hoisted base plus the inner index.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/analysis.h"
#include "backends/cpu/stretches.h"

namespace neap::cpu {

using llvm::Value;
using scalar::Inst;
using scalar::Opcode;

using SumKey = std::pair<std::vector<std::pair<int32_t, int64_t>>, int64_t>;

/// Holds values by instruction, and what is derived from them.
struct Cache {
  std::vector<Value*> values;
  std::map<SumKey, Value*> sums;
  std::map<std::pair<int, SumKey>, Value*> pointers;
  std::map<std::pair<int32_t, int>, Value*> splats, grouped;  // by instruction and lanes
  explicit Cache(size_t n) : values(n) {}
};

struct Body {
  llvm::BasicBlock* blocks[3] = {};  // of each depth; those of depth 0 and 1 end in a terminator, code goes before it
  Value* index[3] = {};              // i64: the loop indices, of lane 0; of a stretch: the row that it is in
  Value* count = nullptr;            // tail: lanes that count, i64, from 1; else null
  Value* offsets = nullptr;          // tail: i32, min(lane, count - 1)
  Value* mask = nullptr;             // tail: i1, whether the lane counts
  Cache own;                         // of depths from the vector loop inwards
  explicit Body(size_t n) : own(n) {}
};

class Emitter {
 public:
  Emitter(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit, llvm::Module& module);
  void emit();

 private:
  /// Writes another kernel, such as a stretch of the inner loop, into the function of `of`, from where that stands on.
  Emitter(const Emitter& of, const backends::Kernel& kernel, const Within* within);
  // emit.cpp: loops.
  void emit_map();
  /// Writes a map whose rows carry values to the next (Kernel::carried), which stay in registers.
  void emit_carried();
  /// Writes one whose rows are columns that go through a loop (column_loop.h).
  void emit_columns();
  /// Begins the code of a map, which runs nothing where a range is empty.
  void start_map();
  /// Writes for (at = begin; at < limit; at = body(at)). The builder then stands after the loop. `carried` are values
  /// that the body replaces. Returns where it stopped.
  Value* repeat(Value* begin, Value* limit, std::vector<Value*>& carried,
                const std::function<Value*(Value* at, std::vector<Value*>& carried)>& body, const char* label);
  /// Writes for (i = begin; i + step <= end; i += step) body(i), or, `to_the_end`, while i < end, as repeat()
  /// does. Returns the index after the loop.
  Value* loop(Value* begin, Value* end, int64_t step, std::vector<Value*>& carried,
              const std::function<void(Value* index, std::vector<Value*>& carried)>& body, const char* label,
              bool to_the_end = false);
  /// Returns pointer + coefficient * index, elements, as a pointer that advances with the loop of the index: processors
  /// fetch ahead for addresses of one register, but not all do for those of two. Null where it is not the innermost.
  Value* advancing(Value* index, llvm::Type* element, Value* pointer, int64_t coefficient);
  /// Writes an iteration of the vector loop by `on`: with all lanes, or with `count` of those of the tail.
  using LanesOf = std::function<void(Emitter& on, Value* index, Value* count, std::vector<Value*>& carried)>;
  /// Writes the vector loop.
  void vector_loop(int level, std::vector<Value*>& carried, const LanesOf& body);
  /// Writes its whole vectors between these ends. Returns the index after the last.
  Value* whole_vectors(Value* begin, Value* end, std::vector<Value*>& carried, const LanesOf& body);
  /// Writes the vector loop of a map over one row: each stretch by its own code, what lies between element by element.
  void through_stretches(const LanesOf& body);
  /// Writes the whole vectors of the vector loop, those in the stretch by its code, in the same order. Returns the
  /// index after the last.
  Value* blocks_through_rows(std::vector<Value*>& carried, const LanesOf& body);
  /// Writes if (condition) then(), and phis of `carried` after it.
  void branch(Value* condition, std::vector<Value*>& carried, const std::function<void(std::vector<Value*>&)>& then,
              const char* label);
  /// Writes the loop over what is left for the tail's lanes, from `begin` on, as vector_loop does.
  void tail_loop(Value* begin, Value* end, std::vector<Value*>& carried, const LanesOf& body);
  /// Writes it where so many elements are left at most, in the last range.
  void known_tail(Value* begin, Value* end, int64_t left, std::vector<Value*>& carried, const LanesOf& body);
  /// Returns a body at these iterations of the outer and inner loop, whose code goes where the builder stands.
  Body body_at(Value* outer, Value* inner);
  void start_tail(Body& body, Value* count);
  /// Computes every needed instruction that the body's cache lacks, or those that are wanted; the builder then stands
  /// in the inner loop.
  void compute(Body& body, const std::vector<bool>* wanted = nullptr);
  llvm::BasicBlock* new_block(const char* label);
  Value* number(int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); }
  Value* least(Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  /// Returns the first multiple of the tail's lanes from x on.
  Value* up(Value* x) { return b.CreateAnd(b.CreateAdd(x, number(a.tail_lanes - 1)), number(-a.tail_lanes)); }

  // emit_reduce.cpp
  void emit_reduce();
  /// Reduces columns, those with lanes.
  void reduce_kept();
  /// Reduces the columns of each row by its stretch's code.
  void reduce_kept_rows();
  /// Tells whether several rows are reduced at once.
  bool takes_rows() const;
  void reduce_rows(Value* first);
  bool has_short_rows() const;
  int lanes_of_rows() const;
  /// Reduces columns some rows at a time (Analysis::takes_columns).
  void reduce_columns();
  /// Adds what some rows have in the columns of the body's lanes.
  void add_rows(Body& body, Value* begin, Value* end, std::vector<Value*>& totals);
  /// Returns an instruction of which a block of the row is computed before any of its sums, or -1 (add_blocks).
  int32_t kept_in_blocks() const;
  /// Adds the elements of a row in blocks: what `kept` says of one to the stack, then its sums.
  void add_blocks(Value* row, int32_t kept, std::vector<Value*>& totals, const LanesOf& tail);
  /// Tells of each instruction whether one of `results` is made of it, by a way that does not go through `without`.
  std::vector<bool> made_of(const std::vector<int32_t>& results, int32_t without) const;
  std::vector<Value*> identities(int lanes);
  /// Puts what the rows begin with in place of identities.
  void begin_with(std::vector<Value*>& totals, Value* row, const Body& body);
  std::vector<Value*> accumulate(Body& body, std::vector<Value*> totals);
  /// Combines accumulators by halves, down to one.
  std::vector<Value*> horizontal(std::vector<Value*> all);
  Value* combine(backends::Combine how, DType type, Value* x, Value* y);
  Value* better(const backends::Reduction& r, Value* value, Value* best);
  Value* first_best(const backends::Reduction& r, Value* values, Value* indices);
  void finish_reduce(const std::vector<Value*>& totals, Value* row, Body& body);
  /// Returns where the result of a row of the loop lies, or of a column of the row that the loop is in.
  Value* result_of(Value* row) { return first_ ? b.CreateAdd(first_, row) : row; }

  // emit_scatter.cpp
  /// Indices and values of updates that wait for their turn, on the stack.
  struct Updates {
    const backends::Scatter& scatter;
    int64_t count;
    Value* table;  // of this part
    llvm::AllocaInst *indices, *values, *valids;
  };
  /// Computes the lanes of a body and applies them.
  void scatter_lanes(Body& body);
  /// Writes the whole inner loop for one iteration of the outer one, in blocks of many lanes.
  bool scatters_blocks() const;
  void scatter_blocks(Value* row);
  /// Places in a large table that are updated, and those that values are gathered from beside it (of whatever size):
  /// a block asks for them before it needs them.
  struct FarPlace {
    Value* base;
    DType type;
    int32_t index;
    bool written;
  };
  std::vector<FarPlace> far_places(Body& body);
  void fetch(Body& body, const std::vector<FarPlace>& places);
  Updates room_for(Body& body, const backends::Scatter& s, int64_t count);
  /// Stores the updates of a body's lanes from the first on. Returns whether all are valid, null where that is known.
  Value* keep(Body& body, const Updates& updates, Value* first);
  /// Applies all, or so many, of them.
  void apply(const Updates& updates, Value* all_valid, Value* count);
  bool is_row(const backends::Scatter& s) const;
  void scatter_at_once(Body& body, const backends::Scatter& s);
  Value* table_of(Body& body, const backends::Scatter& s);
  void scatter_one(const backends::Scatter& s, Value* table, Value* index, Value* value, Value* mask = nullptr);

  // emit_ops.cpp
  Value* instruction(Body& body, int32_t id);
  Value* uniform_constant(const Inst& inst);
  Value* small_quotient(const Inst& inst, Value* x);
  Value* arithmetic(const Inst& inst, Value* x, Value* y, Value* z, DType from);
  Value* convert(Value* v, DType from, DType to);
  Value* float_to_int(Value* v, DType from, DType to);
  Value* to_half(Value* v, DType from, DType to);
  Value* compare(Opcode op, DType type, Value* x, Value* y);
  Value* call(const Inst& inst, Value* x, Value* y, Value* where);
  Value* call_of_lanes(scalar::Function function, Value* x, Value* y);  // one call for each
  llvm::Function* call_where(scalar::Function function, int lanes);
  Value* fmod(Value* x, Value* y);
  Value* intrinsic(llvm::Intrinsic::ID id, std::initializer_list<Value*> operands);

  // emit_memory.cpp
  /// Returns the value of an operand as the lanes of `body` want it: a scalar when uniform, else a vector.
  Value* value(Body& body, int32_t id);
  /// Returns the same, splat when uniform.
  Value* lanes(Body& body, int32_t id);
  /// Returns the same with one lane for each `shared` of them.
  Value* grouped(Body& body, int32_t id, int shared);
  /// Returns Analysis::shared where as few lanes still make a vector, else 1.
  int shared(int32_t id) const { return a.varying(id) && W / a.shared(id) >= 2 ? a.shared(id) : 1; }
  Value* affine(Body& body, int32_t id);
  /// Computes the sum of the terms for lane 0, as i64.
  Value* sum(Body& body, const Linear& linear);
  Value* address(Body& body, int buffer, const Linear& linear);
  Value* load(Body& body, int32_t id);
  Value* load_strided(Body& body, const StridedGroup& group, int32_t id);
  /// Returns the value of an integer for lane 0, as i64, of which no part wraps.
  Value* first_lane(Body& body, int32_t id);
  /// Loads what lanes find by a pattern, and gives each its own; nullptr where they may not.
  Value* load_pattern(Body& body, int32_t id, llvm::Type* type);
  /// Holds consecutive registers' worth of memory: of each its first element.
  struct Registers {
    std::vector<Value*> values;
    std::vector<int64_t> starts;
    int width = 0;
  };
  /// Returns registers of which lane l is element element_of(l) of what they hold.
  Value* picked(const Registers& registers, const std::function<int64_t(int lane)>& element_of);
  /// Loads what lanes find within one register of memory, and gives each its own; nullptr where they may not.
  Value* load_near(Body& body, int32_t id, llvm::Type* type, Value* index);
  Value* gather(llvm::Type* element, Value* pointer, Value* offsets, bool near = false);
  void prefetch(Value* pointer, const Linear& linear, int64_t element_bytes);
  void store(Body& body, const backends::Store& s);
  void store_all(Body& body);
  size_t interleaved(std::span<const backends::Store> stores) const;
  void store_interleaved(Body& body, std::span<const backends::Store> stores);
  /// Tells whether the machine reads and writes chosen lanes of elements of this type at once.
  bool has_masks(DType type) const { return unit_.bits == 512 || (unit_.avx2 && size_of(type) >= 4); }
  /// Loads the lanes that count; those past the end are anything.
  Value* load_contiguous(Body& body, Value* pointer, DType type);
  /// Stores the lanes that count (of the memory type) contiguously.
  void store_contiguous(Body& body, Value* pointer, Value* lanes, DType type);
  Value* to_memory(Value* v, DType type);
  Value* from_memory(Value* v, DType type);
  Value* lane_numbers(llvm::Type* element);

  // Types.
  llvm::Type* element(DType type);         // in registers: bool is i1, halves are i16
  llvm::Type* memory_element(DType type);  // bool is i8
  llvm::Type* with_lanes(llvm::Type* element, int lanes);
  llvm::Type* like(llvm::Type* element, Value* shape);  // element, with the lanes of `shape`
  static int lanes_of(Value* v);
  Value* splat(Value* scalar);
  Value* constant_like(llvm::Type* element, double v, Value* shape);
  llvm::AllocaInst* stack(llvm::Type* type, const char* label);

  Cache& cache(Body& body, int depth) { return depth < a.vector_depth ? shared_ : body.own; }
  /// Puts the builder where code of this depth goes.
  void at(Body& body, int depth);

  Analysis a;
  const backends::Kernel& k;
  const VectorUnit& unit_;
  int W;  // lanes of the code being written
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b;
  llvm::Function* function_;
  std::vector<Value*> buffers_;
  Value* params_ = nullptr;
  Value* bounds_[2][2] = {};  // [level][begin, end]
  Value* part_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;      // allocas
  llvm::BasicBlock* start_ = nullptr;      // depth 0: what comes before the loops, where they run at all
  llvm::BasicBlock* row_block_ = nullptr;  // depth 1: the first block of the outer loop's body
  llvm::BasicBlock* return_ = nullptr;
  Value* line_ = nullptr;   // of a stretch: the row that it is in
  Value* first_ = nullptr;  // of columns of rows: the first of the row's
  struct Pointer {
    llvm::PHINode* at;
    llvm::Type* element;
    int64_t coefficient;
  };
  struct Running {
    llvm::PHINode* index;
    size_t most;
    std::vector<Pointer> pointers;
  };
  std::vector<Running> running_;  // loops that are being written, the innermost last
  bool seldom_ = false;           // the code being written runs for few elements: short is better than fast
  Stretches stretches_;
  Cache shared_;
};

/// Makes functions of the module that are to be part of who calls them just that.
void inline_calls(llvm::Module& module);

}  // namespace neap::cpu
