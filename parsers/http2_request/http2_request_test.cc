#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <functional>
#include <set>

#include "parsers/http2_request/frame.h"
#include "parsers/http2_request/hpack.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using http2::kEndHeaders;
using http2::kEndStream;
using http2::kPadded;
using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;
using HeaderList = std::vector<std::pair<std::string, std::string>>;

const Lines kFields = {"method", "host", "url", "status", "stream_id", "outcome", "partial"};

Lines parse(const std::vector<Frame>& frames, const Lines& fields = kFields) {
  return Harness({"http2_request"}).all(frames).lines(fields);
}

// ---- writing HTTP/2, with the library's encoder ----

class Encoder {
 public:
  explicit Encoder(size_t table_bytes = 4096) {
    nghttp2_hd_deflate_new(&deflater_, std::max<size_t>(table_bytes, 4096));
    if (table_bytes != 4096) nghttp2_hd_deflate_change_table_size(deflater_, table_bytes);
  }
  ~Encoder() { nghttp2_hd_deflate_del(deflater_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::string block(const HeaderList& headers) {
    std::vector<nghttp2_nv> list;
    for (const auto& [name, value] : headers) {
      list.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                      reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), 0});
    }
    std::string text(nghttp2_hd_deflate_bound(deflater_, list.data(), list.size()), '\0');
    const ssize_t bytes = nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<uint8_t*>(text.data()), text.size(),
                                                list.data(), list.size());
    text.resize(static_cast<size_t>(bytes));
    return text;
  }

 private:
  nghttp2_hd_deflater* deflater_ = nullptr;
};

std::string number(uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}
std::string frame(uint8_t type, int flags, uint32_t stream, const std::string& payload) {
  return number(payload.size(), 3) + number(type, 1) + number(static_cast<uint64_t>(flags), 1) + number(stream, 4) +
         payload;
}
std::string data(uint32_t stream, const std::string& payload, int flags = 0) {
  return frame(http2::kData, flags, stream, payload);
}
std::string settings() { return frame(http2::kSettings, 0, 0, number(3, 2) + number(100, 4)); }
std::string hello() { return std::string(http2::kPreface) + settings(); }

