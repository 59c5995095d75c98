#include <gtest/gtest.h>

#include <numeric>

#include "parsers/testing/capture_file.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"
#include "parsers/tls_hello/ja4.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;
using Codes = std::vector<uint16_t>;

// ---- writing TLS ----

std::string number(size_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}
std::string with_length(const std::string& content, int bytes) { return number(content.size(), bytes) + content; }
std::string codes(const Codes& list) {
  return std::accumulate(list.begin(), list.end(), std::string(),
                         [](const std::string& text, uint16_t code) { return text + number(code, 2); });
}
std::string extension(uint16_t type, const std::string& content) { return number(type, 2) + with_length(content, 2); }
std::string record(uint8_t type, const std::string& content) {
  return std::string(1, static_cast<char>(type)) + "\x03\x01" + with_length(content, 2);
}
std::string message(uint8_t type, const std::string& body) {
  return std::string(1, static_cast<char>(type)) + with_length(body, 3);
}
std::string host(const std::string& name) { return with_length(std::string(1, '\0') + with_length(name, 2), 2); }

struct Offer {
  Codes ciphers = {0x1301, 0x1302};
  std::string name = "a.test";
  Lines protocols = {"h2", "http/1.1"};
  Codes versions = {0x1a1a, 0x0304, 0x0303};
  Codes algorithms = {0x0403, 0x0804};
  std::string more = {};  // extensions

  std::string body() const {
    std::string extensions;
    if (!name.empty()) extensions += extension(0, host(name));
    std::string list;
    for (const std::string& protocol : protocols) list += with_length(protocol, 1);
    if (!protocols.empty()) extensions += extension(16, with_length(list, 2));
    if (!versions.empty()) extensions += extension(43, with_length(codes(versions), 1));
    if (!algorithms.empty()) extensions += extension(13, with_length(codes(algorithms), 2));
    return "\x03\x03" + std::string(32, 'r') + with_length("", 1) + with_length(codes(ciphers), 2) +
           with_length(std::string(1, '\0'), 1) + with_length(extensions + more, 2);
  }
  std::string record() const { return tapline::record(22, message(1, body())); }
};

std::string server_hello(uint16_t version, uint16_t cipher = 0x1301, const std::string& protocol = "",
                         const std::string& random = std::string(32, 's')) {
  std::string extensions;
  if (version == 0x0304) extensions += extension(43, number(version, 2));
  if (!protocol.empty()) extensions += extension(16, with_length(with_length(protocol, 1), 2));
  return record(22, message(2, number(std::min<uint16_t>(version, 0x0303), 2) + random + with_length("", 1) +
                                   number(cipher, 2) + std::string(1, '\0') + with_length(extensions, 2)));
}
std::string change_cipher_spec() { return record(20, "\x01"); }
std::string application_data(size_t bytes) { return record(23, std::string(bytes, 'x')); }
std::string finished_12() { return record(22, std::string(40, 'f')); }
std::string certificate() { return record(22, message(11, std::string(3000, 'c')) + message(14, "")); }

const Lines kShort = {"sni", "version", "outcome", "partial"};
const Lines kAll = {"sni",       "version",      "alpn",    "alpn_offered", "ja4",    "cipher_suite",
                    "answer_ns", "handshake_ns", "outcome", "alert",        "partial"};

Lines seen(const std::vector<Frame>& frames, const Lines& fields = kShort) {
  return Harness({"tls_hello"}).all(frames).lines(fields);
}

Conversation handshake_13(size_t cut = 1400) {
  Conversation conversation;
  conversation.handshake().client_cut(Offer().record(), cut);
  conversation.server_cut(server_hello(0x0304) + change_cipher_spec() + application_data(900), cut);
  conversation.client_cut(change_cipher_spec() + application_data(53), cut).client(application_data(100)).close();
  return conversation;
}
Conversation handshake_12(size_t cut = 1400) {
  Conversation conversation;
  conversation.handshake().client_cut(Offer{.versions = {}}.record(), cut);
  conversation.server_cut(server_hello(0x0303, 0xc02f, "h2") + certificate(), cut);
  conversation.client_cut(record(22, message(16, "key")) + change_cipher_spec() + finished_12(), cut);
  conversation.server_cut(change_cipher_spec() + finished_12(), cut).client(application_data(100)).close();
  return conversation;
}

