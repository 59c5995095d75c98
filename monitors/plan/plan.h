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

// Reads the part of a plan for `monitor_id`, which is a monitor's ID or its host. Fails if the plan names an unknown
// parser, does not place the query there, or has fields that this monitor does not know, since they may be
// restrictions.
Status read_plan(const v1::Plan& plan, const std::string& monitor_id, QuerySpec* spec);
// Parses the text of a plan file. `where` names the source in error messages.
Status parse_plan(std::string_view json, const std::string& where, v1::Plan* plan);
// Parses a plan file.
Status load_plan(const std::string& path, v1::Plan* plan);

// Creates the query of a monitor without plans, which applies these parsers, named as in parser_call.h, to every
// packet. Fails if a parser or argument is unknown, or if a value is invalid.
Status query_of_parsers(const std::vector<std::string>& parsers, QuerySpec* spec);

// Fails if one of the query's parsers emits at a different interval for `running`, another query of the monitor.
Status check_intervals(const QuerySpec& spec, const QuerySpec& running);

}  // namespace tapline
