#include "monitors/lane/report.h"

#include <nlohmann/json.hpp>

namespace tapline {
namespace {

using nlohmann::ordered_json;

ordered_json Undecodable(const LaneAccounting& lane) {
  ordered_json reasons = ordered_json::object();
  for (int i = 0; i < kDecodeOutcomes; ++i) {
    if (lane.undecodable[i] > 0) reasons[std::string(drop_reason(static_cast<DecodeOutcome>(i)))] = lane.undecodable[i];
  }
  return reasons;
}

ordered_json Lost(const LaneAccounting& lane) {
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

}  // namespace

std::string AccountingJson(const LaneAccounting& lane, std::span<const QuerySpec> queries,
                           const QueryAccounts& accounts) {
  ordered_json all = {{"packets_received", lane.received},
                      {"bytes_received", lane.received_bytes},
                      {"matched", lane.matched},
                      {"unmatched", lane.unmatched},
                      {"undecodable", Undecodable(lane)},
                      {"lost", Lost(lane)},
                      {"merged", lane.merged},
                      {"queries", ordered_json::object()}};
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!queries[i].name.empty()) all["queries"][queries[i].name] = Query(queries[i], accounts[i]);
  }
  return all.dump();
}

std::string QueryAccountingJson(const QuerySpec& query, const Accounting& account) {
  return Query(query, account).dump();
}

std::string AccountingSummary(const LaneAccounting& lane, std::span<const QuerySpec> queries,
                              const QueryAccounts& accounts) {
  std::string text = "tapline-monitor: " + std::to_string(lane.received) + " packets: matched " +
                     std::to_string(lane.matched) + ", unmatched " + std::to_string(lane.unmatched) +
                     ReasonsText(Undecodable(lane)) + ReasonsText(Lost(lane)) + "\n";
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
