// Random triggers, and packets that often match them: values come from small pools.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "parsers/packets/tcp_facts.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger::testing {

struct RandomOptions {
  size_t triggers = 30;
  size_t samples = 400;
  int64_t duration_ns = 40'000'000;
  bool bursts = false;
  bool alerts = false;    // some triggers have `clear`, `after` or `cooldown`
  bool panes = false;     // half of the windows overlap
  bool silence = false;   // groups without packets may meet conditions
  bool sketches = false;  // half of the measures are numbers of distinct values or quantiles
};

class RandomTraffic {
 public:
  RandomTraffic(uint32_t seed, const RandomOptions& options);

  std::vector<Trigger> triggers();
  // Returns samples in order of arrival: some are older than the previous one.
  std::vector<Sample> samples();
  std::vector<TcpFacts> facts(const std::vector<Sample>& samples);

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  IpAddress address();
  Prefix prefix();
  Filter filter();
  GroupBy group();
  Measure measure();
  Expression value();
  Expression comparison(bool may_hold_when_empty);
  Expression condition(bool may_hold_when_empty);

  std::mt19937 random_;
  RandomOptions options_;
  uint32_t first_group_;  // a program has triggers of two kinds of groups, and two windows
  int64_t every_ns_[2];
  int64_t panes_[2];  // panes per overlapping window
};

}  // namespace tapline::trigger::testing