// Concatenates parts with header blocks, which must be sent in the order in which they are encoded. A braced list is
// evaluated from left to right; the operands of + need not be.
std::string join(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

// Both ends of a connection.
struct Session {
  Encoder up, down;

  std::string get(uint32_t stream, const std::string& path, int flags = kEndStream, const HeaderList& further_list = {},
                  const std::string& method = "GET") {
    HeaderList headers = {{":method", method}, {":scheme", "http"}, {":authority", "shop.test"}, {":path", path}};
    headers.insert(headers.end(), further_list.begin(), further_list.end());
    return frame(http2::kHeaders, flags | kEndHeaders, stream, up.block(headers));
  }
  std::string answer(uint32_t stream, const std::string& status, int flags = 0, const HeaderList& further_list = {}) {
    HeaderList headers = {{":status", status}, {"server", "s"}};
    headers.insert(headers.end(), further_list.begin(), further_list.end());
    return frame(http2::kHeaders, flags | kEndHeaders, stream, down.block(headers));
  }
  std::string trailers(uint32_t stream, const HeaderList& headers) {
    return frame(http2::kHeaders, kEndStream | kEndHeaders, stream, down.block(headers));
  }
};

std::vector<Frame> one_connection(const std::string& requests, const std::string& responses) {
  return Conversation().handshake().client(requests).server(responses).client_ack().close().frames();
}

void expect_at_every_cut(const std::string& requests, const std::string& responses, const Lines& expected) {
  ASSERT_EQ(parse(one_connection(requests, responses)), expected);
  for (size_t cut = 1; cut < requests.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(requests.substr(0, cut)).client(requests.substr(cut)).server(responses).close();
    ASSERT_EQ(parse(conversation.frames()), expected) << "requests cut at " << cut;
  }
  for (size_t cut = 1; cut < responses.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(requests).server(responses.substr(0, cut)).server(responses.substr(cut)).close();
    ASSERT_EQ(parse(conversation.frames()), expected) << "responses cut at " << cut;
  }
  Conversation bytes;
  bytes.handshake().client_cut(requests, 1).server_cut(responses, 1).close();
  EXPECT_EQ(parse(bytes.frames()), expected) << "cut into bytes";
}

// ---- streams ----

TEST(Http2Request, InterleavedStreamsAtEveryCut) {
  Session talk;
  const std::string requests = join({hello(), talk.get(1, "/a"), talk.get(3, "/b", 0, {}, "POST"), talk.get(5, "/c"),
                                     data(3, "body"), data(3, "", kEndStream)});
  const std::string responses =
      join({settings(), talk.answer(5, "404", kEndStream), talk.answer(1, "200"), talk.answer(3, "201"), data(1, "aa"),
            data(3, "bbb", kEndStream), frame(http2::kPing, 0, 0, std::string(8, 'p')), data(1, "a", kEndStream)});
  expect_at_every_cut(
      requests, responses,
      {"GET shop.test /c 404 5 complete ", "POST shop.test /b 201 3 complete ", "GET shop.test /a 200 1 complete "});
}

TEST(Http2Request, BytesAreBlocksAndBodiesWithoutPadding) {
  Session talk;
  const std::string request = talk.get(1, "/p", 0, {}, "POST"), response = talk.answer(1, "200");
  const std::string requests =
      hello() + request + data(1, '\x05' + std::string("body") + std::string(5, '\0'), kPadded | kEndStream);
  EXPECT_EQ(parse(one_connection(requests, settings() + response + data(1, "12345", kEndStream)),
                  {"request_bytes", "response_bytes"}),
            Lines{std::to_string(request.size() - 9 + 4) + " " + std::to_string(response.size() - 9 + 5)});
}

TEST(Http2Request, ContinuationPaddingAndPriority) {
  Session talk;
  const std::string block =
      talk.up.block({{":method", "GET"}, {":path", "/long"}, {":authority", "a"}, {"cookie", "c=1"}});
  const std::string first = '\x03' + number(0, 4) + '\x10' + block.substr(0, 4) + std::string(3, '\0');
  const std::string requests =
      join({hello(), frame(http2::kHeaders, kEndStream | kPadded | http2::kHasPriority, 1, first),
            frame(http2::kContinuation, 0, 1, block.substr(4, 3)),
            frame(http2::kContinuation, kEndHeaders, 1, block.substr(7)), talk.get(3, "/next")});
  expect_at_every_cut(requests,
                      join({settings(), talk.answer(1, "204", kEndStream), talk.answer(3, "304", kEndStream)}),
                      {"GET a /long 204 1 complete ", "GET shop.test /next 304 3 complete "});
}

TEST(Http2Request, InterimResponsesTrailersAndPushes) {
  Session talk;
  const std::string requests = join({hello(), talk.get(1, "/a")});
  const std::string promise =
      number(2, 4) + talk.down.block({{":method", "GET"}, {":path", "/pushed"}, {":authority", "a"}});
  const std::string responses =
      join({settings(), talk.answer(1, "103"), frame(http2::kPushPromise, kEndHeaders, 1, promise),
            talk.answer(1, "200"), talk.answer(2, "200", kEndStream), data(1, "x"), talk.trailers(1, {{"etag", "1"}})});
  expect_at_every_cut(requests, responses, {"GET shop.test /a 200 1 complete "});
}

TEST(Http2Request, Grpc) {
  Session talk;
  const HeaderList grpc = {{"content-type", "application/grpc+proto"}, {"te", "trailers"}};
  const std::string requests =
      join({hello(), talk.get(1, "/shop.Cart/Add", 0, grpc, "POST"), data(1, "message", kEndStream),
            talk.get(3, "/shop.Cart/Get", kEndStream, grpc, "POST")});
  const std::string responses = join({settings(), talk.answer(1, "200", 0, {grpc[0]}), data(1, "reply"),
                                      talk.trailers(1, {{"grpc-status", "0"}, {"grpc-message", ""}}),
                                      talk.answer(3, "200", kEndStream, {grpc[0], {"grpc-status", "5"}})});
  EXPECT_EQ(parse(one_connection(requests, responses), {"grpc_method", "grpc_status", "status", "outcome"}),
            (Lines{"shop.Cart/Add OK 200 complete", "shop.Cart/Get NOT_FOUND 200 complete"}));
}

TEST(Http2Request, ResetsAndGoAway) {
  Session talk;
  const auto frames =
      Conversation()
          .handshake()
          .client(join({hello(), talk.get(1, "/a"), talk.get(3, "/b"), talk.get(5, "/c"), talk.get(7, "/d")}))
          .server(join({settings(), talk.answer(3, "200"), data(3, "x")}))
          .client(frame(http2::kRstStream, 0, 1, number(8, 4)))
          .server(talk.answer(1, "200", kEndStream))  // was in flight
          .server(frame(http2::kRstStream, 0, 3, number(2, 4)))
          .server(frame(http2::kGoAway, 0, 0, number(5, 4) + number(0, 4)))
          .server(talk.answer(5, "200", kEndStream))
          .close()
          .frames();
  EXPECT_EQ(parse(frames), (Lines{"GET shop.test /a - 1 CANCEL request", "GET shop.test /b 200 3 INTERNAL_ERROR ",
                                  "GET shop.test /d - 7 goaway request", "GET shop.test /c 200 5 complete "}));
}

TEST(Http2Request, Times) {
  Session talk;
  Conversation conversation;
  conversation.handshake().client(hello()).client(talk.get(1, "/a", 0)).client(data(1, "", kEndStream));
  conversation.wait_ns(50'000'000).server(join({settings(), talk.answer(1, "200")})).wait_ns(20'000'000);
  conversation.server(data(1, "x", kEndStream)).close();
  EXPECT_EQ(parse(conversation.frames(), {"first_byte_ns", "response_time_ns"}), Lines{"52000000 73000000"});
}

TEST(Http2Request, UpgradedFromHttp1) {
  Session talk;
  const std::string request =
      "GET /first HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n";
  const std::string agreed = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
  expect_at_every_cut(
      join({request, hello(), talk.get(3, "/second")}),
      join({agreed, settings(), talk.answer(1, "200"), data(1, "x", kEndStream), talk.answer(3, "404", kEndStream)}),
      {"GET web.test /first 200 1 complete ", "GET shop.test /second 404 3 complete "});
  EXPECT_EQ(parse(one_connection(request, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")), Lines{}) << "it refused";
}

TEST(Http2Request, UpgradedWithoutItsBeginning) {
  const std::string request =
      "GET /first HTTP/1.1\r\nHost: web.test\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n";
  const std::string agreed = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
  const std::string refused = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  const auto expect_both = [](const std::function<void(Conversation&)>& begin, size_t left_out, const char* what) {
    Session talk;
    Conversation conversation;
    conversation.handshake();
    begin(conversation);
    conversation.client(join({hello(), talk.get(3, "/second")}));
    conversation.server(join({settings(), talk.answer(1, "200"), data(1, "x", kEndStream)}));
    conversation.server(talk.answer(3, "404", kEndStream)).close();
    std::vector<Frame> frames = conversation.frames();
    frames.erase(frames.begin(), frames.begin() + 3);
    if (left_out != 0) frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(left_out));
    EXPECT_EQ(parse(frames), (Lines{"GET web.test /first 200 1 complete ", "GET shop.test /second 404 3 complete "}))
        << what;
  };
  expect_both([&](Conversation& c) { c.client(request).server(agreed); }, 0, "no handshake");
  expect_both([&](Conversation& c) { c.client(request).server(agreed); }, 1,
              "neither handshake nor response to the upgrade");
  expect_both(
      [&](Conversation& c) { c.client("GET /a HTTP/1.1\r\n\r\n").server(refused).client(request).server(agreed); }, 0,
      "a later request upgrades");
  expect_both([&](Conversation& c) { c.client(request).server(refused).client(request).server(agreed); }, 0,
              "the first was refused");
}

TEST(Http2Request, LargerTablesAndSmallerOnes) {
  for (const size_t bytes : {0, 100, 4096, 65536}) {
    Encoder up(bytes), down(bytes);
    std::string requests = hello(), answers = settings();
    Lines expected;
    for (uint32_t i = 0; i < 60; ++i) {
      const std::string path = "/item/" + std::to_string(i % 20) + std::string(100, 'x');
      requests += frame(http2::kHeaders, kEndStream | kEndHeaders, 2 * i + 1,
                        up.block({{":method", "GET"}, {":path", path}, {"x-" + std::to_string(i), "v"}}));
      answers += frame(http2::kHeaders, kEndStream | kEndHeaders, 2 * i + 1,
                       down.block({{":status", "2" + std::to_string(10 + i % 30)}}));
      expected.push_back(path + " 2" + std::to_string(10 + i % 30));
    }
    EXPECT_EQ(parse(Conversation().handshake().client(requests).server(answers).close().frames(), {"url", "status"}),
              expected)
        << bytes;
  }
}

// ---- losses ----

TEST(Http2Request, OneWayCaptures) {
  Session talk;
  std::vector<Frame> request, response;
  for (const Frame& frame :
       one_connection(join({hello(), talk.get(1, "/a"), talk.get(3, "/b")}),
                      join({settings(), talk.answer(1, "200", kEndStream), talk.answer(3, "500", kEndStream)}))) {
    (frame.bytes[14 + 15] == 1 ? request : response).push_back(frame);
  }
  EXPECT_EQ(parse(request), (Lines{"GET shop.test /a - 1 open request", "GET shop.test /b - 3 open request"}));
  EXPECT_EQ(parse(response), (Lines{"- - - 200 1 complete response", "- - - 500 3 complete response"}));
}

// The earlier table is unknown: fields that refer to it are absent, and all others are reported.
TEST(Http2Request, JoinsInMidStream) {
  Session talk;
  Conversation conversation;
  conversation.handshake();
  conversation.client(join({hello(), talk.get(1, "/old")}))
      .server(join({settings(), talk.answer(1, "201", kEndStream)}));
  conversation.client(talk.get(3, "/old")).server(talk.answer(3, "201", kEndStream));
  conversation.client(talk.get(5, "/new", kEndStream, {}, "REPORT")).server(talk.answer(5, "200", kEndStream));
  conversation.client(talk.get(7, "/new", kEndStream, {}, "REPORT")).server(talk.answer(7, "201", kEndStream));
  std::vector<Frame> frames = conversation.close().frames();
  frames.erase(frames.begin(), frames.begin() + 5);
  const Lines lines = parse(frames);
  // shop.test and 201 refer to table entries that were not captured; REPORT was added later. Paths are sent as
  // literals.
  EXPECT_EQ(lines, (Lines{"GET - /old - 3 complete ", "REPORT - /new 200 5 complete ", "REPORT - /new - 7 complete "}));
}

TEST(Http2Request, TruncatedCaptures) {
  Session talk;
  std::vector<Frame> frames =
      one_connection(join({hello(), talk.get(1, "/a"), talk.get(3, "/b", kEndStream, {{"x", std::string(300, 'x')}})}),
                     join({settings(), talk.answer(1, "200"), data(1, std::string(900, 'd'), kEndStream)}));
  const Lines whole_lines = parse(frames);
  for (Frame& frame : frames) {
    if (frame.bytes.size() <= 190) continue;
    frame.wire_bytes = static_cast<uint32_t>(frame.bytes.size());
    frame.bytes.resize(190);
  }
  EXPECT_EQ(parse(frames), whole_lines);
  EXPECT_EQ(whole_lines, (Lines{"GET shop.test /a 200 1 complete ", "GET shop.test /b - 3 open request"}));
}

// Each path has a different status and body length. Every reported header and pair must be correct, regardless of which
// frames are lost.
TEST(Http2Request, NeverPairsWrongIfFramesAreLost) {
  Session talk;
  Conversation conversation;
  conversation.handshake().client(hello()).server(settings());
  for (uint32_t i = 0; i < 12; i += 2) {
    std::string requests, answers;
    for (uint32_t j = i; j < i + 2; ++j) {
      // Every third request repeats table entries of an earlier one.
      requests += talk.get(2 * j + 1, "/path" + std::to_string(j), kEndStream, {},
                           "M" + std::to_string(j % 3 == 2 ? j - 2 : j));
      answers += talk.answer(2 * j + 1, std::to_string(400 + j)) + data(2 * j + 1, std::string(j + 1, 'd'), kEndStream);
    }
    conversation.client_cut(requests, 20).server_cut(answers, 30);
  }
  const std::vector<Frame> frames = conversation.close().frames();
  size_t pairs = 0, runs = 0;
  for (size_t first = 0; first < frames.size(); ++first) {
    for (size_t second = first; second < frames.size(); ++second, ++runs) {
      std::vector<Frame> left;
      for (size_t i = 0; i < frames.size(); ++i) {
        if (i != first && i != second) left.push_back(frames[i]);
      }
      Harness run({"http2_request"});
      run.all(left);
      for (const testing::Tuple& tuple : run.tuples()) {
        const uint64_t i = std::stoull(tuple["stream_id"]) / 2;
        pairs += tuple["partial"].empty();
        const std::string path = "/path" + std::to_string(i), method = "M" + std::to_string(i % 3 == 2 ? i - 2 : i);
        EXPECT_TRUE(tuple["url"] == "-" || tuple["url"] == path) << tuple["url"] << " of " << i;
        EXPECT_TRUE(tuple["host"] == "-" || tuple["host"] == "shop.test") << tuple["host"];
        EXPECT_TRUE(tuple["method"] == "-" || tuple["method"] == method) << tuple["method"] << " of " << i;
        EXPECT_TRUE(tuple["status"] == "-" || tuple["status"] == std::to_string(400 + i))
            << tuple["status"] << " of " << i;
      }
    }
  }
  EXPECT_GT(pairs, runs * 9) << "of 12 per run";
}

TEST(Http2Request, IgnoresOtherProtocols) {
  EXPECT_EQ(parse(one_connection("GET /a HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
            Lines{});
  EXPECT_EQ(parse(one_connection("GET /a HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n")),
            Lines{});
  EXPECT_EQ(parse(one_connection(std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10), "\x16\x03\x03")),
            Lines{});
  EXPECT_EQ(parse(one_connection(std::string(500, '\0'), std::string(500, '\0'))), Lines{});
  std::vector<Frame> frames = one_connection(std::string(500, '\0'), std::string(500, '\0'));
  frames.erase(frames.begin(), frames.begin() + 3);
  EXPECT_EQ(parse(frames), Lines{});
}

TEST(Http2Request, BlocksAreBounded) {
  Session talk;
  std::string requests =
      hello() + talk.get(1, "/a") + frame(http2::kHeaders, kEndStream, 3, talk.up.block({{":method", "GET"}}));
  for (int i = 0; i < 200; ++i) requests += frame(http2::kContinuation, 0, 3, std::string(1000, '\x20'));
  requests += frame(http2::kContinuation, kEndHeaders, 3, "") + talk.get(5, "/b");
  Conversation conversation;
  conversation.handshake().client_cut(requests, 1400).close();
  Harness run({"http2_request"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lost(LossReason::kHeadTooLong), 1u);
  EXPECT_EQ(run.lines({"method", "url", "stream_id"}), (Lines{"GET /a 1", "GET - 3", "GET /b 5"}));
}

// An entry with an unknown name still takes its place in the table, so that entries after it are found.
TEST(Http2Request, AnEntryWithoutAKnownNameKeepsItsPlace) {
  struct Headers final : http2::HeaderSink {
    void on_header(std::string_view name, std::string_view value) override {
      response.push_back(std::string(name) + "=" + std::string(value));
    }
    void on_unknown() override { response.emplace_back("?"); }
    Lines response;
  };
  http2::HeaderDecoder decoder;
  Headers headers;
  // "y: 9" with a new name, then the value "2" with the name of entry 63, which was not captured. Both are added to the
  // table, in which "y: 9" is now entry 63.
  EXPECT_TRUE(decoder.decode(std::string_view("\x40\x01y\x01"
                                              "9\x7f\x00\x01"
                                              "2",
                                              9),
                             headers));
  EXPECT_TRUE(decoder.decode("\xbf", headers));
  EXPECT_EQ(headers.response, (Lines{"y=9", "?", "y=9"}));
}

}  // namespace
}  // namespace tapline
