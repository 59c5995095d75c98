#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/testing/conversation.h"

namespace tapline::testing {

// A message of one side of a connection. A Dialogue has the messages of both sides, in order.
struct Message {
  bool from_client;
  std::string bytes;
};
using Dialogue = std::vector<Message>;

Dialogue operator+(Dialogue first, const Dialogue& second);

// Turns the dialogue into a conversation with this server port. A message longer than `cut` bytes is sent as two
// segments, its first `cut` bytes and the rest, or, if `repeatedly` is true, as segments of `cut` bytes.
Conversation spoken(const Dialogue& dialogue, uint16_t server_port, size_t cut = SIZE_MAX, bool repeatedly = false,
                    bool has_handshake = true);

using Lines = std::vector<std::string>;
using Parse = std::function<Lines(const std::vector<Frame>&)>;

// Tests that the result does not depend on segment boundaries: cuts every message in two at each position, and into
// single bytes.
void expect_at_every_cut(const Parse& parse, const Dialogue& dialogue, uint16_t server_port, const Lines& expected);

// Does the same, but all requests precede all responses, and only one side's data are cut in two at a time.
void expect_at_every_cut(const Parse& parse, std::string_view requests, std::string_view responses,
                         const Lines& expected);

}  // namespace tapline::testing
