#include "monitors/control/command_reader.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <cerrno>

namespace tapline {
namespace {

CommandReader::Command parse_line(std::string_view line) {
  v1::MonitorCommand command;
  const auto parsed = google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, &command);
  if (parsed.ok() && command.command_case() != v1::MonitorCommand::COMMAND_NOT_SET) return command;
  return Status::invalid(
      "a command is {\"assign\":{\"plan\":PLAN}}, {\"end\":{\"query\":QUERY}} or another one of schema/monitor.proto" +
      (parsed.ok() ? std::string() : ": " + std::string(parsed.message())));
}

}  // namespace

bool CommandReader::read(std::vector<Command>* commands) {
  return is_socket_ ? read_messages(commands) : read_lines(commands);
}

bool CommandReader::read_messages(std::vector<Command>* commands) {
  while (true) {
    v1::MonitorCommand command;
    switch (socket_.receive(&command)) {
      case MessageSocket::Received::kMessage:
        commands->push_back(std::move(command));
        break;
      case MessageSocket::Received::kNothing:
        return true;
      case MessageSocket::Received::kTooLong:
        commands->push_back(Status::invalid("the command is longer than 192 KiB"));
        break;
      case MessageSocket::Received::kMalformed:
        commands->push_back(Status::internal("the message is not a command"));
        break;
      case MessageSocket::Received::kClosed:
        return false;
    }
  }
}

bool CommandReader::read_lines(std::vector<Command>* commands) {
  char buffer[16384];
  const ssize_t bytes_read = ::read(fd(), buffer, sizeof buffer);
  if (bytes_read < 0) return errno == EINTR || errno == EAGAIN;
  if (bytes_read == 0) return false;
  unread_.append(buffer, static_cast<size_t>(bytes_read));
  size_t begin = 0;
  for (size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n', begin)) {
    commands->push_back(parse_line(std::string_view(unread_).substr(begin, end - begin)));
    begin = end + 1;
  }
  unread_.erase(0, begin);
  if (unread_.size() <= kMaxLineBytes) return true;
  commands->push_back(Status::invalid("the command is longer than a megabyte"));
  return false;
}

}  // namespace tapline
