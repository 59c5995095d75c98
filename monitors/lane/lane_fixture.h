// A lane with real parsers, a real engine and real batches. Only the packets come from the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitors/lane/lane.h"
#include "monitors/lane/parser_stage.h"
#include "monitors/output/batch_output.h"
#include "monitors/testing/frames.h"
#include "monitors/testing/view_parser.h"
#include "parsers/registry.h"

namespace tapline {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kStart = 1'700'000'000 * kSecond;
inline constexpr uint8_t kSyn = tcp_flag::kSyn, kFin = tcp_flag::kFin, kAck = tcp_flag::kAck;

// Delivers its packets in bursts of `burst`, then ends, or stays idle if it is live.
class ListSource final : public PacketSource {
 public:
  struct Timed {
    int64_t time_ns;
    Bytes frame;
    uint8_t tap = 0;
  };
  explicit ListSource(std::vector<Timed> packets, size_t burst = kBurstPackets)
      : packets_(std::move(packets)), burst_(burst) {}

  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> out) override {
    if (next_ == packets_.size() && !is_live) return {0, true};
    size_t count = 0;
    while (count < std::min(out.size(), burst_) && next_ < packets_.size()) {
      const Timed& packet = packets_[next_++];
      auto bytes = static_cast<uint32_t>(packet.frame.size());
      out[count++] = {packet.frame.data(), bytes, bytes, packet.time_ns, LinkType::kEthernet, packet.tap};
    }
    if (count == 0 && ++idle_polls_ == stop_after_idle_polls && stop != nullptr) *stop = true;
    return {count, false};
  }
  Status status() const override { return failure; }
  Losses read_losses() override { return losses; }
  bool live() const override { return is_live; }
  std::optional<int64_t> idle_time_ns() const override { return idle_until_ns; }

  bool is_live = false;
  std::optional<int64_t> idle_until_ns;
  Losses losses;
  Status failure;
  std::atomic<bool>* stop = nullptr;
  int stop_after_idle_polls = 3;

 private:
  std::vector<Timed> packets_;
  size_t burst_;
  size_t next_ = 0;
  int idle_polls_ = 0;
};

// Replaces an unfragmented packet, whose IP datagram must have 40 bytes, with two fragments.
inline void split(std::vector<ListSource::Timed>* packets, size_t index) {
  ListSource::Timed& packet = packets->at(index);
  packet.frame.resize(14 + 40, 0);
  ListSource::Timed second = packet;
  second.frame.erase(second.frame.begin() + 34, second.frame.begin() + 34 + 16);
  packet.frame.resize(34 + 16);
  packet.frame[14 + 3] = 20 + 16;
  packet.frame[14 + 6] = 0x20;  // more fragments follow
  second.frame[14 + 3] = 20 + 4;
  second.frame[14 + 7] = 16 / 8;  // offset
  packets->insert(packets->begin() + static_cast<ptrdiff_t>(index) + 1, second);
}

class KeepingSink final : public NullSink {
 public:
  explicit KeepingSink(std::vector<v1::TupleBatch>* kept_batches) : kept_(kept_batches) {}
  Sent send(uint32_t partition, std::string_view bytes, uint64_t ticket) override {
    EXPECT_TRUE(kept_->emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    return NullSink::send(partition, bytes, ticket);
  }

 private:
  std::vector<v1::TupleBatch>* kept_;
};

inline QuerySpec query(const std::string& name, uint16_t to_port = 0) {
  QuerySpec spec{.name = name, .parsers = {"tcp_conn_time"}};
  if (to_port != 0) spec.match = ConnectionMatch({}, {*AddressPattern::parse("", to_port)});
  return spec;
}

class LaneTest : public testing::Test {
 protected:
  LaneOptions options_;
  Status Run(ListSource& source) {
    accounts_.assign(queries_.size(), {});
    std::vector<std::unique_ptr<Parser>> parsers;
    parsers.push_back(make_parser("tcp_conn_time"));
    parsers.push_back(make_parser("tcp_pkt_size"));
    parsers.push_back(view_parser());
    std::vector<const Schema*> schemas;
    for (const auto& parser : parsers) schemas.push_back(&parser->schema());
    BatchOutput output({.monitor_id = "m"}, queries_, schemas, &accounts_, std::make_unique<KeepingSink>(&batches_));
    EXPECT_TRUE(output.start().ok());
    Engine engine(std::move(parsers), &output);
    ParserStage stage(queries_, &engine, &output, &accounts_, !source.is_live);
    PacketCredits credits;
    Lane lane(options_, queries_, &source, &stage, &accounts_, &credits, &stop_);
    for (uint32_t i = 0; i < queries_.size(); ++i) {
      EXPECT_TRUE(output.prepare(i).ok());
      credits.reset(i, queries_[i].limit_packets.value_or(0));
      lane.add(i);
    }
    for (LaneCommand& command : commands_) lane.inbox().post(&command);
    Status status = lane.run();
    lane_accounting_ = lane.accounting();
    EXPECT_TRUE(lane_accounting_.balanced());
    taps_.assign(lane.taps().begin(), lane.taps().end());
    uint64_t received = 0;
    for (const TapAccounting& tap : taps_) {
      EXPECT_TRUE(tap.balanced());
      received += tap.received;
    }
    EXPECT_LE(received, lane_accounting_.received) << "the lane also counts packets that a switch reports as lost";
    for (const Accounting& account : accounts_) EXPECT_TRUE(account.balanced());
    return status;
  }

