// Ahead of time: a function compiled into an object file, for this processor or another, that needs neither Neap nor
// LLVM where it runs, allocates nothing, and whose memory is known to the byte. docs/ahead-of-time.md tells how to use
// it; the program `neap-aot` does the same with a graph that was dumped.
#pragma once

#include <neap/jit.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap {

/// SaveOptions says for which processor a function is saved, and what its header calls the arrays.
struct SaveOptions {
  std::string target = {};  // a triple of x86-64 or aarch64, such as "aarch64-linux-gnu"; empty: this machine's
  std::string cpu = {};  // LLVM's name of a processor, such as "cortex-a72"; empty: this one, or the oldest of `target`
  std::vector<std::string> arguments =
      {};                                 // names of the arguments' arrays, in order, in the header; empty: x0, x1, ...
  std::vector<std::string> results = {};  // names of the results' arrays; empty: y0, y1, ...
};

/// Saved says what save() wrote.
struct Saved {
  std::filesystem::path object, header;  // the two files
  size_t arena_bytes = 0;                // that a call needs beside arguments and results
  size_t peak_bytes = 0;       // arguments, captured arrays, results and the arena, each array's rounded up to 64
  bool needs_runtime = false;  // link libneap-runtime.a: a product, sort, factorization or special function is used
  Plan plan;                   // what the function does
};

namespace detail {

/// Reaches what a Jitted keeps to itself.
struct Saver {
  template <class F, class... A>
  static Saved save(const Jitted<F>& f, const std::filesystem::path& stem, const SaveOptions& options,
                    std::source_location loc, const A&... arguments) {
    return f.state_->save(f.flatten(arguments...), f.flat_function(arguments...), stem, options, loc);
  }
};

/// The path of files to write, and the line that asks for it.
struct SavePath {
  template <class P>
    requires std::is_constructible_v<std::filesystem::path, P>
  SavePath(P&& path, std::source_location where = std::source_location::current())  // NOLINT: it is what is passed
      : stem(std::forward<P>(path)), loc(where) {}
  std::filesystem::path stem;
  std::source_location loc;
};

}  // namespace detail

/// Compiles f for arguments (specs, arrays or trees of them) and writes `stem`.o and `stem`.h, both or neither:
/// neap::save(jit(f), "out/step", spec({4}, f32)) declares
///
///     void step(const float* x0, float* y0, void* arena);
///
/// for C, with the arena's size as STEP_ARENA_BYTES, and a wrapper of spans for C++. The function runs on the thread
/// that calls it and on no other, keeps no state, and gives the same bits as f does on such a processor. The last part
/// of `stem` is its name. The options of jit hold: budget, strategy, donated arguments (the function writes to them);
/// a naive plan is never taken. Arrays that f captured become part of the object file. Throws UserError where the name
/// is no identifier of C and C++, where the target or the processor is unknown, where f runs on a GPU or is planned for
/// limits, and where a file cannot be written.
template <class F, class... A>
Saved save(const detail::Jitted<F>& f, const detail::SavePath& stem, const SaveOptions& options,
           const A&... arguments) {
  return detail::Saver::save(f, stem.stem, options, stem.loc, arguments...);
}
template <class F, class... A>
Saved save(const detail::Jitted<F>& f, const detail::SavePath& stem, const A&... arguments) {
  return detail::Saver::save(f, stem.stem, {}, stem.loc, arguments...);
}

}  // namespace neap

#pragma GCC visibility pop
