// Reads this monitor's part of a plan (schema/plan.proto). In a file, plans are JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "monitors/plan/query_spec.h"
#include "packet_io/base/status.h"
#include "packet_io/base/tap.h"
#include "schema/plan.pb.h"

namespace tapline {

// Reads the part of a plan for `monitor_id`, which is a monitor's ID or its host. Fails if the plan is invalid, names
// an unknown parser, has no such part, or has fields that this monitor does not know, since they may be restrictions.
Status read_plan(const v1::Plan& plan, const std::string& monitor_id, QuerySpec* spec);
// Parses the text of a plan file. `where` names the source in error messages.
Status parse_plan(std::string_view json, const std::string& where, v1::Plan* plan);
// Parses a plan file.
Status load_plan(const std::string& path, v1::Plan* plan);

// Creates the query of a monitor that runs without plans: it applies these parsers, written as in parser_call.h, to
// every packet. Fails if a parser or argument is unknown, if a value is invalid, or if an argument or a parser with
// arguments is repeated.
Status query_of_parsers(const std::vector<std::string>& parsers, QuerySpec* spec);

// Fails if one of the query's parsers already emits at a different interval for `running`, another query on this
// monitor.
Status check_intervals(const QuerySpec& spec, const QuerySpec& running);

}  // namespace tapline
