#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parsers/queues/digest_queue.h"
#include "parsers/queues/passage.h"
#include "parsers/queues/tap_offset.h"

namespace tapline::queues {

struct MatchOptions {
  int64_t max_delay_ns = 100'000'000;  // longest stay in the queue, after which an arrival expires
  // Time that a departure waits for an arrival that is delivered or stamped late. A packet that is stamped out of the
  // queue's order by at most this time does not make others count as lost.
  int64_t settle_ns = 1'000'000;
  // The maximum delay of a tap's delivery, and the maximum time by which packets may leave in another order than they
  // arrived.
  int64_t reordering_ns = 100'000;
  bool fifo = true;                  // false: several classes share the port, and order has no meaning
  uint32_t max_packets = 1 << 17;    // maximum number of stored arrivals, 48 bytes each
  uint32_t max_unsettled = 1 << 14;  // number of departures that wait
  // Departure minus arrival of a packet that did not wait; measured if absent.
  std::optional<int64_t> offset_ns = {};
  int64_t offset_window_ns = 10'000'000'000;
};

// A packet at one of the taps. Times are those of that tap's clock.
struct View {
  uint64_t digest = 0;  // equal for equal packets; those of different packets collide with probability 2^-64
  uint64_t flow_key = 0;
  int64_t time_ns = 0;
  uint32_t bytes = 0;
  // True if the packet has a number that distinguishes it from all others of the last max_delay_ns (IPv4
  // identification, sequence number of TCP data), so one with the same bytes is the same packet.
  bool identified = false;
  uint32_t tag = 0;  // set by the caller, and returned with the passage
};

// Each arrival is matched, never leaves, is evicted, or is still in the queue; each departure is matched, has no
// arrival, or is unsettled.
struct MatchStatistics {
  uint64_t arrivals = 0;
  uint64_t departures = 0;
  uint64_t matched = 0;     // including ambiguous ones
  uint64_t ambiguous = 0;   // arrivals known within bounds: not identified, repeated or out of order
  uint64_t repeated = 0;    // ambiguous ones with an equal packet in the queue
  uint64_t never_came = 0;  // departures without an arrival: lost by the arrivals' tap, or from another link
  uint64_t never_left = 0;  // arrivals without a departure: dropped, lost by the departures' tap, or to another link
  uint64_t never_left_bytes = 0;
  uint64_t evicted = 0;  // arrivals evicted because memory was full
  uint64_t late = 0;     // departures delivered more than reordering_ns late: their times are moved forward
};

class MatchSink {
 public:
  virtual ~MatchSink() = default;
  // Receives passages in order of departure.
  virtual void pass(const Passage& passage) = 0;
  virtual void never_left(const View& arrival) = 0;
  // Reports that the departure with this tag will not pass, since it was late or repeated.
  virtual void drop(uint32_t /*tag*/) {}
};

// Matches the departures of a port's queue with its arrivals (ConQuest section 6.2). One per queue; not thread-safe;
// bounded.
//
// Equal packets match first in, first out. If a tap lost one of several equal ones, that match may be wrong. So only
// the match of an identified packet is certain, and the certain ones bound all others: in a FIFO queue, packets that
// leave between two certain packets have arrived between them.
//
//   arrivals     c₁ ─── ? ─── c₂      ?'s arrival lies between those of c₁ and c₂, whether it was seen or not
//   departures   c₁ ─── ? ─── c₂
//
// This requires the next certain departure, for which the uncertain ones wait for up to settle_ns. If none comes in
// that time, the later bound is the departure itself, and the earlier one is at most max_delay_ns before it. The bounds
// are correct if the queue is FIFO up to reordering_ns, delays are below max_delay_ns, and the offset is correct.
class TapMatcher {
 public:
  TapMatcher(const MatchOptions& options, MatchSink* sink);

  // Each tap's times may run backwards by reordering_ns: departures wait that long, and are then processed in order.
  void arrive(const View& view);
  void depart(const View& view);
  // Advances time to now_ns, for intervals without packets.
  void advance(int64_t now_ns);
  // Settles all departures. Remaining arrivals are neither matched nor lost: the packets may still be in the queue.
  void finish();

  void prefetch(uint64_t digest) const { arrivals_.prefetch(digest); }

  const MatchStatistics& statistics() const { return statistics_; }
  // Returns true if nothing changes before the next packet: no departure waits, and no arrival can expire.
  bool idle() const { return arrivals_.empty() && first_fresh_ == end_fresh_ && first_unsettled_ == end_unsettled_; }
  // Returns true if the matcher has been idle for so long that the taps would have delivered any late packet: the queue
  // is empty.
  bool quiet() const { return idle() && now_ns_ - latest_departure_ns_ >= options_.settle_ns + options_.reordering_ns; }
  uint64_t in_queue() const { return arrivals_.size(); }  // arrivals that have neither left nor expired
  int64_t offset_ns() const { return options_.offset_ns ? *options_.offset_ns : offset_.offset_ns(); }
  uint64_t memory_bytes() const { return arrivals_.memory_bytes() + waiting_.memory_bytes(); }

 private:
  enum class State : uint8_t { kWaiting, kUncertain, kCertain };
  // `repeated` is true if the packet arrived while an equal packet was in the queue.
  struct Arrival {
    int64_t time_ns;
    uint64_t flow_key;
    uint32_t bytes;
    bool repeated;
  };
  struct PendingSide {
    View view;
    int64_t arrival_ns = 0;
    State state = State::kWaiting;
  };

  View& fresh(uint64_t number) { return fresh_[number & mask_]; }
  PendingSide& unsettled(uint64_t number) { return unsettled_[number & mask_]; }
  void release(int64_t until_ns);
  void release_old();
  void follow(const View& view);
  void match(uint64_t number, int64_t arrival_ns, bool is_repeated);
  void settle(bool all);
  bool may_settle(const PendingSide& departure, bool all);
  std::optional<int64_t> next_certain_arrival();
  void emit(const PendingSide& departure);
  void expire_arrivals();
  void discard_older(int64_t late_ns);
  void discard_first();

  MatchOptions options_;
  MatchSink* sink_;
  DigestQueue<Arrival> arrivals_;
  DigestQueue<uint64_t> waiting_;  // numbers of departures still without an arrival
  uint64_t mask_;                  // the size of both rings minus 1
  std::vector<View> fresh_;        // a ring of departures, by time
  uint64_t first_fresh_ = 0, end_fresh_ = 0;
  std::vector<PendingSide> unsettled_;  // a ring, in order of departure
  uint64_t first_unsettled_ = 0, end_unsettled_ = 0;
  uint64_t next_certain_ = 0;  // no unsettled departure before this number is certain
  TapOffset offset_;
  int64_t anchor_ns_ = INT64_MIN / 4;  // latest arrival of a certain packet that has left
  int64_t now_ns_ = INT64_MIN / 4;
  int64_t latest_departure_ns_ = INT64_MIN / 4;
  int64_t released_ns_ = INT64_MIN / 4;
  MatchStatistics statistics_;
};

}  // namespace tapline::queues
