#include "monitors/output/json_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "monitors/output/json_text.h"

namespace tapline {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(text, &out);
  return out;
}

TEST(JsonTextTest, Escapes) {
  EXPECT_EQ(quoted("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(quoted(std::string_view("\n\r\t\0\x1f\x7f", 6)), "\"\\n\\r\\t\\u0000\\u001f\x7f\"");
}

TEST(JsonTextTest, Utf8IsKeptAndInvalidBytesAreReplaced) {
  EXPECT_EQ(quoted("é€😀"), "\"é€😀\"");
  EXPECT_EQ(quoted("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(quoted("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "overlong";
  EXPECT_EQ(quoted("\xed\xa0\x80").size(), 2 + 9u) << "a surrogate";
  EXPECT_EQ(quoted("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "cut off";
  EXPECT_EQ(quoted("\xf4\x90\x80\x80").size(), 2 + 12u) << "above U+10FFFF";
}

// A strict JSON reader must accept every pair of bytes.
TEST(JsonTextTest, EmitsValidJson) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      char text[] = {'\xe1', static_cast<char>(first), static_cast<char>(second), 'x'};
      ASSERT_TRUE(nlohmann::json::accept(quoted({text, 4}))) << first << " " << second;
    }
  }
}

TEST(JsonTextTest, Numbers) {
  std::string out;
  append_number(std::numeric_limits<uint64_t>::max(), &out);
  append_number(std::numeric_limits<int64_t>::min(), &out);
  EXPECT_EQ(out, "18446744073709551615-9223372036854775808");
  out.clear();
  append_number(0.1, &out);
  append_number(std::nan(""), &out);
  EXPECT_EQ(out, "0.1null");
}

TEST(JsonTextTest, Addresses) {
  const uint8_t bytes[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::string out;
  append_address(IpAddress::v6(bytes), &out);
  EXPECT_EQ(out, "2001:db8::1");
  out.clear();
  const uint8_t four[4] = {10, 0, 200, 255};
  append_address(IpAddress::v4(four), &out);
  EXPECT_EQ(out, "10.0.200.255");
}

class JsonOutputTest : public testing::Test {
 protected:
  JsonOutputTest() {
    EXPECT_EQ(pipe(pipe_), 0);
    fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
  }
  ~JsonOutputTest() override {
    close(pipe_[0]);
    if (pipe_[1] >= 0) close(pipe_[1]);
  }
  std::string text() {
    std::string text(65536, '\0');
    ssize_t bytes_read = read(pipe_[0], text.data(), text.size());
    text.resize(bytes_read > 0 ? static_cast<size_t>(bytes_read) : 0);
    return text;
  }
  void emit(JsonOutput& output, uint64_t queries) {
    const uint8_t client[4] = {10, 0, 0, 1}, server[4] = {10, 0, 0, 2};
    TupleHeader header;
    header.time_ns = 1'700'000'000'123'456'789;
    header.flow_hash = 0xabc;
    header.flow_incarnation = 0x12345678;
    header.client_known_by = ClientKnownBy::kHandshake;
    header.src_ip = IpAddress::v4(client);
    header.src_port = 40000;
    header.dst_ip = IpAddress::v4(server);
    header.dst_port = 80;
    header.queries = queries;
    const Value values[] = {Value::string("/a\"b"), Value::u64(7), Value::i64(-7), Value::f64(0.5),
                            Value::boolean(true)};
    output.emit(0, header, values);
  }

  Schema schema_ = {.name = "p",
                    .fields = {{"url", FieldType::kString},
                               {"u", FieldType::kU64},
                               {"i", FieldType::kI64},
                               {"f", FieldType::kF64},
                               {"b", FieldType::kBool}}};
  std::vector<const Schema*> schemas_ = {&schema_};
  std::vector<QuerySpec> queries_ = {{.name = "q0"}};
  QueryAccounts accounts_ = QueryAccounts(2);
  int pipe_[2];
};

TEST_F(JsonOutputTest, EachTupleIsALine) {
  JsonOutput output(pipe_[1], queries_, queries_.size() > 1, schemas_, &accounts_, false);
  emit(output, 1);
  ASSERT_TRUE(output.finish().ok());
  EXPECT_EQ(text(),
            R"({"parser":"p","time_ns":1700000000123456789,"flow_id":"0000000000000abc-12345678",)"
            R"("client_known_by":"handshake","src_ip":"10.0.0.1","src_port":40000,"dst_ip":"10.0.0.2","dst_port":80,)"
            R"("url":"/a\"b","u":7,"i":-7,"f":0.5,"b":true})"
            "\n");
  EXPECT_EQ(accounts_[0].tuples_out, 1u);
}

// Returns the schema of the parser `trigger`.
const Schema& events() {
  static const Schema events = {.name = "trigger",
                                .fields = {{"trigger", FieldType::kU64},
                                           {"scope", FieldType::kString},
                                           optional({"group", FieldType::kString}),
                                           optional({"value", FieldType::kF64}),
                                           optional({"low", FieldType::kF64}),
                                           optional({"high", FieldType::kF64}),
                                           {"window_start_ns", FieldType::kI64},
                                           {"window_end_ns", FieldType::kI64},
                                           {"certain", FieldType::kBool},
                                           {"incomplete", FieldType::kBool},
                                           optional({"lost_packets", FieldType::kU64}),
                                           {"ready_ns", FieldType::kI64},
                                           optional({"exemplars", FieldType::kString}),
                                           optional({"tuple", FieldType::kString})}};
  return events;
}

// Triggers are tested as in BatchOutput; their events are lines of the parser `trigger`.
TEST_F(JsonOutputTest, TriggersOnTuplesAreTested) {
  schemas_ = {&schema_, &events()};
  const TupleTrigger twice = {.processor = 3,
                              .parser = "p",
                              .comparison = TupleTrigger::Comparison::kAtLeast,
                              .threshold = 2,
                              .clear = 2,
                              .every_ns = 10'000'000,
                              .panes = 2};
  queries_ = {{.name = "q0", .parsers = {"p", "trigger"}, .tuple_triggers = {twice}},
              {.name = "q1", .parsers = {"p", "trigger"}},
              {.name = "q2", .parsers = {"p", "trigger"}, .tuple_triggers = {twice}, .lanes = 2}};
  accounts_ = QueryAccounts(3);
  JsonOutput output(pipe_[1], queries_, true, schemas_, &accounts_, false);
  for (uint32_t query = 0; query < 3; ++query) {
    ASSERT_TRUE(output.prepare(query).ok());
    output.add_query(query);
    output.set_watched_since(query, 0);
  }
  emit(output, 0b111);
  emit(output, 0b111);
  constexpr int64_t kTupleNs = 1'700'000'000'123'456'789, kEndNs = 1'700'000'000'130'000'000;
  output.tick(0, kEndNs - 1);
  EXPECT_EQ(accounts_[0].tuples_out, 2u) << "the window has not ended";
  output.tick(0, kEndNs);
  EXPECT_EQ(accounts_[0].tuples_out, 3u);
  output.end_query(0, kEndNs);
  ASSERT_TRUE(output.finish().ok());
  const std::string written = text();
  std::vector<nlohmann::json> found;
  for (size_t begin = 0; begin < written.size(); begin = written.find('\n', begin) + 1) {
    auto line = nlohmann::json::parse(written.substr(begin, written.find('\n', begin) - begin));
    if (line["parser"] == "trigger") found.push_back(std::move(line));
  }
  ASSERT_EQ(found.size(), 2u) << "its window, and the partial one at the end of the query";
  EXPECT_EQ(found[0]["query"], "q0");
  EXPECT_EQ(found[0]["trigger"], 3);
  EXPECT_EQ(found[0]["value"], 2);
  EXPECT_EQ(found[0]["window_end_ns"], kEndNs);
  EXPECT_EQ(found[0]["incomplete"], false);
  EXPECT_EQ(found[0]["exemplars"], "10.0.0.1:40000-10.0.0.2:80");
  EXPECT_EQ(found[1]["incomplete"], true);
  EXPECT_LT(kTupleNs, kEndNs);
}

// At the end of the window, every group has an event, and together they do not fit into the buffer.
TEST_F(JsonOutputTest, AFileHasTheEventsOfManyGroups) {
  constexpr uint32_t kGroups = 40'000, kSrcPort = 5;
  constexpr int64_t kStartNs = 1'700'000'000'000'000'000, kEndNs = kStartNs + 10'000'000;
  schemas_ = {&schema_, &events()};
  queries_ = {{.name = "q0",
               .parsers = {"p", "trigger"},
               .tuple_triggers = {{.processor = 3, .parser = "p", .group = {kSrcPort}, .every_ns = 10'000'000}}}};
  accounts_ = QueryAccounts(1);
  const int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  JsonOutput output(file, queries_, false, schemas_, &accounts_, false);
  ASSERT_TRUE(output.prepare(0).ok());
  output.add_query(0);
  output.set_watched_since(0, 0);
  const Value values[] = {Value::string("/"), Value::u64(7), Value::i64(-7), Value::f64(0.5), Value::boolean(true)};
  for (uint32_t group = 0; group < kGroups; ++group) {
    TupleHeader header;
    header.time_ns = kStartNs + group;
    header.src_port = static_cast<uint16_t>(group);
    header.queries = 1;
    output.emit(0, header, values);
  }
  output.tick(0, kEndNs);
  output.end_query(0, kEndNs);
  ASSERT_TRUE(output.finish().ok());
  EXPECT_EQ(accounts_[0].tuples_out, 2 * kGroups);
  EXPECT_EQ(accounts_[0].dropped[index_of(Drop::kOutputFull)], 0u);
  EXPECT_GT(lseek(file, 0, SEEK_END), static_cast<off_t>(2 * JsonOutput::kMaxWaitingBytes));
  close(file);
}

// Each query must receive the string in the form that it requests.
TEST_F(JsonOutputTest, TextsHaveTheFormThatEachQueryRequests) {
  queries_.push_back({.name = "q1", .shapes = {{"p", "url", TextForm::kHash}}});
  JsonOutput output(pipe_[1], queries_, true, schemas_, &accounts_, false, nullptr, HashKey{1, 2});
  for (uint32_t query : {0u, 1u}) ASSERT_TRUE(output.prepare(query).ok());
  emit(output, 3);
  ASSERT_TRUE(output.finish().ok());
  const std::string text = this->text();
  const size_t second = text.find('\n');
  EXPECT_NE(text.substr(0, second).find(R"("url":"/a\"b")"), std::string::npos);
  EXPECT_EQ(text.substr(second).find("/a"), std::string::npos);
}

// Queue parsers measure all flows, but each query must receive only those that it reports.
TEST_F(JsonOutputTest, AQueryGetsTheFlowsThatItReports) {
  const auto to_host = [](const char* prefix) { return ConnectionMatch({}, {*AddressPattern::parse(prefix, 80)}); };
  queries_ = {{.name = "q0", .reported = to_host("10.0.0.2")}, {.name = "q1", .reported = to_host("10.0.0.3")}};
  JsonOutput output(pipe_[1], queries_, true, schemas_, &accounts_, false);
  emit(output, 3);
  ASSERT_TRUE(output.finish().ok());
  const std::string text = this->text();
  EXPECT_NE(text.find(R"("query":"q0")"), std::string::npos);
  EXPECT_EQ(text.find(R"("query":"q1")"), std::string::npos);
  EXPECT_EQ(accounts_[1].tuples_in, 0u);
}

TEST_F(JsonOutputTest, SeveralQueriesAreNamed) {
  queries_.push_back({.name = "q1"});
  JsonOutput output(pipe_[1], queries_, queries_.size() > 1, schemas_, &accounts_, false);
  emit(output, 3);
  ASSERT_TRUE(output.finish().ok());
  std::string text = this->text();
  EXPECT_NE(text.find(R"("query":"q0")"), std::string::npos);
  EXPECT_NE(text.find(R"("query":"q1")"), std::string::npos);
}

TEST_F(JsonOutputTest, LinesAppearAfterATenthOfASecond) {
  JsonOutput output(pipe_[1], queries_, queries_.size() > 1, schemas_, &accounts_, false);
  output.tick(1'000'000'000, 0);
  emit(output, 1);
  output.tick(1'050'000'000, 0);
  EXPECT_EQ(text(), "");
  output.tick(1'100'000'000, 0);
  EXPECT_NE(text(), "");
}

TEST_F(JsonOutputTest, AReaderThatClosedThePipeIsAnError) {
  std::signal(SIGPIPE, SIG_IGN);
  close(pipe_[0]);
  pipe_[0] = open("/dev/null", O_RDONLY);
  JsonOutput output(pipe_[1], queries_, queries_.size() > 1, schemas_, &accounts_, false);
  emit(output, 1);
  EXPECT_EQ(output.finish().code(), Code::kResources);
  EXPECT_NE(output.status().message().find("reader has closed it"), std::string::npos);
}

TEST_F(JsonOutputTest, AFullDiskIsAnError) {
  int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  JsonOutput output(full, queries_, queries_.size() > 1, schemas_, &accounts_, false);
  emit(output, 1);
  EXPECT_NE(output.finish().message().find("No space left"), std::string::npos);
  close(full);
}

// A live capture must continue without a reader. Lines for which there is no room must be counted, and every line that
// is read must be complete.
TEST_F(JsonOutputTest, ALiveCaptureNeverWaitsForItsReader) {
  JsonOutput output(pipe_[1], queries_, false, schemas_, &accounts_, true);
  constexpr uint64_t kTuples = 100'000;
  for (uint64_t i = 0; i < kTuples; ++i) emit(output, 1);
  EXPECT_GT(accounts_[0].dropped[index_of(Drop::kOutputFull)], 0u);
  EXPECT_GT(accounts_[0].tuples_out, JsonOutput::kMaxWaitingBytes / 300);
  std::string written;
  std::atomic<bool> finished{false};
  std::thread reader([&] {
    for (bool is_last = false; !is_last;) {
      is_last = finished;
      for (std::string some = text(); !some.empty(); some = text()) written += some;
    }
  });
  EXPECT_TRUE(output.finish().ok());
  finished = true;
  reader.join();
  EXPECT_EQ(static_cast<uint64_t>(std::count(written.begin(), written.end(), '\n')), accounts_[0].tuples_out);
  EXPECT_EQ(written.back(), '\n');
  EXPECT_EQ(accounts_[0].tuples_in, kTuples);
  EXPECT_TRUE(accounts_[0].balanced());
}

TEST_F(JsonOutputTest, ALiveReaderThatClosedThePipeIsAnError) {
  std::signal(SIGPIPE, SIG_IGN);
  JsonOutput output(pipe_[1], queries_, false, schemas_, &accounts_, true);
  close(pipe_[0]);
  pipe_[0] = open("/dev/null", O_RDONLY);
  emit(output, 1);
  EXPECT_NE(output.finish().message().find("reader has closed it"), std::string::npos);
  EXPECT_FALSE(output.status().ok());
}

}  // namespace
}  // namespace tapline
