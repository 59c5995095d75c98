#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tapline::queues {

// The longest recent delay of a port with several classes (ConQuest section 3.6): packets that left within it may have
// delayed a packet of another class. Decays exponentially, with the time constant decay_ns.
class MaxDelay {
 public:
  explicit MaxDelay(int64_t decay_ns) : decay_ns_(decay_ns) {}

  void observe(int64_t departure_ns, int64_t delay_ns) {
    const auto passed_ns = static_cast<double>(std::max<int64_t>(departure_ns - last_ns_, 0));
    const double rest = static_cast<double>(delay_ns_) * std::exp(-passed_ns / static_cast<double>(decay_ns_));
    delay_ns_ = std::max(static_cast<int64_t>(rest), delay_ns);
    last_ns_ = departure_ns;
  }

  int64_t delay_ns() const { return delay_ns_; }

 private:
  int64_t decay_ns_;
  int64_t delay_ns_ = 0;
  int64_t last_ns_ = 0;
};

}  // namespace tapline::queues
