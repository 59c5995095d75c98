#include "parsers/api/flow_hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace tapline {
namespace {

FlowKey random_key(std::mt19937_64& random, bool is_v6) {
  uint8_t bytes[32];
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  FlowKey key;
  key.src_ip = is_v6 ? IpAddress::v6(bytes) : IpAddress::v4(bytes);
  key.dst_ip = is_v6 ? IpAddress::v6(bytes + 16) : IpAddress::v4(bytes + 16);
  key.src_port = static_cast<uint16_t>(random());
  key.dst_port = static_cast<uint16_t>(random());
  key.protocol = 6;
  return key;
}

FlowKey reversed(FlowKey key) {
  std::swap(key.src_ip, key.dst_ip);
  std::swap(key.src_port, key.dst_port);
  return key;
}

const FlowHasher kHasher(HashKey{1, 2});

TEST(FlowHash, IsTheSameInBothDirections) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    FlowKey key = random_key(random, i % 2 == 0);
    if (i % 5 == 0) key.dst_ip = key.src_ip;
    EXPECT_EQ(kHasher.hash(key), kHasher.hash(reversed(key)));
  }
}

TEST(FlowHash, DependsOnEveryPartOfTheKey) {
  std::mt19937_64 random(2);
  const FlowKey key = random_key(random, false);
  std::set<uint64_t> hashes = {kHasher.hash(key)};
  FlowKey other_flow_key = key;
  other_flow_key.protocol = 17;
  hashes.insert(kHasher.hash(other_flow_key));
  other_flow_key = key;
  other_flow_key.vlan = 5;
  hashes.insert(kHasher.hash(other_flow_key));
  other_flow_key.vlan = 5 << 12;
  hashes.insert(kHasher.hash(other_flow_key));
  other_flow_key = key;
  other_flow_key.network_id = 5;
  hashes.insert(kHasher.hash(other_flow_key));
  other_flow_key = key;
  std::swap(other_flow_key.src_port, other_flow_key.dst_port);
  hashes.insert(kHasher.hash(other_flow_key));
  hashes.insert(FlowHasher(HashKey{1, 3}).hash(key));
  EXPECT_EQ(hashes.size(), 7u);
}

TEST(FlowHash, KeysAreParsedCompletely) {
  const auto key = HashKey::parse("00112233445566778899aabbCCDDEEFF");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->high, 0x0011223344556677u);
  EXPECT_EQ(key->low, 0x8899aabbccddeeffu);
  for (const char* bad : {"", "0", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeefg",
                          "0x112233445566778899aabbccddeeff", "-0112233445566778899aabbccddeeff"}) {
    EXPECT_FALSE(HashKey::parse(bad).has_value()) << bad;
  }
}

TEST(Sampling, ThresholdsSaturate) {
  EXPECT_EQ(sampling_threshold(0), 0u);
  EXPECT_EQ(sampling_threshold(-1), 0u);
  EXPECT_EQ(sampling_threshold(std::numeric_limits<double>::quiet_NaN()), 0u);
  EXPECT_EQ(sampling_threshold(1), uint64_t{1} << 63);
  EXPECT_EQ(sampling_threshold(7), uint64_t{1} << 63);
  for (const uint64_t hash : {uint64_t{0}, ~uint64_t{0}, uint64_t{0x9e3779b97f4a7c15}}) {
    EXPECT_TRUE(sampled(hash, sampling_threshold(1)));
    EXPECT_FALSE(sampled(hash, sampling_threshold(0)));
  }
}

TEST(Sampling, KeepsItsShareAndALowerRateKeepsASubset) {
  std::mt19937_64 random(3);
  constexpr int kFlows = 100'000;
  int kept[3] = {0, 0, 0};
  const double rates[3] = {0.01, 0.1, 0.5};
  for (int i = 0; i < kFlows; ++i) {
    const uint64_t hash = kHasher.hash(random_key(random, false));
    bool kept_by_lower = false;
    for (int r = 0; r < 3; ++r) {
      const bool keep = sampled(hash, sampling_threshold(rates[r]));
      kept[r] += keep;
      EXPECT_TRUE(keep || !kept_by_lower);
      kept_by_lower = keep;
    }
  }
  for (int r = 0; r < 3; ++r) {
    const double expected = kFlows * rates[r];
    EXPECT_NEAR(kept[r], expected, 5 * std::sqrt(expected)) << rates[r];
  }
}

// Neighbouring addresses and ports must spread: chi-squared over 64 bins, for the hash's low bits (which the table
// uses) and for the sampling positions. Positions within one table slot must still be uniform.
TEST(Sampling, IsUniformForNeighboursAndIndependentOfTheTablesBits) {
  constexpr int kBins = 64, kFlows = 64'000;
  int by_hash[kBins] = {}, by_position[kBins] = {}, within_slot[kBins] = {}, in_slot = 0;
  FlowKey key;
  key.protocol = 6;
  key.dst_port = 80;
  for (int i = 0; i < kFlows; ++i) {
    const uint8_t src[4] = {10, 0, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
    key.src_ip = IpAddress::v4(src);
    key.src_port = static_cast<uint16_t>(40000 + (i >> 12));
    const uint64_t hash = kHasher.hash(key);
    const uint64_t position = sampling_position(hash) >> 57;
    ++by_hash[hash % kBins];
    ++by_position[position];
    if (hash % 4 == 0) {
      ++within_slot[position];
      ++in_slot;
    }
  }
  const auto chi_squared = [](const int* bins, double total) {
    double sum = 0;
    for (int i = 0; i < kBins; ++i) sum += (bins[i] - total / kBins) * (bins[i] - total / kBins) / (total / kBins);
    return sum;
  };
  // With 63 degrees of freedom, the statistic exceeds 120 once in 50,000 cases.
  EXPECT_LT(chi_squared(by_hash, kFlows), 120);
  EXPECT_LT(chi_squared(by_position, kFlows), 120);
  EXPECT_LT(chi_squared(within_slot, in_slot), 120);
}

TEST(Sampling, DifferentKeysDecideIndependently) {
  std::mt19937_64 random(4);
  const FlowHasher other(HashKey{3, 4});
  const uint64_t half = sampling_threshold(0.5);
  int both = 0;
  for (int i = 0; i < 10'000; ++i) {
    const FlowKey key = random_key(random, false);
    both += sampled(kHasher.hash(key), half) && sampled(other.hash(key), half);
  }
  EXPECT_NEAR(both, 2500, 250);
}

}  // namespace
}  // namespace tapline
