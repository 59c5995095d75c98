// MAXSEQ, the aggregate in Confluo's Figure 2: the progress of a TCP sender, and the time of that progress.
//
// Outputs: SEQ, the greatest sequence number that follows a segment so far, and TS, that segment's time. A
// retransmission then satisfies "payload_bytes > 0 && seq < SEQ && time > TS + delay". Intended for groups by flow and
// direction: group_by flow, src_port.
//
// Sequence numbers wrap: one that is ahead by less than 2^31 counts as greater. Segments near the wrap may be mistaken
// for retransmissions.
#pragma once

#include "multilog/aggregate/function.h"

namespace tapline::multilog {

inline constexpr std::string_view kMaxSeq = "MAXSEQ";

// REQUIRES: time, seq and payload_bytes are fields of the schema, the latter two 4 bytes wide.
UserFunction max_seq_function(const Schema& schema);

}  // namespace tapline::multilog
