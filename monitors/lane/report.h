// The accounting of a finished run, for programs and for people.
#pragma once

#include <span>
#include <string>

#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "packet_io/accounting/accounting.h"
#include "packet_io/base/tap.h"

namespace tapline {

// {"packets_received":…,"bytes_received":…,"matched":…,"unmatched":…,"undecodable":{reason:n},"lost":{reason:n},
//  "merged":…,"repeated":…,"forgotten_views":…,
//  "taps":[{"tap":"sw1:eth2:arrivals","source":…,"received":…,"bytes":…,"passed":…,"repeated":…,"late":…,
//           "undecodable":{reason:n},"lost":{reason:n}}],
//  "queries":{"q":{"packets_in":…,"packets_out":…,"bytes_in":…,"tuples_in":…,"tuples_out":…,"sampling_rate":…,
//                  "dropped":{"packets":{reason:n},"tuples":{…},"stream_bytes":{…},"flows":{…}}}}}
// Omits reasons that did not occur, and slots without a query.
std::string AccountingJson(const LaneAccounting& lane, std::span<const Tap> taps,
                           std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                           const QueryAccounts& accounts);

// One entry of "queries".
std::string QueryAccountingJson(const QuerySpec& query, const Accounting& account);

// A summary of a few lines.
std::string AccountingSummary(const LaneAccounting& lane, std::span<const Tap> taps,
                              std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                              const QueryAccounts& accounts);

}  // namespace tapline
