#include "parsers/transactions/degraded/condition.h"

#include <random>

namespace tapline::testing {
namespace {

constexpr double kFewWrong = 0.0001;
constexpr Bar kLost = {.right = 0.999, .batched = 0.995};
constexpr Bar kMuchLost = {.right = 0.99, .batched = 0.97};
constexpr Bar kLate = {.right = 0.999, .batched = 0.995, .wrong = kFewWrong};
constexpr Bar kVeryLate = {.right = 0.99, .batched = 0.99, .wrong = kFewWrong};
constexpr Bar kBoth = {.right = 0.985, .batched = 0.985, .wrong = kFewWrong};
constexpr Bar kCut = {.right = 0.999, .batched = 0.995, .wrong = kFewWrong};

constexpr uint32_t kPlaces = 10;  // number of start positions in the middle

}  // namespace

const std::vector<Condition>& conditions() {
  static const std::vector<Condition> all = {
      {.name = "0.1 % lost", .mirror = {.lost = 0.001}, .bar = kLost},
      {.name = "1 % lost", .mirror = {.lost = 0.01}, .bar = kLost},
      {.name = "3 % lost", .mirror = {.lost = 0.03}, .bar = kMuchLost},
      {.name = "5 % lost", .mirror = {.lost = 0.05}, .bar = kMuchLost},
      {.name = "2 % up to 5 late", .mirror = {.late = 0.02, .places = 5}, .bar = kLate},
      {.name = "2 % up to 10 late", .mirror = {.late = 0.02, .places = 10}, .bar = kLate},
      {.name = "2 % up to 20 late", .mirror = {.late = 0.02, .places = 20}, .bar = kVeryLate},
      {.name = "10 % up to 5 late", .mirror = {.late = 0.1, .places = 5}, .bar = kLate},
      {.name = "10 % up to 10 late", .mirror = {.late = 0.1, .places = 10}, .bar = kLate},
      {.name = "10 % up to 20 late", .mirror = {.late = 0.1, .places = 20}, .bar = kVeryLate},
      {.name = "1 % lost, 2 % up to 20 late", .mirror = {.lost = 0.01, .late = 0.02, .places = 20}, .bar = kBoth},
      {.name = "1 % lost, 10 % up to 20 late", .mirror = {.lost = 0.01, .late = 0.1, .places = 20}, .bar = kBoth},
      {.name = "from the middle", .capture = {.joining = 2}, .from_middle = true, .bar = kLate},
      {.name = "snaplen 128", .mirror = {.snaplen = 128}, .bar = kCut},
      {.name = "snaplen 256", .mirror = {.snaplen = 256}, .bar = kCut},
      {.name = "VLAN, 1 % lost", .mirror = {.lost = 0.01}, .capture = {.wrapping = Wrapping::kVlan}, .bar = kLost},
      {.name = "VXLAN, 1 % lost", .mirror = {.lost = 0.01}, .capture = {.wrapping = Wrapping::kVxlan}, .bar = kLost},
      {.name = "fragments, 1 % lost",
       .mirror = {.lost = 0.01},
       .capture = {.wrapping = Wrapping::kFragments},
       .bar = kLost},
      {.name = "IPv6, 1 % lost", .mirror = {.lost = 0.01}, .capture = {.wrapping = Wrapping::kV6}, .bar = kLost},
  };
  return all;
}

http::Degraded degraded(const std::vector<Frame>& frames, const Condition& condition, uint32_t seed) {
  http::Degraded result = http::degrade(frames, condition.mirror, seed);
  if (!condition.from_middle) return result;
  std::mt19937 random(seed);
  const size_t tenth = result.items.size() / kPlaces;
  const size_t begin = seed % kPlaces * tenth + random() % tenth;
  result.items.erase(result.items.begin(), result.items.begin() + static_cast<ptrdiff_t>(begin));
  return result;
}

}  // namespace tapline::testing
