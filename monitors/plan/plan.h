// Reads this monitor's part of a plan file (schema/plan.proto as JSON).
#pragma once

#include <string>
#include <string_view>

#include "monitors/plan/query_spec.h"
#include "packet_io/base/status.h"

namespace tapline {

// `where` names the source in messages. Fails if the text is not a plan, names an unknown parser, or does not place the
// query on `monitor_id`, by a monitor's ID or its host.
Status ParsePlan(std::string_view json, const std::string& where, const std::string& monitor_id, QuerySpec* spec);
// Reads the text of a plan file.
Status ReadPlan(const std::string& path, std::string* plan);
// Reads and parses a plan file.
Status LoadPlan(const std::string& path, const std::string& monitor_id, QuerySpec* spec);

// Makes the query of a monitor without plans: these parsers over every packet. Fails on an unknown parser.
Status QueryOfParsers(const std::vector<std::string>& parsers, QuerySpec* spec);

}  // namespace tapline
