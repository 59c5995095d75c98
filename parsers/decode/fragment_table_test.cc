#include "parsers/decode/fragment_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "parsers/testing/frames.h"

namespace tapline {
namespace {

using testing::Bytes;
using testing::ethernet;
using testing::Frame;
using testing::ip_v4;
using testing::ip_v6;

const FlowHasher kHasher(HashKey{1, 2});

struct Fragment {
  uint32_t id = 1;
  uint32_t begin = 0;
  Bytes data;
  bool more = false;
  bool v6 = false;
  std::vector<uint16_t> vlans = {};
};

Bytes ip_of(const Fragment& f) {
  const auto low = [](uint32_t value) { return static_cast<uint8_t>(value); };
  if (f.v6) {
    const uint32_t field = f.begin | (f.more ? 1 : 0);
    Bytes payload = {protocol::kUdp, 0,        low(field >> 8), low(field), low(f.id >> 24), low(f.id >> 16),
                     low(f.id >> 8), low(f.id)};
    payload.insert(payload.end(), f.data.begin(), f.data.end());
    return ip_v6("fd00::1", "fd00::2", protocol::kFragment, payload);
  }
  Bytes ip = ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, f.data);
  const uint32_t field = f.begin / 8 | (f.more ? 0x2000 : 0);
  ip[4] = low(f.id >> 8);
  ip[5] = low(f.id);
  ip[6] = low(field >> 8);
  ip[7] = low(field);
  return ip;
}
Frame frame_of(const Fragment& f, int64_t time_ns = 0) {
  return {ethernet(f.v6 ? 0x86dd : 0x0800, ip_of(f), f.vlans), time_ns, 0};
}

// Cuts a UDP datagram into fragments of `step` bytes.
std::vector<Fragment> cut(const Bytes& datagram, uint32_t step, bool is_v6, uint32_t id = 1) {
  std::vector<Fragment> fragments;
  for (uint32_t begin = 0; begin < datagram.size(); begin += step) {
    const auto end = std::min<uint32_t>(begin + step, static_cast<uint32_t>(datagram.size()));
    fragments.push_back(
        {id, begin, Bytes(datagram.begin() + begin, datagram.begin() + end), end < datagram.size(), is_v6});
  }
  return fragments;
}

Bytes udp_of(size_t payload_bytes, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string payload(payload_bytes, ' ');
  for (char& c : payload) c = static_cast<char>(random());
  return testing::udp_datagram(40000, 53, payload);
}

class FragmentTableTest : public ::testing::Test {
 protected:
  // Returns true if the frame completed a datagram, which is then decoded into packet_.
  bool add(const Frame& frame) {
    Packet fragment;
    const DecodeOutcome outcome = decode(frame.raw(), kHasher, &fragment);
    EXPECT_EQ(outcome, DecodeOutcome::kFragment);
    if (outcome != DecodeOutcome::kFragment) return false;
    ++frames_;
    Datagram datagram;
    if (!table_.add(fragment, &datagram)) return false;
    merged_ += datagram.frames;
    outcome_ = decode(datagram, kHasher, &packet_);
    return true;
  }
  bool add(const Fragment& f, int64_t time_ns = 0) { return add(frame_of(f, time_ns)); }
  void TearDown() override { EXPECT_EQ(frames_, merged_ + table_.losses().frames + table_.held_frames()); }

