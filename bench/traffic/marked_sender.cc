// marked_sender: sends UDP datagrams with one differentiated services code point from a Linux interface.
//
// usage: marked_sender INTERFACE CODE_POINT    needs CAP_NET_RAW and CAP_SYS_NICE
//
// Each line of standard input, "RATE SECONDS" or "RATE SECONDS times", is a phase of evenly spaced datagrams at RATE
// per second. At the end of a phase, prints the number of datagrams sent, with "times" also the wall-clock time just
// before each was sent, in ns since the epoch. Frames are created once, sent in batches, and bypass routing and
// queueing disciplines, because the sender shares its cores with the programs being measured.
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/traffic/frame.h"
#include "packet_io/base/clock.h"

namespace tapline::traffic {
namespace {

constexpr long kMaxCodePoint = 63;  // RFC 2474: six bits
constexpr size_t kFlows = 16;
constexpr size_t kMaxBurst = 256;
// After a pause, delayed datagrams are sent at this multiple of the rate rather than all at once, since the monitor's
// ring has room for a thousand packets.
constexpr double kCatchUp = 3;
// Real traffic does not wait for the programs that monitor it, so the sender has a higher priority than they do. An
// even higher one would starve them.
constexpr int kNiceness = -5;
constexpr double kMinPauseUs = 200;
constexpr double kMaxPauseUs = 10'000;
constexpr double kUsPerSecond = 1e6;
// Addresses from the range reserved for benchmarks (RFC 2544).
constexpr uint32_t kSource = 0xc612ff01;
constexpr uint32_t kDestination = 0xc612ff05;
constexpr uint16_t kDiscard = 9;  // RFC 863

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "marked_sender: error: %s: %s\n", message.c_str(), std::strerror(errno));
  std::exit(1);
}

class Sender {
 public:
  Sender(const char* interface, uint8_t code_point) : socket_(socket(AF_PACKET, SOCK_RAW, 0)) {
    if (socket_ < 0) die("can't open a packet socket");
    sockaddr_ll address = {};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
    const int on = 1;
    if (address.sll_ifindex == 0 || setsockopt(socket_, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) != 0 ||
        bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      die(std::string("can't send from ") + interface);
    }
    for (size_t i = 0; i < kFlows; ++i) {
      const auto port = static_cast<uint16_t>(40'000 + i);
      frames_[i].iov_base = bytes_[i].data();
      frames_[i].iov_len =
          write_datagram({kSource, port}, {kDestination, kDiscard}, code_point, std::string(64, 'x'), bytes_[i].data());
    }
    for (size_t i = 0; i < kMaxBurst; ++i) {
      messages_[i].msg_hdr.msg_iov = &frames_[i % kFlows];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  ~Sender() { close(socket_); }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Sends evenly spaced datagrams for this time. Returns the number sent, and adds their times if `times` is not null.
  uint64_t send(double per_second, double seconds, std::vector<int64_t>* times) {
    const int64_t begin_ns = monotonic_ns();
    const auto all = static_cast<uint64_t>(per_second * seconds);
    uint64_t sent = 0;
    for (double passed = 0, before = 0; sent < all && passed < seconds; before = passed) {
      passed = static_cast<double>(monotonic_ns() - begin_ns) / kNsPerSecond;
      const auto burst = static_cast<uint64_t>(
          std::clamp(std::ceil(kCatchUp * per_second * (passed - before)), 1.0, double{kMaxBurst}));
      const uint64_t due = std::min(all, static_cast<uint64_t>(passed * per_second));
      const int64_t now_ns = wall_ns();
      const uint64_t before_burst = sent;
      if (sent < due) sent += send(std::min(due - sent, burst));
      if (times != nullptr) times->insert(times->end(), sent - before_burst, now_ns);
      const double rest_us = (static_cast<double>(sent + 1) / per_second - passed) * kUsPerSecond;
      usleep(static_cast<useconds_t>(std::clamp(rest_us, kMinPauseUs, kMaxPauseUs)));
    }
    return sent;
  }

 private:
  unsigned send(uint64_t count) {
    const int sent = sendmmsg(socket_, messages_.data(), static_cast<unsigned>(count), 0);
    if (sent < 0 && errno != ENOBUFS && errno != EINTR) die("can't send");
    return static_cast<unsigned>(std::max(sent, 0));
  }

  const int socket_;
  std::array<std::array<uint8_t, kMaxFrameBytes>, kFlows> bytes_ = {};
  std::array<iovec, kFlows> frames_ = {};
  std::array<mmsghdr, kMaxBurst> messages_ = {};
};

int main(int argc, char** argv) {
  char* end = nullptr;
  const long code_point = argc == 3 ? std::strtol(argv[2], &end, 10) : 0;
  if (argc != 3 || end == argv[2] || *end != '\0' || code_point < 0 || code_point > kMaxCodePoint) {
    std::fprintf(stderr, "usage: marked_sender INTERFACE CODE_POINT    the code point is 0 to 63\n");
    return 2;
  }
  if (setpriority(PRIO_PROCESS, 0, kNiceness) != 0) die("can't raise the priority");
  Sender sender(argv[1], static_cast<uint8_t>(code_point));
  char line[100];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    double per_second, seconds;
    if (std::sscanf(line, "%lf %lf", &per_second, &seconds) != 2) break;
    std::vector<int64_t> times;
    const bool wants_times = std::strstr(line, " times") != nullptr;
    std::printf("%" PRIu64, sender.send(per_second, seconds, wants_times ? &times : nullptr));
    for (const int64_t time_ns : times) std::printf(" %" PRId64, time_ns);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tapline::traffic

int main(int argc, char** argv) { return tapline::traffic::main(argc, argv); }
