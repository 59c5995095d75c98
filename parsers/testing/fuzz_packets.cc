#include "parsers/testing/fuzz_packets.h"

#include <cstdlib>

#include "parsers/engine/engine.h"
#include "parsers/testing/harness.h"

namespace tapline::testing {
namespace {

constexpr uint8_t kFromServer = 1, kMoved = 2, kFin = 4, kRst = 8, kSyn = 16, kCut = 32, kOther = 64, kJump = 128;
constexpr uint8_t kIcmp = 2, kV6 = 4;  // flags of datagrams

class CheckingSink final : public TupleSink {
 public:
  void watch(const Engine* engine) { engine_ = engine; }
  void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override {
    const std::vector<Field>& fields = engine_->parser(parser).schema().fields;
    if (values.size() != fields.size() || header.queries == 0 || header.time_ns < last_ns_) std::abort();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].type() != fields[i].type) std::abort();
      // Reads every byte, so that a sanitizer detects freed strings.
      if (values[i].type() == FieldType::kString) {
        for (const char c : values[i].as_string()) sum_ = sum_ + static_cast<uint8_t>(c);
      }
    }
    last_ns_ = header.time_ns;
  }
  void lose(LossReason /*reason*/, uint64_t count, uint64_t queries) override {
    if (count == 0 || queries == 0) std::abort();
  }

 private:
  const Engine* engine_ = nullptr;
  int64_t last_ns_ = INT64_MIN;
  volatile uint64_t sum_ = 0;
};

struct Record {
  uint8_t flags, parameter;
  std::string payload;

  static Record next(std::span<const uint8_t>& input) {
    const size_t length = std::min<size_t>(input[2] | static_cast<size_t>(input[3]) << 8, input.size() - 4);
    Record record{input[0], input[1], std::string(reinterpret_cast<const char*>(input.data()) + 4, length)};
    input = input.subspan(4 + length);
    return record;
  }

  void cut(Frame* frame) const {
    if ((flags & kCut) == 0 || parameter >= payload.size()) return;
    frame->wire_bytes = static_cast<uint32_t>(frame->bytes.size());
    frame->bytes.resize(frame->bytes.size() - payload.size() + parameter);
    frame->bytes.shrink_to_fit();
  }
};

class PacketWriter {
 public:
  Frame next(const Record& record) {
    const auto [flags, parameter, payload] = record;
    const bool server = (flags & kFromServer) != 0;
    const uint16_t client_port = static_cast<uint16_t>(40000 + ((flags & kOther) != 0 ? parameter % 8 : 0));
    uint32_t* seq = seq_[client_port % 8];
    if ((flags & kJump) != 0) now_ns_ += parameter * 1'000'000'000ll;
    const uint32_t moved = (flags & kMoved) != 0 ? static_cast<uint32_t>(static_cast<int8_t>(parameter) * 16) : 0;
    Frame frame = tcp_frame({.src = server ? "10.0.0.2" : "10.0.0.1",
                             .dst = server ? "10.0.0.1" : "10.0.0.2",
                             .src_port = server ? uint16_t{80} : client_port,
                             .dst_port = server ? client_port : uint16_t{80},
                             .seq = seq[server] + moved,
                             .ack = seq[!server],
                             .flags = tcp_flags(flags, server),
                             .payload = payload},
                            now_ns_);
    seq[server] += moved + static_cast<uint32_t>(payload.size()) + ((flags & (kSyn | kFin)) != 0 ? 1 : 0);
    record.cut(&frame);
    now_ns_ += 1'000'000;
    return frame;
  }

 private:
  static uint8_t tcp_flags(uint8_t flags, bool server) {
    uint8_t result = (flags & kSyn) != 0 && !server ? 0 : tcp_flag::kAck;
    if ((flags & kFin) != 0) result |= tcp_flag::kFin;
    if ((flags & kRst) != 0) result |= tcp_flag::kRst;
    if ((flags & kSyn) != 0) result |= tcp_flag::kSyn;
    return result;
  }