  FragmentTable table_{{.max_datagrams = 4, .timeout_ns = 1000}, HashKey{3, 4}};
  Packet packet_;
  DecodeOutcome outcome_ = DecodeOutcome::kOk;
  uint64_t frames_ = 0, merged_ = 0;
};

TEST_F(FragmentTableTest, EveryOrderOfThreeFragmentsGivesTheDatagram) {
  const Bytes datagram = udp_of(30);
  for (const bool v6 : {false, true}) {
    const std::vector<Fragment> fragments = cut(datagram, 16, v6);
    std::vector<int> order = {0, 1, 2};
    do {
      EXPECT_FALSE(add(fragments[order[0]], 5));
      EXPECT_FALSE(add(fragments[order[1]], 6));
      ASSERT_TRUE(add(fragments[order[2]], 7));
      ASSERT_EQ(outcome_, DecodeOutcome::kOk);
      EXPECT_TRUE(std::equal(packet_.payload().begin(), packet_.payload().end(), datagram.begin() + 8, datagram.end()));
      EXPECT_EQ(packet_.src_port, 40000);
      EXPECT_EQ(packet_.ip_version, v6 ? 6 : 4);
      EXPECT_EQ(packet_.time_ns, 7);
      EXPECT_EQ(packet_.wire_bytes, frame_of(fragments[0]).bytes.size() * 2 + frame_of(fragments[2]).bytes.size());
      table_.recycle();
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_EQ(table_.losses().frames, 0u);
}

TEST_F(FragmentTableTest, TheFlowIsThatOfAWholeDatagram) {
  const Bytes datagram = udp_of(30);
  std::vector<Fragment> fragments = cut(datagram, 16, false);
  for (Fragment& f : fragments) f.vlans = {9, 5};
  add(fragments[0]);
  add(fragments[1]);
  ASSERT_TRUE(add(fragments[2]));
  const Frame whole_frame{ethernet(0x0800, ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, datagram), {9, 5})};
  Packet expected;
  ASSERT_EQ(decode(whole_frame.raw(), kHasher, &expected), DecodeOutcome::kOk);
  EXPECT_EQ(packet_.flow_hash, expected.flow_hash);
  EXPECT_EQ(packet_.vlan_key(), expected.vlan_key());
}

TEST_F(FragmentTableTest, FragmentsOfOtherVlansAndProtocolsAreKeptApart) {
  const std::vector<Fragment> fragments = cut(udp_of(30), 32, false);
  Fragment tagged = fragments[1];
  tagged.vlans = {5};
  EXPECT_FALSE(add(fragments[0]));
  EXPECT_FALSE(add(tagged));
  Frame tcp = frame_of(fragments[1]);
  tcp.bytes[14 + 9] = protocol::kTcp;
  EXPECT_FALSE(add(tcp));
  EXPECT_TRUE(add(fragments[1]));
}

TEST_F(FragmentTableTest, TheFirstCopyOfAByteWinsInIpV4) {
  const Bytes datagram = udp_of(40);
  const std::vector<Fragment> f = cut(datagram, 16, false);
  add(f[0]);
  EXPECT_FALSE(add(Fragment{1, 8, Bytes(16, 'x'), true}));  // its first half has already arrived
  EXPECT_FALSE(add(f[1]));                                  // the first half of this one has arrived, too
  ASSERT_TRUE(add(f[2]));
  Bytes expected(datagram.begin() + 8, datagram.end());
  std::fill(expected.begin() + 8, expected.begin() + 16, 'x');
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), packet_.payload().begin(), packet_.payload().end()));
}

TEST_F(FragmentTableTest, OverlapsInvalidateAnIpV6DatagramButRepetitionsDoNot) {
  const std::vector<Fragment> f = cut(udp_of(40), 16, true);
  add(f[0]);
  add(f[0]);
  add(f[1]);
  EXPECT_TRUE(add(f[2]));
  add(f[0]);
  EXPECT_FALSE(add(Fragment{1, 8, Bytes(16, 'x'), true, true}));
  EXPECT_FALSE(add(f[1]));
  EXPECT_FALSE(add(f[2]));
  EXPECT_EQ(table_.losses().frames, 4u);
  EXPECT_EQ(table_.held_frames(), 0u);
}

TEST_F(FragmentTableTest, ContradictoryEndsInvalidateTheDatagram) {
  const std::vector<Fragment> f = cut(udp_of(40), 16, false);
  add(f[2]);                                            // the end is 48
  EXPECT_FALSE(add(Fragment{1, 40, Bytes(16), true}));  // ends beyond 48
  EXPECT_FALSE(add(f[0]));
  EXPECT_FALSE(add(f[1]));
  EXPECT_EQ(table_.losses().frames, 4u);
  add(Fragment{2, 16, Bytes(16), true});
  EXPECT_FALSE(add(Fragment{2, 8, Bytes(8), false}));  // ends before the data already received
  EXPECT_EQ(table_.losses().frames, 6u);
}

TEST_F(FragmentTableTest, IncompleteDatagramsTimeOutAndTheOldestIsEvicted) {
  const std::vector<Fragment> f = cut(udp_of(40), 16, false);
  add(f[0], 0);
  add(f[1], 999);
  EXPECT_FALSE(add(f[2], 1000));
  EXPECT_EQ(table_.losses().frames, 2u);
  EXPECT_EQ(table_.losses().bytes, 2 * frame_of(f[0]).bytes.size());
  table_.expire(1999);
  EXPECT_EQ(table_.held_frames(), 1u);
  table_.expire(2000);
  EXPECT_EQ(table_.held_frames(), 0u);
  for (uint32_t id = 1; id <= 5; ++id) add(Fragment{id, 0, f[0].data, true}, 3000);
  EXPECT_EQ(table_.held_frames(), 4u);
  table_.clear();
  EXPECT_EQ(table_.losses().frames, 3u + 5u);
}

