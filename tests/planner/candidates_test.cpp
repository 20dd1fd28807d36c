// Candidates for plans are taken by programs for which they are better, and never where they are worse in both ways.
#include "planner/search/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include "programs.h"

namespace neap::planner {
namespace {

using testing::Contains;

Graph layers() {
  return traced({{64, 256}, {256, 64}, {4096, 64}}, [](const tracing::Arrays& in) {
    return grad([&](const Array& up) {
      Array h = in[2];
      for (int i = 0; i < 6; ++i) h = h + matmul(gelu(matmul(h, up)), in[1]);
      return sum(h * h);
    })(in[0]);
  });
}

Graph heads() {
  const Shape head{8, 1024, 16};
  return traced({head, head, head}, [](const tracing::Arrays& in) {
    return matmul(softmax(matmul(in[0], swapaxes(in[1], -1, -2)) * 0.25f), in[2]);
  });
}

Graph self_attention() {
  return traced({{64, 64}, {512, 64}}, [](const tracing::Arrays& in) {
    return grad([&](const Array& w) {
      Array h = in[1];
      for (int i = 0; i < 6; ++i) {
        const Array key = matmul(h, w);
        h = h + matmul(softmax(matmul(h, transpose(key))), key);
      }
      return sum(h * h);
    })(in[0]);
  });
}

Graph residual_convolution() {
  return traced({{4, 24, 24, 64}, {64, 64, 3, 3}}, [](const tracing::Arrays& in) {
    const auto conv = [&](const Array& x) {  // as nine products
      const Array padded = pad(x, {0, 1, 1, 0}, {0, 1, 1, 0});
      Array total;
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t row = tap / 3, column = tap % 3;
        const Array read = padded[{slice(), slice(row, row + 24), slice(column, column + 24)}];
        const Array product = matmul(read, transpose(in[1][{slice(), slice(), row, column}]));
        total = tap == 0 ? product : total + product;
      }
      return total;
    };
    return in[0] + conv(maximum(conv(in[0]), 0.f));
  });
}

Graph distances_in_a_loop() {
  return traced({{4000}, {3000}}, [](const tracing::Arrays& in) {
    const Array cost = square(expand_dims(in[0], 1) - expand_dims(in[1], 0));
    const auto step = [&](const Array& g, const Array&) {
      const Array f = -logsumexp(expand_dims(g, 0) - cost, 1);
      return std::pair(-logsumexp(expand_dims(f, 1) - cost, 0), f[0]);
    };
    return scan(step, zeros_like(in[1]), zeros({10}, f32)).first;
  });
}

// A recurrent net with gates, whose steps leave much and cost little.
Graph gated_loop() {
  return traced({{256, 256}, {8, 256}}, [](const tracing::Arrays& in) {
    return grad([&](const Array& w) {
      const auto step = [&](const Array&, const std::pair<Array, Array>& s) {
        const Array gate = sigmoid(matmul(s.first, w)), cell = gate * s.second + (1 - gate) * tanh(s.first);
        return std::pair(sigmoid(cell) * tanh(cell), cell);
      };
      return sum(fori_loop(0, 5000, step, std::pair(in[1], in[1])).first);
    })(in[0]);
  });
}

Graph potential() {
  return traced({{1500, 3}}, [](const tracing::Arrays& in) {
    const Array apart = sum(square(expand_dims(in[0], 1) - expand_dims(in[0], 0)), {2});
    return sum(1 / sqrt(apart + 0.1f), {1});
  });
}

// The log likelihood of a Gaussian process.
Graph covariance() {
  return traced({{3000}, {3000}}, [](const tracing::Arrays& in) {
    const Array k = exp(-square(expand_dims(in[0], 1) - expand_dims(in[0], 0))) + 0.1f * eye(3000);
    const Array l = linalg::cholesky(k);
    return sum(square(linalg::triangular_solve(l, expand_dims(in[1], 1)))) + sum(log(diagonal(l)));
  });
}

// A loop that adds up pairs, of which the sums of rows are read.
Graph weighted_pairs() {
  return traced({{2100}, {2100}, {4}}, [](const tracing::Arrays& in) {
    const auto step = [&](const Array& total, const Array& w) {
      return std::pair(total + cos(w * expand_dims(in[0], 1) * expand_dims(in[1], 0)), nullptr);
    };
    return sum(scan(step, zeros({2100, 2100}), in[2]).first, {1});
  });
}

// A rotation of many numbers by angles that stay.
Graph turned_in_a_loop() {
  return traced({{1 << 20}, {1 << 20}}, [](const tracing::Arrays& in) {
    return fori_loop(0, 20, [&](const Array&, const Array& c) { return c * cos(in[1]) + flip(c) * sin(in[1]); }, in[0]);
  });
}

Graph gathered_product() {
  return traced({{256, 4096}, {4096, 512}}, [](const tracing::Arrays& in) {
    const auto product = [](const Array& block, const Array& w) { return matmul(all_gather(block, "x", 0, true), w); };
    return shard(product, {.mesh = Mesh::planned({{"x", 16}}), .in = {{"x"}, {}}, .out = {{}}})(in[0], in[1]);
  });
}

struct Case {
  std::string_view candidate;
  Graph graph;
  PlanOptions options;
};

std::vector<Case> cases() {
  PlanOptions donated;
  donated.donated = {true, false, false};
  return {{"compacted", descent_of_a_table(100'000, 3), donated},
          {"sunk", distances_in_a_loop(), {}},
          {"hoisted", turned_in_a_loop(), {}},
          {"narrowed", weighted_pairs(), {}},
          {"checkpointed", gated_loop(), {}},
          {"unrolled", potential(), {}},
          {"laid out", batch_of_tangents(), {}},
          {"rematerialized", layers(), {}},
          {"chunked", heads(), {}},
          {"rematerialized products", self_attention(), {}},
          {"ring", gathered_product(), {}},
          {"lowered", covariance(), {}},
          {"parted", residual_convolution(), {}},
          {"separated", transposed_sum(), {}}};
}

// "placed" is the same plan again; "stored" and "naive" are for what nothing else keeps near the naive plan, and no
// program of this size is known for them; "banded" is predicted to be slower than it is, and is left to budgets.
TEST(Candidates, EachIsTakenBySomeProgram) {
  std::vector<std::string_view> names{"placed", "stored", "naive", "banded"};
  for (const Case& one : cases()) names.push_back(one.candidate);
  for (const Candidate& candidate : candidates()) EXPECT_THAT(names, Contains(candidate.name));
  for (const auto& [name, graph, options] : cases()) {
    const Program program(graph);
    EXPECT_THAT(search_candidates(program, options).taken, Contains(name));
  }
}

// One after the other: where a candidate says that it was taken, either the peak or the predicted time has fallen.
TEST(Candidates, NoneIsTakenThatIsWorseInBoth) {
  for (const auto& [name, graph, options] : cases()) {
    const Program program(graph);
    Search search = begin_search(program, options);
    for (const Candidate& candidate : candidates()) {
      const Price before = search.price();
      if (!candidate.applies(search) || !candidate.consider(search)) continue;
      const Price after = search.price();
      if (candidate.name.starts_with("rematerialized")) continue;  // taken when it is placed
      EXPECT_TRUE(candidate.name == "placed" || after.peak_bytes < before.peak_bytes || after.seconds < before.seconds)
          << candidate.name << " of the program for " << name;
    }
  }
}

TEST(Candidates, ThePlanIsTheLastOneTaken) {
  const Graph graph = heads();
  const Program program(graph);
  const Search search = search_candidates(program, {});
  ASSERT_TRUE(search.other);
  EXPECT_LT(search.price().peak_bytes, begin_search(program, {}).price().peak_bytes / 3);
  const PlanData plan = make_plan(graph, {});
  EXPECT_EQ(plan.peak_bytes, search.plan().peak_bytes);
}

}  // namespace
}  // namespace neap::planner
