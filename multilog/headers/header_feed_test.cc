// Tests both sides of a feed in one process. Destroying a side without notice is equivalent to the death of its
// process, since the sides share only memory.
#include "multilog/headers/header_feed.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "parsers/testing/frames.h"

namespace tapline::multilog {
namespace {

using testing::Frame;

class HeaderFeedTest : public ::testing::Test {
 protected:
  HeaderFeedTest() {
    std::string name = ::testing::TempDir() + "tapline-feed-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~HeaderFeedTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<FeedReader> open(FeedSettings settings = {.rings = 2}) {
    auto opened = FeedReader::open(directory_, std::move(settings));
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  std::unique_ptr<FeedWriter> join(uint32_t lanes = 1) {
    auto joined = FeedWriter::join(directory_, lanes, {});
    EXPECT_TRUE(joined.ok()) << joined.status().to_string();
    return joined.ok() ? std::move(*joined) : nullptr;
  }
  static void take(HeaderCapture* capture, int packets) {
    for (int i = 0; i < packets; ++i) {
      const Frame frame = testing::tcp_frame({.src_port = static_cast<uint16_t>(1000 + i)}, 5);
      const RawPacket raw = frame.raw();
      capture->take({&raw, 1});
    }
  }
  // Takes all waiting rows, as a node's writers do.
  static uint64_t take_all(FeedReader* reader, uint32_t rings = 2) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < rings; ++i) {
      uint32_t count = 0;
      while (reader->ring(i)->front(&count) != nullptr) {
        reader->ring(i)->take();
        rows += count;
        reader->ring(i)->pop();
      }
    }
    return rows;
  }
  static uint64_t dropped_of(const CaptureTotals& totals) {
    uint64_t sum = 0;
    for (const auto& [reason, count] : totals.dropped) sum += count;
    return sum;
  }

