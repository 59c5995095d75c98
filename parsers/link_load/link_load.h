#pragma once

#include <cstdint>
#include <memory>

#include "parsers/api/parser.h"

namespace tapline {

// `max_flows` is the number of flows whose sequence numbers are followed.
std::unique_ptr<Parser> make_link_load(uint32_t max_flows);

}  // namespace tapline
