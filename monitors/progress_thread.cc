#include "monitors/progress_thread.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "packet_io/dpdk/interface.h"

namespace tapline {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);

}  // namespace

ProgressThread::ProgressThread(std::vector<const LaneProgress*> lanes, uint64_t incarnation,
                               std::vector<std::string> interfaces, MessageReporter* reporter,
                               std::function<void()> renew)
    : lanes_(std::move(lanes)),
      incarnation_(incarnation),
      interfaces_(std::move(interfaces)),
      reporter_(reporter),
      renew_(std::move(renew)),
      packets_before_(counted().value_or(0)),
      thread_([this] { run(); }) {}

ProgressThread::~ProgressThread() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProgressThread::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kProgressEvery, [this] { return done_; })) {
    report();
    if (incarnation_ != 0) report_copies();
    renew_();
  }
  report();
}

void ProgressThread::report() const {
  uint64_t packets = 0, bytes = 0;
  for (const LaneProgress* lane : lanes_) {
    packets += lane->packets.load(std::memory_order_relaxed);
    bytes += lane->bytes.load(std::memory_order_relaxed);
  }
  // Only capture files have an end, and only the first lane reads them.
  double fraction = lanes_[0]->fraction.load(std::memory_order_relaxed);
  reporter_->progress(packets, bytes, fraction < 0 ? std::nullopt : std::optional(fraction));
}

std::optional<uint64_t> ProgressThread::counted() const {
  uint64_t packets = 0;
  for (const std::string& interface : interfaces_) {
    const std::optional<uint64_t> here = packets_on(interface);
    if (!here) return std::nullopt;
    packets += *here;
  }
  return interfaces_.empty() ? std::nullopt : std::optional(packets);
}

// Reports the number of packets that arrived, except those that are not IP, which are never mirrored. GRO may have
// merged several packets into one frame, so the interfaces' counters are used if they show more.
void ProgressThread::report_copies() const {
  LaneProgress::Arrived all = lanes_[0]->arrived.get();
  for (const LaneProgress* lane : std::span(lanes_).subspan(1)) {
    const LaneProgress::Arrived arrived = lane->arrived.get();
    all = {all.packets + arrived.packets, all.not_ip + arrived.not_ip, std::min(all.until_ns, arrived.until_ns)};
  }
  const uint64_t packets = counted().value_or(packets_before_) - packets_before_;
  if (all.until_ns > 0) reporter_->copies(incarnation_, std::max(all.packets, packets) - all.not_ip, all.until_ns);
}

}  // namespace tapline