// ---- the fingerprint: examples from its specification ----

std::string ja4(const Offer& offer) {
  const std::string body = offer.body();
  tls::ClientHello hello;
  EXPECT_TRUE(tls::read(tls::Bytes(reinterpret_cast<const uint8_t*>(body.data()), body.size()), &hello));
  return std::string(tls::Ja4().of(hello));
}

// This is the example in technical_details/JA4.md.
const Codes kExampleCiphers = {0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9,
                               0xcca8, 0xc013, 0xc014, 0x009c, 0x009d, 0x002f, 0x0035};
std::string example_extensions() {
  std::string further_text;
  for (const uint16_t type :
       {0x001b, 0x0033, 0x4469, 0x0017, 0x002d, 0x0005, 0x0023, 0x0012, 0xff01, 0x000b, 0x000a, 0x0015}) {
    further_text += extension(type, "");
  }
  return further_text;
}
Offer example() {
  return {.ciphers = kExampleCiphers,
          .algorithms = {0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601},
          .more = example_extensions()};
}

TEST(Ja4, TheSpecificationsExample) { EXPECT_EQ(ja4(example()), "t13d1516h2_8daaf6152771_e5627efa2ab1"); }

TEST(Ja4, GreaseIsIgnored) {
  Offer offer = example();
  offer.ciphers.insert(offer.ciphers.begin(), 0x2a2a);
  offer.algorithms.insert(offer.algorithms.begin() + 3, 0xfafa);
  offer.more += extension(0xbaba, "") + extension(0x0a0a, "x");
  EXPECT_EQ(ja4(offer), "t13d1516h2_8daaf6152771_e5627efa2ab1");
}

// The specification's example for "If there are no signature algorithms in the hello packet" has extension 000d in its
// hash, so this offer has that extension, too.
TEST(Ja4, WithoutSignatureAlgorithms) {
  Offer offer = example();
  offer.algorithms = {};
  offer.more += extension(13, with_length("", 2));
  EXPECT_EQ(ja4(offer), "t13d1516h2_8daaf6152771_6d807ffa2a79");
}

TEST(Ja4, WithoutCiphersAndExtensions) {
  const Offer offer = {.ciphers = {}, .name = "", .protocols = {}, .versions = {}, .algorithms = {}};
  EXPECT_EQ(ja4(offer), "t12i000000_000000000000_000000000000");
}

TEST(Ja4, CountsSaturateAt99) { EXPECT_EQ(ja4({.ciphers = Codes(120, 0x002f)}).substr(0, 10), "t13d9904h2"); }

// The examples in the table under "ALPN Extension Value".
TEST(Ja4, FirstAndLastCharacterOfTheProtocol) {
  const std::pair<std::string, std::string> examples[] = {{"h2", "h2"},
                                                          {"http/1.1", "h1"},
                                                          {"x", "xx"},
                                                          {"\xab", "ab"},
                                                          {" ", "20"},
                                                          {"\xab\xcd", "ad"},
                                                          {" a", "21"},
                                                          {"0\xab", "3b"},
                                                          {"a ", "60"},
                                                          {"01\xab\xcd", "3d"},
                                                          {"0\xab\xcd"
                                                           "1",
                                                           "01"},
                                                          {"", "00"}};
  for (const auto& [protocol, expected] : examples) {
    EXPECT_EQ(ja4({.protocols = {protocol}}).substr(8, 2), expected) << protocol;
  }
}

// ---- handshakes ----

TEST(TlsHello, Tls13) {
  Harness harness({"tls_hello"});
  const std::vector<Frame> frames = handshake_13().frames();
  harness.all(frames);
  EXPECT_EQ(harness.lines(kAll), (Lines{"a.test 1.3  h2,http/1.1 " + ja4({}) + " 4865 1000000 2000000 complete - "}));
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.1:40000>10.0.0.2:80");
  EXPECT_EQ(harness.tuples()[0].header.time_ns, frames[5].time_ns);
}

