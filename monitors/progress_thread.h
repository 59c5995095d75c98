#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "monitors/control/message_reporter.h"
#include "monitors/lane/lane.h"

namespace tapline {

// Twice a second, reports the progress of all lanes and renews the statistics for monitor_stats. Reports progress once
// more in the destructor.
class ProgressThread {
 public:
  // `incarnation` is reported together with the number of packets that arrived; 0: that number is not reported.
  ProgressThread(std::vector<const LaneProgress*> lanes, uint64_t incarnation, std::vector<std::string> interfaces,
                 MessageReporter* reporter, std::function<void()> renew);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  void run();
  void report() const;
  // Returns the number of packets on all interfaces, or nullopt if there are no interfaces or one of them has no
  // counter.
  std::optional<uint64_t> counted() const;
  void report_copies() const;

  std::vector<const LaneProgress*> lanes_;
  const uint64_t incarnation_;
  const std::vector<std::string> interfaces_;
  MessageReporter* reporter_;
  std::function<void()> renew_;
  const uint64_t packets_before_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace tapline
