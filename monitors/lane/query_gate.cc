#include "monitors/lane/query_gate.h"

#include <algorithm>
#include <bit>

#include "parsers/api/flow_hash.h"

namespace tapline {

QueryGate::QueryGate(std::span<const QuerySpec> queries, QueryAccounts* accounts) : accounts_(accounts) {
  for (const QuerySpec& query : queries) {
    active_ |= uint64_t{1} << queries_.size();
    queries_.push_back({&query.match, sampling_threshold(query.sampling_rate), query.limit_duration_ns.value_or(kNever),
                        kNever, query.limit_packets.value_or(std::numeric_limits<uint64_t>::max())});
  }
}

void QueryGate::StartClock(int64_t start_ns) {
  for (Query& query : queries_) {
    bool endless = query.duration_ns > kNever - std::max<int64_t>(start_ns, 0);
    query.deadline_ns = endless ? kNever : start_ns + query.duration_ns;
  }
  End(0);
}

void QueryGate::End(uint64_t queries) {
  active_ &= ~queries;
  satisfied_ &= ~queries;
  next_deadline_ns_ = kNever;
  for (uint64_t bits = active_; bits != 0; bits &= bits - 1) {
    next_deadline_ns_ = std::min(next_deadline_ns_, queries_[std::countr_zero(bits)].deadline_ns);
  }
}

uint64_t QueryGate::ExpiredAt(int64_t time_ns) const {
  uint64_t expired = 0;
  for (uint64_t bits = active_; bits != 0; bits &= bits - 1) {
    int index = std::countr_zero(bits);
    if (time_ns >= queries_[index].deadline_ns) expired |= uint64_t{1} << index;
  }
  return expired;
}

void QueryGate::AdmitTo(uint32_t index, Packet* packet) {
  Query& query = queries_[index];
  Accounting& account = (*accounts_)[index];
  ++account.packets_in;
  account.bytes_in += packet->wire_bytes;
  if (!sampled(packet->flow_hash, query.sampling_threshold)) {
    ++account.dropped[IndexOf(Drop::kUnsampled)];
    return;
  }
  ++account.packets_out;
  packet->queries |= uint64_t{1} << index;
  if (--query.packets_left == 0) satisfied_ |= uint64_t{1} << index;
}

bool QueryGate::Admit(Packet* packet) {
  bool wanted = false, disagree = false;
  ToSide to_side = ToSide::kUnknown;
  packet->queries = 0;
  for (uint64_t bits = active_ & ~satisfied_; bits != 0; bits &= bits - 1) {
    auto index = static_cast<uint32_t>(std::countr_zero(bits));
    ConnectionMatch::Answer answer = queries_[index].match->Ask(*packet);
    if (!answer.wanted) continue;
    wanted = true;
    AdmitTo(index, packet);
    // A query that fits both ways round has no opinion.
    if (answer.to_side == ToSide::kUnknown) continue;
    disagree |= to_side != ToSide::kUnknown && to_side != answer.to_side;
    to_side = answer.to_side;
  }
  packet->to_side = disagree ? ToSide::kUnknown : to_side;
  return wanted;
}

}  // namespace tapline
