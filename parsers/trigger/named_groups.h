#pragma once

#include <vector>

#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Returns the groups that a filter names, without duplicates. A filter names groups if it lists single values, or
// prefixes at least as long as the group's, for each field of the group. Returns none if the filter does not name all
// groups, if there are more than kMaxNamedGroups, or if both directions of a flow are one group.
inline constexpr size_t kMaxNamedGroups = 1024;
std::vector<GroupKey> named_groups(const GroupBy& group_by, const Filter& filter);

}  // namespace tapline::trigger
