#include "parsers/redis_command/client_judge.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "parsers/redis_command/beginning.h"
#include "parsers/redis_command/commands.h"

namespace tapline::redis {
namespace {

// Returns true if the command may have a reply of this type. Commands whose reply types are not listed may have any
// reply.
bool may_answer(char type, std::string_view command) {
  const std::string_view types = answers_of(command);
  return types.empty() || types.find(type) != std::string_view::npos;
}

int towards(Side side, int weight) { return side == 0 ? weight : -weight; }

}  // namespace

void ClientJudge::suggest(Side client, bool by_query) {
  guess_ = client;
  suggested_ = by_query ? towards(client, kFull) : 0;
}

bool ClientJudge::see(Side side, std::string_view bytes, const Segment& segment) {
  const bool turn = begins_turn(side, segment);
  Seen& seen = seen_[side];
  const bool is_first = !std::exchange(seen.any, true);
  seen.acked_known = segment.peer_offset_known;
  seen.acked = segment.peer_offset;
  const int evidence = weigh(side, bytes, turn || is_first, turn ? kFull : 1);
  int& sum = turn ? strong_ : weak_;
  const int max = turn ? kMaxStrong : kMaxWeak;
  sum = std::clamp(sum + evidence, -max, max);
  decide();
  return turn;
}

// Returns true if this segment begins the side's turn: when the other side sent its latest segment, it had received
// exactly the data before this one. If only one direction is seen, returns true if this side has received data since
// its latest segment.
bool ClientJudge::begins_turn(Side side, const Segment& segment) const {
  const Seen& opposite = seen_[other_side(side)];
  if (opposite.any) return opposite.acked_known && opposite.acked == segment.offset;
  const Seen& own = seen_[side];
  return own.acked_known && segment.peer_offset_known && own.acked < segment.peer_offset;
}

// Returns the evidence that side 0 is the client. `begins` is true if the bytes begin the side's turn.
int ClientJudge::weigh(Side side, std::string_view bytes, bool begins, int weight) {
  using Kind = Beginning::Kind;
  Beginning beginning = beginning_of(bytes);
  const bool is_known = beginning.kind == Kind::kCommand;
  const std::string& last_command = seen_[other_side(side)].command;
  const bool answers = beginning.type == 0 || may_answer(beginning.type, last_command);
  seen_[side].may_be_client |= is_known || beginning.kind == Kind::kArray;
  if (begins) seen_[side].command = is_known ? std::move(beginning.command) : std::string();
  switch (beginning.kind) {
    case Kind::kOther:
      return 0;
    case Kind::kCommand:
      return towards(side, answers ? weight : 2 * weight);
    case Kind::kArray:
      return towards(side, last_command.empty() ? -1 : answers ? -weight : weight);
    case Kind::kAnswer:
      return answers ? towards(side, -weight) : 0;
  }
  return 0;
}

void ClientJudge::decide() {
  const int lead = strong_ + weak_ + suggested_;
  if (std::abs(lead) < kCertain) return;
  const Side client = lead > 0 ? 0 : 1;
  // If only one side is seen, stored commands in replies look like commands.
  const bool has_both = seen_[0].any && seen_[1].any;
  if (seen_[client].may_be_client && (has_both || guess_ == client)) client_ = client;
}

}  // namespace tapline::redis
