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

// The result of a transaction parser on a degraded capture.
struct PairScore {
  // Pairs reported for the whole capture whose request and response both begin in frames that the degradation left
  // unaltered, except `batched` ones.
  uint64_t eligible = 0;
  uint64_t right = 0;   // eligible pairs reported again
  uint64_t partly = 0;  // eligible pairs reported with fields left empty (JudgedTuple::may_forget)
  // Such pairs whose request shares its frame with others: if a gap removes one of several consecutive responses, no
  // later data can reveal which.
  uint64_t batched = 0;
  uint64_t batched_right = 0;
  uint64_t batched_partly = 0;
  uint64_t wrong = 0;       // whole transactions that are not in the whole capture
  uint64_t unknowable = 0;  // wrong transactions that no captured data contradict (JudgedTuple::repeats_request)
  uint64_t repeated = 0;    // transactions reported more often than in the whole capture
  uint64_t half_requests = 0;
  uint64_t half_responses = 0;
  // Pairs, reported for the whole capture, for which only the request or only the response begins in an unaltered
  // frame.
  uint64_t alone = 0;
  std::vector<std::string> examples;  // examples of wrong ones
  std::vector<std::string> missed;    // eligible pairs that were not right

  PairScore& operator+=(const PairScore& other);
};

// The judged parts of a parser's tuples.
struct JudgedTuple {
  std::string parser;
  std::vector<std::string> fields;  // fields that must be equal in a correct pair
  // Field with the time from the first byte of the request to that of the response.
  std::string since = "first_byte_ns";
  // True if fields that refer to lost bytes are absent. If the tuple is marked `cut`, texts may also end early and
  // requests begin late. Such a pair counts as reported in part, not as wrong.
  bool may_forget = false;
  // A field that counts how often a request was sent before the response arrived: if the response was lost, a later
  // identical request can't be distinguished from a repetition.
  std::string repeats_request = {};
  // If true, the judge drops copies of datagrams, as the monitor does (--duplicates drop).
  bool drop_copies = false;
};

// Properties of a degraded capture other than its frames.
struct JudgedCapture {
  Wrapping wrapping = Wrapping::kNone;
  // Number of first requests of each connection to ignore in the degraded capture, because a parser that joins in the
  // middle may need them to identify the protocol.
  uint32_t joining = 0;
};

// Compares a parser's output for degraded captures with its output for the whole one, which other tests compare with
// logs. Frames get times whose pairwise distances are all different, so the time from request to response identifies
// the frames in which both began.
class PairJudge {
 public:
  // Accepts at most 262,000 frames.
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
    bool repeats_request = false;
    auto operator<=>(const Details&) const = default;
  };
  using Reported = std::map<Pair, std::map<Details, uint64_t>>;
  using Frames = std::set<uint32_t>;
  using Order = std::map<uint32_t, size_t>;  // frames of a degraded capture

  using Connections = std::map<std::string, Frames>;  // positions at which requests begin

  Reported reported_pairs(const std::vector<Frame>& frames, PairScore* score, Connections* connections = nullptr) const;
  Frames joining(const Frames& whole_frames, uint32_t requests) const;
  void note_copies();
  Reported by_first_copies(const Reported& reported, const Order& order) const;
  void count_right(const Pair& pair, const std::map<Details, uint64_t>& truth, const Reported& reported, bool batched,
                   PairScore* score) const;
  void count_wrong(const Pair& pair, const std::map<Details, uint64_t>& reported, const Frames& whole_frames,
                   const Frames& altered, PairScore* score) const;
  bool is_of(const Pair& pair, const Details& reported, bool readable) const;
  bool begins_late(const Pair& pair, const Details& reported) const;
  bool is_part_of(const Details& reported, const Values& truth) const;
  bool frames_of(int64_t distance_ns, Pair* pair) const;

  JudgedTuple judged_;
  std::vector<Frame> frames_;
  Reported truth_;
  Connections connections_;
  std::multimap<uint32_t, uint32_t> requests_;  // the truth's pairs: the request's frame by the response's
  std::map<uint32_t, uint32_t> first_copy_;     // the first copy of each retransmitted frame
};

}  // namespace tapline::testing