TEST(TlsHello, Tls12) {
  EXPECT_EQ(seen(handshake_12().frames(), kAll),
            (Lines{"a.test 1.2 h2 h2,http/1.1 " + ja4({.versions = {}}) + " 49199 1000000 5000000 complete - "}));
}

TEST(TlsHello, CutAtEveryByte) {
  for (size_t cut = 1; cut < 200; ++cut) {
    for (const bool tls13 : {true, false}) {
      const std::vector<Frame> frames = (tls13 ? handshake_13(cut) : handshake_12(cut)).frames();
      const Lines lines = seen(frames, {"sni", "version", "alpn_offered", "outcome", "partial"});
      EXPECT_EQ(lines, Lines{std::string("a.test ") + (tls13 ? "1.3" : "1.2") + " h2,http/1.1 complete "}) << cut;
    }
  }
}

TEST(TlsHello, AHelloOverSeveralRecords) {
  const std::string whole = message(1, Offer().body());
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(record(22, whole.substr(0, cut)) + record(22, whole.substr(cut)));
    conversation.server(server_hello(0x0304) + application_data(99)).client(application_data(60));
    EXPECT_EQ(seen(conversation.frames()), Lines{"a.test 1.3 complete "}) << cut;
  }
}

Conversation handshake_with_retry() {
  const uint8_t random[] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                            0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                            0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
  Conversation conversation;
  conversation.handshake().client(Offer().record());
  conversation.server(server_hello(0x0304, 0x1302, "", std::string(random, random + 32)) + change_cipher_spec());
  conversation.client(change_cipher_spec() + Offer{.more = extension(44, "cookie")}.record());
  conversation.server(server_hello(0x0304, 0x1302) + application_data(200)).client(application_data(53));
  return conversation;
}

TEST(TlsHello, HelloRetryRequestIsPartOfTheHandshake) {
  EXPECT_EQ(seen(handshake_with_retry().frames(), kAll),
            (Lines{"a.test 1.3  h2,http/1.1 " + ja4({}) + " 4866 3000000 4000000 complete - "}));
}

TEST(TlsHello, EarlyDataDoesNotEndIt) {
  Conversation conversation;
  conversation.handshake().client(Offer().record() + change_cipher_spec() + application_data(500));
  conversation.server(server_hello(0x0304) + application_data(99));
  conversation.client(application_data(21)).client(application_data(53));
  EXPECT_EQ(seen(conversation.frames(), {"handshake_ns", "outcome"}), Lines{"3000000 complete"});
}

TEST(TlsHello, Alerts) {
  Conversation refused_conversation;
  refused_conversation.handshake().client(Offer().record()).server(record(21, "\x02\x28"));
  EXPECT_EQ(seen(refused_conversation.frames(), {"sni", "outcome", "alert", "partial"}),
            Lines{"a.test alert 40 request"});
  Conversation warned;
  warned.handshake()
      .client(Offer().record())
      .server(record(21, "\x01\x70") + server_hello(0x0304) + application_data(99));
  warned.client(application_data(19));
  EXPECT_EQ(seen(warned.frames(), {"sni", "outcome", "alert", "partial"}), Lines{"a.test alert - "});
}

TEST(TlsHello, IncompleteHandshakes) {
  Conversation closed_conversation;
  closed_conversation.handshake().client(Offer().record()).server(server_hello(0x0304)).close();
  EXPECT_EQ(seen(closed_conversation.frames()), Lines{"a.test 1.3 closed "});
  Conversation reset;
  reset.handshake().client(Offer().record()).server("", tcp_flag::kRst | tcp_flag::kAck);
  EXPECT_EQ(seen(reset.frames()), Lines{"a.test 1.3 closed request"});
  Conversation open_conversation;
  open_conversation.handshake().client(Offer().record());
  EXPECT_EQ(seen(open_conversation.frames()), Lines{"a.test 1.3 open request"});
  Conversation plain_conversation;
  plain_conversation.handshake().client(Offer().record()).server("HTTP/1.1 400 Bad Request\r\n\r\n").close();
  EXPECT_EQ(seen(plain_conversation.frames()), Lines{"a.test 1.3 plain request"});
}

