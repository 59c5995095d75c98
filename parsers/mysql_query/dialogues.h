#pragma once

#include <string>
#include <vector>

#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

// Helpers shared by the tests of mysql_query.
namespace tapline::mysql_test {

using testing::Conversation;
using testing::Dialogue;
using testing::Frame;
using testing::Harness;
using testing::Lines;

inline const std::vector<std::string> kFields = {"kind", "statement", "status", "error_code",
                                                 "rows", "results",   "partial"};

inline constexpr uint32_t kTls = 1 << 11, kCompress = 1 << 5, kDeprecateEof = 1 << 24, kAttributes = 1 << 27;
inline constexpr uint32_t kServerCapabilities = 0xffffffff & ~kDeprecateEof & ~kAttributes & ~kCompress & ~(1u << 26);
inline constexpr uint16_t kMore = 0x0008, kCursor = 0x0040;

inline std::string number(uint64_t value, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(value >> 8 * i);
  return result;
}
inline std::string packet(int sequence, const std::string& payload) {
  return number(payload.size(), 3) + number(static_cast<uint64_t>(sequence), 1) + payload;
}
inline std::string text(const std::string& value) { return number(value.size(), 1) + value; }

inline std::string greeting(uint32_t capabilities = kServerCapabilities) {
  return packet(0, std::string("\x0a") + "8.0.1-test" + '\0' + number(7, 4) + "scramble" + '\0' +
                       number(capabilities & 0xffff, 2) + '\x21' + number(2, 2) + number(capabilities >> 16, 2) +
                       std::string(11, '\0') + "morescramble" + '\0');
}
inline std::string login(uint32_t capabilities) {
  return packet(1, number(capabilities, 4) + number(1 << 24, 4) + '\x21' + std::string(23, '\0') + "bob" + '\0' +
                       text("PASSWORDHASH") + "shop" + '\0');
}
inline constexpr uint32_t kClientCapabilities = 0x0003a685 & ~kTls & ~kCompress;

inline std::string command(char code, const std::string& rest = "") { return packet(0, code + rest); }
inline std::string query(const std::string& statement) { return command('\x03', statement); }
inline std::string prepare(const std::string& statement) { return command('\x16', statement); }
inline std::string execute(uint32_t id, uint8_t cursor = 0) {
  return command('\x17', number(id, 4) + number(cursor, 1) + number(1, 4));
}
inline std::string close(uint32_t id) { return command('\x19', number(id, 4)); }

inline std::string ok(int sequence, uint16_t status = 2, uint8_t affected = 0) {
  return packet(sequence, std::string(1, '\0') + number(affected, 1) + '\0' + number(status, 2) + number(0, 2));
}
inline std::string eof(int sequence, uint16_t status = 2) {
  return packet(sequence, '\xfe' + number(0, 2) + number(status, 2));
}
inline std::string ok_at_end(int sequence, uint16_t status = 2) {
  return packet(sequence, '\xfe' + number(0, 2) + number(status, 2) + number(0, 2));
}
inline std::string error(int sequence, uint16_t code) {
  return packet(sequence, '\xff' + number(code, 2) + "#42000No such thing");
}
inline std::string column(int sequence) {
  return packet(sequence, text("def") + text("shop") + text("item") + text("item") + text("id") + text("id") + '\x0c' +
                              number(33, 2) + number(11, 4) + '\x03' + number(0, 5));
}
inline std::string count(int sequence, uint8_t columns) { return packet(sequence, number(columns, 1)); }

// Makes a result set of two columns, in packets numbered from *sequence. Advances *sequence to the number after them.
inline std::string result_set(int* sequence, int rows, uint16_t status = 2, bool eof_packets = true) {
  std::string result = count((*sequence)++, 2);
  result += column((*sequence)++);
  result += column((*sequence)++);
  if (eof_packets) result += eof((*sequence)++, status);
  for (int row = 0; row < rows; ++row) result += packet((*sequence)++ & 255, text("17") + text("a value"));
  const int last = (*sequence)++ & 255;
  return result + (eof_packets ? eof(last, status) : ok_at_end(last, status));
}
inline std::string result_set(int rows, bool eof_packets = true) {
  int sequence = 1;
  return result_set(&sequence, rows, 2, eof_packets);
}
inline std::string prepared(uint32_t id, int parameters, int columns, bool eof_packets = true) {
  int sequence = 1;
  std::string result =
      packet(sequence++, std::string(1, '\0') + number(id, 4) + number(static_cast<uint64_t>(columns), 2) +
                             number(static_cast<uint64_t>(parameters), 2) + '\0' + number(0, 2));
  for (const int definitions : {parameters, columns}) {
    for (int i = 0; i < definitions; ++i) result += column(sequence++);
    if (definitions > 0 && eof_packets) result += eof(sequence++);
  }
  return result;
}

inline Dialogue logged_in(uint32_t server = kServerCapabilities, uint32_t client = kClientCapabilities) {
  return {{false, greeting(server)}, {true, login(client)}, {false, ok(2)}};
}
inline const std::string kConnected = "connect  ok 0 0 0 ";

inline Conversation spoken(const Dialogue& dialogue, size_t cut = SIZE_MAX, bool repeatedly = false,
                           bool has_handshake = true) {
  return testing::spoken(dialogue, 3306, cut, repeatedly, has_handshake);
}

inline Lines parse(const std::vector<Frame>& frames, const std::vector<std::string>& fields = kFields) {
  return Harness({"mysql_query"}).all(frames).lines(fields);
}
inline Lines parse(const Dialogue& dialogue, const std::vector<std::string>& fields = kFields) {
  return parse(spoken(dialogue).close().frames(), fields);
}

inline void expect_at_every_cut(const Dialogue& dialogue, const Lines& expected) {
  testing::expect_at_every_cut([](const auto& frames) { return parse(frames); }, dialogue, 3306, expected);
}

}  // namespace tapline::mysql_test
