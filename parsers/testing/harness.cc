#include "parsers/testing/harness.h"

#include <gtest/gtest.h>

#include "parsers/api/bits.h"
#include "parsers/registry.h"

namespace tapline::testing {
namespace {

std::string to_text(const Value& value) {
  if (!value.present()) return "-";
  switch (value.type()) {
    case FieldType::kU64:
      return std::to_string(value.as_u64());
    case FieldType::kI64:
      return std::to_string(value.as_i64());
    case FieldType::kF64:
      return std::to_string(value.as_f64());
    case FieldType::kBool:
      return value.as_bool() ? "true" : "false";
    default:
      return std::string(value.as_string());
  }
}

}  // namespace

std::string Tuple::endpoints() const {
  return to_string(header.src_ip) + ":" + std::to_string(header.src_port) + ">" + to_string(header.dst_ip) + ":" +
         std::to_string(header.dst_port);
}

void Collector::emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  const std::vector<Field>& fields = engine_->parser(parser).schema().fields;
  ASSERT_EQ(values.size(), fields.size());
  EXPECT_NE(header.queries, 0u);
  for (uint32_t query : SetBits(header.queries)) {
    int64_t& last_ns = last_ns_[query];
    EXPECT_GE(header.time_ns, last_ns);
    last_ns = header.time_ns;
  }
  Tuple tuple{parser, header, {}, false};
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].type(), fields[i].type) << fields[i].name;
    EXPECT_TRUE(values[i].present() || fields[i].optional) << fields[i].name;
    tuple.values[fields[i].name] = to_text(values[i]);
  }
  tuples.push_back(std::move(tuple));
}

void Collector::event(uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  emit(parser, header, values);
  if (!tuples.empty()) tuples.back().is_event = true;
}

void Collector::lose(LossReason reason, uint64_t count, uint64_t /*queries*/) { losses[reason] += count; }

std::vector<std::string> Collector::lines(const std::vector<std::string>& fields) const {
  std::vector<std::string> lines;
  for (const Tuple& tuple : tuples) {
    std::string line;
    for (const std::string& field : fields) line += (&field == fields.data() ? "" : " ") + tuple[field];
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::unique_ptr<Parser>> make_parsers(const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<Parser>> parsers;
  for (const std::string& name : names) parsers.push_back(make_parser(name));
  return parsers;
}

EngineOptions Harness::small() {
  return {.max_connections = 64, .max_reassembly_bytes = 1 << 20, .max_flow_reassembly_bytes = 128 << 10};
}

Harness::Harness(const std::vector<std::string>& parsers, const EngineOptions& options)
    : Harness(make_parsers(parsers), options) {}

Harness::Harness(std::vector<std::unique_ptr<Parser>> parsers, const EngineOptions& options)
    : engine_(std::move(parsers), &collector_, options) {
  collector_.watch(&engine_);
}

size_t Harness::feed(const std::vector<Frame>& frames, uint64_t queries, size_t burst, ToSide to_side) {
  const FlowHasher hasher(kTestKey);
  std::vector<Packet> packets;
  size_t decoded = 0;
  const auto add = [&](const Packet& packet) {
    packets.push_back(packet);
    packets.back().queries = queries;
    packets.back().to_side = to_side;
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    Packet packet;
    DecodeOutcome outcome = decode(frames[i].raw(), hasher, &packet);
    if (packet.fragment && engine_.wants_fragments()) {
      add(packet);
      packets.back().repeated_view = true;
      packets.back().flow_hash = hash_flow(hasher, packet);
    }
    if (outcome == DecodeOutcome::kFragment) outcome = reassembled(hasher, &packet);
    if (outcome == DecodeOutcome::kOk) {
      add(packet);
      ++decoded;
    }
    if (packets.size() >= burst || i + 1 == frames.size()) {
      engine_.process(packets);
      packets.clear();
      if (fragments_ != nullptr) fragments_->recycle();
    }
  }
  return decoded;
}

// Replaces a fragment with the datagram that it completes. Returns kFragment if it completes none.
DecodeOutcome Harness::reassembled(const FlowHasher& hasher, Packet* packet) {
  if (fragments_ == nullptr) fragments_ = std::make_unique<FragmentTable>(FragmentOptions{}, kTestKey);
  Datagram datagram;
  return fragments_->add(*packet, &datagram) ? decode(datagram, hasher, packet) : DecodeOutcome::kFragment;
}

Harness& Harness::all(const std::vector<Frame>& frames) {
  feed(frames);
  engine_.end();
  return *this;
}

uint64_t Harness::lost(LossReason reason) const {
  const auto it = collector_.losses.find(reason);
  return it == collector_.losses.end() ? 0 : it->second;
}

}  // namespace tapline::testing
