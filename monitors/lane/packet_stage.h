// The part of a lane that receives the packets that queries want, and parses them on the lane's thread (ParserStage) or
// passes them to other threads (DispatchStage).
#pragma once

#include <cstdint>
#include <span>

#include "monitors/output/tuple_output.h"
#include "packet_io/base/status.h"
#include "parsers/api/packet.h"
#include "parsers/engine/engine.h"

namespace tapline {

// Must be called on the lane's thread only.
class PacketStage {
 public:
  virtual ~PacketStage() = default;

  // Announces that packets of this query may follow.
  virtual void add_query(uint32_t query) = 0;
  // Consumes packets that need no decoding, as Engine::absorb() does; process() receives the rest. Consumes none by
  // default.
  virtual Engine::AbsorbResult absorb(std::span<const RawPacket> /*burst*/, uint64_t /*unconditional*/,
                                      uint64_t /*endpoints*/, int64_t /*end_ns*/) {
    return {};
  }
  // Takes decoded packets in capture order; each has queries != 0. The packets' bytes are invalid after the call.
  virtual void process(std::span<Packet> packets) = 0;
  // Returns true if a parser asks for repeated views; process() then receives them.
  virtual bool wants_all_views() const { return false; }
  // Returns true if a parser asks for fragments; process() then receives them.
  virtual bool wants_fragments() const { return false; }
  // Returns true if a parser asks for losses. Then lose() must report them before the packets or times that end an
  // interval, each millisecond of packet time.
  virtual bool wants_losses() const { return false; }
  virtual void lose(const LostPackets& /*lost*/) {}
  // Advances packet time to `now_ns`.
  virtual void advance(int64_t now_ns) = 0;
  // Ends these queries, for which no more packets follow. continue_end() ends their streams: each call returns after a
  // short time, with true once everything is sent. REQUIRES: continue_end() has returned true for all queries that
  // ended earlier.
  virtual void begin_end(uint64_t queries) = 0;
  virtual bool continue_end() = 0;
  // Returns the ended queries among `queries` that have no data left in the stage, so that their slots may be reused.
  virtual uint64_t done(uint64_t queries) const = 0;
  // Returns the backlog of the output, or the largest backlog of several outputs.
  virtual OutputStats backlog() const { return {}; }
  // Samples the query's packets at this rate from now on. REQUIRES: advance() was called for the end of a second, and
  // no packet has arrived since, so that the parsers have emitted that second's counts.
  virtual void set_sampling_rate(uint32_t, double) {}
  // Does the same as TupleOutput::set_watched_since().
  virtual void set_watched_since(uint32_t, int64_t) {}
  // Announces that no more packets will arrive, so waiting for room is harmless.
  virtual void capture_over() {}
  // Returns true if parsers have work that tick() continues, so the lane should not sleep.
  virtual bool has_work() const { return false; }
  // Must be called often, with the current monotonic time.
  virtual void tick(int64_t monotonic_ns) = 0;
  // Waits for a bounded time until everything is sent. REQUIRES: all queries have ended.
  virtual Status finish() = 0;
  // Returns an error once output is no longer possible.
  virtual Status status() const = 0;
};

}  // namespace tapline
