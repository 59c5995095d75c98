// Tests in-band telemetry, from a packet's bytes to a row's fields (docs/reference/in-band-telemetry.md).
#include <gtest/gtest.h>

#include <cstring>

#include "conditions/expr/expression.h"
#include "multilog/base/conditions.h"
#include "multilog/headers/header_row.h"
#include "parsers/api/telemetry.h"
#include "parsers/testing/frames.h"
#include "parsers/testing/telemetry.h"

namespace tapline::multilog {
namespace {

using testing::Bytes;
using testing::IntSpec;

Bytes ip() { return testing::ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, testing::tcp_segment({.seq = 7})); }

struct WrittenRow {
  WrittenRow(Bytes frame, uint32_t hops, uint32_t frame_bytes = 64)
      : bytes(std::move(frame)), layout(frame_bytes, hops) {
    const RawPacket raw{.data = bytes.data(),
                        .captured_bytes = static_cast<uint32_t>(bytes.size()),
                        .wire_bytes = static_cast<uint32_t>(bytes.size())};
    outcome = decode(raw, &packet);
    row.resize(layout.row_bytes());
    if (outcome == DecodeOutcome::kOk) layout.write(raw, packet, row.data());
  }
  bool matches(std::string_view expression) const {
    const auto compiled = Expression::compile(expression, layout.schema());
    EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
    return compiled.ok() && compiled->matches(row.data(), layout.schema());
  }

