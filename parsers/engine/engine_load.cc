#include <algorithm>
#include <stdexcept>

#include "parsers/engine/engine_impl.h"

namespace tapline {
namespace {

constexpr int kMaxStreamParsers = 16;  // bits of Connection::ignored_by
constexpr uint32_t kSyns = 1 << 18;    // 4 MiB. In a flood of 650,000 SYNs per second, a SYN stays for 0.4 s.

// Returns a mask of the fields, among the first 64, that contain SQL statements.
uint64_t statements_of(const Schema& schema) {
  uint64_t statements = 0;
  for (size_t i = 0; i < std::min<size_t>(schema.fields.size(), 64); ++i) {
    if (text_kind_of(schema.fields[i]) == TextKind::kSql) statements |= uint64_t{1} << i;
  }
  return statements;
}

}  // namespace

void Engine::Impl::check_interval(const Parser& parser) {
  const int64_t interval_ns = parser.needs().interval_ns;
  if (interval_ns == 0 || interval_ns >= kShortestIntervalNs) return;
  throw std::invalid_argument("parser " + parser.schema().name + " requires intervals shorter than 100 µs");
}

void Engine::Impl::set_arguments(uint32_t parser, uint32_t query, std::span<const Value> arguments) {
  LoadedParser& loaded = loaded_.at(parser);
  loaded.parser->set_arguments(query, arguments);
  const int64_t interval_ns = loaded.parser->needs().interval_ns;
  if (interval_ns == loaded.needs.interval_ns) return;
  check_interval(*loaded.parser);
  loaded.needs.interval_ns = interval_ns;
  loaded.interval_end_ns = INT64_MIN;
  choose_active();
}

void Engine::Impl::load(std::unique_ptr<Parser> parser, StateBytes* state) {
  const Needs needs = parser->needs();
  auto* stream_parser = needs.streams ? dynamic_cast<StreamParser*>(parser.get()) : nullptr;
  if (needs.streams && stream_parser == nullptr) {
    throw std::invalid_argument("parser " + parser->schema().name + " requires streams but is not a StreamParser");
  }
  check_interval(*parser);
  uint16_t ignore_bit = 0;
  if (stream_parser != nullptr) {
    if (stream_parsers_ == kMaxStreamParsers) throw std::invalid_argument("more than 16 stream parsers");
    ignore_bit = static_cast<uint16_t>(1u << stream_parsers_++);
  }
  may_connect_ |= needs_connections(needs) || needs.datagrams;
  parser->state_offset_ = place(needs, state);
  const auto index = static_cast<uint32_t>(loaded_.size());
  loaded_.push_back(
      {std::move(parser), stream_parser, needs, Emitter(index, sink_, &clock_ns_), ignore_bit, {}, INT64_MIN});
  const Schema& schema = loaded_.back().parser->schema();
  loaded_.back().stats.name = schema.name;
  loaded_.back().emitter.statements_ = statements_of(schema);
}

uint32_t Engine::Impl::place(const Needs& needs, StateBytes* state) {
  const bool is_tcp = needs_connections(needs);
  const uint32_t offset = std::max(is_tcp ? state->tcp : 0, needs.datagrams ? state->datagrams : 0);
  const uint32_t end = offset + (needs.connection_state_bytes + 7u) / 8 * 8;
  if (is_tcp) state->tcp = end;
  if (needs.datagrams) state->datagrams = end;
  return offset;
}

void Engine::Impl::choose_active() {
  active_.clear();
  all_ignore_ = 0;
  connections_ = views_ = fragments_ = losses_ = passes_on_ = shows_ = false;
  connection_queries_ = stream_queries_ = datagram_queries_ = 0;
  for (LoadedParser& loaded : loaded_) {
    const uint64_t queries = loaded.emitter.queries_ & ~ending_;
    if (queries == 0) continue;
    active_.push_back(&loaded);
    views_ |= loaded.needs.all_views;
    fragments_ |= loaded.needs.fragments;
    losses_ |= loaded.needs.losses;
    passes_on_ |= loaded.needs.absorbs;
    shows_ |= loaded.needs.packets && !loaded.needs.absorbs;
    if (loaded.needs.datagrams) datagram_queries_ |= queries;
    connections_ |= loaded.needs.datagrams;
    if (!needs_connections(loaded.needs)) continue;
    connections_ = true;
    connection_queries_ |= queries;
    all_ignore_ |= loaded.ignore_bit;
    if (loaded.stream_parser != nullptr) stream_queries_ |= queries;
  }
  runs_ = active_.size() == 1 && all_ignore_ == 0;
  views_in_runs_ = views_ && runs_ && !connections_;
  const auto wants_every = [](const LoadedParser* loaded) { return loaded->needs.every_packet; };
  const auto needs_entry = [](const LoadedParser* loaded) {
    return needs_connections(loaded->needs) && !loaded->needs.absorbs;
  };
  caches_syns_ = passes_on_ && std::none_of(active_.begin(), active_.end(), needs_entry);
  if (caches_syns_ && !syns_) syns_.emplace(kSyns);
  absorbs_ = connections_ && ending_ == 0 && std::none_of(active_.begin(), active_.end(), wants_every);
  // A newly requested parser starts in the middle of an interval, and has seen no connection in the current period.
  if (clock_ns_ != INT64_MIN) begin_intervals(clock_ns_);
  shown_since_ = ++tick_number_;
}

}  // namespace tapline
