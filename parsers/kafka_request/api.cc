#include "parsers/kafka_request/api.h"

#include <array>
#include <charconv>
#include <optional>

#include "parsers/api/bytes.h"

namespace tapline::kafka {
namespace {

constexpr int16_t kNever = Api::kNever;
// The most common beginnings of a response.
constexpr std::string_view kError = "E", kThrottledError = "4 E";
constexpr std::string_view kTopicErrors = "4 [ s [ 4 E";

// Kafka's APIs by key, derived from its message descriptions (clients/src/main/resources/common/message).
constexpr Api kApis[] = {
    {"Produce", 13, 9, "s@3 A 4 [ T@0-12 U@13", "[ s@0-12 u@13 [ 4 E"},
    {"Fetch", 18, 12, "4@0-14 4 4 4@3 1@4 4@7 4@7 [ T@0-12 U@13", "4@1 E@7 4@7 [ s@0-12 u@13 [ 4 E"},
    {"ListOffsets", 11, 6, "4 1@2 [ T", "4@2 [ s [ 4 E"},
    {"Metadata", 13, 9, "[ U@10 T", "4@3 (4 s 4 s@1) s@2 4@1 [ E"},
    {"LeaderAndIsr", 7, 4, "", "E"},
    {"StopReplica", 4, 2, "", "E"},
    {"UpdateMetadata", 8, 6, "", "E"},
    {"ControlledShutdown", 3, 3, "", "E"},
    {"OffsetCommit", 10, 8, "s 4@1 s@1 s@7 8@2-4 [ T@0-9 U@10", "4@3 [ s@0-9 u@10 [ 4 E"},
    {"OffsetFetch", 10, 6, "s@0-7 [@0-7 T@0-7 [@8 s@8 s@9 4@9 [@8 T@8-9 U@10",
     "4@3 [@0-7 s@0-7 [@0-7 4@0-7 8@0-7 4@5-7 s@0-7 E@0-7 [@8 s@8 [@8 s@8-9 u@10 [@8 4@8 8@8 4@8 s@8 E@8"},
    {"FindCoordinator", 6, 3, "", "4@1 E@0-3 [@4 s@4 4@4 s@4 4@4 E@4"},
    {"JoinGroup", 9, 6, "", "4@2 E"},
    {"Heartbeat", 4, 4, "", "4@1 E"},
    {"LeaveGroup", 5, 4, "", "4@1 E"},
    {"SyncGroup", 5, 4, "", "4@1 E"},
    {"DescribeGroups", 6, 5, "", "4@1 [ E"},
    {"ListGroups", 5, 3, "", "4@1 E"},
    {"SaslHandshake", 1, kNever, "", kError},
    {"ApiVersions", 4, 3, "", kError},
    {"CreateTopics", 7, 5, "[ T", "4@2 [ s u@7 E"},
    {"DeleteTopics", 6, 4, "[ T U@6", "4@1 [ s u@6 E"},
    {"DeleteRecords", 2, 2, "[ T", "4 [ s [ 4 8 E"},
    {"InitProducerId", 6, 2, "", kThrottledError},
    {"OffsetForLeaderEpoch", 4, 4, "4@3 [ T", "4@2 [ s [ E"},
    {"AddPartitionsToTxn", 5, 3, "s@0-3 8@0-3 2@0-3 [@0-3 T@0-3 [@4 s@4 8@4 2@4 1@4 [@4 T@4",
     "4 E@4 [@0-3 s@0-3 [@0-3 4@0-3 E@0-3"},
    {"AddOffsetsToTxn", 4, 3, "", kThrottledError},
    {"EndTxn", 5, 3, "", kThrottledError},
    {"WriteTxnMarkers", 2, 1, "", ""},
    {"TxnOffsetCommit", 5, 3, "s s 8 2 4@3 s@3 s@3 [ T", kTopicErrors},
    {"DescribeAcls", 3, 2, "", kThrottledError},
    {"CreateAcls", 3, 2, "", "4 [ E"},
    {"DeleteAcls", 3, 2, "", "4 [ E"},
    {"DescribeConfigs", 4, 4, "", "4 [ E"},
    {"AlterConfigs", 2, 2, "", "4 [ E"},
    {"AlterReplicaLogDirs", 2, 2, "", kTopicErrors},
    {"DescribeLogDirs", 5, 2, "", "4 E@3 [ E"},
    {"SaslAuthenticate", 2, 2, "", kError},
    {"CreatePartitions", 3, 2, "[ T", "4 [ s E"},
    {"CreateDelegationToken", 3, 2, "", kError},
    {"RenewDelegationToken", 2, 2, "", kError},
    {"ExpireDelegationToken", 2, 2, "", kError},
    {"DescribeDelegationToken", 3, 2, "", kError},
    {"DeleteGroups", 2, 2, "", "4 [ s E"},
    {"ElectLeaders", 2, 2, "", "4 E@1"},
    {"IncrementalAlterConfigs", 1, 1, "", "4 [ E"},
    {"AlterPartitionReassignments", 1, 0, "", "4 1@1 E"},
    {"ListPartitionReassignments", 0, 0, "", kThrottledError},
    {"OffsetDelete", 0, kNever, "s [ T", kError},
    {"DescribeClientQuotas", 1, 1, "", kThrottledError},
    {"AlterClientQuotas", 1, 1, "", "4 [ E"},
    {"DescribeUserScramCredentials", 0, 0, "", kThrottledError},
    {"AlterUserScramCredentials", 0, 0, "", ""},
    {"Vote", 2, 0, "", kError},
    {"BeginQuorumEpoch", 1, 1, "", kError},
    {"EndQuorumEpoch", 1, 1, "", kError},
    {"DescribeQuorum", 2, 0, "", kError},
    {"AlterPartition", 3, 0, "", kThrottledError},
    {"UpdateFeatures", 2, 0, "", kThrottledError},
    {"Envelope", 0, 0, "", ""},
    {"FetchSnapshot", 1, 0, "", kThrottledError},
    {"DescribeCluster", 2, 0, "", kThrottledError},
    {"DescribeProducers", 0, 0, "[ T", kTopicErrors},
    {"BrokerRegistration", 4, 0, "", kThrottledError},
    {"BrokerHeartbeat", 2, 0, "", kThrottledError},
    {"UnregisterBroker", 0, 0, "", kThrottledError},
    {"DescribeTransactions", 0, 0, "", "4 [ E"},
    {"ListTransactions", 2, 0, "", kThrottledError},
    {"AllocateProducerIds", 0, 0, "", kThrottledError},
    {"ConsumerGroupHeartbeat", 1, 0, "", kThrottledError},
    {"ConsumerGroupDescribe", 1, 0, "", "4 [ E"},
    {"ControllerRegistration", 0, 0, "", kThrottledError},
    {"GetTelemetrySubscriptions", 0, 0, "", kThrottledError},
    {"PushTelemetry", 0, 0, "", kThrottledError},
    {"AssignReplicasToDirs", 0, 0, "", kThrottledError},
    {"ListConfigResources", 1, 0, "", kThrottledError},
    {"DescribeTopicPartitions", 0, 0, "[ T", "4 [ E"},
    {"ShareGroupHeartbeat", 1, 0, "", kThrottledError},
    {"ShareGroupDescribe", 1, 0, "", "4 [ E"},
    {"ShareFetch", 2, 0, "", kThrottledError},
    {"ShareAcknowledge", 2, 0, "", kThrottledError},
    {"AddRaftVoter", 1, 0, "", kThrottledError},
    {"RemoveRaftVoter", 0, 0, "", kThrottledError},
    {"UpdateRaftVoter", 0, 0, "", kThrottledError},
    {"InitializeShareGroupState", 0, 0, "", ""},
    {"ReadShareGroupState", 0, 0, "", ""},
    {"WriteShareGroupState", 1, 0, "", ""},
    {"DeleteShareGroupState", 0, 0, "", ""},
    {"ReadShareGroupStateSummary", 1, 0, "", ""},
    {"StreamsGroupHeartbeat", 0, 0, "", kThrottledError},
    {"StreamsGroupDescribe", 0, 0, "", "4 [ E"},
    {"DescribeShareGroupOffsets", 1, 0, "", ""},
    {"AlterShareGroupOffsets", 0, 0, "", kThrottledError},
    {"DeleteShareGroupOffsets", 0, 0, "", kThrottledError},
};

constexpr std::string_view kErrors[] = {
    "NONE",
    "OFFSET_OUT_OF_RANGE",
    "CORRUPT_MESSAGE",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "INVALID_FETCH_SIZE",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
    "BROKER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "MESSAGE_TOO_LARGE",
    "STALE_CONTROLLER_EPOCH",
    "OFFSET_METADATA_TOO_LARGE",
    "NETWORK_EXCEPTION",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "INVALID_TOPIC_EXCEPTION",
    "RECORD_LIST_TOO_LARGE",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "INVALID_REQUIRED_ACKS",
    "ILLEGAL_GENERATION",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_GROUP_ID",
    "UNKNOWN_MEMBER_ID",
    "INVALID_SESSION_TIMEOUT",
    "REBALANCE_IN_PROGRESS",
    "INVALID_COMMIT_OFFSET_SIZE",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "INVALID_TIMESTAMP",
    "UNSUPPORTED_SASL_MECHANISM",
    "ILLEGAL_SASL_STATE",
    "UNSUPPORTED_VERSION",
    "TOPIC_ALREADY_EXISTS",
    "INVALID_PARTITIONS",
    "INVALID_REPLICATION_FACTOR",
    "INVALID_REPLICA_ASSIGNMENT",
    "INVALID_CONFIG",
    "NOT_CONTROLLER",
    "INVALID_REQUEST",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "POLICY_VIOLATION",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "DUPLICATE_SEQUENCE_NUMBER",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_TXN_STATE",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TRANSACTION_TIMEOUT",
    "CONCURRENT_TRANSACTIONS",
    "TRANSACTION_COORDINATOR_FENCED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "SECURITY_DISABLED",
    "OPERATION_NOT_ATTEMPTED",
    "KAFKA_STORAGE_ERROR",
    "LOG_DIR_NOT_FOUND",
    "SASL_AUTHENTICATION_FAILED",
    "UNKNOWN_PRODUCER_ID",
    "REASSIGNMENT_IN_PROGRESS",
    "DELEGATION_TOKEN_AUTH_DISABLED",
    "DELEGATION_TOKEN_NOT_FOUND",
    "DELEGATION_TOKEN_OWNER_MISMATCH",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
    "DELEGATION_TOKEN_EXPIRED",
    "INVALID_PRINCIPAL_TYPE",
    "NON_EMPTY_GROUP",
    "GROUP_ID_NOT_FOUND",
    "FETCH_SESSION_ID_NOT_FOUND",
    "INVALID_FETCH_SESSION_EPOCH",
    "LISTENER_NOT_FOUND",
    "TOPIC_DELETION_DISABLED",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "STALE_BROKER_EPOCH",
    "OFFSET_NOT_AVAILABLE",
    "MEMBER_ID_REQUIRED",
    "PREFERRED_LEADER_NOT_AVAILABLE",
    "GROUP_MAX_SIZE_REACHED",
    "FENCED_INSTANCE_ID",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    "ELECTION_NOT_NEEDED",
    "NO_REASSIGNMENT_IN_PROGRESS",
    "GROUP_SUBSCRIBED_TO_TOPIC",
    "INVALID_RECORD",
    "UNSTABLE_OFFSET_COMMIT",
    "THROTTLING_QUOTA_EXCEEDED",
    "PRODUCER_FENCED",
    "RESOURCE_NOT_FOUND",
    "DUPLICATE_RESOURCE",
    "UNACCEPTABLE_CREDENTIAL",
    "INCONSISTENT_VOTER_SET",
    "INVALID_UPDATE_VERSION",
    "FEATURE_UPDATE_FAILED",
    "PRINCIPAL_DESERIALIZATION_FAILURE",
    "SNAPSHOT_NOT_FOUND",
    "POSITION_OUT_OF_RANGE",
    "UNKNOWN_TOPIC_ID",
    "DUPLICATE_BROKER_REGISTRATION",
    "BROKER_ID_NOT_REGISTERED",
    "INCONSISTENT_TOPIC_ID",
    "INCONSISTENT_CLUSTER_ID",
    "TRANSACTIONAL_ID_NOT_FOUND",
    "FETCH_SESSION_TOPIC_ID_ERROR",
    "INELIGIBLE_REPLICA",
    "NEW_LEADER_ELECTED",
    "OFFSET_MOVED_TO_TIERED_STORAGE",
    "FENCED_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
    "UNSUPPORTED_ASSIGNOR",
    "STALE_MEMBER_EPOCH",
    "MISMATCHED_ENDPOINT_TYPE",
    "UNSUPPORTED_ENDPOINT_TYPE",
    "UNKNOWN_CONTROLLER_ID",
    "UNKNOWN_SUBSCRIPTION_ID",
    "TELEMETRY_TOO_LARGE",
    "INVALID_REGISTRATION",
    "TRANSACTION_ABORTABLE",
    "INVALID_RECORD_STATE",
    "SHARE_SESSION_NOT_FOUND",
    "INVALID_SHARE_SESSION_EPOCH",
    "FENCED_STATE_EPOCH",
    "INVALID_VOTER_KEY",
    "DUPLICATE_VOTER",
    "VOTER_NOT_FOUND",
    "INVALID_REGULAR_EXPRESSION",
    "REBOOTSTRAP_REQUIRED",
    "STREAMS_INVALID_TOPOLOGY",
    "STREAMS_INVALID_TOPOLOGY_EPOCH",
    "STREAMS_TOPOLOGY_FENCED",
    "SHARE_SESSION_LIMIT_REACHED",
};

// Reads a body from front to back. Once a field does not fit, all later ones fail.
class Body {
 public:
  Body(std::string_view bytes, bool flexible) : bytes_(bytes), flexible_(flexible) {}

