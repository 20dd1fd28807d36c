#include "backends/cpu/emit.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "backends/cpu/emitter.h"
#include "core/check.h"

namespace neap::cpu {

namespace {
constexpr size_t kMostPointers = 8;  // that advance with a loop; each takes a register
}  // namespace

Emitter::Emitter(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit, llvm::Module& module)
    : a(kernel, unit),
      k(kernel),
      unit_(unit),
      W(a.lanes),
      module_(module),
      context_(module.getContext()),
      b(context_),
      stretches_(stretches_of(a, unit)),
      shared_(static_cast<size_t>(kernel.dag.size())) {
  llvm::Type* i64 = b.getInt64Ty();
  llvm::Type* pointer = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, i64, i64, i64, i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  prefer_wide_vectors(*function_, unit);
  const char* names[] = {"buffers", "params", "begin0", "end0", "begin1", "end1", "part"};
  for (unsigned i = 0; i < 7; ++i) function_->getArg(i)->setName(names[i]);
  params_ = function_->getArg(1);
  for (unsigned level = 0; level < 2; ++level) {
    for (unsigned end = 0; end < 2; ++end) bounds_[level][end] = function_->getArg(2 + 2 * level + end);
  }
  part_ = function_->getArg(6);

  entry_ = new_block("entry");
  b.SetInsertPoint(entry_);
  // Those that the code uses: a piece of a large concatenation reads one of very many.
  std::vector<bool> used(k.buffers.size(), false);
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (k.dag[id].op == Opcode::load) used[k.dag[id].imm] = true;
  }
  for (const auto& s : k.stores) used[s.buffer] = true;
  for (const auto& r : k.reductions) {
    used[r.buffer] = true;
    if (r.initial >= 0) used[r.initial] = true;
  }
  for (const auto& s : k.scatters) used[s.buffer] = true;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    Value* place = used[i] ? b.CreateConstGEP1_64(pointer, function_->getArg(0), i) : nullptr;
    buffers_.push_back(place ? b.CreateLoad(pointer, place, k.buffers[i].label) : nullptr);
  }
}

Emitter::Emitter(const Emitter& of, const backends::Kernel& kernel, const Within* within)
    : a(kernel, of.unit_, within),
      k(kernel),
      unit_(of.unit_),
      W(a.lanes),
      module_(of.module_),
      context_(of.context_),
      b(of.context_),
      function_(of.function_),
      buffers_(of.buffers_),
      params_(of.params_),
      part_(of.part_),
      entry_(of.entry_),
      start_(of.start_),
      row_block_(of.row_block_),
      return_(of.return_),
      shared_(static_cast<size_t>(kernel.dag.size())) {
  b.SetInsertPoint(of.b.GetInsertBlock());
}

llvm::BasicBlock* Emitter::new_block(const char* label) { return llvm::BasicBlock::Create(context_, label, function_); }

llvm::AllocaInst* Emitter::stack(llvm::Type* type, const char* label) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_, entry_->begin());
  return b.CreateAlloca(type, nullptr, label);
}

Value* Emitter::repeat(Value* begin, Value* limit, std::vector<Value*>& carried,
                       const std::function<Value*(Value* at, std::vector<Value*>& carried)>& body, const char* label) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = new_block(label);
  llvm::BasicBlock* after = new_block("after");
  b.CreateCondBr(b.CreateICmpSLT(begin, limit), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* at = b.CreatePHI(b.getInt64Ty(), 2);
  at->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  std::vector<Value*> inside;
  for (Value* v : carried) {
    phis.push_back(b.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
    inside.push_back(phis.back());
  }
  Value* next = body(at, inside);
  llvm::BasicBlock* last = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpSLT(next, limit), head, after);
  at->addIncoming(next, last);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(inside[i], last);

  b.SetInsertPoint(after);
  const auto join = [&](Value* from_before, Value* from_last) {
    llvm::PHINode* phi = b.CreatePHI(from_before->getType(), 2);
    phi->addIncoming(from_before, before);
    phi->addIncoming(from_last, last);
    return phi;
  };
  Value* stopped = join(begin, next);
  for (size_t i = 0; i < carried.size(); ++i) carried[i] = join(carried[i], inside[i]);
  return stopped;
}

