#include "monitors/output/kafka_sink.h"

#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <algorithm>

#include "packet_io/base/clock.h"

namespace tapline {
namespace {

constexpr int kMetadataTryMs = 1000;
// Time limit for a broker's response. It exceeds the nine seconds after which brokers consider another broker dead.
constexpr int kBrokerResponseMs = 12'000;
constexpr int kPauseUs = 100'000;
constexpr int kWaitMs = 100;
// Time limit for brokers to learn about a new user or access right, which usually takes milliseconds.
constexpr uint32_t kMaxGrantMs = 5'000;

struct FreeTopic {
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
};
using Topic = std::unique_ptr<rd_kafka_topic_t, FreeTopic>;

void ignore_log(const rd_kafka_t*, int, const char*, const char*) {}

// Returns true if waiting may help: topics take a moment to appear after their creation.
bool may_pass(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
         error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__TRANSPORT;
}

}  // namespace

class KafkaSink::Impl {
 public:
  Impl(KafkaOptions options, std::span<const QuerySpec> queries)
      : options_(std::move(options)), queries_(queries), topics_(queries.size()) {}

  ~Impl() {
    if (producer_ == nullptr) return;
    rd_kafka_purge(producer_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    listener_ = nullptr;
    topics_.clear();
    rd_kafka_destroy(producer_);
  }

  Status start(DeliveryListener* listener) {
    listener_ = listener;
    if (Status status = create(); !status.ok()) return status;
    return await_broker();
  }

  Status prepare(uint32_t query) {
    const QuerySpec& spec = queries_[query];
    topics_[query].reset(rd_kafka_topic_new(producer_, spec.topic.c_str(), nullptr));
    return await_topic(spec);
  }

  Sent send(uint32_t query, std::string_view batch, uint64_t ticket) {
    int failed =
        rd_kafka_produce(topics_[query].get(), static_cast<int32_t>(queries_[query].partition), RD_KAFKA_MSG_F_COPY,
                         const_cast<char*>(batch.data()), batch.size(), nullptr, 0, reinterpret_cast<void*>(ticket));
    if (failed == 0) {
      queued_bytes_ += batch.size();
      return Sent::kTaken;
    }
    rd_kafka_resp_err_t error = rd_kafka_last_error();
    if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) return Sent::kFull;
    fail(error);
    return Sent::kRefused;
  }

  // Returns the used share of the queue. Batches that were sent but not acknowledged also count.
  double fill() const { return static_cast<double>(queued_bytes_) / (uint64_t{options_.queue_mib} << 20); }

  void poll(int timeout_ms) { rd_kafka_poll(producer_, timeout_ms); }

  Status flush() {
    int64_t last_news_ns = monotonic_ns();
    int waiting = rd_kafka_outq_len(producer_);
    while (waiting > 0 && status_.ok()) {
      rd_kafka_flush(producer_, kWaitMs);
      int now_waiting = rd_kafka_outq_len(producer_);
      if (now_waiting < waiting) last_news_ns = monotonic_ns();
      waiting = now_waiting;
      if (monotonic_ns() - last_news_ns > options_.timeout_ms * kNsPerMs) {
        return Status::resources("Kafka at " + options_.brokers + " stopped accepting batches; " +
                                 std::to_string(waiting) + " were not delivered" + because());
      }
    }
    return status_;
  }

  Status status() const { return status_; }

