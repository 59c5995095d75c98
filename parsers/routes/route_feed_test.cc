#include "parsers/routes/route_feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tapline {
namespace {

constexpr uint64_t kHost = 0x02'00'00'00'00'01;

uint16_t port_of(uint64_t version) { return static_cast<uint16_t>(version % 1000 + 1); }

std::unique_ptr<const Routes> version(uint64_t number) {
  std::string error;
  auto routes = Routes::make(number, {.rules = {{"s1", kHost, {port_of(number)}}}}, nullptr, INT64_MIN, &error);
  EXPECT_EQ(error, "");
  return routes;
}

TEST(RouteFeed, HasNoRoutesAtFirst) {
  RouteFeed feed;
  RouteFeed::Reader* reader = feed.add_reader();
  EXPECT_EQ(reader->enter(), nullptr);
  reader->leave();
  feed.publish(version(1));
  EXPECT_EQ(reader->enter()->version(), 1u);
  reader->leave();
  EXPECT_EQ(feed.current()->version(), 1u);
}

TEST(RouteFeed, AnIdleReaderDelaysNoPublication) {
  RouteFeed feed;
  feed.add_reader();
  for (uint64_t number = 1; number <= 3; ++number) feed.publish(version(number));
  EXPECT_EQ(feed.current()->version(), 3u);
}

TEST(RouteFeed, PublishingWaitsForAReaderOfTheEarlierRoutes) {
  RouteFeed feed;
  RouteFeed::Reader* reader = feed.add_reader();
  feed.publish(version(1));
  const Routes* held = reader->enter();
  std::atomic<bool> published{false};
  std::thread publisher([&] {
    feed.publish(version(2));
    published = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(published);
  EXPECT_EQ(held->of("s1")->port_of(kHost, 0).number, port_of(1));
  reader->leave();
  publisher.join();
  EXPECT_EQ(reader->enter()->version(), 2u);
  reader->leave();
}

// A reader never sees freed routes and, once a version is confirmed, never sees an earlier one.
TEST(RouteFeed, ReadersNeverSeeAVersionBeforeTheConfirmedOne) {
  constexpr int kReaders = 3;
  constexpr uint64_t kVersions = 2000, kReads = 100'000;
  RouteFeed feed;
  std::vector<RouteFeed::Reader*> readers;
  for (int i = 0; i < kReaders; ++i) readers.push_back(feed.add_reader());
  std::atomic<uint64_t> confirmed{0}, wrong{0}, reads{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (RouteFeed::Reader* reader : readers) {
    threads.emplace_back([&, reader] {
      while (!stop) {
        const uint64_t least = confirmed;
        if (const Routes* routes = reader->enter()) {
          wrong +=
              routes->version() < least || routes->of("s1")->port_of(kHost, 0).number != port_of(routes->version());
        } else {
          wrong += least != 0;
        }
        reader->leave();
        ++reads;
      }
    });
  }
  for (uint64_t number = 1; number <= kVersions || reads < kReads; ++number) {
    feed.publish(version(number));
    confirmed = number;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tapline
