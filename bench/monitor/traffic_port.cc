// Provides endless traffic to every DPDK port of the process that loads it, and counts the received packets.
//
// It is loaded before librte_ethdev (linked first, or by LD_PRELOAD), and adds a receive callback to each queue of a
// port when the port is started. The callback fills the empty buffers that net_null returns. So the monitor and
// dpdk-testpmd receive the same packets from the same mempool by the same path, and generating them has the same cost
// for both. net_null alone delivers frames of zeros; net_pcap copies every packet and repeats connections that have
// ended.
#include <dlfcn.h>
#include <fcntl.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "bench/monitor/shared.h"

namespace tapline::bench {
namespace {

Shared* map_shared() {
  const char* path = std::getenv(kSharedVariable);
  if (path == nullptr) return nullptr;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Shared*>(memory);
}

uint64_t thread_cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// One receive queue, used only by the thread that polls it.
class Queue {
 public:
  Queue(const TrafficOptions& traffic, uint32_t sample_every_packets, QueueSamples* samples)
      : traffic_(traffic), every_(sample_every_packets), samples_(samples) {
    prepared_.resize(traffic.frame_bytes + Traffic::kHeaderBytes);
    traffic_.prepare(prepared_.data());
  }

  void fill(rte_mbuf** mbufs, uint16_t count) {
    for (uint16_t i = 0; i < count; ++i) {
      auto* frame = rte_pktmbuf_mtod(mbufs[i], uint8_t*);
      // Recycled buffers keep their contents, so only a new buffer needs to be filled completely.
      if (std::memcmp(frame, prepared_.data(), 8) != 0) [[unlikely]]
        traffic_.prepare(frame);
      traffic_.next(frame);
    }
    packets_ += count;
    if (packets_ >= next_sample_) [[unlikely]]
      take_sample();
  }

 private:
  void take_sample() {
    next_sample_ = packets_ + every_;
    if (samples_->count == kMaxSamples) return;
    samples_->samples[samples_->count++] = {rte_rdtsc(), thread_cpu_ns(), packets_};
  }

  Traffic traffic_;
  std::vector<uint8_t> prepared_;
  uint64_t every_;
  QueueSamples* samples_;
  uint64_t packets_ = 0;
  uint64_t next_sample_ = 0;
};

uint16_t on_receive(uint16_t, uint16_t, rte_mbuf** mbufs, uint16_t count, uint16_t, void* queue) {
  static_cast<Queue*>(queue)->fill(mbufs, count);
  return count;
}

std::array<std::unique_ptr<Queue>, kMaxQueues> queues;

// Adds traffic to each queue, which gets its share of the flows, as with RSS.
void add_traffic(uint16_t port) {
  static Shared* shared = map_shared();
  rte_eth_dev_info info;
  if (shared == nullptr || rte_eth_dev_info_get(port, &info) != 0) return;
  const uint32_t count = std::min<uint32_t>(info.nb_rx_queues, kMaxQueues);
  for (uint32_t i = 0; i < count; ++i) {
    TrafficOptions traffic = shared->traffic;
    traffic.flows /= count;
    traffic.first_flow = i * traffic.flows;
    queues[i] = std::make_unique<Queue>(traffic, shared->sample_every_packets, &shared->queues[i]);
    if (rte_eth_add_rx_callback(port, static_cast<uint16_t>(i), on_receive, queues[i].get()) == nullptr) {
      std::fprintf(stderr, "error: no receive callback for queue %u\n", i);
      std::abort();
    }
  }
}

}  // namespace
}  // namespace tapline::bench

extern "C" __attribute__((visibility("default"))) int rte_eth_dev_start(uint16_t port) {
  using Start = int (*)(uint16_t);
  static const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "rte_eth_dev_start"));
  tapline::bench::add_traffic(port);
  return start(port);
}
