// The source from which a lane polls packets in bursts: capture files or a port.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include "packet_io/accounting/accounting.h"
#include "packet_io/base/status.h"
#include "parsers/api/packet.h"

namespace tapline {

inline constexpr size_t kBurstPackets = 64;

class PacketSource {
 public:
  struct Burst {
    size_t packets = 0;
    // True if no more packets will arrive.
    bool ended = false;
  };
  // Counts of packets, since the start, that the source knows of but can't return.
  struct Losses {
    std::array<uint64_t, kOwnDrops> by_drop = {};
    // Packets with link types that are not decoded.
    uint64_t unsupported_link = 0;

    Losses& operator+=(const Losses& other) {
      for (int i = 0; i < kOwnDrops; ++i) by_drop[i] += other.by_drop[i];
      unsupported_link += other.unsupported_link;
      return *this;
    }
    uint64_t total() const { return std::accumulate(by_drop.begin(), by_drop.end(), unsupported_link); }
    friend Losses operator-(Losses now, const Losses& previous_losses) {
      for (int i = 0; i < kOwnDrops; ++i) now.by_drop[i] -= previous_losses.by_drop[i];
      now.unsupported_link -= previous_losses.unsupported_link;
      return now;
    }
  };

  virtual ~PacketSource() = default;
  // Opens the input.
  virtual Status start() = 0;
  virtual void stop() {}

  // Returns packets in capture order. Their bytes stay in the capture buffer and are valid until the next poll(). Never
  // waits for packets to arrive, but may wait for a file to be read.
  virtual Burst poll(std::span<RawPacket> packets) = 0;

  // Returns the error, if any, once poll() has reported the end.
  virtual Status status() const = 0;
  // Returns the losses. May make a system call, so it must not be called for every burst.
  virtual Losses read_losses() = 0;
  // Returns one tap's losses. A source that does not distinguish taps has a single one, number 0.
  virtual Losses read_losses(uint8_t tap) { return tap == 0 ? read_losses() : Losses(); }
  // Returns the number of this tap's packets that were returned after one with a later time, because they arrived too
  // late for the merge bound, or because one of several capture files is not in time order.
  virtual uint64_t late_packets(uint8_t /*tap*/) const { return 0; }

  // Returns true if retain() and release() work: any thread may then keep a packet's bytes beyond the next poll().
  virtual bool retains() const { return false; }
  // Retains a packet's RawPacket::buffer until release() has received it `times` times. Only the polling thread may
  // call this function.
  virtual void retain(void* /*buffer*/, uint16_t /*times*/) {}
  // Releases buffers. May be called by any thread.
  virtual void release(std::span<void* const> /*buffers*/) {}

  // Returns true for ports: packet time is then wall-clock time, and waiting loses packets.
  virtual bool live() const = 0;
  // Returns true if packets have the time at which they were polled, up to about a millisecond after their arrival.
  // Valid once started.
  virtual bool polled_times() const { return false; }
  // Returns a time that no future packet will precede, even if no packet has arrived, so that time advances on an idle
  // link. Returns nullopt for files that are read at full speed.
  virtual std::optional<int64_t> idle_time_ns() const { return std::nullopt; }
  // Returns the fraction of the input that has been read, from 0 to 1, or nullopt if the end of the input is unknown.
  virtual std::optional<double> fraction() const { return std::nullopt; }
};

}  // namespace tapline
