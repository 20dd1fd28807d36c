#include "autodiff/min_cut.h"

#include <algorithm>
#include <limits>

namespace neap::autodiff {

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 2;

// A network of pipes. Pipe i and pipe i ^ 1 are the two directions of one: what flows along one can flow back.
class Network {
 public:
  explicit Network(size_t vertices) : pipes_of_(vertices) {}

  void add_pipe(int from, int to, int64_t capacity) {
    for (const auto& [begin, end, room] : {Pipe{from, to, capacity}, Pipe{to, from, 0}}) {
      pipes_of_[static_cast<size_t>(begin)].push_back(static_cast<int>(pipes_.size()));
      pipes_.push_back({begin, end, room});
    }
  }

  void fill(int from, int to) {
    while (find_way(from, to)) {
      int64_t most = kUnlimited;
      for (int at = to; at != from; at = pipe_to(at).from) most = std::min(most, pipe_to(at).room);
      for (int at = to; at != from; at = pipe_to(at).from) {
        const int pipe = came_by_[static_cast<size_t>(at)];
        pipes_[static_cast<size_t>(pipe)].room -= most;
        pipes_[static_cast<size_t>(pipe ^ 1)].room += most;
      }
    }
  }

  // After fill(): whether more could flow from its beginning to here.
  bool is_reached(int vertex) const { return came_by_[static_cast<size_t>(vertex)] != kNoPipe; }

 private:
  static constexpr int kNoPipe = -1, kStart = -2;
  struct Pipe {
    int from, to;
    int64_t room;
  };

  const Pipe& pipe_to(int vertex) const { return pipes_[static_cast<size_t>(came_by_[static_cast<size_t>(vertex)])]; }

  bool find_way(int from, int to) {
    came_by_.assign(pipes_of_.size(), kNoPipe);
    came_by_[static_cast<size_t>(from)] = kStart;
    std::vector<int> queue{from};
    for (size_t next = 0; next < queue.size(); ++next) {
      for (const int i : pipes_of_[static_cast<size_t>(queue[next])]) {
        const Pipe& pipe = pipes_[static_cast<size_t>(i)];
        int& came_by = came_by_[static_cast<size_t>(pipe.to)];
        if (pipe.room == 0 || came_by != kNoPipe) continue;
        came_by = i;
        if (pipe.to == to) return true;
        queue.push_back(pipe.to);
      }
    }
    return false;
  }

  std::vector<Pipe> pipes_;
  std::vector<std::vector<int>> pipes_of_;  // that begin at each vertex
  std::vector<int> came_by_;                // of each vertex, on the latest search
};

}  // namespace

std::vector<bool> min_vertex_cut(const CutProblem& problem) {
  // Vertex v is a pipe from 2 v to 2 v + 1, as wide as it costs.
  const auto vertices = static_cast<int>(problem.cost.size());
  const int begin = 2 * vertices, end = begin + 1;
  Network network(static_cast<size_t>(end) + 1);
  for (int v = 0; v < vertices; ++v) {
    const auto i = static_cast<size_t>(v);
    network.add_pipe(2 * v, 2 * v + 1, problem.cost[i]);
    if (problem.source[i]) network.add_pipe(begin, 2 * v, kUnlimited);
    if (problem.sink[i]) network.add_pipe(2 * v + 1, end, kUnlimited);
    for (const int next : problem.successors[i]) network.add_pipe(2 * v + 1, 2 * next, kUnlimited);
  }
  network.fill(begin, end);
  std::vector<bool> cut;
  for (int v = 0; v < vertices; ++v) cut.push_back(network.is_reached(2 * v) && !network.is_reached(2 * v + 1));
  return cut;
}

}  // namespace neap::autodiff
