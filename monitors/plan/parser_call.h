// Parsers as users name them outside of queries: NAME or NAME(ARGUMENT=VALUE,…), the same syntax as after PARSE.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packet_io/base/status.h"
#include "parsers/api/schema.h"

namespace tapline {

struct ParserCall {
  std::string name = {};
  // The names and values as written.
  std::vector<std::pair<std::string, std::string>> arguments = {};
};

// Splits the text into names and values. Fails if it has neither of these forms.
Status read_parser_call(std::string_view text, ParserCall* call);

// Converts a call's values to the form that read_argument() accepts, in the order of the schema, with defaults for
// omitted arguments. Durations and sizes have units, as in queries: "500us", "64kB". Fails if an argument is unknown or
// repeated, or if a value is of the wrong kind or out of bounds.
Status read_call_arguments(const ParserCall& call, const Schema& schema, std::vector<std::string>* values);

// Formats a duration as in queries, in the largest unit that gives a whole number: "1s", "1500us".
std::string duration_text(int64_t ns);

}  // namespace tapline
