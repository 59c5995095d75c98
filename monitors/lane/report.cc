#include "monitors/lane/report.h"

#include <map>

namespace tapline {
namespace {

using Reasons = google::protobuf::Map<std::string, uint64_t>;

// `lane` is the account of a lane or of a tap.
template <typename Account>
Reasons undecodable(const Account& lane) {
  Reasons reasons;
  for (int i = 0; i < kDecodeOutcomes; ++i) {
    if (lane.undecodable[i] > 0) reasons[std::string(drop_reason(static_cast<DecodeOutcome>(i)))] = lane.undecodable[i];
  }
  return reasons;
}

template <typename Account>
Reasons lost(const Account& lane) {
  Reasons reasons;
  for (int i = 0; i < kOwnDrops; ++i) {
    if (lane.lost[i] > 0) reasons[std::string(reason_info(i).name)] = lane.lost[i];
  }
  return reasons;
}

Reasons* of_unit(v1::DroppedByUnit* dropped, DropUnit unit) {
  switch (unit) {
    case DropUnit::kPackets:
      return dropped->mutable_packets();
    case DropUnit::kTuples:
      return dropped->mutable_tuples();
    case DropUnit::kStreamBytes:
      return dropped->mutable_stream_bytes();
    case DropUnit::kFlows:
      break;
  }
  return dropped->mutable_flows();
}

// Formats drops, as in ", unsampled 3 packets, queue_full 2 tuples".
std::string dropped_text(const Accounting& account) {
  std::string text;
  for (int i = 0; i < kDropReasons; ++i) {
    if (account.dropped[i] == 0) continue;
    text += ", " + std::string(reason_info(i).name) + " " + std::to_string(account.dropped[i]) + " " +
            std::string(name_of(reason_info(i).unit));
  }
  return text;
}

// Formats the reasons, sorted by name, and their counts, as in ", not_ip 3, truncated 2".
std::string reasons_text(const Reasons& reasons) {
  std::string text;
  for (const auto& [reason, count] : std::map<std::string, uint64_t>(reasons.begin(), reasons.end()))
    text += ", " + reason + " " + std::to_string(count);
  return text;
}

v1::TapAccounting tap_accounting_of(const Tap& tap, const TapAccounting& account) {
  v1::TapAccounting all;
  all.set_tap(tap.name());
  all.set_source(tap.source);
  all.set_received(account.received);
  all.set_bytes(account.received_bytes);
  all.set_passed(account.passed);
  all.set_repeated(account.repeated);
  all.set_late(account.late);
  *all.mutable_undecodable() = undecodable(account);
  *all.mutable_lost() = lost(account);
  return all;
}

// Returns a line for each tap if there are several.
std::string taps_text(std::span<const Tap> taps, std::span<const TapAccounting> accounts) {
  std::string text;
  for (size_t i = 0; i < taps.size() && taps.size() > 1; ++i) {
    if (taps[i].is_marked() && accounts[i].received == 0) continue;
    text += "tapline-monitor: tap " + taps[i].name() + ": " + std::to_string(accounts[i].received) + " packets, " +
            std::to_string(accounts[i].repeated) + " seen before" + reasons_text(undecodable(accounts[i])) +
            reasons_text(lost(accounts[i]));
    if (accounts[i].late > 0) text += ", late " + std::to_string(accounts[i].late);
    text += "\n";
  }
  return text;
}

}  // namespace

v1::RunAccounting accounting_of(const LaneAccounting& lane, std::span<const Tap> taps,
                                std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                                const QueryAccounts& accounts) {
  v1::RunAccounting all;
  all.set_packets_received(lane.received);
  all.set_bytes_received(lane.received_bytes);
  all.set_matched(lane.matched);
  all.set_unmatched(lane.unmatched);
  *all.mutable_undecodable() = undecodable(lane);
  *all.mutable_lost() = lost(lane);
  all.set_merged(lane.merged);
  all.set_repeated(lane.repeated);
  all.set_forgotten_views(lane.forgotten_views);
  for (size_t i = 0; i < taps.size(); ++i) {
    if (taps[i].is_marked() && tap_accounts[i].received == 0) continue;
    *all.add_taps() = tap_accounting_of(taps[i], tap_accounts[i]);
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!queries[i].name.empty())
      (*all.mutable_queries())[queries[i].name] = query_accounting_of(queries[i], accounts[i]);
  }
  return all;
}

v1::QueryAccounting query_accounting_of(const QuerySpec& query, const Accounting& account) {
  v1::QueryAccounting all;
  all.set_packets_in(account.packets_in);
  all.set_packets_out(account.packets_out);
  all.set_bytes_in(account.bytes_in);
  all.set_tuples_in(account.tuples_in);
  all.set_tuples_out(account.tuples_out);
  all.set_packets_polled(account.packets_polled);
  all.set_sampling_rate(query.sampling_rate);
  for (int i = 0; i < kDropReasons; ++i) {
    if (account.dropped[i] == 0) continue;
    const auto& reason = reason_info(i);
    (*of_unit(all.mutable_dropped(), reason.unit))[std::string(reason.name)] = account.dropped[i];
  }
  // Readers of the JSON expect the map even if nothing was dropped.
  all.mutable_dropped();
  return all;
}

std::string accounting_summary(const LaneAccounting& lane, std::span<const Tap> taps,
                               std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                               const QueryAccounts& accounts) {
  std::string text = "tapline-monitor: " + std::to_string(lane.received) + " packets: matched " +
                     std::to_string(lane.matched) + ", unmatched " + std::to_string(lane.unmatched) +
                     reasons_text(undecodable(lane)) + reasons_text(lost(lane));
  if (lane.repeated > 0) text += ", views repeated " + std::to_string(lane.repeated);
  if (lane.forgotten_views > 0) text += ", views forgotten " + std::to_string(lane.forgotten_views);
  text += "\n" + taps_text(taps, tap_accounts);
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].name.empty()) continue;
    const Accounting& account = accounts[i];
    text += "tapline-monitor: query " + queries[i].name + ": " + std::to_string(account.packets_in) + " packets in, " +
            std::to_string(account.packets_out) + " to parsers, " + std::to_string(account.tuples_out) + " tuples out" +
            dropped_text(account) + "\n";
  }
  return text;
}

}  // namespace tapline
