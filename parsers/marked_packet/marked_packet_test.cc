#include <gtest/gtest.h>

#include <map>

#include "parsers/testing/capture_file.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

constexpr int64_t kStart = 1'000'000'000'000;

Frame marked(uint8_t traffic_class, uint16_t src_port) {
  Frame frame = testing::tcp_frame({.src_port = src_port}, kStart);
  frame.bytes[15] = traffic_class;
  return frame;
}

TEST(MarkedPacket, EmitsExpeditedPacketsByDefault) {
  Harness harness({"marked_packet"});
  harness.all({marked(0, 1000), marked(46 << 2 | 3, 1001), marked(10 << 2, 1002)});
  EXPECT_EQ(harness.lines({"dscp", "ecn"}), (Lines{"46 3"}));
}

TEST(MarkedPacket, EachQueryHasItsOwnCodePoint) {
  Harness harness({"marked_packet"});
  const Value ten[] = {Value::u64(10)}, zero[] = {Value::u64(0)};
  harness.engine().set_arguments(0, 0, ten);
  harness.engine().set_arguments(0, 1, zero);
  const auto queries_of = [&] {
    std::vector<uint64_t> queries;
    for (const auto& tuple : harness.tuples()) queries.push_back(tuple.header.queries);
    return queries;
  };
  harness.feed({marked(0, 1000), marked(46 << 2, 1001), marked(10 << 2, 1002)}, 3);
  EXPECT_EQ(queries_of(), (std::vector<uint64_t>{2, 1}));
  // The number of an ended query is reused for another one.
  harness.engine().set_arguments(0, 1, ten);
  harness.feed({marked(0, 1000), marked(10 << 2, 1002)}, 3);
  EXPECT_EQ(queries_of(), (std::vector<uint64_t>{2, 1, 3}));
}

// captures/make.py sends these pings: each has two requests and two replies.
TEST(MarkedPacket, ReadsBothVersionsOfIp) {
  Harness harness({"marked_packet"});
  harness.all(testing::read_capture(TAPLINE_SOURCE_DIR "/parsers/marked_packet/captures/marked.pcap.zst"));
  std::map<std::string, int> packets;
  for (const std::string& line : harness.lines({"dscp", "ecn", "bytes"})) ++packets[line];
  EXPECT_EQ(packets, (std::map<std::string, int>{{"46 0 1001", 4}, {"46 3 98", 4}, {"46 0 262", 4}}));
}

}  // namespace
}  // namespace tapline
