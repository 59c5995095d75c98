// Decides for each packet which queries receive it (match, sampling, LIMIT), and counts its decisions. There is one
// gate per lane; gates share only PacketCredits.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "parsers/api/packet.h"

namespace tapline {

// The number of packets that queries with LIMIT Np may still take, over all lanes together: never more than N are
// taken. Any thread may call the functions, but only one at a time may call reset(), grant() and granted().
class PacketCredits {
 public:
  // Starts with `granted` packets; `taken` of them are already taken.
  void reset(uint32_t query, uint64_t granted, uint64_t taken = 0) {
    granted_[query] = std::max(granted, taken);
    left_[query].store(granted_[query] - taken, std::memory_order_relaxed);
    refused_[query].store(0, std::memory_order_relaxed);
  }
  // Sets how many packets may be taken in total. If more were already taken, none are left.
  void grant(uint32_t query, uint64_t granted) {
    uint64_t left = left_[query].load(std::memory_order_relaxed), taken;
    do {
      taken = granted_[query] - left;
    } while (!left_[query].compare_exchange_weak(left, std::max(granted, taken) - taken, std::memory_order_relaxed));
    granted_[query] = std::max(granted, taken);
  }
  // Takes one packet. Returns the number that was left before, or 0 if none was left to take.
  uint64_t take(uint32_t query) {
    uint64_t left = left_[query].load(std::memory_order_relaxed);
    while (left != 0 && !left_[query].compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left;
  }
  bool exhausted(uint32_t query) const { return left(query) == 0; }
  uint64_t left(uint32_t query) const { return left_[query].load(std::memory_order_relaxed); }
  uint64_t granted(uint32_t query) const { return granted_[query]; }
  // Counts a packet for which no credit was left.
  void refuse(uint32_t query) { refused_[query].fetch_add(1, std::memory_order_relaxed); }
  uint64_t refused(uint32_t query) const { return refused_[query].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint64_t>, kMaxQueries> left_ = {};
  std::array<std::atomic<uint64_t>, kMaxQueries> refused_ = {};
  std::array<uint64_t, kMaxQueries> granted_ = {};
};

class QueryGate {
 public:
  // `queries` (at most kMaxQueries) are the query slots; the gate reads a slot once add() names it. All arguments must
  // outlive the gate.
  QueryGate(std::span<const QuerySpec> queries, QueryAccounts* accounts, PacketCredits* credits);

  // Admits packets for the query from now on. The query's duration counts from start_clock(), or from `now_ns` if that
  // was already called.
  void add(uint32_t query, int64_t now_ns);
  // Sets the packet time from which LIMIT durations count.
  void start_clock(int64_t start_ns);

  // Returns the bits of the queries that have not ended.
  uint64_t active() const { return active_; }
  void end(uint64_t queries);

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // Returns the earliest packet time that is beyond some active query's duration.
  int64_t next_deadline_ns() const { return next_deadline_ns_; }
  // Returns the active queries whose duration is over at `time_ns`.
  uint64_t expired_at(int64_t time_ns) const;

  // Overrides the rate that the query specifies, from now on.
  void set_sampling_rate(uint32_t query, double rate);

  // Sets packet->queries and packet->to_side. Returns true if any active query's match wants the packet, sampled or
  // not. A repeated view counts only for queries that measure queues (ConnectionMatch::counts), since the packet was
  // already counted.
  bool admit(Packet* packet);
  // Counts the packet as dropped for this reason in each active query whose match wants it.
  void refuse(const Packet& packet, Drop reason);
  // Returns the active queries that want every packet.
  uint64_t unconditional() const { return active_ & unconditional_; }
  // Returns the active queries, except those in unconditional(), that want either all packets of a connection or none.
  uint64_t by_endpoints() const { return active_ & by_endpoints_ & ~unconditional_; }
  // Returns true if there are active queries and each wants either all packets of a connection or none.
  bool decides_by_connection() const { return active_ != 0 && (active_ & ~by_endpoints_) == 0; }
  // Counts packets that these queries take without a decision per packet.
  void admit_unseen(uint64_t queries, uint64_t packets, uint64_t bytes);

  // Returns the active queries that have received as many packets as they may take.
  uint64_t satisfied() const { return satisfied_; }
  // Adds to satisfied() the queries that packets on other lanes have satisfied.
  void check_credits();

 private:
  struct Query {
    uint64_t sampling_threshold;
    int64_t duration_ns;
    int64_t deadline_ns;
    // Packets that a leased limit has refused since it last had credit. They are lost if the limit gets more credit;
    // otherwise they arrived after the query's end.
    uint64_t refused_packets;
    uint64_t refused_bytes;
  };
  // Calls admit(query) for each active query whose match wants the packet. Returns true if there is one.
  template <typename AdmitOne>
  bool match(Packet* packet, AdmitOne admit) const;
  bool take_credit(uint32_t index, const Packet& packet);
  bool keeps(uint32_t index, const Packet& packet) const;
  void admit_to(uint32_t index, Packet* packet);
  void note_conditions(uint32_t query, double rate);
  void choose_deadline();

  std::span<const QuerySpec> specs_;
  std::array<Query, kMaxQueries> queries_ = {};
  QueryAccounts* accounts_;
  PacketCredits* credits_;
  bool clock_started_ = false;
  uint64_t active_ = 0;
  uint64_t limited_ = 0;        // queries with LIMIT Np
  uint64_t leased_ = 0;         // limited queries that may be granted more
  uint64_t by_endpoints_ = 0;   // queries without sampling or LIMIT Np
  uint64_t unconditional_ = 0;  // queries in by_endpoints_ without a match
  uint64_t satisfied_ = 0;
  int64_t next_deadline_ns_ = kNever;
};

}  // namespace tapline
