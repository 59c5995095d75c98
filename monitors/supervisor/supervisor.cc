#include "monitors/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "packet_io/base/clock.h"

namespace tapline {
namespace {

constexpr int kLookEveryMs = 20;
constexpr int64_t kMinuteNs = 60 * kNsPerSecond;
constexpr int64_t kFirstPauseNs = 100'000'000;
constexpr int64_t kLongestPauseNs = 5 * kNsPerSecond;
constexpr uint32_t kStrikes = 2;
constexpr int kLooksAtArrivals = 10;

// Blocks SIGTERM and SIGINT during its lifetime.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, &before_);
  }
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

#if !defined(__SANITIZE_ADDRESS__)
MonitorPage* page_of_handler = nullptr;

// Records the plug-in in which the thread received the signal. Then raises the signal again, with its default effect.
void note_culprit(int signal) {
  page_of_handler->culprit.store(call_mark().plugin.load(std::memory_order_relaxed));
  raise(signal);
}

void watch_signals(MonitorPage* page) {
  page_of_handler = page;
  struct sigaction action = {};
  action.sa_handler = note_culprit;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}
#else
void watch_signals(MonitorPage*) {}  // The sanitizers' own signal handlers report more.
#endif

[[noreturn]] void be_worker(const std::function<int(MonitorPage*)>& work, MonitorPage* page, int supervisor) {
  // Makes the kernel kill the worker when its supervisor ends for any reason.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(1);
  watch_signals(page);
  int code = work(page);
  page->phase.store(MonitorPage::Phase::kFinished);
  _exit(code);
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, Reporter* reporter, const std::atomic<bool>* stop)
    : options_(std::move(options)), reporter_(reporter), stop_(stop), watchdog_(options_.watchdog_ns) {}

Status Supervisor::run(const std::function<int(MonitorPage*)>& work, int* exit_code) {
  page_ = map_monitor_page();
  if (page_ == nullptr)
    return Status::resources("not enough memory for the data that the monitor shares with its supervisor");
  if (!options_.interfaces.empty()) arrivals_.open(options_.interfaces);
  while (true) {
    if (Status status = start_worker(work); !status.ok()) return status;
    last_death_ = await();
    if (page_->phase.load() == MonitorPage::Phase::kFinished) {
      *exit_code = WIFEXITED(last_death_.wait_status) ? WEXITSTATUS(last_death_.wait_status)
                                                      : 128 + WTERMSIG(last_death_.wait_status);
      return {};
    }
    page_->died_at_ns = monotonic_ns();
    settle_after_exit(page_.get());
    blame(last_death_);
    if (Status status = pause(); !status.ok()) return status;
  }
}

Status Supervisor::start_worker(const std::function<int(MonitorPage*)>& work) {
  ++page_->worker;
  page_->culprit.store(0);
  page_->phase.store(MonitorPage::Phase::kStarting);
  watchdog_.reset();
  looks_left_ = kLooksAtArrivals;
  unseen_ = UINT64_MAX;
  int supervisor = getpid();
  BlockedSignals until_its_recipient_is_known;
  stop_forwarded_ = stop_->load();
  worker_ = fork();
  if (worker_ < 0)
    return Status::resources(std::string("can't create a process for the monitor: ") + std::strerror(errno));
  if (worker_ == 0) {
    arrivals_.close();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    be_worker(work, page_.get(), supervisor);
  }
  worker_fd_ = static_cast<int>(syscall(SYS_pidfd_open, worker_, 0));
  return {};
}

Supervisor::WorkerExit Supervisor::await() {
  WorkerExit death;
  pollfd end = {worker_fd_, POLLIN, 0};
  while (true) {
    forward_stop();
    if (poll(&end, 1, kLookEveryMs) < 0 && errno != EINTR) usleep(kLookEveryMs * 1000);
    if (waitpid(worker_, &death.wait_status, WNOHANG) == worker_) break;
    count_missed();
    death.plugin = watchdog_.look(*page_, worker_, monotonic_ns());
    if (death.plugin == 0) continue;
    death.hung = true;
    kill(worker_, SIGKILL);
    waitpid(worker_, &death.wait_status, 0);
    break;
  }
  if (worker_fd_ >= 0) close(worker_fd_);
  if (death.plugin == 0) death.plugin = page_->culprit.load();
  for (size_t i = 0; death.plugin == 0 && i < kMaxSupervisedLanes; ++i) {
    death.plugin = page_->lanes[i].call.plugin.load(std::memory_order_relaxed);
  }
  return death;
}

void Supervisor::forward_stop() {
  if (stop_forwarded_ || !stop_->load()) return;
  stop_forwarded_ = true;
  kill(worker_, SIGTERM);
}

// Compares the interfaces' arrivals with the packets that all workers have seen, once the current worker is capturing.
// Uses the minimum of several samples, since the others may include packets in flight.
void Supervisor::count_missed() {
  if (looks_left_ == 0 || !arrivals_.open() || page_->phase.load() != MonitorPage::Phase::kRunning) return;
  uint64_t seen = 0;
  for (const LanePage& lane : page_->lanes) seen += lane.accounting.received;
  const uint64_t arrived = arrivals_.read();
  unseen_ = std::min(unseen_, arrived - std::min(arrived, seen));
  // Every sample is stored, since the first worker may crash before the last one.
  if (!page_->restarted()) unseen_at_start_ = unseen_;
  if (--looks_left_ > 0) return;
  page_->missed.store(unseen_ - std::min(unseen_, unseen_at_start_));
}

std::string Supervisor::describe(const WorkerExit& death) const {
  std::string cause = "ended with exit code " + std::to_string(WEXITSTATUS(death.wait_status));
  if (WIFSIGNALED(death.wait_status)) {
    cause = "crashed (SIG" + std::string(sigabbrev_np(WTERMSIG(death.wait_status))) + ")";
  }
  if (death.hung) cause = "did not return within " + std::to_string(options_.watchdog_ns / kNsPerMs) + " ms";
  return cause;
}

void Supervisor::blame(const WorkerExit& death) {
  std::string counted = "; the monitor restarts, and its losses are counted as monitor_restarted";
  if (!arrivals_.open() && options_.live)
    counted += " except for packets that arrive meanwhile, which this port does not count";
  if (death.plugin == 0 || death.plugin > options_.plugins.size()) {
    deaths_.push_back(page_->died_at_ns);
    reporter_->warning("the monitor " + describe(death) + " outside of all plug-ins" + counted);
    return;
  }
  PluginPage& plugin = page_->plugins[death.plugin - 1];
  ++plugin.strikes;
  plugin.left_out = plugin.strikes >= kStrikes;
  const char* left_out =
      "; this was its second failure, so the plug-in is disabled; queries count the flows that it would have seen as "
      "plugin_left_out";
  reporter_->warning("plug-in " + options_.plugins[death.plugin - 1] + " " + describe(death) + counted +
                     (plugin.left_out ? left_out : ""));
}

// Pauses before a restart, or fails after too many deaths outside plug-ins. A death in a plug-in causes no pause: the
// second one disables the plug-in, so such deaths can't recur often.
Status Supervisor::pause() {
  if (last_death_.plugin != 0) return {};
  while (!deaths_.empty() && page_->died_at_ns - deaths_.front() > kMinuteNs) deaths_.pop_front();
  if (deaths_.size() >= options_.max_deaths) {
    return Status::internal("the monitor " + describe(last_death_) + "; this happened " +
                            std::to_string(deaths_.size()) + " times within a minute, so it is not restarted");
  }
  int64_t pause_ns = std::min(kLongestPauseNs, kFirstPauseNs << (deaths_.size() - 1));
  for (int64_t end_ns = monotonic_ns() + pause_ns; monotonic_ns() < end_ns && !stop_->load();)
    usleep(kLookEveryMs * 1000);
  return {};
}

}  // namespace tapline