std::vector<Frame> of_side(const std::vector<Frame>& frames, bool is_client) {
  std::vector<Frame> side;
  for (const Frame& frame : frames) {
    if ((frame.bytes[29] == 1) == is_client) side.push_back(frame);
  }
  return side;
}

TEST(TlsHello, OneDirection) {
  for (const auto& frames : {handshake_12().frames(), handshake_13().frames()}) {
    EXPECT_EQ(seen(of_side(frames, true), {"sni", "handshake_ns", "partial"}), Lines{"a.test - request"});
    EXPECT_EQ(seen(of_side(frames, false), {"sni", "handshake_ns", "partial"}), Lines{"- - response"});
  }
}

TEST(TlsHello, JoinedInMidStream) {
  const std::vector<Frame> frames = handshake_12().frames();
  EXPECT_EQ(seen({frames.begin() + 3, frames.end()}), Lines{"a.test 1.2 complete "});
  EXPECT_EQ(seen({frames.begin() + 4, frames.end()}, {"partial"}), Lines{"response"});
  EXPECT_EQ(seen({frames.begin() + 5, frames.end()}), Lines{});
}

// A duration that a lost segment may have made too long is not reported; a tuple is partial only if a hello is missing.
TEST(TlsHello, EachSegmentLost) {
  for (const bool tls13 : {true, false}) {
    const std::vector<Frame> frames = (tls13 ? handshake_13() : handshake_12()).frames();
    const std::string exact = seen(frames, {"handshake_ns"}).at(0);
    for (size_t lost = 3; lost < frames.size(); ++lost) {
      std::vector<Frame> rest = frames;
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(lost));
      Harness run({"tls_hello"});
      for (const testing::Tuple& tuple : run.all(rest).tuples()) {
        const bool partial = !tuple["partial"].empty();
        EXPECT_TRUE(tuple["handshake_ns"] == "-" || tuple["handshake_ns"] == exact) << lost;
        EXPECT_EQ(partial, tuple["sni"] == "-" || tuple["cipher_suite"] == "-") << lost;
      }
    }
  }
}

Conversation refused_by_client() {
  Conversation conversation;
  conversation.handshake().client(Offer().record()).server(server_hello(0x0303, 0xc02f) + certificate());
  conversation.client(record(21, "\x02\x30")).close();
  return conversation;
}

// A late segment, even one that changes the order of the two sides' data, does not change the fields of the hellos.
TEST(TlsHello, EachSegmentLate) {
  const Lines fields = {"sni", "version", "cipher_suite", "partial"};
  for (Conversation conversation :
       {handshake_13(), handshake_12(), handshake_with_retry(), refused_by_client(), handshake_13(300)}) {
    const std::vector<Frame> frames = conversation.frames();
    const Lines exact = seen(frames, fields);
    for (size_t late = 3; late < frames.size(); ++late) {
      for (size_t places = 1; places <= 3 && late + places < frames.size(); ++places) {
        std::vector<Frame> moved_frames = frames;
        const auto late_frame = moved_frames.begin() + static_cast<ptrdiff_t>(late);
        std::rotate(late_frame, late_frame + 1, late_frame + 1 + static_cast<ptrdiff_t>(places));
        EXPECT_EQ(seen(moved_frames, fields), exact) << late << " by " << places << " of " << frames.size();
      }
    }
  }
}

TEST(TlsHello, ARejectionCapturedBeforeTheRejectedHello) {
  std::vector<Frame> frames = refused_by_client().frames();
  const Lines fields = {"outcome", "alert", "partial"};
  const auto refusal = std::next(frames.end(), -4);
  std::rotate(refusal - 3, refusal, refusal + 1);
  EXPECT_EQ(seen(frames, fields), Lines{"alert 48 "});
  frames.erase(frames.begin() + 5, frames.end());
  EXPECT_EQ(seen(frames, fields), Lines{"alert 48 request"}) << "nothing from the server was captured";
}