 private:
  Status create() {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    std::vector<std::pair<const char*, std::string>> settings = {
        {"bootstrap.servers", options_.brokers},
        {"client.id", "tapline-monitor"},
        {"enable.idempotence", "true"},
        {"compression.codec", options_.compression},
        {"linger.ms", "5"},
        {"queue.buffering.max.kbytes", std::to_string(options_.queue_mib * 1024)},
        {"message.timeout.ms", std::to_string(options_.delivery_timeout_ms)},
        {"topic.metadata.refresh.fast.interval.ms", "100"},
        // A broker that is frozen or unreachable sends no error, and the client looks for a new leader only once
        // requests time out.
        {"socket.timeout.ms", std::to_string(kBrokerResponseMs)},
    };
    const bool tls = !options_.ca.empty();
    const bool login = !options_.user.empty();
    if (tls || login) {
      settings.emplace_back("security.protocol", !login ? "ssl" : tls ? "sasl_ssl" : "sasl_plaintext");
    }
    if (login) {
      settings.insert(
          settings.end(),
          {{"sasl.mechanism", "PLAIN"}, {"sasl.username", options_.user}, {"sasl.password", options_.password}});
    }
    if (tls) {
      settings.insert(settings.end(), {{"ssl.endpoint.identification.algorithm", "https"},
                                       {"ssl.ca.location", options_.ca},
                                       {"ssl.certificate.location", options_.certificate},
                                       {"ssl.key.location", options_.key}});
    }
    char error[512] = "";
    for (const auto& [name, value] : settings) {
      if (rd_kafka_conf_set(conf, name, value.c_str(), error, sizeof error) == RD_KAFKA_CONF_OK) continue;
      rd_kafka_conf_destroy(conf);
      return Status::invalid(std::string("Kafka's producer does not accept ") + name + ": " + error);
    }
    rd_kafka_conf_set_opaque(conf, this);
    rd_kafka_conf_set_dr_msg_cb(conf, &Impl::on_delivery);
    rd_kafka_conf_set_error_cb(conf, &Impl::on_error);
    rd_kafka_conf_set_log_cb(conf, &ignore_log);
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    if (producer_ != nullptr) return {};
    rd_kafka_conf_destroy(conf);
    return Status::resources(std::string("can't start Kafka's producer: ") + error);
  }

  int64_t deadline() const { return monotonic_ns() + options_.timeout_ms * kNsPerMs; }

  // Returns the time until which a refusal may be due to a broker that does not yet know a new user or access right.
  int64_t grant_deadline() const { return monotonic_ns() + std::min(options_.timeout_ms, kMaxGrantMs) * kNsPerMs; }

  Status await_broker() {
    const int64_t grant_deadline_ns = grant_deadline();
    for (int64_t deadline_ns = deadline();;) {
      uint32_t partitions = 0;
      rd_kafka_resp_err_t error = count_partitions("", &partitions);
      rd_kafka_poll(producer_, 0);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return {};
      if (login_refused_ && monotonic_ns() >= grant_deadline_ns) return login_refused();
      if (!may_pass(error) || monotonic_ns() >= deadline_ns) return unreachable(error, because());
      usleep(kPauseUs);
    }
  }

  // Waits for a topic. Does not call rd_kafka_poll(), since its events are for the lane's thread.
  Status await_topic(const QuerySpec& query) {
    const int64_t grant_deadline_ns = grant_deadline();
    for (int64_t deadline_ns = deadline();;) {
      uint32_t partitions = 0;
      rd_kafka_resp_err_t error = count_partitions(query.topic, &partitions);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return check_partition(query, partitions);
      if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && monotonic_ns() >= grant_deadline_ns &&
          may_not_write(query))
        return topic_refused("topic " + query.topic);
      if (!may_pass(error) || monotonic_ns() >= deadline_ns) return no_topic(query, error);
      usleep(kPauseUs);
    }
  }

  // Counts a topic's partitions. Requests all topics, because for a single topic that does not exist, librdkafka
  // responds as if it had reached no broker.
  rd_kafka_resp_err_t count_partitions(const std::string& topic, uint32_t* partitions) {
    const rd_kafka_metadata_t* metadata = nullptr;
    rd_kafka_resp_err_t error = rd_kafka_metadata(producer_, 1, nullptr, &metadata, kMetadataTryMs);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
    auto end = metadata->topics + metadata->topic_cnt;
    auto it = std::find_if(metadata->topics, end, [&](const auto& candidate) { return candidate.topic == topic; });
    error = it == end ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : it->err;
    *partitions = it == end ? 0 : static_cast<uint32_t>(it->partition_cnt);
    rd_kafka_metadata_destroy(metadata);
    return error;
  }

