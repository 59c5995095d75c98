// A DPDK port with one or more receive queues, each read by one PortSource. Nothing else may use the device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packet_io/base/status.h"
#include "packet_io/dpdk/arrival_times.h"
#include "packet_io/dpdk/kernel_drops.h"
#include "packet_io/source/packet_source.h"

struct rte_mbuf;
struct rte_mempool;

namespace tapline {

struct PortOptions {
  // Exactly one of the three is set.
  std::string interface = {};
  std::string vdev = {};
  std::string pci_address = {};
  // The number of receive queues, one per lane. Both directions of a flow arrive at the same queue if the port supports
  // RSS (the key is symmetric) or is an interface (the kernel distributes packets to sockets by flow).
  uint16_t queues = 1;
  bool may_use_hugepages = true;
  uint32_t memory_mib = 256;
  // The port's index among the `ports` that share DPDK's memory.
  uint16_t number = 0;
  uint16_t ports = 1;
  std::function<void(const std::string&)> warn = {};
};

// One thread must call start() before the queues are polled, and stop() afterwards. Each queue must be polled by one
// thread at a time.
class Port {
 public:
  explicit Port(PortOptions options) : options_(std::move(options)) {}
  ~Port() { stop(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Starts the port. The first port of a process also starts DPDK.
  Status start();
  void stop();

  // Returns the arrival times of a queue's packets, or nullopt if the port does not provide them.
  std::optional<ArrivalTimes> times(uint16_t queue) const;
  uint16_t queues() const { return options_.queues; }
  // Receives up to `room` packets, which the caller must free.
  uint16_t receive(uint16_t queue, rte_mbuf** mbufs, uint16_t room);
  // Returns the losses of all queues together. Must be called by one thread at a time.
  PacketSource::Losses read_losses();

 private:
  Status create_pool(unsigned data_bytes);
  Status open();
  Status configure();
  void warn_if_flows_may_split(uint64_t rss_types);

  PortOptions options_;
  rte_mempool* pool_ = nullptr;
  uint16_t port_ = 0;
  bool started_ = false;
  std::vector<int> sockets_;  // net_af_packet's sockets, one per queue
  KernelDrops kernel_drops_;
};

}  // namespace tapline
