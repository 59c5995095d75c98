// Compares pipeline mode with run to completion: the same packets must give the same tuples and the same accounts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <random>

#include "monitors/lane/dispatch_stage.h"
#include "monitors/lane/lane.h"
#include "monitors/output/batch_output.h"
#include "monitors/testing/frames.h"
#include "monitors/testing/view_parser.h"
#include "parsers/registry.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/shared_triggers.h"

namespace tapline {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

struct Timed {
  int64_t time_ns;
  Bytes frame;
  uint8_t tap = 0;
};

// Delivers its packets in counted buffers, as a port does, or in bytes that are invalid after the next poll, as a
// capture file does.
class TestSource final : public PacketSource {
 public:
  TestSource(std::vector<Timed> packets, bool retaining) : packets_(std::move(packets)), retaining_(retaining) {}
  ~TestSource() override { EXPECT_EQ(unreleased_.load(), 0) << "unreleased buffers"; }

  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> out) override {
    if (!retaining_) burst_.clear();
    size_t count = 0;
    for (; count < out.size() && next_ < packets_.size(); ++count, ++next_) {
      Timed& packet = packets_[next_];
      if (!retaining_) burst_.push_back(std::make_unique<Bytes>(packet.frame));
      Bytes& bytes = retaining_ ? packet.frame : *burst_.back();
      auto size = static_cast<uint32_t>(bytes.size());
      out[count] = {.data = bytes.data(),
                    .captured_bytes = size,
                    .wire_bytes = size,
                    .time_ns = packet.time_ns,
                    .tap = packet.tap,
                    .buffer = &packet};
    }
    if (count == 0 && stop_at_end != nullptr) *stop_at_end = true;
    return {count, count == 0 && !stay_live};
  }
  Status status() const override { return {}; }
  Losses read_losses() override { return {}; }
  bool live() const override { return stay_live; }
  bool retains() const override { return retaining_; }
  void retain(void* buffer, uint16_t times) override {
    EXPECT_NE(buffer, nullptr);
    unreleased_ += times;
  }
  void release(std::span<void* const> buffers) override { unreleased_ -= static_cast<int64_t>(buffers.size()); }

  bool stay_live = false;
  std::atomic<bool>* stop_at_end = nullptr;

 private:
  std::vector<Timed> packets_;
  bool retaining_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<Bytes>> burst_;
  std::atomic<int64_t> unreleased_{0};
};

// Collects the batches of all threads.
class AllBatches {
 public:
  void add(v1::TupleBatch batch) {
    std::lock_guard lock(mutex_);
    batches.push_back(std::move(batch));
  }
  std::vector<v1::TupleBatch> batches;

 private:
  std::mutex mutex_;
};

