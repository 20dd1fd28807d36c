#include "core/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/os/os.h"

namespace neap {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRedraw{100};  // between two drawings on a terminal
constexpr int kNextLine = 3;          // delays between two lines elsewhere

thread_local Progress* innermost = nullptr;

// What is drawn at the moment, and by whom. Nobody waits for it: who finds it taken draws nothing this time.
struct Screen {
  std::mutex mutex;
  const Progress* owner = nullptr;  // the outermost object whose line was drawn last; null: nothing is on the screen
};

Screen& screen() {
  static Screen& instance = *new Screen;  // never destroyed: a loop may run in the destructor of a static object
  return instance;
}

// Since the steady clock's epoch, in milliseconds: nothing is drawn before.
std::atomic<int64_t> next_drawing{0};

bool terminal() {
  static const bool is = os::columns_of_errors() > 0;
  return is;
}

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

std::string shown_time(double s) {
  if (s < 100) return fmt::format("{:.1f} s", s);
  const auto whole = static_cast<int64_t>(s);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

// Names are the user's: no control character may move the cursor.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return text;
}

// At most `width` bytes; a letter of several is kept or left out.
std::string cut(std::string text, size_t width) {
  if (text.size() <= width) return text;
  size_t end = width - 2;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return text.substr(0, end) + "..";
}

void write(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::atomic<milliseconds> progress_delay{milliseconds{1000}};

bool read_progress_variable() {
  const char* text = std::getenv("NEAP_PROGRESS");
  return text && *text && std::string_view(text) != "0";
}

// Draws as time goes by, from the delay on to the end of its life.
class Progress::Ticker {
 public:
  explicit Ticker(Progress& progress)
      : thread_([this, &progress] {
          std::unique_lock lock(mutex_);
          milliseconds pause = progress_delay.load();
          while (!ended_.wait_for(lock, pause, [this] { return over_; })) {
            progress.draw_now_and_then();
            pause = kRedraw;
          }
        }) {}
  ~Ticker() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;  // the last member: it uses the others
};

Progress* Progress::current() { return innermost; }

Progress::Progress(std::string what, std::string_view unit, int64_t parts, Clock clock)
    : what_(printable(std::move(what))),
      unit_(unit),
      parts_(parts),
      begin_(std::chrono::steady_clock::now()),
      outer_(innermost),
      outermost_(outer_ ? outer_->outermost_ : this) {
  if (clock == Clock::ticks) {
    try {
      ticker_ = std::make_unique<Ticker>(*this);
    } catch (const std::system_error&) {  // no more threads: nothing is shown
    }
  }
  innermost = this;
}

Progress::~Progress() {
  ticker_.reset();
  innermost = outer_;
  if (outer_) return;
  Screen& s = screen();
  const std::lock_guard lock(s.mutex);
  if (s.owner != this) return;
  s.owner = nullptr;
  next_drawing.store(0, std::memory_order_relaxed);
  const double lasted = seconds(std::chrono::steady_clock::now() - begin_);
  write(terminal() ? "\r\033[K" : fmt::format("neap: {}: over after {}\n", what_, shown_time(lasted)));
}

void Progress::draw_now_and_then() {
  const Time now = std::chrono::steady_clock::now();
  if (now - outermost_->begin_ < progress_delay.load(std::memory_order_relaxed)) return;
  const int64_t at = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
  if (at < next_drawing.load(std::memory_order_relaxed)) return;
  Screen& s = screen();
  const std::unique_lock lock(s.mutex, std::try_to_lock);
  if (!lock || (s.owner && s.owner != outermost_)) return;
  s.owner = outermost_;
  next_drawing.store(at + (terminal() ? kRedraw : kNextLine * progress_delay.load()).count(),
                     std::memory_order_relaxed);
  const std::string text = "neap: " + line(now);
  write(terminal() ? "\r\033[K" + cut(text, static_cast<size_t>(std::max(os::columns_of_errors(), 20)) - 1)
                   : text + "\n");
}

std::string Progress::line(Time now) const {
  std::vector<const Progress*> chain;
  for (const Progress* p = this; p; p = p->outer_) {
    if (p == outermost_ || now - p->begin_ >= progress_delay.load(std::memory_order_relaxed)) chain.push_back(p);
  }
  std::string text = shown_time(seconds(now - outermost_->begin_));
  bool estimated = false;  // of the outermost loop alone: what is in it begins again and again
  for (size_t i = chain.size(); i-- > 0;) {
    const bool estimate = !estimated && chain[i]->unit_ == "iteration", inner = i + 1 < chain.size();
    // Where loops are in a step, they tell more than its number.
    text += (inner ? "; " : ", ") + (i > 0 && !inner ? chain[i]->what_ : chain[i]->part(now, estimate));
    estimated = estimated || estimate;
  }
  return text;
}

std::string Progress::part(Time now, bool estimate) const {
  const int64_t done = done_.load(std::memory_order_relaxed);
  if (parts_ <= 1 && (parts_ == 1 || done == 0)) return what_;
  if (parts_ == 0) return fmt::format("{}: {} {}", what_, unit_, done);
  const std::string count = fmt::format("{} {} of {}", unit_, done, parts_);
  if (!estimate || done <= 0 || done >= parts_) return what_ + ": " + count;
  const double part = static_cast<double>(done) / static_cast<double>(parts_);
  const std::string left = shown_time(seconds(now - begin_) * (1 / part - 1));
  return fmt::format("{}: {:.0f} %, {} left, {}", what_, 100 * part, left, count);
}

}  // namespace neap
