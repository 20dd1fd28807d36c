#include "bench/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "bench/scratch.h"

namespace bench {
namespace {

constexpr int kPipe = 3;  // the child's end

[[noreturn]] void become_child(const std::string& request, int write_end) {
  // What the case prints must not mix with results; dup2 onto itself would keep close-on-exec set.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (write_end == kPipe) {
    fcntl(kPipe, F_SETFD, 0);
  } else {
    dup2(write_end, kPipe);
  }
  const char* argv[] = {"neap-bench", kChildFlag, request.c_str(), nullptr};
  execv("/proc/self/exe", const_cast<char* const*>(argv));
  _exit(127);
}

void take_message(const std::string& line, RunResult& result, const std::function<void(const std::string&)>& progress) {
  const Json message = Json::parse(line, nullptr, false);
  if (message.is_discarded()) return;
  if (message.contains("progress")) progress(message["progress"].get<std::string>());
  if (message.contains("row")) result.row = message["row"];
  if (message.contains("error")) result.error = message["error"].get<std::string>();
}

}  // namespace

RunResult run_fresh(const Request& request, const std::function<void(const std::string&)>& progress) {
  const ScratchFolder cache;  // the child writes there until its last moment
  Request told = request;
  told.cache = cache.path();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
  const std::string text = nlohmann::json(told).dump();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) become_child(text, ends[1]);
  close(ends[1]);

  RunResult result;
  std::string pending;
  char buffer[1 << 16];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    pending.append(buffer, static_cast<size_t>(n));
    for (size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      take_message(pending.substr(0, end), result, progress);
    }
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  if (result.exit_code != 0) {
    result.row = nullptr;
    if (result.error.empty()) {
      result.error = WIFSIGNALED(status) ? fmt::format("{} ({}) ended by {}", request.name, request.pipeline,
                                                       strsignal(WTERMSIG(status)))
                                         : fmt::format("{} ({}) failed", request.name, request.pipeline);
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) result.error += "; the system ran out of memory?";
    }
  }
  return result;
}

void send_to_parent(const Json& message) {
  const std::string line = message.dump() + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(kPipe, line.data() + sent, line.size() - sent);
    if (n < 0 && errno != EINTR) return;  // run by hand, without a parent
    if (n > 0) sent += static_cast<size_t>(n);
  }
}

}  // namespace bench
