#include <gtest/gtest.h>

#include "parsers/dns_query/message.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

constexpr int64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
constexpr int64_t kStart = 1000 * kSecond;
constexpr uint16_t kA = 1, kCname = 5, kMx = 15, kTxt = 16, kAaaa = 28, kAxfr = 252;
const Lines kShort = {"qname", "qtype", "rcode", "answer_time_ns", "partial"};

// ---- writing DNS ----

std::string number(size_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

std::string name(const std::string& text) {
  std::string wire;
  for (size_t position = 0; position < text.size();) {
    const size_t dot = std::min(text.find('.', position), text.size());
    wire += number(dot - position, 1) + text.substr(position, dot - position);
    position = dot + 1;
  }
  return wire + '\0';
}
std::string pointer(size_t offset) { return number(0xc000 | offset, 2); }
std::string record(const std::string& owner, uint16_t type, uint32_t ttl, const std::string& data) {
  return owner + number(type, 2) + number(1, 2) + number(ttl, 4) + number(data.size(), 2) + data;
}

struct Spec {
  uint16_t id = 7;
  std::string qname = "www.Example.test";
  uint16_t type = kA;
  uint16_t flags = 0x0100;
  Lines answers = {};
  std::string additional = {};  // a single record
};
constexpr uint16_t kAnswer = 0x8180;

std::string message(const Spec& spec) {
  std::string text = number(spec.id, 2) + number(spec.flags, 2) + number(1, 2) + number(spec.answers.size(), 2) +
                     number(0, 2) + number(spec.additional.empty() ? 0 : 1, 2) + name(spec.qname) +
                     number(spec.type, 2) + number(1, 2);
  for (const std::string& answer : spec.answers) text += answer;
  return text + spec.additional;
}
std::string with_length(const std::string& text) { return number(text.size(), 2) + text; }
const std::string kAddress = record(pointer(12), kA, 300, "\x0a\x01\x02\x03");
std::string question(uint16_t id = 7) { return message({.id = id}); }
std::string answer(uint16_t id = 7) { return message({.id = id, .flags = kAnswer, .answers = {kAddress}}); }

Frame up(const std::string& payload, int64_t time_ns, uint16_t port = 40000, uint16_t server = 53) {
  return testing::udp_frame({.src_port = port, .dst_port = server, .payload = payload}, time_ns);
}
Frame down(const std::string& payload, int64_t time_ns, uint16_t port = 40000, uint16_t server = 53) {
  return testing::udp_frame(
      {.src = "10.0.0.2", .dst = "10.0.0.1", .src_port = server, .dst_port = port, .payload = payload}, time_ns);
}
Lines seen(const std::vector<Frame>& frames, const Lines& fields = kShort) {
  return Harness({"dns_query"}).all(frames).lines(fields);
}

// ---- over UDP ----

TEST(DnsQuery, AQuestionAndItsAnswer) {
  Harness harness({"dns_query"});
  harness.all({up(question(), kStart), down(answer(), kStart + 3 * kMillisecond)});
  EXPECT_EQ(harness.lines({"qname", "qtype", "opcode", "rcode", "answer_time_ns", "answer_count", "answers", "ttl_s",
                           "authoritative", "truncated", "retries", "request_bytes", "response_bytes", "partial"}),
            Lines{"www.example.test A QUERY NOERROR 3000000 1 10.1.2.3 300 false false 0 34 50 "});
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.1:40000>10.0.0.2:53");
  EXPECT_EQ(harness.tuples()[0].header.time_ns, kStart + 3 * kMillisecond);
}

TEST(DnsQuery, AnswersInAnyOrder) {
  EXPECT_EQ(seen({up(question(1), kStart), up(message({.id = 2, .qname = "b"}), kStart + 1),
                  down(message({.id = 2, .qname = "B", .flags = 0x8183}), kStart + 2), down(answer(1), kStart + 4)}),
            (Lines{"b A NXDOMAIN 1 ", "www.example.test A NOERROR 4 "}));
}

TEST(DnsQuery, TheSameIdForTwoQueries) {
  EXPECT_EQ(seen({up(question(), kStart), up(message({.type = kAaaa}), kStart + 1),
                  down(message({.type = kAaaa, .flags = kAnswer}), kStart + 3), down(answer(), kStart + 7)}),
            (Lines{"www.example.test AAAA NOERROR 2 ", "www.example.test A NOERROR 7 "}));
}

TEST(DnsQuery, AnAnswerToAnotherQuestionIsNotPaired) {
  EXPECT_EQ(seen({up(question(), kStart), down(message({.qname = "evil.test", .flags = kAnswer}), kStart + 1)}),
            (Lines{"www.example.test A - - request", "evil.test A NOERROR - response"}));
}

TEST(DnsQuery, AnAnswerCapturedBeforeItsQuery) {
  EXPECT_EQ(seen({down(answer(1), kStart), up(question(1), kStart + kMillisecond),
                  down(answer(2), kStart + 2 * kMillisecond), up(question(2), kStart + 60 * kMillisecond)},
                 {"rcode", "partial"}),
            (Lines{"NOERROR ", "NOERROR response", "- request"}));
}

TEST(DnsQuery, AnUnpairedAnswerIsReportedWithinItsSecond) {
  Harness harness({"dns_query"});
  harness.feed({down(answer(1), kStart), down(answer(2), kStart + kMillisecond)});
  EXPECT_EQ(harness.tuples().size(), 0u);
  harness.engine().advance(kStart + 2 * kSecond);
  EXPECT_EQ(harness.lines({"partial"}), (Lines{"response", "response"}));
  harness.all({down(answer(3), kStart + 3 * kSecond)});
  EXPECT_EQ(harness.tuples().size(), 3u);
}

TEST(DnsQuery, AFloodOfAnswersIsBoundedAndNotALoss) {
  std::vector<testing::Frame> frames;
  for (uint16_t id = 0; id < 2000; ++id) frames.push_back(down(answer(id), kStart + id));
  Harness harness({"dns_query"});
  harness.all(frames);
  EXPECT_EQ(harness.tuples().size(), 2000u);
  EXPECT_EQ(harness.lost(LossReason::kTooManyPending), 0u);
}

TEST(DnsQuery, RetransmissionsAreOneTransaction) {
  EXPECT_EQ(seen({up(question(), kStart), up(question(), kStart + kSecond), down(answer(), kStart + 2 * kSecond),
                  down(answer(), kStart + 3 * kSecond)},
                 {"answer_time_ns", "retries", "partial"}),
            Lines{"2000000000 1 "});
}

TEST(DnsQuery, ASecondUnrequestedAnswer) {
  EXPECT_EQ(seen({up(question(), kStart), down(answer(), kStart + 1), down(answer(), kStart + 2)}, {"partial"}),
            (Lines{"", "response"}));
}

TEST(DnsQuery, ReportsOneSidedTransactions) {
  EXPECT_EQ(seen({up(question(), kStart)}), Lines{"www.example.test A - - request"});
  EXPECT_EQ(seen({down(answer(), kStart)}), Lines{"www.example.test A NOERROR - response"});
  // Questions that resolvers have given up on are reported while the flow continues.
  const Lines lines = seen({up(question(1), kStart), up(question(2), kStart + 20 * kSecond),
                            up(question(3), kStart + 40 * kSecond), down(answer(3), kStart + 41 * kSecond)},
                           {"answer_time_ns", "partial"});
  EXPECT_EQ(lines, (Lines{"- request", "- request", "1000000000 "}));
}

TEST(DnsQuery, FieldsOfAnswers) {
  const std::string text = "\x05hello\x03 w\x01";
  const Lines answers = {record(pointer(12), kCname, 60, "\x03web" + pointer(16)),
                         kAddress,
                         record(pointer(12), kAaaa, 20, std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16)),
                         record(pointer(12), kMx, 90, number(10, 2) + name("mx.test")),
                         record(pointer(12), kTxt, 90, text),
                         record(pointer(12), 46, 90, "signature")};
  EXPECT_EQ(seen({up(question(), kStart), down(message({.flags = kAnswer | 0x0600, .answers = answers}), kStart + 1)},
                 {"answers", "ttl_s", "answer_count", "authoritative", "truncated"}),
            Lines{"web.example.test,10.1.2.3,2001:db8::1,10 mx.test,hello w\\001,RRSIG 20 6 true true"});
}

