#pragma once

#include <cstdint>
#include <memory>

#include "parsers/api/parser.h"

namespace tapline {

// Creates a parser that follows the sequence numbers of up to `max_flows` flows.
std::unique_ptr<Parser> make_link_load(uint32_t max_flows);

}  // namespace tapline