  bool failed() const { return failed_; }

  std::string_view take(uint64_t count) {
    if (failed_ || count > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  int16_t int16() {
    const std::string_view taken = take(2);
    return failed_ ? int16_t{0} : static_cast<int16_t>(big_endian_16(unsigned_of(taken)));
  }
  std::string_view string() { return take(length(2)); }
  // Reads the number of elements of an array; 0 if the array is null.
  uint32_t count() { return length(4); }
  void tags() {
    if (!flexible_) return;
    for (uint32_t left = varint(); left > 0 && !failed_; --left) {
      varint();
      take(varint());
    }
  }

 private:
  static const uint8_t* unsigned_of(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

  // Reads a length. Flexible versions encode the length plus one, and 0 for null; others encode -1 for null.
  uint32_t length(uint64_t bytes) {
    if (flexible_) {
      const uint32_t further_count = varint();
      return further_count == 0 ? 0 : further_count - 1;
    }
    const std::string_view taken = take(bytes);
    if (failed_) return 0;
    const int32_t value = bytes == 2 ? static_cast<int16_t>(big_endian_16(unsigned_of(taken)))
                                     : static_cast<int32_t>(big_endian_32(unsigned_of(taken)));
    if (value < -1) failed_ = true;
    return value < 0 ? 0 : static_cast<uint32_t>(value);
  }
  uint32_t varint() {
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::string_view taken = take(1);
      if (failed_) return 0;
      value |= static_cast<uint32_t>(taken[0] & 0x7f) << shift;
      if ((taken[0] & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }

  std::string_view bytes_;
  bool flexible_;
  bool failed_ = false;
};

struct Step {
  char kind;
  int from = 0, to = INT16_MAX;

  bool is_in(int16_t version) const { return version >= from && version <= to; }

  // Takes the path's next step. REQUIRES: !path.empty()
  static Step next(std::string_view& path) {
    Step step{path[0]};
    path.remove_prefix(1);
    if (path.starts_with('@')) {
      step.from = number(path);
      if (path.starts_with('-')) step.to = number(path);
    }
    while (path.starts_with(' ')) path.remove_prefix(1);
    return step;
  }

 private:
  static int number(std::string_view& path) {
    int value = 0;
    const char* end = std::from_chars(path.data() + 1, path.data() + path.size(), value).ptr;
    path.remove_prefix(static_cast<size_t>(end - path.data()));
    return value;
  }
};

class Walk {
 public:
  Walk(std::string_view body, int16_t version, bool flexible) : body_(body, flexible), version_(version) {}

  Findings run(std::string_view path) {
    while (!path.empty() && !body_.failed() && !ended_) {
      const Step step = Step::next(path);
      if (step.kind == '(') {
        step_over(path);
      } else if (step.is_in(version_)) {
        take(step.kind);
      }
    }
    findings_.whole = !body_.failed();
    return findings_;
  }

 private:
  void take(char kind) {
    switch (kind) {
      case 's':
        body_.string();
        break;
      case 'u':
        body_.take(16);
        break;
      case 'A':
        findings_.acks = body_.int16();
        findings_.acks_known = !body_.failed();
        break;
      case 'T':
        topic(body_.string(), false);
        break;
      case 'U':
        topic(body_.take(16), true);
        break;
      case 'E':
        error(body_.int16());
        break;
      case '[':
        array(body_.count());
        break;
      default:
        body_.take(static_cast<uint64_t>(kind - '0'));
    }
  }

  // Records the topic; a name takes precedence over a UUID. An absent UUID is all zeros, an absent name is empty.
  void topic(std::string_view text, bool is_id) {
    if (body_.failed() || text.empty() || text.find_first_not_of('\0') == std::string_view::npos) return;
    if (is_id && !findings_.topic.empty()) return;
    findings_.topic = text;
    findings_.topics = elements_;
    findings_.topic_is_id = is_id;
  }

  void error(int16_t code) {
    if (body_.failed() || (findings_.error_known && findings_.error != 0)) return;
    findings_.error_known = true;
    findings_.error = code;
  }

  void array(uint32_t count) {
    if (body_.failed()) return;
    elements_ = count;
    ended_ = count == 0;
  }

  // Skips the elements of an array, each of which consists of the path's steps up to ')'.
  void step_over(std::string_view& path) {
    const size_t end = path.find(')');
    const std::string_view element = path.substr(0, end);
    for (uint32_t left = body_.count(); left > 0 && !body_.failed(); --left) {
      for (std::string_view steps = element; !steps.empty();) {
        const Step step = Step::next(steps);
        if (step.is_in(version_)) take(step.kind);
      }
      body_.tags();
    }
    path.remove_prefix(end + 1);
    while (path.starts_with(' ')) path.remove_prefix(1);
  }

  Body body_;
  int16_t version_;
  Findings findings_;
  uint32_t elements_ = 0;  // elements of the latest array
  bool ended_ = false;
};

}  // namespace

const Api* api_of(int16_t key) {
  return key >= 0 && static_cast<size_t>(key) < std::size(kApis) ? &kApis[key] : nullptr;
}

std::string_view name_of_error(int16_t code) {
  if (code == -1) return "UNKNOWN_SERVER_ERROR";
  return code >= 0 && static_cast<size_t>(code) < std::size(kErrors) ? kErrors[code] : std::string_view();
}

Findings follow(std::string_view path, std::string_view body, int16_t version, bool flexible) {
  return Walk(body, version, flexible).run(path);
}

}  // namespace tapline::kafka
