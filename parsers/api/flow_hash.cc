#include "parsers/api/flow_hash.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace tapline {
namespace {

// SipHash-1-3: one compression round per word, and three rounds to finish.
class SipHash13 {
 public:
  explicit SipHash13(HashKey key)
      : v0_(key.low ^ 0x736f6d6570736575),
        v1_(key.high ^ 0x646f72616e646f6d),
        v2_(key.low ^ 0x6c7967656e657261),
        v3_(key.high ^ 0x7465646279746573) {}

  void absorb(uint64_t word) {
    v3_ ^= word;
    round();
    v0_ ^= word;
  }
  uint64_t finish() {
    v2_ ^= 0xff;
    round();
    round();
    round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  uint64_t v0_, v1_, v2_, v3_;
};

uint64_t word_at(const IpAddress& address, size_t offset) {
  uint64_t word;
  std::memcpy(&word, address.mapped().data() + offset, 8);
  return word;
}

uint64_t v4_word(const IpAddress& address) {
  uint32_t word;
  std::memcpy(&word, address.mapped().data() + 12, 4);
  return word;
}

// Returns true if the source comes first. Any order works as long as it is the same for both directions.
bool in_order(const FlowKey& key, uint64_t src_high, uint64_t dst_high, uint64_t src_low, uint64_t dst_low) {
  if (src_high != dst_high) return src_high < dst_high;
  if (src_low != dst_low) return src_low < dst_low;
  return key.src_port <= key.dst_port;
}

uint64_t ports_and_protocol(uint16_t first_port, uint16_t second_port, const FlowKey& key) {
  return static_cast<uint64_t>(first_port) << 48 | static_cast<uint64_t>(second_port) << 32 |
         static_cast<uint64_t>(key.protocol) << 24 | (key.vlan & 0xffffff);
}

}  // namespace

std::optional<HashKey> HashKey::parse(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  HashKey key;
  const char* middle = hex.data() + 16;
  const char* end = hex.data() + 32;
  if (std::from_chars(hex.data(), middle, key.high, 16).ptr != middle) return std::nullopt;
  if (std::from_chars(middle, end, key.low, 16).ptr != end) return std::nullopt;
  return key;
}

// The last word contains the message's length, as SipHash's padding does, so IPv4 and IPv6 messages are never equal.
uint64_t FlowHasher::hash(const FlowKey& key) const {
  SipHash13 state(key_);
  if (key.src_ip.is_v4() && key.dst_ip.is_v4()) {
    const uint64_t src = v4_word(key.src_ip), dst = v4_word(key.dst_ip);
    const bool ordered = in_order(key, 0, 0, src, dst);
    state.absorb(ordered ? src << 32 | dst : dst << 32 | src);
    state.absorb(ordered ? ports_and_protocol(key.src_port, key.dst_port, key)
                         : ports_and_protocol(key.dst_port, key.src_port, key));
    state.absorb(uint64_t{20} << 56 | key.network_id);
    return state.finish();
  }
  const uint64_t src_high = word_at(key.src_ip, 0), dst_high = word_at(key.dst_ip, 0);
  const uint64_t src_low = word_at(key.src_ip, 8), dst_low = word_at(key.dst_ip, 8);
  const bool ordered = in_order(key, src_high, dst_high, src_low, dst_low);
  state.absorb(ordered ? src_high : dst_high);
  state.absorb(ordered ? src_low : dst_low);
  state.absorb(ordered ? dst_high : src_high);
  state.absorb(ordered ? dst_low : src_low);
  state.absorb(ordered ? ports_and_protocol(key.src_port, key.dst_port, key)
                       : ports_and_protocol(key.dst_port, key.src_port, key));
  state.absorb(uint64_t{44} << 56 | key.network_id);
  return state.finish();
}

uint64_t sampling_threshold(double rate) {
  constexpr uint64_t kAll = uint64_t{1} << 63;
  if (!(rate > 0)) return 0;
  if (rate >= 1) return kAll;
  return std::min(kAll, static_cast<uint64_t>(rate * static_cast<double>(kAll)));
}

uint64_t keyed_hash(HashKey key, std::string_view text) {
  constexpr uint64_t kTexts = 0x7478657464656873;
  SipHash13 hash(key);
  hash.absorb(kTexts);
  hash.absorb(text.size());
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    hash.absorb(word);
  }
  uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  hash.absorb(rest);
  return hash.finish();
}

}  // namespace tapline
