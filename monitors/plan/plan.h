// A plan file (schema/plan.proto as JSON) read into this monitor's part of it.
#pragma once

#include <string>
#include <string_view>

#include "packet_io/base/status.h"
#include "monitors/plan/query_spec.h"

namespace tapline {

// `where` names the source in messages. Fails if the text is no plan, names a parser that there is not, or does not
// place the query on `monitor_id`, by a monitor's ID or its host.
Status ParsePlan(std::string_view json, const std::string& where, const std::string& monitor_id, QuerySpec* spec);
// The text of a plan file.
Status ReadPlan(const std::string& path, std::string* plan);
// Both.
Status LoadPlan(const std::string& path, const std::string& monitor_id, QuerySpec* spec);

// The query of a monitor without plans: these parsers over every packet. Fails on an unknown parser.
Status QueryOfParsers(const std::vector<std::string>& parsers, QuerySpec* spec);

}  // namespace tapline
