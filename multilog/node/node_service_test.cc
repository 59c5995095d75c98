// Tests a node's responses as its clients see them.
#include "multilog/node/node_service.h"

#include <arpa/inet.h>

#include <algorithm>
#include <filesystem>

#include "multilog/node/node_client_fixture.h"

namespace tapline::multilog {
namespace {

using NodeServiceTest = NodeClientTest;

TEST_F(NodeServiceTest, EveryPacketIsARowOrCounted) {
  const uint64_t packets = capture();
  ASSERT_GT(packets, 0u);
  const v1::NodeDescription description = describe();
  EXPECT_EQ(description.node(), "h1");
  EXPECT_EQ(description.counters().packets(), packets);
  uint64_t sum = description.counters().rows();
  for (const auto& [reason, count] : description.counters().dropped()) sum += count;
  EXPECT_EQ(sum, packets);
  EXPECT_EQ(count_rows(request_for("")), description.counters().rows());
  const uint64_t tcp = count_rows(request_for("protocol == TCP"));
  EXPECT_EQ(tcp + count_rows(request_for("protocol != TCP")), description.counters().rows());
  auto limited = request_for("protocol == TCP");
  limited.set_limit(3);
  EXPECT_EQ(count_rows(limited), 3u);
}

// Two writers take turns with batches of the capture's rows.
TEST_F(NodeServiceTest, ALimitGivesTheEarliestRows) {
  capture();
  const auto times = [&](const v1::QueryRequest& request) {
    grpc::ClientContext context;
    const auto reader = stub_->Query(&context, request);
    std::vector<uint64_t> row_times;
    const uint32_t row_bytes = node_->layout().row_bytes();
    for (v1::RowBatch batch; reader->Read(&batch);) {
      for (size_t offset = 0; offset < batch.rows().size(); offset += row_bytes)
        row_times.push_back(
            time_of(node_->layout().schema(), reinterpret_cast<const uint8_t*>(batch.rows().data()) + offset));
    }
    return row_times;
  };
  auto all = times(request_for("protocol == TCP"));
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()))
      << "the unlimited query returned rows in order, so the test proves nothing";
  std::sort(all.begin(), all.end());
  auto limited = request_for("protocol == TCP");
  for (const uint64_t limit : {1u, 300u, 700u}) {
    limited.set_limit(limit);
    all.resize(std::max<size_t>(all.size(), limit));
    EXPECT_EQ(times(limited), std::vector<uint64_t>(all.begin(), all.begin() + static_cast<ptrdiff_t>(limit)));
  }
}

TEST_F(NodeServiceTest, StoredAndAdHocAggregates) {
  v1::Definition definition;
  definition.mutable_filter()->set_name("tcp");
  definition.mutable_filter()->set_expression("protocol == TCP");
  ASSERT_EQ(define(definition).error_message(), "");
  auto* aggregate = definition.mutable_aggregate();
  aggregate->set_name("volume");
  aggregate->set_filter("tcp");
  aggregate->mutable_function()->set_function("SUM");
  aggregate->mutable_function()->set_field("bytes");
  aggregate->mutable_function()->add_group_by("src_ip");
  ASSERT_EQ(define(definition).error_message(), "");
  capture();
  grpc::ClientContext first, second;
  v1::AggregateRequest request;
  v1::AggregateReply stored_reply, live;
  request.set_stored("volume");
  ASSERT_TRUE(stub_->Aggregate(&first, request, &stored_reply).ok());
  request.clear_stored();
  *request.mutable_function() = definition.aggregate().function();
  *request.mutable_query() = request_for("protocol == TCP");
  ASSERT_TRUE(stub_->Aggregate(&second, request, &live).ok());
  ASSERT_EQ(stored_reply.values_size(), 1);
  EXPECT_GT(stored_reply.values(0).whole(), 0);
  EXPECT_EQ(stored_reply.values(0).whole(), live.values(0).whole());
  ASSERT_GT(stored_reply.groups_size(), 1);
  EXPECT_EQ(stored_reply.groups_size(), live.groups_size());
  EXPECT_NE(stored_reply.groups(0).keys(0).find('.'), std::string::npos) << "an address in text form";
  EXPECT_EQ(describe().definitions_size(), 2);
}

Tree tree_of(const HostNode& node, const std::string& text) {
  const auto resolve = [](std::string_view name) {
    return name[0] <= '9' ? std::nullopt : std::optional(AggregateRef{});
  };
  return Expression::compile(text, node.layout().schema(), resolve)->tree();
}