TEST(DnsQuery, NamesAreEscapedAndTheRootIsADot) {
  EXPECT_EQ(seen({up(message({.qname = ""}), kStart)}, {"qname"}), Lines{"."});
  std::string odd = message({.qname = "abcd.test"});
  odd.replace(13, 4, std::string("A\\. ", 4));
  EXPECT_EQ(seen({up(odd, kStart)}, {"qname"}), Lines{"a\\\\\\.\\032.test"});
}

TEST(DnsQuery, ExtendedCodesAndUnknownNumbers) {
  const std::string options = record(std::string(1, '\0'), 41, 0x01000000, "");
  EXPECT_EQ(seen({up(message({.type = 65280}), kStart),
                  down(message({.type = 65280, .flags = kAnswer, .additional = options}), kStart + 1)},
                 {"qtype", "rcode"}),
            Lines{"TYPE65280 BADVERS"});
}

// ---- messages that are not DNS, or are malicious ----

TEST(DnsQuery, OtherPortsRequireAPlainQuery) {
  EXPECT_EQ(seen({up(question(), kStart, 40000, 8053), down(answer(), kStart + 5, 40000, 8053)}),
            Lines{"www.example.test A NOERROR 5 "});
  EXPECT_EQ(seen({down(answer(), kStart, 40000, 8053)}), Lines{});
  EXPECT_EQ(seen({up(message({.flags = 0x0140}), kStart, 40000, 8053)}), Lines{});
  EXPECT_EQ(seen({up(question() + "x", kStart, 40000, 8053)}), Lines{});
  for (const uint16_t group : {5353, 5355}) EXPECT_EQ(seen({up(question(), kStart, 40000, group)}), Lines{});
  EXPECT_EQ(seen({up(std::string(100, '\0'), kStart), up("GET / HTTP/1.1\r\n\r\n", kStart + 1)}, {"qname"}), Lines{});
}

