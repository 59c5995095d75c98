#include "parsers/http_get/degraded/degrade.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string_view>

#include "parsers/testing/harness.h"

namespace tapline::http {
namespace {

// The number of bytes that suffice to distinguish frames by IP identification, sequence numbers and timestamps. It is
// also the shortest snap length in use.
constexpr size_t kRecognisedBytes = 96;

using Items = std::vector<Degraded::Item>;

Items all_items(const std::vector<testing::Frame>& frames) {
  Items items;
  for (uint32_t i = 0; i < frames.size(); ++i) {
    items.push_back({i, static_cast<uint32_t>(frames[i].bytes.size()), i, false});
  }
  return items;
}

// Calls places_late() for each item in order, and delays the item by the number of places that it returns.
template <typename PlacesLate>
Items delayed(const Items& items, PlacesLate places_late) {
  std::vector<std::pair<size_t, Degraded::Item>> order;
  for (size_t i = 0; i < items.size(); ++i) {
    const size_t late = places_late();
    // The item sorts after the one whose position it takes.
    order.emplace_back(2 * (i + late) + (late > 0 ? 1 : 0), items[i]);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Items result;
  for (const auto& entry : order) result.push_back(entry.second);
  return result;
}

Items twice(const Items& items, std::mt19937& random, bool adjacent) {
  std::vector<std::pair<size_t, Degraded::Item>> order;
  for (size_t i = 0; i < items.size(); ++i) {
    order.emplace_back(2 * i, items[i]);
    order.emplace_back(2 * (i + (adjacent ? 0 : random() % 4)) + 1, items[i]);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Items result;
  for (const auto& entry : order) result.push_back(entry.second);
  return result;
}

Items one_way(const std::vector<testing::Frame>& frames, const Items& items, Degradation degradation, uint32_t seed,
              ServerPorts servers) {
  const FlowHasher hasher(testing::kTestKey);
  Items result;
  for (const Degraded::Item& item : items) {
    Packet packet;
    if (decode(frames[item.original].raw(), hasher, &packet) != DecodeOutcome::kOk) continue;
    const bool to_server = packet.dst_port >= servers.first && packet.dst_port <= servers.last;
    const std::string client = testing::to_string(to_server ? packet.src_ip : packet.dst_ip) + ":" +
                               std::to_string(to_server ? packet.src_port : packet.dst_port);
    const bool lost_way = to_server == (degradation == Degradation::kResponsesOnly);
    if (!lost_way || !is_one_way(client, degradation, seed)) result.push_back(item);
  }
  return result;
}

}  // namespace

bool is_one_way(const std::string& client, Degradation degradation, uint32_t seed) {
  if (degradation != Degradation::kRequestsOnly && degradation != Degradation::kResponsesOnly) return false;
  return seed == 0 || std::hash<std::string>()(client + std::to_string(seed)) % 2 == 0;
}

Degraded degrade(const std::vector<testing::Frame>& frames, Degradation degradation, uint32_t seed,
                 ServerPorts servers) {
  std::mt19937 random(seed);
  Items items = all_items(frames);
  switch (degradation) {
    case Degradation::kNone:
      break;
    case Degradation::kLoss:
      std::erase_if(items, [&](const auto&) { return random() % 100 == 0; });
      break;
    case Degradation::kLate:
      items = delayed(items, [&] { return random() % 50 == 0 ? 1 + random() % 3 : 0; });
      break;
    case Degradation::kMidStream:
      items.erase(items.begin(), items.begin() + static_cast<ptrdiff_t>(items.size() / 100 * (5 + random() % 90)));
      break;
    case Degradation::kTwice:
      items = twice(items, random, seed == 0);
      break;
    case Degradation::kRequestsOnly:
    case Degradation::kResponsesOnly:
      items = one_way(frames, items, degradation, seed, servers);
      break;
  }
  return {std::move(items), {}};
}

Degraded degrade(const std::vector<testing::Frame>& frames, const Mirror& mirror, uint32_t seed) {
  constexpr uint32_t kWhole = 1'000'000;
  std::mt19937 random(seed);
  const auto happens = [&](double share) { return random() % kWhole < share * kWhole; };
  Items items = all_items(frames);
  if (mirror.lost > 0) std::erase_if(items, [&](const auto&) { return happens(mirror.lost); });
  if (mirror.late > 0) items = delayed(items, [&] { return happens(mirror.late) ? 1 + random() % mirror.places : 0; });
  for (Degraded::Item& item : items) {
    if (mirror.snaplen > 0) item.captured_bytes = std::min(item.captured_bytes, mirror.snaplen);
  }
  return {std::move(items), {}};
}

Degraded recognise(const std::vector<testing::Frame>& frames, std::vector<testing::Frame> damaged) {
  std::map<std::string_view, uint32_t> known;
  const auto beginning = [](const testing::Frame& frame) {
    return std::string_view(reinterpret_cast<const char*>(frame.bytes.data()),
                            std::min(frame.bytes.size(), kRecognisedBytes));
  };
  for (uint32_t i = 0; i < frames.size(); ++i) known.emplace(beginning(frames[i]), i);
  Degraded degraded;
  for (uint32_t i = 0; i < damaged.size(); ++i) {
    const auto it = known.find(beginning(damaged[i]));
    const bool is_same = it != known.end() &&
                         std::equal(damaged[i].bytes.begin(), damaged[i].bytes.end(), frames[it->second].bytes.begin());
    const uint32_t origin = damaged.size() == frames.size() ? i : Degraded::kForeign;
    degraded.items.push_back(
        {is_same ? it->second : origin, static_cast<uint32_t>(damaged[i].bytes.size()), i, !is_same});
  }
  degraded.frames = std::move(damaged);
  return degraded;
}

}  // namespace tapline::http
