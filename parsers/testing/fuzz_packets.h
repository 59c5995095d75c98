#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parsers/api/parser.h"

namespace tapline::testing {

// Reads a fuzz input as packets of a few TCP connections and runs them through parsers. Aborts if the engine or a
// parser breaks its contract: time runs backwards, values don't match the schema, or state is left over after the end.
//
// The input is a sequence of records:
//
//   ┌───────┬───────────┬─────────────────┬─────────┐
//   │ flags │ parameter │ payload bytes   │ payload │
//   │ 1     │ 1         │ 2, little-endian│         │
//   └───────┴───────────┴─────────────────┴─────────┘
//
// flags: 1 from the server, 2 sequence shifted by the parameter (signed, times 16), 4 FIN, 8 RST, 16 SYN, 32 the
// capture cuts the payload after `parameter` bytes, 64 another connection (number `parameter` % 8), 128 time jumps by
// `parameter` seconds.
void fuzz_packets(std::vector<std::unique_ptr<Parser>> parsers, std::span<const uint8_t> input);

// Does the same with built-in parsers.
void fuzz_parsers(const std::vector<std::string>& names, std::span<const uint8_t> input);

// Feeds UDP datagrams and ICMP messages between two hosts to built-in parsers. flags: 1 from the server, 2 ICMP, 4
// IPv6, 32 the capture cuts the payload after `parameter` bytes, 64 another client port (number `parameter` % 8), 128
// time jumps by `parameter` seconds.
void fuzz_datagrams(const std::vector<std::string>& names, uint16_t server_port, std::span<const uint8_t> input);

// Feeds datagrams with telemetry to built-in parsers: the payload is everything from the shim to the last hop
// (docs/reference/in-band-telemetry.md). flags: 64 another source port (number `parameter` % 8), 128 time advances by
// `parameter` seconds instead of microseconds.
void fuzz_telemetry(const std::vector<std::string>& names, std::span<const uint8_t> input);

}  // namespace tapline::testing
