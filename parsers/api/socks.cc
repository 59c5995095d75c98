#include "parsers/api/socks.h"

#include "parsers/api/bytes.h"

namespace tapline::socks {
namespace {

constexpr uint8_t kVersion4 = 4, kVersion5 = 5, kPasswordVersion = 1;
constexpr uint8_t kNoAuthentication = 0, kByPassword = 2;
constexpr uint8_t kLastCommand = 3, kLastReply5 = 8, kGranted4 = 90, kLastReply4 = 93;

uint8_t at(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }
uint16_t port_at(std::string_view bytes, size_t i) {
  return big_endian_16(reinterpret_cast<const uint8_t*>(bytes.data()) + i);
}

// Layout: 5, count, count methods.
size_t greeting(std::string_view bytes) {
  const bool is_whole = bytes.size() > 2 && at(bytes, 0) == kVersion5 && bytes.size() == 2u + at(bytes, 1);
  return is_whole ? bytes.size() : 0;
}

// Layout: 4, command, port, address, user, 0; then, if the address is 0.0.0.x, a name, 0.
size_t request_4(std::string_view bytes, Message* message) {
  constexpr size_t kUserAt = 8;
  if (bytes.size() <= kUserAt || at(bytes, 0) != kVersion4 || at(bytes, 1) == 0 || at(bytes, 1) >= kLastCommand)
    return 0;
  const std::string_view address = bytes.substr(4, 4);
  const bool is_named = address.substr(0, 3) == std::string_view("\0\0\0", 3) && address[3] != 0;
  size_t end = bytes.find('\0', kUserAt);
  *message = {Message::Kind::kRequest, kVersion4, at(bytes, 1), address, false, port_at(bytes, 2)};
  if (is_named && end != std::string_view::npos) {
    const size_t name = end + 1;
    end = bytes.find('\0', name);
    message->host = bytes.substr(name, end - name);
    message->host_is_name = true;
  }
  return end != std::string_view::npos && end + 1 == bytes.size() ? bytes.size() : 0;
}

// Reads a request or its reply. Layout: 5, code, 0, address type, address, port.
size_t request_5(std::string_view bytes, Message::Kind kind, uint8_t last_code, Message* message) {
  constexpr uint8_t kIpV4 = 1, kName = 3, kIpV6 = 4;
  constexpr size_t kAddressAt = 4;
  if (bytes.size() <= kAddressAt || at(bytes, 0) != kVersion5 || at(bytes, 1) > last_code || at(bytes, 2) != 0)
    return 0;
  const uint8_t type = at(bytes, 3);
  if (type != kIpV4 && type != kName && type != kIpV6) return 0;
  const bool is_named = type == kName;
  const size_t begin = kAddressAt + is_named;
  const size_t size = is_named ? at(bytes, kAddressAt) : type == kIpV4 ? 4 : 16;
  if (bytes.size() < begin + size + 2) return 0;
  *message = {kind, kVersion5, at(bytes, 1), bytes.substr(begin, size), is_named, port_at(bytes, begin + size)};
  return begin + size + 2;
}

// Layout: 0, code, six bytes.
size_t reply_4(std::string_view bytes, Message* message) {
  if (bytes.size() < 8 || bytes[0] != 0 || at(bytes, 1) < kGranted4 || at(bytes, 1) > kLastReply4) return 0;
  *message = {Message::Kind::kReply, kVersion4, at(bytes, 1), {}, false, 0};
  return 8;
}

// Layout: 1, length, user, length, password.
size_t password(std::string_view bytes) {
  if (bytes.size() < 2 || at(bytes, 0) != kPasswordVersion || bytes.size() < 3u + at(bytes, 1)) return 0;
  const size_t user_end = 2u + at(bytes, 1);
  const size_t end = user_end + 1 + at(bytes, user_end);
  return bytes.size() >= end ? end : 0;
}

size_t from_client_at(std::string_view bytes, Step* step, Message* message) {
  switch (*step) {
    case Step::kStart:
      if (const size_t size = greeting(bytes)) return *step = Step::kGreeted, size;
      if (const size_t size = request_4(bytes, message)) return *step = Step::kAsked4, size;
      return 0;
    case Step::kChosen:
      *step = Step::kAsked5;
      return request_5(bytes, Message::Kind::kRequest, kLastCommand, message);
    case Step::kPassword:
      *step = Step::kPasswordSent;
      return password(bytes);
    default:
      return 0;
  }
}

size_t from_server_at(std::string_view bytes, Step* step, Message* message) {
  switch (*step) {
    case Step::kGreeted:
      if (bytes.size() < 2 || at(bytes, 0) != kVersion5) return 0;
      if (at(bytes, 1) == kNoAuthentication) return *step = Step::kChosen, 2;
      if (at(bytes, 1) == kByPassword) return *step = Step::kPassword, 2;
      return 0;
    case Step::kPasswordSent:
      if (bytes.size() < 2 || at(bytes, 0) != kPasswordVersion || at(bytes, 1) != 0) return 0;
      return *step = Step::kChosen, 2;
    case Step::kAsked4:
      *step = Step::kOver;
      return reply_4(bytes, message);
    case Step::kAsked5:
      *step = Step::kOver;
      return request_5(bytes, Message::Kind::kReply, kLastReply5, message);
    default:
      return 0;
  }
}

}  // namespace

size_t take_message(std::string_view bytes, bool from_client, Step* step, Message* message) {
  *message = {};
  const size_t size = from_client ? from_client_at(bytes, step, message) : from_server_at(bytes, step, message);
  if (size == 0) *step = Step::kOver;
  return size;
}

}  // namespace tapline::socks