v1::Definition stored_sum(const std::string& name) {
  v1::Definition definition;
  auto* aggregate = definition.mutable_aggregate();
  aggregate->set_name(name);
  aggregate->mutable_function()->set_function("SUM");
  aggregate->mutable_function()->set_field("bytes");
  return definition;
}

TEST_F(NodeServiceTest, AScopeIsAppliedAtTheNode) {
  capture();
  const uint64_t within = count_rows(request_for("dst_port == 7000"));
  ASSERT_GT(within, 0u);
  ASSERT_LT(within, count_rows(request_for("")));
  // The text condition is for nodes that do not accept trees.
  v1::QueryRequest request = request_for("true");
  *request.mutable_scope() = tree_of(*node_, "dst_port == 7000");
  EXPECT_EQ(count_rows(request), within);
  for (const char* condition :
       {"true", "not (dst_port = 7000) or true", "has(bytes)", "!has(src_ip6) || has(src_ip6)"}) {
    *request.mutable_condition() = tree_of(*node_, condition);
    EXPECT_EQ(count_rows(request), within) << condition;
    grpc::ClientContext context;
    v1::AggregateRequest live;
    v1::AggregateReply reply;
    live.mutable_function()->set_function("COUNT");
    live.mutable_function()->add_group_by("dst_port");
    *live.mutable_query() = request;
    ASSERT_TRUE(stub_->Aggregate(&context, live, &reply).ok());
    ASSERT_EQ(reply.groups_size(), 1);
    EXPECT_EQ(reply.groups(0).keys(0), "7000");
  }
  *request.mutable_condition() = tree_of(*node_, "dst_port != 7000");
  EXPECT_EQ(count_rows(request), 0u);
  request.mutable_scope()->add_nodes();
  grpc::Status status;
  count_rows(request, &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// Neither the value nor the existence of an aggregate may be revealed: not by its name, by the name of its output, or
// by an error.
TEST_F(NodeServiceTest, AScopedFilterNamesNoAggregates) {
  ASSERT_EQ(define(stored_sum("theirs")).error_message(), "");
  capture();
  ASSERT_GT(count_rows(request_for("bytes < theirs.SUM")), 0u)
      << "the filter selects no rows, so the test proves nothing";
  v1::QueryRequest request;
  *request.mutable_scope() = tree_of(*node_, "dst_port == 7000");
  for (const char* name : {"theirs", "theirs.SUM", "SUM", "nobodys.SUM"}) {
    *request.mutable_condition() = tree_of(*node_, std::string("bytes < ") + name);
    grpc::Status status;
    count_rows(request, &status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "unknown field '" + std::string(name) + "' (at byte 8 of the expression)");
    v1::Definition definition;
    definition.mutable_filter()->set_name("probe");
    *definition.mutable_filter()->mutable_condition() = request.condition();
    *definition.mutable_filter()->mutable_scope() = request.scope();
    definition.mutable_filter()->add_aggregates("own");
    EXPECT_EQ(define(definition).error_message(), status.error_message());
  }
}

TEST_F(NodeServiceTest, AScopedFilterMayNameItsOwnAggregate) {
  ASSERT_EQ(define(stored_sum("own")).error_message(), "");
  v1::Definition definition;
  auto* filter = definition.mutable_filter();
  filter->set_name("large");
  *filter->mutable_condition() = tree_of(*node_, "bytes < own.SUM");
  *filter->mutable_scope() = tree_of(*node_, "dst_port == 7000");
  filter->add_aggregates("own");
  ASSERT_EQ(define(definition).error_message(), "");
  capture();
  v1::QueryRequest stored_request;
  stored_request.set_filter("large");
  const uint64_t rows = count_rows(stored_request);
  EXPECT_GT(rows, 0u);
  stored_request.set_expression("dst_port == 7000");
  EXPECT_EQ(count_rows(stored_request), rows);
}

TEST_F(NodeServiceTest, ASnapshotNeverChanges) {
  grpc::Status status;
  const v1::FreezeReply frozen = freeze(10'000'000'000, &status);
  ASSERT_TRUE(status.ok());
  const uint64_t packets = capture();
  EXPECT_EQ(count_rows(request_for("")), 0u) << "frozen";
  freeze(10'000'000'000, &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "another coordinator's";
  EXPECT_TRUE(unfreeze(frozen.id()));
  EXPECT_GT(count_rows(request_for("")), 0u);
  EXPECT_LE(count_rows(request_for("")), packets);
  auto earlier_request = request_for("");
  *earlier_request.mutable_at() = frozen.tails();
  EXPECT_EQ(count_rows(earlier_request), 0u);
  earlier_request.mutable_at()->set_incarnation(1);
  count_rows(earlier_request, &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  const v1::FreezeReply short_one = freeze(1'000'000, &status);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(unfreeze(short_one.id())) << "the freeze had expired";
  const v1::NodeCounters counters = describe().counters();
  EXPECT_EQ(counters.freezes(), 3u) << "three were requested, one of them refused";
  EXPECT_GT(counters.frozen_ns(), 1'000'000u)
      << "the short freeze lasted until it expired, the first one for some time";
  EXPECT_LT(counters.frozen_ns(), 10'000'000'000u + 1'000'000u);
}

TEST_F(NodeServiceTest, PcapngHasEveryRow) {
  capture();
  grpc::ClientContext context;
  const auto reader = stub_->Pcapng(&context, request_for("protocol == TCP"));
  v1::PcapngPiece piece;
  uint64_t packets = 0;
  std::string file;
  while (reader->Read(&piece)) {
    packets += piece.packets();
    file += piece.bytes();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(packets, count_rows(request_for("protocol == TCP")));
  // The file is read by an independent reader that shares no code with the writer.
  const std::string path = address_.substr(5) + ".pcapng";
  FILE* out = std::fopen(path.c_str(), "w");
  ASSERT_EQ(std::fwrite(file.data(), 1, file.size(), out), file.size());
  std::fclose(out);
  CaptureError error;
  const auto capture = CaptureReader::open(path, &error);
  unlink(path.c_str());
  ASSERT_NE(capture, nullptr);
  std::vector<CapturedPacket> read(64);
  size_t count = 0;
  while (capture->read(read, &count) != CaptureReader::Outcome::kEnd) capture->refill();
  EXPECT_EQ(capture->packets(), packets);
}

TEST_F(NodeServiceTest, ErrorsAreNamed) {
  grpc::Status status;
  count_rows(request_for("dst_prt == 80"), &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("dst_prt"), std::string::npos) << status.error_message();
  EXPECT_NE(status.error_message().find("at byte 0"), std::string::npos) << status.error_message();
  EXPECT_EQ(define(v1::Definition()).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::Definition definition;
  definition.mutable_trigger()->set_name("t");
  definition.mutable_trigger()->set_aggregate("nothing");
  EXPECT_EQ(define(definition).error_code(), grpc::StatusCode::NOT_FOUND);
  definition.mutable_index()->set_field("dst_port");
  EXPECT_EQ(define(definition).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  grpc::ClientContext context;
  v1::RemoveReply reply;
  v1::RemoveRequest remove;
  remove.set_filter("nothing");
  EXPECT_EQ(stub_->Remove(&context, remove, &reply).error_code(), grpc::StatusCode::NOT_FOUND);
  freeze(1, &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(NodeServiceTest, DefinitionsOfALoadedLogAreListed) {
  NodeOptions options;
  options.memory_bytes = size_t{64} << 20;
  options.storage.directory = ::testing::TempDir() + "tapline-definitions-" + std::to_string(getpid());
  for (const bool first : {true, false}) {
    auto node = std::move(*HostNode::make(options));
    NodeService service(node.get());
    v1::Definition definition;
    v1::DefineReply defined;
    definition.mutable_filter()->set_name("web");
    definition.mutable_filter()->set_expression("dst_port == 80");
    if (first) {
      EXPECT_TRUE(service.define(definition, &defined).ok());
    }
    auto* aggregate = definition.mutable_aggregate();
    aggregate->set_name("volume");
    aggregate->set_filter("web");
    aggregate->mutable_function()->set_function("SUM");
    aggregate->mutable_function()->set_field("bytes");
    if (first) {
      EXPECT_TRUE(service.define(definition, &defined).ok());
    }
    v1::NodeDescription description;
    ASSERT_TRUE(service.describe({}, &description).ok());
    ASSERT_EQ(description.definitions_size(), 2);
    EXPECT_EQ(description.definitions(0).filter().expression(), "dst_port == 80");
    EXPECT_EQ(description.definitions(1).aggregate().name(), "volume");
    EXPECT_EQ(description.definitions(1).aggregate().function().field(), "bytes");
    EXPECT_TRUE(node->log().close().ok());
  }
  std::filesystem::remove_all(options.storage.directory);
}

TEST_F(NodeServiceTest, EndpointsOfAnExpression) {
  const auto request_for = [&](const std::string& expression) {
    grpc::ClientContext context;
    v1::EndpointsRequest request;
    request.set_expression(expression);
    v1::EndpointsReply reply;
    const grpc::Status status = stub_->Endpoints(&context, request, &reply);
    if (!status.ok()) return "error " + std::to_string(status.error_code());
    std::string text;
    const auto add = [&](const auto& ranges) {
      for (const auto& range : ranges) {
        for (const std::string* end : {&range.low(), &range.high()}) {
          char address[64];
          inet_ntop(end->size() == 4 ? AF_INET : AF_INET6, end->data(), address, sizeof address);
          text += (end == &range.low() ? "" : "-") + std::string(address);
        }
        text += ' ';
      }
    };
    for (const auto& pair : reply.pairs()) {
      add(pair.source());
      text += "> ";
      add(pair.destination());
      text += "; ";
    }
    return text;
  };
  EXPECT_EQ(request_for(""), "> ; ");
  EXPECT_EQ(request_for("dst_port == 80"), "> ; ");
  EXPECT_EQ(request_for("src_ip == 10.0.0.1 && dst_port == 80"), "10.0.0.1-10.0.0.1 > ; ");
  EXPECT_EQ(request_for("src_ip == 10.0.0.1 && dst_ip in 10.2.0.0/16"), "10.0.0.1-10.0.0.1 > 10.2.0.0-10.2.255.255 ; ");
  EXPECT_EQ(request_for("src_ip == 10.0.0.1 && dst_ip == 10.0.0.2 || src_ip == 10.0.0.3"),
            "10.0.0.1-10.0.0.1 > 10.0.0.2-10.0.0.2 ; 10.0.0.3-10.0.0.3 > ; ");
  EXPECT_EQ(request_for("src_ip6 == 2001:db8::1 && dst_ip6 in 2001:db8::/64"),
            "2001:db8::1-2001:db8::1 > 2001:db8::-2001:db8::ffff:ffff:ffff:ffff ; ");
  // A wildcard leaves the address unrestricted, and so does a negation on an IPv6 address.
  EXPECT_EQ(request_for("src_ip like 10.*.0.1"), "> ; ");
  EXPECT_EQ(request_for("src_ip6 != 2001:db8::1"), "> ; ");
  EXPECT_EQ(request_for("src_ip == 10.0.0.1 && src_ip == 10.0.0.2"), "");
  EXPECT_EQ(request_for("src_ip =="), "error 3");
}

TEST_F(NodeServiceTest, CaptureSettingsCanBeChanged) {
  const auto set_up = [&](double rate, const std::string& filter) {
    grpc::ClientContext context;
    v1::CaptureRequest request;
    v1::CaptureReply reply;
    request.set_sampling_rate(rate);
    request.set_filter(filter);
    return stub_->SetUpCapture(&context, request, &reply).error_code();
  };
  EXPECT_EQ(set_up(0, ""), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(set_up(1, "dst_prt == 80"), grpc::StatusCode::INVALID_ARGUMENT);
  ASSERT_EQ(set_up(1, "protocol == UDP && dst_port == 1"), grpc::StatusCode::OK);
  capture();
  EXPECT_EQ(count_rows(request_for("")), 0u);
  EXPECT_GT(describe().counters().dropped().at("filtered"), 0u);
}

TEST_F(NodeServiceTest, StatesOfAggregatesAreSparse) {
  capture();
  v1::AggregateRequest request;
  request.mutable_function()->set_function("DISTINCT");
  request.mutable_function()->set_field("src_port");
  v1::AggregateReply reply;
  const auto request_for = [&] {
    grpc::ClientContext context;
    reply.Clear();
    return stub_->Aggregate(&context, request, &reply).ok();
  };
  ASSERT_TRUE(request_for());
  EXPECT_FALSE(reply.has_state());
  request.set_with_states(true);
  ASSERT_TRUE(request_for());
  ASSERT_GT(reply.state().index_size(), 0);
  EXPECT_EQ(reply.state().index_size(), reply.state().word_size());
  for (const uint64_t word : reply.state().word()) EXPECT_NE(word, 0u);
  request.mutable_function()->add_group_by("protocol");
  ASSERT_TRUE(request_for());
  EXPECT_FALSE(reply.has_state());
  ASSERT_GT(reply.groups_size(), 0);
  EXPECT_GT(reply.groups(0).state().index_size(), 0);
}

}  // namespace
}  // namespace tapline::multilog
