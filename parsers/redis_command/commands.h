#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::redis {

// Returns true if the name alone shows that a line is a Redis command. Inline commands may come before anything else
// shows that the connection is Redis.
bool is_common(std::string_view name);

// Returns true if the command's name is its first two words, as in CONFIG GET and CLIENT REPLY.
bool has_subcommands(std::string_view name);

// Returns true if the first argument (after the subcommand, if the name has one) is a key or a channel, rather than a
// password, a script, or some other word.
bool has_key(std::string_view name);

// Returns true for SUBSCRIBE, UNSUBSCRIBE and similar commands, whose replies are confirmations.
bool is_subscription(std::string_view name);
// Returns true for the first element of a confirmation, which is a push or an array.
bool is_confirmation(std::string_view word);

// Returns true for commands, such as MONITOR and SYNC, after whose reply the server sends no further replies.
bool ends_responses(std::string_view name);

// Returns the types of the values that may be the reply to the command, except errors and QUEUED, or an empty string if
// any type is possible.
std::string_view answers_of(std::string_view name);

// Returns true if Redis has a command of this name with this many words, including the name, or if the name belongs to
// a module.
bool is_command(std::string_view name, uint64_t words);

}  // namespace tapline::redis
