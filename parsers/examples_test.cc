// Tests every parser's schema, which `tapline parsers NAME` prints: units, descriptions, kinds of strings, and the
// example, which must be a tuple that the parser emits for some capture in the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "parsers/registry.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/harness.h"
#include "parsers/trigger/program.h"

namespace tapline {
namespace {

namespace fs = std::filesystem;

// Numeric fields without a unit, since they are not amounts: codes, identifiers, and values of arbitrary metrics.
const std::set<std::string> kWithoutUnit = {"alert",    "api_version", "cipher_suite", "code",        "correlation_id",
                                            "dscp",     "ecn",         "error_code",   "id",          "rank",
                                            "sequence", "status",      "stream_id",    "target_port", "type",
                                            "value",    "version",     "high",         "low",         "trigger"};

// Returns the captures in testbed/captures and in each parser's captures/ folder.
std::vector<std::string> committed_captures() {
  const fs::path root = TAPLINE_SOURCE_DIR;
  std::vector<std::string> captures;
  const auto add = [&](const fs::path& folder) {
    if (!fs::is_directory(folder)) return;
    for (const auto& file : fs::directory_iterator(folder)) {
      if (file.path().filename().string().ends_with(".pcap.zst")) captures.push_back(file.path().string());
    }
  };
  add(root / "testbed" / "captures");
  for (const auto& parser : fs::directory_iterator(root / "parsers")) add(parser.path() / "captures");
  std::sort(captures.begin(), captures.end());
  return captures;
}

class SingleFigureSource final : public StatisticsSource {
 public:
  void for_each(const std::function<void(const Statistic&)>& visit) const override {
    visit({"packets_total", "stage=received", 486});
  }
};

// Returns a trigger that reports each source's TCP bytes in each second.
std::shared_ptr<const trigger::Program> a_trigger() {
  trigger::Trigger trigger;
  trigger.filter.protocol = protocol::kTcp;
  trigger.group = trigger::GroupBy::source(32, 128);
  trigger.when = trigger::above(trigger::value_of(trigger::Measure::kBytes), trigger::number(0));
  trigger.every_ns = kNsPerSecond;
  std::string error;
  return trigger::Program::make({trigger}, &error);
}

using Lines = std::set<std::vector<std::string>>;

// Returns a capture's frames. Merges X-arrivals.pcap.zst with X-departures.pcap.zst, the other side of the queue.
std::vector<testing::Frame> frames_of(const std::string& capture) {
  std::vector<testing::Frame> frames = testing::read_capture(capture);
  const size_t side = capture.find("-arrivals.");
  if (side == std::string::npos) return frames;
  for (testing::Frame frame : testing::read_capture(std::string(capture).replace(side, 10, "-departures."))) {
    frame.tap = 1;
    frames.push_back(std::move(frame));
  }
  std::stable_sort(frames.begin(), frames.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return frames;
}

// Returns the values of each emitted tuple, by parser, without the common columns.
std::map<std::string, Lines> tuples_of_committed_captures() {
  const SingleFigureSource figure;
  std::map<std::string, Lines> lines;
  for (const std::string& capture : committed_captures()) {
    std::vector<std::unique_ptr<Parser>> parsers = testing::make_parsers(parser_names());
    const TapNames taps[] = {{"s1", "2", "arrivals"}, {"s1", "2", "departures"}};
    for (const auto& parser : parsers) {
      parser->set_taps(taps);
      parser->set_statistics(&figure);
      parser->set_triggers(0, a_trigger(), nullptr);
    }
    testing::Harness run(std::move(parsers), {.max_connections = 1024});
    run.all(frames_of(capture));
    for (const testing::Tuple& tuple : run.tuples()) {
      const Schema& schema = run.engine().parser(tuple.parser).schema();
      std::vector<std::string> values;
      for (const Field& field : schema.fields) values.push_back(tuple[field.name]);
      lines[schema.name].insert(values);
    }
  }
  return lines;
}

TEST(Examples, AreTuplesOfCommittedCaptures) {
  std::map<std::string, Lines> emitted = tuples_of_committed_captures();
  for (const std::string& name : parser_names()) {
    const Schema schema = make_parser(name)->schema();
    EXPECT_EQ(schema.example.size(), schema.fields.size()) << name;
    if (schema.counted) {
      EXPECT_TRUE(emitted[name].empty()) << name << " emits tuples";
      continue;
    }
    EXPECT_TRUE(emitted[name].contains(schema.example)) << name << " emits no such tuple for any committed capture";
  }
}

TEST(Examples, FieldsAreDescribedAndAmountsHaveUnits) {
  for (const std::string& name : parser_names()) {
    const Schema schema = make_parser(name)->schema();
    for (const Field& field : schema.fields) {
      const std::string which = name + "." + field.name;
      const bool is_number = field.type != FieldType::kString && field.type != FieldType::kBool;
      EXPECT_FALSE(field.description.empty()) << which;
      EXPECT_EQ(field.unit.empty(), !is_number || kWithoutUnit.contains(field.name)) << which;
      EXPECT_FALSE(field.additive && field.unit.empty()) << which;
      for (const std::string unit : {"ns", "bytes"}) {
        EXPECT_TRUE(!field.name.ends_with("_" + unit) || field.unit == unit) << which;
      }
    }
  }
}

TEST(Examples, StringsDeclareTheirKind) {
  for (const std::string& name : parser_names()) {
    const Schema schema = make_parser(name)->schema();
    for (const Field& field : schema.fields) {
      EXPECT_EQ(field.text, text_kind_of(field)) << name << "." << field.name << ": only its name shows its kind";
    }
  }
}

}  // namespace
}  // namespace tapline
