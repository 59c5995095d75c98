// Packets from one source into rings of rows, a ring for each writer: decoded, sampled by flow, filtered, and sprayed
// in batches over the rings that have room. One thread's.
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

#include "monitors/source/packet_source.h"
#include "multilog/expr/expression.h"
#include "multilog/node/header_row.h"
#include "multilog/node/row_ring.h"
#include "parsers/api/flow_hash.h"

namespace tapline::multilog {

struct CaptureOptions {
  HashKey hash_key;
  // Of flows, 0 < rate <= 1.
  double sampling_rate = 1;
  // Which rows are kept, in the language of MultiLog; empty: all.
  std::string filter;
};

// Written by the capturing thread, read by any.
struct CaptureCounters {
  std::atomic<uint64_t> packets{0}, rows{0};
  std::atomic<uint64_t> unsampled{0}, filtered{0};
  // No writer had room.
  std::atomic<uint64_t> ring_full{0};
  std::array<std::atomic<uint64_t>, kDecodeOutcomes> undecoded{};
  // What the source itself lost, by monitors/accounting's reasons.
  std::array<std::atomic<uint64_t>, kOwnDrops> lost{};
  std::atomic<uint64_t> unsupported_link{0};

  // By the names that results carry everywhere; without zeros.
  std::map<std::string, uint64_t> Dropped() const;
};

class HeaderCapture {
 public:
  // kInvalid for a filter that makes no sense. All outlive it.
  static Result<std::unique_ptr<HeaderCapture>> Make(const CaptureOptions& options, const HeaderLayout* layout,
                                                     std::vector<RowRing*> rings);

  // Until the source ends or `stop` is set. Closes the rings. REQUIRES: the source is started.
  void Run(PacketSource* source, const std::atomic<bool>* stop);
  const CaptureCounters& counters() const { return counters_; }

 private:
  HeaderCapture(const CaptureOptions& options, const HeaderLayout* layout, std::vector<RowRing*> rings)
      : layout_(layout),
        rings_(std::move(rings)),
        hasher_(options.hash_key),
        threshold_(sampling_threshold(options.sampling_rate)) {}

  void Take(const RawPacket& raw);
  uint8_t* NextRow();
  void Flush();
  void ReadLosses(PacketSource* source);

  const HeaderLayout* layout_;
  std::vector<RowRing*> rings_;
  FlowHasher hasher_;
  uint64_t threshold_;
  std::optional<Expression> filter_;
  CaptureCounters counters_;
  size_t ring_ = 0;           // being filled
  uint8_t* batch_ = nullptr;  // its rows; null between batches
  uint32_t rows_ = 0;
};

}  // namespace tapline::multilog
