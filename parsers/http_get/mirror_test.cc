// Tests captures as mirrors deliver them: in one direction only, without the beginning, and with lost, late, repeated
// and cut segments.
#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/http_get/dialogues.h"

namespace tapline::http_test {
namespace {

TEST(HttpGet, OneWayCaptures) {
  std::vector<Frame> requests, responses;
  Conversation conversation;
  conversation.handshake().client(kGet).server(kOk).client(kGet).server(kOk).close();
  for (const Frame& frame : conversation.frames()) (frame.bytes[14 + 15] == 1 ? requests : responses).push_back(frame);
  const std::string request = "GET h /a - " + size(kGet) + " - request";
  const std::string response = "- - - 200 - " + size(kOk) + " response";
  EXPECT_EQ(parse(requests), (Lines{request, request}));
  EXPECT_EQ(parse(responses), (Lines{response, response}));
}

TEST(HttpGet, JoinsInMidStream) {
  Conversation conversation;
  conversation.handshake().client(kGet).server_cut(kOk, 20).client(kGet).server(kOk).client(kGet).server(kOk).close();
  std::vector<Frame> frames = conversation.frames();
  frames.erase(frames.begin(), frames.begin() + 5);  // only the end of the first response remains
  EXPECT_EQ(parse(frames), (Lines{whole("GET h /a 200", kGet, kOk), whole("GET h /a 200", kGet, kOk)}));
}

// Makes three transactions. The first 3 frames are the handshake; from index 3, requests and responses alternate.
std::vector<Frame> three_with_lost(std::vector<size_t> lost, size_t response_cut = 1000) {
  Conversation conversation;
  conversation.handshake();
  for (const char* url : {"/1", "/2", "/3"}) {
    conversation.client("GET " + std::string(url) + " HTTP/1.1\r\nHost: h\r\n\r\n").server_cut(kOk, response_cut);
  }
  conversation.client_ack().close();
  std::vector<Frame> frames = conversation.frames();
  for (auto index = lost.rbegin(); index != lost.rend(); ++index) {
    frames.erase(frames.begin() + static_cast<ptrdiff_t>(*index));
  }
  return frames;
}

TEST(HttpGet, LostRequestLeavesItsResponseUnpaired) {
  const std::string complete_1 = whole("GET h /1 200", kGet, kOk), complete_3 = whole("GET h /3 200", kGet, kOk);
  EXPECT_EQ(parse(three_with_lost({5})), (Lines{complete_1, "- - - 200 - " + size(kOk) + " response", complete_3}));
}

TEST(HttpGet, LostResponseLeavesItsRequestUnpaired) {
  Lines lines = parse(three_with_lost({6}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], whole("GET h /1 200", kGet, kOk));
  EXPECT_EQ(lines[1], "GET h /2 - " + size(kGet) + " - request");
  EXPECT_EQ(lines[2], whole("GET h /3 200", kGet, kOk));
}

TEST(HttpGet, GapInsideABodyOfKnownLengthIsSkipped) {
  // The first response has segments of 1,000 bytes. Its head is in the first segment, and the lost second segment is
  // within the body.
  std::string big = "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'x');
  Conversation conversation;
  conversation.handshake().client(kGet).server_cut(big, 1000).client(kGet).server(kOk).close();
  conversation.frames().erase(conversation.frames().begin() + 5);
  Harness run({"http_get"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lines(kFields), (Lines{whole("GET h /a 200", kGet, big), whole("GET h /a 200", kGet, kOk)}));
  EXPECT_EQ(run.lost(LossReason::kGap), 1000u);
}

TEST(HttpGet, AGapBeyondABodyDoesNotExtendIt) {
  // The response's last segment and all of the next response are lost.
  const std::string big = "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'x');
  Conversation conversation;
  conversation.handshake().client(kGet).server_cut(big, 1000).client(kGet).server(kOk).client(kGet).server(kOk).close();
  std::vector<Frame> frames = conversation.frames();
  frames.erase(frames.begin() + 9);
  frames.erase(frames.begin() + 7);
  EXPECT_EQ(parse(frames), (Lines{whole("GET h /a 200", kGet, big), "GET h /a - " + size(kGet) + " - request",
                                  whole("GET h /a 200", kGet, kOk)}));
}

TEST(HttpGet, NeverPairsWrongIfAFrameIsLost) {
  for (size_t response_cut : {1000u, 20u}) {
    const size_t frames = three_with_lost({}, response_cut).size();
    for (size_t first = 0; first < frames; ++first) {
      for (size_t second = first + 1; second < frames; ++second) {
        Harness run({"http_get"});
        // Responses have no number, so a pair is judged by its times: each response begins 1 ms after its request.
        run.all(three_with_lost({first, second}, response_cut));
        for (const testing::Tuple& tuple : run.tuples()) {
          if (!tuple["partial"].empty()) continue;
          EXPECT_EQ(tuple["first_byte_ns"], "1000000") << first << " and " << second << " lost";
        }
      }
    }
  }
}

// Makes self-identifying transactions in segments of at most `cut` bytes, and lists the transaction of each frame.
std::vector<Frame> self_identifying(size_t transactions, size_t cut, std::vector<size_t>* transaction_of) {
  Conversation conversation;
  conversation.handshake();
  transaction_of->assign(3, 0);
  for (size_t number = 1; number <= transactions; ++number) {
    conversation.client_cut("GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: h\r\n\r\n", cut);
    conversation.server_cut("HTTP/1.1 " + std::to_string(200 + number) + " OK\r\nContent-Length: 5\r\n\r\nhello", cut);
    transaction_of->resize(conversation.frames().size(), number);
  }
  conversation.client_ack().close();
  transaction_of->resize(conversation.frames().size(), 0);
  return conversation.frames();
}

std::vector<Frame> three_transactions(size_t cut, std::vector<size_t>* transaction_of) {
  return self_identifying(3, cut, transaction_of);
}

// While the parser waits for a lost request, it holds back the responses, and another response may be lost as well.
TEST(HttpGet, NeverPairsWrongIfThreeFramesAreLost) {
  std::vector<size_t> transaction_of;
  const std::vector<Frame> frames = self_identifying(11, 1000, &transaction_of);
  for (size_t first = 0; first < frames.size(); ++first) {
    for (size_t second = first + 1; second < frames.size(); ++second) {
      for (size_t third = second; third < frames.size(); ++third) {
        std::vector<Frame> left;
        for (size_t i = 0; i < frames.size(); ++i) {
          if (i != first && i != second && i != third) left.push_back(frames[i]);
        }
        Harness run({"http_get"});
        run.all(left);
        size_t complete_tuples = 0;
        for (const testing::Tuple& tuple : run.tuples()) {
          if (!tuple["partial"].empty()) continue;
          ++complete_tuples;
          ASSERT_EQ(std::stoi(tuple["status"]), 200 + std::stoi(tuple["url"].substr(1)))
              << first << ", " << second << " and " << third << " lost";
        }
        EXPECT_GE(complete_tuples, 7u) << first << ", " << second << " and " << third << " lost";
      }
    }
  }
}

TEST(HttpGet, ALostSegmentAffectsOnlyItsTransaction) {
  for (const size_t cut : {1000u, 20u, 7u, 1u}) {
    std::vector<size_t> transaction_of;
    const std::vector<Frame> frames = three_transactions(cut, &transaction_of);
    for (size_t lost = 0; lost < frames.size(); ++lost) {
      std::vector<Frame> left = frames;
      left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
      Harness run({"http_get"});
      run.all(left);
      std::vector<size_t> complete_tuples;
      for (const testing::Tuple& tuple : run.tuples()) {
        if (!tuple["partial"].empty()) continue;
        complete_tuples.push_back(static_cast<size_t>(tuple["url"].at(1) - '0'));
        EXPECT_EQ(tuple["status"], "20" + tuple["url"].substr(1)) << "frame " << lost << " lost, cut at " << cut;
      }
      for (size_t number = 1; number <= 3; ++number) {
        const auto times = std::count(complete_tuples.begin(), complete_tuples.end(), number);
        EXPECT_LE(times, 1);
        if (number != transaction_of[lost]) {
          EXPECT_EQ(times, 1) << number << ", frame " << lost << " lost, cut at " << cut;
        }
      }
    }
  }
}

TEST(HttpGet, ARepeatedSegmentHasNoEffect) {
  for (const size_t cut : {1000u, 20u, 7u}) {
    std::vector<size_t> transaction_of;
    const std::vector<Frame> frames = three_transactions(cut, &transaction_of);
    const Lines expected = parse(frames);
    ASSERT_EQ(expected.size(), 3u);
    for (size_t repeated = 0; repeated < frames.size(); ++repeated) {
      for (size_t position = repeated; position < std::min(frames.size(), repeated + 6); ++position) {
        std::vector<Frame> more_frames = frames;
        more_frames.insert(more_frames.begin() + static_cast<ptrdiff_t>(position + 1), frames[repeated]);
        EXPECT_EQ(parse(more_frames), expected) << repeated << " again after " << position << ", cut at " << cut;
      }
    }
  }
}

TEST(HttpGet, SwappedSegmentsHaveNoEffect) {
  std::vector<size_t> transaction_of;
  const std::vector<Frame> frames = three_transactions(7, &transaction_of);
  const Lines expected = parse(frames);
  for (size_t first = 3; first < frames.size(); ++first) {
    for (size_t second = first + 1; second < std::min(frames.size(), first + 5); ++second) {
      std::vector<Frame> swapped = frames;
      std::swap(swapped[first], swapped[second]);
      EXPECT_EQ(parse(swapped), expected) << first << " and " << second;
    }
  }
}

// Runs http_get as if a query had requested it after the first `skipped` pieces of payload.
class LateParser final : public StreamParser {
 public:
  explicit LateParser(size_t skipped) : skipped_(skipped) {}
  const Schema& schema() const override { return parser_->schema(); }
  Needs needs() const override { return parser_->needs(); }
  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    if (skipped_ > 0) {
      --skipped_;
      return StreamVerdict::kContinue;
    }
    return streams().on_data(connection, side, bytes, segment, out);
  }
  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment,
                       Emitter& out) override {
    return streams().on_gap(connection, side, bytes, segment, out);
  }
  void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns, Emitter& out) override {
    streams().on_stream_end(connection, side, end, time_ns, out);
  }
  void on_end(Connection& connection, uint64_t queries, Emitter& out) override {
    parser_->on_end(connection, queries, out);
  }
  void on_release(Connection& connection) override { parser_->on_release(connection); }

