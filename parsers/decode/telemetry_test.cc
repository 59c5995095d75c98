#include "parsers/api/telemetry.h"

#include <gtest/gtest.h>

#include "parsers/testing/telemetry.h"

namespace tapline {
namespace {

using testing::IntSpec;

const Hop kFirst = {.switch_id = 7,
                    .ingress_port = 1,
                    .egress_port = 2,
                    .queue_id = 3,
                    .queue_depth = 4,
                    .latency_ns = 50,
                    .time_ns = 1000};
const Hop kLast = {.switch_id = 9,
                   .ingress_port = 300,
                   .egress_port = 40'000,
                   .queue_id = 200,
                   .queue_depth = 0xfffffe,
                   .latency_ns = 60,
                   .time_ns = 2000};

Telemetry read(const IntSpec& spec) {
  const testing::Frame frame = testing::telemetry_frame(spec, {}, 1);
  Packet packet;
  EXPECT_EQ(decode(frame.raw(), &packet), DecodeOutcome::kOk);
  Telemetry telemetry;
  EXPECT_TRUE(read_telemetry(packet, &telemetry));
  return telemetry;
}

TEST(ReadTelemetry, PortsAndQueues) {
  const Telemetry telemetry = read({.hops = {kFirst, kLast}, .instructions = 0xf400});
  EXPECT_TRUE(telemetry.has_ports && telemetry.has_queue_depth && telemetry.has_departure_time);
  ASSERT_EQ(telemetry.hops, 2u);
  EXPECT_EQ(telemetry.path[0].ingress_port, 1);
  EXPECT_EQ(telemetry.path[0].egress_port, 2);
  EXPECT_EQ(telemetry.path[0].queue_id, 3);
  EXPECT_EQ(telemetry.path[1].ingress_port, 300);
  EXPECT_EQ(telemetry.path[1].egress_port, 40'000);
  EXPECT_EQ(telemetry.path[1].queue_id, 200);
  EXPECT_EQ(telemetry.path[1].queue_depth, 0xfffffeu);
  EXPECT_EQ(telemetry.path[1].latency_ns, 60u);
  EXPECT_EQ(telemetry.path[1].time_ns, 2000u);
}

TEST(ReadTelemetry, PortsAndQueuesThatWereNotRequestedAreAbsent) {
  const Telemetry telemetry = read({.hops = {kFirst}, .instructions = 0xa800});
  EXPECT_FALSE(telemetry.has_ports || telemetry.has_queue_depth || telemetry.has_departure_time);
  EXPECT_TRUE(telemetry.has_time);
  EXPECT_EQ(telemetry.path[0].ingress_port, Hop::kNoPort);
  EXPECT_EQ(telemetry.path[0].egress_port, Hop::kNoPort);
  EXPECT_EQ(telemetry.path[0].queue_id, Hop::kNoQueue);
}

TEST(ReadTelemetry, TimesThatASwitchLacksGiveNoLatency) {
  Hop hop = kFirst;
  hop.time_ns = UINT64_MAX;
  hop.latency_ns = 0;  // so that the ingress time is absent, too
  EXPECT_EQ(read({.hops = {hop}, .instructions = 0xcc00}).path[0].latency_ns, Hop::kNoLatency);
  EXPECT_EQ(read({.hops = {kFirst}, .instructions = 0xcc00}).path[0].latency_ns, 50u);
}

TEST(ReadTelemetry, ItsBytesAreTheDifferenceToAPacketWithoutIt) {
  const IntSpec spec = {.hops = {kFirst, kLast}, .instructions = 0xf400};
  const testing::Frame frame = testing::telemetry_frame(spec, {}, 1), bare = testing::tcp_frame({}, 1);
  Packet packet;
  ASSERT_EQ(decode(frame.raw(), &packet), DecodeOutcome::kOk);
  EXPECT_EQ(packet.wire_bytes - telemetry_wire_bytes(packet), bare.bytes.size());
  ASSERT_EQ(decode(bare.raw(), &packet), DecodeOutcome::kOk);
  EXPECT_EQ(telemetry_wire_bytes(packet), 0u);
}

}  // namespace
}  // namespace tapline
