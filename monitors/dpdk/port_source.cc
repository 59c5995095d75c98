#include "monitors/dpdk/port_source.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>

#include "monitors/base/clock.h"

namespace tapline {

void PortSource::FreeBurst() {
  if (held_ > 0) rte_pktmbuf_free_bulk(mbufs_.data(), held_);
  held_ = 0;
}

void PortSource::Stop() {
  FreeBurst();
  if (queue_ == 0) port_->Stop();
}

PacketSource::Burst PortSource::Poll(std::span<RawPacket> packets) {
  // A thread that DPDK knows has a cache of buffers of its own.
  if (!thread_registered_) {
    rte_thread_register();
    thread_registered_ = true;
  }
  FreeBurst();
  polled_at_ns_ = WallNs();
  held_ = port_->Receive(queue_, mbufs_.data(), static_cast<uint16_t>(std::min(packets.size(), mbufs_.size())));
  if (held_ == 0) return {};
  int64_t time_ns = WallNs();
  for (uint16_t i = 0; i < held_; ++i) {
    rte_mbuf* mbuf = mbufs_[i];
    rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void*));
    packets[i] = {
        rte_pktmbuf_mtod(mbuf, const uint8_t*), mbuf->data_len, mbuf->pkt_len, time_ns, LinkType::kEthernet, mbuf};
  }
  return {held_, false};
}

// When the last Poll() began: what comes later is stamped later.
std::optional<int64_t> PortSource::IdleTimeNs() const {
  return polled_at_ns_ == 0 ? std::nullopt : std::optional(polled_at_ns_);
}

void PortSource::Retain(void* buffer, uint16_t times) {
  rte_mbuf_refcnt_update(static_cast<rte_mbuf*>(buffer), static_cast<int16_t>(times));
}

void PortSource::Release(std::span<void* const> buffers) {
  for (void* buffer : buffers) rte_pktmbuf_free(static_cast<rte_mbuf*>(buffer));
}

}  // namespace tapline
