// Batches into Kafka: idempotent producer, bounded queue, explicit partitions.
//
// One producer per lane. librdkafka has threads of its own; what they have to tell is told in Poll(), Wait() and
// Flush() on the lane's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "monitors/output/batch_sink.h"
#include "monitors/plan/query_spec.h"

namespace tapline {

struct KafkaOptions {
  std::string brokers;  // HOST:PORT[,HOST:PORT…]
  // PEM files; without authorities brokers are spoken to in the clear.
  std::string ca;
  std::string certificate;
  std::string key;
  // Without a user there is no login. By PLAIN: librdkafka before 2.6.1 repeats its nonce in SCRAM, for which brokers
  // since 3.8.1 refuse it.
  std::string user;
  std::string password;
  std::string compression = "lz4";  // "lz4", "zstd" or "none"
  uint32_t queue_mib = 64;
  // How long Start() tries, and Flush() goes on without anything being delivered.
  uint32_t timeout_ms = 10'000;
  // How long a batch may wait for its broker before it is given up; 0: as long as it takes. Live captures need 0: of a
  // batch given up nobody can say whether the broker has it after all, and then it would count twice. What they can't
  // get rid of is refused at the entrance.
  uint32_t delivery_timeout_ms = 60'000;
  // Capture files: a batch that is given up is an error.
  bool failure_is_error = false;
};

class KafkaSink final : public BatchSink {
 public:
  // `queries` are places that outlive the sink: Prepare() looks at one, Send() takes its number.
  KafkaSink(KafkaOptions options, std::span<const QuerySpec> queries);
  ~KafkaSink() override;

  // Fails unless a broker answers.
  Status Start(DeliveryListener* listener) override;
  // Fails unless the query's topic has its partition.
  Status Prepare(uint32_t query) override;
  Sent Send(uint32_t query, std::string_view batch, uint64_t ticket) override;
  double fill() const override;
  void Poll() override;
  void Wait() override;
  Status Flush() override;
  Status status() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
