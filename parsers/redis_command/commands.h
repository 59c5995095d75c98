#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::redis {

// Whether the name alone is known to be a command: what an inline command begins with before anything else shows that
// the connection is Redis.
bool is_common(std::string_view name);

// CONFIG GET, CLIENT REPLY: the command is the first two words.
bool has_subcommands(std::string_view name);

// Whether the first argument (behind the subcommand, if the name has one) is a key or a channel. It is not where it is
// a password, a script, or some other word.
bool has_key(std::string_view name);

// SUBSCRIBE and its like, which are answered by pushes.
bool is_subscription(std::string_view name);
// The first element of what answers them.
bool is_confirmation(std::string_view word);

// After the answer to it, what the server sends is no answer any more: MONITOR, SYNC.
bool ends_answers(std::string_view name);

// Types of the values that the command may be answered with, errors and QUEUED aside; empty: any.
std::string_view answers_of(std::string_view name);

// Whether Redis, or one of its modules, has a command of this name that takes so many words, the name among them.
bool is_command(std::string_view name, uint64_t words);

}  // namespace tapline::redis
