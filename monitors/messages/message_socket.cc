#include "monitors/messages/message_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tapline {

Status MessageSocket::make_pair(int* one, int* other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::resources(std::string("can't create a socket pair: ") + std::strerror(errno));
  // The sender's buffer must have room for a whole packet.
  const int bytes = kMaxMessageBytes;
  for (const int end : ends) setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  *one = ends[0];
  *other = ends[1];
  return {};
}

bool MessageSocket::is(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

bool MessageSocket::send(const google::protobuf::MessageLite& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > kMaxMessageBytes || unsent_bytes_ + bytes > kMaxUnsentBytes) return false;
  unsent_.push_back(message.SerializeAsString());
  unsent_bytes_ += bytes;
  flush();
  return true;
}

void MessageSocket::flush() {
  while (!unsent_.empty()) {
    const std::string& next = unsent_.front();
    const ssize_t bytes_sent = ::send(fd_, next.data(), next.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes_sent < 0 && errno == EINTR) continue;
    if (bytes_sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) return;
    // After any other error, the peer has disconnected, which receive() reports.
    unsent_bytes_ -= next.size();
    unsent_.pop_front();
  }
}

// Reads the next packet. MSG_TRUNC makes the kernel return its whole length.
MessageSocket::Received MessageSocket::receive(google::protobuf::MessageLite* message) {
  buffer_.resize(kMaxMessageBytes);
  const ssize_t bytes_read = recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (bytes_read < 0) {
    const bool empty = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return empty ? Received::kNothing : Received::kClosed;
  }
  if (bytes_read == 0) return Received::kClosed;
  if (static_cast<size_t>(bytes_read) > buffer_.size()) return Received::kTooLong;
  return message->ParseFromArray(buffer_.data(), static_cast<int>(bytes_read)) ? Received::kMessage
                                                                               : Received::kMalformed;
}

}  // namespace tapline
