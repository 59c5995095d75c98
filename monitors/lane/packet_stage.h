// The part of a lane that takes the packets that queries want: it parses them on the spot (ParserStage), or hands them
// to other threads.
#pragma once

#include <cstdint>
#include <span>

#include "monitors/output/tuple_output.h"
#include "packet_io/base/status.h"
#include "parsers/api/packet.h"
#include "parsers/engine/engine.h"

namespace tapline {

// Called on the lane's thread only.
class PacketStage {
 public:
  virtual ~PacketStage() = default;

  // Packets of this query follow from now on.
  virtual void add_query(uint32_t query) = 0;
  // Consumes packets that need no decoding, as Engine::absorb() does; process() gets the rest. Consumes none by
  // default.
  virtual Engine::AbsorbResult absorb(std::span<const RawPacket> /*burst*/, uint64_t /*unconditional*/,
                                      uint64_t /*endpoints*/, int64_t /*end_ns*/) {
    return {};
  }
  // Takes decoded packets in capture order, each with queries != 0. Their bytes are invalid after the call.
  virtual void process(std::span<Packet> packets) = 0;
  // Returns true if a parser asks for repeated views; process() then takes them.
  virtual bool wants_all_views() const { return false; }
  // Packet time has reached `now_ns`.
  virtual void advance(int64_t now_ns) = 0;
  // Ends these queries: no more of their packets follow. continue_end() sends the ends; it returns after a short time
  // and says whether everything is sent. REQUIRES: earlier ends are all sent.
  virtual void begin_end(uint64_t queries) = 0;
  virtual bool continue_end() = 0;
  // Returns those of the ended queries that have left nothing behind: their slots may be reused.
  virtual uint64_t done(uint64_t queries) const = 0;
  // The backlog of the output; the worst one if there are several.
  virtual OutputStats backlog() const { return {}; }
  // Samples the query's packets at this rate from now on. REQUIRES: advance() to the end of a second, and no packet
  // since, so that the parsers have emitted what they counted in that second.
  virtual void set_sampling_rate(uint32_t, double) {}
  // As TupleOutput::set_watched_since().
  virtual void set_watched_since(uint32_t, int64_t) {}
  // No further packet will arrive, so waiting for room costs nothing.
  virtual void capture_over() {}
  // Must be called often, with the current time `monotonic_ns`.
  virtual void tick(int64_t monotonic_ns) = 0;
  // Waits, within a bounded time, until everything is sent. Must follow the last end.
  virtual Status finish() = 0;
  // Not ok once output is no longer possible.
  virtual Status status() const = 0;
};

}  // namespace tapline
