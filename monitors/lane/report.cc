#include "monitors/lane/report.h"

#include <nlohmann/json.hpp>

namespace tapline {
namespace {

using nlohmann::ordered_json;

// Of a lane or of a tap.
template <typename Account>
ordered_json Undecodable(const Account& lane) {
  ordered_json reasons = ordered_json::object();
  for (int i = 0; i < kDecodeOutcomes; ++i) {
    if (lane.undecodable[i] > 0) reasons[std::string(drop_reason(static_cast<DecodeOutcome>(i)))] = lane.undecodable[i];
  }
  return reasons;
}

template <typename Account>
ordered_json Lost(const Account& lane) {
  ordered_json reasons = ordered_json::object();
  for (int i = 0; i < kOwnDrops; ++i) {
    if (lane.lost[i] > 0) reasons[std::string(reason_info(i).name)] = lane.lost[i];
  }
  return reasons;
}

ordered_json Dropped(const Accounting& account) {
  ordered_json units = ordered_json::object();
  for (int unit = 0; unit < kDropUnits; ++unit) {
    ordered_json& reasons = units[std::string(name_of(static_cast<DropUnit>(unit)))] = ordered_json::object();
    for (int i = 0; i < kDropReasons; ++i) {
      bool here = account.dropped[i] > 0 && reason_info(i).unit == static_cast<DropUnit>(unit);
      if (here) reasons[std::string(reason_info(i).name)] = account.dropped[i];
    }
  }
  return units;
}

ordered_json TapJson(const Tap& tap, const TapAccounting& account) {
  return {{"tap", tap.name()},
          {"source", tap.source},
          {"received", account.received},
          {"bytes", account.received_bytes},
          {"passed", account.passed},
          {"repeated", account.repeated},
          {"late", account.late},
          {"undecodable", Undecodable(account)},
          {"lost", Lost(account)}};
}

ordered_json Query(const QuerySpec& query, const Accounting& account) {
  return {{"packets_in", account.packets_in}, {"packets_out", account.packets_out},
          {"bytes_in", account.bytes_in},     {"tuples_in", account.tuples_in},
          {"tuples_out", account.tuples_out}, {"sampling_rate", query.sampling_rate},
          {"dropped", Dropped(account)}};
}

// ", unsampled 3 packets, queue_full 2 tuples"
std::string DroppedText(const Accounting& account) {
  std::string text;
  for (int i = 0; i < kDropReasons; ++i) {
    if (account.dropped[i] == 0) continue;
    text += ", " + std::string(reason_info(i).name) + " " + std::to_string(account.dropped[i]) + " " +
            std::string(name_of(reason_info(i).unit));
  }
  return text;
}

std::string ReasonsText(const ordered_json& reasons) {
  std::string text;
  for (const auto& [reason, count] : reasons.items()) text += ", " + reason + " " + count.dump();
  return text;
}

// A line for each tap of several.
std::string TapsText(std::span<const Tap> taps, std::span<const TapAccounting> accounts) {
  std::string text;
  for (size_t i = 0; i < taps.size() && taps.size() > 1; ++i) {
    text += "tapline-monitor: tap " + taps[i].name() + ": " + std::to_string(accounts[i].received) + " packets, " +
            std::to_string(accounts[i].repeated) + " seen before" + ReasonsText(Undecodable(accounts[i])) +
            ReasonsText(Lost(accounts[i]));
    if (accounts[i].late > 0) text += ", late " + std::to_string(accounts[i].late);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string AccountingJson(const LaneAccounting& lane, std::span<const Tap> taps,
                           std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                           const QueryAccounts& accounts) {
  ordered_json all = {{"packets_received", lane.received},
                      {"bytes_received", lane.received_bytes},
                      {"matched", lane.matched},
                      {"unmatched", lane.unmatched},
                      {"undecodable", Undecodable(lane)},
                      {"lost", Lost(lane)},
                      {"merged", lane.merged},
                      {"repeated", lane.repeated},
                      {"forgotten_views", lane.forgotten_views},
                      {"taps", ordered_json::array()},
                      {"queries", ordered_json::object()}};
  for (size_t i = 0; i < taps.size(); ++i) all["taps"].push_back(TapJson(taps[i], tap_accounts[i]));
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!queries[i].name.empty()) all["queries"][queries[i].name] = Query(queries[i], accounts[i]);
  }
  return all.dump();
}

std::string QueryAccountingJson(const QuerySpec& query, const Accounting& account) {
  return Query(query, account).dump();
}

std::string AccountingSummary(const LaneAccounting& lane, std::span<const Tap> taps,
                              std::span<const TapAccounting> tap_accounts, std::span<const QuerySpec> queries,
                              const QueryAccounts& accounts) {
  std::string text = "tapline-monitor: " + std::to_string(lane.received) + " packets: matched " +
                     std::to_string(lane.matched) + ", unmatched " + std::to_string(lane.unmatched) +
                     ReasonsText(Undecodable(lane)) + ReasonsText(Lost(lane));
  if (lane.repeated > 0) text += ", views repeated " + std::to_string(lane.repeated);
  if (lane.forgotten_views > 0) text += ", views forgotten " + std::to_string(lane.forgotten_views);
  text += "\n" + TapsText(taps, tap_accounts);
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].name.empty()) continue;
    const Accounting& account = accounts[i];
    text += "tapline-monitor: query " + queries[i].name + ": " + std::to_string(account.packets_in) + " packets in, " +
            std::to_string(account.packets_out) + " to parsers, " + std::to_string(account.tuples_out) + " tuples out" +
            DroppedText(account) + "\n";
  }
  return text;
}

}  // namespace tapline
