#include "parsers/engine/reassembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;

// Records both streams, with bytes unchanged, gaps as <n>, and ends as | (FIN), ! (RST) or . (timeout).
class Recorder final : public StreamParser {
 public:
  explicit Recorder(std::string* streams) : streams_(streams) {}
  const Schema& schema() const override {
    static const Schema schema = {.name = "recorder"};
    return schema;
  }
  Needs needs() const override { return {.packets = false, .streams = true}; }
  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& /*out*/) override {
    EXPECT_EQ(segment.offset, offset_[side]);
    offset_[side] += bytes.size();
    stream(connection, side).append(bytes.begin(), bytes.end());
    return StreamVerdict::kContinue;
  }
  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment, Emitter&) override {
    EXPECT_EQ(segment.offset, offset_[side]);
    offset_[side] += bytes;
    stream(connection, side) += "<" + std::to_string(bytes) + ">";
    return StreamVerdict::kContinue;
  }
  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t, Emitter&) override {
    stream(connection, side) += end == StreamEnd::kFin ? "|" : end == StreamEnd::kReset ? "!" : ".";
  }

 private:
  std::string& stream(Connection& connection, Side side) {
    return streams_[connection.direction_of(side) == Direction::kFromClient ? 0 : 1];
  }
  std::string* streams_;
  uint64_t offset_[2] = {0, 0};
};

struct Streams {
  std::string text[2];
  uint64_t gap_bytes = 0;
  const std::string& client() const { return text[0]; }
  const std::string& server() const { return text[1]; }
};

Streams reassemble(const std::vector<Frame>& frames, const EngineOptions& options = testing::Harness::small()) {
  Streams streams;
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::make_unique<Recorder>(streams.text));
  testing::Harness harness(std::move(parsers), options);
  harness.all(frames);
  streams.gap_bytes = harness.lost(LossReason::kGap) + harness.lost(LossReason::kReassemblyFlowFull) +
                      harness.lost(LossReason::kReassemblyTotalFull);
  EXPECT_EQ(harness.engine().stats().reassembly_bytes, 0u);
  return streams;
}

Frame client_data(uint32_t offset, std::string_view payload, uint8_t flags = tcp_flag::kAck) {
  return testing::tcp_frame({.seq = 1001 + offset, .ack = 5001, .flags = flags, .payload = payload},
                            1'000'003'000'000 + offset);
}
Frame from_server(uint32_t offset, uint32_t ack, std::string_view payload, uint8_t flags = tcp_flag::kAck,
                  int64_t time_ns = 1'000'003'000'500) {
  return testing::tcp_frame({.src = "10.0.0.2",
                             .dst = "10.0.0.1",
                             .src_port = 80,
                             .dst_port = 40000,
                             .seq = 5001 + offset,
                             .ack = ack,
                             .flags = flags,
                             .payload = payload},
                            time_ns);
}
Frame server_ack(uint32_t offset, int64_t time_ns = 1'000'003'000'500) {
  return from_server(0, 1001 + offset, "", tcp_flag::kAck, time_ns);
}
std::vector<Frame> opened(std::vector<Frame> more_frames) {
  std::vector<Frame> frames = Conversation().handshake().frames();
  frames.insert(frames.end(), more_frames.begin(), more_frames.end());
  return frames;
}

TEST(Reassembler, InOrder) {
  EXPECT_EQ(reassemble(Conversation().handshake().client("ab").server("xy").client("cd").close().frames()).client(),
            "abcd|");
}

TEST(Reassembler, OutOfOrderAndRetransmitted) {
  EXPECT_EQ(reassemble(opened({client_data(4, "ef"), client_data(2, "cd"), client_data(0, "ab"), client_data(2, "cd")}))
                .client(),
            "abcdef.");
}

