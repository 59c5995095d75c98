#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "parsers/trigger/distinct_sketch.h"
#include "parsers/trigger/quantile_search.h"
#include "parsers/trigger/value_sketch.h"

namespace tapline::trigger {
namespace {

constexpr size_t kBytes = 1 << 20;

DistinctSketch distinct_of(const std::vector<uint64_t>& hashes, SketchMemory* memory) {
  DistinctSketch sketch = {};
  for (const uint64_t hash : hashes) sketch.add(hash, memory);
  return sketch;
}

std::vector<uint64_t> random_hashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

TEST(DistinctSketch, IsExactUpToItsBound) {
  SketchMemory memory(kBytes);
  DistinctSketch sketch = {};
  EXPECT_TRUE(sketch.empty());
  const auto hashes = random_hashes(DistinctSketch::kExact, 1);
  for (size_t i = 0; i < hashes.size(); ++i) {
    sketch.add(hashes[i], &memory);
    sketch.add(hashes[i / 2], &memory);
    EXPECT_EQ(sketch.count(), (Interval{static_cast<double>(i + 1), static_cast<double>(i + 1)}));
  }
  sketch.add(7, &memory);
  EXPECT_GE(sketch.count().low, DistinctSketch::kExact + 1);
  EXPECT_LT(sketch.count().low, sketch.count().high);
}

TEST(DistinctSketch, ZeroIsAValue) {
  SketchMemory memory(kBytes);
  EXPECT_EQ(distinct_of({0, 0, 5}, &memory).count(), (Interval{2, 2}));
}

// From 600 to 100,000 values, at least 90 % of about 2,000 estimates are within the bounds (95 % are expected), and all
// are within five standard errors.
TEST(DistinctSketch, EstimatesHaveTheStatedError) {
  size_t estimates = 0, outside = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SketchMemory memory(kBytes);
    DistinctSketch sketch = {};
    std::mt19937_64 random(seed);
    double next = 600;
    for (double count = 1; count < 1e5; ++count) {
      sketch.add(random(), &memory);
      if (count < next) continue;
      next *= 1.1;
      ++estimates;
      const Interval bounds = sketch.count();
      outside += bounds.low > count || bounds.high < count;
      EXPECT_LT(bounds.low * (1 + 2 * DistinctSketch::kError), count * (1 + 5 * DistinctSketch::kError) + 2);
      EXPECT_GT(bounds.high * (1 - 2 * DistinctSketch::kError), count * (1 - 5 * DistinctSketch::kError) - 2);
    }
  }
  EXPECT_GT(estimates, 1000u);
  EXPECT_LT(outside, estimates / 10);
}

TEST(DistinctSketch, MergesAreThoseOfAllValues) {
  for (const size_t count : {3u, 400u, 700u, 5000u}) {
    SketchMemory memory(kBytes);
    const auto hashes = random_hashes(count, count);
    const DistinctSketch whole = distinct_of(hashes, &memory);
    for (const size_t cut : {size_t{0}, count / 3, count - 1, count}) {
      const auto middle = hashes.begin() + static_cast<ptrdiff_t>(cut);
      // Both parts contain the values from cut / 2 to cut.
      const DistinctSketch second =
          distinct_of({hashes.begin() + static_cast<ptrdiff_t>(cut / 2), hashes.end()}, &memory);
      DistinctSketch merged = distinct_of({hashes.begin(), middle}, &memory);
      merged.merge(second, &memory);
      EXPECT_EQ(merged.count(), whole.count()) << count << " cut at " << cut;
    }
  }
}

TEST(DistinctSketch, ValuesWithoutMemoryRaiseTheUpperBound) {
  for (const size_t bytes : {0u, 64u, 1000u, 5000u}) {
    SketchMemory memory(bytes);
    SketchMemory more(kBytes);
    DistinctSketch sketch = {};
    for (const uint64_t hash : random_hashes(1000, bytes)) sketch.add(hash, &memory);
    EXPECT_LT(sketch.count().low, 1000);
    EXPECT_EQ(sketch.count().high, 1000);
    EXPECT_EQ(memory.missed(), 1000 - sketch.count().low);
    DistinctSketch merged = distinct_of(random_hashes(10, 99), &more);
    merged.merge(sketch, &more);
    EXPECT_EQ(merged.count().high, 1010);
  }
}

TEST(SketchMemory, BlocksAreUsedAgain) {
  SketchMemory memory(64 << 10);
  for (int round = 0; round < 100; ++round) {
    std::vector<DistinctSketch> sketches;
    for (uint64_t seed = 0; seed < 4; ++seed) sketches.push_back(distinct_of(random_hashes(512, seed), &memory));
    for (DistinctSketch& sketch : sketches) {
      EXPECT_EQ(sketch.count(), (Interval{512, 512}));
      sketch.give_back(&memory);
    }
    ValueSketch values = {};
    for (int value = 0; value < 1024; ++value) values.add(value, &memory);
    EXPECT_EQ(values.quantile(0.5), (Interval{511, 511})) << "memory of small blocks is reused for large ones";
    values.give_back(&memory);
  }
}

ValueSketch values_of(const std::vector<double>& values, SketchMemory* memory) {
  ValueSketch sketch = {};
  for (const double value : values) sketch.add(value, memory);
  return sketch;
}

double exact_quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1];
}

