#include "parsers/testing/disorder.h"

#include <algorithm>
#include <random>
#include <utility>

namespace tapline::testing {

std::vector<Frame> disordered(const std::vector<Frame>& frames, const Disorder& disorder, uint32_t seed) {
  constexpr uint32_t kWhole = 1'000'000;
  std::mt19937 random(seed);
  const auto happens = [&](double share) { return random() % kWhole < share * kWhole; };
  std::vector<std::pair<size_t, const Frame*>> places;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (happens(disorder.lost)) continue;
    const size_t late = happens(disorder.late) ? 1 + random() % disorder.places : 0;
    // A late frame sorts after the one whose position it takes.
    places.emplace_back(2 * (i + late) + (late > 0 ? 1 : 0), &frames[i]);
  }
  std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Frame> result;
  for (const auto& [place, frame] : places) result.push_back(*frame);
  return result;
}

}  // namespace tapline::testing
