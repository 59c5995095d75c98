#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapline::http {

// The classification of a message's beginning (RFC 9112 sections 3 and 4).
enum class StartKind : uint8_t {
  kNot,       // no HTTP message begins like this
  kMaybe,     // too short to tell
  kRequest,   // a whole request line
  kResponse,  // a status line, complete at least up to its code
};

// Classifies the beginning of a message. Requests need a version at the end of the line, or a method in capitals with a
// path; otherwise, any text protocol's command would qualify.
StartKind look_at(std::string_view bytes);

// Returns true if a message may begin here, for resynchronising after a gap, where a false start is costly. Bytes that
// are too short to tell must begin like a usual method or a status line.
bool may_resume_at(std::string_view bytes);

// Returns true if the line has only GET and a path, and so is a complete HTTP/0.9 request, which has no fields (RFC
// 1945 section 4.1). More text may follow only from a client that left out the version by mistake.
bool is_simple_request(std::string_view bytes);

// Returns true for the connection preface of an HTTP/2 client (RFC 9113 section 3.4). http2_request parses such
// connections.
bool is_http2_preface(std::string_view bytes);

// Returns true if `further_text` may continue the incomplete first line `line`. REQUIRES: `further_text` has no line
// end.
bool may_continue_line(std::string_view line, std::string_view further_text);

// Returns the position after the empty line that ends the head, or npos; *resume is then the position from which to
// continue the search once there are more bytes. Lines end with LF, with or without CR before it.
size_t find_head_end(std::string_view bytes, size_t* resume);

// A parsed head. Views point into its bytes, or into the scratch string for a folded Host.
struct Head {
  bool request = false;
  std::string_view method = {};
  std::string_view url = {};   // as in the request line
  bool versioned = false;      // a request line without a version is HTTP/0.9
  std::string_view host = {};  // Host header, otherwise the authority of an absolute URL
  uint32_t status = 0;
  bool chunked = false;
  bool coded = false;  // has a transfer coding whose last one is not chunked
  std::optional<uint64_t> content_length = {};
};

// Returns the length of the head at the beginning of `bytes`, parsed as parse_head() would, if it is complete and
// ordinary: a usual method or a status, a version, no folded lines. Otherwise returns 0, which implies nothing about
// the bytes, and *head must be reset. Takes half the time of look_at(), find_head_end() and parse_head() together.
size_t parse_ordinary_head(std::string_view bytes, Head* head);

// REQUIRES: look_at(bytes) is kRequest or kResponse. `bytes` may end early if the rest was not captured.
Head parse_head(std::string_view bytes, std::string* scratch);

}  // namespace tapline::http
