#include "parsers/transactions/degraded/pair_judge.h"

#include <algorithm>
#include <tuple>

#include "parsers/decode/decoder.h"
#include "parsers/decode/duplicate_filter.h"

namespace tapline::testing {
namespace {

// Frame i is captured at kStartNs + i * kStepNs + (i * i mod kPrime): the time between frames i and j determines j - i,
// and with it i + j modulo a prime.
constexpr int64_t kPrime = 262'147;
constexpr int64_t kStepNs = 1 << 20;
constexpr int64_t kStartNs = 1'000'000'000'000;
constexpr size_t kMaxExamples = 5, kShownBytes = 80;

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
  partly += other.partly;
  batched += other.batched;
  batched_right += other.batched_right;
  batched_partly += other.batched_partly;
  wrong += other.wrong;
  unknowable += other.unknowable;
  repeated += other.repeated;
  half_requests += other.half_requests;
  half_responses += other.half_responses;
  alone += other.alone;
  for (const std::string& example : other.missed) {
    if (missed.size() < kMaxExamples) missed.push_back(example);
  }
  for (const std::string& example : other.examples) {
    if (examples.size() < kMaxExamples) examples.push_back(example);
  }
  return *this;
}

PairJudge::PairJudge(JudgedTuple judged, std::vector<Frame> frames)
    : judged_(std::move(judged)), frames_(std::move(frames)) {
  for (size_t i = 0; i < frames_.size(); ++i) frames_[i].time_ns = time_of(static_cast<int64_t>(i));
  PairScore unused;
  truth_ = reported_pairs(frames_, &unused, &connections_);
  for (const auto& [frames_of_pair, texts] : truth_) requests_.emplace(frames_of_pair.second, frames_of_pair.first);
  note_copies();
}

// Records segments with the sequence number and length of an earlier one.
void PairJudge::note_copies() {
  const FlowHasher hasher(kTestKey);
  std::map<std::tuple<uint64_t, uint16_t, uint32_t, uint32_t>, uint32_t> seen;
  for (uint32_t i = 0; i < frames_.size(); ++i) {
    Packet packet;
    if (decode(frames_[i].raw(), hasher, &packet) != DecodeOutcome::kOk || !packet.is_tcp()) continue;
    if (packet.payload_bytes == 0) continue;
    const auto [first, is_new] =
        seen.try_emplace({packet.flow_hash, packet.src_port, packet.tcp_seq, packet.payload_bytes}, i);
    if (!is_new) first_copy_[i] = first->second;
  }
}

// Replaces a retransmitted copy with the frame that it repeats if that frame was lost or follows it.
PairJudge::Reported PairJudge::by_first_copies(const Reported& reported, const Order& order) const {
  const auto first = [&](uint32_t frame) {
    const auto copied = first_copy_.find(frame);
    if (copied == first_copy_.end()) return frame;
    const auto original = order.find(copied->second), copy = order.find(frame);
    const bool earlier = original != order.end() && copy != order.end() && original->second < copy->second;
    return earlier ? frame : copied->second;
  };
  Reported result;
  for (const auto& [pair, texts] : reported) {
    for (const auto& [details, times] : texts) result[{first(pair.first), first(pair.second)}][details] += times;
  }
  return result;
}

size_t PairJudge::pairs() const {
  size_t count = 0;
  for (const auto& [pair, texts] : truth_) {
    for (const auto& [text, times] : texts) count += times;
  }
  return count;
}

bool PairJudge::frames_of(int64_t distance_ns, Pair* pair) const {
  const int64_t steps = (distance_ns + kStepNs / 2) / kStepNs;
  if (steps <= 0) return false;
  const int64_t rest = ((distance_ns - steps * kStepNs) % kPrime + kPrime) % kPrime;
  int64_t sum = rest * power(steps, kPrime - 2) % kPrime;
  for (; sum < 2 * static_cast<int64_t>(frames_.size()); sum += kPrime) {
    if (sum < steps || (sum - steps) % 2 != 0) continue;
    const int64_t first = (sum - steps) / 2;
    if (time_of(first + steps) - time_of(first) != distance_ns) continue;
    *pair = {static_cast<uint32_t>(first), static_cast<uint32_t>(first + steps)};
    return true;
  }
  return false;
}

PairJudge::Reported PairJudge::reported_pairs(const std::vector<Frame>& frames, PairScore* score,
                                              Connections* connections) const {
  Harness run({judged_.parser}, options());
  run.all(frames);
  Reported reported;
  for (const Tuple& tuple : run.tuples()) {
    score->half_requests += tuple["partial"] == "request";
    score->half_responses += tuple["partial"] == "response";
    Pair pair;
    if (!tuple["partial"].empty() || tuple[judged_.since] == "-") continue;
    if (!frames_of(std::stoll(tuple[judged_.since]), &pair)) pair = {UINT32_MAX, UINT32_MAX};
    if (connections != nullptr) (*connections)[tuple.endpoints()].insert(pair.first);
    Details details;
    for (const std::string& field : judged_.fields) details.values.push_back(tuple[field]);
    const auto cut = tuple.values.find("cut");
    details.cut = cut != tuple.values.end() && cut->second == "true";
    details.repeats_request = !judged_.repeats_request.empty() && tuple[judged_.repeats_request] != "0";
    ++reported[pair][details];
  }
  return reported;
}

bool PairJudge::is_part_of(const Details& reported, const Values& truth) const {
  if (!judged_.may_forget) return false;
  for (size_t i = 0; i < truth.size(); ++i) {
    const std::string& value = reported.values[i];
    if (value != truth[i] && value != "-" && !(reported.cut && truth[i].starts_with(value))) return false;
  }
  return true;
}

namespace {

std::string shown(const std::vector<std::string>& values, uint32_t request, uint32_t response) {
  std::string text;
  for (const std::string& value : values) text += value.substr(0, kShownBytes) + " ";
  return text + "of frames " + std::to_string(request) + " and " + std::to_string(response);
}

}  // namespace

void PairJudge::count_right(const Pair& pair, const std::map<Details, uint64_t>& truth, const Reported& reported,
                            bool batched, PairScore* score) const {
  const auto it = reported.find(pair);
  std::map<Values, uint64_t> wanted;
  for (const auto& [details, times] : truth) wanted[details.values] += times;
  for (const auto& [values, times] : wanted) {
    uint64_t same = 0, part = 0;
    if (it != reported.end()) {
      for (const auto& [others, seen] : it->second) {
        if (others.values == values) same += seen;
        if (others.values != values && is_part_of(others, values)) part += seen;
      }
    }
    const uint64_t right = std::min(times, same);
    (batched ? score->batched : score->eligible) += times;
    (batched ? score->batched_right : score->right) += right;
    (batched ? score->batched_partly : score->partly) += std::min(times - right, part);
    score->repeated += same - right;
    if (right + part < times && score->missed.size() < kMaxExamples) {
      score->missed.push_back(shown(values, pair.first, pair.second));
    }
  }
}

// Returns true if the whole capture has the pair and, if `readable` is true, its values. `readable` is true if the
// bytes of the pair's frames are unaltered.
bool PairJudge::is_of(const Pair& pair, const Details& reported, bool readable) const {
  const auto truth = truth_.find(pair);
  if (truth == truth_.end()) return false;
  return !readable || std::any_of(truth->second.begin(), truth->second.end(), [&](const auto& known) {
    return known.first.values == reported.values || is_part_of(reported, known.first.values);
  });
}

// Returns true if request and response are correct, but the first frame of one of them was lost or late, and the tuple
// is marked accordingly.
bool PairJudge::begins_late(const Pair& pair, const Details& reported) const {
  if (!reported.cut) return false;
  const auto [begin, end] = requests_.equal_range(pair.second);
  const bool request = std::any_of(begin, end, [&](const auto& asked) {
    return asked.second < pair.first && is_of({asked.second, pair.second}, reported, true);
  });
  const auto own = truth_.lower_bound({pair.first, 0});
  const bool is_own = own != truth_.end() && own->first.first == pair.first && own->first.second < pair.second;
  return request || (is_own && is_of(own->first, reported, true));
}

void PairJudge::count_wrong(const Pair& pair, const std::map<Details, uint64_t>& reported, const Frames& whole_frames,
                            const Frames& altered, PairScore* score) const {
  const bool readable = !altered.contains(pair.first) && !altered.contains(pair.second);
  // True if no captured frame contradicts the pair: the request's own response was lost, and the response's own request
  // was lost or the pair counts as a repetition.
  const auto is_unknowable = [&](const Details& details) {
    const auto truth = truth_.lower_bound({pair.first, 0});
    if (truth == truth_.end() || truth->first.first != pair.first || whole_frames.contains(truth->first.second))
      return false;
    const auto own = requests_.find(pair.second);
    return details.repeats_request || (own != requests_.end() && !whole_frames.contains(own->second));
  };
  for (const auto& [details, times] : reported) {
    if (is_of(pair, details, readable) || begins_late(pair, details)) continue;
    const bool unknowable = !judged_.repeats_request.empty() && is_unknowable(details);
    (unknowable ? score->unknowable : score->wrong) += times;
    if (!unknowable && score->examples.size() < kMaxExamples) {
      score->examples.push_back(shown(details.values, pair.first, pair.second));
    }
  }
}

// Returns the frames of each connection's first `requests` requests in the degraded capture.
PairJudge::Frames PairJudge::joining(const Frames& whole_frames, uint32_t requests) const {
  Frames joining;
  for (const auto& [connection, asked] : connections_) {
    uint32_t seen = 0;
    for (auto frame = asked.begin(); frame != asked.end() && seen < requests; ++frame) {
      if (!whole_frames.contains(*frame)) continue;
      joining.insert(*frame);
      ++seen;
    }
  }
  return joining;
}

PairScore PairJudge::judge(const http::Degraded& degraded, JudgedCapture capture) const {
  const FlowHasher hasher(kTestKey);
  DuplicateFilter copies({}, kTestKey);
  std::vector<Frame> frames;
  Frames whole_frames, altered;
  Order order;
  for (const auto& item : degraded.items) {
    if (item.original == http::Degraded::kForeign) continue;
    Frame frame = degraded.frames.empty() ? frames_[item.original] : degraded.frames[item.frame];
    frame.time_ns = time_of(item.original);
    if (degraded.frames.empty() && item.captured_bytes < frame.bytes.size()) {
      frame.wire_bytes = frame.raw().wire_bytes;
      frame.bytes.resize(item.captured_bytes);
    }
    const bool unaltered = !item.altered && frame.bytes.size() == frames_[item.original].bytes.size();
    (unaltered ? whole_frames : altered).insert(item.original);
    order.emplace(item.original, order.size());
    Packet packet;
    if (judged_.drop_copies && decode(frame.raw(), hasher, &packet) == DecodeOutcome::kOk && copies.is_copy(packet)) {
      continue;
    }
    for (Frame& frame_copy : wrapped(frame, capture.wrapping, item.original)) frames.push_back(std::move(frame_copy));
  }
  PairScore score;
  const Reported reported = by_first_copies(reported_pairs(frames, &score), order);
  std::map<uint32_t, uint64_t> requested_times;
  for (const auto& [pair, texts] : truth_) {
    for (const auto& [values, times] : texts) requested_times[pair.first] += times;
  }
  const Frames passed_over = joining(whole_frames, capture.joining);
  for (const auto& [pair, texts] : truth_) {
    if (passed_over.contains(pair.first)) continue;
    const bool was_asked = whole_frames.contains(pair.first), answered = whole_frames.contains(pair.second);
    if (was_asked && answered) count_right(pair, texts, reported, requested_times[pair.first] > 1, &score);
    if (was_asked == answered) continue;
    for (const auto& [values, times] : texts) score.alone += times;
  }
  for (const auto& [pair, texts] : reported) {
    count_wrong(pair, texts, whole_frames, altered, &score);
  }
  return score;
}

}  // namespace tapline::testing
