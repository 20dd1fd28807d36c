// Ranks that are threads of this process, each with a communicator of its own: collectives as processes run them.
#pragma once

#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace neap {

/// What is on its way between ranks.
class Mail {
 public:
  void send(int64_t from, int64_t to, int line, std::vector<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    boxes_[{from, to, line}].push_back(std::move(bytes));
    changed_.notify_all();
  }
  std::vector<std::byte> receive(int64_t from, int64_t to, int line) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to, line}];
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !box.empty() || closed_; }) || box.empty())
      throw CommunicationError("no message of rank " + std::to_string(from));
    std::vector<std::byte> bytes = std::move(box.front());
    box.pop_front();
    return bytes;
  }
  /// Nobody waits any more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::map<std::tuple<int64_t, int64_t, int>, std::deque<std::vector<std::byte>>> boxes_;
};

/// One axis: `line` tells it from others of the same mesh, and from parallel ones.
class ThreadRank : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Mail> mail, int line, int64_t rank, int64_t size)
      : mail_(std::move(mail)), line_(line), rank_(rank), size_(size) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  void exchange(std::span<const Message> sends, std::span<const Message> receives, std::string_view what,
                std::source_location) override {
    for (const Message& m : sends) mail_->send(rank_, m.peer, line_, {m.bytes, m.bytes + m.size});
    for (const Message& m : receives) {
      const std::vector<std::byte> bytes = mail_->receive(m.peer, rank_, line_);
      if (bytes.size() != m.size)
        throw CommunicationError(std::string(what) + ": " + std::to_string(bytes.size()) + " bytes, not " +
                                 std::to_string(m.size));
      std::ranges::copy(bytes, m.bytes);
    }
  }

 private:
  std::shared_ptr<Mail> mail_;
  int line_;
  int64_t rank_, size_;
};

/// Calls f(mesh) on a thread for each rank of the axes. Throws what the first rank threw.
inline void on_threads(const Mesh::Axes& axes, const std::function<void(const Mesh&)>& f) {
  const auto mail = std::make_shared<Mail>();
  const int64_t ranks = Mesh::emulated(axes).ranks();
  std::vector<std::exception_ptr> thrown(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        std::vector<std::pair<std::string, std::shared_ptr<Communicator>>> mine;
        int64_t inner = ranks;
        for (const auto& [name, size] : axes) {
          const int64_t stride = inner / size, place = r / stride % size;
          const auto line = static_cast<int>((r - place * stride) + ranks * std::ssize(mine));
          mine.emplace_back(name, std::make_shared<ThreadRank>(mail, line, place, size));
          inner = stride;
        }
        f(Mesh::processes(mine));
      } catch (...) {
        thrown[static_cast<size_t>(r)] = std::current_exception();
        mail->close();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}

/// Whether two arrays are the same to the bit.
inline void expect_same(const Array& got, const Array& expected, const std::string& what = "") {
  ASSERT_EQ(got.aval(), expected.aval()) << what;
  const auto a = got.raw(), b = expected.raw();
  EXPECT_TRUE(std::ranges::equal(a, b)) << what << "\n" << to_string(got) << "\n" << to_string(expected);
}

}  // namespace neap
