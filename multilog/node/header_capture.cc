#include "multilog/node/header_capture.h"

#include <time.h>

#include "monitors/accounting/accounting.h"

namespace tapline::multilog {
namespace {

// An idle link is looked at so often; a row waits at most that long for its batch to fill.
constexpr long kIdleNs = 100'000;
constexpr uint32_t kPollsPerLossReading = 1024;

void Add(std::atomic<uint64_t>& counter, uint64_t count = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

}  // namespace

std::map<std::string, uint64_t> CaptureCounters::Dropped() const {
  std::map<std::string, uint64_t> dropped;
  const auto tell = [&](std::string_view name, const std::atomic<uint64_t>& count) {
    if (const uint64_t value = count.load(std::memory_order_relaxed); value > 0) dropped[std::string(name)] += value;
  };
  tell(reason_info(IndexOf(Drop::kUnsampled)).name, unsampled);
  tell("filtered", filtered);
  tell("ring_full", ring_full);
  tell(drop_reason(DecodeOutcome::kUnsupportedLink), unsupported_link);
  for (int i = 0; i < kDecodeOutcomes; ++i) tell(drop_reason(static_cast<DecodeOutcome>(i)), undecoded[i]);
  for (int i = 0; i < kOwnDrops; ++i) tell(reason_info(i).name, lost[i]);
  return dropped;
}

Result<std::unique_ptr<HeaderCapture>> HeaderCapture::Make(const CaptureOptions& options, const HeaderLayout* layout,
                                                           std::vector<RowRing*> rings) {
  auto capture = std::unique_ptr<HeaderCapture>(new HeaderCapture(options, layout, std::move(rings)));
  if (options.filter.empty()) return capture;
  auto filter = Expression::Compile(options.filter, layout->schema());
  if (!filter.ok()) return filter.status();
  capture->filter_ = std::move(*filter);
  return capture;
}

void HeaderCapture::Run(PacketSource* source, const std::atomic<bool>* stop) {
  std::array<RawPacket, kBurstPackets> burst;
  for (uint32_t polls = 0; !stop->load(std::memory_order_relaxed); ++polls) {
    const PacketSource::Burst got = source->Poll(burst);
    for (size_t i = 0; i < got.packets; ++i) Take(burst[i]);
    if (polls % kPollsPerLossReading == 0 || got.ended) ReadLosses(source);
    if (got.ended) break;
    if (got.packets > 0) continue;
    Flush();
    const timespec pause = {0, kIdleNs};
    nanosleep(&pause, nullptr);
  }
  Flush();
  ReadLosses(source);
  for (RowRing* ring : rings_) ring->Close();
}

void HeaderCapture::Take(const RawPacket& raw) {
  Add(counters_.packets);
  Packet packet;
  const DecodeOutcome outcome = decode(raw, hasher_, &packet);
  // A fragment is a packet with a header, too; which flow it is of, its first one tells.
  if (outcome != DecodeOutcome::kOk && outcome != DecodeOutcome::kFragment)
    return Add(counters_.undecoded[static_cast<size_t>(outcome)]);
  if (outcome == DecodeOutcome::kFragment) packet.flow_hash = hash_flow(hasher_, packet);
  if (!sampled(packet.flow_hash, threshold_)) return Add(counters_.unsampled);
  uint8_t* row = NextRow();
  if (row == nullptr) return Add(counters_.ring_full);
  layout_->Write(raw, packet, row);
  if (filter_ && !filter_->Matches(row, layout_->schema())) return Add(counters_.filtered);
  Add(counters_.rows);
  if (++rows_ == rings_[ring_]->shape().batch_rows) Flush();
}

// In place where the writer will read it. Rings take turns, but one whose writer is behind is passed over.
uint8_t* HeaderCapture::NextRow() {
  for (size_t tried = 0; batch_ == nullptr && tried < rings_.size(); ++tried) {
    batch_ = rings_[ring_]->Reserve();
    if (batch_ == nullptr) ring_ = (ring_ + 1) % rings_.size();
  }
  return batch_ == nullptr ? nullptr : batch_ + size_t{rows_} * layout_->row_bytes();
}

void HeaderCapture::Flush() {
  if (rows_ > 0) {
    rings_[ring_]->Commit(rows_);
    ring_ = (ring_ + 1) % rings_.size();
  }
  batch_ = nullptr;
  rows_ = 0;
}

// Packets that nobody could take are packets, too.
void HeaderCapture::ReadLosses(PacketSource* source) {
  const PacketSource::Losses losses = source->ReadLosses();
  const auto set = [this](std::atomic<uint64_t>& counter, uint64_t now) {
    Add(counters_.packets, now - counter.load(std::memory_order_relaxed));
    counter.store(now, std::memory_order_relaxed);
  };
  for (int i = 0; i < kOwnDrops; ++i) set(counters_.lost[i], losses.by_drop[i]);
  set(counters_.unsupported_link, losses.unsupported_link);
}

}  // namespace tapline::multilog
