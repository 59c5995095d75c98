#include "monitors/output/line_writer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "packet_io/base/clock.h"

namespace tapline {
namespace {

// Small enough that a slow reader's progress is detected.
constexpr size_t kPieceBytes = 64 * 1024;

std::string describe(int error) {
  std::string message = std::string("writing to standard output failed: ") + std::strerror(error);
  if (error == ENOSPC) message += "; free some space or write elsewhere";
  if (error == EPIPE) message += "; its reader has closed it";
  return message;
}

// Returns about kPieceBytes of the text, up to the end of a line.
std::string_view whole_lines(std::string_view text) {
  size_t end = text.find('\n', kPieceBytes);
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

// Several lanes may write to one descriptor, and a write may be split.
std::mutex one_at_a_time;

}  // namespace

Status write_all(int fd, std::string_view text) {
  std::lock_guard lock(one_at_a_time);
  while (!text.empty()) {
    ssize_t bytes_written = write(fd, text.data(), text.size());
    if (bytes_written >= 0) {
      text.remove_prefix(static_cast<size_t>(bytes_written));
    } else if (errno != EINTR) {
      return Status::resources(describe(errno));
    }
  }
  return {};
}

struct LineWriter::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  // Empty if everything is written. Otherwise, only the writer's thread accesses it.
  std::string writing;
  bool busy = false;
  bool stop = false;
  int64_t last_written_at_ns = 0;
  Status status;
  // True if `status` is an error; readable without the mutex.
  std::atomic<bool> failed{false};
};

LineWriter::LineWriter(int fd) : state_(std::make_shared<State>()) {
  std::thread([fd, state = state_] { run(fd, state); }).detach();
}

LineWriter::~LineWriter() {
  std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
}

void LineWriter::run(int fd, const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->busy || state->stop; });
    if (state->stop) return;
    std::string_view left = state->writing;
    while (!left.empty() && state->status.ok() && !state->stop) {
      std::string_view piece = whole_lines(left);
      lock.unlock();
      Status status = write_all(fd, piece);
      lock.lock();
      state->status = std::move(status);
      state->failed = !state->status.ok();
      state->last_written_at_ns = monotonic_ns();
      left.remove_prefix(piece.size());
    }
    state->writing.clear();
    state->busy = false;
    state->changed.notify_all();
  }
}

bool LineWriter::offer(std::string* text) {
  // The thread holds the lock only briefly, but may be descheduled in that time.
  std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock.owns_lock() || state_->busy) return false;
  state_->writing.swap(*text);
  state_->busy = true;
  state_->changed.notify_all();
  return true;
}

bool LineWriter::flush(int64_t timeout_ns) {
  int64_t since_ns = monotonic_ns();
  std::unique_lock lock(state_->mutex);
  while (state_->busy) {
    int64_t left_ns = std::max(since_ns, state_->last_written_at_ns) + timeout_ns - monotonic_ns();
    if (left_ns <= 0) return false;
    state_->changed.wait_for(lock, std::chrono::nanoseconds(left_ns));
  }
  return true;
}

Status LineWriter::status() const {
  if (!state_->failed.load(std::memory_order_relaxed)) return {};
  std::lock_guard lock(state_->mutex);
  return state_->status;
}

}  // namespace tapline
