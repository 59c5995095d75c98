#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapline::redis {

// What a segment begins with, if it begins where a message does.
struct Beginning {
  enum class Kind : uint8_t {
    kOther,    // no message, or too little of it
    kCommand,  // one that Redis has, with as many arguments as it takes
    kArray,    // of bulk strings: an answer, or a command that we don't know
    kAnswer,   // no command looks like it
  };
  Kind kind = Kind::kOther;
  char type = 0;             // of the value
  std::string command = {};  // of kCommand: its name in upper case
};

Beginning beginning_of(std::string_view bytes);

}  // namespace tapline::redis