Value* Emitter::loop(Value* begin, Value* end, int64_t step, std::vector<Value*>& carried,
                     const std::function<void(Value*, std::vector<Value*>&)>& body, const char* label,
                     bool to_the_end) {
  return repeat(
      begin, step == 1 || to_the_end ? end : b.CreateSub(end, number(step - 1)), carried,
      [&](Value* index, std::vector<Value*>& inside) {
        running_.push_back({llvm::cast<llvm::PHINode>(index), to_the_end ? 0 : kMostPointers, {}});
        body(index, inside);
        for (const auto& [pointer, type, coefficient] : running_.back().pointers) {
          Value* next = b.CreateConstGEP1_64(type, pointer, static_cast<uint64_t>(step * coefficient));
          pointer->addIncoming(next, b.GetInsertBlock());
        }
        running_.pop_back();
        return b.CreateAdd(index, number(step), "", false, true);
      },
      label);
}

Value* Emitter::advancing(Value* index, llvm::Type* type, Value* pointer, int64_t coefficient) {
  if (running_.empty() || running_.back().index != index) return nullptr;
  Running& loop = running_.back();
  if (loop.pointers.size() >= loop.most) return nullptr;
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(loop.index->getIncomingBlock(0)->getTerminator());
  Value* begin = b.CreateMul(loop.index->getIncomingValue(0), b.getInt64(static_cast<uint64_t>(coefficient)));
  begin = b.CreateGEP(type, pointer, begin);
  b.SetInsertPoint(loop.index->getParent(), loop.index->getParent()->getFirstNonPHIIt());
  llvm::PHINode* phi = b.CreatePHI(b.getPtrTy(), 2);
  phi->addIncoming(begin, loop.index->getIncomingBlock(0));
  loop.pointers.push_back({phi, type, coefficient});
  return phi;
}

void Emitter::branch(Value* condition, std::vector<Value*>& carried,
                     const std::function<void(std::vector<Value*>&)>& then, const char* label) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* yes = new_block(label);
  llvm::BasicBlock* after = new_block("after");
  b.CreateCondBr(condition, yes, after);
  b.SetInsertPoint(yes);
  std::vector<Value*> inside = carried;
  then(inside);
  llvm::BasicBlock* last = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(carried[i]->getType(), 2);
    phi->addIncoming(carried[i], before);
    phi->addIncoming(inside[i], last);
    carried[i] = phi;
  }
}

void Emitter::vector_loop(int level, std::vector<Value*>& carried, const LanesOf& body) {
  const bool stretched = !stretches_.list.empty();
  if (stretched && k.kind == backends::Kernel::Kind::map && stretches_.row == 0) return through_stretches(body);
  Value* rest = bounds_[level][0];
  Value* end = bounds_[level][1];
  if (stretched) {
    rest = blocks_through_rows(carried, body);
  } else if (a.length() >= W) {
    rest = whole_vectors(rest, end, carried, body);
  }
  // Of rows the last may be a part of one.
  const int64_t last = first_ ? k.extent[level] % a.length() : 0;
  const int whole = stretched ? a.tail_lanes : W;
  if (!k.any_range && !stretched && !first_) return known_tail(rest, end, a.length() % W, carried, body);
  if (k.any_range || a.length() % whole != 0 || last % whole != 0) tail_loop(rest, end, carried, body);
}

// A range ends at a multiple of all lanes or at the extent, so that as many elements are left or none.
void Emitter::known_tail(Value* begin, Value* end, int64_t left, std::vector<Value*>& carried, const LanesOf& body) {
  const int before = std::exchange(W, a.tail_lanes);
  if (left >= W) begin = whole_vectors(begin, end, carried, body);
  if (left % W > 0) {
    const auto last = [&](std::vector<Value*>& inside) { body(*this, begin, number(left % W), inside); };
    branch(b.CreateICmpSLT(begin, end), carried, last, "tail");
  }
  W = before;
}

Value* Emitter::whole_vectors(Value* begin, Value* end, std::vector<Value*>& carried, const LanesOf& body) {
  return loop(
      begin, end, W, carried, [&](Value* index, std::vector<Value*>& inside) { body(*this, index, nullptr, inside); },
      "lanes");
}

