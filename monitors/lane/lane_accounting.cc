// Counts the packets that a lane does not pass to parsers, and publishes its counts.
#include <utility>

#include "monitors/lane/lane.h"
#include "packet_io/base/clock.h"
#include "parsers/api/bits.h"
#include "parsers/api/time.h"

namespace tapline {

void Lane::lose_packets(DecodeOutcome outcome, uint64_t packets, uint64_t bytes) {
  accounting_.undecodable[static_cast<int>(outcome)] += packets;
  // No query wants packets that are not IP. For other undecodable packets, it is unknown which queries wanted them.
  if (outcome == DecodeOutcome::kNotIp) return;
  for (uint32_t query : SetBits(gate_.active())) {
    Accounting& account = (*accounts_)[query];
    account.lose_packets(index_of(outcome), packets);
    account.bytes_in += bytes;
  }
}

void Lane::lose_everywhere(int reason, uint64_t packets) {
  accounting_.received += packets;
  accounting_.lost[reason] += packets;
  for (uint32_t query : SetBits(gate_.active())) {
    (*accounts_)[query].lose_packets(reason, packets);
  }
}

// Counts the packets that arrived, according to the supervisor, while no process captured.
void Lane::count_missed() {
  if (page_ == nullptr || options_.index != 0) return;
  const uint64_t missed_packets = options_.page->missed.exchange(0);
  if (missed_packets > 0) lose_everywhere(index_of(Drop::kMonitorRestarted), missed_packets);
}

void Lane::count_lost_fragments() {
  const FragmentTable::Losses& now = fragments_.losses();
  accounting_.held = fragments_.held_frames();
  if (now.frames == lost_fragments_.frames) return;
  lose_packets(DecodeOutcome::kFragment, now.frames - lost_fragments_.frames, now.bytes - lost_fragments_.bytes);
  lost_fragments_ = now;
}

void Lane::count_losses() {
  const PacketSource::Losses now = count_tap_losses();
  for (int i = 0; i < kOwnDrops; ++i) {
    uint64_t further_drops = now.by_drop[i] - losses_.by_drop[i];
    if (further_drops > 0) lose_everywhere(i, further_drops);
  }
  count_missed();
  uint64_t unsupported = now.unsupported_link - losses_.unsupported_link;
  accounting_.received += unsupported;
  accounting_.undecodable[static_cast<int>(DecodeOutcome::kUnsupportedLink)] += unsupported;
  for (uint32_t query : SetBits(unsupported == 0 ? 0 : gate_.active())) {
    (*accounts_)[query].lose_packets(index_of(DecodeOutcome::kUnsupportedLink), unsupported);
  }
  losses_ = now;
  if (!views_) return;
  const uint64_t forgotten = views_->forgotten_early();
  accounting_.forgotten_views += forgotten - std::exchange(forgotten_views_, forgotten);
}

// Adds new losses to each tap's accounting. Returns the losses of all taps. Packets that a switch or the supervisor
// reports as lost belong to no tap.
PacketSource::Losses Lane::count_tap_losses() {
  PacketSource::Losses all;
  for (uint8_t i = 0; i < taps_.size(); ++i) {
    const TapSeen now = {source_->read_losses(i), source_->late_packets(i)};
    const PacketSource::Losses further_losses = now.losses - taps_seen_[i].losses;
    TapAccounting& tap = taps_[i];
    tap.late += now.late - taps_seen_[i].late;
    for (int drop = 0; drop < kOwnDrops; ++drop) {
      tap.received += further_losses.by_drop[drop];
      tap.lost[drop] += further_losses.by_drop[drop];
    }
    tap.received += further_losses.unsupported_link;
    tap.undecodable[static_cast<int>(DecodeOutcome::kUnsupportedLink)] += further_losses.unsupported_link;
    taps_seen_[i] = now;
    all += now.losses;
  }
  return all;
}

// Returns true if the stage wants losses.
bool Lane::reports_losses() {
  if (stage_->wants_losses()) return true;
  reported_.next_ns = INT64_MIN;
  return false;
}

// Reports the source's losses before packet time reaches `time_ns`, the first time in another millisecond. Windows end
// at whole milliseconds, so each window's losses are reported before it is over. A full queue loses packets now, while
// the packets in the queue arrived earlier.
void Lane::report_losses(int64_t time_ns) {
  const bool is_first = std::exchange(reported_.next_ns, (time_ns / kNsPerMs + 1) * kNsPerMs) == INT64_MIN;
  const int64_t since_ns = std::exchange(reported_.since_ns, source_->live() ? wall_ns() : time_ns);
  const uint64_t lost = source_->read_losses().total();
  const uint64_t further_losses = lost - std::exchange(reported_.packets, lost);
  if (further_losses == 0 || is_first) return;
  stage_->lose({further_losses, since_ns, source_->live() ? wall_ns() : time_ns});
}

void Lane::publish_progress() {
  progress_.packets.store(accounting_.received, std::memory_order_relaxed);
  progress_.bytes.store(accounting_.received_bytes, std::memory_order_relaxed);
  progress_.fraction.store(source_->fraction().value_or(-1), std::memory_order_relaxed);
  published_.update([this](LaneAccounting* copy) { *copy = accounting_; });
  published_taps_.update([this](std::vector<TapAccounting>* copy) { copy->assign(taps_.begin(), taps_.end()); });
  progress_.arrived.update([this](LaneProgress::Arrived* arrived) {
    *arrived = {accounting_.received - accounting_.lost[index_of(Drop::kMirrorLost)],
                accounting_.undecodable[static_cast<int>(DecodeOutcome::kNotIp)], empty_at_ns_};
  });
}

}  // namespace tapline
