#include "parsers/transactions/degraded/pair_judge.h"

#include <algorithm>
#include <set>

namespace tapline::testing {
namespace {

// Frame i is at i * kStepNs + (i * i mod kPrime): the distance of i and j tells j - i, and with it i + j modulo a
// prime.
constexpr int64_t kPrime = 262'147;
constexpr int64_t kStepNs = 1 << 20;
constexpr int64_t kStartNs = 1'000'000'000'000;
constexpr size_t kMostExamples = 5;

int64_t time_of(int64_t frame) { return kStartNs + frame * kStepNs + frame * frame % kPrime; }

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (base %= kPrime; exponent > 0; exponent /= 2, base = base * base % kPrime) {
    if (exponent % 2 == 1) result = result * base % kPrime;
  }
  return result;
}

EngineOptions options() { return {.max_connections = 1 << 16}; }

}  // namespace

PairScore& PairScore::operator+=(const PairScore& other) {
  eligible += other.eligible;
  right += other.right;
  batched += other.batched;
  batched_right += other.batched_right;
  wrong += other.wrong;
  again += other.again;
  half_requests += other.half_requests;
  half_responses += other.half_responses;
  for (const std::string& example : other.missed) {
    if (missed.size() < kMostExamples) missed.push_back(example);
  }
  for (const std::string& example : other.examples) {
    if (examples.size() < kMostExamples) examples.push_back(example);
  }
  return *this;
}

PairJudge::PairJudge(std::string parser, std::vector<std::string> fields, std::vector<Frame> frames)
    : parser_(std::move(parser)), fields_(std::move(fields)), frames_(std::move(frames)) {
  for (size_t i = 0; i < frames_.size(); ++i) frames_[i].time_ns = time_of(static_cast<int64_t>(i));
  PairScore unused;
  truth_ = told_of(frames_, &unused);
}

size_t PairJudge::pairs() const {
  size_t count = 0;
  for (const auto& [pair, texts] : truth_) {
    for (const auto& [text, times] : texts) count += times;
  }
  return count;
}

bool PairJudge::frames_of(int64_t distance_ns, Pair* pair) const {
  const int64_t apart = (distance_ns + kStepNs / 2) / kStepNs;
  if (apart <= 0) return false;
  const int64_t rest = ((distance_ns - apart * kStepNs) % kPrime + kPrime) % kPrime;
  int64_t sum = rest * power(apart, kPrime - 2) % kPrime;
  for (; sum < 2 * static_cast<int64_t>(frames_.size()); sum += kPrime) {
    if (sum < apart || (sum - apart) % 2 != 0) continue;
    const int64_t first = (sum - apart) / 2;
    if (time_of(first + apart) - time_of(first) != distance_ns) continue;
    *pair = {static_cast<uint32_t>(first), static_cast<uint32_t>(first + apart)};
    return true;
  }
  return false;
}

PairJudge::Told PairJudge::told_of(const std::vector<Frame>& frames, PairScore* score) const {
  Harness run({parser_}, options());
  run.all(frames);
  Told told;
  for (const Tuple& tuple : run.tuples()) {
    score->half_requests += tuple["partial"] == "request";
    score->half_responses += tuple["partial"] == "response";
    Pair pair;
    if (!tuple["partial"].empty() || tuple["first_byte_ns"] == "0") continue;
    if (!frames_of(std::stoll(tuple["first_byte_ns"]), &pair)) pair = {UINT32_MAX, UINT32_MAX};
    std::string text;
    for (const std::string& field : fields_) text += tuple[field] + " ";
    ++told[pair][text];
  }
  return told;
}

PairScore PairJudge::judge(const http::Degraded& degraded) const {
  std::vector<Frame> frames;
  std::set<uint32_t> whole, altered;
  for (const auto& item : degraded.items) {
    if (item.original == http::Degraded::kForeign) continue;
    Frame frame = degraded.frames.empty() ? frames_[item.original] : degraded.frames[item.frame];
    frame.time_ns = time_of(item.original);
    const bool unaltered = !item.altered && frame.bytes.size() == frames_[item.original].bytes.size();
    (unaltered ? whole : altered).insert(item.original);
    frames.push_back(std::move(frame));
  }
  PairScore score;
  const Told told = told_of(frames, &score);
  std::map<uint32_t, uint64_t> asked_in;
  for (const auto& [pair, texts] : truth_) {
    for (const auto& [text, times] : texts) asked_in[pair.first] += times;
  }
  for (const auto& [pair, texts] : truth_) {
    if (!whole.contains(pair.first) || !whole.contains(pair.second)) continue;
    const auto found = told.find(pair);
    for (const auto& [text, times] : texts) {
      const auto same =
          found != told.end() ? found->second.find(text) : std::map<std::string, uint64_t>::const_iterator();
      const uint64_t seen = found != told.end() && same != found->second.end() ? same->second : 0;
      const bool batched = asked_in[pair.first] > 1;
      (batched ? score.batched : score.eligible) += times;
      (batched ? score.batched_right : score.right) += std::min(times, seen);
      if (!batched && seen < times && score.missed.size() < kMostExamples) {
        score.missed.push_back(text + "of frames " + std::to_string(pair.first) + " and " +
                               std::to_string(pair.second));
      }
      score.again += seen - std::min(times, seen);
    }
  }
  for (const auto& [pair, texts] : told) {
    const auto found = truth_.find(pair);
    const bool readable = whole.contains(pair.first) && whole.contains(pair.second);
    for (const auto& [text, times] : texts) {
      if (found != truth_.end() && (!readable || found->second.contains(text))) continue;
      score.wrong += times;
      if (score.examples.size() >= kMostExamples) continue;
      score.examples.push_back(text + "of frames " + std::to_string(pair.first) + " and " +
                               std::to_string(pair.second));
    }
  }
  return score;
}

}  // namespace tapline::testing
