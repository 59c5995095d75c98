#include "monitors/messages/event_json.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

TEST(EventJsonTest, NamesTheEventAndHasItsFields) {
  v1::MonitorStatus status;
  status.mutable_ready();
  EXPECT_EQ(event_json(status), R"({"event":"ready"})");
  status.mutable_query_refused()->set_query("q");
  status.mutable_query_refused()->set_message("no \"x\"");
  status.mutable_query_refused()->set_kind("user");
  EXPECT_EQ(event_json(status), R"({"event":"query_refused","query":"q","message":"no \"x\"","kind":"user"})");
  EXPECT_EQ(event_json(v1::MonitorStatus()), "{}");
}

TEST(EventJsonTest, NumbersAreExactAndZeroIsWritten) {
  v1::MonitorStatus status;
  status.mutable_copies()->set_incarnation(UINT64_MAX);
  status.mutable_copies()->set_until_ns(-1);
  EXPECT_EQ(event_json(status), R"({"event":"copies","incarnation":18446744073709551615,"packets":0,"until_ns":-1})");
}

TEST(EventJsonTest, AbsentFieldsAreOmitted) {
  v1::MonitorStatus status;
  status.mutable_progress()->set_packets(7);
  EXPECT_EQ(event_json(status), R"({"event":"progress","packets":7,"bytes":0})");
  status.mutable_progress()->set_fraction(0);
  EXPECT_EQ(event_json(status), R"({"event":"progress","packets":7,"bytes":0,"fraction":0.0})");
}

TEST(EventJsonTest, MapsAreObjects) {
  v1::MonitorStatus status;
  v1::QueryAccounting* accounting = status.mutable_query_ended()->mutable_accounting();
  status.mutable_query_ended()->set_query("q");
  accounting->set_packets_in(3);
  (*accounting->mutable_dropped()->mutable_packets())["unsampled"] = 3;
  EXPECT_EQ(event_json(status),
            R"({"event":"query_ended","query":"q","accounting":{"packets_in":3,"packets_out":0,"bytes_in":0,)"
            R"("tuples_in":0,"tuples_out":0,"sampling_rate":0.0,"dropped":{"packets":{"unsampled":3},"tuples":{},)"
            R"("stream_bytes":{},"flows":{}},"packets_polled":0},"lost":false})");
}

TEST(EventJsonTest, ListsAreArrays) {
  v1::MonitorStatus status;
  v1::RunAccounting* accounting = status.mutable_end()->mutable_accounting();
  EXPECT_NE(event_json(status).find(R"("taps":[])"), std::string::npos);
  accounting->add_taps()->set_tap("sw1:2:arrivals");
  accounting->add_taps()->set_tap("eth0");
  EXPECT_NE(event_json(status).find(R"("taps":[{"tap":"sw1:2:arrivals","source":"","received":0,)"), std::string::npos);
  EXPECT_NE(event_json(status).find(R"("lost":{}},{"tap":"eth0")"), std::string::npos);
}

TEST(EventJsonTest, EventsOfOlderPeersAreKeptUnchanged) {
  v1::MonitorStatus status;
  status.set_json(R"({"event":"ready"})");
  EXPECT_EQ(event_json(status), R"({"event":"ready"})");
}

}  // namespace
}  // namespace tapline
