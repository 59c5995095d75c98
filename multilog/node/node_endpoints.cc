// Finds the addresses that an expression admits: from its disjunctive normal form, a pair for each clause.
#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {
namespace {

constexpr size_t kMostClauses = 64;
constexpr size_t kWideBytes = 16;

using Ranges = google::protobuf::RepeatedPtrField<v1::EndpointsReply::Range>;

std::string NetworkOrder(uint64_t address) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(address >> shift));
  return bytes;
}

void AddRange(std::string low, std::string high, Ranges* ranges) {
  auto* range = ranges->Add();
  range->set_low(std::move(low));
  range->set_high(std::move(high));
}

bool IsOf(const Leaf& leaf, const Schema& schema, const char* field) {
  return leaf.column == schema.Find(field)->column;
}

// Adds the leaf's ranges of the address; none if the leaf does not restrict it.
void AddRanges(const Leaf& leaf, const Schema& schema, const char* v4, const char* v6, Ranges* ranges) {
  if (leaf.kind == Leaf::Kind::kKeys && leaf.mask == ~uint64_t{0} && IsOf(leaf, schema, v4)) {
    for (const KeyRange& range : leaf.ranges) AddRange(NetworkOrder(range.low), NetworkOrder(range.high), ranges);
  }
  const bool is_wide = leaf.kind == Leaf::Kind::kWide && !leaf.negated && IsOf(leaf, schema, v6);
  if (is_wide && leaf.wide_mask == std::string(kWideBytes, '\xff')) AddRange(leaf.low, leaf.high, ranges);
}

}  // namespace

grpc::Status NodeService::Endpoints(const v1::EndpointsRequest& request, v1::EndpointsReply* reply) {
  const Schema& schema = node_->layout().schema();
  const auto expression = HasTrees(request) ? Expression::Compile(And({request.condition(), request.scope()}), schema)
                                            : Expression::Compile(request.expression(), schema);
  if (!expression.ok()) return ToGrpc(expression.status());
  const auto clauses = expression->Dnf(kMostClauses);
  if (!clauses) {
    reply->add_pairs();
    return grpc::Status::OK;
  }
  for (const Clause& clause : *clauses) {
    auto* pair = reply->add_pairs();
    for (const Leaf& leaf : clause) {
      AddRanges(leaf, schema, "src_ip", "src_ip6", pair->mutable_source());
      AddRanges(leaf, schema, "dst_ip", "dst_ip6", pair->mutable_destination());
    }
  }
  return grpc::Status::OK;
}

}  // namespace tapline::multilog
