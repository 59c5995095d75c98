#pragma once

#include <string>
#include <string_view>

namespace tapline::sql {

// Returns true if a statement may contain a password, that is, if it contains a word that introduces or names one
// (IDENTIFIED, PASSWORD, MASTER_PASSWORD, passwd, …), in upper or lower case, at any position.
bool may_hold_secret(std::string_view statement);

// If the statement may contain a password, replaces everything from its first quote to its last one, or to its end if
// it was truncated, with '***'. Keeps nothing between these quotes: which ones open or close a string depends on the
// server's mode (backslashes, nested dollar quotes), and a wrong guess would show the password. `quotes` are the
// characters that may begin a string.
void hide_secrets(std::string& statement, std::string_view quotes, bool is_cut);

}  // namespace tapline::sql