  std::string directory_;
};

TEST_F(HeaderFeedTest, EveryPacketIsARowOrCounted) {
  const auto reader = open({.rings = 3, .capture = {.filter = "src_port < 1500"}});
  const auto writer = join(2);
  writer->capture(0)->missed_before(7);
  for (uint32_t lane = 0; lane < 2; ++lane) {
    take(writer->capture(lane), 1000);
    writer->capture(lane)->flush();
  }
  EXPECT_EQ(take_all(reader.get(), 3), 1000u);
  EXPECT_EQ(reader->totals().packets, 2007u);
  EXPECT_EQ(reader->totals().dropped, (std::map<std::string, uint64_t>{{"filtered", 1000}, {"node_absent", 7}}));
}

TEST_F(HeaderFeedTest, PacketsInProgressInADeadMonitorAreCounted) {
  const auto reader = open();
  auto writer = join();
  take(writer->capture(0), 1000);  // 3 batches of 256 are committed
  writer.reset();
  EXPECT_EQ(take_all(reader.get()), 768u);
  writer = join();
  EXPECT_EQ(reader->totals().packets, 1000u);
  EXPECT_EQ(reader->totals().dropped, (std::map<std::string, uint64_t>{{"monitor_restarted", 232}}));
  take(writer->capture(0), 10);
  writer->capture(0)->flush();
  EXPECT_EQ(take_all(reader.get()), 10u);
  writer.reset();
  join();
  EXPECT_EQ(dropped_of(reader->totals()), 232u) << "no packet was in progress the second time";
}

TEST_F(HeaderFeedTest, ADeadNodeLosesOnlyTheRowsThatItHadTaken) {
  auto reader = open();
  const auto writer = join();
  take(writer->capture(0), 1000);
  writer->capture(0)->flush();
  uint32_t first = 0;
  ASSERT_NE(reader->ring(0)->front(&first), nullptr);
  reader->ring(0)->take();  // the reader ends before it pops the batch
  reader.reset();
  reader = open();
  EXPECT_EQ(reader->taken_before(), first);
  EXPECT_EQ(take_all(reader.get()), 1000 - first);
  take(writer->capture(0), 5);
  writer->capture(0)->flush();
  EXPECT_EQ(take_all(reader.get()), 5u);
  EXPECT_EQ(reader->totals().packets, 1005u);
  EXPECT_EQ(dropped_of(reader->totals()), 0u);
}

TEST_F(HeaderFeedTest, AMissingNodeCausesDropsOnceTheRingsAreFull) {
  auto reader = open();
  const auto writer = join();
  reader.reset();
  constexpr int kPackets = 2 * 256 * 256 + 100;
  take(writer->capture(0), kPackets);
  reader = open();
  EXPECT_EQ(take_all(reader.get()), 2 * 256 * 256u);
  EXPECT_EQ(reader->totals().dropped, (std::map<std::string, uint64_t>{{"ring_full", 100}}));
}

TEST_F(HeaderFeedTest, OneNodeAndOneMonitor) {
  const auto reader = open();
  EXPECT_EQ(FeedReader::open(directory_, {.rings = 2}).status().code(), Code::kInUse);
  const auto writer = join();
  EXPECT_EQ(FeedWriter::join(directory_, 1, {}).status().code(), Code::kInUse);
}

TEST_F(HeaderFeedTest, ADirectoryThatOthersMayWriteToIsRejected) {
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(FeedReader::open(directory_, {.rings = 2}).status().code(), Code::kInvalid);
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  const auto reader = open();
  ASSERT_EQ(chmod(directory_.c_str(), 0775), 0);
  EXPECT_EQ(FeedWriter::join(directory_, 1, {}).status().code(), Code::kInvalid);
}

TEST_F(HeaderFeedTest, AnotherUsersDirectoryIsRejected) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  { const auto reader = open(); }
  ASSERT_EQ(chown(directory_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(FeedReader::open(directory_, {.rings = 2}).status().code(), Code::kInvalid);
  EXPECT_EQ(FeedWriter::join(directory_, 1, {}).status().code(), Code::kInvalid);
}

TEST_F(HeaderFeedTest, WithoutANodeOrWithTooFewRings) {
  EXPECT_EQ(FeedWriter::join(directory_, 1, {}).status().code(), Code::kNotFound);
  const auto reader = open();
  const auto joined = FeedWriter::join(directory_, 3, {});
  EXPECT_EQ(joined.status().code(), Code::kInvalid);
  EXPECT_NE(joined.status().message().find("--writers 3"), std::string::npos);
}

TEST_F(HeaderFeedTest, TheNodeDeterminesTheCapture) {
  const auto reader = open();
  const auto writer = join();
  take(writer->capture(0), 100);
  EXPECT_FALSE(reader->change({.filter = "src_prt == 3"}).ok());
  ASSERT_TRUE(reader->change({.filter = "src_port == 1003"}).ok());
  ASSERT_TRUE(writer->follow());
  take(writer->capture(0), 100);
  writer->capture(0)->flush();
  EXPECT_EQ(take_all(reader.get()), 101u);
}

TEST_F(HeaderFeedTest, ADifferentLayoutGetsNewRings) {
  auto reader = open();
  auto writer = join();
  EXPECT_TRUE(writer->follow());
  reader.reset();
  reader = open({.telemetry_hops = 5, .rings = 2});
  EXPECT_FALSE(writer->follow());
  writer.reset();
  writer = join();
  take(writer->capture(0), 3);
  writer->capture(0)->flush();
  EXPECT_EQ(take_all(reader.get()), 3u);
}

TEST_F(HeaderFeedTest, InvalidFilesAreRecreatedByTheNodeAndRejectedByTheMonitor) {
  open().reset();
  for (const char* file : {"settings", "counters", "ring-1"}) {
    std::ofstream(directory_ + "/" + file, std::ios::trunc) << "generation x";
    EXPECT_FALSE(FeedWriter::join(directory_, 1, {}).ok()) << file;
    EXPECT_NE(open(), nullptr) << file;
    EXPECT_NE(join(), nullptr) << file;
  }
}

TEST(FeedSettings, AsText) {
  const FeedSettings settings = {64, 5, true, 3, {0.1, "src_port == 80 || dst_ip in 10.0.0.0/8"}, 7};
  const auto read = FeedSettings::from_text(settings.to_text());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, settings);
  for (const char* wrong :
       {"", "generation 1", "generation 1\nframe_bytes 64\ntelemetry_hops 0\ntap_names 0\nrings 0\nsample 1\nfilter"})
    EXPECT_FALSE(FeedSettings::from_text(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace tapline::multilog