 private:
  StreamParser& streams() { return static_cast<StreamParser&>(*parser_); }
  size_t skipped_;
  std::unique_ptr<Parser> parser_ = std::move(testing::make_parsers({"http_get"})[0]);
};

TEST(HttpGet, ConnectionsInProgressAreJoinedInMidStream) {
  for (const size_t cut : {1000u, 20u, 7u}) {
    std::vector<size_t> transaction_of;
    const std::vector<Frame> frames = three_transactions(cut, &transaction_of);
    for (size_t skipped = 1; skipped < frames.size() - 7; ++skipped) {
      std::vector<std::unique_ptr<Parser>> parsers;
      parsers.push_back(std::make_unique<LateParser>(skipped));
      Harness run(std::move(parsers));
      run.all(frames);
      std::vector<std::string> complete_tuples, expected;
      for (const testing::Tuple& tuple : run.tuples()) {
        if (!tuple["partial"].empty()) continue;
        complete_tuples.push_back(tuple["url"]);
        EXPECT_EQ(tuple["status"], "20" + tuple["url"].substr(1)) << skipped << " skipped, cut at " << cut;
      }
      for (size_t number = transaction_of[3 + skipped - 1] + 1; number <= 3; ++number) {
        expected.push_back("/" + std::to_string(number));
      }
      // The transaction in progress may be complete if the last skipped byte ended the previous one.
      if (complete_tuples.size() > expected.size()) complete_tuples.erase(complete_tuples.begin());
      EXPECT_EQ(complete_tuples, expected) << skipped << " skipped, cut at " << cut;
    }
  }
}

