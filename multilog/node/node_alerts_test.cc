// Tests a node's alerts as its clients receive them.
#include <vector>

#include "multilog/node/node_client_fixture.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {
namespace {

class NodeAlertsTest : public NodeClientTest {
 protected:
  void define_trigger(const std::string& name, const std::string& condition) {
    v1::Definition definition;
    auto* aggregate = definition.mutable_aggregate();
    aggregate->set_name("packets");
    aggregate->mutable_function()->set_function("COUNT");
    aggregate->mutable_function()->add_group_by("dst_port");
    aggregate->set_bucket_ns(1'000'000'000);
    ASSERT_EQ(define(definition).error_message(), "");
    auto* trigger = definition.mutable_trigger();
    trigger->set_name(name);
    trigger->set_aggregate("packets");
    trigger->set_condition(condition);
    trigger->set_severity("critical");
    ASSERT_EQ(define(definition).error_message(), "");
  }

  void remove_trigger(const std::string& name) {
    grpc::ClientContext context;
    v1::RemoveRequest request;
    v1::RemoveReply reply;
    request.set_trigger(name);
    ASSERT_EQ(stub_->Remove(&context, request, &reply).error_message(), "");
  }

  // Attaches, and returns the alerts that arrive before five heartbeats in a row.
  std::vector<v1::NodeAlert> alerts(const v1::AttachRequest& request) {
    grpc::ClientContext context;
    const auto reader = stub_->Attach(&context, request);
    std::vector<v1::NodeAlert> alerts;
    v1::NodeEvent event;
    for (int quiet = 0; quiet < 5 && reader->Read(&event);) {
      if (event.has_alert()) alerts.push_back(event.alert());
      quiet = event.has_heartbeat() ? quiet + 1 : 0;
    }
    context.TryCancel();
    return alerts;
  }
};

v1::AttachRequest attach_after(uint64_t incarnation, uint64_t alert) {
  v1::AttachRequest request;
  request.set_heartbeat_ms(20);
  request.set_incarnation(incarnation);
  request.set_after_alert(alert);
  return request;
}

TEST_F(NodeAlertsTest, AlertsReachAttachedClients) {
  grpc::ClientContext context;
  v1::AttachRequest request;
  request.set_heartbeat_ms(20);
  const auto reader = stub_->Attach(&context, request);
  v1::NodeEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.description().node(), "h1");
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_heartbeat());
  define_trigger("many", "COUNT > 3");
  capture();
  while (reader->Read(&event) && !event.has_alert()) {
  }
  EXPECT_EQ(event.alert().trigger(), "many");
  EXPECT_EQ(event.alert().severity(), "critical");
  ASSERT_EQ(event.alert().group_size(), 1);
  EXPECT_FALSE(event.alert().group(0).empty());
  context.TryCancel();
}

TEST_F(NodeAlertsTest, KeepsAlertsForClientsThatAttachLater) {
  define_trigger("many", "COUNT > 3");
  capture();
  const uint64_t incarnation = describe().incarnation();
  std::vector<v1::NodeAlert> first = alerts(attach_after(0, 99));
  ASSERT_GT(first.size(), 1u) << "the number is from another incarnation, so all alerts are sent";
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].number(), i + 1);
    EXPECT_EQ(first[i].trigger_number(), i + 1);
  }
  std::vector<v1::NodeAlert> repeated_alerts = alerts(attach_after(incarnation, 1));
  ASSERT_EQ(repeated_alerts.size(), first.size() - 1) << "the alerts after the first one";
  EXPECT_EQ(repeated_alerts[0].SerializeAsString(), first[1].SerializeAsString());
  EXPECT_EQ(describe().last_alert(), first.size());
  v1::AttachRequest only_new;
  only_new.set_heartbeat_ms(20);
  EXPECT_TRUE(alerts(only_new).empty());
  remove_trigger("many");
  EXPECT_TRUE(alerts(attach_after(0, 0)).empty());
}

}  // namespace
}  // namespace tapline::multilog
