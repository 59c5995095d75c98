// Packets from one source into rings of rows, a ring for each writer: decoded, sampled by flow, filtered, and sprayed
// in batches over the rings that have room. One thread's, but for Change() and the counters.
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

#include "packet_io/source/packet_source.h"
#include "multilog/expr/expression.h"
#include "multilog/headers/header_row.h"
#include "multilog/headers/row_ring.h"
#include "parsers/api/flow_hash.h"

namespace tapline::multilog {

// Confluo's setup_packet_capture (Table 1).
struct CaptureSettings {
  // Of flows, 0 < rate <= 1.
  double sampling_rate = 1;
  // Which rows are kept, in the language of MultiLog; empty: all.
  std::string filter;
  bool operator==(const CaptureSettings&) const = default;
};

struct CaptureOptions {
  HashKey hash_key = {};
  double sampling_rate = 1;
  std::string filter = {};

  CaptureSettings settings() const { return {sampling_rate, filter}; }
};

// Written by the capturing thread, read by any, also of another process (header_feed.h).
struct CaptureCounters {
  std::atomic<uint64_t> packets{0}, rows{0};
  std::atomic<uint64_t> unsampled{0}, filtered{0};
  // No writer had room.
  std::atomic<uint64_t> ring_full{0};
  std::array<std::atomic<uint64_t>, kDecodeOutcomes> undecoded{};
  // What the source itself lost, by packet_io/accounting's reasons.
  std::array<std::atomic<uint64_t>, kOwnDrops> lost{};
  std::atomic<uint64_t> unsupported_link{0};
  // No node was there to take headers.
  std::atomic<uint64_t> node_absent{0};

  // By the names that results carry everywhere; without zeros.
  std::map<std::string, uint64_t> Dropped() const;
};

class HeaderCapture {
 public:
  // kInvalid for a filter that makes no sense. All outlive it. Counts in `counters`, which go on where they are, or in
  // its own.
  static Result<std::unique_ptr<HeaderCapture>> Make(const CaptureOptions& options, const HeaderLayout* layout,
                                                     std::vector<RowRing*> rings, CaptureCounters* counters = nullptr);
  ~HeaderCapture();

  // Any thread: what is kept from the next burst on. kInvalid for a filter that makes no sense.
  Status Change(const CaptureSettings& settings);

  // Until the source ends or `stop` is set. Closes the rings. REQUIRES: the source is started.
  void Run(PacketSource* source, const std::atomic<bool>* stop);
  // What Run() does, for who polls the source himself: the packets of a burst, what waits when there were none, what
  // the source lost since, packets that went by before.
  void Take(std::span<const RawPacket> burst);
  void Flush();
  void Lose(const PacketSource::Losses& more);
  void MissedBefore(uint64_t packets);
  // Where packets wait, as in files: rather than to lose one, until a writer has room, or all have stood still for a
  // second; then again when one has moved.
  void WaitForRoom(bool wait) { wait_ = wait; }

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

  void TakeOne(const RawPacket& raw);
  uint8_t* NextRow();
  uint8_t* AwaitRow();
  void ReadLosses(PacketSource* source);

  const HeaderLayout* layout_;
  std::vector<RowRing*> rings_;
  FlowHasher hasher_;
  std::unique_ptr<Kept> kept_;
  std::atomic<Kept*> next_{nullptr};  // to be kept from the next burst on
  CaptureCounters own_counters_;
  CaptureCounters* counters_;
  PacketSource::Losses losses_;  // as far as they are counted
  size_t ring_ = 0;              // being filled
  uint8_t* batch_ = nullptr;     // its rows; null between batches
  uint32_t rows_ = 0;
  bool wait_ = false;
  bool stood_still_ = false;
};

}  // namespace tapline::multilog
