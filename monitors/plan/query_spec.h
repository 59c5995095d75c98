// What a monitor needs to know of a query.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitors/match/matcher.h"
#include "monitors/plan/thread_layout.h"
#include "monitors/shape/text_shape.h"

namespace tapline {

// Queries of one monitor process are numbered; packets and tuples carry them as bits of 64.
inline constexpr size_t kMostQueries = 64;

struct QuerySpec {
  std::string name = {};
  // What the plan calls this monitor's part, whichever process has it; empty: the process's own name.
  std::string monitor = {};
  uint32_t epoch = 0;
  std::string topic = {};
  uint32_t partition = 0;
  // Canonical names.
  std::vector<std::string> parsers = {};
  ConnectionMatch match = {};
  // Texts that don't leave the monitor as they are.
  std::vector<FieldShape> shapes = {};
  std::optional<int64_t> limit_duration_ns = {};
  std::optional<uint64_t> limit_packets = {};
  // More packets may be granted (LiveQueries::CreditQuery): when none are left, it waits.
  bool limit_leased = false;
  // How many of them are taken already.
  uint64_t limit_spent = 0;
  // What the plan asks of the monitor's threads.
  ThreadLayout threads = {};
  // How many of this monitor's parsing threads send batches of it.
  uint32_t lanes = 1;
  // Share of flows, 0 < rate <= 1.
  double sampling_rate = 1.0;
  // SAMPLE auto: the rate may be lowered to what can be taken. Otherwise what can't be taken is lost, and counted.
  bool rate_may_fall = false;
  // Switches may leave out flows that a rate leaves out: the far port decides first (flow_hash.h).
  bool sampled_by_port = false;
  // What the pipeline could take when it was last said.
  double pipeline_limit = 1.0;
  // Switches copy its packets, and have not confirmed yet that they copy all of them.
  bool copies_unconfirmed = false;
};

}  // namespace tapline