  uint32_t seq_[8][2] = {{0xffffff00, 5000}};
  int64_t now_ns_ = 1'000'000'000'000;
};

class DatagramWriter {
 public:
  explicit DatagramWriter(uint16_t server_port) : server_port_(server_port) {}

  Frame next(const Record& record) {
    const auto [flags, parameter, payload] = record;
    if ((flags & kJump) != 0) now_ns_ += parameter * 1'000'000'000ll;
    std::string client = (flags & kV6) != 0 ? "2001:db8::1" : "10.0.0.1";
    std::string server = (flags & kV6) != 0 ? "2001:db8::2" : "10.0.0.2";
    uint16_t client_port = static_cast<uint16_t>(40000 + ((flags & kOther) != 0 ? parameter % 8 : 0));
    uint16_t server_port = server_port_;
    if ((flags & kFromServer) != 0) std::swap(client, server), std::swap(client_port, server_port);
    Frame frame =
        (flags & kIcmp) != 0
            ? icmp_frame(client, server, payload, now_ns_)
            : udp_frame(
                  {.src = client, .dst = server, .src_port = client_port, .dst_port = server_port, .payload = payload},
                  now_ns_);
    record.cut(&frame);
    now_ns_ += 1'000'000;
    return frame;
  }

 private:
  uint16_t server_port_;
  int64_t now_ns_ = 1'000'000'000'000;
};

class TelemetryWriter {
 public:
  Frame next(const Record& record) {
    now_ns_ += record.parameter * ((record.flags & kJump) != 0 ? 1'000'000'000ll : 1000ll);
    const uint16_t port = static_cast<uint16_t>(40000 + ((record.flags & kOther) != 0 ? record.parameter % 8 : 0));
    Bytes inside(record.payload.begin(), record.payload.end());
    const Bytes ip = ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, udp_datagram(port, 53, "x"));
    inside.insert(inside.end(), ip.begin(), ip.end());
    return {.bytes = ethernet(0x88b5, inside), .time_ns = now_ns_};
  }

 private:
  int64_t now_ns_ = 1'000'000'000'000;
};

template <typename Writer>
void fuzz(std::vector<std::unique_ptr<Parser>> parsers, Writer writer, std::span<const uint8_t> input) {
  CheckingSink sink;
  Engine engine(std::move(parsers), &sink,
                {.max_connections = 4, .max_reassembly_bytes = 32 << 10, .max_flow_reassembly_bytes = 16 << 10});
  sink.watch(&engine);
  const FlowHasher hasher(kTestKey);
  for (uint64_t packets = 0; input.size() >= 4; ++packets) {
    Frame frame = writer.next(Record::next(input));
    frame.tap = static_cast<uint8_t>(packets % 3);
    Packet packet;
    if (decode(frame.raw(), hasher, &packet) != DecodeOutcome::kOk) continue;
    packet.queries = packets % 5 == 4 ? 0b10 : 0b11;
    engine.process({&packet, 1});
    if (packets % 64 == 63) engine.end_queries(0b01);
  }
  engine.end();
  const EngineStats stats = engine.stats();
  if (stats.live_connections != 0 || stats.reassembly_bytes != 0) std::abort();
}

}  // namespace

void fuzz_packets(std::vector<std::unique_ptr<Parser>> parsers, std::span<const uint8_t> input) {
  fuzz(std::move(parsers), PacketWriter(), input);
}

void fuzz_datagrams(const std::vector<std::string>& names, uint16_t server_port, std::span<const uint8_t> input) {
  fuzz(make_parsers(names), DatagramWriter(server_port), input);
}

void fuzz_telemetry(const std::vector<std::string>& names, std::span<const uint8_t> input) {
  fuzz(make_parsers(names), TelemetryWriter(), input);
}

void fuzz_parsers(const std::vector<std::string>& names, std::span<const uint8_t> input) {
  fuzz_packets(make_parsers(names), input);
}

}  // namespace tapline::testing
