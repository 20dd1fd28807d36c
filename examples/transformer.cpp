// A small transformer that learns a text character by character: the licence that Debian ships (or any file named on the
// command line). It must beat the best guess from the character before (the bigram entropy of the text itself).
#include <neap/neap.h>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include "optimizers.h"
#include "transformer.h"
namespace nr = neap::random;
using neap::Array;
using namespace neap::literals;

double bigram_entropy(const std::vector<int>& text) {  // nats for each character, knowing the one before
  std::vector<double> pairs(vocabulary * vocabulary), firsts(vocabulary);
  for (size_t i = 0; i + 1 < text.size(); ++i) ++pairs[text[i] * vocabulary + text[i + 1]], ++firsts[text[i]];
  double nats = 0;
  for (size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i] > 0) nats -= pairs[i] * std::log(pairs[i] / firsts[i / vocabulary]);
  return nats / double(text.size() - 1);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "/usr/share/common-licenses/GPL-3";
  std::ifstream file(path, std::ios::binary);
  std::vector<int> text;
  for (std::istreambuf_iterator<char> c(file), last; c != last; ++c) text.push_back(static_cast<unsigned char>(*c) % vocabulary);
  if (text.size() < 10000) return std::printf("%s: no text of 10,000 characters\n", path), 1;
  Array corpus = neap::array(text);

  Model model = init(nr::key(1), 2);
  optim::Adam adam = optim::adamw(3e-3f, 1e-2f);
  auto state = adam.init(model);
  auto step = neap::jit([&](const Model& m, const optim::Adam::State<Model>& s, const Array& corpus, const Array& key) {
    Array starts = nr::randint(key, {batch, 1}, 0, corpus.shape()[0] - length);
    auto [value, g] = neap::value_and_grad(loss)(m, neap::take(corpus, starts + neap::arange(length + 1)));
    auto [next, after] = adam.update(m, g, s);
    return std::tuple{next, after, value};
  }, {.donate = {0, 1}});
  std::printf("a step's peak: %.1f MiB\n", double(step.plan(model, state, corpus, nr::key(0)).peak_bytes()) / double(1_MiB));
  double recent = 0, best_guess = bigram_entropy(text);
  for (int i = 0; i < 400; ++i) {
    auto [next, after, value] = step(std::move(model), std::move(state), corpus, nr::fold_in(nr::key(2), i));
    model = std::move(next), state = std::move(after);
    recent = i == 0 ? value.item<float>() : 0.95 * recent + 0.05 * value.item<float>();
    if (i % 100 == 0) std::printf("step %d loss %.3f\n", i, recent);
  }
  std::printf("loss %.3f nats a character; from the character before alone %.3f\n", recent, best_guess);
  return recent < best_guess ? 0 : 1;
}
