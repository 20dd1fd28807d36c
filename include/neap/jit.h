// jit: traces a function once per signature, plans its memory, compiles it, and runs it.
//
// The signature is the tree, shapes and dtypes of the arguments, and the static values in them (numbers, strings,
// enums). Arrays that the function closes over are captured when it is traced, as they are then; they are counted in
// the plan and never copied. Under another transform or another jit the function is simply traced into the graph
// outside.
#pragma once

#include <neap/device.h>
#include <neap/memory.h>
#include <neap/plan.h>
#include <neap/tree.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// Pipeline is the planner's (planned), or each operation by itself in program order, as a framework without a planner
/// runs it (naive).
enum class Pipeline { planned, naive };

/// JitOptions are jit's second argument: jit(f, {.memory_budget = 512_MiB}).
struct JitOptions {
  Device device = default_device();          // where the function runs
  std::optional<size_t> memory_budget = {};  // bytes; planning throws BudgetError when it cannot be met
  Pipeline pipeline = Pipeline::planned;     // planned, or naive to compare with
  bool deterministic = false;    // GPUs: sums of scattered floats in a fixed order, slower; a CPU always does so
  std::vector<int> donate = {};  // arguments whose memory the call may take; they cannot be used afterwards
  std::string name = {};         // in reports
  std::optional<std::string> strategy =
      {};                              // pins a choice (docs/transforms/jit.md); OptionError where it cannot be made
  std::optional<int64_t> chunks = {};  // of a pinned strategy that cuts into slices: how many
  /// Makes plan() and tradeoff() plan for these limits in place of those of `device`, which need not be present; a
  /// call throws UserError.
  std::optional<Limits> limits = {};
};

struct SaveOptions;  // <neap/aot.h>
struct Saved;

namespace detail {

struct Saver;

/// FlatCall is a call with its trees taken apart.
struct FlatCall {
  std::vector<Array> leaves;  // of all arguments, in order
  std::vector<int> argument;  // which argument each leaf belongs to
  int arguments = 0;          // how many there are
  std::string statics;        // the arguments' types, bytes of static values and container sizes
};

template <class T>
constexpr void flatten_argument(const T& argument, int number, FlatCall& call) {
  visit_tree(
      argument,
      [&](const Array& a) {
        call.leaves.push_back(a);
        call.argument.push_back(number);
      },
      [&](const void* bytes, size_t n) { call.statics.append(static_cast<const char*>(bytes), n); });
}

/// A Prototype is a result, a tree whose arrays are to be replaced. Its type goes with the call's statics.
using Prototype = std::shared_ptr<const void>;
/// A FlatFunction returns the result's leaves for traced leaves, and sets `prototype`.
using FlatFunction = std::function<std::vector<Array>(const std::vector<Array>& leaves, Prototype& prototype)>;

struct CompiledCall;  // one entry of the signature cache

class JitState {
 public:
  explicit JitState(JitOptions options);
  ~JitState();
  /// Runs the function, and compiles it first when the signature is new. Sets `prototype` to that of the trace, which
  /// lives as long as this.
  std::vector<Array> call(FlatCall& call, const FlatFunction& f, const void*& prototype, std::source_location loc);
  Plan plan(const FlatCall& call, const FlatFunction& f, std::source_location loc);
  std::vector<Tradeoff> tradeoff(const FlatCall& call, const FlatFunction& f, std::source_location loc);
  Plan last_plan(std::source_location loc) const;
  /// Compiles for this signature without running.
  void compile(const FlatCall& call, const FlatFunction& f, std::source_location loc);
  /// Writes an object file of it and a header.
  Saved save(const FlatCall& call, const FlatFunction& f, const std::filesystem::path& stem, const SaveOptions& options,
             std::source_location loc);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns whether a function is being traced. Throws UserError where the stack is nearly used up, as by a function
/// that calls itself.
bool tracing_now(std::source_location loc);

/// Jitted is the compiled function that jit returns. Copies share the cache. Calls from several threads are safe.
template <class F>
class Jitted {
 public:
  Jitted(F f, JitOptions options, std::source_location loc)
      : f_(std::move(f)), state_(std::make_shared<JitState>(std::move(options))), loc_(loc) {
    check_function(f_, loc_);
  }

