#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::socks {

// The progress of a connection's handshake with a SOCKS proxy (versions 4 and 4a; RFC 1928, RFC 1929). The proxied
// protocol follows.
enum class Step : uint8_t {
  kStart,
  kGreeted,   // version 5: the client offered authentication methods
  kChosen,    // the server chose no authentication
  kPassword,  // the server chose user and password
  kPasswordSent,
  kAsked4,  // the client sent a version 4 request
  kAsked5,
  kOver,  // the server has replied, or this is not SOCKS
};

// One message of a handshake.
struct Message {
  enum class Kind : uint8_t { kOther, kRequest, kReply };
  Kind kind = Kind::kOther;
  uint8_t version = 0;
  uint8_t code = 0;            // the command, or the reply
  std::string_view host = {};  // requests only: a name, or an address in 4 or 16 bytes
  bool host_is_name = false;
  uint16_t port = 0;
};

// Returns the length of the message at the beginning of a side's next bytes, and moves *step past it. Returns 0, and
// sets *step to kOver, if `bytes` contains no complete message. The first message must fill `bytes`, which makes a
// false match unlikely.
size_t take_message(std::string_view bytes, bool from_client, Step* step, Message* message);

}  // namespace tapline::socks
