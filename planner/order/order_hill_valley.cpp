#include "planner/order/order_hill_valley.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "core/check.h"
#include "planner/order/order_exact.h"

namespace neap::planner {

namespace {

// Changes of edges for each step: a graph that needs more is far from series-parallel, and is given up. No measurement
// is recorded; neap-plan-speed's "random" graphs are such.
constexpr int64_t kMostChanges = 16;

// Steps in a row, linked by SegmentGraph::next_.
struct Segment {
  int64_t hill = 0, net = 0;
  int first = 0, last = 0;

  std::pair<bool, int64_t> rank() const { return {net > 0, net > 0 ? net - hill : hill}; }
  bool operator<(const Segment& other) const { return rank() < other.rank(); }
};
using Segments = std::multiset<Segment>;

uint64_t hash_of(int node) {  // sums of these tell sets apart
  uint64_t x = static_cast<uint64_t>(node) * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019;
  x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9;
  return x ^ x >> 29;
}

// Nodes are lists of segments; merging keeps one of the two numbers.
class SegmentGraph {
 public:
  SegmentGraph(const OrderGraph& graph, bool last_stays) : next_(graph.steps, -1), nodes_(graph.steps) {
    std::vector<std::pair<int, int>> edges;
    for (int s = 0; s < graph.steps; ++s) {
      for (const int next : graph.after[s]) edges.emplace_back(s, next);
    }
    if (last_stays) {
      for (int v = 0; v < static_cast<int>(graph.touching.size()); ++v) {
        if (!graph.frees(v)) continue;
        for (const int s : graph.touching[v]) {
          if (s != graph.touching[v].back()) edges.emplace_back(s, graph.touching[v].back());
        }
      }
      drop_implied(edges, graph.steps);
    }
    for (int v = 0; v < static_cast<int>(graph.touching.size()); ++v) {
      const size_t readers = graph.touching[v].size() - (graph.problem.values[v].given ? 0 : 1);
      if (graph.frees(v) && readers > 1) proven_ = false;
    }
    OrderSimulation simulation(graph);
    for (int s = 0; s < graph.steps; ++s) {
      nodes_[s].segments.insert({static_cast<int64_t>(simulation.need(s)), simulation.growth(s), s, s});
      nodes_[s].net = simulation.growth(s);
      nodes_[s].position = s;
      simulation.run(s);
    }
    for (const auto& [s, next] : edges) link(s, next);
    alive_ = graph.steps;
  }

  HillValleyOrder run(int64_t& work) {
    for (int u = 0; u < static_cast<int>(nodes_.size()); ++u) visit(u);
    reduce();
    if (alive_ > 1) {
      proven_ = false;
      if (std::vector<int> order = search(work); !order.empty()) return {std::move(order), false};
    }
    for (int u = 0; u < static_cast<int>(nodes_.size()); ++u) rank_edge(u);
    while (alive_ > 1) {
      if (changes_ > kMostChanges * static_cast<int64_t>(nodes_.size())) return {};
      force();
    }
    for (const Node& node : nodes_) {
      if (node.alive) return {steps_of(node.segments), proven_};
    }
    return {};
  }

 private:
  struct Node {
    Segments segments;
    int64_t net = 0;
    std::set<int> before, after;
    uint64_t before_hash = 0, after_hash = 0;
    int position = 0;  // topological
    std::pair<uint64_t, uint64_t> key;
    bool alive = true, listed = false, waits = false;
  };

  void link(int u, int v) {
    if (!nodes_[u].after.insert(v).second) return;
    nodes_[v].before.insert(u);
    nodes_[u].after_hash += hash_of(v);
    nodes_[v].before_hash += hash_of(u);
    ++changes_;
    visit(u), visit(v);
  }
  void unlink(int u, int v) {
    if (nodes_[u].after.erase(v) == 0) return;
    ++changes_;
    nodes_[v].before.erase(u);
    nodes_[u].after_hash -= hash_of(v);
    nodes_[v].before_hash -= hash_of(u);
    visit(u), visit(v);
  }
  void visit(int u) {
    if (nodes_[u].waits) return;
    nodes_[u].waits = true;
    pending_.push_back(u);
  }

  Segment glue(const Segment& a, const Segment& b) {
    next_[a.last] = b.first;
    return {std::max(a.hill, a.net + b.hill), a.net + b.net, a.first, b.last};
  }

  Segments in_series(Segments a, Segments b) {
    Segment middle = *a.rbegin();
    a.erase(std::prev(a.end()));
    for (bool again = true; again;) {
      again = false;
      if (!a.empty() && !(*a.rbegin() < middle)) {
        middle = glue(*a.rbegin(), middle);
        a.erase(std::prev(a.end()));
        again = true;
      } else if (!b.empty() && !(middle < *b.begin())) {
        middle = glue(middle, *b.begin());
        b.erase(b.begin());
        again = true;
      }
    }
    a.insert(a.end(), middle);
    return merged(std::move(a), std::move(b));
  }

  static Segments merged(Segments a, Segments b) {
    if (a.size() < b.size()) std::swap(a, b);
    a.merge(b);
    return a;
  }

  // `v` goes into `u`, which gets its edges too.
  void absorb(int u, int v, Segments segments) {
    nodes_[u].segments = std::move(segments);
    nodes_[u].net += nodes_[v].net;
    for (const int p : std::vector<int>(nodes_[v].before.begin(), nodes_[v].before.end())) {
      unlink(p, v);
      if (p != u) link(p, u);
    }
    for (const int n : std::vector<int>(nodes_[v].after.begin(), nodes_[v].after.end())) {
      unlink(v, n);
      if (n != u) link(u, n);
    }
    drop(v);
    visit(u);
  }

