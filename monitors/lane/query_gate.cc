#include "monitors/lane/query_gate.h"

#include <algorithm>

#include "parsers/api/bits.h"
#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

int64_t deadline_of(int64_t start_ns, int64_t duration_ns) {
  bool endless = duration_ns > QueryGate::kNever - std::max<int64_t>(start_ns, 0);
  return endless ? QueryGate::kNever : start_ns + duration_ns;
}

}  // namespace

QueryGate::QueryGate(std::span<const QuerySpec> queries, QueryAccounts* accounts, PacketCredits* credits)
    : specs_(queries), accounts_(accounts), credits_(credits) {}

void QueryGate::add(uint32_t query, int64_t now_ns) {
  const QuerySpec& spec = specs_[query];
  const uint64_t bit = uint64_t{1} << query;
  int64_t duration_ns = spec.limit_duration_ns.value_or(kNever);
  queries_[query] = {sampling_threshold(spec.sampling_rate), duration_ns, kNever, 0, 0};
  if (clock_started_) queries_[query].deadline_ns = deadline_of(now_ns, duration_ns);
  active_ |= bit;
  limited_ = spec.limit_packets ? limited_ | bit : limited_ & ~bit;
  leased_ = spec.limit_leased ? leased_ | bit : leased_ & ~bit;
  note_conditions(query, spec.sampling_rate);
  choose_deadline();
}

void QueryGate::note_conditions(uint32_t query, double rate) {
  const uint64_t bit = uint64_t{1} << query;
  const bool by_endpoints = rate >= 1 && !specs_[query].limit_packets && !specs_[query].match.of_queues();
  by_endpoints_ = by_endpoints ? by_endpoints_ | bit : by_endpoints_ & ~bit;
  unconditional_ = by_endpoints && specs_[query].match.wants_all() ? unconditional_ | bit : unconditional_ & ~bit;
}

void QueryGate::set_sampling_rate(uint32_t query, double rate) {
  queries_[query].sampling_threshold = sampling_threshold(rate);
  note_conditions(query, rate);
}

void QueryGate::start_clock(int64_t start_ns) {
  clock_started_ = true;
  for (Query& query : queries_) query.deadline_ns = deadline_of(start_ns, query.duration_ns);
  choose_deadline();
}

void QueryGate::end(uint64_t queries) {
  active_ &= ~queries;
  satisfied_ &= ~queries;
  choose_deadline();
}

void QueryGate::choose_deadline() {
  next_deadline_ns_ = kNever;
  for (uint32_t query : SetBits(active_)) {
    next_deadline_ns_ = std::min(next_deadline_ns_, queries_[query].deadline_ns);
  }
}

void QueryGate::check_credits() {
  for (uint32_t query : SetBits(active_ & limited_ & ~leased_)) {
    if (credits_->exhausted(query)) satisfied_ |= uint64_t{1} << query;
  }
}

uint64_t QueryGate::expired_at(int64_t time_ns) const {
  uint64_t expired = 0;
  for (uint32_t index : SetBits(active_)) {
    if (time_ns >= queries_[index].deadline_ns) expired |= uint64_t{1} << index;
  }
  return expired;
}

// Takes a credit for the packet. Returns false if there is none; a leased limit then counts the packet as refused.
bool QueryGate::take_credit(uint32_t index, const Packet& packet) {
  const uint64_t bit = uint64_t{1} << index;
  const uint64_t left = credits_->take(index);
  if ((leased_ & bit) == 0) {
    if (left <= 1) satisfied_ |= bit;
    return left != 0;
  }
  Query& query = queries_[index];
  if (left == 0) {
    credits_->refuse(index);
    ++query.refused_packets;
    query.refused_bytes += packet.wire_bytes;
    return false;
  }
  if (query.refused_packets != 0) {
    (*accounts_)[index].lose_packets(index_of(Drop::kNoCredit), query.refused_packets);
    (*accounts_)[index].bytes_in += query.refused_bytes;
    query.refused_packets = query.refused_bytes = 0;
  }
  return true;
}

bool QueryGate::keeps(uint32_t index, const Packet& packet) const {
  const uint64_t threshold = queries_[index].sampling_threshold;
  if (!specs_[index].sampled_by_port) return sampled(packet.flow_hash, threshold);
  const uint16_t far_port =
      specs_[index].match.far_port({packet.src_ip, packet.src_port}, {packet.dst_ip, packet.dst_port});
  return sampled(packet.flow_hash, far_port, threshold);
}

void QueryGate::admit_to(uint32_t index, Packet* packet) {
  const uint64_t bit = uint64_t{1} << index;
  const bool is_kept = keeps(index, *packet);
  if (!specs_[index].match.counts(*packet)) {
    if (is_kept) packet->queries |= bit;
    return;
  }
  if (is_kept && (limited_ & bit) != 0 && !take_credit(index, *packet)) return;
  Accounting& account = (*accounts_)[index];
  ++account.packets_in;
  account.bytes_in += packet->wire_bytes;
  if (!is_kept) {
    ++account.dropped[index_of(Drop::kUnsampled)];
    return;
  }
  ++account.packets_out;
  account.packets_polled += specs_[index].measures_queues && packet->polled_time;
  packet->queries |= bit;
}

void QueryGate::admit_unseen(uint64_t queries, uint64_t packets, uint64_t bytes) {
  for (uint32_t query : SetBits(queries)) {
    Accounting& account = (*accounts_)[query];
    account.packets_in += packets;
    account.packets_out += packets;
    account.bytes_in += bytes;
  }
}

void QueryGate::refuse(const Packet& packet, Drop reason) {
  for (uint32_t index : SetBits(active_ & ~satisfied_)) {
    if (!specs_[index].match.match(packet).wanted) continue;
    (*accounts_)[index].lose_packets(index_of(reason), 1);
    (*accounts_)[index].bytes_in += packet.wire_bytes;
  }
}

template <typename AdmitOne>
bool QueryGate::match(Packet* packet, AdmitOne admit) const {
  bool is_wanted = false, disagree = false;
  ToSide to_side = ToSide::kUnknown;
  packet->queries = 0;
  for (uint32_t index : SetBits(active_ & ~satisfied_)) {
    ConnectionMatch::Answer response = specs_[index].match.match(*packet);
    if (!response.wanted) continue;
    is_wanted = true;
    admit(index);
    // A query that matches in both directions does not determine the side.
    if (response.to_side == ToSide::kUnknown) continue;
    disagree |= to_side != ToSide::kUnknown && to_side != response.to_side;
    to_side = response.to_side;
  }
  packet->to_side = disagree ? ToSide::kUnknown : to_side;
  return is_wanted;
}

bool QueryGate::admit(Packet* packet) {
  return match(packet, [&](uint32_t index) { admit_to(index, packet); });
}

}  // namespace tapline
