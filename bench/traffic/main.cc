// traffic_generator: sends a mixture of TCP traffic (traffic.h) into a DPDK device at a fixed rate.
//
// usage: traffic_generator VDEV [rate=50000] [flows=1000000] [flood=0.2] [churn=0.2] [loss=0.1] [seed=1] [packets=0]
//
// Waits for the device's link and sends until SIGTERM or until `packets` are sent. Apart from the mixture's `loss`, no
// packets are lost, since it waits for the receiver. Prints its totals every second as a line of JSON on standard
// output, the last one with "done":true. Then it keeps the device open until standard input ends: when a sender exits,
// some devices (net_memif) drop packets that the receiver has not read.
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "bench/traffic/traffic.h"
#include "packet_io/base/clock.h"
#include "packet_io/dpdk/eal.h"

namespace tapline::traffic {
namespace {

constexpr uint16_t kBurst = 32;
constexpr unsigned kMbufs = 8191;
constexpr uint16_t kDescriptors = 1024;
constexpr int64_t kSliceNs = kNsPerMs;

std::atomic<bool> stop{false};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "traffic_generator: error: %s%s\n", message.c_str(), eal_reason().c_str());
  std::exit(1);
}

class Port {
 public:
  explicit Port(const std::string& vdev) {
    EalOptions options;
    options.may_use_hugepages = false;
    options.memory_mib = 64;
    options.vdev = vdev;
    if (Status status = start_eal(options); !status.ok()) die(status.message());
    id_ = static_cast<uint16_t>(rte_eth_find_next(0));
    pool_ = rte_pktmbuf_pool_create("frames", kMbufs, 256, 0, 2048, SOCKET_ID_ANY);
    rte_eth_conf conf = {};
    if (id_ >= RTE_MAX_ETHPORTS || pool_ == nullptr || rte_eth_dev_configure(id_, 0, 1, &conf) != 0 ||
        rte_eth_tx_queue_setup(id_, 0, kDescriptors, SOCKET_ID_ANY, nullptr) != 0 || rte_eth_dev_start(id_) != 0) {
      die("can't start the device");
    }
  }
  ~Port() { rte_eth_dev_stop(id_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void await_link() const {
    rte_eth_link link = {};
    while (!stop && (rte_eth_link_get_nowait(id_, &link) != 0 || link.link_status != RTE_ETH_LINK_UP)) usleep(10'000);
  }

  // Sends `count` frames that `write` creates. Waits while the receiver takes none, and records the longest wait.
  void send(size_t count, const std::function<size_t(uint8_t*)>& write) {
    while (count > 0) {
      auto burst = static_cast<uint16_t>(std::min<size_t>(count, kBurst));
      std::array<rte_mbuf*, kBurst> mbufs;
      if (rte_pktmbuf_alloc_bulk(pool_, mbufs.data(), burst) != 0) die("out of packet buffers");
      for (uint16_t i = 0; i < burst; ++i) {
        size_t bytes = write(rte_pktmbuf_mtod(mbufs[i], uint8_t*));
        mbufs[i]->data_len = static_cast<uint16_t>(bytes);
        mbufs[i]->pkt_len = static_cast<uint32_t>(bytes);
      }
      push({mbufs.data(), burst});
      count -= burst;
    }
  }
  int64_t longest_wait_ns() const { return longest_wait_ns_; }

 private:
  void push(std::span<rte_mbuf*> mbufs) {
    int64_t since_ns = 0;
    while (!mbufs.empty()) {
      uint16_t sent = rte_eth_tx_burst(id_, 0, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
      mbufs = mbufs.subspan(sent);
      if (mbufs.empty()) break;
      int64_t now_ns = monotonic_ns();
      if (sent > 0 || since_ns == 0) since_ns = now_ns;
      longest_wait_ns_ = std::max(longest_wait_ns_, now_ns - since_ns);
      usleep(100);
    }
  }

  uint16_t id_ = 0;
  rte_mempool* pool_ = nullptr;
  int64_t longest_wait_ns_ = 0;
};

void report(const Traffic& traffic, const Port& port, bool done) {
  const Counts& counts = traffic.counts();
  std::printf(
      "{\"done\":%s,\"made\":%llu,\"lost\":%llu,\"sent\":%llu,\"flood\":%llu,\"connections\":%llu,"
      "\"transactions\":%llu,\"all_flows_begun\":%s,\"longest_wait_ms\":%lld}\n",
      done ? "true" : "false", static_cast<unsigned long long>(counts.made),
      static_cast<unsigned long long>(counts.lost), static_cast<unsigned long long>(counts.sent()),
      static_cast<unsigned long long>(counts.flood), static_cast<unsigned long long>(counts.connections),
      static_cast<unsigned long long>(counts.transactions), traffic.all_flows_begun() ? "true" : "false",
      static_cast<long long>(port.longest_wait_ns() / kNsPerMs));
  std::fflush(stdout);
}

// Sends at the rate, about once a millisecond. After a delay by a slow receiver, makes up for at most ten milliseconds.
void run(double rate, uint64_t packets, Traffic* traffic, Port* port) {
  int64_t next_report_ns = monotonic_ns() + kNsPerSecond;
  double owed = 0;
  for (int64_t before_ns = monotonic_ns(); !stop;) {
    int64_t now_ns = monotonic_ns();
    owed += rate * static_cast<double>(std::min(now_ns - before_ns, 10 * kSliceNs)) / kNsPerSecond;
    before_ns = now_ns;
    uint64_t sent = traffic->counts().sent();
    size_t count = static_cast<size_t>(owed);
    if (packets > 0) count = std::min<size_t>(count, packets - sent);
    port->send(count, [&](uint8_t* out) { return traffic->next(out); });
    owed -= static_cast<double>(count);
    if (packets > 0 && sent + count == packets) return;
    if (now_ns >= next_report_ns) {
      report(*traffic, *port, false);
      next_report_ns = now_ns + kNsPerSecond;
    }
    usleep(kSliceNs / 1000);
  }
}

int main(int argc, char** argv) {
  std::map<std::string, double> settings = {{"rate", 50'000}, {"flows", 1'000'000}, {"flood", 0.2}, {"churn", 0.2},
                                            {"loss", 0.1},    {"seed", 1},          {"packets", 0}};
  for (int i = 2; i < argc; ++i) {
    std::string text = argv[i];
    auto setting = settings.find(text.substr(0, text.find('=')));
    if (setting == settings.end() || text.find('=') == std::string::npos) die("unknown setting '" + text + "'");
    setting->second = std::atof(text.c_str() + text.find('=') + 1);
  }
  if (argc < 2) die("usage: traffic_generator VDEV [NAME=NUMBER…]");
  struct sigaction action = {};
  action.sa_handler = [](int) { stop = true; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  Port port(argv[1]);
  port.await_link();
  Traffic traffic({static_cast<uint32_t>(settings["flows"]), settings["flood"], settings["churn"], settings["loss"],
                   static_cast<uint64_t>(settings["seed"])});
  run(settings["rate"], static_cast<uint64_t>(settings["packets"]), &traffic, &port);
  report(traffic, port, true);
  char nothing;
  while (read(STDIN_FILENO, &nothing, 1) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace tapline::traffic

int main(int argc, char** argv) { return tapline::traffic::main(argc, argv); }