TEST_F(FragmentTableTest, CompletedDatagramsKeepTheirSlotsUntilRecycled) {
  const std::vector<Fragment> f = cut(udp_of(40), 24, false);
  for (uint32_t id = 1; id <= 4; ++id) {
    add(Fragment{id, 0, f[0].data, true});
    EXPECT_TRUE(add(Fragment{id, 24, f[1].data, false}));
  }
  EXPECT_FALSE(add(Fragment{5, 0, f[0].data, true}));
  EXPECT_EQ(table_.losses().frames, 1u);
  table_.recycle();
  EXPECT_FALSE(add(Fragment{5, 0, f[0].data, true}));
  EXPECT_TRUE(add(Fragment{5, 24, f[1].data, false}));
}

TEST_F(FragmentTableTest, TheLargestDatagramAndTooManyFragments) {
  const Bytes datagram = udp_of(65535 - 20 - 8);
  bool is_whole = false;
  for (const Fragment& f : cut(datagram, 1480, false)) is_whole = add(f);
  ASSERT_TRUE(is_whole);
  EXPECT_EQ(packet_.payload_bytes, 65535u - 28);
  for (uint32_t i = 0; i < 65; ++i) EXPECT_FALSE(add(Fragment{9, 8 + 16 * i, Bytes(8), true}));
  EXPECT_EQ(table_.losses().frames, 65u);
}

// RFC 8200 section 4.5: the length of the datagram does not include the fragment header.
TEST_F(FragmentTableTest, TheLargestIpV6Datagram) {
  const Bytes datagram = udp_of(65535 - 8);
  bool is_whole = false;
  for (const Fragment& f : cut(datagram, 1440, true)) is_whole = add(f);
  ASSERT_TRUE(is_whole);
  ASSERT_EQ(outcome_, DecodeOutcome::kOk);
  EXPECT_EQ(packet_.payload_bytes, 65535u - 8);
  EXPECT_TRUE(std::equal(packet_.payload().begin(), packet_.payload().end(), datagram.begin() + 8, datagram.end()));
}

TEST_F(FragmentTableTest, ALongerIpV6DatagramIsMalformed) {
  Packet packet;
  EXPECT_EQ(decode(frame_of({1, 65528, Bytes(8), false, true}).raw(), kHasher, &packet), DecodeOutcome::kMalformed);
}

