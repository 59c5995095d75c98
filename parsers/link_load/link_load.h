#pragma once

#include <cstdint>
#include <memory>

#include "parsers/api/parser.h"

namespace tapline {

// `max_flows`: flows that are followed by their sequence numbers.
std::unique_ptr<Parser> make_link_load(uint32_t max_flows);

}  // namespace tapline
