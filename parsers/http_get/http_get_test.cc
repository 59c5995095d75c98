#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Lines;

const std::vector<std::string> kWhat = {"method",        "host",           "url",    "status",
                                        "request_bytes", "response_bytes", "partial"};

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

std::string size(std::string_view text) { return std::to_string(text.size()); }
std::string whole(const std::string& method_host_url_status, std::string_view request, std::string_view response) {
  return method_host_url_status + " " + size(request) + " " + size(response) + " ";
}

// One connection with the given bytes each way, each side's sent at once.
std::vector<Frame> one_connection(std::string_view requests, std::string_view responses) {
  return Conversation().handshake().client(requests).server(responses).client_ack().close().frames();
}

Lines parse(const std::vector<Frame>& frames) { return Harness({"http_get"}).all(frames).lines(kWhat); }

void expect_at_every_cut(std::string_view requests, std::string_view responses, const Lines& expected) {
  testing::expect_at_every_cut([](const auto& frames) { return parse(frames); }, requests, responses, expected);
}

TEST(HttpGet, PairsRequestAndResponse) { expect_at_every_cut(kGet, kOk, {whole("GET h /a 200", kGet, kOk)}); }

TEST(HttpGet, MeasuresFromTheFirstByteOfTheRequest) {
  Conversation conversation;
  conversation.handshake().client(kGet.substr(0, 5)).client(kGet.substr(5));
  conversation.wait_ns(50'000'000).server(kOk.substr(0, 10)).wait_ns(20'000'000).server(kOk.substr(10)).close();
  Harness run({"http_get"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0]["first_byte_ns"], "52000000");
  EXPECT_EQ(run.tuples()[0]["response_time_ns"], "73000000");
  EXPECT_EQ(run.tuples()[0].header.time_ns, conversation.frames()[6].time_ns);
  EXPECT_EQ(run.tuples()[0].header.flow_incarnation, 1000u);
  EXPECT_EQ(run.tuples()[0].endpoints(), "10.0.0.1:40000>10.0.0.2:80");
}

TEST(HttpGet, KeepAliveAndPipelining) {
  const std::string post = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz";
  const std::string created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
  const Lines expected = {whole("GET h /a 200", kGet, kOk), whole("POST h /b 201", post, created),
                          whole("GET h /a 200", kGet, kOk)};
  expect_at_every_cut(std::string(kGet) + post + std::string(kGet), std::string(kOk) + created + std::string(kOk),
                      expected);
  Conversation keep_alive;
  keep_alive.handshake().client(kGet).server(kOk).client(post).server(created).client(kGet).server(kOk).close();
  EXPECT_EQ(parse(keep_alive.frames()), expected);
}

