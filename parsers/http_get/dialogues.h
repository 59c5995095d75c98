#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

// Helpers that the tests of http_get share.
namespace tapline::http_test {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Lines;

inline const std::vector<std::string> kFields = {"method",        "host",           "url",    "status",
                                                 "request_bytes", "response_bytes", "partial"};

inline constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

inline std::string size(std::string_view text) { return std::to_string(text.size()); }
inline std::string whole(const std::string& method_host_url_status, std::string_view request,
                         std::string_view response) {
  return method_host_url_status + " " + size(request) + " " + size(response) + " ";
}

// Makes one connection with the given bytes in each direction. Each side sends all its bytes at once.
inline std::vector<Frame> one_connection(std::string_view requests, std::string_view responses) {
  return Conversation().handshake().client(requests).server(responses).client_ack().close().frames();
}

inline Lines parse(const std::vector<Frame>& frames) { return Harness({"http_get"}).all(frames).lines(kFields); }

inline void expect_at_every_cut(std::string_view requests, std::string_view responses, const Lines& expected) {
  testing::expect_at_every_cut([](const auto& frames) { return parse(frames); }, requests, responses, expected);
}

}  // namespace tapline::http_test
