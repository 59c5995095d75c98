#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/http_get/degraded/transactions.h"

namespace tapline::http {

// The result of comparing http_get's output for a degraded capture with the transactions of the original.
struct Score {
  uint64_t eligible = 0;  // pairs whose two heads are complete in the degraded capture
  uint64_t right = 0;     // pairs reported once and correctly
  uint64_t wrong = 0;     // tuples of unrelated requests and responses, or with data never sent
  uint64_t repeated = 0;  // further tuples of a pair that was already reported
  uint64_t resized = 0;   // correct pairs whose sizes differ from those on the wire
  uint64_t tuples = 0;
  uint64_t half_requests = 0;
  uint64_t half_responses = 0;
  // The number of messages expected on connections with a missing direction, and how many of them were reported.
  uint64_t one_way = 0;
  uint64_t one_way_reported = 0;
  std::vector<std::string> examples;  // examples of errors

  Score& operator+=(const Score& other);
};

// Runs the degraded capture through an engine with http_get. Packets get new, unique, ascending times, so that a
// tuple's times identify its packets.
Score score(const std::vector<testing::Frame>& frames, const std::vector<Transaction>& truth, const Degraded& degraded,
            Degradation degradation = Degradation::kNone, uint32_t seed = 0);

}  // namespace tapline::http
