#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/testing/frames.h"
#include "parsers/testing/harness.h"
#include "parsers/transactions/degraded/wrapping.h"

namespace tapline::testing {

// What a parser of transactions made of a degraded capture.
struct PairScore {
  // Pairs told of the whole capture, both of whose first frames are unaltered in the degraded one.
  uint64_t eligible = 0;
  uint64_t right = 0;   // of these, told again
  uint64_t partly = 0;  // of these, told with fields left empty (JudgedTuple::may_forget)
  // The same for those that shared the frame of their request with others: what a gap takes away of several answers in
  // a row, nothing gives back.
  uint64_t batched = 0;
  uint64_t batched_right = 0;
  uint64_t batched_partly = 0;
  uint64_t wrong = 0;       // whole transactions that the whole capture does not have
  uint64_t unknowable = 0;  // the same, but nothing that was captured speaks against them (JudgedTuple::asked_again)
  uint64_t again = 0;       // told more often than there
  uint64_t half_requests = 0;
  uint64_t half_responses = 0;
  // Requests whose response is not there, and the other way round, of what is told of the whole capture.
  uint64_t alone = 0;
  std::vector<std::string> examples;  // of what is wrong
  std::vector<std::string> missed;    // eligible, and not right

  PairScore& operator+=(const PairScore& other);
};

// What of a parser's tuples is judged.
struct JudgedTuple {
  std::string parser;
  std::vector<std::string> fields;      // have to be the same in a right pair
  std::string since = "first_byte_ns";  // from the first byte of the request to that of the response
  // What refers to bytes that were lost stays empty, or 0, and where the tuple says that it is `cut` texts may end
  // early and requests begin late: such a pair is told in part, and not wrong.
  bool may_forget = false;
  // A field that counts how often a question was asked before the answer came: where its answer was lost a question
  // that is asked anew looks the same.
  std::string asked_again = {};
  // Copies of datagrams are for the monitor to drop (--duplicates drop), which is done here then.
  bool drop_copies = false;
};

// Of a degraded capture, beside its frames.
struct JudgedCapture {
  Wrapping wrapping = Wrapping::kNone;
  // So many requests of each connection, the first that the degraded capture has, are not counted: a parser that joins
  // in the middle may need them to know what it sees.
  uint32_t joining = 0;
};

// Holds what a parser makes of degraded captures against what it made of the whole one, which other tests compare with
// logs. Frames get times of which any two have another distance, so the time from request to response names the frame
// in which its request began and the one in which its response did.
class PairJudge {
 public:
  // At most 262,000 frames.
  PairJudge(JudgedTuple judged, std::vector<Frame> frames);

  PairScore judge(const http::Degraded& degraded, JudgedCapture capture = {}) const;
  const std::vector<Frame>& frames() const { return frames_; }
  size_t pairs() const;

 private:
  using Pair = std::pair<uint32_t, uint32_t>;  // frames of request and response
  using Values = std::vector<std::string>;
  struct Details {
    Values values;
    bool cut = false;
    bool asked_again = false;
    auto operator<=>(const Details&) const = default;
  };
  using Told = std::map<Pair, std::map<Details, uint64_t>>;
  using Frames = std::set<uint32_t>;
  using Order = std::map<uint32_t, size_t>;  // of the frames of a degraded capture

  using Connections = std::map<std::string, Frames>;  // where requests begin

  Told told_of(const std::vector<Frame>& frames, PairScore* score, Connections* connections = nullptr) const;
  Frames joining(const Frames& whole, uint32_t requests) const;
  void note_copies();
  Told by_first_copies(const Told& told, const Order& order) const;
  void count_right(const Pair& pair, const std::map<Details, uint64_t>& truth, const Told& told, bool batched,
                   PairScore* score) const;
  void count_wrong(const Pair& pair, const std::map<Details, uint64_t>& told, const Frames& whole,
                   const Frames& altered, PairScore* score) const;
  bool is_of(const Pair& pair, const Details& told, bool readable) const;
  bool begins_late(const Pair& pair, const Details& told) const;
  bool is_part_of(const Details& told, const Values& truth) const;
  bool frames_of(int64_t distance_ns, Pair* pair) const;

  JudgedTuple judged_;
  std::vector<Frame> frames_;
  Told truth_;
  Connections connections_;
  std::multimap<uint32_t, uint32_t> asked_;  // of the truth's pairs: the request's frame by the response's
  std::map<uint32_t, uint32_t> first_copy_;  // of frames that were sent again: the first
};

}  // namespace tapline::testing