TEST(HttpGet, SlightlyLateFramesHaveNoEffect) {
  const std::vector<Frame> frames = three_with_lost({}, 20);
  Lines expected = {whole("GET h /1 200", kGet, kOk), whole("GET h /2 200", kGet, kOk),
                    whole("GET h /3 200", kGet, kOk)};
  for (size_t late = 3; late < frames.size(); ++late) {
    for (size_t places = 1; places <= 3 && late + places < frames.size(); ++places) {
      std::vector<Frame> moved_frames = frames;
      std::rotate(moved_frames.begin() + static_cast<ptrdiff_t>(late),
                  moved_frames.begin() + static_cast<ptrdiff_t>(late) + 1,
                  moved_frames.begin() + static_cast<ptrdiff_t>(late + places) + 1);
      EXPECT_EQ(parse(moved_frames), expected) << late << " late by " << places;
    }
  }
}

TEST(HttpGet, DuplicatingEveryFrameHasNoEffect) {
  std::vector<Frame> twice;
  for (const Frame& frame : three_with_lost({})) twice.insert(twice.end(), 2, frame);
  EXPECT_EQ(parse(twice).size(), 3u);
}

TEST(HttpGet, SnaplenCutsBodies) {
  std::vector<Frame> frames = one_connection(std::string(kGet) + std::string(kGet), std::string(kOk));
  frames.back().wire_bytes = static_cast<uint32_t>(frames.back().bytes.size());
  std::string big = "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + std::string(900, 'x');
  Conversation conversation;
  conversation.handshake().client(kGet).server(big).client(kGet).server(big).close();
  for (Frame& frame : conversation.frames()) {
    frame.wire_bytes = static_cast<uint32_t>(frame.bytes.size());
    if (frame.bytes.size() > 120) frame.bytes.resize(120);
  }
  EXPECT_EQ(parse(conversation.frames()), (Lines{whole("GET h /a 200", kGet, big), whole("GET h /a 200", kGet, big)}));
}

}  // namespace
}  // namespace tapline::http_test
