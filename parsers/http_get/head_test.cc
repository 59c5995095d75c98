#include "parsers/http_get/head.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tapline::http {
namespace {

std::string describe(const Head& head) {
  return std::string(head.request ? "request " : "response ") + std::string(head.method) + "|" + std::string(head.url) +
         "|" + (head.versioned ? "versioned" : "") + "|" + std::string(head.host) + "|" + std::to_string(head.status) +
         "|" + (head.chunked ? "chunked" : "") + "|" +
         (head.content_length ? std::to_string(*head.content_length) : "none");
}

// Parses a head on the slow path, as MessageReader does if parse_ordinary_head() returns 0.
size_t parse_any_head(const std::string& bytes, Head* head, std::string* scratch) {
  const StartKind look = look_at(bytes);
  if (look != StartKind::kRequest && look != StartKind::kResponse) return 0;
  size_t resume = 0;
  const size_t end = find_head_end(bytes, &resume);
  if (end == std::string_view::npos) return 0;
  *head = parse_head(std::string_view(bytes).substr(0, end), scratch);
  return end;
}

// Expects the slow path to give the same result for a head that the fast path accepts. Returns true if the fast path
// accepted the head.
bool expect_agreement(const std::string& bytes) {
  Head ordinary, any;
  const size_t taken = parse_ordinary_head(bytes, &ordinary);
  if (taken == 0) return false;
  std::string scratch;
  EXPECT_EQ(taken, parse_any_head(bytes, &any, &scratch)) << bytes;
  EXPECT_EQ(describe(ordinary), describe(any)) << bytes;
  return true;
}

TEST(Head, OrdinaryHeadsTakeTheFastPath) {
  const std::string browser =
      "GET /a?b=c HTTP/1.1\r\nAccept: */*\r\nCookie: k=v; l=w\r\nHost: shop.example\r\nConnection: keep-alive\r\n\r\n";
  Head head;
  const std::string pipelined = browser + "GET ";
  EXPECT_EQ(parse_ordinary_head(pipelined, &head), browser.size());
  EXPECT_EQ(describe(head), "request GET|/a?b=c|versioned|shop.example|0||none");
  EXPECT_TRUE(expect_agreement("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello, world"));
  EXPECT_TRUE(expect_agreement("HTTP/1.0 404\nTransfer-Encoding: gzip, chunked\n\n"));
  EXPECT_TRUE(expect_agreement("POST http://h.example/x HTTP/1.1\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_TRUE(expect_agreement("GET /a b HTTP/1.1\r\nHost : h\r\n\r\n"));
}

TEST(Head, OtherHeadsTakeTheSlowPath) {
  for (const std::string bytes :
       {"", "G", "GET / HTTP/1.1", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\n", "GET /\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n", "BREW / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n", "GET /\t HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 2\r\n\r\n"}) {
    Head head;
    EXPECT_EQ(parse_ordinary_head(bytes, &head), 0u) << bytes;
  }
}

// Tests ordinary heads that are lengthened beyond the scanner's block size, changed in a few bytes, or truncated.
TEST(Head, BothPathsAgree) {
  const std::vector<std::string> seeds = {
      "GET /index.html HTTP/1.1\r\nHost: www.example.org\r\nCookie: a=1\r\nContent-Type: text/plain\r\n\r\nbody",
      "HTTP/1.1 301 Moved\r\nTransfer-Encoding: chunked\r\nHost: x\r\nContent-Length: 7\r\n\r\n",
      "OPTIONS * HTTP/1.0\nhost:a\ncontent-length : 5\n\n"};
  static constexpr char kBytes[] = {'\r', '\n', ' ', '\t', ':',    'h',    'H',   'c',
                                    't',  '/',  '1', '\0', '\x1f', '\x7f', '\xff'};
  std::mt19937 random(7);
  size_t taken = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string bytes = seeds[random() % seeds.size()];
    bytes.insert(bytes.find(' ') + 2, random() % 140, 'u');
    for (size_t changes = random() % 4; changes > 0; --changes) {
      const size_t offset = random() % bytes.size();
      const char byte = kBytes[random() % sizeof kBytes];
      random() % 2 == 0 ? void(bytes[offset] = byte) : void(bytes.insert(offset, 1, byte));
    }
    bytes.resize(bytes.size() - (random() % 8 == 0 ? random() % bytes.size() : 0));
    taken += expect_agreement(bytes);
    if (HasFailure()) return;
  }
  EXPECT_GT(taken, 15'000u);
}

}  // namespace
}  // namespace tapline::http
