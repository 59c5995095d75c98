#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapline::redis {

// The beginning of a segment, read as the beginning of a message.
struct Beginning {
  enum class Kind : uint8_t {
    kOther,    // not a message, or too short to tell
    kCommand,  // a command of Redis, with a valid number of arguments
    kArray,    // an array of bulk strings: a response, or an unknown command
    kAnswer,   // cannot be a command
  };
  Kind kind = Kind::kOther;
  char type = 0;             // type of the value
  std::string command = {};  // for kCommand: the command's name in upper case
};

Beginning beginning_of(std::string_view bytes);

}  // namespace tapline::redis
