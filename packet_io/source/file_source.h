// Capture files as a packet source: merged by time, and read at full speed or at the rate at which they were captured.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packet_io/capture/capture_reader.h"
#include "packet_io/source/packet_source.h"
#include "packet_io/source/reorder_buffer.h"

namespace tapline {

// Converts a capture's error to a program's status. REQUIRES: there is an error.
Status status_of(const CaptureError& error);

struct FileSourceOptions {
  // FILE or FILE#INTERFACE. A packet's tap is the index of its path.
  std::vector<std::string> paths;
  // If true, each packet is returned when it is due, as long after the first packet as in the capture.
  bool paced = false;
  // Receives a message about each file that can be read only in part.
  std::function<void(const std::string&)> warn = {};
  // The number of packets to skip, since a process that died has already received them.
  uint64_t skip_packets = 0;
  // For several interfaces of one file: the maximum time by which a packet may be earlier than one before it in the
  // file and still be put in order.
  int64_t merge_bound_ns = 1'000'000;
};

// Keeps the order within a file even if times go back, except that several interfaces of one file are merged within the
// bound. Several files are merged by time; if times are equal, the file named first comes first. start() opens every
// file, so a file that can't be opened is reported before the first packet.
class FileSource final : public PacketSource {
 public:
  explicit FileSource(FileSourceOptions options) : options_(std::move(options)) {}

  Status start() override;
  Burst poll(std::span<RawPacket> packets) override;
  Status status() const override { return status_; }
  Losses read_losses() override;
  Losses read_losses(uint8_t tap) override { return taps_[tap].losses; }
  uint64_t late_packets(uint8_t tap) const override { return taps_[tap].late; }
  bool live() const override { return false; }
  // Returns the packet time reached so far if the source is paced.
  std::optional<int64_t> idle_time_ns() const override;
  std::optional<double> fraction() const override;

 private:
  struct File {
    std::unique_ptr<CaptureReader> reader;
    std::vector<uint8_t> taps;               // by CapturedPacket::selected
    std::unique_ptr<ReorderBuffer> reorder;  // set if the file has several taps
    bool reader_ended = false;
    // Packets read ahead: packets[next] is the file's next one if next < count. Their bytes stay in place until
    // refill().
    std::array<CapturedPacket, kBurstPackets> packets;
    size_t next = 0;
    size_t count = 0;
    bool needs_refill = false;
    bool ended = false;

    bool has_packet() const { return next < count; }
    const CapturedPacket& packet() const { return packets[next]; }
    uint8_t tap() const { return taps[packet().selected]; }
  };
  struct TapCounts {
    Losses losses;
    uint64_t late = 0;
  };

  Status open(const std::string& path, std::vector<std::string> interfaces, std::vector<uint8_t> taps);
  void skip();
  bool advance(File& file);
  bool read_ahead(File& file);
  void read_in_order(File& file);
  void refill();
  size_t take_next(File& file, std::span<RawPacket> packets);
  size_t take_merged(std::span<RawPacket> packets);
  void end_of(File& file);
  File* earliest();
  bool is_due(int64_t time_ns);
  bool all_ended() const;

  FileSourceOptions options_;
  std::vector<File> files_;
  bool refill_pending_ = false;
  int64_t first_packet_ns_ = 0;
  int64_t started_at_ns_ = 0;  // monotonic time of the first packet; 0 before it
  int64_t elapsed_ns_ = 0;     // time since started_at_ns_, as last measured
  std::vector<TapCounts> taps_;
  int64_t latest_ns_ = INT64_MIN;
  Status status_;
};

}  // namespace tapline
