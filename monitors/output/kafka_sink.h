// Sends batches to Kafka, with an idempotent producer, a bounded queue and explicit partitions.
//
// There is one producer per lane. librdkafka has its own threads; poll(), wait() and flush() handle their events on the
// lane's thread.
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
  // PEM files. If there is no CA, connections to brokers are unencrypted.
  std::string ca;
  std::string certificate;
  std::string key;
  // If the user is empty, there is no login. The mechanism is PLAIN, because librdkafka before 2.6.1 reuses its SCRAM
  // nonce, which brokers since 3.8.1 reject.
  std::string user;
  std::string password;
  std::string compression = "lz4";  // "lz4", "zstd" or "none"
  uint32_t queue_mib = 64;
  // Time for which start() and prepare() retry, and for which flush() continues without any delivery.
  uint32_t timeout_ms = 10'000;
  // Time for which a batch may wait for its broker before it fails; 0: unlimited. Live captures require 0, since a
  // failed batch may have reached the broker after all and would then count twice. Instead, they refuse new batches
  // while the queue is full.
  uint32_t delivery_timeout_ms = 60'000;
  // True for capture files, for which the failure of a batch is an error.
  bool failure_is_error = false;
};

class KafkaSink final : public BatchSink {
 public:
  // `queries` are the query slots and must outlive the sink; prepare() and send() take the index of a slot.
  KafkaSink(KafkaOptions options, std::span<const QuerySpec> queries);
  ~KafkaSink() override;

  // Fails unless a broker responds.
  Status start(DeliveryListener* listener) override;
  // Fails unless the query's topic has the query's partition.
  Status prepare(uint32_t query) override;
  Sent send(uint32_t query, std::string_view batch, uint64_t ticket) override;
  double fill() const override;
  void poll() override;
  void wait() override;
  Status flush() override;
  Status status() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
