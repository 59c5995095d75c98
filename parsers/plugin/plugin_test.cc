#include "parsers/plugin/plugin.h"

#include <gtest/gtest.h>

#include "parsers/plugin/call_mark.h"
#include "parsers/plugin/plugin_parser.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Harness;

constexpr char kFolder[] = TAPLINE_PLUGINS;

std::string fault_of(const std::string& name) {
  std::string error;
  EXPECT_EQ(Plugin::load(std::string(kFolder) + "/" + name, 0, &error), nullptr);
  return error;
}

const Plugin& marker() {
  static std::string error;
  static const std::unique_ptr<Plugin> plugin = Plugin::load(std::string(kFolder) + "/marker.so", 3, &error);
  EXPECT_NE(plugin, nullptr) << error;
  return *plugin;
}

std::vector<std::unique_ptr<Parser>> made(std::initializer_list<size_t> indexes) {
  std::vector<std::unique_ptr<Parser>> parsers;
  for (const size_t index : indexes) {
    parsers.push_back(make_plugin_parser(marker().parsers()[index], marker().index()));
  }
  return parsers;
}

TEST(Plugin, InvalidFilesAreRejected) {
  EXPECT_NE(fault_of("nowhere.so").find("no such file"), std::string::npos);
  EXPECT_NE(fault_of("marker_of_another_version.so").find("version 2"), std::string::npos);
  EXPECT_NE(fault_of("marker_without_entry.so").find("tapline_plugin_entry"), std::string::npos);
  EXPECT_NE(fault_of("../plugin_test").find("cannot be loaded"), std::string::npos);
}

TEST(Plugin, DescribesItsParsers) {
  ASSERT_EQ(marker().parsers().size(), 3u);
  EXPECT_EQ(marker().parsers()[0].schema.name, "marker");
  EXPECT_EQ(marker().parsers()[1].schema.name, "marker_lines");
  EXPECT_TRUE(marker().parsers()[1].needs.streams);
}

TEST(PluginParser, ReceivesPacketsAndIntervals) {
  Harness harness(made({0}));
  Conversation conversation;
  conversation.handshake().client("hello").server("a longer text than sixteen").wait_ns(2'000'000'000).client("late");
  harness.all(conversation.frames());
  EXPECT_EQ(harness.lines({"kind", "text", "bytes"}),
            (std::vector<std::string>{"packet hello 5", "packet a longer text th 26", "second - 2", "packet late 4"}));
  // The source is the client, guessed by its higher port, since the plug-in requested no connections.
  for (const auto& tuple : harness.tuples()) EXPECT_EQ(tuple.endpoints(), "10.0.0.1:40000>10.0.0.2:80");
}

TEST(PluginParser, ReceivesStreamsWithItsState) {
  Harness harness(made({0, 1}));
  Conversation conversation;
  conversation.handshake().client_cut("one\ntwo\n", 3).server("three\n").close();
  harness.all(conversation.frames());
  std::vector<std::string> ends;
  for (const auto& tuple : harness.tuples()) {
    if (tuple.parser != 1) continue;
    EXPECT_EQ(tuple.header.client_known_by, ClientKnownBy::kHandshake);
    ends.push_back(tuple["client_lines"] + " " + tuple["server_lines"] + " " + tuple["missing_bytes"] + " " +
                   tuple["complete"]);
    EXPECT_NEAR(std::stod(tuple["share"]), 2.0 / 3, 1e-6);
  }
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].substr(0, 6), "2 1 0 ");
}

TEST(PluginParser, IdentifiesTheClientAndStops) {
  Harness harness(made({1}));
  Conversation mid_stream;
  // If there is no handshake, the side with the higher port counts as the client until a parser corrects that.
  mid_stream.server("CLIENT\n").client("x\n");
  Conversation given_up({.client_port = 40001});
  given_up.handshake().client("ENOUGH\n").client("more\n");
  harness.feed(mid_stream.frames());
  harness.all(given_up.frames());
  ASSERT_EQ(harness.tuples().size(), 1u);
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.2:80>10.0.0.1:40000");
  EXPECT_EQ(harness.tuples()[0].header.client_known_by, ClientKnownBy::kProtocol);
  EXPECT_EQ(harness.lost(LossReason::kHeadTooLong), 1u);
}

TEST(PluginParser, InvalidTuplesAreCountedAndNotEmitted) {
  Harness harness(made({0}));
  Conversation conversation;
  conversation.handshake().client("WRONG").client("right");
  harness.all(conversation.frames());
  EXPECT_EQ(harness.lines({"text"}), (std::vector<std::string>{"WRONG", "right"}));
  EXPECT_EQ(harness.lost(LossReason::kInvalidTuple), 5u);
}

// A sink that records whether a plug-in is marked during its calls.
class MarkWatcher final : public TupleSink {
 public:
  void emit(uint32_t, const TupleHeader&, std::span<const Value>) override { look(); }
  void lose(LossReason, uint64_t, uint64_t) override { look(); }
  void look() {
    ++calls;
    marked |= call_mark().plugin.load() != 0;
  }
  int calls = 0;
  bool marked = false;
};

TEST(CallMark, NamesThePluginWhileItsCodeRuns) {
  CallMark mark;
  set_call_mark(&mark);
  MarkWatcher sink;
  int64_t clock_ns = 0;
  Emitter out(0, &sink, &clock_ns);
  {
    auto parser = make_plugin_parser(marker().parsers()[0], 3);
    EXPECT_EQ(mark.calls.load(), 1u);
    const char payload[] = "hello";
    Packet packet;
    packet.data = reinterpret_cast<const uint8_t*>(payload);
    packet.payload_captured_bytes = packet.payload_bytes = 5;
    packet.queries = 1;
    parser->process({&packet, 1}, out);
  }
  EXPECT_EQ(sink.calls, 1);
  EXPECT_FALSE(sink.marked);
  EXPECT_EQ(mark.plugin.load(), 0u);
  {
    MarkedCall marked(3);
    EXPECT_EQ(mark.plugin.load(), 4u);
  }
  set_call_mark(nullptr);
}

using PluginParserDeathTest = ::testing::Test;

// The process ends if a plug-in crashes or calls abort() or exit().
TEST(PluginParserDeathTest, ItsExceptionsEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto feed = [](const char* payload) {
    Harness harness(made({0}));
    Conversation conversation;
    conversation.handshake().client(payload);
    harness.all(conversation.frames());
  };
  EXPECT_DEATH(feed("CRASH"), "");
  EXPECT_DEATH(feed("ABORT"), "");
  EXPECT_EXIT(feed("EXIT"), ::testing::ExitedWithCode(0), "");
}

TEST(LeftOut, CountsEachFlowOncePerQuery) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(left_out_parser(marker().parsers()[0].schema));
  Harness harness(std::move(parsers));
  Conversation first, second({.client_port = 40001});
  first.handshake().client("CRASH").server("b");
  second.handshake();
  harness.feed(first.frames(), 1);
  harness.feed(first.frames(), 3);
  harness.feed(second.frames(), 2);
  EXPECT_EQ(harness.tuples().size(), 0u);
  EXPECT_EQ(harness.lost(LossReason::kPluginLeftOut), 3u);
}

}  // namespace
}  // namespace tapline
