// Reads a monitor's commands: messages from a message socket, or lines of JSON from any other descriptor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "monitors/messages/message_socket.h"
#include "packet_io/base/status.h"
#include "schema/monitor.pb.h"

namespace tapline {

class CommandReader {
 public:
  // A command, or the reason why it can't be read.
  using Command = Result<v1::MonitorCommand>;

  // Maximum length of a line; a longer one ends the input. A plan takes a few kilobytes.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  // Reads from a descriptor that the caller still owns.
  explicit CommandReader(int fd) : socket_(fd), is_socket_(MessageSocket::is(fd)) {}

  int fd() const { return socket_.fd(); }
  // Appends the commands that have arrived. Returns false at the end of the input; a line longer than kMaxLineBytes
  // also ends it. Must be called when the descriptor is readable.
  bool read(std::vector<Command>* commands);

 private:
  bool read_messages(std::vector<Command>* commands);
  bool read_lines(std::vector<Command>* commands);

  MessageSocket socket_;
  const bool is_socket_;
  std::string unread_;
};

}  // namespace tapline
