#include "parsers/http_get/degraded/score.h"

#include <algorithm>
#include <unordered_map>

#include "parsers/testing/harness.h"

namespace tapline::http {
namespace {

constexpr size_t kMaxExamples = 5;
constexpr size_t kBurst = 32;
constexpr uint32_t kAbsent = UINT32_MAX;

struct Tuple {
  std::string client, method, url, host, partial;
  uint64_t status, request_bytes, response_bytes;
  int64_t first_byte_ns;

  std::string text() const {
    return client + " " + method + " " + url + " " + std::to_string(status) + " " + std::to_string(request_bytes) +
           " " + std::to_string(response_bytes) + " first byte after " + std::to_string(first_byte_ns) + " ns " +
           partial;
  }
};

class TupleStore final : public TupleSink {
 public:
  void emit(uint32_t /*parser*/, const TupleHeader& header, std::span<const Value> values) override {
    tuples.push_back({.client = testing::to_string(header.src_ip) + ":" + std::to_string(header.src_port),
                      .method = std::string(values[0].as_string()),
                      .url = std::string(values[2].as_string()),
                      .host = std::string(values[1].as_string()),
                      .partial = std::string(values[8].as_string()),
                      .status = values[3].as_u64(),
                      .request_bytes = values[6].as_u64(),
                      .response_bytes = values[7].as_u64(),
                      .first_byte_ns = values[4].as_i64()});
  }
  void lose(LossReason, uint64_t, uint64_t) override {}

  std::vector<Tuple> tuples;
};

// A captured copy of an original frame. `Copies` lists the copies by original frame.
struct Copy {
  int64_t time_ns;
  uint32_t captured_bytes;  // 0 if its bytes were altered
};
using Copies = std::vector<std::vector<Copy>>;

const std::vector<testing::Frame>& source_of(const std::vector<testing::Frame>& frames, const Degraded& degraded) {
  return degraded.frames.empty() ? frames : degraded.frames;
}

std::vector<Tuple> run(const std::vector<testing::Frame>& frames, const Degraded& degraded, Copies* copies) {
  const std::vector<testing::Frame>& source = source_of(frames, degraded);
  TupleStore store;
  Engine engine(testing::make_parsers({"http_get"}), &store);
  const FlowHasher hasher(testing::kTestKey);
  // Packets get the source's times in ascending order, made unique by adding up to 996 ns.
  int64_t now_ns = 0;
  std::vector<int64_t> times;
  for (const Degraded::Item& item : degraded.items) times.push_back(source[item.frame].time_ns);
  std::sort(times.begin(), times.end());
  uint32_t noise = 12345;
  std::vector<Packet> burst;
  for (size_t i = 0; i < degraded.items.size(); ++i) {
    const Degraded::Item& item = degraded.items[i];
    noise = noise * 1664525 + 1013904223;
    now_ns = std::max(now_ns + 1, times[i]) + (noise >> 16) % 997;
    if (item.original != Degraded::kForeign)
      (*copies)[item.original].push_back({now_ns, item.altered ? 0 : item.captured_bytes});
    RawPacket raw = source[item.frame].raw();
    raw.time_ns = now_ns;
    Packet packet;
    if (decode(raw, hasher, &packet) == DecodeOutcome::kOk) {
      packet.queries = 1;
      burst.push_back(packet);
    }
    if (burst.size() == kBurst || i + 1 == degraded.items.size()) {
      engine.process(burst);
      burst.clear();
    }
  }
  engine.end();
  return std::move(store.tuples);
}

// Returns true if the captured copies together cover each byte of the head.
bool is_complete(const Message& message, const Copies& copies) {
  uint64_t covered = message.begin;
  for (const HeadPiece& piece : message.pieces) {
    for (const Copy& copy : copies[piece.frame]) {
      if (copy.captured_bytes <= piece.payload_offset || piece.begin > covered) continue;
      covered =
          std::max(covered, std::min<uint64_t>(piece.end, piece.begin + copy.captured_bytes - piece.payload_offset));
    }
  }
  return covered >= message.head_end;
}

// Returns the possible times of the message's first byte: for the original segment and each retransmission, the time of
// its first copy.
std::vector<int64_t> first_times(const Message& message, const Copies& copies) {
  std::vector<int64_t> times;
  for (const HeadPiece& piece : message.pieces) {
    if (piece.begin == message.begin && !copies[piece.frame].empty()) times.push_back(copies[piece.frame][0].time_ns);
  }
  return times;
}

std::string key(const std::string& client, int64_t first_byte_ns) {
  return client + " " + std::to_string(std::max<int64_t>(first_byte_ns, 0));
}

class Scorer {
 public:
  Scorer(const std::vector<Transaction>& truth, const Copies& copies)
      : truth_(truth), reported_(truth.size()), eligible_(truth.size()) {
    for (uint32_t i = 0; i < truth.size(); ++i) {
      const Transaction& transaction = truth[i];
      if (!transaction.response.seen) continue;
      eligible_[i] = is_complete(transaction.request, copies) && is_complete(transaction.response, copies);
      score_.eligible += eligible_[i];
      for (const int64_t request_ns : first_times(transaction.request, copies)) {
        for (const int64_t response_ns : first_times(transaction.response, copies)) {
          pairs_.emplace(key(transaction.client, response_ns - request_ns), i);
        }
      }
    }
  }

