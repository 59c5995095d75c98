#pragma once

#include <string>
#include <string_view>

namespace tapline {

// Appends the statement to `out` without the parts that vary from one use to the next: a literal or a list of literals
// becomes ?, all rows of VALUES become one row, comments are removed, and runs of white space become one space. Names,
// keywords and their case are kept.
//
// Reads both MySQL's and PostgreSQL's SQL, without knowing which it is: strings in double quotes are treated as
// literals (in PostgreSQL they are names, which also become ?). A literal or comment without an end extends to the
// statement's end.
void append_sql_template(std::string_view statement, std::string* out);

}  // namespace tapline
