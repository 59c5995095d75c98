#include <gtest/gtest.h>

#include "parsers/registry.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

class Figures final : public StatisticsSource {
 public:
  void for_each(const std::function<void(const Statistic&)>& visit) const override {
    visit({"packets_total", "stage=received", 7});
    visit({"flows", "", 0.5});
  }
};

TEST(MonitorStats, ReportsEachMetricEachSecond) {
  Figures figures;
  auto parser = make_parser("monitor_stats");
  parser->set_statistics(&figures);
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::move(parser));
  testing::Harness harness(std::move(parsers));
  testing::Conversation conversation;
  conversation.handshake().wait_ns(2'000'000'000).close();
  harness.feed(conversation.frames());
  EXPECT_EQ(harness.lines({"metric", "labels", "value"}),
            (std::vector<std::string>{"packets_total stage=received 7.000000", "flows  0.500000"}));
  harness.engine().advance(conversation.now_ns() + 1'000'000'000);
  EXPECT_EQ(harness.tuples().size(), 4u);
  EXPECT_EQ(harness.tuples().back().header.time_ns % 1'000'000'000, 999'999'999);
}

TEST(MonitorStats, ReportsNothingWithoutASource) {
  testing::Harness harness(std::vector<std::string>{"monitor_stats"});
  testing::Conversation conversation;
  harness.all(conversation.handshake().wait_ns(2'000'000'000).close().frames());
  EXPECT_TRUE(harness.tuples().empty());
}

}  // namespace
}  // namespace tapline