const std::string kHeader = number(7, 2) + number(kAnswer, 2) + number(1, 2) + number(1, 2) + number(0, 4);
const std::string kEnds = number(kA, 2) + number(1, 2);
const Lines kFlaw = {"qname", "qtype", "malformed"};

TEST(DnsQuery, EndlessCompressionPointers) {
  const auto flaw = [](const std::string& question_name) {
    return seen({down(kHeader + question_name + kEnds + kAddress, kStart)}, {"qtype", "malformed"});
  };
  EXPECT_EQ(flaw(pointer(12)), Lines{"TYPE0 pointer-loop"}) << "to itself";
  EXPECT_EQ(flaw("\x01"
                 "a" +
                 pointer(12)),
            Lines{"TYPE0 pointer-loop"})
      << "to its own beginning";
  EXPECT_EQ(flaw(pointer(14) + pointer(12)), Lines{"TYPE0 pointer-loop"}) << "to each other";
  EXPECT_EQ(flaw(pointer(200)), Lines{"TYPE0 bad-name"}) << "beyond the end";
  // A long chain of backward pointers is followed, and is bounded by the length of a name.
  std::string chain = kHeader + name("a") + kEnds;
  for (int i = 0; i < 2000; ++i) chain += "\x3f" + std::string(63, 'x') + pointer(i == 0 ? 12 : 12 + 7 + 66 * (i - 1));
  const std::string last = record(pointer(12 + 7 + 66 * 200), kCname, 1, pointer(12 + 7 + 66 * 150));
  EXPECT_EQ(seen({down(chain + last, kStart)}, {"qname", "answers"}), Lines{"a "});
}

TEST(DnsQuery, ForwardPointersAreFollowedAndReported) {
  // The question's name points past the question, to the owner of the answer.
  const std::string record_at = pointer(12 + 2 + 4);
  EXPECT_EQ(
      seen({down(kHeader + record_at + kEnds + record(name("www.example.test"), kA, 300, "\x0a\x01\x02\x03"), kStart)},
           {"qname", "qtype", "answers", "malformed"}),
      Lines{"www.example.test A 10.1.2.3 forward-pointer"});
  // The answer's owner points forward, too, into the data of the same record.
  const std::string answers = record(pointer(12 + 18 + 4 + 2 + 10), kCname, 9, name("web.test"));
  EXPECT_EQ(
      seen({down(kHeader + name("www.example.test") + kEnds + answers, kStart)}, {"qname", "answers", "malformed"}),
      Lines{"www.example.test web.test forward-pointer"});
  EXPECT_EQ(seen({up(question(), kStart), down(answer(), kStart + 1)}, kFlaw), Lines{"www.example.test A "});
}