void Emitter::tail_loop(Value* begin, Value* end, std::vector<Value*>& carried, const LanesOf& body) {
  const int before = std::exchange(W, a.tail_lanes);
  loop(
      begin, end, W, carried,
      [&](Value* index, std::vector<Value*>& inside) {
        Value* rest = b.CreateSub(end, index);
        Value* lanes = b.getInt64(static_cast<uint64_t>(W));
        body(*this, index, b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest, lanes), inside);
      },
      "tail", true);
  W = before;
}

// Vectors across two cache lines take longer, and so would all of a stretch that begins at any place: five points of
// 1024 x 2048 0.94 ms for 0.77, one thread with AVX-512.
void Emitter::through_stretches(const LanesOf& body) {
  constexpr int kFewestAligned = 16;  // vectors of a stretch
  Value* at = bounds_[1][0];
  std::vector<Value*> none;
  const auto until = [&](int64_t place, const auto& write) {
    Value* end = least(bounds_[1][1], number(place));
    write(end);
    at = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, end);
  };
  const auto one_by_one = [&](Value* end) {
    W = 1;
    whole_vectors(at, end, none, body);
    W = a.lanes;
  };
  int64_t before = 0;
  for (const Stretch& stretch : stretches_.list) {
    if (stretch.begin > before) until(stretch.begin, one_by_one);
    until(stretch.end, [&](Value* end) {
      Emitter on(*this, stretch.kernel, &stretch.within);
      const auto seldom = [&](Value* first, Value* last) {
        on.seldom_ = true;
        on.tail_loop(first, last, none, body);
        on.seldom_ = false;
      };
      Value* from = at;
      if (k.extent[1] % a.tail_lanes == 0 && stretch.begin % a.tail_lanes != 0 &&
          stretch.end - stretch.begin >= int64_t{kFewestAligned} * a.tail_lanes) {
        from = on.least(on.up(at), end);
        seldom(at, from);
      }
      seldom(on.whole_vectors(from, end, none, body), end);
      b.SetInsertPoint(on.b.GetInsertBlock());
    });
    before = stretch.end;
  }
  if (before < k.extent[1]) until(k.extent[1], one_by_one);
}

// Vectors that do not lie in the stretch have the lanes of the tail: element i of a sum goes to accumulator i modulo
// these, by whichever code. The loop begins at a multiple of them, so that vectors do wherever they lie (up()).
Value* Emitter::blocks_through_rows(std::vector<Value*>& carried, const LanesOf& body) {
  W = a.tail_lanes;
  seldom_ = true;
  const Stretch& stretch = stretches_.list.front();
  const auto line_of = [&](Value* at) { return stretches_.row ? b.CreateUDiv(at, number(stretches_.row)) : number(0); };
  const auto first_of = [&](Value* line) { return b.CreateMul(line, number(stretches_.row)); };
  Value* end = bounds_[1][1];
  Value* stopped = repeat(
      bounds_[1][0], b.CreateSub(end, number(W - 1)), carried,
      [&](Value* at, std::vector<Value*>& inside) {
        // What comes before the next vector that lies in the stretch: of this row, or of the next.
        Value* row = first_of(line_of(at));
        const auto stop_of = [&](Value* first) { return least(b.CreateAdd(first, number(stretch.end)), end); };
        Value* here = b.CreateICmpSLE(b.CreateAdd(at, number(W)), stop_of(row));
        Value* begin = b.CreateAdd(row, number(stretch.begin));
        Value* next = up(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, begin));
        Value* later = stretches_.row ? up(b.CreateAdd(begin, number(stretches_.row))) : end;
        at = whole_vectors(at, least(b.CreateSelect(here, next, later), end), inside, body);

        Value* line = line_of(at);
        row = first_of(line);
        Value* stop = stop_of(row);
        Value* some = b.CreateAnd(b.CreateICmpSLE(b.CreateAdd(row, number(stretch.begin)), at),
                                  b.CreateICmpSLE(b.CreateAdd(at, number(W)), stop));
        inside.push_back(at);
        branch(
            some, inside,
            [&](std::vector<Value*>& values) {
              values.pop_back();
              Value *place = b.CreateSub(at, row), *const there = b.CreateSub(stop, row);
              const auto by = [&](int width) {
                Emitter on(*this, stretch.kernel, &stretch.within);
                on.row_block_ = b.GetInsertBlock();
                on.line_ = line;
                on.W = width;
                place = on.whole_vectors(place, there, values, body);
                b.SetInsertPoint(on.b.GetInsertBlock());
              };
              by(a.lanes);
              if (a.tail_lanes < a.lanes) by(a.tail_lanes);
              values.push_back(b.CreateAdd(row, place));
            },
            "inside");
        at = inside.back();
        inside.pop_back();
        return at;
      },
      "stretch");
  W = a.lanes;
  seldom_ = false;
  return stopped;
}

