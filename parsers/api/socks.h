#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::socks {

// Progress of the handshake of a connection through a SOCKS proxy (version 4, 4a; RFC 1928, RFC 1929). The protocol
// that the proxy carries follows it.
enum class Step : uint8_t {
  kStart,
  kGreeted,   // version 5: the client has offered ways to authenticate
  kChosen,    // the server has chosen none
  kPassword,  // the server has chosen user and password
  kPasswordSent,
  kAsked4,  // the request is sent, of this version
  kAsked5,
  kOver,  // answered, or not SOCKS
};

// The content of one message of a handshake.
struct Message {
  enum class Kind : uint8_t { kOther, kRequest, kReply };
  Kind kind = Kind::kOther;
  uint8_t version = 0;
  uint8_t code = 0;            // the command, or the reply
  std::string_view host = {};  // of a request: a name, or the 4 or 16 bytes of an address
  bool host_is_name = false;
  uint16_t port = 0;
};

// Returns the length of the message at the front of what a side sends next, and moves *step past it. Returns 0, and
// sets kOver, if no message lies whole in `bytes`. The first message must fill `bytes`, so that hardly anything else
// looks like it.
size_t take_message(std::string_view bytes, bool from_client, Step* step, Message* message);

}  // namespace tapline::socks
