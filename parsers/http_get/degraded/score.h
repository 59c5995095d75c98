#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/http_get/degraded/transactions.h"

namespace tapline::http {

// What http_get made of a degraded capture, held against the transactions of the undegraded one.
struct Score {
  uint64_t eligible = 0;  // pairs whose two heads are wholly in the degraded capture
  uint64_t right = 0;     // of these, told once and as they are
  uint64_t wrong = 0;     // tuples that join what does not belong together, or say what nobody said
  uint64_t again = 0;     // tuples of a pair that had been told before
  uint64_t resized = 0;   // right pairs with other sizes than on the wire
  uint64_t tuples = 0;
  uint64_t half_requests = 0;
  uint64_t half_responses = 0;
  // The halves that there should be where one direction is missing, and how many of them were told.
  uint64_t one_way = 0;
  uint64_t one_way_told = 0;
  std::vector<std::string> examples;  // of what is not right

  Score& operator+=(const Score& other);
};

// Runs the degraded capture through an engine with http_get. Packets get new, unique times that rise in its order, so
// that a tuple's times say which packets it was made of.
Score score(const std::vector<testing::Frame>& frames, const std::vector<Transaction>& truth, const Degraded& degraded,
            Degradation degradation = Degradation::kNone, uint32_t seed = 0);

}  // namespace tapline::http
