// Measures http_get on captures as mirrors deliver them: the capture http_zipf with packets lost, late or duplicated,
// in one direction only, or beginning in the middle (20 seeds each), and the damaged files of http_zipf.
//
// TAPLINE_SEEDS sets the number of seeds. Prints a table of the results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "parsers/http_get/degraded/score.h"
#include "parsers/testing/capture_file.h"

namespace tapline::http {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t kSeeds = 2;
#else
constexpr uint32_t kSeeds = 20;
#endif
constexpr size_t kDamagedFrames = 12'000;  // the first frames of http_zipf, from which the damaged files were made

uint32_t seeds() {
  const char* text = std::getenv("TAPLINE_SEEDS");
  return text != nullptr ? static_cast<uint32_t>(std::atoi(text)) : kSeeds;
}

class DegradedCapture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string path = testing::reference_capture("generated/http_zipf.pcap.zst");
    if (path.empty()) return;
    frames_ = testing::read_capture(path);
    truth_ = transactions_of(frames_);
    std::printf("%-16s %9s %9s %6s %6s %8s %9s %9s %9s %9s\n", "", "pairs", "right", "wrong", "again", "resized",
                "requests", "responses", "one-way", "reported");
  }
  void SetUp() override {
    if (frames_.empty()) GTEST_SKIP() << "no reference captures: set TAPLINE_CAPTURES";
  }

  static Score all_seeds(Degradation degradation, const char* name) {
    Score sum;
    for (uint32_t seed = 0; seed < seeds(); ++seed) {
      sum += score(frames_, truth_, degrade(frames_, degradation, seed), degradation, seed);
    }
    print(name, sum);
    return sum;
  }

  static void expect_all_right(const Score& score) {
    EXPECT_GT(score.eligible, 0u);
    EXPECT_EQ(score.right, score.eligible);
    EXPECT_EQ(score.wrong, 0u);
    EXPECT_EQ(score.repeated, 0u);
  }

  static void print(const char* name, const Score& score) {
    std::printf("%-16s %9lu %9lu %6lu %6lu %8lu %9lu %9lu %9lu %9lu\n", name, score.eligible, score.right, score.wrong,
                score.repeated, score.resized, score.half_requests, score.half_responses, score.one_way,
                score.one_way_reported);
    for (const std::string& example : score.examples) std::printf("    %s\n", example.c_str());
  }

  static inline std::vector<testing::Frame> frames_;
  static inline std::vector<Transaction> truth_;
};

// Reads nginx's log: the URL and the status of each request, by client, in the order of the responses.
std::map<std::string, std::vector<std::string>> logged_requests() {
  const auto value_of = [](const std::string& row, const std::string& name) {
    const size_t begin = row.find("\"" + name + "\":") + name.size() + 3;
    const std::string value = row.substr(begin, row.find_first_of(",}", begin) - begin);
    return value.starts_with('"') ? value.substr(1, value.size() - 2) : value;
  };
  std::map<std::string, std::map<std::pair<int, int>, std::string>> rows;
  for (const std::string& row :
       testing::read_lines(testing::reference_capture("generated/http_zipf.nginx_access.jsonl.zst"))) {
    // If the request has no version, the response has no head.
    const bool simple = !value_of(row, "uri").empty() && value_of(row, "proto").empty();
    const std::string status = simple ? "0" : value_of(row, "status");
    rows[value_of(row, "client") + ":" + value_of(row, "cport")]
        [{std::stoi(value_of(row, "conn")), std::stoi(value_of(row, "nreq"))}] = value_of(row, "uri") + " " + status;
  }
  std::map<std::string, std::vector<std::string>> requests;
  for (const auto& [client, by_number] : rows) {
    for (const auto& [number, request] : by_number) requests[client].push_back(request);
  }
  return requests;
}

// Returns true if the log entry matches the request. nginx logs no URL for a request that it could not parse.
bool is_logged_as(const std::string& request, const std::string& logged) {
  return logged.starts_with(' ') ? request.ends_with(logged) : request == logged;
}

