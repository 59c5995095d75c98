#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/api/connection.h"
#include "parsers/api/parser.h"

namespace tapline::redis {

// Tells who asks, of a connection that was joined in the middle, by what its segments begin with. An answer that is an
// array of bulk strings may look like any command, so one segment proves nothing: what is weighed is the commands that
// Redis has, answers that no command looks like, and answers that the command before can't have. Segments count in
// full where the sides take turns, by what they acknowledge; elsewhere a segment may be of a value's middle.
//
// It is never so certain that it could not be convinced of the contrary.
class ClientJudge {
 public:
  // Whom the query, or an earlier guess, takes for the client. `weight`: of as many commands.
  void suggest(Side client, bool by_query);
  // The next segment of this side. Returns whether the side begins to speak with it.
  bool see(Side side, std::string_view bytes, const Segment& segment);
  // -1: not certain.
  int client() const { return client_; }

 private:
  static constexpr int kCertain = 3;
  static constexpr int kFull = 2;  // weight of what begins a turn
  static constexpr int kMostWeak = kCertain - 1, kMostStrong = 4 * kCertain;

  struct Seen {
    bool any = false;
    bool asked = false;        // something that may be a command
    bool acked_known = false;  // of the latest segment
    uint64_t acked = 0;
    std::string command = {};  // that its turn began with
  };

  bool begins_turn(Side side, const Segment& segment) const;
  int weigh(Side side, std::string_view bytes, bool first, int weight);
  void decide();

  Seen seen_[2];
  // Evidence that side 0 asks, less that side 1 does.
  int strong_ = 0, weak_ = 0, suggested_ = 0;
  int guess_ = -1;  // who is thought the client otherwise
  int client_ = -1;
};

}  // namespace tapline::redis
