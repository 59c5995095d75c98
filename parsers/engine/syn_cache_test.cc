#include "parsers/engine/syn_cache.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

constexpr uint32_t kEntries = 16;
constexpr int64_t kTime = 1'795'000'000'000'000'000;
constexpr uint64_t kHash = 0x1234567800000003;

TEST(SynCache, ReturnsASynOnce) {
  SynCache cache(kEntries);
  EXPECT_FALSE(cache.take(kHash));
  EXPECT_TRUE(cache.add(kHash, {40000, 7, kTime}));
  const auto syn = cache.take(kHash);
  ASSERT_TRUE(syn);
  EXPECT_EQ(syn->port, 40000);
  EXPECT_EQ(syn->seq, 7u);
  EXPECT_LE(syn->time_ns, kTime);
  EXPECT_GT(syn->time_ns, kTime - 65'536);
  EXPECT_FALSE(cache.take(kHash));
}

TEST(SynCache, ReplacesASynOfTheSameSender) {
  SynCache cache(kEntries);
  EXPECT_TRUE(cache.add(kHash, {40000, 7, kTime}));
  EXPECT_TRUE(cache.add(kHash, {40000, 8, kTime}));
  EXPECT_EQ(cache.take(kHash)->seq, 8u);
}

TEST(SynCache, KeepsTheFirstOfTwoSynsInBothDirections) {
  SynCache cache(kEntries);
  EXPECT_TRUE(cache.add(kHash, {40000, 7, kTime}));
  EXPECT_FALSE(cache.add(kHash, {80, 9, kTime}));
  EXPECT_EQ(cache.take(kHash)->port, 40000);
}

TEST(SynCache, ASynReplacesThatOfAnotherConnectionWithTheSameIndex) {
  SynCache cache(kEntries);
  const uint64_t other = kHash + (uint64_t{1} << 32);
  EXPECT_TRUE(cache.add(kHash, {40000, 7, kTime}));
  EXPECT_TRUE(cache.add(other, {80, 9, kTime}));
  EXPECT_FALSE(cache.take(kHash));
  EXPECT_EQ(cache.take(other)->seq, 9u);
}

TEST(SynCache, HoldsASynForEachIndex) {
  SynCache cache(kEntries);
  for (uint64_t i = 0; i < kEntries; ++i) EXPECT_TRUE(cache.add(i, {40000, static_cast<uint32_t>(i), kTime}));
  for (uint64_t i = 0; i < kEntries; ++i) EXPECT_EQ(cache.take(i)->seq, i);
}

}  // namespace
}  // namespace tapline
