// What a lane does with the packets that queries want: parses them on the spot (ParserStage), or hands them to other
// threads.
#pragma once

#include <cstdint>
#include <span>

#include "packet_io/base/status.h"
#include "monitors/output/tuple_output.h"
#include "parsers/api/packet.h"
#include "parsers/engine/engine.h"

namespace tapline {

// Called on the lane's thread only.
class PacketStage {
 public:
  virtual ~PacketStage() = default;

  // From now on packets of this query come.
  virtual void AddQuery(uint32_t query) = 0;
  // Deals with packets that need not be decoded, as Engine::absorb() does; Process() gets those left. None by default.
  virtual Engine::Absorbed Absorb(std::span<const RawPacket> /*burst*/, uint64_t /*unconditional*/,
                                  uint64_t /*endpoints*/, int64_t /*end_ns*/) {
    return {};
  }
  // Decoded packets in the order of capture, each with queries != 0. Their bytes are gone after the call.
  virtual void Process(std::span<Packet> packets) = 0;
  // Packet time is at least this.
  virtual void Advance(int64_t now_ns) = 0;
  // These queries end now: no packet of theirs comes. Their ends are sent by ContinueEnd(), which works for a moment at
  // most and returns whether all is sent. REQUIRES: an earlier end is all sent.
  virtual void BeginEnd(uint64_t queries) = 0;
  virtual bool ContinueEnd() = 0;
  // Of the queries that have ended, those of which nothing is left: their places may be used again.
  virtual uint64_t Done(uint64_t queries) const = 0;
  // How far behind the way out of the tuples is, the worst where there are several.
  virtual OutputStats backlog() const { return {}; }
  // The query's packets are sampled at this rate from now on. REQUIRES: Advance() to the end of a second, and no packet
  // since: what parsers have counted in that second is out.
  virtual void SetSamplingRate(uint32_t, double) {}
  // See TupleOutput.
  virtual void SetWatchedSince(uint32_t, int64_t) {}
  // No packet will ever come again: waiting for room costs nothing any more.
  virtual void CaptureOver() {}
  // To be called often, at `monotonic_ns`.
  virtual void Tick(int64_t monotonic_ns) = 0;
  // After the last end: waits, within a bounded time, until everything is out.
  virtual Status Finish() = 0;
  // Not ok once nothing can be written any more.
  virtual Status status() const = 0;
};

}  // namespace tapline