TEST(HttpGet, BodylessResponses) {
  const std::string head = "HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string head_answer = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
  const std::string no_content = "HTTP/1.1 204 No Content\r\n\r\n";
  const std::string not_modified = "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n";
  expect_at_every_cut(head + std::string(kGet) + std::string(kGet) + std::string(kGet),
                      head_answer + no_content + not_modified + std::string(kOk),
                      {whole("HEAD h /h 200", head, head_answer), whole("GET h /a 204", kGet, no_content),
                       whole("GET h /a 304", kGet, not_modified), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, InterimResponses) {
  const std::string put = "PUT /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n";
  expect_at_every_cut(put + "ok", interim + std::string(kOk), {whole("PUT h /p 200", put + "ok", kOk)});
}

TEST(HttpGet, ChunkedWithExtensionsAndTrailers) {
  const std::string post = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
      "B;name=\"v\"\r\nGET / HTTP/\r\n1\r\nx\r\n000;last\r\nTrailer: 1\r\nOther: 2\r\n\r\n";
  expect_at_every_cut(post + std::string(kGet), answer + std::string(kOk),
                      {whole("POST h /c 200", post, answer), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, CloseDelimitedBody) {
  const std::string old = "GET /old HTTP/1.0\r\n\r\n";
  const std::string answer = "HTTP/1.0 200 OK\r\nServer: s\r\n\r\nany\r\n\r\nHTTP/1.1 200 is body\r\n\r\n";
  expect_at_every_cut(old, answer, {whole("GET  /old 200", old, answer)});
}

TEST(HttpGet, LenientHeads) {
  const std::string bare = "GET /bare HTTP/1.1\nHost: b\n\n";
  const std::string empty_lines = "\r\n\r\nGET /lines HTTP/1.1\r\nhOST :\t padded \r\n\r\n";
  const std::string folded = "GET /folded HTTP/1.1\r\nHost:\r\n  f\r\nX: 1\r\n Content-Length: 9\r\n\r\n";
  const std::string absolute = "GET http://proxy.example:81/x?y#z HTTP/1.1\r\n\r\n";
  const std::string odd = "purge_all! * HTTP/1.1\r\nHost: o\r\n\r\n";
  const std::string blanks = "get /a b c HTTP/1.1\r\nHost: s\r\n\r\n";
  const std::string ok(kOk);
  expect_at_every_cut(
      bare + empty_lines + folded + absolute + odd + blanks,
      "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello" + ok + ok + ok + "HTTP/1.0 404\r\nContent-Length:0\r\n\r\n" + ok,
      {whole("GET b /bare 200", bare, "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
       whole("GET padded /lines 200", empty_lines.substr(4), kOk), whole("GET f /folded 200", folded, kOk),
       whole("GET proxy.example:81 http://proxy.example:81/x?y#z 200", absolute, kOk),
       whole("purge_all! o * 404", odd, "HTTP/1.0 404\r\nContent-Length:0\r\n\r\n"),
       whole("get s /a b c 200", blanks, kOk)});
}

TEST(HttpGet, UpgradeMakesTheConnectionOpaque) {
  const std::string upgrade = "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n";
  const std::string switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
  expect_at_every_cut(upgrade, switching + "\x81\x05hello" + std::string(kOk),
                      {whole("GET h /ws 101", upgrade, switching)});
}

TEST(HttpGet, ConnectMakesTheConnectionOpaque) {
  const std::string connect = "CONNECT far:443 HTTP/1.1\r\nHost: far:443\r\n\r\n";
  const std::string established = "HTTP/1.1 200 Connection established\r\n\r\n";
  Conversation conversation;
  conversation.handshake().client(connect).server(established).client(kGet).server(kOk).close();
  EXPECT_EQ(parse(conversation.frames()), Lines{whole("CONNECT far:443 far:443 200", connect, established)});

  const std::string refused = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
  Conversation retry;
  retry.handshake().client(connect).server(refused).client(connect).server(established).client("\x16\x03").close();
  EXPECT_EQ(parse(retry.frames()), (Lines{whole("CONNECT far:443 far:443 407", connect, refused),
                                          whole("CONNECT far:443 far:443 200", connect, established)}));
}

// HTTP/1.0 on a connection that stays: only a length says where a message ends.
TEST(HttpGet, Http10KeepAlive) {
  const std::string get = "GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  const std::string post = "POST /p HTTP/1.0\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET ";
  const std::string ok = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc";
  const std::string last = "HTTP/1.0 200 OK\r\n\r\nup to the close";
  expect_at_every_cut(
      get + post + get, ok + ok + last,
      {whole("GET  /k 200", get, ok), whole("POST h /p 200", post, ok), whole("GET  /k 200", get, last)});
}

TEST(HttpGet, NeitherLengthNorChunksMeansUntilTheClose) {
  const std::string answer = "HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\n" + std::string(kOk);
  // What was asked behind it is never answered.
  expect_at_every_cut(std::string(kGet) + "GET /b HTTP/1.1\r\nHost: h\r\n\r\n", answer,
                      {whole("GET h /a 200", kGet, answer), "GET h /b 0 " + size(kGet) + " 0 request"});
  // A coding that does not end in chunks goes before a length (RFC 9112 section 6.3).
  for (const char* coding : {"gzip", "chunked, gzip", "notchunked"}) {
    const std::string coded =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: " + std::string(coding) + "\r\n\r\nmore than two";
    expect_at_every_cut(kGet, coded, {whole("GET h /a 200", kGet, coded)});
  }
  Conversation reset;
  reset.handshake().client(kGet).server(answer).client("", tcp_flag::kRst);
  EXPECT_EQ(parse(reset.frames()), Lines{whole("GET h /a 200", kGet, answer)});
}

TEST(HttpGet, ChunksGoBeforeALength) {
  const std::string post =
      "POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: "
      "999\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTRANSFER-ENCODING: Chunked \r\nContent-Length: "
      "1\r\n\r\n2\r\nab\r\n0\r\n\r\n";
  expect_at_every_cut(post + std::string(kGet), answer + std::string(kOk),
                      {whole("POST h /c 200", post, answer), whole("GET h /a 200", kGet, kOk)});
  const std::string identity = "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab";
  expect_at_every_cut(std::string(kGet) + std::string(kGet), identity + std::string(kOk),
                      {whole("GET h /a 200", kGet, identity), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, LongTrailers) {
  const std::string trailers =
      "X-Sum: " + std::string(300, 's') + "\r\nFolded: a\r\n  HTTP/1.1 200 OK\r\nGET / HTTP/1.1: b\r\n";
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n" + trailers + "\r\n";
  expect_at_every_cut(std::string(kGet) + std::string(kGet), answer + std::string(kOk),
                      {whole("GET h /a 200", kGet, answer), whole("GET h /a 200", kGet, kOk)});
}

// Content is not looked at, whatever it holds.
TEST(HttpGet, CompressedBodiesAreSteppedOver) {
  const std::string gzip = std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\r\n\r\n", 14) + std::string(kOk) +
                           "\r\n0\r\n\r\n" + std::string(kGet) + '\0' + "\xff";
  const std::string coding = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";
  const std::string counted = coding + "Content-Length: " + std::to_string(gzip.size()) + "\r\n\r\n" + gzip;
  const std::string chunked = coding + "Transfer-Encoding: chunked\r\n\r\n5E\r\n" + gzip + "\r\n0\r\n\r\n";
  ASSERT_EQ(gzip.size(), 0x5eu);
  const std::string post =
      "POST /z HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: " + std::to_string(gzip.size()) +
      "\r\n\r\n" + gzip;
  expect_at_every_cut(
      post + std::string(kGet) + std::string(kGet), counted + chunked + std::string(kOk),
      {whole("POST h /z 200", post, counted), whole("GET h /a 200", kGet, chunked), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, BodylessWhateverTheirHeadsSay) {
  const std::string head = "HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string head_answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string head_open = "HTTP/1.1 404 Not Found\r\n\r\n";
  const std::string no_content = "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string not_modified = "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string interim = "HTTP/1.1 102 Processing\r\nContent-Length: 10\r\n\r\n";
  expect_at_every_cut(head + std::string(kGet) + head + std::string(kGet) + std::string(kGet),
                      head_answer + no_content + head_open + not_modified + interim + std::string(kOk),
                      {whole("HEAD h /h 200", head, head_answer), whole("GET h /a 204", kGet, no_content),
                       whole("HEAD h /h 404", head, head_open), whole("GET h /a 304", kGet, not_modified),
                       whole("GET h /a 200", kGet, kOk)});
}

// The client waits for 100 Continue; times are to the final response.
TEST(HttpGet, ContinueBeforeTheBody) {
  const std::string head = "PUT /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n", body = "body";
  for (size_t cut = 1; cut <= head.size(); ++cut) {
    for (size_t interim_cut = 1; interim_cut <= go_on.size(); interim_cut += 5) {
      Conversation conversation;
      conversation.handshake().client(head.substr(0, cut));
      if (cut < head.size()) conversation.client(head.substr(cut));
      conversation.server_cut(go_on, interim_cut).client(body).wait_ns(30'000'000).server(kOk);
      conversation.client(kGet).server(kOk).close();
      Harness run({"http_get"});
      run.all(conversation.frames());
      ASSERT_EQ(run.lines(kWhat), (Lines{whole("PUT h /p 200", head + body, kOk), whole("GET h /a 200", kGet, kOk)}));
      EXPECT_GT(std::stoll(run.tuples()[0]["first_byte_ns"]), 30'000'000);
    }
  }
  // Refused: the body is not sent.
  const std::string refused = "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  expect_at_every_cut(head, refused, {whole("PUT h /p 417", head, refused)});
}

TEST(HttpGet, RefusedUpgradesStayHttp) {
  const std::string upgrade = "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  const std::string required = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n";
  expect_at_every_cut(upgrade + upgrade + std::string(kGet), std::string(kOk) + required + std::string(kOk),
                      {whole("GET h /ws 200", upgrade, kOk), whole("GET h /ws 426", upgrade, required),
                       whole("GET h /a 200", kGet, kOk)});
}

// What comes after 101 is of another protocol, however much it looks like HTTP.
TEST(HttpGet, NothingIsToldBehindAnUpgrade) {
  const std::string upgrade =
      "GET /h2 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n";
  const std::string switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& after : {preface, std::string(kGet), std::string("\x81\x85", 2)}) {
    for (size_t cut = 1; cut <= switching.size(); ++cut) {
      Conversation conversation;
      conversation.handshake().client(kGet).server(kOk).client(upgrade).server_cut(switching, cut);
      conversation.client(after).server(kOk).client(kGet).server(kOk).close();
      EXPECT_EQ(parse(conversation.frames()),
                (Lines{whole("GET h /a 200", kGet, kOk), whole("GET h /h2 101", upgrade, switching)}));
    }
  }
}

// A tunnel's length fields mean nothing (RFC 9110 section 9.3.6), and what it carries is not HTTP to us.
TEST(HttpGet, TunnelsAtEveryCut) {
  const std::string connect = "CONNECT far:443 HTTP/1.0\r\n\r\n";
  const std::string hello = std::string("\x16\x03\x01\0\x05hello", 10);
  for (const char* field : {"", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"}) {
    const std::string established = "HTTP/1.1 200 OK\r\n" + std::string(field) + "\r\n";
    expect_at_every_cut(connect, established + hello + std::string(kOk),
                        {whole("CONNECT  far:443 200", connect, established)});
    // A client that does not wait for the answer.
    expect_at_every_cut(connect + hello, established + hello, {whole("CONNECT  far:443 200", connect, established)});
  }
  const std::string refused = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 4\r\n\r\nno, ";
  const std::string established = "HTTP/1.1 200 OK\r\n\r\n";
  expect_at_every_cut(
      connect + connect, refused + established,
      {whole("CONNECT  far:443 407", connect, refused), whole("CONNECT  far:443 200", connect, established)});
}

TEST(HttpGet, AbsoluteTargets) {
  const std::string proxied = "GET http://a.example/p?q#f HTTP/1.1\r\nHost: b.example\r\n\r\n";
  const std::string bare = "GET https://c.example:8443 HTTP/1.1\r\n\r\n";
  const std::string six = "GET http://[2001:db8::1]:80/ HTTP/1.0\r\nHost:\r\n\r\n";
  const std::string all = "OPTIONS * HTTP/1.1\r\nHost: d.example\r\n\r\n";
  const std::string ok(kOk);
  expect_at_every_cut(proxied + bare + six + all, ok + ok + ok + ok,
                      {whole("GET b.example http://a.example/p?q#f 200", proxied, kOk),
                       whole("GET c.example:8443 https://c.example:8443 200", bare, kOk),
                       whole("GET [2001:db8::1]:80 http://[2001:db8::1]:80/ 200", six, kOk),
                       whole("OPTIONS d.example * 200", all, kOk)});
}

TEST(HttpGet, FoldedLinesThatMatter) {
  const std::string post =
      "POST /f HTTP/1.1\r\nX-Folded: a,\r\n\tHost: no\r\n  Content-Length: 99\r\n"
      "Host:\r\n \r\n f\r\nContent-Length:\r\n  2\r\n\r\nok";
  const std::string answer =
      "HTTP/1.1 200\r\n OK\r\nX: y\r\n Content-Length: 7\r\nContent-Length: \r\n\t5\r\n\r\nhello";
  expect_at_every_cut(post + std::string(kGet), answer + std::string(kOk),
                      {whole("POST f /f 200", post, answer), whole("GET h /a 200", kGet, kOk)});
}

// Heads of almost 64 KiB: a long target, a long line, many lines, a line folded a thousand times.
TEST(HttpGet, LongHeads) {
  std::string many, folded = "X: y";
  for (int i = 0; i < 1500; ++i) many += "X-Field-" + std::to_string(i) + ": " + std::string(20, 'v') + "\r\n";
  for (int i = 0; i < 1500; ++i) folded += "\r\n " + std::string(30, 'f');
  const std::string target = "/" + std::string(60'000, 't');
  const std::string requests[] = {"GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n",
                                  "GET /l HTTP/1.1\r\nCookie: " + std::string(60'000, 'c') + "\r\nHost: h\r\n\r\n",
                                  "GET /m HTTP/1.1\r\n" + many + "Host: h\r\n\r\n",
                                  "GET /f HTTP/1.1\r\n" + folded + "\r\nHost: h\r\n\r\n"};
  const std::string urls[] = {target, "/l", "/m", "/f"};
  const std::string answer =
      "HTTP/1.1 200 OK\r\nSet-Cookie: " + std::string(60'000, 's') + "\r\nContent-Length: 2\r\n\r\nok";
  for (size_t i = 0; i < 4; ++i) {
    const Lines expected = {whole("GET h " + urls[i] + " 200", requests[i], answer), whole("GET h /a 200", kGet, kOk)};
    for (const size_t cut : {1u, 1400u, 16'000u, 65'000u}) {
      Conversation conversation;
      conversation.handshake().client_cut(requests[i], cut).server_cut(answer, cut).client(kGet).server(kOk).close();
      EXPECT_EQ(parse(conversation.frames()), expected) << urls[i].substr(0, 2) << ", cut into " << cut;
    }
  }
}

// A server that is tired of waiting answers what nobody asked.
TEST(HttpGet, UnaskedResponse) {
  const std::string timeout = "HTTP/1.1 408 Request Time-out\r\nConnection: close\r\n\r\n";
  Conversation conversation;
  conversation.handshake().client(kGet).server(kOk).client_ack().wait_ns(5'000'000'000).server(timeout);
  conversation.server_fin().client_fin().server_ack();
  EXPECT_EQ(parse(conversation.frames()),
            (Lines{whole("GET h /a 200", kGet, kOk), "   408 0 " + std::to_string(timeout.size()) + " response"}));
}

// HTTP/0.9: one line asks, and everything until the close answers (RFC 1945 sections 4.1 and 6).
TEST(HttpGet, RequestsWithoutAVersion) {
  const std::string simple = "GET /path\r\n";
  const std::string page = "<html>HTTP/0.9 has\r\n\r\nno head</html>";
  expect_at_every_cut(simple, page, {whole("GET  /path 0", simple, page)});
  expect_at_every_cut("GET /path\n", "H", {whole("GET  /path 0", "GET /path\n", "H")});
  // Servers that don't speak it answer with a head.
  const std::string refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno";
  expect_at_every_cut(simple, refused, {whole("GET  /path 400", simple, refused)});
  // The version forgotten, the fields not.
  const std::string fields = "GET /path\r\nHost: h\r\n\r\n";
  expect_at_every_cut(fields, page, {whole("GET h /path 0", fields, page)});
  expect_at_every_cut(simple, "", Lines{"GET  /path 0 " + size(std::string_view(simple)) + " 0 request"});
}

TEST(HttpGet, OnlyTheFirstRequestMayHaveNoVersion) {
  // A body is no answer to what a later line asks, and no protocol but HTTP is asked with GET and a path.
  EXPECT_EQ(parse(one_connection("GET path\r\n", "anything")), Lines{});
  EXPECT_EQ(parse(one_connection("HELO /path\r\n", "250 fine\r\n")), Lines{});
}

TEST(HttpGet, ResponseBeforeTheRequestIsComplete) {
  const std::string head = "POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n";
  const std::string refused = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
  Conversation conversation;
  conversation.handshake().client(head).client("some").server(refused).client(std::string(996, 'x')).close();
  const Lines lines = parse(conversation.frames());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("POST h /big 413")) << lines[0];
}

TEST(HttpGet, HalfTransactions) {
  Conversation unanswered;
  unanswered.handshake().client(kGet).close();
  EXPECT_EQ(parse(unanswered.frames()), Lines{"GET h /a 0 " + size(kGet) + " 0 request"});

  Conversation reset;
  reset.handshake().client(kGet).server("", tcp_flag::kRst | tcp_flag::kAck);
  EXPECT_EQ(parse(reset.frames()), Lines{"GET h /a 0 " + size(kGet) + " 0 request"});

  Conversation cut_off;
  cut_off.handshake().client(kGet);
  EXPECT_EQ(parse(cut_off.frames()), Lines{"GET h /a 0 " + size(kGet) + " 0 request"});
}

TEST(HttpGet, OneWayCaptures) {
  std::vector<Frame> requests, responses;
  Conversation conversation;
  conversation.handshake().client(kGet).server(kOk).client(kGet).server(kOk).close();
  for (const Frame& frame : conversation.frames()) (frame.bytes[14 + 15] == 1 ? requests : responses).push_back(frame);
  const std::string request = "GET h /a 0 " + size(kGet) + " 0 request";
  const std::string response = "   200 0 " + size(kOk) + " response";
  EXPECT_EQ(parse(requests), (Lines{request, request}));
  EXPECT_EQ(parse(responses), (Lines{response, response}));
}

TEST(HttpGet, JoinsInMidStream) {
  Conversation conversation;
  conversation.handshake().client(kGet).server_cut(kOk, 20).client(kGet).server(kOk).client(kGet).server(kOk).close();
  std::vector<Frame> frames = conversation.frames();
  frames.erase(frames.begin(), frames.begin() + 5);  // the first response's tail remains
  EXPECT_EQ(parse(frames), (Lines{whole("GET h /a 200", kGet, kOk), whole("GET h /a 200", kGet, kOk)}));
}

// Three transactions; frames: 3 handshake, then request and response alternating from index 3.
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

TEST(HttpGet, LostRequestLeavesItsResponseSingle) {
  const std::string whole_1 = whole("GET h /1 200", kGet, kOk), whole_3 = whole("GET h /3 200", kGet, kOk);
  EXPECT_EQ(parse(three_with_lost({5})), (Lines{whole_1, "   200 0 " + size(kOk) + " response", whole_3}));
}

TEST(HttpGet, LostResponseLeavesItsRequestSingle) {
  Lines lines = parse(three_with_lost({6}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], whole("GET h /1 200", kGet, kOk));
  EXPECT_EQ(lines[1], "GET h /2 0 " + size(kGet) + " 0 request");
  EXPECT_EQ(lines[2], whole("GET h /3 200", kGet, kOk));
}

TEST(HttpGet, GapInsideABodyOfKnownLengthIsSteppedOver) {
  // Responses in three segments of 15 bytes; the second one's last 5 bytes are of the body, the third is its middle.
  std::string big = "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'x');
  Conversation conversation;
  conversation.handshake().client(kGet).server_cut(big, 1000).client(kGet).server(kOk).close();
  conversation.frames().erase(conversation.frames().begin() + 5);
  Harness run({"http_get"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lines(kWhat), (Lines{whole("GET h /a 200", kGet, big), whole("GET h /a 200", kGet, kOk)}));
  EXPECT_EQ(run.lost(LossReason::kGap), 1000u);
}

TEST(HttpGet, NeverPairsWrongWhicheverFrameIsLost) {
  for (size_t response_cut : {1000u, 20u}) {
    const size_t frames = three_with_lost({}, response_cut).size();
    for (size_t first = 0; first < frames; ++first) {
      for (size_t second = first + 1; second < frames; ++second) {
        Harness run({"http_get"});
        // Responses carry no number of their own, so a pair is right if its times are: each takes 1 ms to the first
        // byte.
        run.all(three_with_lost({first, second}, response_cut));
        for (const testing::Tuple& tuple : run.tuples()) {
          if (!tuple["partial"].empty()) continue;
          EXPECT_EQ(tuple["first_byte_ns"], "1000000") << first << " and " << second << " lost";
        }
      }
    }
  }
}

// Transactions that each say which they are, in segments of at most `cut` bytes, and whose each frame is.
std::vector<Frame> told_apart(size_t transactions, size_t cut, std::vector<size_t>* transaction_of) {
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

std::vector<Frame> three_told_apart(size_t cut, std::vector<size_t>* transaction_of) {
  return told_apart(3, cut, transaction_of);
}

// While a lost request is waited for, responses wait too, and one of those to come may be lost as well.
TEST(HttpGet, NeverPairsWrongWhicheverThreeFramesAreLost) {
  std::vector<size_t> transaction_of;
  const std::vector<Frame> frames = told_apart(11, 1000, &transaction_of);
  for (size_t first = 0; first < frames.size(); ++first) {
    for (size_t second = first + 1; second < frames.size(); ++second) {
      for (size_t third = second; third < frames.size(); ++third) {
        std::vector<Frame> left;
        for (size_t i = 0; i < frames.size(); ++i) {
          if (i != first && i != second && i != third) left.push_back(frames[i]);
        }
        Harness run({"http_get"});
        run.all(left);
        size_t whole_ones = 0;
        for (const testing::Tuple& tuple : run.tuples()) {
          if (!tuple["partial"].empty()) continue;
          ++whole_ones;
          ASSERT_EQ(std::stoi(tuple["status"]), 200 + std::stoi(tuple["url"].substr(1)))
              << first << ", " << second << " and " << third << " lost";
        }
        EXPECT_GE(whole_ones, 7u) << first << ", " << second << " and " << third << " lost";
      }
    }
  }
}

TEST(HttpGet, ALostSegmentCostsItsOwnTransactionOnly) {
  for (const size_t cut : {1000u, 20u, 7u, 1u}) {
    std::vector<size_t> transaction_of;
    const std::vector<Frame> frames = three_told_apart(cut, &transaction_of);
    for (size_t lost = 0; lost < frames.size(); ++lost) {
      std::vector<Frame> left = frames;
      left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
      Harness run({"http_get"});
      run.all(left);
      std::vector<size_t> whole_ones;
      for (const testing::Tuple& tuple : run.tuples()) {
        if (!tuple["partial"].empty()) continue;
        whole_ones.push_back(static_cast<size_t>(tuple["url"].at(1) - '0'));
        EXPECT_EQ(tuple["status"], "20" + tuple["url"].substr(1)) << "frame " << lost << " lost, cut at " << cut;
      }
      for (size_t number = 1; number <= 3; ++number) {
        const auto times = std::count(whole_ones.begin(), whole_ones.end(), number);
        EXPECT_LE(times, 1);
        if (number != transaction_of[lost]) {
          EXPECT_EQ(times, 1) << number << ", frame " << lost << " lost, cut at " << cut;
        }
      }
    }
  }
}

TEST(HttpGet, ARepeatedSegmentChangesNothing) {
  for (const size_t cut : {1000u, 20u, 7u}) {
    std::vector<size_t> transaction_of;
    const std::vector<Frame> frames = three_told_apart(cut, &transaction_of);
    const Lines expected = parse(frames);
    ASSERT_EQ(expected.size(), 3u);
    for (size_t repeated = 0; repeated < frames.size(); ++repeated) {
      for (size_t later = repeated; later < std::min(frames.size(), repeated + 6); ++later) {
        std::vector<Frame> more = frames;
        more.insert(more.begin() + static_cast<ptrdiff_t>(later + 1), frames[repeated]);
        EXPECT_EQ(parse(more), expected) << repeated << " again after " << later << ", cut at " << cut;
      }
    }
  }
}

TEST(HttpGet, SwappedSegmentsChangeNothing) {
  std::vector<size_t> transaction_of;
  const std::vector<Frame> frames = three_told_apart(7, &transaction_of);
  const Lines expected = parse(frames);
  for (size_t first = 3; first < frames.size(); ++first) {
    for (size_t second = first + 1; second < std::min(frames.size(), first + 5); ++second) {
      std::vector<Frame> swapped = frames;
      std::swap(swapped[first], swapped[second]);
      EXPECT_EQ(parse(swapped), expected) << first << " and " << second;
    }
  }
}

// http_get, loaded when each connection already had `skipped` pieces of payload.
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
    const std::vector<Frame> frames = three_told_apart(cut, &transaction_of);
    for (size_t skipped = 1; skipped < frames.size() - 7; ++skipped) {
      std::vector<std::unique_ptr<Parser>> parsers;
      parsers.push_back(std::make_unique<LateParser>(skipped));
      Harness run(std::move(parsers));
      run.all(frames);
      std::vector<std::string> whole_ones, expected;
      for (const testing::Tuple& tuple : run.tuples()) {
        if (!tuple["partial"].empty()) continue;
        whole_ones.push_back(tuple["url"]);
        EXPECT_EQ(tuple["status"], "20" + tuple["url"].substr(1)) << skipped << " skipped, cut at " << cut;
      }
      for (size_t number = transaction_of[3 + skipped - 1] + 1; number <= 3; ++number) {
        expected.push_back("/" + std::to_string(number));
      }
      // The one that was going on may be whole: then its last skipped byte ended the one before.
      if (whole_ones.size() > expected.size()) whole_ones.erase(whole_ones.begin());
      EXPECT_EQ(whole_ones, expected) << skipped << " skipped, cut at " << cut;
    }
  }
}

TEST(HttpGet, FramesAFewPlacesLateChangeNothing) {
  const std::vector<Frame> frames = three_with_lost({}, 20);
  Lines expected = {whole("GET h /1 200", kGet, kOk), whole("GET h /2 200", kGet, kOk),
                    whole("GET h /3 200", kGet, kOk)};
  for (size_t late = 3; late < frames.size(); ++late) {
    for (size_t places = 1; places <= 3 && late + places < frames.size(); ++places) {
      std::vector<Frame> moved = frames;
      std::rotate(moved.begin() + static_cast<ptrdiff_t>(late), moved.begin() + static_cast<ptrdiff_t>(late) + 1,
                  moved.begin() + static_cast<ptrdiff_t>(late + places) + 1);
      EXPECT_EQ(parse(moved), expected) << late << " late by " << places;
    }
  }
}

TEST(HttpGet, EverythingTwiceChangesNothing) {
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

TEST(HttpGet, OtherProtocolsGiveNothing) {
  for (std::string_view first : {"SSH-2.0-OpenSSH_9.2\r\n", "\x16\x03\x01\x02", "EHLO me\r\n", "get key\r\n", "GET\r\n",
                                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "*1\r\n$4\r\nPING\r\n"}) {
    EXPECT_EQ(parse(one_connection(first, "220 ready\r\n")), Lines{}) << first;
  }
}

TEST(HttpGet, HeadTooLongIsCounted) {
  const std::string endless = "GET /x HTTP/1.1\r\n" + std::string(200'000, 'h');
  Conversation conversation;
  conversation.handshake().client_cut(endless, 1400).close();
  Harness run({"http_get"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lines(kWhat), Lines{});
  EXPECT_EQ(run.lost(LossReason::kHeadTooLong), 1u);
}

TEST(HttpGet, ClientIsToldByTheRequestWhereNothingElseTells) {
  Conversation::Options options;
  options.client_port = 80;
  options.server_port = 40000;  // by the ports alone it would be the client
  Conversation conversation(options);
  conversation.client(kGet).server(kOk);
  Harness run({"http_get"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].endpoints(), "10.0.0.1:80>10.0.0.2:40000");
  EXPECT_EQ(run.tuples()[0].header.client_known_by, ClientKnownBy::kProtocol);
}

TEST(HttpGet, EndingOneQueryTellsItAloneOfWhatIsPending) {
  Conversation conversation;
  conversation.handshake().client(kGet).server(kOk);
  const std::vector<Frame> frames = conversation.frames();
  Harness run({"http_get"});
  run.feed({frames.begin(), frames.begin() + 4}, 0b11);
  run.engine().end_queries(0b01);
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].header.queries, 0b01u);
  EXPECT_EQ(run.tuples()[0]["partial"], "request");
  run.feed({frames.begin() + 4, frames.end()}, 0b10);
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1].header.queries, 0b10u);
  EXPECT_EQ(run.tuples()[1]["partial"], "");
}

}  // namespace
}  // namespace tapline
