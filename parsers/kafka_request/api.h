#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::kafka {

// One of Kafka's APIs. `latest` is the last version whose bodies are read; for later versions, only the header is read.
//
// A path of steps locates a body's topic and error. The steps are executed in order while bytes remain:
//
//   1 2 4 8   an integer of that many bytes        s   a string, null or not          u   a UUID
//   A         the acks of a Produce, an int16: 0 = it gets no response
//   T  U      the topic's name, or its UUID        E   an error code; the first that is not 0 counts
//   [         an array, whose first element is entered; its length counts as the number of topics if T or U
//             comes next
//   ( )       an array, whose elements are all skipped
//   @a  @a-b  after a step: only in versions since a (up to b)
//
// Since version `flexible`, lengths are varints, and structures end with tagged fields.
struct Api {
  std::string_view name;
  int16_t latest;
  int16_t flexible;  // kNever: no version is flexible
  std::string_view request;
  std::string_view response;

  static constexpr int16_t kNever = INT16_MAX;
  bool is_flexible(int16_t version) const { return version >= flexible; }
};

inline constexpr int16_t kProduceKey = 0, kControlledShutdownKey = 7, kSaslHandshakeKey = 17, kApiVersionsKey = 18;

// Returns null if there is no such key.
const Api* api_of(int16_t key);

// Returns the name of an error code, such as "NONE" or "UNKNOWN_TOPIC_OR_PARTITION"; empty for unknown codes.
std::string_view name_of_error(int16_t code);

// The results of following a path. Views point into the body.
struct Findings {
  std::string_view topic = {};
  bool topic_is_id = false;  // 16 bytes, not text
  uint32_t topics = 0;
  bool error_known = false;
  int16_t error = 0;
  bool acks_known = false;
  int16_t acks = 0;
  bool whole = false;  // true if there were enough bytes, and none contradicted the path
};

// Follows the path through a body of this version, until the path or the bytes end.
Findings follow(std::string_view path, std::string_view body, int16_t version, bool flexible);

}  // namespace tapline::kafka
