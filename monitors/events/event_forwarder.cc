#include "monitors/events/event_forwarder.h"

#include <algorithm>
#include <utility>

#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Size at which a batch is sent. It is well below the 192 KiB that a message on the agent's socket may have, since the
// last event may be long.
constexpr size_t kBatchBytes = 48 << 10;
constexpr int kEventsPerRing = 4096;

std::string bytes_of(const IpAddress& address) {
  const auto bytes = address.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write(const Value& value, v1::EventValue* out) {
  if (!value.present()) return;
  switch (value.type()) {
    case FieldType::kI64:
      return out->set_integer(value.as_i64());
    case FieldType::kF64:
      return out->set_real(value.as_f64());
    case FieldType::kBool:
      return out->set_truth(value.as_bool());
    case FieldType::kString:
      return out->set_text(std::string(value.as_string()));
    default:
      return out->set_number(value.as_u64());
  }
}

}  // namespace

EventForwarder::EventForwarder(std::vector<EventSource> sources, std::span<const QuerySpec> queries,
                               std::string monitor, uint64_t incarnation, Send send)
    : sources_(std::move(sources)),
      queries_(queries),
      monitor_(std::move(monitor)),
      incarnation_(incarnation),
      send_(std::move(send)) {}

bool EventForwarder::forward() {
  bool has_more = false;
  for (EventSource& source : sources_) {
    RingEvent event;
    int events = 0;
    for (; events < kEventsPerRing && source.ring->front(&event); ++events) {
      take(event, *source.schemas[event.parser]);
      source.ring->pop();
    }
    has_more |= events == kEventsPerRing;
  }
  for (uint32_t query : SetBits(filled_ | refused_)) flush(query, false);
  return has_more;
}

// Returns the schema's index in the list. The search is linear, since the list is short.
uint32_t EventForwarder::index_of(const Schema& schema, Stream* stream) {
  const auto it = std::find(stream->schemas.begin(), stream->schemas.end(), &schema);
  const auto index = static_cast<uint32_t>(it - stream->schemas.begin());
  if (it != stream->schemas.end()) return index;
  stream->schemas.push_back(&schema);
  v1::EventSchema* out = stream->list.add_schemas();
  out->set_parser(schema.name);
  for (const Field& field : schema.fields) out->add_fields(field.name);
  stream->bytes += out->ByteSizeLong();
  return index;
}

void EventForwarder::take(const RingEvent& event, const Schema& schema) {
  Stream& stream = streams_[event.query];
  v1::Event* out = stream.list.add_events();
  const TupleHeader& header = event.header;
  out->set_schema(index_of(schema, &stream));
  out->set_time_ns(header.time_ns);
  out->set_made_ns(event.made_ns);
  out->set_flow_hash(header.flow_hash);
  out->set_flow_incarnation(header.flow_incarnation);
  out->set_src_ip(bytes_of(header.src_ip));
  out->set_dst_ip(bytes_of(header.dst_ip));
  out->set_src_port(header.src_port);
  out->set_dst_port(header.dst_port);
  for (const Value& value : event.values) write(value, out->add_values());
  stream.bytes += out->ByteSizeLong();
  filled_ |= uint64_t{1} << event.query;
  if (stream.bytes >= kBatchBytes) flush(event.query, false);
}

uint64_t EventForwarder::lost_in_rings(uint32_t query) const {
  uint64_t lost = 0;
  for (const EventSource& source : sources_) lost += source.ring->lost(query);
  return lost;
}

void EventForwarder::flush(uint32_t query, bool is_last) {
  Stream& stream = streams_[query];
  const QuerySpec& spec = queries_[query];
  v1::EventBatch batch;
  batch.set_query(spec.name);
  batch.set_monitor(spec.monitor.empty() ? monitor_ : spec.monitor);
  batch.set_incarnation(incarnation_);
  // Lost events take the numbers that precede those in this batch.
  const uint64_t lost = lost_in_rings(query);
  stream.sent += lost - std::exchange(stream.lost, lost);
  batch.set_first(stream.sent);
  batch.set_last(is_last);
  batch.set_count(static_cast<uint32_t>(stream.list.events_size()));
  if (batch.count() > 0) stream.list.SerializeToString(batch.mutable_events());
  stream.sent += batch.count();
  const uint64_t bit = uint64_t{1} << query;
  refused_ = send_(batch) ? refused_ & ~bit : refused_ | bit;
  stream.list.Clear();
  stream.schemas.clear();
  stream.bytes = 0;
  filled_ &= ~bit;
}

void EventForwarder::end_query(uint32_t query) {
  while (forward()) {
  }
  Stream& stream = streams_[query];
  if (stream.sent > 0 || lost_in_rings(query) != stream.lost) flush(query, true);
  stream.sent = 0;
  refused_ &= ~(uint64_t{1} << query);
}

}  // namespace tapline
