// Steps that run again: orders that are valid, hold what they say and take little time, on the kinds of graphs that
// papers on rematerialization use, rebuilt from their descriptions; and programs that compute the same.
#include "planner/order/rerun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "planner/plan/marks.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/rematerialize_reruns.h"
#include "programs.h"
#include "same_values.h"

namespace neap::planner {
namespace {

constexpr int64_t kMuch = 100'000'000;

// Steps that make one value each, with what they read and the time that they take.
struct Network {
  OrderProblem problem;
  std::vector<double> seconds;

  int add(double bytes, double time, const std::vector<int>& reads) {
    const int step = problem.steps++;
    problem.values.emplace_back();
    problem.values.back().bytes = static_cast<size_t>(bytes);
    problem.values.back().writers = {step};
    problem.scratch.push_back(0);
    seconds.push_back(time);
    for (const int v : reads) problem.values[v].readers.push_back(step);
    return step;
  }
  double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
  size_t peak() const {
    std::vector<int> given(problem.steps);
    std::iota(given.begin(), given.end(), 0);
    return peak_of_order(problem, given);
  }
};

// The same with its steps in another order.
Network in_order(const Network& network, const std::vector<int>& order) {
  std::vector<int> at(order.size());
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = static_cast<int>(i);
  Network result;
  std::vector<std::vector<int>> reads(order.size());
  for (size_t v = 0; v < network.problem.values.size(); ++v) {
    for (const int s : network.problem.values[v].readers) reads[at[s]].push_back(at[v]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    result.add(static_cast<double>(network.problem.values[order[i]].bytes), network.seconds[order[i]], reads[i]);
  }
  return result;
}

// What an order holds, step by step: a value from the run that makes it to the last that reads what that made.
size_t held_by(const OrderProblem& problem, const Reruns& reruns) {
  std::vector<int> made(problem.values.size(), -1);
  std::vector<size_t> live(reruns.order.size(), 0);
  std::map<std::pair<int, int>, int> last;  // of a value and the run that made it
  for (int i = 0; i < std::ssize(reruns.order); ++i) {
    for (size_t v = 0; v < problem.values.size(); ++v) {
      if (!std::ranges::count(problem.values[v].readers, reruns.order[i])) continue;
      EXPECT_GE(made[v], 0) << "read before it is made";
      last[{v, made[v]}] = i;
    }
    made[reruns.order[i]] = i;
    last[{reruns.order[i], i}] = i;
  }
  for (const auto& [version, until] : last) {
    for (int i = version.second; i <= until; ++i) live[i] += problem.values[version.first].bytes;
  }
  return *std::ranges::max_element(live);
}

// Added time, in percent, to hold a part of what the given order does; checks the order.
double added(const Network& network, double part) {
  const auto budget = static_cast<size_t>(part * static_cast<double>(network.peak()));
  int64_t work = kMuch / 5;
  const Reruns reruns = rerun_steps(network.problem, network.seconds, budget, work);
  double seconds = 0;
  std::vector<int> first;
  for (size_t i = 0; i < reruns.order.size(); ++i) {
    if (reruns.again[i])
      seconds += network.seconds[reruns.order[i]];
    else
      first.push_back(reruns.order[i]);
  }
  EXPECT_EQ(std::ssize(first), network.problem.steps);
  EXPECT_TRUE(std::ranges::is_sorted(first)) << "the first time in the given order";
  EXPECT_NEAR(seconds, reruns.seconds, 1e-9 * network.total());
  EXPECT_EQ(held_by(network.problem, reruns), reruns.peak_bytes);
  EXPECT_LE(reruns.peak_bytes, budget);
  return 100 * reruns.seconds / network.total();
}

TEST(Rerun, WhatIsCheapAndLargeRunsAgain) {
  Network n;
  const int x = n.add(10, 1, {}), cheap = n.add(100, 1, {x}), dear = n.add(100, 50, {x});
  const int middle = n.add(100, 1, {x});
  const int end = n.add(1, 1, {middle});
  n.add(1, 1, {dear, end});
  n.add(1, 1, {cheap, x});
  int64_t work = kMuch;
  EXPECT_EQ(n.peak(), 311u);
  const Reruns reruns = rerun_steps(n.problem, n.seconds, 220, work);
  EXPECT_THAT(reruns.order, testing::ElementsAre(0, 1, 2, 3, 4, 5, cheap, 6));
  EXPECT_THAT(reruns.again, testing::ElementsAre(false, false, false, false, false, false, true, false));
  EXPECT_EQ(reruns.seconds, 1);
  EXPECT_EQ(reruns.peak_bytes, 311u - 100u);
}

TEST(Rerun, NothingRunsAgainWhereAllFits) {
  Network n;
  const int a = n.add(5, 1, {});
  n.add(5, 1, {a});
  int64_t work = kMuch;
  EXPECT_EQ(rerun_steps(n.problem, n.seconds, 10, work).seconds, 0);
  EXPECT_EQ(rerun_steps({}, {}, 10, work).peak_bytes, 0u);
}

TEST(Rerun, WhatIsKeptOrMadeInPartsDoesNot) {
  Network n;
  const int x = n.add(10, 1, {}), kept = n.add(100, 1, {x}), parts = n.add(100, 1, {x});
  const int middle = n.add(100, 1, {x});
  n.add(1, 1, {middle, x});
  n.add(1, 1, {kept, parts});
  n.problem.values[kept].kept = true;
  n.problem.values[parts].writers = {2, 3};
  int64_t work = kMuch;
  EXPECT_EQ(rerun_steps(n.problem, n.seconds, 150, work).seconds, 0);
  EXPECT_LT(work, kMuch);
}

// A network's forward steps, then for each, the last first, one that reads what it read and made and the gradients of
// what it is read by (Checkmate, section 6).
struct Layer {
  double bytes, time;
  std::vector<int> reads;
};
Network training(const std::vector<Layer>& layers) {
  Network n;
  std::vector<std::vector<int>> readers(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    n.add(layers[i].bytes, layers[i].time, layers[i].reads);
    for (const int r : layers[i].reads) readers[r].push_back(static_cast<int>(i));
  }
  std::vector<int> gradient(layers.size());
  for (int i = static_cast<int>(layers.size()); i-- > 0;) {
    std::vector<int> reads = layers[i].reads;
    reads.push_back(i);
    for (const int r : readers[i]) reads.push_back(gradient[r]);
    gradient[i] = n.add(layers[i].bytes, 2 * layers[i].time, reads);
  }
  return n;
}

// Activations of a batch of images, times from arithmetic and bytes.
class Images {
 public:
  Images(int64_t side, int64_t channels) : side_(side), channels_(channels) {}

  int conv(int from, int64_t channels, int64_t kernel = 3, int64_t stride = 1, bool depthwise = false) {
    const int64_t in = depthwise ? 1 : from < 0 ? channels_ : shape_[from].second;
    const int64_t side = (from < 0 ? side_ : shape_[from].first) / stride;
    const double work = static_cast<double>(side * side * channels * in * kernel * kernel);
    return push(side, channels, work / 16, from);
  }
  int scaled(int from) { return push(shape_[from].first, shape_[from].second, 0, from); }  // batch norm, relu
  int pool(int from) { return push(shape_[from].first / 2, shape_[from].second, 0, from); }
  int up(int from) { return push(shape_[from].first * 2, shape_[from].second, 0, from); }
  int joined(int a, int b) {
    const int i = push(shape_[a].first, shape_[a].second + shape_[b].second, 0, a);
    layers[i].reads.push_back(b);
    return i;
  }
  int sum(int a, int b) {
    const int i = scaled(a);
    layers[i].reads.push_back(b);
    return i;
  }

  std::vector<Layer> layers;

 private:
  int push(int64_t side, int64_t channels, double work, int from) {
    const double bytes = static_cast<double>(side * side * channels);
    shape_.emplace_back(side, channels);
    layers.push_back({bytes, work + bytes, from < 0 ? std::vector<int>{} : std::vector<int>{from}});
    return static_cast<int>(layers.size()) - 1;
  }

  int64_t side_, channels_;
  std::vector<std::pair<int64_t, int64_t>> shape_;
};

Network vgg() {
  Images net(224, 3);
  int x = -1;
  for (const auto& [count, channels] : {std::pair{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}) {
    for (int i = 0; i < count; ++i) x = net.conv(x, channels);
    x = net.pool(x);
  }
  return training(net.layers);
}

Network unet() {
  Images net(416, 3);
  int x = -1;
  std::vector<int> skips;
  for (const int channels : {64, 128, 256, 512}) {
    for (int i = 0; i < 2; ++i) x = net.conv(x, channels);
    skips.push_back(x);
    x = net.pool(x);
  }
  for (int i = 0; i < 2; ++i) x = net.conv(x, 512);
  for (int level = 4; level-- > 0;) {
    x = net.joined(net.up(x), skips[level]);
    for (int i = 0; i < 2; ++i) x = net.conv(x, 64 << level);
  }
  return training(net.layers);
}

Network resnet() {
  Images net(224, 3);
  int x = net.pool(net.scaled(net.conv(-1, 64, 7, 2)));
  for (const auto& [count, channels] : {std::pair{3, 64}, {4, 128}, {6, 256}, {3, 512}}) {
    for (int i = 0; i < count; ++i) {
      const int stride = i == 0 && channels > 64 ? 2 : 1;
      int y = net.scaled(net.scaled(net.conv(x, channels, 1, stride)));
      y = net.scaled(net.scaled(net.conv(y, channels)));
      y = net.scaled(net.conv(y, 4 * channels, 1));
      const int skip = i == 0 ? net.scaled(net.conv(x, 4 * channels, 1, stride)) : x;
      x = net.scaled(net.sum(y, skip));
    }
  }
  return training(net.layers);
}

Network mobilenet() {
  Images net(224, 3);
  int x = net.scaled(net.scaled(net.conv(-1, 32, 3, 2)));
  int channels = 32;
  for (const auto& [next, stride] : {std::pair{64, 1},
                                     {128, 2},
                                     {128, 1},
                                     {256, 2},
                                     {256, 1},
                                     {512, 2},
                                     {512, 1},
                                     {512, 1},
                                     {512, 1},
                                     {512, 1},
                                     {512, 1},
                                     {1024, 2},
                                     {1024, 1}}) {
    x = net.scaled(net.scaled(net.conv(x, channels, 3, stride, true)));
    x = net.scaled(net.scaled(net.conv(x, next, 1)));
    channels = next;
  }
  return training(net.layers);
}

// Moccasin's solver adds 1.1 and 2.0 % to a U-Net for 0.9 and 0.8 of its peak, in 3 s. (It adds 0.1 and 0.3 % to a
// ResNet50, in 100 s, by times measured on a GPU, where normalizations take most of the way back; here that takes twice
// as long as the way there.)
TEST(Rerun, NetworksHoldLessForLittleTime) {
  const std::vector<std::tuple<std::string, Network, double, double>> networks{
      {"VGG19", vgg(), 0.9, 2.8},          {"U-Net", unet(), 0.9, 1.1},       {"U-Net", unet(), 0.8, 2.0},
      {"ResNet50", resnet(), 0.9, 0.43},   {"ResNet50", resnet(), 0.8, 0.86}, {"MobileNet", mobilenet(), 0.8, 2.0},
      {"MobileNet", mobilenet(), 0.6, 4.0}};
  for (const auto& [name, network, part, most] : networks) {
    SCOPED_TRACE(name);
    const double percent = added(network, part);
    EXPECT_LE(percent, most) << part;
    EXPECT_GT(percent, 0) << part;
  }
}

// Layers of random width; edges to the next with one probability, and a few to layers further on (Gagrani et al.,
// Neural topological ordering for computation graphs, 2022, appendix A; sizes, times and numbers of edges as
// Moccasin's).
Network layered(int steps, double width, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() % 10'000) / 1e4; };
  std::vector<int> layer, begin;
  while (std::ssize(layer) < steps) {
    begin.push_back(static_cast<int>(layer.size()));
    const auto count = static_cast<size_t>(std::max(1.0, width * (0.05 + 1.8 * uniform())));
    layer.resize(std::min(layer.size() + count, static_cast<size_t>(steps)), static_cast<int>(begin.size()) - 1);
  }
  begin.push_back(steps);
  Network n;
  for (int s = 0; s < steps; ++s) {
    std::vector<int> reads;
    if (const int l = layer[s]; l > 0) {
      for (int r = begin[l - 1]; r < begin[l]; ++r) {
        if (uniform() < 0.25) reads.push_back(r);
      }
      if (reads.empty()) reads.push_back(begin[l - 1] + static_cast<int>(random() % (begin[l] - begin[l - 1])));
      const int far = static_cast<int>(std::pow(l, uniform()));
      if (far > 1 && uniform() < 0.5) reads.push_back(begin[l - far]);
    }
    n.add(10 + 8000 * uniform() * uniform(), 1000 * uniform(), reads);
  }
  return n;
}

// Moccasin's solver adds 0.8 % (100 nodes) and 0.9 % (250) to its graphs of this kind for 0.9 of the given order's
// peak, 2.3 % (100) for 0.8. In the planner's order some hold that anyway.
TEST(Rerun, LayeredGraphsHoldLessForLittleTime) {
  for (const auto& [steps, width] : {std::pair{100, 4.8}, {250, 10.4}, {500, 15.2}, {1000, 19.6}}) {
    SCOPED_TRACE(steps);
    const Network given = layered(steps, width, 3);
    EXPECT_LE(added(given, 0.9), 0.8);
    EXPECT_LE(added(given, 0.8), 3);
    const Network ordered = in_order(given, order_steps(given.problem));
    const double more = static_cast<double>(given.peak()) / static_cast<double>(ordered.peak());
    if (0.8 * more < 1) EXPECT_LE(added(ordered, 0.8 * more), 2);
  }
}

// What is computed is the same, whatever runs again.
TEST(Rerun, GraphsInOrderComputeTheSame) {
  const auto shapes = std::vector<Shape>{{16, 8}, {8, 8}};
  const std::vector<Graph> graphs{
      products(6, 16), loop_of_products(),
      traced(shapes,
             [](const tracing::Arrays& in) {  // parts, a scatter, a loop with results of each step, several outputs
               const Array h = tanh(matmul(in[0], in[1])), g = sin(matmul(h, in[1]));
               const Array both = concatenate({h, g, in[0]}, 1);
               const auto step = [&](const Array& c, const Array& x) { return std::pair{tanh(c + x), c * x}; };
               const auto [last, all] = scan(step, sum(both, {0}), both);
               const Array rows = h.at(arange(4) * 3).add(sum(all) + g[0]);
               return matmul(rows, swapaxes(g, 0, 1)) + sum(last) + matmul(h, swapaxes(split(all, 3, 1)[1], 0, 1));
             }),
      traced(shapes, [](const tracing::Arrays& in) {
        return grad([&](const Array& w) {
          Array h = in[0];
          for (int i = 0; i < 5; ++i) h = h + tanh(matmul(h, w)) * exp(-square(h));
          return sum(h * h);
        })(in[1]);
      })};
  int reran = 0;
  for (const Graph& g : graphs) {
    const Planned planned = plan_simplified(simplify(g), {}, {});
    const auto steps = static_cast<int>(planned.plan.steps.size());
    const OrderProblem problem = problem_in_order(planned.plan);
    ASSERT_EQ(problem.steps, steps);
    Reruns all;  // each step with all before it that is made by one step
    for (int s = 0; s < steps; ++s) {
      for (int r = 0; r < s; ++r) {
        const auto whole = [&](const OrderProblem::Value& v) {
          return !std::ranges::count(v.writers, r) || v.writers.size() == 1;
        };
        if (!std::ranges::all_of(problem.values, whole)) continue;
        all.order.push_back(r);
        all.again.push_back(true);
        ++reran;
      }
      all.order.push_back(s);
      all.again.push_back(false);
    }
    const Graph again = graph_in_order(planned, all);
    expect_same_values(planned.graph, again);
    expect_same_values(planned.graph, simplify(again));
    for (const double part : {0.9, 0.7, 0.5}) {
      int64_t work = kMuch;
      const auto rerun =
          rerun_within(planned, static_cast<size_t>(part * static_cast<double>(planned.plan.peak_bytes)), work);
      if (rerun) expect_same_values(planned.graph, simplify(rerun->graph));
    }
  }
  EXPECT_GT(reran, 100);
}

// Two copies of one node do not become one, which would wait from the first reader to the last.
TEST(Rerun, CopiesStayApartFromEachOther) {
  const Planned planned = plan_simplified(simplify(products(3)), {}, {});
  Reruns twice;
  for (int s = 0; s < std::ssize(planned.plan.steps); ++s) {
    for (const bool again : {false, true, true}) {
      twice.order.push_back(s);
      twice.again.push_back(again);
    }
  }
  const Graph g = graph_in_order(planned, twice);
  std::vector<int64_t> marks;
  for (const tracing::Node& node : g.nodes) {
    if (is_copy(node)) marks.push_back(node.attrs.integer(tracing::Attr::copy));
  }
  std::ranges::sort(marks);
  EXPECT_EQ(std::ranges::adjacent_find(marks), marks.end());
  EXPECT_GE(marks.size(), 3u);
}

}  // namespace
}  // namespace neap::planner