TEST(DnsQuery, AFloodOfPointersIsBounded) {
  std::string pointers = kHeader;
  for (int i = 0; i < 400; ++i) pointers += pointer(12 + 2 * (i + 1));
  EXPECT_EQ(seen({down(pointers + name("a") + kEnds + kAddress, kStart)}, kFlaw), Lines{" TYPE0 pointer-loop"});
}

TEST(DnsQuery, InvalidNamesAreReportedOnPort53Only) {
  const std::string bad = number(7, 2) + number(0x0100, 2) + number(1, 2) + number(0, 6) +
                          "\x0e"
                          "abcdef";
  EXPECT_EQ(seen({up(bad, kStart)}, kFlaw), Lines{" TYPE0 bad-name"});
  EXPECT_EQ(seen({up(bad, kStart, 40000, 8053)}, kFlaw), Lines{});
  Frame cut_frame = up(question(), kStart);
  cut_frame.wire_bytes = static_cast<uint32_t>(cut_frame.bytes.size());
  cut_frame.bytes.resize(cut_frame.bytes.size() - 12);
  EXPECT_EQ(seen({cut_frame}, kFlaw), Lines{}) << "captured in part";
}

TEST(DnsQuery, EveryOpcodeIsASeparateTransaction) {
  const Lines opcodes = {"QUERY", "IQUERY", "STATUS", "OPCODE3", "NOTIFY", "UPDATE", "DSO", "OPCODE7"};
  std::vector<Frame> frames;
  Lines expected;
  for (uint16_t opcode = 0; opcode < opcodes.size(); ++opcode) {
    frames.push_back(up(message({.flags = static_cast<uint16_t>(opcode << 11)}), kStart + opcode));
  }
  for (uint16_t opcode = 0; opcode < opcodes.size(); ++opcode) {
    frames.push_back(down(message({.flags = static_cast<uint16_t>(0x8000 | opcode << 11)}), kStart + kMillisecond));
    expected.push_back(opcodes[opcode] + " NOERROR ");
  }
  EXPECT_EQ(seen(frames, {"opcode", "rcode", "partial"}), expected);
  // These messages consist of a header alone.
  const auto header = [](uint16_t flags) { return number(7, 2) + number(flags, 2) + number(0, 8); };
  EXPECT_EQ(seen({up(header(2 << 11), kStart), down(header(0x8000 | 2 << 11 | 4), kStart + 1)},
                 {"opcode", "rcode", "partial"}),
            Lines{"STATUS NOTIMP "});
  EXPECT_EQ(seen({up(header(0), kStart)}, {"opcode"}), Lines{});
}

TEST(DnsQuery, EveryMessageCutShort) {
  const std::string whole = message({.flags = kAnswer, .answers = {kAddress, kAddress}});
  for (size_t length = 0; length < whole.size(); ++length) {
    // Tests a datagram of this length, and one that was captured only up to this length.
    Frame cut_frame = down(whole, kStart);
    cut_frame.wire_bytes = static_cast<uint32_t>(cut_frame.bytes.size());
    cut_frame.bytes.resize(cut_frame.bytes.size() - whole.size() + length);
    for (const Frame& frame : {down(whole.substr(0, length), kStart), cut_frame}) {
      for (const std::string& line : seen({frame}, {"qname", "rcode"})) EXPECT_EQ(line, "www.example.test NOERROR");
    }
  }
  Frame captured_frame = down(whole, kStart);
  captured_frame.wire_bytes = static_cast<uint32_t>(captured_frame.bytes.size());
  captured_frame.bytes.resize(captured_frame.bytes.size() - 10);
  EXPECT_EQ(seen({captured_frame}, {"answer_count", "answers"}), Lines{"2 10.1.2.3"});
}

