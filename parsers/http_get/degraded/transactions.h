#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::http {

// A piece of a message's head in a frame. Offsets refer to the sender's stream.
struct HeadPiece {
  uint32_t frame;
  uint64_t begin;
  uint64_t end;
  uint32_t payload_offset;  // offset of `begin` in the frame
};

struct Message {
  bool seen = false;
  uint64_t begin = 0;
  uint64_t head_end = 0;
  uint64_t end = 0;
  std::vector<HeadPiece> pieces = {};  // every captured copy
};

// A request and the final response to it, as on the wire.
struct Transaction {
  std::string client;  // "10.0.0.1:40000"
  std::string method, url, host;
  uint64_t status = 0;
  Message request;
  Message response;  // absent if it was not seen
};

// Returns the transactions of an original capture, connection by connection, in the order of their requests. This is a
// plain evaluator that keeps whole streams in memory and shares no code with the parser. It assumes that servers use
// port 80, and reads each connection as long as it is valid HTTP.
std::vector<Transaction> transactions_of(const std::vector<testing::Frame>& frames);

}  // namespace tapline::http
