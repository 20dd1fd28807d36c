// Sums over ranks, message by message: the tree's bits, and as many exchanges and bytes as the plan says.
#include "trace/graph/collective.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/convert.h"
#include "tests/spmd/thread_ranks.h"
#include "trace/graph/graph.h"

namespace neap::tracing {
namespace {

// Counts, and holds the caller to what neap/communicator.h says.
class Counted : public ThreadRank {
 public:
  using ThreadRank::ThreadRank;
  void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view what,
                std::source_location line) override {
    for (const auto& messages : {sends, receives}) {
      std::set<int64_t> peers;
      for (const Message& m : messages)
        if (m.peer == rank() || !peers.insert(m.peer).second) throw CommunicationError("two messages of a rank");
    }
    for (const Message& m : sends) bytes += m.size;
    ++exchanges;
    ThreadRank::exchange(sends, receives, what, line);
  }
  size_t bytes = 0;
  int64_t exchanges = 0;
};

// In f32, rounded once.
template <class T>
std::vector<T> tree_of(std::vector<std::vector<float>> values) {
  while (values.size() > 1) {
    const auto h = static_cast<size_t>(rank_tree_half(std::ssize(values)));
    for (size_t i = 0; i + h < values.size(); ++i)
      for (size_t j = 0; j < values[i].size(); ++j) values[i][j] += values[i + h][j];
    values.resize(h);
  }
  std::vector<T> sums;
  for (const float x : values[0]) sums.push_back(convert_element<T>(x));
  return sums;
}

template <class T>
void check_sum(int64_t ranks, int64_t count, DType dtype, int64_t exchanges_wanted) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(count) + " of " + std::string(name(dtype)));
  const auto n = static_cast<size_t>(count);
  std::vector<std::vector<T>> blocks;
  std::vector<std::vector<float>> values;
  for (int64_t r = 0; r < ranks; ++r) {
    for (size_t i = 0; i < n; ++i) {
      const float x = static_cast<float>((7919 * (r + 1) * static_cast<int64_t>(i + 3)) % 10007) / 997.0f - 5;
      if (i == 0) blocks.emplace_back(), values.emplace_back();
      blocks.back().push_back(convert_element<T>(x));
      values.back().push_back(convert_element<float>(blocks.back().back()));
    }
  }
  const std::vector<T> expected = tree_of<T>(values);
  const auto mail = std::make_shared<Mail>();
  std::atomic<int> wrong = 0;
  size_t most = 0;
  std::vector<std::shared_ptr<Counted>> communicators;
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < ranks; ++r) communicators.push_back(std::make_shared<Counted>(mail, 0, r, ranks));
  const Aval block{{count}, dtype};
  for (int64_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        Graph graph;
        const auto axis = std::make_shared<const MeshAxis>(MeshAxis{"x", ranks, communicators[static_cast<size_t>(r)]});
        const ValueId sum = graph.add(Op::psum, {graph.add_input(block)}, {{Attr::mesh_axis, MeshAxisPtr(axis)}});
        std::vector<T> out(n);
        const std::array in{reinterpret_cast<const std::byte*>(blocks[static_cast<size_t>(r)].data())};    // NOLINT
        Collective(*graph.def(sum), std::array{block}).run(in, reinterpret_cast<std::byte*>(out.data()));  // NOLINT
        if (std::memcmp(out.data(), expected.data(), n * sizeof(T)) != 0) ++wrong;
      } catch (const std::exception&) {
        ++wrong;
        mail->close();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (const auto& one : communicators) {
    EXPECT_EQ(one->exchanges, exchanges_wanted);
    most = std::max(most, one->bytes);
  }
  EXPECT_EQ(exchanges(Op::psum, block, ranks), exchanges_wanted);
  const size_t at_most = sent_bytes(Op::psum, block, ranks);
  EXPECT_LE(most, at_most);
  EXPECT_LE(at_most,
            most + most / (exchanges_wanted > 2 ? 8 : SIZE_MAX));  // some rank may come by each level of a tree
}

TEST(Collective, SmallSumsWaitOnce) {
  check_sum<float>(2, 1, f32, 1);
  check_sum<float>(8, 500, f32, 1);
  check_sum<float16>(5, 77, f16, 1);
  check_sum<float>(128, 3, f32, 1);
}

// Parts that are equal, that are not, and ranks that have none.
TEST(Collective, LargeSumsWaitTwice) {
  check_sum<float>(2, 40000, f32, 2);
  check_sum<float>(5, 40001, f32, 2);
  check_sum<bfloat16>(8, 5003, bf16, 2);
  for (const int64_t count : {241, 256, 257}) check_sum<float>(17, count, f32, 2);
  check_sum<float>(40, 645, f32, 2);
  check_sum<float>(80, 1332, f32, 2);
  check_sum<float>(128, 2081, f32, 2);
}

TEST(Collective, SumsOfManyRanksGoAlongTheTree) {
  check_sum<float>(130, 5, f32, 2 * 8);
  check_sum<float16>(130, 30000, f16, 8 * 2 * 8);  // in 8 segments
  check_sum<float>(130, 70001, f32, 2 + 2 * 8);    // in parts but for the last 61
}

}  // namespace
}  // namespace neap::tracing
