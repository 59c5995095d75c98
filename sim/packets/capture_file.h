// A capture of the packets that one host receives, with the switches' telemetry in front of the IP header: the tag of
// docs/reference/in-band-telemetry.md, with each hop's switch ID, ports, latency, queue ID, queue length in packets and
// egress time.
//
// The capture contains only headers: frames are truncated after the TCP header.
#pragma once

#include <ns3/packet.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "sim/packets/telemetry_tag.h"

namespace tapline::packets {

// Simulated time 0: 2026-01-01 00:00:00 UTC.
inline constexpr uint64_t kEpochNs = 1'767'225'600'000'000'000;

class CaptureFile {
 public:
  // Exits if the file can't be written: an experiment is useless without its capture.
  explicit CaptureFile(const std::string& path);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  // REQUIRES: the packet begins with its IPv4 header.
  void write(uint64_t time_ns, ns3::Ptr<const ns3::Packet> packet, const std::vector<HopRecord>& hops);

 private:
  void put(const void* bytes, size_t count);
  std::FILE* file_;
};

}  // namespace tapline::packets