  /// Runs on arrays. On the CPU the result is there when it returns.
  template <class... A>
  auto operator()(A&&... arguments) const {
    using Call = CallOf<F, std::decay_t<A>...>;
    using R = typename Call::Result;
    if constexpr (!Call::ok) {
      return no_call<R, F, std::decay_t<A>...>();
    } else {
      if (tracing_now(loc_)) return static_cast<R>(std::invoke(f_, arguments...));
      FlatCall call = flatten(arguments...);
      const void* prototype = nullptr;
      const auto outputs = state_->call(call, flat_function(arguments...), prototype, loc_);
      return tree_unflatten(*static_cast<const R*>(prototype), std::span<const Array>(outputs));
    }
  }

  /// Plans for arguments (specs, arrays or trees of them) without allocating or running anything.
  template <class... A>
  Plan plan(const A&... arguments) const {
    return state_->plan(flatten(arguments...), flat_function(arguments...), loc_);
  }
  /// Returns what budgets cost: the usual plan, then ever lower peaks, down to the lowest. A budget gets the first that
  /// fits. It plans as often as a budget that is far too small; the options' own budget and strategy are ignored.
  template <class... A>
  std::vector<Tradeoff> tradeoff(const A&... arguments) const {
    return state_->tradeoff(flatten(arguments...), flat_function(arguments...), loc_);
  }
  /// Plans and compiles without running.
  template <class... A>
  void compile(const A&... arguments) const {
    state_->compile(flatten(arguments...), flat_function(arguments...), loc_);
  }
  /// Returns the plan of the latest call.
  Plan last_plan(std::source_location loc = std::source_location::current()) const { return state_->last_plan(loc); }

 private:
  friend Saver;

  template <class... A>
  static auto flatten(const A&... arguments) {
    // F may be generic: calls with the same bytes in arguments of other types are other signatures.
    static char types = 0;  // not const: compilers may merge constants
    const void* const id = &types;
    FlatCall call;
    call.statics.assign(reinterpret_cast<const char*>(&id), sizeof id);
    int number = 0;
    (flatten_argument(arguments, number++, call), ...);
    call.arguments = number;
    return call;
  }

  template <class... A>
  auto flat_function(const A&... arguments) const {
    using R = typename CallOf<F, A...>::Result;
    if constexpr (!CallOf<F, A...>::ok) {
      return no_call<FlatFunction, F, A...>();
    } else {
      return [this, &arguments...](const std::vector<Array>& leaves, Prototype& prototype) {
        size_t next = 0;
        const auto rebuild = [&]<class T>(const T& argument) {
          const size_t n = tree_leaves(argument).size();
          T tree = tree_unflatten(argument, std::span<const Array>(leaves).subspan(next, n));
          next += n;
          return tree;
        };
        std::tuple<A...> trees{rebuild(arguments)...};  // braces: left to right
        R result = std::apply([&](const A&... t) -> R { return std::invoke(f_, t...); }, trees);
        std::vector<Array> outputs = tree_leaves(result);
        // The prototype keeps the structure and static values, not the traced arrays.
        prototype = std::make_shared<const R>(
            tree_unflatten(result, std::span<const Array>(std::vector<Array>(outputs.size()))));
        return outputs;
      };
    }
  }

  F f_;
  std::shared_ptr<JitState> state_;
  std::source_location loc_;  // of the call of jit
};

}  // namespace detail

/// Compiles f. `neap::jit(f)(x)` computes what `f(x)` does.
template <class F>
detail::Jitted<std::decay_t<F>> jit(F&& f, JitOptions options = {},
                                    std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), std::move(options), loc};
}

/// While one lives, the reference interpreter evaluates operations on this thread: plain loops in double precision, one
/// rounding for each op. The tests compare with it.
class eager_reference {
 public:
  eager_reference();
  ~eager_reference();
  eager_reference(const eager_reference&) = delete;
  eager_reference& operator=(const eager_reference&) = delete;
};

/// Sets the number of worker threads of the CPU backend, at first NEAP_NUM_THREADS; results never depend on it.
void set_num_threads(int threads);
/// Returns that number.
int num_threads();

}  // namespace neap

#pragma GCC visibility pop
