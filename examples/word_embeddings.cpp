// Word vectors by skip-gram with negative sampling (Mikolov et al. 2013) on the licence that Debian ships. A step's gradient
// touches a few rows of the tables: they are read, and their updates added, where they are computed, never stacked up. On
// pairs held out the vectors must tell true neighbours from words drawn at random by frequency.
#include <neap/neap.h>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
namespace nr = neap::random;
using neap::Array;

struct Tables { Array word, context; };  // f32 [vocabulary, width]

Array score(const Tables& t, const Array& word, const Array& context) {  // ids, any shapes that broadcast
  return neap::sum(neap::take(t.word, word) * neap::take(t.context, context), -1);
}

Array loss(const Tables& t, const Array& word, const Array& context, const Array& noise) {  // [n], [n], [n, negatives]
  Array real = neap::softplus(-score(t, word, context));
  return neap::sum(real) + neap::sum(neap::softplus(score(t, word[{neap::slice(), neap::newaxis}], noise)));
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "/usr/share/common-licenses/GPL-3";
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string w; file >> w;) {
    std::ranges::transform(w, w.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    std::erase_if(w, [](char c) { return c < 'a' || c > 'z'; });
    if (!w.empty()) words.push_back(w);
  }
  if (words.size() < 2000) return std::printf("%s: no text of 2,000 words\n", path), 1;
  std::map<std::string, int> id;
  std::vector<int> text, word, context;
  for (const auto& w : words) text.push_back(id.try_emplace(w, static_cast<int>(id.size())).first->second);
  for (size_t i = 0; i < text.size(); ++i)
    for (size_t j = i < 3 ? 0 : i - 3; j < std::min(text.size(), i + 4); ++j)
      if (i != j) word.push_back(text[i]), context.push_back(text[j]);
  const int64_t vocabulary = static_cast<int64_t>(id.size()), pairs = static_cast<int64_t>(word.size());
  const int64_t width = 48, batch = 512, train = pairs * 9 / 10;
  Array order = nr::permutation(nr::key(0), pairs);
  Array w = neap::take(neap::array(word), order), c = neap::take(neap::array(context), order), corpus = neap::array(text);

  Tables t{nr::uniform(nr::key(1), {vocabulary, width}, neap::f32, -0.1f, 0.1f), neap::zeros({vocabulary, width})};
  auto step = neap::jit([&](const Tables& t, const Array& w, const Array& c, const Array& corpus, const Array& key) {
    Array rows = nr::randint(nr::fold_in(key, 0), {batch}, 0, train);
    Array noise = neap::take(corpus, nr::randint(nr::fold_in(key, 1), {batch, 5}, 0, corpus.shape()[0]));
    auto g = neap::grad(loss)(t, neap::take(w, rows), neap::take(c, rows), noise);
    return neap::tree_map([](const Array& p, const Array& d) { return p - 0.05f * d; }, t, g);
  }, {.donate = {0}});
  std::printf("%lld words, %lld pairs; a step's peak %zu bytes, of which the tables are %zu\n", static_cast<long long>(vocabulary),
              static_cast<long long>(pairs), step.plan(t, w, c, corpus, nr::key(0)).peak_bytes(), 2 * t.word.bytes());
  for (int i = 0; i < 3000; ++i) t = step(std::move(t), w, c, corpus, nr::fold_in(nr::key(2), i));

  auto held = neap::slice(train, neap::end);
  Array random = neap::take(corpus, nr::randint(nr::key(3), {pairs - train}, 0, corpus.shape()[0]));
  Array won = score(t, w[{held}], c[{held}]) > score(t, w[{held}], random);
  float rate = neap::mean(won.astype(neap::f32)).item<float>();
  std::printf("the true neighbour beats a random word of the text in %.1f %% of held-out pairs (chance: 50 %%)\n", 100 * rate);
  return rate > 0.57f ? 0 : 1;
}
