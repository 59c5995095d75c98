#include "parsers/transactions/degraded/subject.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "parsers/testing/capture_file.h"

namespace tapline::testing {
namespace {

// Copies of a small capture alternate in blocks of this many frames, so that a late frame stays among the frames of its
// connection, and a position in the middle of the capture is in the middle of all copies.
constexpr size_t kBlockFrames = 8;

// Reads a JSON object and detects unknown keys.
class Keys {
 public:
  Keys(const nlohmann::json& node, std::string where) : node_(node), where_(std::move(where)) {}

  template <typename Value>
  void read(const char* key, Value* value) {
    known_.push_back(key);
    if (node_.contains(key)) *value = node_[key].get<Value>();
  }

  void know(const char* key) { known_.push_back(key); }

  void expect_no_others() const {
    for (const auto& [key, unused] : node_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      std::fprintf(stderr, "%s: unknown key %s\n", where_.c_str(), key.c_str());
      std::abort();
    }
  }

 private:
  nlohmann::json node_;
  std::string where_;
  std::vector<std::string> known_;
};

// Reads the bars by condition. A value missing from a bar defaults to the condition's.
std::map<std::string, Bar> read_bars(const nlohmann::json& node, const std::string& where) {
  std::map<std::string, Bar> bars;
  for (const Condition& condition : conditions()) {
    if (!node.contains(condition.name)) continue;
    Bar& bar = bars[condition.name] = condition.bar;
    Keys keys(node[condition.name], where);
    keys.read("right", &bar.right);
    keys.read("batched", &bar.batched);
    keys.read("wrong", &bar.wrong);
    keys.expect_no_others();
  }
  if (bars.size() == node.size()) return bars;
  std::fprintf(stderr, "%s: a bar names an unknown condition\n", where.c_str());
  std::abort();
}

Subject read_subject(const nlohmann::json& node, const std::string& parser, const std::string& where) {
  Subject subject;
  Keys keys(node, where);
  std::vector<uint16_t> ports;
  subject.name = subject.judged.parser = parser;
  keys.read("name", &subject.name);
  keys.read("capture", &subject.capture);
  keys.read("server_ports", &ports);
  subject.servers = {ports.at(0), ports.at(1)};
  keys.read("fields", &subject.judged.fields);
  keys.read("since", &subject.judged.since);
  keys.read("may_forget", &subject.judged.may_forget);
  keys.read("repeats_request", &subject.judged.repeats_request);
  keys.read("drop_copies", &subject.judged.drop_copies);
  keys.read("copies", &subject.copies);
  keys.read("skip", &subject.skip);
  keys.read("frames", &subject.frames);
  if (node.contains("bars")) subject.bars = read_bars(node["bars"], where);
  keys.know("bars");
  keys.read("has_damaged", &subject.has_damaged);
  keys.read("emits_requests_alone", &subject.emits_requests_alone);
  keys.read("emits_responses_alone", &subject.emits_responses_alone);
  keys.expect_no_others();
  return subject;
}

// Returns the frames with `difference` added to the second octets of their IPv4 addresses.
std::vector<Frame> moved(std::vector<Frame> frames, uint8_t difference) {
  for (Frame& frame : frames) {
    if (frame.bytes.size() < 34 || frame.bytes[12] != 0x08 || frame.bytes[13] != 0) continue;
    frame.bytes[27] = static_cast<uint8_t>(frame.bytes[27] + difference);
    frame.bytes[31] = static_cast<uint8_t>(frame.bytes[31] + difference);
  }
  return frames;
}

std::vector<Frame> repeated(const std::vector<Frame>& frames, size_t copies) {
  std::vector<std::vector<Frame>> all;
  for (size_t copy = 0; copy < copies; ++copy) all.push_back(moved(frames, static_cast<uint8_t>(copy)));
  std::vector<Frame> result;
  for (size_t begin = 0; begin < frames.size(); begin += kBlockFrames) {
    const size_t end = std::min(begin + kBlockFrames, frames.size());
    for (std::vector<Frame>& copy : all) {
      for (size_t i = begin; i < end; ++i) result.push_back(std::move(copy[i]));
    }
  }
  return result;
}

}  // namespace

std::vector<Subject> read_subjects() {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const auto& folder : fs::directory_iterator(TAPLINE_SOURCE_DIR "/parsers")) {
    const fs::path file = folder.path() / "traffic.json";
    if (fs::exists(file)) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  std::vector<Subject> subjects;
  for (const fs::path& file : files) {
    const nlohmann::json traffic = nlohmann::json::parse(std::ifstream(file));
    if (!traffic.contains("degraded")) continue;
    for (const nlohmann::json& entry : traffic["degraded"]) {
      subjects.push_back(read_subject(entry, file.parent_path().filename().string(), file.string()));
    }
  }
  return subjects;
}

std::vector<Frame> frames_of(const Subject& subject, size_t skip, size_t count) {
  const bool reference = subject.capture.starts_with("generated/");
  const std::string path = reference ? reference_capture(subject.capture) : TAPLINE_SOURCE_DIR "/" + subject.capture;
  if (path.empty()) return {};
  std::vector<Frame> frames = read_capture(path);
  frames.erase(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(std::min(skip, frames.size())));
  frames.resize(std::min(count, frames.size()));
  return repeated(frames, subject.copies);
}

}  // namespace tapline::testing