  // Returns true if this client has no access to the topic. The broker then does not list the topic, regardless of its
  // existence.
  bool may_not_write(const QuerySpec& query) {
    Topic topic(rd_kafka_topic_new(producer_, query.topic.c_str(), nullptr));
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(producer_, 0, topic.get(), &metadata, kMetadataTryMs) != RD_KAFKA_RESP_ERR_NO_ERROR)
      return false;
    const bool was_refused =
        metadata->topic_cnt == 1 && metadata->topics[0].err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    rd_kafka_metadata_destroy(metadata);
    return was_refused;
  }

  // Returns this client's name for error messages.
  std::string principal() const {
    if (!options_.user.empty()) return "User:" + options_.user;
    return options_.certificate.empty() ? "an anonymous client" : "the owner of " + options_.certificate;
  }

  Status topic_refused(const std::string& action) const {
    return Status::resources(
        "Kafka at " + options_.brokers + " does not allow " + principal() + " to write " + action +
        "; the control plane grants that to the agents of a query's hosts: does the agent's --name "
        "match its certificate?");
  }

  Status login_refused() const {
    return Status::resources("Kafka at " + options_.brokers + " rejects the login of " + principal() + because() +
                             "; check the user and password of --broker-login-file");
  }

  static Status check_partition(const QuerySpec& query, uint32_t partitions) {
    if (query.partition < partitions) return {};
    return Status::invalid("topic " + query.topic + " has " + std::to_string(partitions) +
                           " partitions, but the plan of '" + query.name + "' names partition " +
                           std::to_string(query.partition));
  }

  Status no_topic(const QuerySpec& query, rd_kafka_resp_err_t error) const {
    if (error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return unreachable(error, "");
    return Status::resources("Kafka at " + options_.brokers + " has no topic " + query.topic +
                             "; create it before the monitor starts");
  }

  Status unreachable(rd_kafka_resp_err_t error, const std::string& because) const {
    return Status::resources("Kafka at " + options_.brokers + " can't be reached within " +
                             std::to_string(options_.timeout_ms / 1000) + " s (" + rd_kafka_err2str(error) + ")" +
                             because + "; check that the broker is running and that --brokers names it");
  }

  std::string because() const { return last_error_.empty() ? "" : ": " + last_error_; }

  void fail(rd_kafka_resp_err_t error) {
    if (!options_.failure_is_error || !status_.ok()) return;
    status_ = Status::resources("Kafka at " + options_.brokers + " did not accept a batch (" + rd_kafka_err2str(error) +
                                ")" + because());
  }

  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto* sink = static_cast<Impl*>(opaque);
    bool delivered = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    sink->queued_bytes_ -= message->len;
    if (!delivered) sink->fail(message->err);
    if (sink->listener_ == nullptr) return;
    sink->listener_->on_delivery(reinterpret_cast<uint64_t>(message->_private), delivered);
  }

  static void on_error(rd_kafka_t* producer, int error, const char* reason, void* opaque) {
    auto* sink = static_cast<Impl*>(opaque);
    sink->last_error_ = reason;
    sink->login_refused_ |= error == RD_KAFKA_RESP_ERR__AUTHENTICATION;
    if (error != RD_KAFKA_RESP_ERR__FATAL) return;
    char text[512];
    // A producer receives an ID only if it may write to some topic.
    if (rd_kafka_fatal_error(producer, text, sizeof text) == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) {
      sink->status_ = sink->topic_refused("any topic");
    } else {
      sink->status_ = Status::resources(std::string("Kafka's producer failed: ") + text);
    }
  }

  KafkaOptions options_;
  std::span<const QuerySpec> queries_;
  DeliveryListener* listener_ = nullptr;
  rd_kafka_t* producer_ = nullptr;
  std::vector<Topic> topics_;
  std::string last_error_;
  bool login_refused_ = false;
  // Size of the accepted batches that have neither been delivered nor failed.
  uint64_t queued_bytes_ = 0;
  Status status_;
};

KafkaSink::KafkaSink(KafkaOptions options, std::span<const QuerySpec> queries)
    : impl_(std::make_unique<Impl>(std::move(options), queries)) {}
KafkaSink::~KafkaSink() = default;
Status KafkaSink::start(DeliveryListener* listener) { return impl_->start(listener); }
Status KafkaSink::prepare(uint32_t query) { return impl_->prepare(query); }
BatchSink::Sent KafkaSink::send(uint32_t query, std::string_view batch, uint64_t ticket) {
  return impl_->send(query, batch, ticket);
}
double KafkaSink::fill() const { return impl_->fill(); }
void KafkaSink::poll() { impl_->poll(0); }
void KafkaSink::wait() { impl_->poll(kWaitMs); }
Status KafkaSink::flush() { return impl_->flush(); }
Status KafkaSink::status() const { return impl_->status(); }

}  // namespace tapline
