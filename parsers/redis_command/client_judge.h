#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/api/connection.h"
#include "parsers/api/parser.h"

namespace tapline::redis {

// Identifies the client of a connection that was joined in mid-stream, by the beginnings of its segments. A reply that
// is an array of bulk strings may look like any command, so one segment proves nothing. The evidence consists of known
// commands of Redis, replies that can't be commands, and replies that the previous command can't have. Segments have
// full weight if the sides take turns, according to their acknowledgements; otherwise a segment may be from the middle
// of a value.
//
// Further evidence can always change the verdict.
class ClientJudge {
 public:
  // Suggests the side that is the client according to the query or to an earlier guess.
  void suggest(Side client, bool by_query);
  // Examines the next segment of this side. Returns true if it begins the side's turn.
  bool see(Side side, std::string_view bytes, const Segment& segment);
  // Returns the client's side, or -1 if it is uncertain.
  int client() const { return client_; }

 private:
  static constexpr int kCertain = 3;
  static constexpr int kFull = 2;  // weight of the beginning of a turn
  static constexpr int kMaxWeak = kCertain - 1, kMaxStrong = 4 * kCertain;

  struct Seen {
    bool any = false;
    bool may_be_client = false;  // true if it sent bytes that may be a command
    bool acked_known = false;    // true if the latest segment's acknowledgement is known
    uint64_t acked = 0;
    std::string command = {};  // the command that began its turn
  };

  bool begins_turn(Side side, const Segment& segment) const;
  int weigh(Side side, std::string_view bytes, bool is_first, int weight);
  void decide();

  Seen seen_[2];
  // Evidence that side 0 is the client, less the evidence for side 1.
  int strong_ = 0, weak_ = 0, suggested_ = 0;
  int guess_ = -1;  // the presumed client while the evidence is insufficient
  int client_ = -1;
};

}  // namespace tapline::redis
