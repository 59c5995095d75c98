#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::socks {

// How far the handshake of a connection through a SOCKS proxy got (version 4, 4a; RFC 1928, RFC 1929). What follows it
// is the protocol that the proxy carries.
enum class Step : uint8_t {
  kStart,
  kGreeted,   // version 5: the client has offered ways to authenticate
  kChosen,    // the server has chosen none
  kPassword,  // the server has chosen user and password
  kPasswordSent,
  kAsked4,  // the request is sent, of this version
  kAsked5,
  kOver,  // answered, or no SOCKS
};

// What one message of a handshake says.
struct Message {
  enum class Kind : uint8_t { kOther, kRequest, kReply };
  Kind kind = Kind::kOther;
  uint8_t version = 0;
  uint8_t code = 0;            // the command, or the reply
  std::string_view host = {};  // of a request: a name, or the 4 or 16 bytes of an address
  bool host_is_name = false;
  uint16_t port = 0;
};

// The length of the message at the front of what a side sends next, and *step moved behind it; 0, and kOver, if there
// is none that lies whole in `bytes`. The first message has to be all there is, so that hardly anything else looks like
// it.
size_t take_message(std::string_view bytes, bool from_client, Step* step, Message* message);

}  // namespace tapline::socks
