// Measures the cost of passing a packet to a parser: to a built-in one, to one behind the C interface in the same
// process, and to one in a separate process over a ring in shared memory, as in the paper. The parser itself does
// almost no work. Reports TSC cycles per packet as the minimum of many short runs, to reduce the effect of a busy
// machine.
//
// usage: plugin_bench
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/plugin/plugin_parser.h"

namespace tapline {
namespace {

constexpr size_t kBurst = 32;
constexpr int kBursts = 64;
constexpr int kRuns = 2000;
constexpr size_t kFrameBytes = 256;

class NoSink final : public TupleSink {
 public:
  void emit(uint32_t, const TupleHeader&, std::span<const Value>) override {}
  void lose(LossReason, uint64_t, uint64_t) override {}
};

uint64_t looked_at = 0;

// Makes frames in `memory`, laid out as by a receive burst.
std::vector<Packet> packets_in(uint8_t* memory) {
  std::vector<Packet> packets(kBurst);
  for (size_t i = 0; i < kBurst; ++i) {
    std::memset(memory + i * kFrameBytes, static_cast<int>(i), kFrameBytes);
    packets[i].data = memory + i * kFrameBytes;
    packets[i].captured_bytes = packets[i].wire_bytes = kFrameBytes;
    packets[i].payload_offset = 54;
    packets[i].payload_captured_bytes = packets[i].payload_bytes = kFrameBytes - 54;
    packets[i].queries = 1;
  }
  return packets;
}

double cycles_per_packet(const std::function<void()>& burst) {
  uint64_t min = UINT64_MAX;
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kBursts; ++i) burst();
    min = std::min<uint64_t>(min, __rdtsc() - start);
  }
  return static_cast<double>(min) / (kBursts * kBurst);
}

void process(void*, const tapline_packet* const* packets, uint32_t count, tapline_out*) {
  for (uint32_t i = 0; i < count; ++i) looked_at += packets[i]->data[packets[i]->payload_offset];
}

tapline_parser make_description() {
  static const tapline_field field = {"any", nullptr, nullptr, TAPLINE_U64, 0};
  static const char* const main_fields[] = {"any"};
  tapline_parser parser = {};
  parser.struct_bytes = sizeof parser;
  parser.field_bytes = sizeof field;
  parser.name = "bench";
  parser.needs = TAPLINE_NEEDS_PACKETS;
  parser.fields = &field;
  parser.field_count = 1;
  parser.main_fields = main_fields;
  parser.main_field_count = 1;
  parser.create = [](const tapline_host* host) { return const_cast<void*>(static_cast<const void*>(host)); };
  parser.destroy = [](void*) {};
  parser.process = process;
  return parser;
}

// A ring with one producer and one consumer, both of which poll. The packets' bytes are in shared memory, so only a
// packet's metadata is copied, in the layout of the C structure.
struct Ring {
  static constexpr uint64_t kPlaces = 1024;
  alignas(64) std::atomic<uint64_t> head{0};
  alignas(64) std::atomic<uint64_t> tail{0};
  std::array<tapline_packet, kPlaces> places;
};

void consume(Ring* ring) {
  while (true) {
    const uint64_t tail = ring->tail.load(std::memory_order_relaxed);
    const uint64_t head = ring->head.load(std::memory_order_acquire);
    for (uint64_t index = tail; index < head; ++index) {
      const tapline_packet* packet = &ring->places[index % Ring::kPlaces];
      process(nullptr, &packet, 1, nullptr);
    }
    ring->tail.store(head, std::memory_order_release);
  }
}

void produce(std::span<const Packet> packets, Ring* ring) {
  const uint64_t head = ring->head.load(std::memory_order_relaxed);
  while (head + packets.size() - ring->tail.load(std::memory_order_acquire) > Ring::kPlaces) _mm_pause();
  for (size_t i = 0; i < packets.size(); ++i) {
    tapline_packet& place = ring->places[(head + i) % Ring::kPlaces];
    std::memset(&place, 0, sizeof place);
    place.data = packets[i].data;
    place.captured_bytes = packets[i].captured_bytes;
    place.wire_bytes = packets[i].wire_bytes;
    place.time_ns = packets[i].time_ns;
    place.flow_hash = packets[i].flow_hash;
    std::memcpy(place.src_ip, packets[i].src_ip.mapped().data(), 16);
    std::memcpy(place.dst_ip, packets[i].dst_ip.mapped().data(), 16);
    place.payload_offset = packets[i].payload_offset;
    place.payload_captured_bytes = packets[i].payload_captured_bytes;
  }
  ring->head.store(head + packets.size(), std::memory_order_release);
}

// Sends a burst and waits until it has been processed, like a lane whose tuples must be in packet order.
void round_trip(std::span<const Packet> packets, Ring* ring) {
  produce(packets, ring);
  while (ring->tail.load(std::memory_order_acquire) != ring->head.load(std::memory_order_relaxed)) _mm_pause();
}

int main() {
  auto* memory =
      static_cast<uint8_t*>(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  void* ring_memory = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || ring_memory == MAP_FAILED) return 1;
  std::vector<Packet> packets = packets_in(memory);
  NoSink sink;
  int64_t clock_ns = 0;
  Emitter out(0, &sink, &clock_ns);

  auto built_in =
      packet_parser({}, [](const Packet& packet, Emitter&) { looked_at += packet.data[packet.payload_offset]; });
  std::printf("built in               %6.1f cycles per packet\n",
              cycles_per_packet([&] { built_in->process(packets, out); }));

  const tapline_parser described = make_description();
  std::string error;
  auto plugin = make_plugin_parser(*describe(&described, &error), 0);
  std::printf("plug-in, bursts of %zu  %6.1f cycles per packet\n", kBurst,
              cycles_per_packet([&] { plugin->process(packets, out); }));
  std::printf("plug-in, one by one    %6.1f cycles per packet\n", cycles_per_packet([&] {
                for (const Packet& packet : packets) plugin->process({&packet, 1}, out);
              }));

  Ring* ring = new (ring_memory) Ring;
  const pid_t consumer = fork();
  if (consumer == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    consume(ring);
  }
  std::printf("process, throughput    %6.1f cycles per packet, on each of two cores\n",
              cycles_per_packet([&] { produce(packets, ring); }));
  std::printf("process, burst by burst%6.1f cycles per packet\n",
              cycles_per_packet([&] { round_trip(packets, ring); }));
  kill(consumer, SIGKILL);
  waitpid(consumer, nullptr, 0);
  return looked_at == 1 ? 1 : 0;
}

}  // namespace
}  // namespace tapline

int main() { return tapline::main(); }
