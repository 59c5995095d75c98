#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/testing/frames.h"
#include "parsers/testing/harness.h"

namespace tapline::testing {

// What a parser of transactions made of a degraded capture.
struct PairScore {
  uint64_t eligible =
      0;               // pairs told of the whole capture, both of whose first frames are unaltered in the degraded one
  uint64_t right = 0;  // of these, told again
  // The same for those that shared the frame of their request with others: what a gap takes away of several answers in
  // a row, nothing gives back.
  uint64_t batched = 0;
  uint64_t batched_right = 0;
  uint64_t wrong = 0;  // whole transactions that the whole capture does not have
  uint64_t again = 0;  // told more often than there
  uint64_t half_requests = 0;
  uint64_t half_responses = 0;
  std::vector<std::string> examples;  // of what is wrong
  std::vector<std::string> missed;    // eligible, and not right

  PairScore& operator+=(const PairScore& other);
};

// Holds what a parser makes of degraded captures against what it made of the whole one, which other tests compare with
// logs. Frames get times of which any two have another distance, so a tuple's first_byte_ns names the frame in which
// its request began and the one in which its response did.
class PairJudge {
 public:
  // `fields` are those that have to be the same in a right pair. At most 262,000 frames.
  PairJudge(std::string parser, std::vector<std::string> fields, std::vector<Frame> frames);

  PairScore judge(const http::Degraded& degraded) const;
  const std::vector<Frame>& frames() const { return frames_; }
  size_t pairs() const;

 private:
  using Pair = std::pair<uint32_t, uint32_t>;  // frames of request and response
  using Told = std::map<Pair, std::map<std::string, uint64_t>>;

  Told told_of(const std::vector<Frame>& frames, PairScore* score) const;
  bool frames_of(int64_t distance_ns, Pair* pair) const;

  std::string parser_;
  std::vector<std::string> fields_;
  std::vector<Frame> frames_;
  Told truth_;
};

}  // namespace tapline::testing
