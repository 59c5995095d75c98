#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/http_get/dialogues.h"
#include "parsers/http_get/message_reader.h"

namespace tapline::http_test {
namespace {

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
  const std::string head_response = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
  const std::string no_content = "HTTP/1.1 204 No Content\r\n\r\n";
  const std::string not_modified = "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n";
  expect_at_every_cut(head + std::string(kGet) + std::string(kGet) + std::string(kGet),
                      head_response + no_content + not_modified + std::string(kOk),
                      {whole("HEAD h /h 200", head, head_response), whole("GET h /a 204", kGet, no_content),
                       whole("GET h /a 304", kGet, not_modified), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, InterimResponses) {
  const std::string put = "PUT /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n";
  expect_at_every_cut(put + "ok", interim + std::string(kOk), {whole("PUT h /p 200", put + "ok", kOk)});
}

TEST(HttpGet, ChunkedWithExtensionsAndTrailers) {
  const std::string post = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  const std::string response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
      "B;name=\"v\"\r\nGET / HTTP/\r\n1\r\nx\r\n000;last\r\nTrailer: 1\r\nOther: 2\r\n\r\n";
  expect_at_every_cut(post + std::string(kGet), response + std::string(kOk),
                      {whole("POST h /c 200", post, response), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, CloseDelimitedBody) {
  const std::string old = "GET /old HTTP/1.0\r\n\r\n";
  const std::string response = "HTTP/1.0 200 OK\r\nServer: s\r\n\r\nany\r\n\r\nHTTP/1.1 200 is body\r\n\r\n";
  expect_at_every_cut(old, response, {whole("GET  /old 200", old, response)});
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

// On a persistent HTTP/1.0 connection, only a length shows the end of a message.
TEST(HttpGet, Http10KeepAlive) {
  const std::string get = "GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  const std::string post = "POST /p HTTP/1.0\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET ";
  const std::string ok = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc";
  const std::string last = "HTTP/1.0 200 OK\r\n\r\nup to the close";
  expect_at_every_cut(
      get + post + get, ok + ok + last,
      {whole("GET  /k 200", get, ok), whole("POST h /p 200", post, ok), whole("GET  /k 200", get, last)});
}

TEST(HttpGet, WithoutLengthOrChunksTheBodyEndsWithTheConnection) {
  const std::string response = "HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\n" + std::string(kOk);
  // The next request never gets a response.
  expect_at_every_cut(std::string(kGet) + "GET /b HTTP/1.1\r\nHost: h\r\n\r\n", response,
                      {whole("GET h /a 200", kGet, response), "GET h /b - " + size(kGet) + " - request"});
  // A final coding other than chunked overrides a length (RFC 9112 section 6.3).
  for (const char* coding : {"gzip", "chunked, gzip", "notchunked"}) {
    const std::string coded =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: " + std::string(coding) + "\r\n\r\nmore than two";
    expect_at_every_cut(kGet, coded, {whole("GET h /a 200", kGet, coded)});
  }
  Conversation reset;
  reset.handshake().client(kGet).server(response).client("", tcp_flag::kRst);
  EXPECT_EQ(parse(reset.frames()), Lines{whole("GET h /a 200", kGet, response)});
}

TEST(HttpGet, ChunkingOverridesContentLength) {
  const std::string post =
      "POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: "
      "999\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
  const std::string response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTRANSFER-ENCODING: Chunked \r\nContent-Length: "
      "1\r\n\r\n2\r\nab\r\n0\r\n\r\n";
  expect_at_every_cut(post + std::string(kGet), response + std::string(kOk),
                      {whole("POST h /c 200", post, response), whole("GET h /a 200", kGet, kOk)});
  const std::string identity = "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab";
  expect_at_every_cut(std::string(kGet) + std::string(kGet), identity + std::string(kOk),
                      {whole("GET h /a 200", kGet, identity), whole("GET h /a 200", kGet, kOk)});
}

TEST(HttpGet, LongTrailers) {
  const std::string trailers =
      "X-Sum: " + std::string(300, 's') + "\r\nFolded: a\r\n  HTTP/1.1 200 OK\r\nGET / HTTP/1.1: b\r\n";
  const std::string response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n" + trailers + "\r\n";
  expect_at_every_cut(std::string(kGet) + std::string(kGet), response + std::string(kOk),
                      {whole("GET h /a 200", kGet, response), whole("GET h /a 200", kGet, kOk)});
}

// Content is never examined.
TEST(HttpGet, CompressedBodiesAreSkipped) {
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

TEST(HttpGet, BodylessResponsesIgnoreTheirHeaders) {
  const std::string head = "HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string head_response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string head_open = "HTTP/1.1 404 Not Found\r\n\r\n";
  const std::string no_content = "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string not_modified = "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string interim = "HTTP/1.1 102 Processing\r\nContent-Length: 10\r\n\r\n";
  expect_at_every_cut(head + std::string(kGet) + head + std::string(kGet) + std::string(kGet),
                      head_response + no_content + head_open + not_modified + interim + std::string(kOk),
                      {whole("HEAD h /h 200", head, head_response), whole("GET h /a 204", kGet, no_content),
                       whole("HEAD h /h 404", head, head_open), whole("GET h /a 304", kGet, not_modified),
                       whole("GET h /a 200", kGet, kOk)});
}

// The client waits for 100 Continue; times are measured to the final response.
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
      ASSERT_EQ(run.lines(kFields), (Lines{whole("PUT h /p 200", head + body, kOk), whole("GET h /a 200", kGet, kOk)}));
      EXPECT_GT(std::stoll(run.tuples()[0]["first_byte_ns"]), 30'000'000);
    }
  }
  // If the server refuses, the body is not sent.
  const std::string refused = "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  expect_at_every_cut(head, refused, Lines{"PUT h /p 417 - " + std::to_string(refused.size()) + " "});
}

TEST(HttpGet, RefusedUpgradesStayHttp) {
  const std::string upgrade = "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  const std::string required = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n";
  expect_at_every_cut(upgrade + upgrade + std::string(kGet), std::string(kOk) + required + std::string(kOk),
                      {whole("GET h /ws 200", upgrade, kOk), whole("GET h /ws 426", upgrade, required),
                       whole("GET h /a 200", kGet, kOk)});
}

// Bytes after 101 belong to another protocol, even if they look like HTTP.
TEST(HttpGet, NothingIsReportedAfterAnUpgrade) {
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

// Length fields in the response that opens a tunnel have no meaning (RFC 9110 section 9.3.6), and the parser does not
// examine the tunnel's contents.
TEST(HttpGet, TunnelsAtEveryCut) {
  const std::string connect = "CONNECT far:443 HTTP/1.0\r\n\r\n";
  const std::string hello = std::string("\x16\x03\x01\0\x05hello", 10);
  for (const char* field : {"", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"}) {
    const std::string established = "HTTP/1.1 200 OK\r\n" + std::string(field) + "\r\n";
    expect_at_every_cut(connect, established + hello + std::string(kOk),
                        {whole("CONNECT  far:443 200", connect, established)});
    // This client does not wait for the response.
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
  const std::string response =
      "HTTP/1.1 200\r\n OK\r\nX: y\r\n Content-Length: 7\r\nContent-Length: \r\n\t5\r\n\r\nhello";
  expect_at_every_cut(post + std::string(kGet), response + std::string(kOk),
                      {whole("POST f /f 200", post, response), whole("GET h /a 200", kGet, kOk)});
}

// Tests heads of almost 64 KiB: a long target, a long line, many lines, and a line folded 1,500 times.
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
  const std::string response =
      "HTTP/1.1 200 OK\r\nSet-Cookie: " + std::string(60'000, 's') + "\r\nContent-Length: 2\r\n\r\nok";
  for (size_t i = 0; i < 4; ++i) {
    const Lines expected = {whole("GET h " + urls[i] + " 200", requests[i], response),
                            whole("GET h /a 200", kGet, kOk)};
    for (const size_t cut : {1u, 1400u, 16'000u, 65'000u}) {
      Conversation conversation;
      conversation.handshake().client_cut(requests[i], cut).server_cut(response, cut).client(kGet).server(kOk).close();
      EXPECT_EQ(parse(conversation.frames()), expected) << urls[i].substr(0, 2) << ", cut into " << cut;
    }
  }
}

// A server that times out an idle connection may send an unsolicited response.
TEST(HttpGet, UnsolicitedResponse) {
  const std::string timeout = "HTTP/1.1 408 Request Time-out\r\nConnection: close\r\n\r\n";
  Conversation conversation;
  conversation.handshake().client(kGet).server(kOk).client_ack().wait_ns(5'000'000'000).server(timeout);
  conversation.server_fin().client_fin().server_ack();
  EXPECT_EQ(parse(conversation.frames()),
            (Lines{whole("GET h /a 200", kGet, kOk), "- - - 408 - " + std::to_string(timeout.size()) + " response"}));
}

// In HTTP/0.9, one line is the request, and all bytes until the close are the response (RFC 1945 sections 4.1 and 6).
TEST(HttpGet, RequestsWithoutAVersion) {
  const std::string simple = "GET /path\r\n";
  const std::string page = "<html>HTTP/0.9 has\r\n\r\nno head</html>";
  expect_at_every_cut(simple, page, {whole("GET  /path -", simple, page)});
  expect_at_every_cut("GET /path\n", "H", {whole("GET  /path -", "GET /path\n", "H")});
  // Servers that do not support HTTP/0.9 respond with a head.
  const std::string refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno";
  expect_at_every_cut(simple, refused, {whole("GET  /path 400", simple, refused)});
  // This request has fields, but no version.
  const std::string fields = "GET /path\r\nHost: h\r\n\r\n";
  expect_at_every_cut(fields, page, {whole("GET h /path -", fields, page)});
  expect_at_every_cut(simple, "", Lines{"GET  /path - " + size(std::string_view(simple)) + " - request"});
}

TEST(HttpGet, OnlyTheFirstRequestMayHaveNoVersion) {
  // Neither line is an HTTP/0.9 request, which consists of GET and a path that begins with '/', so nothing is reported.
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

TEST(HttpGet, ReportsOneSidedTransactions) {
  Conversation unanswered;
  unanswered.handshake().client(kGet).close();
  EXPECT_EQ(parse(unanswered.frames()), Lines{"GET h /a - " + size(kGet) + " - request"});

  Conversation reset;
  reset.handshake().client(kGet).server("", tcp_flag::kRst | tcp_flag::kAck);
  EXPECT_EQ(parse(reset.frames()), Lines{"GET h /a - " + size(kGet) + " - request"});

  Conversation cut_off;
  cut_off.handshake().client(kGet);
  EXPECT_EQ(parse(cut_off.frames()), Lines{"GET h /a - " + size(kGet) + " - request"});
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
  EXPECT_EQ(run.lines(kFields), Lines{});
  EXPECT_EQ(run.lost(LossReason::kHeadTooLong), 1u);
}

TEST(HttpGet, TheRequestIdentifiesTheClient) {
  Conversation::Options options;
  options.client_port = 80;
  options.server_port = 40000;  // by port alone, the server would be the client
  Conversation conversation(options);
  conversation.client(kGet).server(kOk);
  Harness run({"http_get"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].endpoints(), "10.0.0.1:80>10.0.0.2:40000");
  EXPECT_EQ(run.tuples()[0].header.client_known_by, ClientKnownBy::kProtocol);
}

TEST(HttpGet, EndingAQueryReportsItsPendingTransactionsOnly) {
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

class NullHandler final : public http::MessageHandler {
  http::Framing on_head(Side, const http::Head&, const Segment&, bool) override { return {}; }
  void on_message_end(Side, uint64_t, int64_t, bool) override {}
  void on_hidden(Side, uint64_t) override {}
  void on_head_too_long(Side) override {}
  bool on_headless(Side, const Segment&) override { return false; }
};

// Without the release, each of a million connections could keep a buffer for a head that arrived in pieces.
TEST(HttpGet, ReleasesTheBufferOfASegmentedHead) {
  NullHandler handler;
  http::MessageReader reader(0);
  const size_t buffer_bytes = reader.buffer_bytes();
  const std::string head = "GET /a HTTP/1.1\r\nCookie: " + std::string(1000, 'c') + "\r\n\r\n";
  const auto read = [&](std::string_view piece) {
    const Segment segment{0, reader.offset(), 0, false};
    return reader.read({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()}, segment, handler);
  };
  EXPECT_EQ(read(std::string_view(head).substr(0, 900)), http::MessageReader::Verdict::kFine);
  EXPECT_GT(reader.buffer_bytes(), 800u);
  EXPECT_EQ(read(std::string_view(head).substr(900)), http::MessageReader::Verdict::kFine);
  EXPECT_TRUE(reader.recognised());
  EXPECT_EQ(reader.buffer_bytes(), buffer_bytes);
}

}  // namespace
}  // namespace tapline::http_test
