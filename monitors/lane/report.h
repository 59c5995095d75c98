// The accounting of a finished run, as a message for programs (schema/monitor.proto) and as text for people.
#pragma once

#include <span>
#include <string>

#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "packet_io/accounting/accounting.h"
#include "packet_io/base/tap.h"
#include "schema/monitor.pb.h"

namespace tapline {

// Returns the accounting without reasons that did not occur and slots without a query. `tap_accounts` has one account
// per tap.
v1::RunAccounting accounting_of(const LaneAccounting& lane, std::span<const Tap> taps,
                                std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                                const QueryAccounts& accounts);

// Returns the query's entry in RunAccounting.queries.
v1::QueryAccounting query_accounting_of(const QuerySpec& query, const Accounting& account);

// Returns a summary of a few lines.
std::string accounting_summary(const LaneAccounting& lane, std::span<const Tap> taps,
                               std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                               const QueryAccounts& accounts);

}  // namespace tapline
