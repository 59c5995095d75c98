// A node with a server on a socket file, called over gRPC as clients do. Packets come from a bundled capture.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "multilog/node/node_server.h"
#include "packet_io/source/file_source.h"

namespace tapline::multilog {

inline constexpr char kCapture[] = TAPLINE_SOURCE_DIR "/testbed/captures/tcp_small.pcap.zst";

class NodeClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    NodeOptions options;
    options.name = "h1";
    options.memory_bytes = size_t{64} << 20;
    options.indexes = {"dst_port"};
    node_ = std::move(*HostNode::make(options));
    service_ = std::make_unique<NodeService>(node_.get());
    address_ = "unix:/tmp/tapline-node-test-" + std::to_string(getpid());
    server_ = NodeServer::listen(address_, grpc::InsecureServerCredentials(), service_.get());
    ASSERT_NE(server_, nullptr);
    stub_ = v1::MultiLogNode::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_.reset();
    unlink(address_.c_str() + 5);
  }

  // Feeds the whole capture to the node. Returns the number of packets.
  uint64_t capture() {
    FileSource source(FileSourceOptions{{kCapture}, false, [](const std::string&) {}, 0});
    EXPECT_TRUE(source.start().ok());
    const std::atomic<bool> stop{false};
    node_->run(&source, &stop);
    return node_->captured().packets;
  }

  uint64_t count_rows(const v1::QueryRequest& request, grpc::Status* status = nullptr) {
    grpc::ClientContext context;
    const auto reader = stub_->Query(&context, request);
    v1::RowBatch batch;
    uint64_t bytes = 0;
    while (reader->Read(&batch)) bytes += batch.rows().size();
    const grpc::Status finished = reader->Finish();
    if (status != nullptr) {
      *status = finished;
    } else {
      EXPECT_TRUE(finished.ok()) << finished.error_message();
    }
    return bytes / node_->layout().row_bytes();
  }
  static v1::QueryRequest request_for(const std::string& expression) {
    v1::QueryRequest request;
    request.set_expression(expression);
    return request;
  }
  grpc::Status define(const v1::Definition& definition) {
    grpc::ClientContext context;
    v1::DefineReply reply;
    return stub_->Define(&context, definition, &reply);
  }
  v1::NodeDescription describe() {
    grpc::ClientContext context;
    v1::NodeDescription description;
    EXPECT_TRUE(stub_->Describe(&context, v1::DescribeRequest(), &description).ok());
    return description;
  }
  v1::FreezeReply freeze(uint64_t expiry_ns, grpc::Status* status) {
    grpc::ClientContext context;
    v1::FreezeRequest request;
    request.set_expiry_ns(expiry_ns);
    v1::FreezeReply reply;
    *status = stub_->Freeze(&context, request, &reply);
    return reply;
  }
  bool unfreeze(uint64_t id) {
    grpc::ClientContext context;
    v1::UnfreezeRequest request;
    request.set_id(id);
    v1::UnfreezeReply reply;
    EXPECT_TRUE(stub_->Unfreeze(&context, request, &reply).ok());
    return reply.was_frozen();
  }

  std::unique_ptr<HostNode> node_;
  std::unique_ptr<NodeService> service_;
  std::unique_ptr<NodeServer> server_;
  std::unique_ptr<v1::MultiLogNode::Stub> stub_;
  std::string address_;
};

}  // namespace tapline::multilog
