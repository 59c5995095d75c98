#pragma once

#include <string>
#include <string_view>

namespace tapline {

// The statement without what varies from one use to the next, appended to `out`: literals become ?, lists of them one
// ?, rows of VALUES one row; comments go, and runs of white space become a blank. Names, keywords and their case stay.
//
// Reads SQL of MySQL and PostgreSQL alike, without knowing which it is: texts in double quotes are literals (in
// PostgreSQL they are names, which then are ?, too). A literal or comment without an end reaches to the statement's.
void AppendSqlTemplate(std::string_view statement, std::string* out);

}  // namespace tapline
