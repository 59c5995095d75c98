#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapline::postgres {

// Longer statements are truncated to the maximum string length of a tuple.
inline constexpr uint64_t kMaxStatementBytes = 32 << 10;
// Longer names of statements and portals are not distinguished; the server itself truncates most names to 63 bytes.
inline constexpr uint64_t kMaxNameBytes = 256;

inline bool is_in(char type, std::string_view types) { return types.find(type) != std::string_view::npos; }

// Every message but the client's first:   | type (1) | length (4), including itself, not the type | … |
inline constexpr uint64_t kHeadBytes = 5;

struct Head {
  char type = 0;
  uint64_t total = 0;  // length including the type
};

// Returns false if no client (server) sends a message with such a head. REQUIRES: kHeadBytes readable bytes.
bool read_client_head(std::string_view bytes, Head* head);
bool read_server_head(std::string_view bytes, Head* head);

// Returns the number of bytes of a message that are examined; the rest is skipped. For passwords, rows and copied data,
// this is only the head.
uint64_t looked_at(const Head& head, bool from_client);

// The client's first message has no type:   | length (4) | version or code (4) | … |
enum class Startup : uint8_t { kNot, kConnect, kTls, kGss, kCancel };
inline constexpr uint64_t kStartupHeadBytes = 8;
Startup read_startup(std::string_view bytes, uint64_t* total);

// Returns the number of consecutive whole messages at the beginning of the bytes, or 0 if any message is invalid.
int count_messages(std::string_view bytes, bool from_client);
// Returns true if reading of a client's (server's) stream can resume here after a loss. *strong is set if the bytes
// can't be anything else.
bool looks_like_requests(std::string_view bytes, bool* strong);
bool looks_like_responses(std::string_view bytes, bool* strong);

// Returns the text up to the first NUL, and removes both from *rest; if there is no NUL, takes all of it.
std::string_view take_name(std::string_view* rest);

// Returns the number of rows in a completion tag, for example 5 for "INSERT 0 5". Returned rows do not count as
// affected.
uint64_t affected_rows(std::string_view tag);
// Returns the five characters of an error's code; empty if it was cut.
std::string_view sqlstate(std::string_view error_fields);

// Returns the characters that begin a string in the statement. They include $ only if the statement has dollar quotes,
// since $1 is a parameter.
std::string_view quotes_in(std::string_view statement);

}  // namespace tapline::postgres
