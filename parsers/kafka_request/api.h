#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::kafka {

// A kind of request, by its key. `latest` is the last version whose bodies are read: of later ones only the header is.
//
// Where a body names its topic and its error is said by a path of steps, done one after the other while there are
// bytes:
//
//   1 2 4 8   an integer of that many bytes        s   a string, null or not          u   a UUID
//   A         the int16 that says who must confirm a Produce: 0 = it is never answered
//   T  U      the topic's name, or its UUID        E   an error code; the first that is not 0 counts
//   [         an array, of which the first element is gone into; its length counts as the number of topics if T or U
//             comes next
//   ( )       an array, whose elements are all stepped over
//   @a  @a-b  behind a step: only in versions from a (to b)
//
// From version `flexible` on lengths are varints, and structures end with tagged fields.
struct Api {
  std::string_view name;
  int16_t latest;
  int16_t flexible;  // kNever: none is
  std::string_view request;
  std::string_view response;

  static constexpr int16_t kNever = INT16_MAX;
  bool is_flexible(int16_t version) const { return version >= flexible; }
};

inline constexpr int16_t kProduceKey = 0, kControlledShutdownKey = 7, kSaslHandshakeKey = 17, kApiVersionsKey = 18;

// Null: no such key.
const Api* api_of(int16_t key);

// "NONE", "UNKNOWN_TOPIC_OR_PARTITION", ...; empty: a code that we don't know.
std::string_view name_of_error(int16_t code);

// What a path found. Views are of the body.
struct Findings {
  std::string_view topic = {};
  bool topic_is_id = false;  // 16 bytes, not text
  uint32_t topics = 0;
  bool error_known = false;
  int16_t error = 0;
  bool acks_known = false;
  int16_t acks = 0;
  bool whole = false;  // the bytes sufficed, and none contradicted
};

// Reads as far as the bytes go, of a body in this version.
Findings follow(std::string_view path, std::string_view body, int16_t version, bool flexible);

}  // namespace tapline::kafka
