// One end of a SOCK_SEQPACKET pair, on which each packet is one protobuf message. No call blocks: messages for which
// the socket has no room wait in a bounded queue.
//
// One thread may send while another receives. The descriptor's flags, which other processes share, are not changed.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <deque>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

class MessageSocket {
 public:
  // Less than the socket buffer size that Linux grants without privileges (net.core.wmem_max, 208 KiB).
  static constexpr size_t kMaxMessageBytes = 192 << 10;
  static constexpr size_t kMaxUnsentBytes = 4 << 20;

  enum class Received : uint8_t {
    kMessage,
    kNothing,    // no message has arrived
    kTooLong,    // a packet beyond kMaxMessageBytes, which is skipped
    kMalformed,  // a packet that is not a message of the requested type, which is skipped
    kClosed,     // the peer has closed its end
  };

  // Creates both ends, which are closed on exec. The caller owns them.
  static Status make_pair(int* one, int* other);
  // Returns true if the descriptor is a SOCK_SEQPACKET socket.
  static bool is(int fd);

  // Uses an end that the caller still owns.
  explicit MessageSocket(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  // Sends or queues the message. Returns false, and does neither, if it is too long or the queue is full.
  bool send(const google::protobuf::MessageLite& message);
  // Sends queued messages while the socket has room.
  void flush();
  bool has_unsent() const { return !unsent_.empty(); }
  bool is_half_empty() const { return unsent_bytes_ <= kMaxUnsentBytes / 2; }

  Received receive(google::protobuf::MessageLite* message);

 private:
  const int fd_;
  std::deque<std::string> unsent_;
  size_t unsent_bytes_ = 0;
  std::string buffer_;
};

}  // namespace tapline
