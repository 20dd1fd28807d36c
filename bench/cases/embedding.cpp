// embedding-step: one step of gradient descent on word vectors (a word from the mean of those around it, against words
// drawn at random). The gradient touches few rows of the donated tables.
#include "bench/layers.h"

namespace bench {
namespace {

using neap::Array;

struct Tables {
  Array in, out;  // [words, width]
};
struct Batch {
  Array context, word, others;  // [n, 8], [n], [n, 8]
};

constexpr int64_t kWidth = 64, kContext = 8, kOthers = 8;

Array loss(const Tables& t, const Batch& b) {
  const Array centre = neap::mean(neap::take(t.in, b.context), 1);
  const Array right = neap::sum(centre * neap::take(t.out, b.word), 1);
  const Array wrong = neap::sum(neap::expand_dims(centre, 1) * neap::take(t.out, b.others), 2);
  return neap::mean(neap::softplus(-right) + neap::sum(neap::softplus(wrong), 1));
}

std::unique_ptr<Job> build(const Request& r) {
  const int64_t words = r.shape[0], n = r.shape[1];
  const auto step = [](const Tables& t, const Batch& b) {
    const auto [value, g] = neap::value_and_grad(loss)(t, b);
    return std::pair{descend(t, g, 0.1f), value};
  };
  const Array table = neap::spec({words, kWidth}, neap::f32);
  const std::tuple specs{Tables{table, table}, Batch{neap::spec({n, kContext}, neap::i32), neap::spec({n}, neap::i32),
                                                     neap::spec({n, kOthers}, neap::i32)}};
  const auto make = [=] {
    return std::tuple{Tables{host_uniform(table.shape(), neap::f32, 1), host_uniform(table.shape(), neap::f32, 2)},
                      Batch{host_indices({n, kContext}, words, 3), host_indices({n}, words, 4),
                            host_indices({n, kOthers}, words, 5)}};
  };
  auto job = make_step_job(r, step, specs, make);
  job->output_bytes = 2 * table.bytes() + sizeof(float);
  job->elements = static_cast<double>(n);
  return job;
}

}  // namespace

void add_embedding_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "embedding-step";
  c.what = "a step of gradient descent on word vectors, 64 wide, with 8 words around and 8 drawn at random";
  c.size_means = "words x batch";
  c.size = {200'000, 8192};
  c.full = {50'000'000, 1'000'000};
  c.has_peers = true;
  c.build = build;
  cases.push_back(c);
}

}  // namespace bench
