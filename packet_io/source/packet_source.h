// Where a lane's packets come from, in bursts: capture files, or a port.
#pragma once

#include <array>
#include <cstdint>
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
    // No packet will ever come again.
    bool ended = false;
  };
  // Packets that the source knows of and can't give, since the start.
  struct Losses {
    std::array<uint64_t, kOwnDrops> by_drop = {};
    // Of link types that are not decoded.
    uint64_t unsupported_link = 0;

    friend Losses operator-(Losses now, const Losses& before) {
      for (int i = 0; i < kOwnDrops; ++i) now.by_drop[i] -= before.by_drop[i];
      now.unsupported_link -= before.unsupported_link;
      return now;
    }
  };

  virtual ~PacketSource() = default;
  // Opens what is to be read.
  virtual Status Start() = 0;
  virtual void Stop() {}

  // Packets in the order of capture, their bytes where they were captured: good until the next Poll(). Never waits for
  // packets; reading a file counts as none.
  virtual Burst Poll(std::span<RawPacket> packets) = 0;

  // What went wrong, once Poll() has said that it ended.
  virtual Status status() const = 0;
  // Reading losses may cost a system call: not for every burst.
  virtual Losses ReadLosses() = 0;

  // Whether Retain() and Release() work: a packet's bytes may then be kept beyond the next Poll(), by any thread.
  virtual bool retains() const { return false; }
  // Each of `times` is to be matched by one Release() of the packet's RawPacket::buffer. On the polling thread.
  virtual void Retain(void* /*buffer*/, uint16_t /*times*/) {}
  // On any thread.
  virtual void Release(std::span<void* const> /*buffers*/) {}

  // True for ports: packet time is wall clock, and waiting loses packets.
  virtual bool live() const = 0;
  // A packet time that all later packets reach, though none may have come: what lets time pass on an idle link. Nothing
  // for files that are read as fast as they can be.
  virtual std::optional<int64_t> IdleTimeNs() const { return std::nullopt; }
  // How much of it has been read, 0 to 1. Nothing where there is no end in sight.
  virtual std::optional<double> Fraction() const { return std::nullopt; }
};

}  // namespace tapline
