// Tests that no pair is wrong, and that pairing recovers, if a mirror loses and delays segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "parsers/mysql_query/dialogues.h"
#include "parsers/testing/disorder.h"

namespace tapline::mysql_test {
namespace {

using testing::Disorder;
using testing::disordered;

constexpr uint32_t kSeeds = 40;
constexpr int kQueries = 120, kClean = 4;

// Returns a statement's number of rows: its number modulo 7, so that pairs shifted by one are detected.
int rows_of(int number) { return number % 7; }
std::string statement_of(int number) { return "SELECT " + std::to_string(number); }

void send_greeting(Conversation& conversation) {
  conversation.handshake().server(greeting()).client_ack();
  conversation.client(login(kClientCapabilities)).server_ack().server(ok(2)).client_ack();
}

void send_queries(Conversation& conversation, int first, int count) {
  for (int number = first; number < first + count; ++number) {
    conversation.client(query(statement_of(number)));
    if (number % 3 == 0) conversation.server_ack();
    conversation.server_cut(result_set(rows_of(number)), 150).client_ack();
  }
}

struct Score {
  std::set<int> right;
  size_t wrong = 0;
};

Score score_of(const std::vector<Frame>& frames) {
  Harness run({"mysql_query"});
  run.all(frames);
  Score score;
  for (const testing::Tuple& tuple : run.tuples()) {
    if (tuple["kind"] != "query" || !tuple["partial"].empty()) continue;
    const int number = std::stoi(tuple["statement"].substr(7));
    const bool is_right = tuple["rows"] == std::to_string(rows_of(number));
    if (is_right) score.right.insert(number);
    // Tuples with lost rows are marked as cut.
    if (!is_right && tuple["cut"] != "true") ++score.wrong;
  }
  return score;
}

TEST(MysqlQuery, LateSegmentsShiftNoPairs) {
  Conversation conversation({.server_port = 3306});
  send_greeting(conversation);
  send_queries(conversation, 0, kQueries);
  const std::vector<Frame> frames = conversation.close().frames();
  for (const auto& [disorder, share] :
       {std::pair(Disorder{.late = 0.1, .places = 10}, 0.999), std::pair(Disorder{.late = 0.1, .places = 20}, 0.99),
        std::pair(Disorder{.late = 0.3, .places = 10}, 0.99)}) {
    size_t right = 0;
    for (uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Score score = score_of(disordered(frames, disorder, seed));
      EXPECT_EQ(score.wrong, 0u) << disorder.late << " up to " << disorder.places << " late, seed " << seed;
      EXPECT_GE(score.right.size(), kQueries * 0.9)
          << disorder.late << " up to " << disorder.places << " late, seed " << seed;
      right += score.right.size();
    }
    EXPECT_GE(static_cast<double>(right), share * kQueries * kSeeds) << disorder.late << " up to " << disorder.places;
  }
}

// The packets of the MySQL login arrive in every possible order.
TEST(MysqlQuery, LoginPacketsInAnyOrder) {
  Conversation conversation({.server_port = 3306});
  send_greeting(conversation);
  send_queries(conversation, 0, 5);
  const std::vector<Frame> frames = conversation.close().frames();
  std::vector<size_t> order = {3, 4, 5, 6, 7};
  do {
    std::vector<Frame> moved_frames = frames;
    for (size_t i = 0; i < order.size(); ++i) moved_frames[3 + i] = frames[order[i]];
    const Score score = score_of(moved_frames);
    EXPECT_EQ(score.wrong, 0u);
    EXPECT_EQ(score.right.size(), 5u) << order[0] << order[1] << order[2] << order[3] << order[4];
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(MysqlQuery, PairsAgainAfterAnyStart) {
  for (uint32_t seed = 0; seed < kSeeds * 4; ++seed) {
    Conversation conversation({.server_port = 3306});
    if (seed % 2 == 0) send_greeting(conversation);
    send_queries(conversation, 0, 40);
    const size_t damaged = conversation.frames().size();
    send_queries(conversation, 40, kClean + 20);
    const std::vector<Frame> frames = conversation.close().frames();
    const auto middle = frames.begin() + static_cast<ptrdiff_t>(damaged);
    std::vector<Frame> captured_frames =
        disordered({frames.begin(), middle}, {.lost = 0.05 * (seed % 5), .late = 0.4, .places = 15u << seed % 3}, seed);
    captured_frames.insert(captured_frames.end(), middle, frames.end());
    const Score score = score_of(captured_frames);
    EXPECT_EQ(score.wrong, 0u) << seed;
    for (int number = 40 + kClean; number < 40 + kClean + 20; ++number) {
      EXPECT_TRUE(score.right.contains(number)) << number << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tapline::mysql_test
