#pragma once

#include <string>
#include <string_view>

namespace tapline::sql {

// Returns true if a statement may contain a password: it contains one of the words that introduce or name one
// (IDENTIFIED, PASSWORD, MASTER_PASSWORD, passwd, …), in any case and at any position.
bool may_hold_secret(std::string_view statement);

// If the statement may contain a password, replaces everything from its first quote to its last one, or to its end if
// it was truncated, with '***'. The server's mode (backslashes, nested dollar quotes) decides which quotes open and
// which ones close a string, and a wrong guess would show the password, so nothing between the quotes is kept. `quotes`
// are the characters that may begin a string.
void hide_secrets(std::string& statement, std::string_view quotes, bool is_cut);

}  // namespace tapline::sql
