#include "monitors/dpdk/port_source.h"

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>

#include "monitors/base/clock.h"
#include "monitors/dpdk/eal.h"
#include "monitors/dpdk/interface.h"
#include "monitors/dpdk/kernel_drops.h"

namespace tapline {
namespace {

constexpr uint16_t kReceiveDescriptors = 1024;
constexpr unsigned kOrdinaryDataBytes = 2048;
constexpr unsigned kMbufOverheadBytes = 256;
constexpr unsigned kMostMbufs = 262143;
constexpr unsigned kFewestMbufs = 255;

bool IsAfPacket(const std::string& vdev) { return vdev.starts_with("net_af_packet"); }

std::string Because() {
  std::string log = LastEalLog();
  return log.empty() ? "" : "; DPDK says: " + log;
}

}  // namespace

class PortSource::Port {
 public:
  ~Port() { Stop(); }

  // Buffers for packets of `data_bytes`, out of half of the memory that DPDK may take.
  Status CreatePool(unsigned data_bytes, uint32_t memory_mib) {
    size_t fitting = (size_t{memory_mib} << 19) / (data_bytes + kMbufOverheadBytes);
    auto mbufs = static_cast<unsigned>(std::clamp<size_t>(fitting, kFewestMbufs, kMostMbufs));
    unsigned cache = std::min(mbufs / 4, 256u);
    pool_ = rte_pktmbuf_pool_create("packets", mbufs, cache, 0, static_cast<uint16_t>(data_bytes), SOCKET_ID_ANY);
    if (pool_ != nullptr) return {};
    return Status::Resources("not enough memory for " + std::to_string(mbufs) + " packet buffers; raise --memory-mib" +
                             Because());
  }

  Status Open() {
    port_ = static_cast<uint16_t>(rte_eth_find_next(0));
    if (port_ >= RTE_MAX_ETHPORTS) return Status::Resources("DPDK found no port" + Because());
    rte_eth_conf conf = {};
    uint16_t descriptors = kReceiveDescriptors, send_descriptors = 0;
    if (rte_eth_dev_configure(port_, 1, 0, &conf) != 0 && rte_eth_dev_configure(port_, 1, 1, &conf) != 0) {
      return Failed("can't be configured");
    }
    rte_eth_dev_adjust_nb_rx_tx_desc(port_, &descriptors, &send_descriptors);
    if (rte_eth_rx_queue_setup(port_, 0, descriptors, SOCKET_ID_ANY, nullptr, pool_) != 0) {
      return Failed("can't set up its receive queue");
    }
    if (rte_eth_dev_start(port_) != 0) return Failed("can't be started");
    started_ = true;
    return {};
  }

  // Returns whether the port now takes packets for others, too.
  bool Promiscuous() { return rte_eth_promiscuous_enable(port_) == 0; }

  void Stop() {
    FreeBurst();
    if (!started_) return;
    started_ = false;
    rte_eth_dev_stop(port_);
  }

  size_t Poll(std::span<RawPacket> packets) {
    FreeBurst();
    polled_at_ns_ = WallNs();
    auto room = static_cast<uint16_t>(std::min(packets.size(), mbufs_.size()));
    held_ = rte_eth_rx_burst(port_, 0, mbufs_.data(), room);
    if (held_ == 0) return 0;
    int64_t time_ns = WallNs();
    for (uint16_t i = 0; i < held_; ++i) {
      const rte_mbuf* mbuf = mbufs_[i];
      rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void*));
      packets[i] = {rte_pktmbuf_mtod(mbuf, const uint8_t*), mbuf->data_len, mbuf->pkt_len, time_ns,
                    LinkType::kEthernet};
    }
    return held_;
  }

  Losses ReadLosses(bool af_packet) {
    Losses losses;
    rte_eth_stats stats = {};
    rte_eth_stats_get(port_, &stats);
    losses.by_drop[IndexOf(Drop::kNicMissed)] = stats.imissed;
    // net_af_packet leaves a packet that it has no buffer for where it is, and counts each look at it.
    losses.by_drop[IndexOf(Drop::kNicNoBuffer)] = af_packet ? 0 : stats.rx_nombuf;
    losses.by_drop[IndexOf(Drop::kKernelMissed)] = kernel_drops_.Read();
    return losses;
  }

  void FindSockets() { kernel_drops_.FindSockets(); }
  int64_t polled_at_ns() const { return polled_at_ns_; }

 private:
  void FreeBurst() {
    if (held_ > 0) rte_pktmbuf_free_bulk(mbufs_.data(), held_);
    held_ = 0;
  }

  static Status Failed(const std::string& what) { return Status::Resources("the DPDK port " + what + Because()); }

  rte_mempool* pool_ = nullptr;
  uint16_t port_ = 0;
  bool started_ = false;
  std::array<rte_mbuf*, kBurstPackets> mbufs_ = {};
  uint16_t held_ = 0;
  int64_t polled_at_ns_ = 0;
  KernelDrops kernel_drops_;
};

PortSource::PortSource(PortSourceOptions options) : options_(std::move(options)) {}
PortSource::~PortSource() = default;

Status PortSource::Start() {
  if (!options_.interface.empty()) {
    if (Status status = CheckInterface(options_.interface, options_.warn); !status.ok()) return status;
    options_.vdev = AfPacketDevice(options_.interface);
  }
  Status status = StartEal({.may_use_hugepages = options_.may_use_hugepages,
                            .memory_mib = options_.memory_mib,
                            .vdev = options_.vdev,
                            .pci_address = options_.pci_address,
                            .warn = options_.warn});
  if (!status.ok()) return status;
  port_ = std::make_unique<Port>();
  unsigned data_bytes = IsAfPacket(options_.vdev) ? AfPacketDataBytes() : kOrdinaryDataBytes;
  status = port_->CreatePool(data_bytes + RTE_PKTMBUF_HEADROOM, options_.memory_mib);
  if (status.ok()) status = port_->Open();
  if (!status.ok()) return status;
  port_->FindSockets();
  if (!port_->Promiscuous() && options_.warn) {
    options_.warn("the port could not be made promiscuous: only packets for this host will be seen");
  }
  return {};
}

void PortSource::Stop() {
  if (port_) port_->Stop();
}

PacketSource::Burst PortSource::Poll(std::span<RawPacket> packets) { return {port_->Poll(packets), false}; }

PacketSource::Losses PortSource::ReadLosses() { return port_->ReadLosses(IsAfPacket(options_.vdev)); }

// When the last Poll() began: what comes later is stamped later.
std::optional<int64_t> PortSource::IdleTimeNs() const {
  return port_->polled_at_ns() == 0 ? std::nullopt : std::optional(port_->polled_at_ns());
}

}  // namespace tapline