TEST(TlsHello, AfterAnotherProtocol) {
  Conversation conversation;
  conversation.handshake().server("220 mail.test ESMTP\r\n").client("STARTTLS\r\n").server("220 go ahead\r\n");
  conversation.client(Offer().record())
      .server(server_hello(0x0304) + application_data(99))
      .client(application_data(53));
  EXPECT_EQ(seen(conversation.frames(), {"sni", "handshake_ns", "outcome"}), Lines{"a.test 2000000 complete"});
}

TEST(TlsHello, OtherProtocolsEmitNothing) {
  Conversation conversation;
  conversation.handshake()
      .client("GET / HTTP/1.1\r\n\r\n")
      .server("\x16\x03\x01\x02")
      .server(std::string(70'000, '\x16'));
  conversation.client(record(22, message(1, "no hello at all"))).client(record(22, message(2, std::string(50, 'x'))));
  Harness harness({"tls_hello"});
  harness.all(conversation.frames());
  EXPECT_EQ(harness.tuples().size(), 0u);
  std::vector<Frame> udp = {testing::udp_frame({.payload = Offer().record()}, 1'000'000'000)};
  EXPECT_EQ(seen(udp), Lines{});
}

TEST(TlsHello, TruncatedHellosAreRejected) {
  const std::string body = Offer().body();
  for (size_t length = 0; length < body.size(); ++length) {
    Conversation conversation;
    conversation.handshake().client(record(22, message(1, body.substr(0, length))));
    // A hello that ends before its extensions is valid: extensions are optional.
    const size_t without_extensions = 2 + 32 + 1 + 2 + 4 + 2;
    EXPECT_EQ(seen(conversation.frames()).size(), length == without_extensions ? 1u : 0u) << length;
  }
}

TEST(TlsHello, AHelloThatIsTooLongIsCounted) {
  Conversation conversation;
  const std::string hello =
      message(1, Offer{.ciphers = Codes(16'400, 0x002f), .more = extension(21, std::string(3000, 0))}.body());
  conversation.handshake();
  for (size_t offset = 0; offset < hello.size(); offset += 16'000)
    conversation.client_cut(record(22, hello.substr(offset, 16'000)), 1400);
  Harness harness({"tls_hello"});
  harness.all(conversation.frames());
  EXPECT_EQ(harness.tuples().size(), 0u);
  EXPECT_EQ(harness.lost(LossReason::kHeadTooLong), 1u);
}

TEST(TlsHello, EachQueryGetsTheTuplesOfItsPackets) {
  const std::vector<Frame> frames = handshake_13().frames();
  Harness harness({"tls_hello"});
  harness.feed({frames.begin(), frames.begin() + 4}, 0b11);
  harness.engine().end_queries(0b01);
  harness.feed({frames.begin() + 4, frames.end()}, 0b10);
  harness.engine().end();
  ASSERT_EQ(harness.lines(kShort), (Lines{"a.test 1.3 open request", "a.test 1.3 complete "}));
  EXPECT_EQ(harness.tuples()[0].header.queries, 0b01u);
  EXPECT_EQ(harness.tuples()[1].header.queries, 0b10u);
}

// The capture was made with OpenSSL 3.0's s_server and s_client, in this order: TLS 1.2 full and resumed; TLS 1.3 full
// and resumed; the same again, the resumed one with early data; a HelloRetryRequest; a client that does not trust the
// server; small records.
TEST(TlsHello, RealHandshakes) {
  const std::vector<Frame> frames =
      testing::read_capture(TAPLINE_SOURCE_DIR "/parsers/tls_hello/captures/handshakes.pcap.zst");
  EXPECT_EQ(
      seen(frames, {"sni", "version", "alpn", "alpn_offered", "cipher_suite", "outcome", "alert", "partial"}),
      (Lines{"alpha.test 1.2 h2 h2,http/1.1 49196 complete - ", "alpha.test 1.2 http/1.1 http/1.1 49196 complete - ",
             "beta.test 1.3  h2 4866 complete - ", "beta.test 1.3   4866 complete - ",
             "beta.test 1.3   4866 complete - ", "beta.test 1.3   4866 complete - ", " 1.3   4866 complete - ",
             "gamma.test 1.2   49196 alert 48 ", "epsilon.test 1.2   49196 complete - "}));
}

}  // namespace
}  // namespace tapline
