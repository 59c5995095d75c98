// Adapts a plug-in's parser to the interface of the built-in ones.
#pragma once

#include <memory>

#include "parsers/api/parser.h"
#include "parsers/plugin/description.h"

namespace tapline {

// Creates an instance whose calls into the plug-in are marked with its index (call_mark.h). Its tuples are checked and
// copied while the call is still marked, so that an invalid pointer is attributed to the plug-in. If create() returns
// no instance, the result is a left_out_parser().
std::unique_ptr<Parser> make_plugin_parser(const ParserDescription& description, uint32_t plugin_index);

// Replaces a disabled parser: has the same schema, and emits no tuples. Each TCP connection, and each packet of another
// protocol, is counted as plugin_left_out, once per query.
std::unique_ptr<Parser> left_out_parser(Schema schema);

}  // namespace tapline
