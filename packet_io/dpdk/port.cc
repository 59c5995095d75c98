#include "packet_io/dpdk/port.h"

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "packet_io/dpdk/eal.h"
#include "packet_io/dpdk/interface.h"
#include "packet_io/dpdk/packet_sockets.h"

namespace tapline {
namespace {

constexpr uint16_t kReceiveDescriptors = 1024;
constexpr unsigned kOrdinaryDataBytes = 2048;
constexpr unsigned kMbufOverheadBytes = 256;
constexpr unsigned kMaxMbufs = 262143;
constexpr unsigned kFewestMbufs = 255;

// A Toeplitz key that repeats every 16 bits gives the same hash for both directions of a connection.
constexpr size_t kRssKeyBytes = 52;
constexpr std::array<uint8_t, kRssKeyBytes> symmetric_key() {
  std::array<uint8_t, kRssKeyBytes> key = {};
  for (size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}
std::array<uint8_t, kRssKeyBytes> rss_key = symmetric_key();

bool is_af_packet(const std::string& vdev) { return vdev.starts_with("net_af_packet"); }

bool is_memif(const std::string& vdev) { return vdev.starts_with("net_memif"); }

Status failed(const std::string& action) { return Status::resources("the DPDK port " + action + eal_reason()); }

}  // namespace

Status Port::start() {
  if (!options_.interface.empty()) {
    if (Status status = check_interface(options_.interface, options_.warn); !status.ok()) return status;
    options_.vdev = af_packet_device(options_.interface, options_.queues, options_.number);
  }
  const std::vector<int> sockets_before = packet_sockets();
  Status status = start_eal({.may_use_hugepages = options_.may_use_hugepages,
                             .memory_mib = options_.memory_mib,
                             .vdev = options_.vdev,
                             .pci_address = options_.pci_address,
                             .warn = options_.warn});
  if (!status.ok()) return status;
  unsigned data_bytes = is_af_packet(options_.vdev) ? af_packet_data_bytes() : kOrdinaryDataBytes;
  status = create_pool(data_bytes + RTE_PKTMBUF_HEADROOM);
  if (status.ok()) status = open();
  if (!status.ok()) return status;
  const std::vector<int> sockets = packet_sockets();
  std::set_difference(sockets.begin(), sockets.end(), sockets_before.begin(), sockets_before.end(),
                      std::back_inserter(sockets_));
  kernel_drops_.watch(sockets_);
  if (rte_eth_promiscuous_enable(port_) != 0 && options_.warn) {
    options_.warn("can't make the port promiscuous: the monitor will see only packets for this host");
  }
  return {};
}

// Creates as many buffers of `data_bytes` as fit into half of the port's share of DPDK's memory.
Status Port::create_pool(unsigned data_bytes) {
  size_t fitting = (size_t{options_.memory_mib} << 19) / options_.ports / (data_bytes + kMbufOverheadBytes);
  auto mbufs = static_cast<unsigned>(std::clamp<size_t>(fitting, kFewestMbufs, kMaxMbufs));
  unsigned cache = std::min(mbufs / 4, 256u);
  pool_ = rte_pktmbuf_pool_create(("packets" + std::to_string(options_.number)).c_str(), mbufs, cache, 0,
                                  static_cast<uint16_t>(data_bytes), SOCKET_ID_ANY);
  if (pool_ != nullptr) return {};
  return Status::resources("not enough memory for " + std::to_string(mbufs) + " packet buffers; raise --memory-mib" +
                           eal_reason());
}

Status Port::open() {
  port_ = static_cast<uint16_t>(rte_eth_find_next(0));
  // Further ports are looked up by their device name, which must be unique.
  const std::string device = options_.vdev.substr(0, options_.vdev.find(','));
  if (options_.number > 0 && rte_eth_dev_get_port_by_name(device.c_str(), &port_) != 0) port_ = RTE_MAX_ETHPORTS;
  if (port_ >= RTE_MAX_ETHPORTS) return Status::resources("DPDK found no port" + eal_reason());
  if (Status status = configure(); !status.ok()) return status;
  uint16_t descriptors = kReceiveDescriptors, send_descriptors = 0;
  rte_eth_dev_adjust_nb_rx_tx_desc(port_, &descriptors, &send_descriptors);
  for (uint16_t queue = 0; queue < options_.queues; ++queue) {
    if (rte_eth_rx_queue_setup(port_, queue, descriptors, SOCKET_ID_ANY, nullptr, pool_) != 0) {
      return failed("can't set up receive queue " + std::to_string(queue));
    }
    if (is_memif(options_.vdev) &&
        rte_eth_tx_queue_setup(port_, queue, send_descriptors, SOCKET_ID_ANY, nullptr) != 0) {
      return failed("can't set up send queue " + std::to_string(queue));
    }
  }
  if (rte_eth_dev_start(port_) != 0) return failed("can't be started");
  started_ = true;
  return {};
}

Status Port::configure() {
  rte_eth_conf conf = {};
  rte_eth_dev_info info = {};
  if (rte_eth_dev_info_get(port_, &info) != 0) return failed("can't query its capabilities");
  if (options_.queues > info.max_rx_queues) {
    return Status::invalid("the port has " + std::to_string(info.max_rx_queues) +
                           " receive queues: lower --lanes from " + std::to_string(options_.queues) +
                           ", or use --workers");
  }
  if (options_.queues > 1) {
    constexpr uint64_t kWanted = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;
    uint64_t types = info.flow_type_rss_offloads & kWanted;
    warn_if_flows_may_split(types);
    if (types != 0) {
      conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
      size_t key_bytes = info.hash_key_size == 0 ? 40 : std::min<size_t>(info.hash_key_size, rss_key.size());
      conf.rx_adv_conf.rss_conf = {rss_key.data(), static_cast<uint8_t>(key_bytes), types};
    }
  }
  // Without a send queue, DPDK's memif would endlessly mistake its own empty buffers for received packets.
  const uint16_t fewest = is_memif(options_.vdev) ? options_.queues : uint16_t{0};
  for (uint16_t send_queues : {fewest, options_.queues}) {
    if (rte_eth_dev_configure(port_, options_.queues, send_queues, &conf) == 0) return {};
  }
  return failed("can't be configured");
}

void Port::warn_if_flows_may_split(uint64_t rss_types) {
  if (rss_types != 0 || is_af_packet(options_.vdev) || !options_.warn) return;
  options_.warn(
      "the port can't spread packets by flow over its queues: unless their sender does, packets of a connection reach "
      "different lanes; "
      "--workers keeps them together on any port");
}

void Port::stop() {
  if (!started_) return;
  started_ = false;
  rte_eth_dev_stop(port_);
}

uint16_t Port::receive(uint16_t queue, rte_mbuf** mbufs, uint16_t room) {
  return rte_eth_rx_burst(port_, queue, mbufs, room);
}

std::optional<ArrivalTimes> Port::times(uint16_t queue) const {
  return options_.interface.empty() ? std::nullopt : af_packet_times(sockets_, queue);
}

PacketSource::Losses Port::read_losses() {
  PacketSource::Losses losses;
  rte_eth_stats stats = {};
  rte_eth_stats_get(port_, &stats);
  losses.by_drop[index_of(Drop::kNicMissed)] = stats.imissed;
  // If net_af_packet has no buffer for a packet, it leaves the packet in the ring and counts every attempt.
  losses.by_drop[index_of(Drop::kNicNoBuffer)] = is_af_packet(options_.vdev) ? 0 : stats.rx_nombuf;
  losses.by_drop[index_of(Drop::kKernelMissed)] = kernel_drops_.read();
  return losses;
}

}  // namespace tapline
