#include "multilog/headers/header_capture.h"

#include "packet_io/accounting/accounting.h"
#include "packet_io/base/clock.h"
#include "packet_io/source/pacer.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kPollsPerLossReading = 1024;
constexpr long kWaitNs = 100'000;
constexpr int kLongestWait = 10'000;  // maximum number of waits of kWaitNs

void add(std::atomic<uint64_t>& counter, uint64_t count = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

}  // namespace

std::map<std::string, uint64_t> CaptureCounters::dropped() const {
  std::map<std::string, uint64_t> dropped;
  const auto report = [&](std::string_view name, const std::atomic<uint64_t>& count) {
    if (const uint64_t value = count.load(std::memory_order_relaxed); value > 0) dropped[std::string(name)] += value;
  };
  report(reason_info(index_of(Drop::kUnsampled)).name, unsampled);
  report("filtered", filtered);
  report("ring_full", ring_full);
  report("node_absent", node_absent);
  report(drop_reason(DecodeOutcome::kUnsupportedLink), unsupported_link);
  for (int i = 0; i < kDecodeOutcomes; ++i) report(drop_reason(static_cast<DecodeOutcome>(i)), undecoded[i]);
  for (int i = 0; i < kOwnDrops; ++i) report(reason_info(i).name, lost[i]);
  return dropped;
}

Result<std::unique_ptr<HeaderCapture>> HeaderCapture::make(const CaptureOptions& options, const HeaderLayout* layout,
                                                           std::vector<RowRing*> rings, CaptureCounters* counters) {
  auto capture = std::unique_ptr<HeaderCapture>(new HeaderCapture(options, layout, std::move(rings), counters));
  if (Status status = capture->change(options.settings()); !status.ok()) return status;
  capture->kept_.reset(capture->next_.exchange(nullptr));
  return capture;
}

HeaderCapture::~HeaderCapture() { delete next_.load(); }

Status HeaderCapture::change(const CaptureSettings& settings) {
  auto kept = std::make_unique<Kept>(Kept{sampling_threshold(settings.sampling_rate), std::nullopt});
  if (!settings.filter.empty()) {
    auto filter = Expression::compile(settings.filter, layout_->schema());
    if (!filter.ok()) return filter.status();
    kept->filter = std::move(*filter);
  }
  delete next_.exchange(kept.release());
  return {};
}

void HeaderCapture::run(PacketSource* source, const std::atomic<bool>* stop) {
  std::array<RawPacket, kBurstPackets> burst;
  Pacer pacer(false);
  wait_ = !source->live();
  for (uint32_t polls = 0; !stop->load(std::memory_order_relaxed); ++polls) {
    const PacketSource::Burst got = source->poll(burst);
    take({burst.data(), got.packets});
    if (polls % kPollsPerLossReading == 0 || got.ended) read_losses(source);
    if (got.ended) break;
    const int64_t pause_ns = pacer.after_poll(got.packets, monotonic_ns());
    if (got.packets > 0) continue;
    // An incomplete batch waits for more rows only while packets arrive.
    flush();
    sleep_for(pause_ns);
  }
  flush();
  read_losses(source);
  for (RowRing* ring : rings_) ring->close();
}

void HeaderCapture::take(std::span<const RawPacket> burst) {
  if (next_.load(std::memory_order_relaxed) != nullptr) kept_.reset(next_.exchange(nullptr));
  for (const RawPacket& raw : burst) take_one(raw);
}

void HeaderCapture::take_one(const RawPacket& raw) {
  add(counters_->packets);
  Packet packet;
  const DecodeOutcome outcome = decode(raw, hasher_, &packet);
  // A fragment has an IP header, too, so it becomes a row, with ports 0.
  if (outcome != DecodeOutcome::kOk && outcome != DecodeOutcome::kFragment)
    return add(counters_->undecoded[static_cast<size_t>(outcome)]);
  if (outcome == DecodeOutcome::kFragment) packet.flow_hash = hash_flow(hasher_, packet);
  if (!sampled(packet.flow_hash, kept_->threshold)) return add(counters_->unsampled);
  uint8_t* row = next_row();
  if (row == nullptr && wait_) row = await_row();
  if (row == nullptr) return add(counters_->ring_full);
  layout_->write(raw, packet, row);
  if (kept_->filter && !kept_->filter->matches(row, layout_->schema())) return add(counters_->filtered);
  add(counters_->rows);
  if (++rows_ == rings_[ring_]->shape().batch_rows) flush();
}

// Returns the memory for the next row, in the current batch of a ring. Batches go to the rings in turn; a ring that is
// full because its writer is behind is skipped.
uint8_t* HeaderCapture::next_row() {
  for (size_t tried = 0; batch_ == nullptr && tried < rings_.size(); ++tried) {
    batch_ = rings_[ring_]->reserve();
    if (batch_ == nullptr) ring_ = (ring_ + 1) % rings_.size();
  }
  if (batch_ != nullptr) stood_still_ = false;
  return batch_ == nullptr ? nullptr : batch_ + size_t{rows_} * layout_->row_bytes();
}

uint8_t* HeaderCapture::await_row() {
  for (int waited = 0; waited < kLongestWait && !stood_still_; ++waited) {
    sleep_for(kWaitNs);
    if (uint8_t* row = next_row(); row != nullptr) return row;
  }
  stood_still_ = true;
  return nullptr;
}

void HeaderCapture::flush() {
  if (rows_ > 0) {
    rings_[ring_]->commit(rows_);
    ring_ = (ring_ + 1) % rings_.size();
  }
  batch_ = nullptr;
  rows_ = 0;
}

void HeaderCapture::read_losses(PacketSource* source) {
  const PacketSource::Losses now = source->read_losses();
  lose(now - losses_);
  losses_ = now;
}

// Counts losses. Lost packets also count as packets.
void HeaderCapture::lose(const PacketSource::Losses& further_losses) {
  for (int i = 0; i < kOwnDrops; ++i) {
    add(counters_->packets, further_losses.by_drop[i]);
    add(counters_->lost[i], further_losses.by_drop[i]);
  }
  add(counters_->packets, further_losses.unsupported_link);
  add(counters_->unsupported_link, further_losses.unsupported_link);
}

void HeaderCapture::missed_before(uint64_t packets) {
  add(counters_->packets, packets);
  add(counters_->node_absent, packets);
}

}  // namespace tapline::multilog
