// A BatchOutput with two parsers, two queries, and a sink that is full or fails a batch on request.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "monitors/output/batch_output.h"

namespace tapline {

inline constexpr int64_t kMs = 1'000'000;

inline const Schema& letters() {
  static const Schema schema = {.name = "letters", .fields = {{"text", FieldType::kString}}};
  return schema;
}
inline const Schema& numbers() {
  static const Schema schema = {.name = "numbers", .fields = {{"number", FieldType::kU64}}};
  return schema;
}

struct SentBatch {
  uint32_t query;
  v1::TupleBatch batch;
  uint64_t ticket;
};

// A sink that is full or fails a batch when the test requests it.
class TestSink final : public BatchSink {
 public:
  explicit TestSink(std::vector<SentBatch>* sent) : sent_(sent) {}
  Status start(DeliveryListener* listener) override {
    listener_ = listener;
    return {};
  }
  Status prepare(uint32_t) override { return {}; }
  Sent send(uint32_t query, std::string_view bytes, uint64_t ticket) override {
    if (full) return Sent::kFull;
    v1::TupleBatch batch;
    EXPECT_TRUE(batch.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    sent_->push_back({query, batch, ticket});
    return Sent::kTaken;
  }
  double fill() const override { return full ? 1 : 0; }
  void poll() override {}
  void wait() override {
    ++waits;
    full = false;
  }
  Status flush() override { return {}; }
  Status status() const override { return {}; }
  void acknowledge(size_t index, bool delivered) { listener_->on_delivery((*sent_)[index].ticket, delivered); }

  bool full = false;
  int waits = 0;

 private:
  std::vector<SentBatch>* sent_;
  DeliveryListener* listener_ = nullptr;
};

class BatchOutputTest : public testing::Test {
 protected:
  void open(BatchOutputOptions options = {}) {
    options.monitor_id = "m";
    auto sink = std::make_unique<TestSink>(&sent_);
    sink_ = sink.get();
    output_ = std::make_unique<BatchOutput>(options, queries_, schemas_, &accounts_, std::move(sink));
    ASSERT_TRUE(output_->start().ok());
    for (uint32_t i = 0; i < queries_.size(); ++i) {
      ASSERT_TRUE(output_->prepare(i).ok());
      output_->add_query(i);
    }
  }
  void emit_letter(int64_t time_ns, uint64_t queries, std::string_view text = "x") {
    TupleHeader header;
    header.time_ns = time_ns;
    header.queries = queries;
    const Value values[] = {Value::string(text)};
    output_->emit(0, header, values);
  }
  void emit_number(int64_t time_ns, uint64_t queries) {
    TupleHeader header;
    header.time_ns = time_ns;
    header.queries = queries;
    const Value values[] = {Value::u64(1)};
    output_->emit(1, header, values);
  }
  v1::Accounting total_of(uint32_t query, std::map<std::string, uint64_t>* dropped) {
    v1::Accounting total;
    for (const SentBatch& sent : sent_) {
      if (sent.query != query) continue;
      const v1::Accounting& delta = sent.batch.accounting();
      total.set_packets_in(total.packets_in() + delta.packets_in());
      total.set_tuples_in(total.tuples_in() + delta.tuples_in());
      for (const auto& entry : delta.dropped()) (*dropped)[entry.reason()] += entry.count();
    }
    return total;
  }
  uint64_t rows(uint32_t query) {
    uint64_t rows = 0;
    for (const SentBatch& sent : sent_) rows += sent.query == query ? sent.batch.rows() : 0;
    return rows;
  }

  std::vector<QuerySpec> queries_ = {{.name = "q0", .parsers = {"letters", "numbers"}},
                                     {.name = "q1", .parsers = {"numbers"}}};
  std::vector<const Schema*> schemas_ = {&letters(), &numbers()};
  QueryAccounts accounts_ = QueryAccounts(2);
  std::vector<SentBatch> sent_;
  TestSink* sink_ = nullptr;
  std::unique_ptr<BatchOutput> output_;
};

}  // namespace tapline
