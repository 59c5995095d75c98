// Finds the address ranges that an expression admits: source and destination ranges for each clause of its disjunctive
// normal form.
#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {
namespace {

constexpr size_t kMaxClauses = 64;
constexpr size_t kWideBytes = 16;

using Ranges = google::protobuf::RepeatedPtrField<v1::EndpointsReply::Range>;

std::string network_order(uint64_t address) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(address >> shift));
  return bytes;
}

void add_range(std::string low, std::string high, Ranges* ranges) {
  auto* range = ranges->Add();
  range->set_low(std::move(low));
  range->set_high(std::move(high));
}

bool is_of(const Leaf& leaf, const Schema& schema, const char* field) {
  return leaf.column == schema.find(field)->column;
}

// Adds the leaf's ranges for the address, or none if the leaf does not restrict the address.
void add_ranges(const Leaf& leaf, const Schema& schema, const char* v4, const char* v6, Ranges* ranges) {
  if (leaf.kind == Leaf::Kind::kKeys && leaf.mask == ~uint64_t{0} && is_of(leaf, schema, v4)) {
    for (const KeyRange& range : leaf.ranges) add_range(network_order(range.low), network_order(range.high), ranges);
  }
  const bool is_wide = leaf.kind == Leaf::Kind::kWide && !leaf.negated && is_of(leaf, schema, v6);
  if (is_wide && leaf.wide_mask == std::string(kWideBytes, '\xff')) add_range(leaf.low, leaf.high, ranges);
}

}  // namespace

grpc::Status NodeService::endpoints(const v1::EndpointsRequest& request, v1::EndpointsReply* reply) {
  const Schema& schema = node_->layout().schema();
  const auto expression = has_trees(request)
                              ? Expression::compile(conjunction({request.condition(), request.scope()}), schema)
                              : Expression::compile(request.expression(), schema);
  if (!expression.ok()) return to_grpc(expression.status());
  const auto clauses = expression->dnf(kMaxClauses);
  if (!clauses) {
    reply->add_pairs();
    return grpc::Status::OK;
  }
  for (const Clause& clause : *clauses) {
    auto* pair = reply->add_pairs();
    for (const Leaf& leaf : clause) {
      add_ranges(leaf, schema, "src_ip", "src_ip6", pair->mutable_source());
      add_ranges(leaf, schema, "dst_ip", "dst_ip6", pair->mutable_destination());
    }
  }
  return grpc::Status::OK;
}

}  // namespace tapline::multilog