class SharedSink final : public NullSink {
 public:
  explicit SharedSink(AllBatches* sent) : sent_(sent) {}
  Sent send(uint32_t partition, std::string_view bytes, uint64_t ticket) override {
    v1::TupleBatch batch;
    EXPECT_TRUE(batch.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    sent_->add(std::move(batch));
    return NullSink::send(partition, bytes, ticket);
  }

 private:
  AllBatches* sent_;
};

// Returns the interleaved packets of connections with `requests` GETs each.
std::vector<Timed> traffic(uint32_t connections, uint32_t requests) {
  std::vector<std::vector<Bytes>> frames(connections);
  for (uint32_t i = 0; i < connections; ++i) {
    TcpSegment out{.src_ip = 0x0a000100 + i, .src_port = static_cast<uint16_t>(40000 + i)};
    TcpSegment in{out.dst_ip, out.dst_port, out.src_ip, out.src_port, 0, 0, 0, {}};
    uint32_t client = 1000 * i, server = 77 * i;
    auto send = [&](TcpSegment& side, uint8_t flags, uint32_t& mine, uint32_t theirs, const std::string& payload) {
      side.flags = flags, side.seq = mine, side.ack = theirs, side.payload = payload;
      frames[i].push_back(tcp_frame(side));
      mine += static_cast<uint32_t>(payload.size()) + ((flags & (tcp_flag::kSyn | tcp_flag::kFin)) != 0);
    };
    constexpr uint8_t kAck = tcp_flag::kAck;
    send(out, tcp_flag::kSyn, client, 0, "");
    send(in, tcp_flag::kSyn | kAck, server, client, "");
    send(out, kAck, client, server, "");
    for (uint32_t request = 0; request < requests; ++request) {
      send(out, kAck, client, server,
           "GET /" + std::to_string(i) + "/" + std::to_string(request) + " HTTP/1.1\r\nHost: h\r\n\r\n");
      send(in, kAck, server, client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    send(out, tcp_flag::kFin | kAck, client, server, "");
    send(in, tcp_flag::kFin | kAck, server, client, "");
  }
  std::mt19937 random(7);
  std::vector<Timed> packets;
  for (size_t left = connections; left > 0;) {
    auto& next = frames[random() % connections];
    if (next.empty()) continue;
    packets.push_back({kStart + static_cast<int64_t>(packets.size()) * 1'000'000, next.front()});
    next.erase(next.begin());
    left -= next.empty();
  }
  return packets;
}

std::string entry_of(const v1::Column& column, uint64_t entry) {
  const int index = static_cast<int>(entry);
  const uint32_t begin = index == 0 ? 0 : column.dictionary_end(index - 1);
  return column.dictionary().substr(begin, column.dictionary_end(index) - begin);
}

// Returns every row of every batch as text, sorted.
std::vector<std::string> rows(const std::vector<v1::TupleBatch>& batches) {
  std::vector<std::string> rows;
  for (const auto& batch : batches) {
    for (uint32_t row = 0; row < batch.rows(); ++row) {
      std::string text = batch.query() + " " + batch.parser();
      for (const auto& column : batch.columns()) {
        uint64_t number = 0;
        for (uint32_t i = 0; i < column.width(); ++i) {
          number |= uint64_t{static_cast<uint8_t>(column.data()[row * column.width() + i])} << (8 * i);
        }
        number += column.base();
        const bool worded = column.type() == v1::Column::STRING || column.type() == v1::Column::ADDRESS;
        text += " " + (worded ? entry_of(column, number) : std::to_string(number));
      }
      rows.push_back(std::move(text));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// A lane with its parsing units, in pipeline mode or run to completion.
class LaneFixture {
 public:
  explicit LaneFixture(std::vector<QuerySpec> queries) : queries_(std::move(queries)) {}

  // An empty layout means run to completion.
  void run(TestSource& source, const std::vector<WorkerLayout>& layout, uint32_t ring_packets = 256) {
    auto specs = queries_;
    specs.resize(kMaxQueries);
    std::vector<std::unique_ptr<ParserUnit>> units;
    auto make_unit = [&](const std::vector<std::string>& names) {
      std::vector<std::unique_ptr<Parser>> parsers;
      for (const std::string& name : names) parsers.push_back(name == "views" ? view_parser() : make_parser(name));
      auto make_output = [&](std::span<const Schema* const> schemas, QueryAccounts* accounts) {
        BatchOutputOptions options{.monitor_id = "m", .lane = static_cast<uint32_t>(units.size())};
        return std::make_unique<BatchOutput>(options, specs, schemas, accounts, std::make_unique<SharedSink>(&sent_));
      };
      units.push_back(std::make_unique<ParserUnit>(specs, std::move(parsers), EngineOptions{.max_connections = 4096},
                                                   !source.live(), make_output));
      return units.back().get();
    };
    QueryAccounts accounts(kMaxQueries);
    std::vector<WorkerGroup> groups;
    for (const WorkerLayout& worker : layout) {
      WorkerGroup& group = groups.emplace_back();
      group.parsers = worker.parsers;
      for (uint32_t i = 0; i < worker.threads; ++i) {
        ParserUnit* unit = make_unit(worker.parsers);
        group.by_flow = unit->follows_flows();
        group.all_views = unit->wants_all_views();
        group.fragments = unit->wants_fragments();
        group.losses = unit->wants_losses();
        group.workers.push_back(std::make_unique<Worker>(unit, &source, ring_packets, false));
      }
    }
    if (layout.empty()) make_unit({"http_get", "tcp_conn_time", "tcp_pkt_size"});
    for (uint32_t query = 0; query < queries_.size(); ++query) {
      specs[query].lanes = 0;
      for (const auto& unit : units) specs[query].lanes += unit->serves(query);
    }
    std::unique_ptr<DispatchStage> dispatch;
    if (!layout.empty()) dispatch = std::make_unique<DispatchStage>(specs, std::move(groups), &source, &accounts);
    PacketStage* stage = dispatch ? static_cast<PacketStage*>(dispatch.get()) : &units[0]->stage();
    PacketCredits credits;
    Lane lane(lane_options, specs, &source, stage, dispatch ? &accounts : &units[0]->accounts(), &credits, &stop);
    for (auto& unit : units) {
      ASSERT_TRUE(unit->output().start().ok());
      for (uint32_t query = 0; query < queries_.size(); ++query) {
        if (!unit->serves(query)) continue;
        ASSERT_TRUE(unit->output().prepare(query).ok());
      }
    }
    if (dispatch) dispatch->start();
    for (uint32_t query = 0; query < queries_.size(); ++query) {
      credits.reset(query, queries_[query].limit_packets.value_or(0));
      lane.add(query);
    }
    ASSERT_TRUE(lane.run().ok());
    EXPECT_TRUE(lane.accounting().balanced());
    lane_accounting = lane.accounting();
    sums.assign(queries_.size(), {});
    for (auto& unit : units) {
      for (uint32_t query = 0; query < queries_.size(); ++query) sums[query] += unit->accounts()[query];
    }
    for (const Accounting& sum : sums) EXPECT_TRUE(sum.balanced());
    for (auto& unit : units) engines += unit->stage().published().engine;
  }

  const std::vector<v1::TupleBatch>& batches() const { return sent_.batches; }

  LaneOptions lane_options;
  std::vector<Accounting> sums;
  LaneAccounting lane_accounting;
  EngineStats engines;
  std::atomic<bool> stop{false};

 private:
  std::vector<QuerySpec> queries_;
  AllBatches sent_;
};

std::vector<QuerySpec> queries() {
  std::vector<QuerySpec> queries = {{.name = "web", .parsers = {"http_get", "tcp_conn_time"}},
                                    {.name = "size", .parsers = {"tcp_pkt_size"}},
                                    {.name = "some", .parsers = {"http_get"}, .limit_packets = 400},
                                    {.name = "half", .parsers = {"http_get"}, .sampling_rate = 0.5}};
  return queries;
}

const std::vector<std::vector<WorkerLayout>> kLayouts = {
    {{{"http_get", "tcp_conn_time", "tcp_pkt_size"}, 1}},
    {{{"http_get", "tcp_conn_time", "tcp_pkt_size"}, 3}},
    {{{"http_get"}, 2}, {{"tcp_conn_time"}, 1}, {{"tcp_pkt_size"}, 2}},
};

TEST(DispatchTest, TuplesDoNotDependOnTheNumberOfThreads) {
  const auto packets = traffic(60, 8);
  TestSource file(packets, false);
  LaneFixture reference(queries());
  reference.run(file, {});
  ASSERT_GT(rows(reference.batches()).size(), 60u * 8);
  for (const auto& layout : kLayouts) {
    for (bool retaining : {false, true}) {
      TestSource source(packets, retaining);
      LaneFixture rig(queries());
      rig.run(source, layout);
      EXPECT_TRUE(rows(rig.batches()) == rows(reference.batches())) << rows(rig.batches()).size();
      EXPECT_EQ(rig.sums, reference.sums);
    }
  }
}

TEST(DispatchTest, EachLaneOfAQueryEndsAndReportsTheNumberOfLanes) {
  TestSource source(traffic(20, 3), true);
  LaneFixture rig(queries());
  rig.run(source, kLayouts[2]);
  std::map<std::string, std::map<uint32_t, uint64_t>> batches;
  std::map<std::string, uint32_t> ends, lanes;
  for (const auto& batch : rig.batches()) {
    EXPECT_EQ(batch.sequence(), batches[batch.query()][batch.lane()]++);
    ends[batch.query()] += batch.end_of_stream();
    lanes[batch.query()] = batch.lanes();
  }
  for (const auto& [query, by_lane] : batches) {
    EXPECT_EQ(by_lane.size(), lanes[query]) << query;
    EXPECT_EQ(ends[query], lanes[query]) << query;
  }
  EXPECT_EQ(lanes["web"], 3u);
  EXPECT_EQ(lanes["size"], 2u);
}

TEST(DispatchTest, EachLaneReportsTheStartOfTheWatch) {
  const auto packets = traffic(20, 3);
  TestSource source(packets, true);
  LaneFixture rig(queries());
  rig.run(source, kLayouts[2]);
  ASSERT_FALSE(rig.batches().empty());
  for (const auto& batch : rig.batches()) {
    EXPECT_EQ(batch.watched_since_ns(), packets[0].time_ns) << batch.query() << " " << batch.lane();
  }
}

TEST(DispatchTest, RepeatedViewsGoToWorkersThatRequestThem) {
  const auto arrivals = traffic(20, 3);
  std::vector<Timed> packets;
  for (const Timed& packet : arrivals) {
    packets.push_back(packet);
    packets.push_back({packet.time_ns + 100, packet.frame, 1});
  }
  for (bool retaining : {false, true}) {
    TestSource source(packets, retaining);
    LaneFixture rig({{.name = "views", .parsers = {"views"}}, {.name = "size", .parsers = {"tcp_pkt_size"}}});
    rig.lane_options.taps = 2;
    rig.lane_options.views = ViewOptions();
    rig.run(source, {{{"views"}, 2}, {{"tcp_pkt_size"}, 1}});
    uint64_t views = 0;
    for (const auto& batch : rig.batches()) views += batch.parser() == "views" ? batch.rows() : 0;
    EXPECT_EQ(views, packets.size());
    for (const Accounting& sum : rig.sums) EXPECT_EQ(sum.packets_out, arrivals.size()) << "each packet counts once";
    EXPECT_EQ(rig.lane_accounting.repeated, arrivals.size());
  }
}

TEST(DispatchTest, ALiveCaptureDropsAndCountsPacketsWhenRingsAreFull) {
  TestSource source(traffic(200, 40), true);
  source.stay_live = true;
  LaneFixture rig({{.name = "web", .parsers = {"http_get", "tcp_conn_time"}}});
  source.stop_at_end = &rig.stop;
  // Rings are smaller than a burst, so some packets do not fit.
  rig.run(source, {{{"http_get"}, 1}, {{"tcp_conn_time"}, 1}}, 32);
  const Accounting& sum = rig.sums[0];
  EXPECT_EQ(rig.lane_accounting.received, 200u * (5 + 80));
  EXPECT_EQ(sum.packets_in, rig.lane_accounting.received);
  EXPECT_GT(sum.dropped[index_of(Drop::kWorkerRingFull)], 0u);
  EXPECT_GT(sum.packets_out, 0u);
}

// Two workers count the packets of one trigger. The packets that full rings refuse make windows uncertain.
TEST(DispatchTest, TriggersLearnOfPacketsThatWorkersMissed) {
  trigger::Trigger few;
  few.when = trigger::below(trigger::value_of(trigger::Measure::kPackets), trigger::number(1e6));
  few.every_ns = 1'000'000;
  std::string error;
  const auto program = trigger::Program::make({few}, &error);
  ASSERT_NE(program, nullptr) << error;
  // All packets lie within 16 ms, so no worker is too far behind the other one.
  std::vector<Timed> packets = traffic(180, 40);
  for (size_t i = 0; i < packets.size(); ++i) packets[i].time_ns = kStart + static_cast<int64_t>(i) * 1'000;
  for (const uint32_t ring_packets : {32u, 1u << 16}) {
    TestSource source(packets, true);
    source.stay_live = true;
    const auto shared = std::make_shared<trigger::SharedTriggers>(program, 2);
    LaneFixture rig({{.name = "few", .parsers = {"trigger"}, .triggers = program, .shared_triggers = shared}});
    source.stop_at_end = &rig.stop;
    rig.run(source, {{{"trigger"}, 2}}, ring_packets);
    const uint64_t dropped = rig.sums[0].dropped[index_of(Drop::kWorkerRingFull)];
    EXPECT_EQ(dropped > 0, ring_packets == 32u);
    EXPECT_EQ(rig.engines.triggers.lossy_windows > 0, dropped > 0);
    EXPECT_GT(rig.engines.triggers.windows, 10u);
  }
}

}  // namespace
}  // namespace tapline
