// neap-stream: the raw bits of a generator on standard output, for programs that test random numbers by reading a
// stream of 32-bit words: PractRand (RNG_test stdin32), TestU01, dieharder -g 200, ent, rngtest. Not in CI:
// bench/README.md keeps what they said.
#include <neap/neap.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <map>
#include <string>

#include "bench/finish.h"

namespace {

namespace nr = neap::random;
using neap::Array;

constexpr int64_t kWords = int64_t{1} << 20;  // written at once
constexpr int64_t kRow = 4096, kKeys = 256;

enum class Order : uint8_t { sequential, interleaved, folded };

// Words [chunk * kWords, (chunk + 1) * kWords) of a stream that is never stored.
Array words(const Array& key, const Array& chunk, Order order) {
  const Array none = neap::zeros({1}, neap::i64), first = neap::reshape(chunk, {1});
  constexpr int64_t kChunks = int64_t{1} << 24;
  switch (order) {
    case Order::sequential: {
      const int64_t rows = kWords / kRow;
      return neap::dynamic_slice(nr::bits(key, {kChunks * rows, kRow}), neap::concatenate({first * rows, none}),
                                 {rows, kRow});
    }
    case Order::interleaved: {
      const int64_t columns = kWords / kKeys;
      const Array bits = nr::bits(nr::split(key, kKeys), {kChunks * columns});
      return neap::transpose(neap::dynamic_slice(bits, neap::concatenate({none, first * columns}), {kKeys, columns}));
    }
    case Order::folded: break;
  }
  const Array keys = nr::fold_in(key, (neap::arange(kWords) + chunk * kWords).astype(neap::u32));
  return nr::bits(keys, {1});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The raw bits of a generator, as 32-bit words, on standard output.", "neap-stream"};
  nr::Generator generator = nr::Generator::threefry;
  Order order = Order::sequential;
  uint64_t seed = 1;
  double bytes = std::numeric_limits<double>::infinity();
  const std::map<std::string, nr::Generator> generators{{"threefry", nr::Generator::threefry},
                                                        {"philox", nr::Generator::philox}};
  const std::map<std::string, Order> orders{
      {"sequential", Order::sequential}, {"interleaved", Order::interleaved}, {"folded", Order::folded}};
  app.add_option("--generator", generator, "threefry or philox")
      ->transform(CLI::CheckedTransformer(generators))
      ->option_text("NAME");
  app.add_option("--order", order,
                 "sequential: one key's elements; interleaved: 256 split keys in turns; folded: element 0 of "
                 "fold_in(key, 0), fold_in(key, 1), ...")
      ->transform(CLI::CheckedTransformer(orders))
      ->option_text("ORDER");
  app.add_option("--seed", seed, "of the key (default: 1)");
  app.add_option("--bytes", bytes, "where to end; else when the reader does");
  CLI11_PARSE(app, argc, argv);
  const Array key = nr::key(seed, generator);
  const auto next = neap::jit([order](const Array& k, const Array& chunk) { return words(k, chunk, order); });
  for (int64_t chunk = 0; static_cast<double>(chunk) * kWords * 4 < bytes; ++chunk) {
    const Array drawn = next(key, neap::array(chunk));
    const auto raw = drawn.raw();
    if (std::fwrite(raw.data(), 1, raw.size(), stdout) == raw.size()) continue;
    if (errno == EPIPE) return 0;  // the reader has gone
    break;
  }
  return bench::finish_output("neap-stream", 0);
}