Body Emitter::body_at(Value* outer, Value* inner) {
  Body body(static_cast<size_t>(k.dag.size()));
  body.blocks[0] = start_;
  body.blocks[1] = row_block_;
  body.blocks[2] = b.GetInsertBlock();
  body.index[a.outer] = outer;
  body.index[a.inner] = inner;
  body.index[2] = line_;
  return body;
}

// A lane past the end repeats the last element.
void Emitter::start_tail(Body& body, Value* count) {
  body.count = count;
  Value* last = b.CreateTrunc(b.CreateSub(count, b.getInt64(1)), b.getInt32Ty());
  body.offsets = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lane_numbers(b.getInt32Ty()), splat(last));
  body.mask = b.CreateICmpULE(lane_numbers(b.getInt32Ty()), splat(last));
}

void Emitter::compute(Body& body, const std::vector<bool>* wanted) {
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (!a.needed(id) || (wanted && !(*wanted)[id])) continue;
    Value*& v = cache(body, a.depth(id)).values[id];
    if (!v) v = instruction(body, id);
  }
  at(body, 2);
}

void Emitter::start_map() {
  start_ = new_block("start");
  Value* some =
      b.CreateAnd(b.CreateICmpSLT(bounds_[0][0], bounds_[0][1]), b.CreateICmpSLT(bounds_[1][0], bounds_[1][1]));
  b.CreateCondBr(some, start_, return_);
  b.SetInsertPoint(start_);  // of hoisted loads, which must not run for an empty range
}

void Emitter::emit_carried() {
  start_map();
  std::vector<std::pair<int, int64_t>> written;  // buffers and their elements
  for (const auto& c : k.carried) {
    const std::pair place(c.written, c.element);
    if (std::ranges::find(written, place) == written.end()) written.push_back(place);
  }
  const auto number_of = [&](int out, int32_t index) {
    const scalar::X at{nullptr, index};
    const std::pair place(out, k.dag.is_constant(at) ? k.dag.constant_integer(at) : -1);
    return static_cast<size_t>(std::ranges::find(written, place) - written.begin());
  };
  const auto address = [&](const auto& place) {
    const auto& [out, element] = place;
    return b.CreateConstInBoundsGEP1_64(memory_element(k.buffers[out].type), buffers_[out],
                                        static_cast<uint64_t>(element));
  };
  std::vector<Value*> state;
  for (const auto& place : written) {
    const DType type = k.buffers[place.first].type;
    const llvm::Align align(size_of(type));
    state.push_back(from_memory(b.CreateAlignedLoad(memory_element(type), address(place), align), type));
  }
  loop(
      bounds_[0][0], bounds_[0][1], 1, state,
      [&](Value* row, std::vector<Value*>& inside) {
        row_block_ = b.GetInsertBlock();
        llvm::BasicBlock* const step = new_block("step");
        b.CreateBr(step);
        b.SetInsertPoint(step);
        Body body = body_at(row, b.getInt64(0));
        for (int32_t id = 0; id < k.dag.size(); ++id) {
          if (k.dag[id].op != Opcode::load) continue;
          for (const auto& c : k.carried) {
            if (static_cast<int>(k.dag[id].imm) != c.read) continue;
            const size_t number = number_of(c.written, k.dag[id].a);
            if (number < written.size()) body.own.values[id] = inside[number];
          }
        }
        compute(body);
        for (const auto& s : k.stores) {
          const size_t number = number_of(s.buffer, s.index);
          if (number == written.size()) {
            store(body, s);
          } else {
            inside[number] = value(body, s.value);
          }
        }
      },
      "row");
  for (size_t i = 0; i < written.size(); ++i) {
    const DType type = k.buffers[written[i].first].type;
    b.CreateAlignedStore(to_memory(state[i], type), address(written[i]), llvm::Align(size_of(type)));
  }
  b.CreateBr(return_);
}

