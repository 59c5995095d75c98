// Adds up the tuple batches in partition 0 of a topic, for tests that compare them with a monitor's own accounting.
//
// usage: batch_audit BROKERS create TOPIC [PARTITIONS]    1 by default
//        batch_audit BROKERS read TOPIC                   reads to the end, and prints JSON:
//   {"batches":n,"rows":n,"gaps":n,"repeats":n,"watermarks_back":n,"ends":n,"heartbeats":n,"weighted_rows":x,
//    "rates":{"1":rows,…},"packets_in":n,…,"dropped":{reason:n}}
// Gaps and repeats are those of each lane's sequence numbers, in the order of the partition.
#include <librdkafka/rdkafka.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "schema/tuple_batch.pb.h"

namespace tapline {
namespace {

constexpr int kWaitMs = 30'000;

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "batch_audit: error: %s\n", message.c_str());
  std::exit(1);
}

using Client = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;

Client connect(rd_kafka_type_t type, const std::string& brokers) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char error[512];
  const std::pair<const char*, std::string> settings[] = {{"bootstrap.servers", brokers},
                                                          {"group.id", "audit"},
                                                          {"enable.partition.eof", "true"},
                                                          {"enable.auto.commit", "false"},
                                                          {"fetch.message.max.bytes", "4194304"}};
  for (const auto& [name, value] : settings) {
    bool of_consumer = name != settings[0].first;
    if (type == RD_KAFKA_PRODUCER && of_consumer) continue;
    if (rd_kafka_conf_set(conf, name, value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK) die(error);
  }
  Client client(rd_kafka_new(type, conf, error, sizeof error), &rd_kafka_destroy);
  if (!client) die(error);
  return client;
}

void create(const std::string& brokers, const std::string& topic, int partitions) {
  Client client = connect(RD_KAFKA_PRODUCER, brokers);
  char error[512];
  rd_kafka_NewTopic_t* wanted = rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, error, sizeof error);
  rd_kafka_queue_t* responses = rd_kafka_queue_new(client.get());
  rd_kafka_CreateTopics(client.get(), &wanted, 1, nullptr, responses);
  rd_kafka_event_t* event = rd_kafka_queue_poll(responses, kWaitMs);
  if (event == nullptr) die("no response");
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_event_error_string(event));
  size_t count = 0;
  auto results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  if (count != 1 || rd_kafka_topic_result_error(results[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) die("not created");
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(responses);
  rd_kafka_NewTopic_destroy(wanted);
}

class Sums {
 public:
  void add(const v1::TupleBatch& batch) {
    ++batches_;
    rows_ += batch.rows();
    weighted_rows_ += batch.rows() / batch.sampling_rate();
    rates_[batch.sampling_rate()] += batch.rows();
    heartbeats_ += batch.rows() == 0 && !batch.end_of_stream();
    ends_ += batch.end_of_stream();
    auto& next = next_[{batch.monitor(), batch.incarnation(), batch.lane()}];
    if (batch.sequence() < next.sequence) ++repeats_;
    if (batch.sequence() > next.sequence) gaps_ += batch.sequence() - next.sequence;
    next.sequence = std::max(next.sequence, batch.sequence() + 1);
    watermarks_back_ += batch.watermark_ns() < next.watermark_ns;
    next.watermark_ns = batch.watermark_ns();
    add_accounting(batch.accounting());
  }

  std::string json() const {
    nlohmann::ordered_json rates = nlohmann::ordered_json::object();
    for (const auto& [rate, rows] : rates_) rates[nlohmann::json(rate).dump()] = rows;
    nlohmann::ordered_json all = {{"batches", batches_},
                                  {"rows", rows_},
                                  {"gaps", gaps_},
                                  {"repeats", repeats_},
                                  {"watermarks_back", watermarks_back_},
                                  {"ends", ends_},
                                  {"heartbeats", heartbeats_},
                                  {"weighted_rows", weighted_rows_},
                                  {"rates", rates},
                                  {"packets_in", packets_in_},
                                  {"packets_out", packets_out_},
                                  {"bytes_in", bytes_in_},
                                  {"tuples_in", tuples_in_},
                                  {"dropped", dropped_}};
    return all.dump();
  }

 private:
  struct Next {
    uint64_t sequence = 0;
    int64_t watermark_ns = INT64_MIN;
  };

  void add_accounting(const v1::Accounting& accounting) {
    packets_in_ += accounting.packets_in();
    packets_out_ += accounting.packets_out();
    bytes_in_ += accounting.bytes_in();
    tuples_in_ += accounting.tuples_in();
    for (const v1::Dropped& dropped : accounting.dropped()) dropped_[dropped.reason()] += dropped.count();
  }

  uint64_t batches_ = 0, rows_ = 0, gaps_ = 0, repeats_ = 0, watermarks_back_ = 0, ends_ = 0, heartbeats_ = 0;
  uint64_t packets_in_ = 0, packets_out_ = 0, bytes_in_ = 0, tuples_in_ = 0;
  double weighted_rows_ = 0;
  std::map<double, uint64_t> rates_;
  std::map<std::string, uint64_t> dropped_;
  std::map<std::tuple<std::string, uint64_t, uint32_t>, Next> next_;
};

void read(const std::string& brokers, const std::string& topic) {
  Client client = connect(RD_KAFKA_CONSUMER, brokers);
  rd_kafka_poll_set_consumer(client.get());
  rd_kafka_topic_partition_list_t* partitions = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(partitions, topic.c_str(), 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(client.get(), partitions);
  rd_kafka_topic_partition_list_destroy(partitions);
  Sums sums;
  while (true) {
    std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)> message(
        rd_kafka_consumer_poll(client.get(), kWaitMs), &rd_kafka_message_destroy);
    if (!message) die("the broker does not respond");
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_message_errstr(message.get()));
    v1::TupleBatch batch;
    if (!batch.ParseFromArray(message->payload, static_cast<int>(message->len))) die("a record is not a tuple batch");
    sums.add(batch);
  }
  std::printf("%s\n", sums.json().c_str());
  rd_kafka_consumer_close(client.get());
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) die("usage: batch_audit BROKERS create|read TOPIC [PARTITIONS]");
  if (std::strcmp(argv[2], "create") == 0) {
    create(argv[1], argv[3], argc == 5 ? std::atoi(argv[4]) : 1);
  } else {
    read(argv[1], argv[3]);
  }
  return 0;
}

}  // namespace
}  // namespace tapline

int main(int argc, char** argv) { return tapline::main(argc, argv); }
