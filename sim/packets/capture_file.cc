#include "sim/packets/capture_file.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace tapline::packets {
namespace {

constexpr uint32_t kMaxHeaderBytes = 120;
constexpr uint16_t kTelemetryType = 0x88b5, kIpV4Type = 0x0800;
constexpr uint32_t kHopBytes = 24;

class Bytes {
 public:
  void Add8(uint32_t value) { bytes_.push_back(static_cast<uint8_t>(value)); }
  void Add16(uint32_t value) { Add8(value >> 8), Add8(value); }
  void Add32(uint32_t value) { Add16(value >> 16), Add16(value); }
  void Add64(uint64_t value) { Add32(static_cast<uint32_t>(value >> 32)), Add32(static_cast<uint32_t>(value)); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

void add_ethernet(Bytes* frame, uint16_t type) {
  for (const uint32_t address : {1u, 2u}) frame->Add16(0x0200), frame->Add32(address);
  frame->Add16(type);
}

// Adds an INT-MD header of version 2. The last switch's words come first.
void add_telemetry(Bytes* frame, const std::vector<HopRecord>& hops) {
  constexpr uint32_t kIntMd = 1, kVersion = 2, kHeaderBytes = 12;
  constexpr uint32_t kSwitchId = 0x8000, kPorts = 0x4000, kLatency = 0x2000, kQueue = 0x1000, kLeft = 0x0400;
  frame->Add8(kIntMd << 4);
  frame->Add8((kHeaderBytes + kHopBytes * static_cast<uint32_t>(hops.size())) / 4);
  frame->Add16(kIpV4Type);
  frame->Add8(kVersion << 4);
  frame->Add8(0);
  frame->Add8(kHopBytes / 4);
  frame->Add8(8 - static_cast<uint32_t>(hops.size()));  // number of further hops that may write
  frame->Add16(kSwitchId | kPorts | kLatency | kQueue | kLeft);
  for (int i = 0; i < 3; ++i) frame->Add16(0);
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    frame->Add32(hop->switch_id);
    frame->Add16(hop->ingress_port), frame->Add16(hop->egress_port);
    frame->Add32(static_cast<uint32_t>(hop->left_ns - hop->entered_ns));
    frame->Add32(uint32_t{hop->queue_id} << 24 | hop->queue_packets);
    frame->Add64(kEpochNs + hop->left_ns);
  }
}

}  // namespace

CaptureFile::CaptureFile(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
  if (file_ == nullptr) std::perror(path.c_str()), std::exit(1);
  const uint32_t header[6] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, 65535, 1};
  put(header, sizeof header);
}

CaptureFile::~CaptureFile() {
  if (std::fclose(file_) != 0) std::perror("capture"), std::exit(1);
}

void CaptureFile::put(const void* bytes, size_t count) {
  if (std::fwrite(bytes, 1, count, file_) != count) std::perror("capture"), std::exit(1);
}

void CaptureFile::write(uint64_t time_ns, ns3::Ptr<const ns3::Packet> packet, const std::vector<HopRecord>& hops) {
  Bytes frame;
  add_ethernet(&frame, hops.empty() ? kIpV4Type : kTelemetryType);
  if (!hops.empty()) add_telemetry(&frame, hops);
  uint8_t ip[kMaxHeaderBytes];
  uint32_t ip_bytes = packet->CopyData(ip, sizeof ip);
  // Keeps the packet up to the end of the TCP header.
  ip_bytes = std::min<uint32_t>(ip_bytes, 20 + (ip[20 + 12] >> 4) * 4);
  const auto before = static_cast<uint32_t>(frame.bytes().size());
  const uint64_t epoch_ns = kEpochNs + time_ns;
  const uint32_t record[4] = {static_cast<uint32_t>(epoch_ns / 1'000'000'000),
                              static_cast<uint32_t>(epoch_ns % 1'000'000'000), before + ip_bytes,
                              before + packet->GetSize()};
  put(record, sizeof record);
  put(frame.bytes().data(), before);
  put(ip, ip_bytes);
}

}  // namespace tapline::packets
