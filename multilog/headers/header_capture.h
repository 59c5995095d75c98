// Captures packets from one source into rings of rows, one ring per writer: decodes packets, samples them by flow,
// filters them, and distributes their rows in batches over the rings that have room. Single-threaded, except for
// change() and the counters.
//
//   packets = rows + sum of dropped
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conditions/expr/expression.h"
#include "multilog/base/conditions.h"
#include "multilog/headers/header_row.h"
#include "multilog/headers/row_ring.h"
#include "packet_io/source/packet_source.h"
#include "parsers/api/flow_hash.h"

namespace tapline::multilog {

// The settings of Confluo's setup_packet_capture (Table 1).
struct CaptureSettings {
  // The share of flows, 0 < rate <= 1.
  double sampling_rate = 1;
  // The rows to keep, as a MultiLog filter; if empty, all rows are kept.
  std::string filter;
  bool operator==(const CaptureSettings&) const = default;
};

struct CaptureOptions {
  HashKey hash_key = {};
  double sampling_rate = 1;
  std::string filter = {};

  CaptureSettings settings() const { return {sampling_rate, filter}; }
};

// Written by the capturing thread; any thread may read them, even in another process (header_feed.h).
struct CaptureCounters {
  std::atomic<uint64_t> packets{0}, rows{0};
  std::atomic<uint64_t> unsampled{0}, filtered{0};
  // Number of packets for which no ring had room.
  std::atomic<uint64_t> ring_full{0};
  std::array<std::atomic<uint64_t>, kDecodeOutcomes> undecoded{};
  // Number of packets lost by the source, by drop reason (packet_io/accounting).
  std::array<std::atomic<uint64_t>, kOwnDrops> lost{};
  std::atomic<uint64_t> unsupported_link{0};
  // Number of packets that arrived while there was no node.
  std::atomic<uint64_t> node_absent{0};

  // Returns the nonzero counts of dropped packets, by the reason's name.
  std::map<std::string, uint64_t> dropped() const;
};

class HeaderCapture {
 public:
  // Returns kInvalid for an invalid filter. `layout`, `rings` and `counters` must outlive the capture. Adds to the
  // values in `counters`, or uses its own counters if it is null.
  static Result<std::unique_ptr<HeaderCapture>> make(const CaptureOptions& options, const HeaderLayout* layout,
                                                     std::vector<RowRing*> rings, CaptureCounters* counters = nullptr);
  ~HeaderCapture();

  // Any thread: changes the settings, starting with the next burst. Returns kInvalid for an invalid filter.
  Status change(const CaptureSettings& settings);

  // Runs until the source ends or `stop` is set, then closes the rings. REQUIRES: the source has been started.
  void run(PacketSource* source, const std::atomic<bool>* stop);
  // The steps of run(), for callers that poll the source themselves: take() processes a burst, flush() commits waiting
  // rows when no packets arrive, and lose() counts the source's new losses. missed_before() counts packets that passed
  // before the capture existed.
  void take(std::span<const RawPacket> burst);
  void flush();
  void lose(const PacketSource::Losses& further_losses);
  void missed_before(uint64_t packets);
  // Makes the capture wait for room in a ring instead of dropping a row; run() sets this for sources that are not live.
  // The capture stops waiting once all rings have been full for a second, and waits again once one of them has had
  // room.
  void wait_for_room(bool wait) { wait_ = wait; }

  const CaptureCounters& counters() const { return *counters_; }

 private:
  struct Kept {
    uint64_t threshold;
    std::optional<Expression> filter;
  };
  HeaderCapture(const CaptureOptions& options, const HeaderLayout* layout, std::vector<RowRing*> rings,
                CaptureCounters* counters)
      : layout_(layout),
        rings_(std::move(rings)),
        hasher_(options.hash_key),
        counters_(counters == nullptr ? &own_counters_ : counters) {}

  void take_one(const RawPacket& raw);
  uint8_t* next_row();
  uint8_t* await_row();
  void read_losses(PacketSource* source);

  const HeaderLayout* layout_;
  std::vector<RowRing*> rings_;
  FlowHasher hasher_;
  std::unique_ptr<Kept> kept_;
  std::atomic<Kept*> next_{nullptr};  // replaces kept_ at the next burst
  CaptureCounters own_counters_;
  CaptureCounters* counters_;
  PacketSource::Losses losses_;  // losses that were already counted
  size_t ring_ = 0;              // the ring that is being filled
  uint8_t* batch_ = nullptr;     // rows of the ring's current batch; null between batches
  uint32_t rows_ = 0;
  bool wait_ = false;
  bool stood_still_ = false;
};

}  // namespace tapline::multilog
