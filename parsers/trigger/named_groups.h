#pragma once

#include <vector>

#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Returns the groups that a filter names, without duplicates: each field of the group has a list of single values, or
// of networks that are at least as long as the group's. Returns none if the filter does not name them all, if there are
// more than kMaxNamedGroups, or if both directions of a flow are one group.
inline constexpr size_t kMaxNamedGroups = 1024;
std::vector<GroupKey> named_groups(const GroupBy& by, const Filter& filter);

}  // namespace tapline::trigger