TEST(DnsQuery, AFloodOfQuestionsIsBounded) {
  std::vector<Frame> frames;
  for (int i = 0; i < 2000; ++i) frames.push_back(up(question(static_cast<uint16_t>(i)), kStart + i));
  Harness harness({"dns_query"});
  harness.all(frames);
  EXPECT_EQ(harness.tuples().size(), 2000u);
  EXPECT_EQ(harness.lost(LossReason::kTooManyPending), 2000u - 512u);
}

// ---- over TCP ----

Conversation over_tcp(size_t cut) {
  Conversation::Options options;
  options.server_port = 53;
  Conversation conversation(options);
  conversation.handshake().client_cut(with_length(question(1)) + with_length(message({.id = 2, .qname = "b"})), cut);
  conversation.server_cut(with_length(message({.id = 2, .qname = "b", .flags = kAnswer})) + with_length(answer(1)),
                          cut);
  conversation.close();
  return conversation;
}

TEST(DnsQuery, OverTcpCutAtEveryByte) {
  for (size_t cut = 1; cut < 90; ++cut) {
    EXPECT_EQ(seen(over_tcp(cut).frames(), {"qname", "rcode", "answers", "partial"}),
              (Lines{"b NOERROR  ", "www.example.test NOERROR 10.1.2.3 "}))
        << cut;
  }
  EXPECT_EQ(seen(over_tcp(1400).frames(), {"answer_time_ns"}), (Lines{"1000000", "1000000"}));
}

TEST(DnsQuery, OverTcpInMidStreamAndOneWay) {
  const std::vector<Frame> frames = over_tcp(1400).frames();
  EXPECT_EQ(seen({frames.begin() + 3, frames.end()}, {"qname", "partial"}), (Lines{"b ", "www.example.test "}));
  EXPECT_EQ(seen({frames[3]}, {"qname", "partial"}), (Lines{"www.example.test request", "b request"}));
  EXPECT_EQ(seen({frames[4]}, {"qname", "partial"}), (Lines{"b response", "www.example.test response"}));
}

TEST(DnsQuery, AfterAGapOverTcp) {
  Conversation::Options options;
  options.server_port = 53;
  Conversation conversation(options);
  conversation.handshake();
  for (uint16_t id = 1; id <= 3; ++id) conversation.client(with_length(question(id))).server(with_length(answer(id)));
  conversation.close();
  std::vector<Frame> frames = conversation.frames();
  frames.erase(frames.begin() + 5);  // the second question
  Harness harness({"dns_query"});
  harness.all(frames);
  EXPECT_EQ(harness.lines({"answer_time_ns", "partial"}), (Lines{"1000000 ", "- response", "1000000 "}));
}

TEST(DnsQuery, ATransferIsReportedWithItsFirstMessage) {
  Conversation::Options options;
  options.server_port = 53;
  Conversation conversation(options);
  conversation.handshake().client(with_length(message({.type = kAxfr})));
  for (int i = 0; i < 5; ++i)
    conversation.server(with_length(message({.type = kAxfr, .flags = kAnswer, .answers = {kAddress}})));
  EXPECT_EQ(seen(conversation.close().frames(), {"qtype", "answer_time_ns", "partial"}), Lines{"AXFR 1000000 "});
}

TEST(DnsQuery, OtherStreamsEmitNothing) {
  for (const uint16_t port : {53, 80}) {
    Conversation::Options options;
    options.server_port = port;
    Conversation conversation(options);
    conversation.handshake().client("GET / HTTP/1.1\r\nHost: h\r\n\r\n").server("HTTP/1.1 200 OK\r\n\r\n").close();
    EXPECT_EQ(seen(conversation.frames()), Lines{}) << port;
  }
}

TEST(DnsQuery, EachQueryGetsTheTuplesOfItsPackets) {
  Harness harness({"dns_query"});
  harness.feed({up(question(), kStart)}, 0b11);
  harness.engine().end_queries(0b01);
  harness.feed({down(answer(), kStart + 5)}, 0b10);
  harness.engine().end();
  ASSERT_EQ(harness.lines({"answer_time_ns", "partial"}), (Lines{"- request", "5 "}));
  EXPECT_EQ(harness.tuples()[0].header.queries, 0b01u);
  EXPECT_EQ(harness.tuples()[1].header.queries, 0b10u);
}

}  // namespace
}  // namespace tapline