constexpr double kShares[] = {0.01, 0.1, 0.5, 0.9, 0.99, 0.999};

TEST(ValueSketch, IsExactUpToItsBound) {
  SketchMemory memory(kBytes);
  std::mt19937_64 random(3);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(static_cast<double>(random() % ValueSketch::kExact) - 500);
  const ValueSketch sketch = values_of(values, &memory);
  for (const double share : kShares) {
    const double exact = exact_quantile(values, share);
    EXPECT_EQ(sketch.quantile(share), (Interval{exact, exact})) << share;
  }
  Interval extremes = {0, 0};
  sketch.widen(sketch.cells(), &extremes);
  EXPECT_EQ(extremes, (Interval{-500, ValueSketch::kExact - 501}));
}

TEST(ValueSketch, BoundsContainTheQuantile) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SketchMemory memory(kBytes);
    std::mt19937_64 random(seed);
    std::vector<double> values;
    for (int i = 0; i < 20'000; ++i)
      values.push_back(std::floor(std::exp(static_cast<double>(random() % 20'000) / 1000)));
    const ValueSketch sketch = values_of(values, &memory);
    for (const double share : kShares) {
      const Interval bounds = sketch.quantile(share);
      EXPECT_LE(bounds.low, exact_quantile(values, share));
      EXPECT_GE(bounds.high, exact_quantile(values, share));
      EXPECT_LE(bounds.high, bounds.low * 1.04 + 1);
    }
  }
}

TEST(ValueSketch, MergesAreThoseOfAllValues) {
  SketchMemory memory(8 * kBytes);
  std::mt19937_64 random(5);
  std::vector<double> values;
  for (int i = 0; i < 9000; ++i) values.push_back(static_cast<double>(random() % 100'000'000));
  const ValueSketch whole = values_of(values, &memory);
  for (const ptrdiff_t cut : {0, 10, 2000, 8000, 9000}) {
    const std::vector<double> first(values.begin(), values.begin() + cut), second(values.begin() + cut, values.end());
    ValueSketch merged = values_of(first, &memory);
    merged.merge(values_of(second, &memory), &memory);
    for (const double share : kShares) EXPECT_EQ(merged.quantile(share), whole.quantile(share)) << cut;
  }
}

// Returns powers of two, whose cells are equally far apart; small, negative and equal values; and values whose cells'
// distances grow exponentially, the worst case for bins, as most cells are in the first one.
std::vector<std::vector<double>> difficult_values() {
  std::vector<std::vector<double>> all(7);
  for (int i = 0; i < 1000; ++i) all[0].push_back(std::ldexp(1, i - 500));
  for (int i = 0; i < 1000; ++i) all[1].push_back(i % 7 - 3);
  all[2].assign(1000, 5);
  for (int i = 0; i < 1000; ++i) all[3].push_back(i % 2 == 0 ? -std::ldexp(1, i) : std::ldexp(1, -i));
  for (int i = 0; i < 63; ++i) all[4].push_back(std::bit_cast<double>(uint64_t{1} << i));
  for (int i = 0; i < 63; i += 4) all[5].push_back(std::bit_cast<double>(uint64_t{1} << i));
  for (const int i : {1, 4, 7, 9, 11, 14, 17, 21, 25, 28, 29, 33, 37, 41, 45, 48, 50, 53, 57, 60, 61, 62})
    all[6].push_back(std::bit_cast<double>(uint64_t{1} << i));
  return all;
}

TEST(QuantileSearch, IsThatOfAllSketchesInFewPasses) {
  for (const std::vector<double>& values : difficult_values()) {
    SketchMemory memory(8 * kBytes);
    const ptrdiff_t third = static_cast<ptrdiff_t>(values.size() / 3);
    const ValueSketch sketches[] = {values_of({values.begin(), values.begin() + third}, &memory),
                                    values_of({values.begin() + third, values.end()}, &memory), ValueSketch{}};
    for (const double share : kShares) {
      QuantileSearch search;
      search.begin(share);
      int passes = 0;
      for (; !search.is_complete(); ++passes) {
        for (const ValueSketch& sketch : sketches) {
          // Scans the cells in pieces.
          for (auto left = sketch.cells(); !left.empty(); left = left.subspan(std::min<size_t>(left.size(), 100)))
            search.scan(left.first(std::min<size_t>(left.size(), 100)), sketch.shift());
        }
        search.end_pass();
      }
      const double exact = exact_quantile(values, share);
      EXPECT_EQ(search.result(), (Interval{exact, exact})) << share;
      EXPECT_LE(passes, values.size() == 1000 ? 1 + 64 / 7 : QuantileSearch::kMaxPasses);
    }
  }
}

TEST(QuantileSearch, WiderCellsWidenAllOthers) {
  SketchMemory memory(8 * kBytes);
  std::vector<double> few, many;
  for (int i = 0; i < 50; ++i) few.push_back(100 + i);
  for (int i = 0; i < 30'000; ++i) many.push_back(1 + i * 7 % 30'000);
  const ValueSketch sketches[] = {values_of(few, &memory), values_of(many, &memory)};
  EXPECT_GT(sketches[1].shift(), 0);
  many.insert(many.end(), few.begin(), few.end());
  for (const double share : kShares) {
    QuantileSearch search;
    search.begin(share);
    while (!search.is_complete()) {
      for (const ValueSketch& sketch : sketches) search.scan(sketch.cells(), sketch.shift());
      search.end_pass();
    }
    EXPECT_LE(search.result().low, exact_quantile(many, share));
    EXPECT_GE(search.result().high, exact_quantile(many, share));
    EXPECT_LE(search.result().high, search.result().low * 1.04 + 1);
  }
}

TEST(ValueSketch, ValuesWithoutMemoryWidenTheBounds) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i);
  for (const size_t bytes : {0u, 64u, 200u, 1000u}) {
    SketchMemory memory(bytes);
    const ValueSketch sketch = values_of(values, &memory);
    for (const double share : kShares) {
      EXPECT_LE(sketch.quantile(share).low, exact_quantile(values, share));
      EXPECT_GE(sketch.quantile(share).high, exact_quantile(values, share));
    }
    EXPECT_EQ(sketch.quantile(0.001).low, -INFINITY);
  }
}

TEST(ValueSketch, NoValuesHaveNoQuantile) {
  const ValueSketch sketch = {};
  EXPECT_EQ(sketch.quantile(0.5).presence, Presence::kAbsent);
}

// ValuesTest of the stream job has the same values, and expects the same bounds.
TEST(ValueSketch, AgreesWithTheStreamJob) {
  SketchMemory memory(kBytes);
  ValueSketch sketch = {};
  uint64_t state = 1;
  for (int i = 0; i < 50'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sketch.add(static_cast<double>(state >> 40), &memory);
  }
  std::vector<std::pair<double, double>> bounds;
  for (const double share : {0.001, 0.1, 0.5, 0.99}) {
    const Interval quantile = sketch.quantile(share);
    bounds.emplace_back(quantile.low, quantile.high);
  }
  EXPECT_EQ(bounds, (std::vector<std::pair<double, double>>{
                        {17'472, 17'536}, {1'703'936, 1'708'032}, {8'388'608, 8'421'376}, {16'580'608, 16'613'376}}));
}

}  // namespace
}  // namespace tapline::trigger
