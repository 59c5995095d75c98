#include "packet_io/dpdk/port_source.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>

#include "packet_io/base/clock.h"
#include "packet_io/source/merged_source.h"

namespace tapline {
namespace {

constexpr int64_t kLongestRaceNs = 100'000'000;

}  // namespace

void PortSource::begin() {
  // Gives the thread its own buffer cache, unless another port that it reads has already done so.
  if (rte_lcore_id() == LCORE_ID_ANY) rte_thread_register();
  times_ = port_->times(queue_);
  begun_ = true;
}

void PortSource::free_burst() {
  if (mbuf_count_ > 0) rte_pktmbuf_free_bulk(mbufs_.data(), mbuf_count_);
  mbuf_count_ = 0;
}

void PortSource::stop() {
  free_burst();
  if (queue_ == 0) port_->stop();
}

PacketSource::Burst PortSource::poll(std::span<RawPacket> packets) {
  if (!begun_) begin();
  free_burst();
  polled_at_ns_ = wall_ns();
  const auto room = static_cast<uint16_t>(std::min(packets.size(), mbufs_.size()));
  if (times_) times_->look(room);
  mbuf_count_ = port_->receive(queue_, mbufs_.data(), room);
  if (mbuf_count_ == 0) {
    sent_time_ns_ = std::max(sent_time_ns_, polled_at_ns_ - bound_ns_);
    return {};
  }
  const int64_t now_ns = wall_ns();
  for (uint16_t i = 0; i < mbuf_count_; ++i) {
    rte_mbuf* mbuf = mbufs_[i];
    const std::optional<int64_t> arrived_ns = times_ ? times_->of(i, mbuf->pkt_len) : std::nullopt;
    const int64_t time_ns = no_earlier(arrived_ns.value_or(now_ns));
    rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void*));
    packets[i] = {.data = rte_pktmbuf_mtod(mbuf, const uint8_t*),
                  .captured_bytes = mbuf->data_len,
                  .wire_bytes = mbuf->pkt_len,
                  .time_ns = time_ns,
                  .polled_time = !arrived_ns,
                  .buffer = mbuf};
  }
  if (times_) times_->took(mbuf_count_);
  return {mbuf_count_, false};
}

// Returns the packet's arrival time or, if a later time has already been reported, that time: the kernel timestamps a
// packet before it makes the packet visible, and a later packet or an idle time may have been reported in between. If
// the difference is 100 ms or more, the clock was set back, so returns the arrival time.
int64_t PortSource::no_earlier(int64_t arrival_ns) {
  if (arrival_ns < sent_time_ns_ && sent_time_ns_ - arrival_ns < kLongestRaceNs) {
    ++late_;
    return sent_time_ns_;
  }
  return sent_time_ns_ = arrival_ns;
}

// Returns a time that no later packet will precede if it is polled at most bound_ns after its own time.
std::optional<int64_t> PortSource::idle_time_ns() const {
  return polled_at_ns_ == 0 ? std::nullopt : std::optional(polled_at_ns_ - bound_ns_);
}

void PortSource::retain(void* buffer, uint16_t times) {
  rte_mbuf_refcnt_update(static_cast<rte_mbuf*>(buffer), static_cast<int16_t>(times));
}

void PortSource::release(std::span<void* const> buffers) {
  for (void* buffer : buffers) rte_pktmbuf_free(static_cast<rte_mbuf*>(buffer));
}

std::unique_ptr<PacketSource> merge_interfaces(PortOptions options, const std::vector<std::string>& interfaces,
                                               int64_t bound_ns) {
  std::vector<std::unique_ptr<PacketSource>> sources;
  options.ports = static_cast<uint16_t>(interfaces.size());
  for (options.number = 0; options.number < options.ports; ++options.number) {
    options.interface = interfaces[options.number];
    sources.push_back(std::make_unique<PortSource>(std::make_shared<Port>(options), uint16_t{0}, bound_ns));
  }
  return std::make_unique<MergedSource>(std::move(sources));
}

}  // namespace tapline
