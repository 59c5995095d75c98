// MAXSEQ, the aggregate of Confluo's Figure 2: the progress of a TCP sender, and the time of that progress.
//
// Outputs: SEQ, the sequence number after the greatest segment so far, and TS, that segment's time. Retransmissions are
// then "payload_bytes > 0 && seq < SEQ && time > TS + delay". It is intended for groups by flow and direction: group_by
// flow, src_port.
//
// Numbers that wrap count as greater if they are ahead by less than 2^31; segments around the moment of wrapping
// may be mistaken for retransmissions.
#pragma once

#include "multilog/aggregate/function.h"

namespace tapline::multilog {

inline constexpr std::string_view kMaxSeq = "MAXSEQ";

// REQUIRES: time, seq and payload_bytes are fields of the schema, the last two 4 bytes wide.
UserFunction max_seq_function(const Schema& schema);

}  // namespace tapline::multilog