TEST(Reassembler, FirstDataThatArrivesAfterItsAcknowledgement) {
  EXPECT_EQ(reassemble(opened({client_data(2, ""), client_data(0, "ab"), client_data(2, "cd")})).client(), "abcd.");
  // A keep-alive with a garbage byte before the first data changes nothing.
  EXPECT_EQ(reassemble(opened({client_data(0, ""), client_data(UINT32_MAX, "?"), client_data(0, "ab")})).client(),
            "ab.");
}

// In some of the orders, the acknowledgements of both sides arrive before the first data of either.
TEST(Reassembler, FirstDataOfBothSidesAfterTheAcknowledgements) {
  Conversation conversation;
  conversation.handshake().server("hello").client_ack().client("hi").server_ack().client("more").close();
  std::vector<Frame> frames = conversation.frames();
  const auto first = frames.begin() + 3;
  std::vector<size_t> order = {0, 1, 2, 3};
  const std::vector<Frame> data(first, first + 4);
  do {
    for (size_t i = 0; i < order.size(); ++i) first[static_cast<ptrdiff_t>(i)] = data[order[i]];
    const Streams streams = reassemble(frames);
    EXPECT_EQ(streams.client(), "himore|") << order[0] << order[1] << order[2] << order[3];
    EXPECT_EQ(streams.server(), "hello|") << order[0] << order[1] << order[2] << order[3];
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Reassembler, SynsThatArriveAfterTheirAcknowledgements) {
  Conversation conversation;
  conversation.handshake().server("hello").client_ack().client("hi").close();
  std::vector<Frame> frames = conversation.frames();
  // The order becomes: SYN, ACK of the greeting, SYN/ACK, ACK, greeting.
  std::rotate(frames.begin() + 1, frames.begin() + 4, frames.begin() + 5);
  const Streams streams = reassemble(frames);
  EXPECT_EQ(streams.client(), "hi|");
  EXPECT_EQ(streams.server(), "hello|");
}

TEST(Reassembler, FirstCopyOfOverlapsWins) {
  EXPECT_EQ(reassemble(opened({client_data(2, "CD"), client_data(0, "abcdef")})).client(), "abCDef.");
  EXPECT_EQ(reassemble(opened({client_data(0, "abc"), client_data(1, "XXXd")})).client(), "abcXd.");
  EXPECT_EQ(
      reassemble(opened({client_data(2, "CD"), client_data(6, "GH"), client_data(1, "123456789"), client_data(0, "a")}))
          .client(),
      "a1CD45GH89.");
}

TEST(Reassembler, SequenceNumbersWrap) {
  Conversation::Options options;
  options.client_isn = 0xfffffffe;
  Conversation conversation(options);
  conversation.handshake().client("abc").client("def").client("ghi");
  std::swap(conversation.frames()[3], conversation.frames()[5]);
  EXPECT_EQ(reassemble(conversation.frames()).client(), "abcdefghi.");
}

TEST(Reassembler, SynAndFinCarryData) {
  Conversation conversation;
  conversation.client("syn", tcp_flag::kSyn);
  std::vector<Frame> frames = conversation.frames();
  frames.push_back(
      testing::tcp_frame({.seq = 1004, .flags = tcp_flag::kFin | tcp_flag::kAck, .payload = "fin"}, 1'000'001'000'000));
  EXPECT_EQ(reassemble(frames).client(), "synfin|");
}

TEST(Reassembler, FinBeforeItsDataWaits) {
  EXPECT_EQ(
      reassemble(opened({client_data(4, "ef", tcp_flag::kAck | tcp_flag::kFin), client_data(0, "abcd")})).client(),
      "abcdef|");
}

TEST(Reassembler, KeepAliveAndZeroWindowProbes) {
  EXPECT_EQ(reassemble(opened({client_data(0, "abc"), client_data(2, "?"), client_data(3, "d"), client_data(3, "de")}))
                .client(),
            "abcde.");
}

TEST(Reassembler, ResetEndsBothSides) {
  const Streams streams =
      reassemble(Conversation().handshake().client("ab").server("xy").server("", tcp_flag::kRst).frames());
  EXPECT_EQ(streams.client(), "ab!");
  EXPECT_EQ(streams.server(), "xy!");
}

TEST(Reassembler, PayloadOfARstIsNotData) {
  const std::vector<Frame> syn = Conversation().client("", tcp_flag::kSyn).frames();
  std::vector<Frame> frames = {syn[0], from_server(0, 1, "forged", tcp_flag::kRst | tcp_flag::kAck)};
  for (const Frame& frame : opened({from_server(0, 1001, "xy"), from_server(2, 1001, "bye", tcp_flag::kRst)})) {
    frames.push_back(frame);
  }
  EXPECT_EQ(reassemble(frames).server(), "xy!");
}

TEST(Reassembler, FinsOutsideTheWindowAreIgnored) {
  for (const uint32_t offset : {0u - 1000u, 1u << 27, 1u << 30}) {
    const uint8_t fin = tcp_flag::kAck | tcp_flag::kFin;
    const Streams streams =
        reassemble(opened({client_data(0, "ab"), client_data(offset, "", fin), client_data(2, "cd")}));
    EXPECT_EQ(streams.client(), "abcd.") << offset;
  }
}

TEST(Reassembler, FinThatArrivesAfterItsAcknowledgement) {
  std::vector<Frame> frames =
      opened({client_data(0, "ab"), server_ack(3), client_data(2, "", tcp_flag::kAck | tcp_flag::kFin)});
  EXPECT_EQ(reassemble(frames).client(), "ab|");
}

TEST(Reassembler, AcknowledgedHoleIsAGap) {
  std::vector<Frame> frames = opened({client_data(0, "ab"), client_data(4, "ef")});
  for (uint32_t i = 0; i <= Reassembler::kMaxHolePackets; ++i) frames.push_back(server_ack(6));
  frames.push_back(client_data(2, "cd"));  // too late
  frames.push_back(client_data(6, "gh"));
  const Streams streams = reassemble(frames);
  EXPECT_EQ(streams.client(), "ab<2>efgh.");
  EXPECT_EQ(streams.gap_bytes, 2u);
}

TEST(Reassembler, UnacknowledgedHoleWaitsForTheRetransmission) {
  std::vector<Frame> frames = opened({client_data(0, "ab"), client_data(4, "ef")});
  for (int i = 0; i < 50; ++i) frames.push_back(server_ack(2));
  frames.push_back(client_data(2, "cd"));
  EXPECT_EQ(reassemble(frames).client(), "abcdef.");
}

TEST(Reassembler, UnseenAcknowledgedDataAtTheEndIsAGap) {
  EXPECT_EQ(reassemble(opened({client_data(0, "ab"), server_ack(10)})).client(), "ab<8>.");
  EXPECT_EQ(reassemble(opened({client_data(0, "ab"), client_data(6, "", tcp_flag::kAck | tcp_flag::kFin)})).client(),
            "ab<4>|");
  // One more byte may be a FIN that was not captured; two bytes can't be.
  EXPECT_EQ(reassemble(opened({client_data(0, "ab"), server_ack(3)})).client(), "ab.");
  EXPECT_EQ(reassemble(opened({client_data(0, "ab"), server_ack(4)})).client(), "ab<2>.");
}

TEST(Reassembler, ASnaplenLeavesAGap) {
  Frame cut_frame = client_data(0, "abcdefgh");
  cut_frame.wire_bytes = static_cast<uint32_t>(cut_frame.bytes.size());
  cut_frame.bytes.resize(cut_frame.bytes.size() - 5);
  EXPECT_EQ(reassemble(opened({cut_frame, client_data(8, "ij")})).client(), "abc<5>ij.");
  EXPECT_EQ(reassemble(opened({client_data(8, "ij"), cut_frame})).client(), "abc<5>ij.");
}

TEST(Reassembler, MidStreamAndOneWay) {
  EXPECT_EQ(reassemble({client_data(500, "ab"), client_data(502, "cd")}).client(), "abcd.");
  EXPECT_EQ(reassemble({server_ack(500), client_data(500, "ab")}).client(), "ab.");
  // Without acknowledgements, a hole is skipped after kHoleTimeoutNs.
  Frame late_frame = client_data(4, "ef");
  late_frame.time_ns += Reassembler::kHoleTimeoutNs;
  EXPECT_EQ(reassemble({client_data(0, "a"), client_data(2, "cd"), late_frame}).client(), "a<1>cdef.");
  // A packet captured at the timeout closes the hole, so the missing byte is too late; one captured a nanosecond
  // earlier does not.
  Frame missing = client_data(1, "b");
  missing.time_ns = late_frame.time_ns;
  EXPECT_EQ(reassemble({client_data(0, "a"), client_data(2, "cd"), late_frame, missing}).client(), "a<1>cdef.");
  const int64_t stale_ns = client_data(2, "cd").time_ns + Reassembler::kHoleTimeoutNs;
  late_frame.time_ns = stale_ns - 1;
  EXPECT_EQ(reassemble({client_data(0, "a"), client_data(2, "cd"), late_frame, missing}).client(), "abcdef.");
  late_frame.time_ns = stale_ns;
  EXPECT_EQ(reassemble({client_data(0, "a"), client_data(2, "cd"), late_frame, missing}).client(), "a<1>cdef.");
}

TEST(Reassembler, FullBuffersAbandonTheHole) {
  EngineOptions options = testing::Harness::small();
  options.max_flow_reassembly_bytes = 2 * Chunk::kBytes;
  std::vector<Frame> frames =
      opened({client_data(0, "a"), client_data(2, "c"), client_data(4, "e"), client_data(6, "g")});
  EXPECT_EQ(reassemble(frames, options).client(), "a<1>c<1>e<1>g.");
  // A late byte fills its hole only if larger buffers have kept the hole open.
  frames.push_back(client_data(1, "b"));
  EXPECT_EQ(reassemble(frames, options).client(), "a<1>c<1>e<1>g.");
  EXPECT_EQ(reassemble(frames).client(), "abc<1>e<1>g.");
  frames.pop_back();
  options = testing::Harness::small();
  options.max_reassembly_bytes = Chunk::kBytes;
  EXPECT_EQ(reassemble(frames, options).client(), "a<1>c<1>e<1>g.");
}

TEST(Reassembler, UnrelatedAcknowledgementsAreHarmless) {
  std::vector<Frame> frames =
      opened({client_data(0, "ab"), server_ack(1u << 31), client_data(2, "cd"), client_data(1u << 30, "?")});
  EXPECT_EQ(reassemble(frames).client(), "abcd.");
}

// Oracle: each delivered byte is from its first captured copy, regardless of the segments' order, overlaps and lengths.
TEST(Reassembler, RandomSegmentsGiveTheFirstCopyOfEachByte) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const uint32_t total = 1 + random() % 400;
    std::string expected(total, '\0');
    std::vector<Frame> frames;
    const auto add = [&](uint32_t begin, uint32_t length) {
      std::string payload;
      for (uint32_t i = begin; i < begin + length; ++i) {
        const char c = static_cast<char>('a' + random() % 26);
        payload += c;
        if (expected[i] == '\0') expected[i] = c;
      }
      frames.push_back(client_data(begin, payload));
      frames.back().time_ns = 1'000'003'000'000 + static_cast<int64_t>(frames.size());
    };
    // Retransmissions after delivery are dropped, so "first copy" is a sufficient model.
    for (int i = 0; i < 30; ++i) {
      const uint32_t begin = random() % total;
      add(begin, 1 + random() % (total - begin));
    }
    add(0, total);
    EXPECT_EQ(reassemble(opened(frames)).client(), expected + ".") << "round " << round;
  }
}

}  // namespace
}  // namespace tapline
