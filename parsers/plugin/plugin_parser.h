// A parser of a plug-in behind the interface of those that are built in.
#pragma once

#include <memory>

#include "parsers/api/parser.h"
#include "parsers/plugin/description.h"

namespace tapline {

// An instance, whose calls into the plug-in are marked with its index (call_mark.h). What the plug-in emits is checked
// and copied while it is still marked, so that a wrong pointer is its own. Without an instance, because create() gave
// none, the result is a left_out_parser().
std::unique_ptr<Parser> make_plugin_parser(const ParserDescription& description, uint32_t plugin_index);

// Stands in for a parser that is not called any more: the same schema, no tuples. Each flow that it would have seen is
// counted as plugin_left_out, once for each query.
std::unique_ptr<Parser> left_out_parser(Schema schema);

}  // namespace tapline
