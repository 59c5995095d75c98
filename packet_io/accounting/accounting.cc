#include "packet_io/accounting/accounting.h"

#include <numeric>

namespace tapline {
namespace {

constexpr std::array<ReasonInfo, kOwnDrops> kOwnReasons = {{
    {"unsampled", DropUnit::kPackets},
    {"nic_missed", DropUnit::kPackets},
    {"nic_no_buffer", DropUnit::kPackets},
    {"kernel_missed", DropUnit::kPackets},
    {"capture_truncated", DropUnit::kPackets},
    {"capture_corrupt", DropUnit::kPackets},
    {"queue_full", DropUnit::kTuples},
    {"delivery_failed", DropUnit::kTuples},
    {"worker_ring_full", DropUnit::kPackets},
    {"output_full", DropUnit::kTuples},
    {"rate_fell", DropUnit::kTuples},
    {"duplicate", DropUnit::kPackets},
    {"monitor_restarted", DropUnit::kPackets},
    {"monitor_restarted_tuples", DropUnit::kTuples},
    {"monitor_restarted", DropUnit::kFlows},
    {"no_credit", DropUnit::kPackets},
    {"mirror_lost", DropUnit::kPackets},
}};

DropUnit drop_unit_of(LossReason reason) {
  switch (unit_of(reason)) {
    case LossUnit::kTuples:
      return DropUnit::kTuples;
    case LossUnit::kStreamBytes:
      return DropUnit::kStreamBytes;
    case LossUnit::kFlows:
      return DropUnit::kFlows;
  }
  return DropUnit::kFlows;
}

std::array<ReasonInfo, kDropReasons> all_reasons() {
  std::array<ReasonInfo, kDropReasons> all;
  for (int i = 0; i < kOwnDrops; ++i) all[i] = kOwnReasons[i];
  for (int i = 0; i < kDecodeOutcomes; ++i) {
    auto outcome = static_cast<DecodeOutcome>(i);
    all[index_of(outcome)] = {drop_reason(outcome), DropUnit::kPackets};
  }
  for (int i = 0; i < kLossReasons; ++i) {
    auto reason = static_cast<LossReason>(i);
    all[index_of(reason)] = {name_of(reason), drop_unit_of(reason)};
  }
  return all;
}

}  // namespace

std::string_view name_of(DropUnit unit) {
  constexpr std::string_view kNames[kDropUnits] = {"packets", "tuples", "stream_bytes", "flows"};
  return kNames[static_cast<int>(unit)];
}

const ReasonInfo& reason_info(int index) {
  static const std::array<ReasonInfo, kDropReasons> kAll = all_reasons();
  return kAll[index];
}

uint64_t Accounting::dropped_of(DropUnit unit) const {
  uint64_t sum = 0;
  for (int i = 0; i < kDropReasons; ++i) {
    if (reason_info(i).unit == unit) sum += dropped[i];
  }
  return sum;
}

Accounting& Accounting::operator+=(const Accounting& other) {
  packets_in += other.packets_in;
  packets_out += other.packets_out;
  bytes_in += other.bytes_in;
  tuples_in += other.tuples_in;
  tuples_out += other.tuples_out;
  packets_polled += other.packets_polled;
  for (int i = 0; i < kDropReasons; ++i) dropped[i] += other.dropped[i];
  return *this;
}

Accounting operator-(const Accounting& now, const Accounting& previous_accounting) {
  Accounting delta = now;
  delta.packets_in -= previous_accounting.packets_in;
  delta.packets_out -= previous_accounting.packets_out;
  delta.bytes_in -= previous_accounting.bytes_in;
  delta.tuples_in -= previous_accounting.tuples_in;
  delta.tuples_out -= previous_accounting.tuples_out;
  delta.packets_polled -= previous_accounting.packets_polled;
  for (int i = 0; i < kDropReasons; ++i) delta.dropped[i] -= previous_accounting.dropped[i];
  return delta;
}

LaneAccounting& LaneAccounting::operator+=(const LaneAccounting& other) {
  received += other.received;
  received_bytes += other.received_bytes;
  matched += other.matched;
  unmatched += other.unmatched;
  merged += other.merged;
  held += other.held;
  repeated += other.repeated;
  forgotten_views += other.forgotten_views;
  for (int i = 0; i < kDecodeOutcomes; ++i) undecodable[i] += other.undecodable[i];
  for (int i = 0; i < kOwnDrops; ++i) lost[i] += other.lost[i];
  return *this;
}

bool LaneAccounting::balanced() const {
  uint64_t undecoded = std::accumulate(undecodable.begin(), undecodable.end(), uint64_t{0});
  uint64_t gone = std::accumulate(lost.begin(), lost.end(), uint64_t{0});
  return received == matched + unmatched + undecoded + gone + merged + held + repeated;
}

bool TapAccounting::balanced() const {
  const uint64_t undecoded = std::accumulate(undecodable.begin(), undecodable.end(), uint64_t{0});
  return received == passed + repeated + undecoded + std::accumulate(lost.begin(), lost.end(), uint64_t{0});
}

TapAccounting& TapAccounting::operator+=(const TapAccounting& other) {
  received += other.received;
  received_bytes += other.received_bytes;
  passed += other.passed;
  repeated += other.repeated;
  late += other.late;
  for (int i = 0; i < kDecodeOutcomes; ++i) undecodable[i] += other.undecodable[i];
  for (int i = 0; i < kOwnDrops; ++i) lost[i] += other.lost[i];
  return *this;
}

}  // namespace tapline
