#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::redis {

// True if the name alone identifies a command: inline commands begin with these before anything else shows that the
// connection is Redis.
bool is_common(std::string_view name);

// CONFIG GET, CLIENT REPLY: the command is the first two words.
bool has_subcommands(std::string_view name);

// True if the first argument (after the subcommand, if the name has one) is a key or a channel, rather than a
// password, a script, or some other word.
bool has_key(std::string_view name);

// SUBSCRIBE and similar commands, which are answered by pushes.
bool is_subscription(std::string_view name);
// True for the first element of the pushes that answer subscriptions.
bool is_confirmation(std::string_view word);

// After the response to such a command, the server's output is no longer a response: MONITOR, SYNC.
bool ends_responses(std::string_view name);

// Types of the values that may answer the command, except errors and QUEUED; empty: any.
std::string_view answers_of(std::string_view name);

// True if Redis, or one of its modules, has a command of this name with this many words, including the name.
bool is_command(std::string_view name, uint64_t words);

}  // namespace tapline::redis