  Score score(const std::vector<Tuple>& tuples) {
    score_.tuples = tuples.size();
    for (const Tuple& tuple : tuples) {
      if (tuple.partial == "request") {
        ++score_.half_requests;
      } else if (tuple.partial == "response") {
        ++score_.half_responses;
      } else {
        take_pair(tuple);
      }
    }
    for (uint32_t i = 0; i < truth_.size(); ++i) {
      if (eligible_[i] && !reported_[i])
        note("missed " + truth_[i].client + " " + truth_[i].method + " " + truth_[i].url);
    }
    return score_;
  }

 private:
  void take_pair(const Tuple& tuple) {
    const uint32_t index = find(tuple);
    if (index == kAbsent) {
      ++score_.wrong;
      return note("wrong " + tuple.text());
    }
    if (reported_[index]) {
      ++score_.repeated;
      return note("again " + tuple.text());
    }
    reported_[index] = true;
    if (!eligible_[index]) return;
    ++score_.right;
    const Transaction& transaction = truth_[index];
    if (tuple.request_bytes != transaction.request.end - transaction.request.begin ||
        tuple.response_bytes != transaction.response.end - transaction.response.begin) {
      ++score_.resized;
    }
  }

  uint32_t find(const Tuple& tuple) const {
    uint32_t match = kAbsent;
    const auto [begin, end] = pairs_.equal_range(key(tuple.client, tuple.first_byte_ns));
    for (auto it = begin; it != end; ++it) {
      const Transaction& transaction = truth_[it->second];
      if (transaction.method != tuple.method || transaction.url != tuple.url || transaction.host != tuple.host ||
          transaction.status != tuple.status) {
        continue;
      }
      if (match == kAbsent || reported_[match]) match = it->second;
    }
    return match;
  }

  void note(std::string example) {
    if (score_.examples.size() < kMaxExamples) score_.examples.push_back(std::move(example));
  }

  const std::vector<Transaction>& truth_;
  std::vector<bool> reported_, eligible_;
  std::unordered_multimap<std::string, uint32_t> pairs_;
  Score score_;
};

// Scores connections with one direction missing, by the fields of the captured direction.
void score_one_way(const std::vector<Transaction>& truth, const std::vector<Tuple>& tuples, Degradation degradation,
                   uint32_t seed, Score* score) {
  const bool requests = degradation == Degradation::kRequestsOnly;
  std::unordered_map<std::string, int64_t> left;
  for (const Transaction& transaction : truth) {
    if (!is_one_way(transaction.client, degradation, seed) ||
        !(requests ? transaction.request : transaction.response).seen)
      continue;
    if (!requests && transaction.status == 0) continue;  // a response without a head carries no information on its own
    ++left[transaction.client + " " +
           (requests ? transaction.method + " " + transaction.url : std::to_string(transaction.status))];
    ++score->one_way;
  }
  for (const Tuple& tuple : tuples) {
    if (tuple.partial != (requests ? "request" : "response")) continue;
    const auto it =
        left.find(tuple.client + " " + (requests ? tuple.method + " " + tuple.url : std::to_string(tuple.status)));
    if (it == left.end() || it->second == 0) continue;
    --it->second;
    ++score->one_way_reported;
  }
  for (const auto& [message_text, times] : left) {
    if (times > 0 && score->examples.size() < kMaxExamples) score->examples.push_back("no half of " + message_text);
  }
}

}  // namespace

Score& Score::operator+=(const Score& other) {
  eligible += other.eligible;
  right += other.right;
  wrong += other.wrong;
  repeated += other.repeated;
  resized += other.resized;
  tuples += other.tuples;
  half_requests += other.half_requests;
  half_responses += other.half_responses;
  one_way += other.one_way;
  one_way_reported += other.one_way_reported;
  for (const std::string& example : other.examples) {
    if (examples.size() < kMaxExamples) examples.push_back(example);
  }
  return *this;
}

Score score(const std::vector<testing::Frame>& frames, const std::vector<Transaction>& truth, const Degraded& degraded,
            Degradation degradation, uint32_t seed) {
  Copies copies(frames.size());
  const std::vector<Tuple> tuples = run(frames, degraded, &copies);
  Score result = Scorer(truth, copies).score(tuples);
  score_one_way(truth, tuples, degradation, seed, &result);
  return result;
}

}  // namespace tapline::http