// Lanes past the end begin with 0, not with the last one's: what is carried addresses nothing that is not clamped.
void Emitter::emit_columns() {
  NEAP_CHECK(stretches_.list.empty(), "{}: stretches of a loop", k.name);
  start_map();
  std::vector<Value*> none;
  vector_loop(0, none, [&](Emitter&, Value* column, Value* count, std::vector<Value*>&) {
    row_block_ = b.GetInsertBlock();
    Body body = body_at(column, nullptr);
    if (count) start_tail(body, count);
    std::vector<Value*> places, state;
    for (const auto& c : k.carried) {
      const DType type = k.buffers[c.written].type;
      places.push_back(b.CreateGEP(memory_element(type), buffers_[c.written], column));
      state.push_back(from_memory(load_contiguous(body, places.back(), type), type));
    }
    const auto number_of = [&](int written) {
      return std::ranges::find(k.carried, written, &backends::Kernel::Carried::written) - k.carried.begin();
    };
    const auto step = [&](Value* i, std::vector<Value*>& inside) {
      body.blocks[2] = b.GetInsertBlock();
      body.index[1] = i;
      for (int32_t id = 0; id < k.dag.size(); ++id) {
        if (k.dag[id].op != Opcode::load) continue;
        const auto c = std::ranges::find(k.carried, static_cast<int>(k.dag[id].imm), &backends::Kernel::Carried::read);
        if (c != k.carried.end()) body.own.values[id] = inside[c - k.carried.begin()];
      }
      compute(body);
      for (const auto& s : k.stores) {
        const auto number = number_of(s.buffer);
        if (number == std::ssize(k.carried)) {
          store(body, s);
        } else {
          inside[number] = lanes(body, s.value);
        }
      }
    };
    loop(bounds_[1][0], bounds_[1][1], 1, state, step, "step");
    for (size_t n = 0; n < state.size(); ++n) {
      const DType type = k.buffers[k.carried[n].written].type;
      store_contiguous(body, places[n], to_memory(state[n], type), type);
    }
  });
  b.CreateBr(return_);
}

void Emitter::emit_map() {
  if (!k.carried.empty()) return k.vector_level == 0 ? emit_columns() : emit_carried();
  start_map();
  std::vector<Value*> none;
  loop(
      bounds_[a.outer][0], bounds_[a.outer][1], 1, none,
      [&](Value* row, std::vector<Value*>&) {
        row_block_ = b.GetInsertBlock();
        const auto write = [&](Emitter& on, Value* index, Value* count, std::vector<Value*>&) {
          Body body = on.body_at(row, index);
          if (count) on.start_tail(body, count);
          on.compute(body);
          if (on.k.kind == backends::Kernel::Kind::scatter) {
            on.scatter_lanes(body);
          } else {
            on.store_all(body);
          }
        };
        if (scatters_blocks()) {
          scatter_blocks(row);
        } else {
          vector_loop(a.inner, none, write);
        }
      },
      "row");
  b.CreateBr(return_);
}

void Emitter::emit() {
  return_ = new_block("return");
  {
    const llvm::IRBuilder<>::InsertPointGuard guard(b);
    b.SetInsertPoint(return_);
    b.CreateRetVoid();
  }
  if (k.kind == backends::Kernel::Kind::reduce) {
    emit_reduce();
  } else {
    emit_map();
  }
}

void emit_kernel(const backends::Kernel& kernel, const std::string& name, const VectorUnit& unit,
                 llvm::Module& module) {
  Emitter(kernel, name, unit, module).emit();
  inline_calls(module);
#ifndef NDEBUG
  std::string message;
  llvm::raw_string_ostream stream(message);
  NEAP_CHECK(!llvm::verifyFunction(*module.getFunction(name), &stream), "{}: {}", kernel.name, message);
#endif
}

void prefer_wide_vectors(llvm::Function& function, const VectorUnit& unit) {
  if (unit.bits != 512) return;
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
}

}  // namespace neap::cpu