TEST_F(DegradedCapture, TheTruthMatchesTheNginxLog) {
  std::map<std::string, std::vector<std::string>> seen;
  for (const Transaction& transaction : truth_) {
    if (transaction.response.seen)
      seen[transaction.client].push_back(transaction.url + " " + std::to_string(transaction.status));
  }
  size_t requests = 0, compared = 0;
  for (const auto& [client, logged] : logged_requests()) {
    requests += logged.size();
    const std::vector<std::string>& ours = seen[client];
    // If the client did not wait for the response, the log may have a request whose response was not sent.
    size_t next = 0;
    for (const std::string& request : ours) {
      while (next < logged.size() && !is_logged_as(request, logged[next])) ++next;
      EXPECT_LT(next++, logged.size()) << client << " " << request;
    }
    compared += ours.size();
    seen.erase(client);
  }
  for (const auto& [client, ours] : seen) EXPECT_TRUE(ours.empty()) << client;
  EXPECT_GT(compared, 33'900u);
  EXPECT_LE(requests - compared, requests / 1000);
}

// Without degradation, each transaction is reported once and unchanged.
TEST_F(DegradedCapture, None) {
  const Score none = score(frames_, truth_, degrade(frames_, Degradation::kNone, 0));
  print("none", none);
  expect_all_right(none);
  EXPECT_EQ(none.resized, 0u);
}

TEST_F(DegradedCapture, Loss) {
  const Score loss = all_seeds(Degradation::kLoss, "loss");
  EXPECT_GE(loss.right, loss.eligible - loss.eligible / 1000);
  EXPECT_LE(loss.wrong, loss.eligible / 10'000);
  EXPECT_EQ(loss.repeated, 0u);
}

TEST_F(DegradedCapture, Late) {
  const Score late = all_seeds(Degradation::kLate, "late");
  EXPECT_GE(late.right, late.eligible - late.eligible / 1000);
  EXPECT_EQ(late.wrong, 0u);
  EXPECT_EQ(late.repeated, 0u);
}

TEST_F(DegradedCapture, MidStream) {
  const Score mid_stream = all_seeds(Degradation::kMidStream, "mid-stream");
  expect_all_right(mid_stream);
  EXPECT_EQ(mid_stream.resized, 0u);
}

TEST_F(DegradedCapture, Twice) {
  const Score twice = all_seeds(Degradation::kTwice, "twice");
  expect_all_right(twice);
  EXPECT_EQ(twice.resized, 0u);
  EXPECT_EQ(twice.tuples, seeds() * score(frames_, truth_, degrade(frames_, Degradation::kNone, 0)).tuples);
}

TEST_F(DegradedCapture, OneWay) {
  for (const auto& [degradation, name] : {std::pair(Degradation::kRequestsOnly, "requests only"),
                                          std::pair(Degradation::kResponsesOnly, "responses only")}) {
    const Score one_way = all_seeds(degradation, name);
    expect_all_right(one_way);
    EXPECT_GT(one_way.one_way, 0u);
    EXPECT_EQ(one_way.one_way_reported, one_way.one_way);
  }
}

TEST_F(DegradedCapture, DamagedFiles) {
  const std::vector<testing::Frame> beginning(frames_.begin(), frames_.begin() + kDamagedFrames);
  const std::vector<Transaction> truth = transactions_of(beginning);
  for (const std::string name : {"drop", "dup", "reorder", "flip", "midstream", "oneway", "snap96", "cut"}) {
    const std::string path = testing::reference_capture("generated/damaged/http_zipf_" + name + ".pcap.zst");
    ASSERT_NE(path, "");
    const Score damaged = score(beginning, truth, recognise(beginning, testing::read_capture(path)));
    print(name.c_str(), damaged);
    // A flipped bit in a sequence number or a length can move a whole frame, and affect its neighbours.
    EXPECT_GE(damaged.right, damaged.eligible - damaged.eligible / (name == "flip" ? 100 : 1000)) << name;
    EXPECT_EQ(damaged.wrong, 0u) << name;
    EXPECT_EQ(damaged.repeated, 0u) << name;
    if (name == "oneway") {
      EXPECT_EQ(damaged.half_requests, truth.size());
    }
  }
}

}  // namespace
}  // namespace tapline::http