// Hop-by-hop options come before the fragment header.
TEST_F(FragmentTableTest, HeadersBeforeTheFragmentHeaderStay) {
  const Bytes datagram = udp_of(30);
  bool is_whole = false;
  for (const Fragment& f : cut(datagram, 16, true)) {
    const Bytes ip = ip_of(f);
    Bytes payload = {protocol::kFragment, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    payload.insert(payload.end(), ip.begin() + 40, ip.end());
    is_whole = add(Frame{ethernet(0x86dd, ip_v6("fd00::1", "fd00::2", 0, payload))});
  }
  ASSERT_TRUE(is_whole);
  ASSERT_EQ(outcome_, DecodeOutcome::kOk);
  EXPECT_EQ(packet_.protocol, protocol::kUdp);
  EXPECT_EQ(packet_.transport_offset, 40u + 16);
  EXPECT_TRUE(std::equal(packet_.payload().begin(), packet_.payload().end(), datagram.begin() + 8, datagram.end()));
}

// A fragmented datagram is inside a tunnel whose own datagrams are fragmented, too. The outer ones are reassembled
// first.
TEST_F(FragmentTableTest, FragmentsInsideAndAroundTunnels) {
  const Bytes datagram = udp_of(100);
  const std::vector<Fragment> inner = cut(datagram, 64, false, 7);
  std::vector<Fragment> outer;
  for (size_t i = 0; i < inner.size(); ++i) {
    Bytes vxlan = {0x08, 0, 0, 0, 0, 0x12, 0x34, 0};
    const Bytes frame = ethernet(0x0800, ip_of(inner[i]));
    vxlan.insert(vxlan.end(), frame.begin(), frame.end());
    const Bytes udp = testing::udp_datagram(1, 4789, {reinterpret_cast<const char*>(vxlan.data()), vxlan.size()});
    for (const Fragment& f : cut(udp, 56, true, 100 + static_cast<uint32_t>(i))) outer.push_back(f);
  }
  bool is_whole = false;
  for (const Fragment& f : outer) {
    if (!add(f) || outcome_ != DecodeOutcome::kFragment) continue;
    Datagram second;
    ++frames_;  // the completed datagram is itself a fragment, and is added
    is_whole = table_.add(packet_, &second);
    if (is_whole) {
      merged_ += second.frames;
      EXPECT_EQ(decode(second, kHasher, &packet_), DecodeOutcome::kOk);
    }
  }
  ASSERT_TRUE(is_whole);
  EXPECT_EQ(packet_.network_id, 0x1234u);
  EXPECT_TRUE(std::equal(packet_.payload().begin(), packet_.payload().end(), datagram.begin() + 8, datagram.end()));
}

// A model of one datagram that keeps the first copy of each byte.
struct Model {
  std::vector<int> bytes = std::vector<int>(1024, -1);
  uint32_t end = 0;  // 0: not known
  bool spoiled = false;

  bool add(const Fragment& f) {
    const auto fragment_end = f.begin + static_cast<uint32_t>(f.data.size());
    uint32_t seen_end = 0;
    for (uint32_t i = 0; i < bytes.size(); ++i) seen_end = bytes[i] >= 0 ? i + 1 : seen_end;
    if (end != 0 && (f.more ? fragment_end > end : fragment_end != end)) spoiled = true;
    if (end == 0 && !f.more && seen_end > fragment_end) spoiled = true;
    bool has_any = false, same = true;
    for (uint32_t i = f.begin; i < fragment_end; ++i) {
      has_any |= bytes[i] >= 0;
      same &= bytes[i] == f.data[i - f.begin];
    }
    if (f.v6 && has_any && !same) spoiled = true;
    if (spoiled) return false;
    for (uint32_t i = f.begin; i < fragment_end; ++i) bytes[i] = bytes[i] < 0 ? f.data[i - f.begin] : bytes[i];
    if (!f.more) end = fragment_end;
    return end != 0 && std::all_of(bytes.begin(), bytes.begin() + end, [](int byte) { return byte >= 0; });
  }
};

// Compares the table with the model, on fragments of three datagrams at a time, shuffled, some lost, some repeated,
// some forged.
TEST(FragmentTableModel, AgreesOnRandomFragments) {
  std::mt19937 random(2718);
  FragmentTable table({.max_datagrams = 8, .timeout_ns = 1'000'000}, HashKey{3, 4});
  uint64_t frames = 0, merged = 0, completed = 0, spoiled = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Fragment> all;
    for (uint32_t id = 0; id < 3; ++id) {
      const bool is_v6 = random() % 2 == 0;
      const uint32_t step = 8 * (1 + random() % 8);
      for (const Fragment& f : cut(udp_of(random() % 200, round * 3 + id), step, is_v6, id)) {
        if (random() % 16 != 0) all.push_back(f);
        if (random() % 16 == 0) all.push_back(f);
      }
      if (random() % 4 == 0) {
        all.push_back({id, static_cast<uint32_t>(8 * (random() % 16)), Bytes(8 * (1 + random() % 4), 'x'),
                       random() % 4 != 0, is_v6});
      }
    }
    if (random() % 4 != 0) std::shuffle(all.begin(), all.end(), random);
    std::map<std::pair<uint32_t, bool>, Model> models;
    for (const Fragment& f : all) {
      const Frame frame = frame_of(f, round * 1'000'000LL);
      Packet packet;
      if (decode(frame.raw(), kHasher, &packet) != DecodeOutcome::kFragment) continue;  // a whole datagram
      ++frames;
      Model& model = models[{f.id, f.v6}];
      const bool expected = model.add(f);
      Datagram datagram;
      ASSERT_EQ(table.add(packet, &datagram), expected) << round;
      spoiled += model.spoiled;
      if (!expected) continue;
      ++completed;
      merged += datagram.frames;
      const uint32_t header_bytes = f.v6 ? 40 : 20;
      ASSERT_EQ(datagram.raw.captured_bytes, header_bytes + model.end);
      for (uint32_t i = 0; i < model.end; ++i) ASSERT_EQ(datagram.raw.data[header_bytes + i], model.bytes[i]);
      models.erase({f.id, f.v6});
      table.recycle();
    }
    ASSERT_EQ(frames, merged + table.losses().frames + table.held_frames());
  }
  EXPECT_GT(completed, 3000u);
  EXPECT_GT(spoiled, 300u);
}

}  // namespace
}  // namespace tapline
