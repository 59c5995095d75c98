#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapline::http {

// What the beginning of a message looks like (RFC 9112 sections 3 and 4).
enum class Look : uint8_t {
  kNot,       // no HTTP message begins like this
  kMaybe,     // too short to tell
  kRequest,   // a whole request line
  kResponse,  // a status line, at least to its code
};

// Requests need their version at the end of the line, or a usual method with a path: otherwise every text protocol's
// command would be one.
Look look_at(std::string_view bytes);

// For resynchronising, where a false start is dear: kMaybe only if the bytes begin like a usual method or a status
// line.
bool may_resume_at(std::string_view bytes);

// True for GET, a path and the end of the line, and nothing else: a whole request of HTTP/0.9, which has no fields
// (RFC 1945 section 4.1). More may follow only from a client that left out the version by mistake.
bool is_simple_request(std::string_view bytes);

// True for the client preface of HTTP/2 (RFC 9113 section 3.4), which is not ours.
bool is_http2_preface(std::string_view bytes);

// Whether `line`, a first line so far, may have `more` at its end, in which no line ends.
bool may_continue_line(std::string_view line, std::string_view more);

// Position after the empty line that ends the head, or npos; then *resume is where to search again once there is more.
// Lines end with LF, CR before it or not.
size_t find_head_end(std::string_view bytes, size_t* resume);

// A parsed head. Views point into its bytes, or into the scratch string for a folded Host.
struct Head {
  bool request = false;
  std::string_view method = {};
  std::string_view url = {};   // as in the request line
  bool versioned = false;      // a request line without a version is HTTP/0.9
  std::string_view host = {};  // Host header, else the authority of an absolute URL
  uint32_t status = 0;
  bool chunked = false;
  bool coded = false;  // for its transfer, but not in chunks at the end
  std::optional<uint64_t> content_length = {};
};

// Bytes of the head that `bytes` begin with, parsed as parse_head() would, if it is there whole and ordinary: a usual
// method or a status, a version, nothing folded. Else 0, which says nothing of what it is, and *head is to be made
// anew. Takes half the time of looking, finding the end and parsing.
size_t parse_ordinary_head(std::string_view bytes, Head* head);

// REQUIRES: look_at(bytes) is kRequest or kResponse. `bytes` may end early, where the rest was not captured.
Head parse_head(std::string_view bytes, std::string* scratch);

}  // namespace tapline::http
