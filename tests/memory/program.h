// A program that loads, plans, compiles, runs and saves, in processes of its own where one allocation, or several one
// after the other, fail: the error is clean, nothing stays counted as live, and the program then runs right.
#pragma once

#include <gtest/gtest.h>
#include <neap/neap.h>
#include <neap/safetensors.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/memory/failing.h"

namespace neap::failing {

inline std::vector<float> program(const std::filesystem::path& folder) {
  const auto in = load_safetensors(folder / "in.safetensors");
  const Array x = in.at("x"), w = in.at("w");
  const auto loss = [](const Array& w, const Array& x) { return mean(square(tanh(matmul(x, w)) - 0.25f)); };
  const auto step = jit(
      [=](const Array& w, const Array& x) {
        const auto [value, slope] = value_and_grad(loss)(w, x);
        return std::pair(value, w - 0.5f * slope);
      },
      {.name = "step"});
  const Plan plan = step.plan(spec({4, 3}, f32), spec({16, 4}, f32));
  const auto [value, next] = step(w, x);
  const Array large = exp(matmul(x, transpose(ones({1 << 14, 4}))));
  const Array sorted = sort(next, 0) + sum(large) * 0;
  save_npy(folder / "out.npy", sorted);
  save_safetensors(folder / "out.safetensors", {{"value", value}, {"next", next}});
  std::vector<float> result = load_npy(folder / "out.npy").to_vector<float>();
  result.push_back(value.item<float>());
  result.push_back(static_cast<float>(plan.peak_bytes()));
  return result;
}

enum Outcome { kRight = 0, kWrongNumbers = 10, kLiveBytes, kOtherError, kFailsAfterwards, kNotStarted };

// What the processes tell each other of.
struct Shared {
  size_t allocations = 0, numbers = 0;
  float expected[64] = {};
  char error[512] = {};
};

class Processes {
 public:
  Processes() : folder_(std::filesystem::path(testing::TempDir()) / ("neap-failing-" + std::to_string(getpid()))) {
    shared_ = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
    std::filesystem::create_directories(folder_);
  }
  ~Processes() {
    munmap(shared_, sizeof(Shared));
    std::filesystem::remove_all(folder_);
  }

  // Runs the program undisturbed; returns how many allocations it makes.
  size_t measure(int threads) {
    const int status = in_child([&] {
      set_num_threads(threads);
      save_safetensors(folder_ / "in.safetensors", {{"x", reshape(sin(arange(64)), {16, 4})}, {"w", ones({4, 3}) / 4}});
      return 0;
    });
    if (status != 0) return 0;
    const int measured = in_child([&] {
      set_num_threads(threads);
      arm(0, 0);
      const std::vector<float> result = program(folder_);
      disarm();
      shared_->allocations = seen;
      shared_->numbers = result.size();
      std::ranges::copy(result, shared_->expected);
      return 0;
    });
    return measured == 0 ? shared_->allocations : 0;
  }

  // An empty text, or what is wrong where `many` allocations fail from the n-th on.
  std::string fail(size_t n, size_t many, int threads) {
    shared_->error[0] = 0;
    const int status = in_child([&] {
      alarm(20);
      set_num_threads(threads);
      return attempt(n, many);
    });
    if (status == 0) return {};
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted) {
      ++not_started_;
      return {};
    }
    std::string text = "allocation " + std::to_string(n) + " of " + std::to_string(shared_->allocations) + ": ";
    if (WIFSIGNALED(status)) return text + strsignal(WTERMSIG(status)) + " " + shared_->error;
    switch (WEXITSTATUS(status)) {
      case kWrongNumbers: return text + "wrong numbers afterwards";
      case kLiveBytes: return text + "live_bytes() differs " + shared_->error;
      case kOtherError: return text + "another error: " + shared_->error;
      case kFailsAfterwards: return text + "fails afterwards: " + shared_->error;
      default: return text + "exit code " + std::to_string(WEXITSTATUS(status)) + " " + shared_->error;
    }
  }

  // Of those that failed: how many did so while LLVM made its own state of the process, so that it is refused for good.
  size_t not_started() const { return not_started_; }

 private:
  template <class F>
  int in_child(F&& f) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 1;
      try {
        code = f();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(code);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  int attempt(size_t n, size_t many) {
    const size_t before = memory::live_bytes();
    arm(n, many);
    try {
      program(folder_);
      disarm();
    } catch (const OutOfMemoryError& error) {
      note(error);
    } catch (const std::bad_alloc& error) {
      note(error);
    } catch (const std::exception& error) {
      note(error);
      return kOtherError;
    }
    if (memory::live_bytes() != before) return kLiveBytes;
    try {
      const std::vector<float> result = program(folder_);
      if (!std::ranges::equal(result, std::span(shared_->expected, shared_->numbers))) return kWrongNumbers;
    } catch (const OutOfMemoryError& error) {
      note(error);
      return std::string_view(error.what()).starts_with("out of memory: LLVM could not be started") ? kNotStarted
                                                                                                    : kFailsAfterwards;
    } catch (const std::exception& error) {
      note(error);
      return kFailsAfterwards;
    }
    return memory::live_bytes() == before ? kRight : kLiveBytes;
  }

  void note(const std::exception& error) {
    disarm();
    std::snprintf(shared_->error, sizeof shared_->error, "%s", error.what());
  }

  std::filesystem::path folder_;
  Shared* shared_;
  size_t not_started_ = 0;
};

}  // namespace neap::failing