  Bytes bytes;
  HeaderLayout layout;
  Packet packet;
  DecodeOutcome outcome;
  std::vector<uint8_t> row;
};

const IntSpec kThreeHops = {.hops = {{.switch_id = 11, .queue_depth = 100, .latency_ns = 500, .time_ns = 1'000},
                                     {.switch_id = 12, .queue_depth = 200, .latency_ns = 600, .time_ns = 31'000},
                                     {.switch_id = 13, .queue_depth = 300, .latency_ns = 700, .time_ns = 32'000}}};

TEST(TelemetryRow, FieldsOfThePath) {
  const WrittenRow written(testing::with_telemetry(kThreeHops, 0x0800, ip(), {42}), 5);
  ASSERT_EQ(written.outcome, DecodeOutcome::kOk);
  for (const char* holds :
       {"path contains 12", "path[0] == 11 && path[1] == 12 && path[2] == 13 && path[3] == 0", "hops == 3",
        "hop_ns[1] - hop_ns[0] == 30us", "queue_depth[2] == 300", "hop_latency_ns[0] == 500", "path_cut == false",
        "vlan == 42", "seq == 7", "src_ip == 10.0.0.1"})
    EXPECT_TRUE(written.matches(holds)) << holds;
  EXPECT_FALSE(written.matches("path contains 14"));
  EXPECT_TRUE(written.matches("path not contains 14"));
}

TEST(TelemetryRow, FramesAreKeptWithoutTelemetry) {
  const WrittenRow annotated(testing::with_telemetry(kThreeHops, 0x0800, ip(), {42}), 5);
  const WrittenRow plain_row(testing::ethernet(0x0800, ip(), {42}), 5);
  const auto kept = annotated.layout.frame_of(annotated.row.data()),
             plain = plain_row.layout.frame_of(plain_row.row.data());
  EXPECT_EQ(std::vector<uint8_t>(kept.begin(), kept.end()), std::vector<uint8_t>(plain.begin(), plain.end()));
  EXPECT_EQ(annotated.layout.wire_bytes_of(annotated.row.data()), annotated.bytes.size());
  EXPECT_FALSE(plain_row.matches("has(path)"));
  EXPECT_FALSE(plain_row.matches("path not contains 12"));
  EXPECT_FALSE(plain_row.matches("has(hops)"));
}

TEST(TelemetryRow, OverVxlanGpe) {
  Bytes inside = testing::telemetry(kThreeHops, 3);
  const Bytes frame = testing::ethernet(0x0800, ip());
  inside.insert(inside.end(), frame.begin(), frame.end());
  Bytes gpe = {0x0c, 0, 0, 0x80, 0, 0x12, 0x34, 0};
  gpe.insert(gpe.end(), inside.begin(), inside.end());
  const std::string_view payload(reinterpret_cast<const char*>(gpe.data()), gpe.size());
  const Bytes outer =
      testing::ip_v4("192.0.2.1", "192.0.2.2", protocol::kUdp, testing::udp_datagram(50000, 4790, payload));
  const WrittenRow written(testing::ethernet(0x0800, outer), 8);
  ASSERT_EQ(written.outcome, DecodeOutcome::kOk);
  EXPECT_TRUE(written.matches("path contains 13 && network_id == 0x1234 && src_ip == 10.0.0.1"));
  // The frame is kept unchanged from its outermost header.
  EXPECT_TRUE(std::equal(written.bytes.begin(), written.bytes.begin() + 64,
                         written.layout.frame_of(written.row.data()).begin()));
}

TEST(TelemetryRow, MoreHopsThanFieldsAndTruncatedStacks) {
  IntSpec many;
  for (uint32_t i = 1; i <= 11; ++i) many.hops.push_back({.switch_id = i, .time_ns = i});
  const WrittenRow written(testing::with_telemetry(many, 0x0800, ip()), 4);
  EXPECT_TRUE(written.matches("hops == 11 && path_cut == true && path[0] == 1 && path[3] == 4"));
  const WrittenRow all(testing::with_telemetry(many, 0x0800, ip()), 8);
  EXPECT_TRUE(all.matches("hops == 11 && path_cut == true && path[7] == 8"));
  IntSpec exceeded = kThreeHops;
  exceeded.flags = 0x04;
  EXPECT_TRUE(WrittenRow(testing::with_telemetry(exceeded, 0x0800, ip()), 4).matches("hops == 3 && path_cut == true"));
}

TEST(TelemetryRow, OnlyRequestedFields) {
  IntSpec spec = kThreeHops;
  spec.instructions = 0x8000;
  const WrittenRow ids(testing::with_telemetry(spec, 0x0800, ip()), 4);
  EXPECT_TRUE(ids.matches("path[2] == 13 && !has(hop_ns) && !has(queue_depth) && !has(hop_latency_ns)"));
  // Port numbers and unknown instructions are skipped; ingress and egress times give the latency.
  spec.instructions = 0xcc01;
  const WrittenRow times(testing::with_telemetry(spec, 0x0800, ip()), 4);
  EXPECT_TRUE(times.matches("path[1] == 12 && hop_ns[1] == 31000 && hop_latency_ns[1] == 600 && !has(queue_depth)"));
  spec.hops.clear();
  EXPECT_TRUE(WrittenRow(testing::with_telemetry(spec, 0x0800, ip()), 4).matches("hops == 0 && path[0] == 0"));
}

TEST(TelemetryRow, RowsOfNodesWithoutTelemetryAreUnchanged) {
  const WrittenRow written(testing::with_telemetry(kThreeHops, 0x0800, ip()), 0);
  ASSERT_EQ(written.outcome, DecodeOutcome::kOk);
  EXPECT_EQ(written.layout.schema().find("path"), nullptr);
  EXPECT_TRUE(written.matches("seq == 7"));
}

// Wherever the frame is cut, and whatever values its header bytes have, nothing beyond the frame may be read.
// AddressSanitizer would detect such a read, since the frame ends where its memory ends.
TEST(TelemetryRow, EveryCutAndEveryByte) {
  const Bytes whole_bytes = testing::with_telemetry(kThreeHops, 0x0800, ip());
  for (size_t cut = 0; cut <= whole_bytes.size(); ++cut) {
    const WrittenRow written(Bytes(whole_bytes.begin(), whole_bytes.begin() + static_cast<ptrdiff_t>(cut)), 5);
    EXPECT_EQ(written.outcome == DecodeOutcome::kOk, cut >= whole_bytes.size()) << cut;
  }
  for (size_t offset = 12; offset < 14 + 4 + 12; ++offset) {
    for (int value = 0; value < 256; ++value) {
      Bytes changed_bytes = whole_bytes;
      changed_bytes[offset] = static_cast<uint8_t>(value);
      const WrittenRow written(std::move(changed_bytes), 5);
      Telemetry telemetry;
      if (written.outcome == DecodeOutcome::kOk && read_telemetry(written.packet, &telemetry)) {
        EXPECT_LE(telemetry.hops, 252u);
      }
    }
  }
}

TEST(TelemetryRow, ContradictoryHeadersAreNotTelemetry) {
  const auto lacks = [](size_t offset, uint8_t value) {
    Bytes changed_bytes = testing::with_telemetry(kThreeHops, 0x0800, ip());
    changed_bytes[offset] = value;
    const WrittenRow written(changed_bytes, 5);
    return written.outcome == DecodeOutcome::kOk && written.matches("seq == 7") && !written.matches("has(hops)");
  };
  constexpr size_t kShim = 14, kHeader = 18;
  EXPECT_TRUE(lacks(kShim, 0x30));      // INT-MX: instructions without metadata
  EXPECT_TRUE(lacks(kHeader, 0x10));    // version 1
  EXPECT_TRUE(lacks(kHeader + 2, 1));   // fewer words than the instructions need
  EXPECT_TRUE(lacks(kHeader + 2, 13));  // the stack's length is not a multiple of the hop's
  EXPECT_TRUE(lacks(kHeader + 2, 0));
}

}  // namespace
}  // namespace tapline::multilog
