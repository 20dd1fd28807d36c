// What the programs on ranks share: one call that is timed and whose peak is measured.
#pragma once

#include <neap/mpi.h>
#include <neap/neap.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <string_view>
#include <utility>

/// Returns argument i of the program, or what it is where there is none.
inline int64_t number(int argc, char** argv, int i, int64_t otherwise) {
  int64_t value = otherwise;
  if (argc > i) std::from_chars(argv[i], argv[i] + std::string_view(argv[i]).size(), value);
  return value;
}

/// Returns the ranks of `--plan RANKS ...`: the program then shows the plan of one of so many, on this process alone. The other
/// arguments move up.
inline int64_t planned_ranks(int& argc, char**& argv) {
  if (argc < 3 || std::string_view(argv[1]) != "--plan") return 0;
  const int64_t ranks = number(argc, argv, 2, 1);
  argc -= 2, argv += 2;
  return ranks;
}
inline neap::Mesh mesh_of(int64_t planned) {
  return planned > 0 ? neap::Mesh::planned({{"x", planned}}) : neap::mpi::mesh({{"x", -1}});
}

/// Returns the largest of what all ranks have.
inline double largest_of_ranks(double value) {
  const auto largest = neap::shard([](const neap::Array& one) { return neap::pmax(one, "x"); },
                                   {.mesh = mesh_of(0), .in = {{"x"}}, .out = {{}}});
  return largest(neap::array({value})).item<double>();
}

/// Calls the compiled function, once and then for about a second: returns its result and the mean seconds of a call. Rank 0 says
/// what the plan had said of its peak and what it held, and throws where they differ; so does every other rank.
template <class F, class... A>
auto reported(const char* name, F& f, const A&... arguments) {
  const size_t planned = f.plan(arguments...).peak_bytes();
  size_t held = 0;
  (([&] { for (const neap::Array& leaf : neap::tree_leaves(arguments)) held += (leaf.bytes() + 63) / 64 * 64; })(), ...);
  auto result = f(arguments...);
  size_t measured = 0;
  const auto timed = [&](int calls) {
    largest_of_ranks(0);  // all begin together
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
      { const auto before = std::move(result); }
      const size_t others = neap::memory::live_bytes() - held;
      neap::memory::reset_peak();
      result = f(arguments...);
      measured = neap::memory::peak_bytes() - others;
    }
    return largest_of_ranks(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / calls);
  };
  const double seconds = timed(std::clamp(static_cast<int>(1 / timed(1)), 3, 10000));
  if (neap::mpi::rank() == 0)
    std::cout << name << ": " << neap::mpi::ranks() << " ranks, " << seconds << " s, peak of each " << neap::Bytes(measured)
              << ", planned " << neap::Bytes(planned) << '\n';
  if (measured != planned) throw neap::RuntimeError("the peak is not the planned one");
  return std::pair{std::move(result), seconds};
}