  uint64_t rows(const std::string& query) const {
    uint64_t rows = 0;
    for (const auto& batch : batches_) rows += batch.query() == query ? batch.rows() : 0;
    return rows;
  }
  // Returns the batches' watched-since times in order, without consecutive repetitions.
  std::vector<int64_t> watched_since() const {
    std::vector<int64_t> times;
    for (const auto& batch : batches_) times.push_back(batch.watched_since_ns());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }
  // Expects the sums that readers compute to equal the lane's own counts at the end.
  void expect_batches_add_up() {
    for (size_t i = 0; i < queries_.size(); ++i) {
      uint64_t packets_in = 0, packets_out = 0, tuples_in = 0, dropped = 0, sequence = 0;
      for (const auto& batch : batches_) {
        if (batch.query() != queries_[i].name) continue;
        EXPECT_EQ(batch.sequence(), sequence++);
        packets_in += batch.accounting().packets_in();
        packets_out += batch.accounting().packets_out();
        tuples_in += batch.accounting().tuples_in();
        for (const auto& drop : batch.accounting().dropped()) {
          dropped += drop.unit() == v1::Dropped::PACKETS ? drop.count() : 0;
        }
      }
      EXPECT_EQ(packets_in, accounts_[i].packets_in);
      EXPECT_EQ(packets_in, packets_out + dropped);
      EXPECT_EQ(tuples_in, rows(queries_[i].name));
    }
  }
  const v1::TupleBatch* end_of(const std::string& query) const {
    const v1::TupleBatch* end = nullptr;
    for (const auto& batch : batches_) {
      if (batch.query() != query) continue;
      EXPECT_EQ(end, nullptr) << "a batch follows the end of the stream";
      if (batch.end_of_stream()) end = &batch;
    }
    return end;
  }

  std::vector<QuerySpec> queries_ = {query("q")};
  // Commands that are posted before the lane runs.
  std::deque<LaneCommand> commands_;
  QueryAccounts accounts_;
  std::vector<v1::TupleBatch> batches_;
  LaneAccounting lane_accounting_;
  std::vector<TapAccounting> taps_;
  std::atomic<bool> stop_{false};
};

// Returns the packets of a complete connection from `client_port`, one every millisecond.
inline std::vector<ListSource::Timed> connection(int64_t start_ns, uint16_t client_port, uint16_t server_port = 80) {
  TcpSegment out{.src_port = client_port, .dst_port = server_port};
  std::vector<ListSource::Timed> packets;
  auto add = [&](const TcpSegment& segment) {
    packets.push_back({start_ns + static_cast<int64_t>(packets.size()) * 1'000'000, tcp_frame(segment)});
  };
  out.flags = kSyn, out.seq = 100, out.ack = 0;
  add(out);
  TcpSegment in{out.dst_ip, server_port, out.src_ip, client_port, uint8_t(kSyn | kAck), 500, 101, {}};
  add(in);
  out.flags = kAck, out.seq = 101, out.ack = 501;
  add(out);
  out.flags = kFin | kAck;
  add(out);
  in.flags = kFin | kAck, in.seq = 501, in.ack = 102;
  add(in);
  return packets;
}

}  // namespace tapline
