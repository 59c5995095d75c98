// Tests that the node continues to serve other clients while some are slow, disconnect or make many calls.
#include "multilog/node/node_server.h"

#include <list>
#include <thread>

#include "multilog/node/node_client_fixture.h"
#include "parsers/testing/frames.h"

namespace tapline::multilog {
namespace {

using NodeServerTest = NodeClientTest;

// On a coordinator's stream, responses must arrive in order, and freezes must end with the stream.
TEST_F(NodeServerTest, SnapshotsOverOneStream) {
  capture();
  grpc::Status status;
  {
    grpc::ClientContext context;
    const auto stream = stub_->Snapshots(&context);
    v1::SnapshotCommand freeze, unfreeze, nothing;
    v1::SnapshotAnswer response;
    freeze.mutable_freeze()->set_expiry_ns(60'000'000'000);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(stream->Write(freeze) && stream->Read(&response));
      ASSERT_TRUE(response.has_frozen());
      EXPECT_EQ(response.frozen().tails().incarnation(), node_->incarnation());
      unfreeze.mutable_unfreeze()->set_id(response.frozen().id());
      ASSERT_TRUE(stream->Write(unfreeze) && stream->Read(&response));
      EXPECT_TRUE(response.unfrozen().was_frozen());
    }
    ASSERT_TRUE(stream->Write(unfreeze) && stream->Read(&response));
    EXPECT_FALSE(response.unfrozen().was_frozen());
    ASSERT_TRUE(stream->Write(nothing) && stream->Read(&response));
    EXPECT_EQ(response.refused().code(), grpc::StatusCode::INVALID_ARGUMENT);
    ASSERT_TRUE(stream->Write(freeze) && stream->Read(&response));
    ASSERT_TRUE(response.has_frozen());
    ASSERT_TRUE(stream->Write(freeze) && stream->Read(&response));
    EXPECT_EQ(response.refused().code(), grpc::StatusCode::FAILED_PRECONDITION);
    context.TryCancel();
  }
  // The coordinator has disconnected, so another one can freeze long before the minute is over.
  v1::FreezeReply frozen;
  for (int i = 0; i < 1000 && frozen.id() == 0; ++i) {
    frozen = freeze(60'000'000'000, &status);
    if (frozen.id() == 0) usleep(10'000);
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(unfreeze(frozen.id()));
}

// Delivers the given number of packets, and those added by give(), and never ends.
class EndlessSource final : public PacketSource {
 public:
  explicit EndlessSource(int packets) : left_(packets) {}
  Status start() override { return {}; }
  Burst poll(std::span<RawPacket> packets) override {
    Burst burst;
    const int more = left_.load();
    for (; burst.packets < packets.size() && static_cast<int>(burst.packets) < more; ++burst.packets)
      packets[burst.packets] = frame_.raw();
    left_ -= static_cast<int>(burst.packets);
    return burst;
  }
  Status status() const override { return {}; }
  Losses read_losses() override { return {}; }
  bool live() const override { return true; }
  void give(int packets) { left_ += packets; }

 private:
  const testing::Frame frame_ = testing::tcp_frame({.src_port = 7}, 5);
  std::atomic<int> left_;
};

// A client that stops reading a response of several megabytes for a while must block no other work: packets become
// rows, other calls get responses, and finally the client has every row of its snapshot.
TEST_F(NodeServerTest, ASlowClientOfAHugeResponse) {
  constexpr int kRows = 60'000;
  EndlessSource source(kRows);
  std::atomic<bool> stop{false};
  std::thread capture([&] { node_->run(&source, &stop); });
  const auto await = [&](uint64_t rows) {
    for (int i = 0; i < 3000 && describe().counters().rows() < rows; ++i) usleep(10'000);
    return describe().counters().rows();
  };
  EXPECT_EQ(await(kRows), kRows);
  grpc::ClientContext context;
  const auto slow = stub_->Query(&context, request_for(""));
  v1::RowBatch batch;
  ASSERT_TRUE(slow->Read(&batch));
  uint64_t bytes = batch.rows().size();
  source.give(1000);
  EXPECT_EQ(await(kRows + 1000), kRows + 1000);
  auto few = request_for("");
  few.set_limit(5);
  EXPECT_EQ(count_rows(few), 5u);
  while (slow->Read(&batch)) bytes += batch.rows().size();
  EXPECT_TRUE(slow->Finish().ok());
  EXPECT_EQ(bytes / node_->layout().row_bytes(), kRows);
  stop = true;
  capture.join();
}

// A call with an expired deadline must fail, and the node must keep running.
TEST_F(NodeServerTest, AnExpiredDeadline) {
  capture();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
  const auto reader = stub_->Query(&context, request_for(""));
  v1::RowBatch batch;
  while (reader->Read(&batch)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GT(count_rows(request_for("")), 0u);
}

// A client that disconnects without reading its response must not stop the node.
TEST_F(NodeServerTest, AClientThatDisconnects) {
  capture();
  {
    grpc::ClientContext context;
    const auto reader = stub_->Query(&context, request_for(""));
    context.TryCancel();
  }
  EXPECT_GT(count_rows(request_for("")), 0u);
}

// There must be no deadlock if alerts are raised while triggers are being defined and other calls run, and each alert
// must have its group's keys.
TEST_F(NodeServerTest, AlertsDuringChangesOfDefinitions) {
  constexpr int kRounds = 100, kTriggers = 8;
  v1::Definition count, many;
  v1::DefineReply defined;
  count.mutable_aggregate()->set_name("packets");
  count.mutable_aggregate()->mutable_function()->set_function("COUNT");
  count.mutable_aggregate()->mutable_function()->add_group_by("dst_port");
  count.mutable_aggregate()->set_bucket_ns(1'000'000'000);
  ASSERT_EQ(define(count).error_message(), "");
  many.mutable_trigger()->set_aggregate("packets");
  many.mutable_trigger()->set_condition("COUNT > 0");
  grpc::ClientContext context;
  v1::AttachRequest request;
  request.set_heartbeat_ms(60'000);
  const auto events = stub_->Attach(&context, request);
  v1::NodeEvent event;
  ASSERT_TRUE(events->Read(&event));
  EndlessSource source(0);
  std::atomic<bool> stop{false};
  std::thread capture([&] { node_->run(&source, &stop); });
  std::thread curious([&] {
    for (v1::NodeDescription description; !stop; description.Clear()) (void)service_->describe({}, &description);
  });
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kTriggers; ++i) {
      many.mutable_trigger()->set_name("many_" + std::to_string(i));
      EXPECT_TRUE(service_->define(many, &defined).ok());
      if (i == 0 || i == kTriggers - 1) source.give(1);
    }
    for (int i = 0; i < kTriggers; ++i) {
      EXPECT_TRUE(events->Read(&event));
      EXPECT_EQ(event.alert().group_size(), 1) << event.ShortDebugString();
    }
    for (int i = 0; i < kTriggers; ++i) {
      v1::RemoveRequest remove;
      v1::RemoveReply removed;
      remove.set_trigger("many_" + std::to_string(i));
      EXPECT_TRUE(service_->remove(remove, &removed).ok());
    }
  }
  stop = true;
  capture.join();
  curious.join();
  context.TryCancel();
}

// Calls beyond the maximum get an error; snapshots, which need no thread, continue.
TEST_F(NodeServerTest, MoreCallsThanTheMaximum) {
  constexpr int kMaxCalls = 256;
  v1::AttachRequest request;
  request.set_heartbeat_ms(60'000);
  std::list<grpc::ClientContext> contexts;
  std::list<std::unique_ptr<grpc::ClientReader<v1::NodeEvent>>> readers;
  v1::NodeEvent event;
  for (int i = 0; i < kMaxCalls; ++i) {
    readers.push_back(stub_->Attach(&contexts.emplace_back(), request));
    ASSERT_TRUE(readers.back()->Read(&event)) << i;
  }
  grpc::ClientContext streaming, unary, coordinator;
  const auto refused = stub_->Query(&streaming, request_for(""));
  v1::RowBatch batch;
  EXPECT_FALSE(refused->Read(&batch));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::NodeDescription description;
  EXPECT_EQ(stub_->Describe(&unary, {}, &description).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto snapshots = stub_->Snapshots(&coordinator);
  v1::SnapshotCommand freeze;
  v1::SnapshotAnswer response;
  freeze.mutable_freeze()->set_expiry_ns(60'000'000'000);
  ASSERT_TRUE(snapshots->Write(freeze) && snapshots->Read(&response));
  EXPECT_TRUE(response.has_frozen());
  coordinator.TryCancel();
  service_->stop();
  while (readers.back()->Read(&event)) {
  }
  EXPECT_EQ(readers.back()->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  grpc::Status status = grpc::Status::CANCELLED;
  for (int i = 0; i < 1000 && !status.ok(); ++i) {
    grpc::ClientContext again;
    status = stub_->Describe(&again, {}, &description);
    if (!status.ok()) usleep(10'000);
  }
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// A node that stops must end its active calls, without waiting for their next heartbeat or command.
TEST_F(NodeServerTest, EndsDuringActiveCalls) {
  capture();
  grpc::ClientContext attached, coordinator;
  v1::AttachRequest request;
  request.set_heartbeat_ms(60'000);
  const auto events = stub_->Attach(&attached, request);
  v1::NodeEvent event;
  ASSERT_TRUE(events->Read(&event));
  const auto snapshots = stub_->Snapshots(&coordinator);
  v1::SnapshotCommand freeze;
  v1::SnapshotAnswer response;
  freeze.mutable_freeze()->set_expiry_ns(60'000'000'000);
  ASSERT_TRUE(snapshots->Write(freeze) && snapshots->Read(&response));
  server_.reset();
  EXPECT_FALSE(events->Read(&event));
  EXPECT_EQ(events->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_FALSE(snapshots->Read(&response));
  EXPECT_FALSE(snapshots->Finish().ok());
  v1::FreezeReply reply;
  v1::FreezeRequest again;
  again.set_expiry_ns(60'000'000'000);
  EXPECT_TRUE(service_->freeze(again, &reply).ok()) << "the stream's freeze ended with it";
}

TEST_F(NodeServerTest, AnAddressInUse) {
  EXPECT_EQ(NodeServer::listen("unix:/nowhere/node", grpc::InsecureServerCredentials(), service_.get()), nullptr);
}

}  // namespace
}  // namespace tapline::multilog