  void drop(int v) {
    unlist(v);
    nodes_[v].alive = false;
    nodes_[v].segments.clear();
    --alive_;
  }
  void unlist(int u) {
    if (nodes_[u].listed) like_.erase(nodes_[u].key);
    nodes_[u].listed = false;
  }

  // The edge is there and no other path is.
  void put_in_series(int u, int v) {
    Segments segments = in_series(std::move(nodes_[u].segments), std::move(nodes_[v].segments));
    const int position = nodes_[v].position;
    const bool keep_first =
        nodes_[u].before.size() + nodes_[u].after.size() >= nodes_[v].before.size() + nodes_[v].after.size();
    const int kept = keep_first ? u : v, gone = keep_first ? v : u;
    absorb(kept, gone, std::move(segments));
    nodes_[kept].position = position;
  }

  bool put_in_parallel(int u) {
    Node& node = nodes_[u];
    unlist(u);
    node.key = {node.before_hash, node.after_hash};
    const auto [it, is_new] = like_.emplace(node.key, u);
    if (is_new) {
      node.listed = true;
      return false;
    }
    const int other = it->second;
    if (nodes_[other].before != node.before || nodes_[other].after != node.after) return false;
    for (const int p : std::vector<int>(node.before.begin(), node.before.end())) unlink(p, u);
    for (const int n : std::vector<int>(node.after.begin(), node.after.end())) unlink(u, n);
    nodes_[other].segments = merged(std::move(nodes_[other].segments), std::move(node.segments));
    nodes_[other].net += node.net;
    drop(u);
    visit(other);
    return true;
  }

  void reduce() {
    while (!pending_.empty()) {
      const int u = pending_.back();
      pending_.pop_back();
      nodes_[u].waits = false;
      if (!nodes_[u].alive) continue;
      const Node& node = nodes_[u];
      if (node.before.size() == 1 && node.after.size() == 1) unlink(*node.before.begin(), *node.after.begin());
      if (node.after.size() == 1 && nodes_[*node.after.begin()].before.size() == 1) {
        put_in_series(u, *node.after.begin());
      } else if (node.before.size() == 1 && nodes_[*node.before.begin()].after.size() == 1) {
        put_in_series(*node.before.begin(), u);
      } else if (!put_in_parallel(u)) {
        rank_edge(u);
      }
    }
  }

  // Once reduction is stuck: the node that grows most is put before the first that follows it.
  void rank_edge(int u) {
    if (nodes_[u].alive && !nodes_[u].after.empty()) heavy_.emplace(nodes_[u].net, -nodes_[u].position, u);
  }
  void force() {
    for (;;) {
      NEAP_CHECK(!heavy_.empty(), "{} nodes that nothing joins", alive_);
      const auto [net, position, u] = heavy_.top();
      heavy_.pop();
      const Node& node = nodes_[u];
      if (!node.alive || node.after.empty() || node.net != net || -node.position != position) continue;
      changes_ += static_cast<int64_t>(node.after.size());
      put_in_series(u, *std::ranges::min_element(node.after, {}, [&](int v) { return nodes_[v].position; }));
      reduce();
      return;
    }
  }

  std::vector<int> steps_of(const Segments& segments) const {
    std::vector<int> steps;
    for (const Segment& segment : segments) {
      for (int s = segment.first;; s = next_[s]) {
        steps.push_back(s);
        if (s == segment.last) break;
      }
    }
    return steps;
  }

  // The best order of the segments that are left, if they are few.
  std::vector<int> search(int64_t& work) const {
    size_t count = 0;
    std::vector<const Node*> left;
    for (const Node& node : nodes_) {
      if (!node.alive) continue;
      left.push_back(&node);
      count += node.segments.size();
    }
    if (count > kExactSteps) return {};
    std::ranges::sort(left, {}, &Node::position);
    OrderProblem problem;
    std::vector<const Segment*> segments;
    std::map<const Node*, int> ends;
    for (const Node* node : left) {
      bool first = true;
      for (const Segment& segment : node->segments) {
        const int s = problem.steps++;
        segments.push_back(&segment);
        OrderProblem::Value value;
        value.bytes = static_cast<size_t>(std::abs(segment.net));
        (segment.net > 0 ? value.kept : value.given) = true;
        (segment.net > 0 ? value.writers : value.readers) = {s};
        problem.values.push_back(std::move(value));
        problem.scratch.push_back(static_cast<size_t>(segment.hill - std::max<int64_t>(0, segment.net)));
        if (!first) problem.before.emplace_back(s - 1, s);
        if (first) {
          for (const int p : node->before) problem.before.emplace_back(ends.at(&nodes_[p]), s);
        }
        first = false;
      }
      ends[node] = problem.steps - 1;
    }
    std::vector<int> steps;
    const OrderGraph graph(problem);
    for (const int s : exact_order(graph, std::numeric_limits<size_t>::max(), 0, work).order) {
      const std::vector<int> more = steps_of({*segments[s]});
      steps.insert(steps.end(), more.begin(), more.end());
    }
    return steps;
  }

  std::vector<int> next_;  // of each step: the one after it in its segment
  std::vector<Node> nodes_;
  int alive_ = 0;
  bool proven_ = true;
  int64_t changes_ = 0;                                // of edges, and looks at them
  std::vector<int> pending_;                           // nodes to reduce
  std::map<std::pair<uint64_t, uint64_t>, int> like_;  // a node with these neighbours
  std::priority_queue<std::tuple<int64_t, int, int>> heavy_;
};

}  // namespace

HillValleyOrder hill_valley_order(const OrderGraph& graph, bool last_stays, int64_t& work) {
  return SegmentGraph(graph, last_stays).run(work);
}

}  // namespace neap::planner
