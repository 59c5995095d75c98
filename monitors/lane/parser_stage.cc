#include "monitors/lane/parser_stage.h"

#include <algorithm>

#include "parsers/api/argument.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Maximum number of connections visited between two polls while a query ends. Visiting them takes about ten
// microseconds, for which a port's ring has ample room at line rate.
constexpr uint32_t kConnectionsPerStep = 256;
constexpr int64_t kPublishEveryNs = 100'000'000;

// Returns true if the parser needs packets. The parser `trigger` needs them only for triggers on packets; the output
// emits the events of triggers on tuples.
bool needs_packets(const QuerySpec& query, const std::string& parser) {
  if (parser == "trigger" && query.triggers == nullptr) return false;
  return std::find(query.parsers.begin(), query.parsers.end(), parser) != query.parsers.end();
}

}  // namespace

ParserStage::ParserStage(std::span<const QuerySpec> queries, Engine* engine, TupleOutput* output,
                         const QueryAccounts* accounts, bool may_wait)
    : queries_(queries), engine_(engine), output_(output), accounts_(accounts), may_wait_(may_wait) {
  choose_parsers();
}

void ParserStage::choose_parsers() {
  for (uint32_t parser = 0; parser < engine_->parser_count(); ++parser) {
    const std::string& name = engine_->parser(parser).schema().name;
    uint64_t wanting = 0;
    for (uint32_t query : SetBits(active_)) {
      if (needs_packets(queries_[query], name)) wanting |= uint64_t{1} << query;
    }
    engine_->set_parser_queries(parser, wanting);
  }
}

void ParserStage::add_query(uint32_t query) {
  output_->add_query(query);
  set_arguments(query);
  for (uint32_t parser = 0; parser < engine_->parser_count(); ++parser) {
    engine_->set_triggers(parser, query, queries_[query].triggers, queries_[query].shared_triggers);
  }
  active_ |= uint64_t{1} << query;
  choose_parsers();
}

void ParserStage::set_arguments(uint32_t query) {
  for (const ParserArguments& arguments : queries_[query].arguments) {
    for (uint32_t parser = 0; parser < engine_->parser_count(); ++parser) {
      const Schema& schema = engine_->parser(parser).schema();
      if (schema.name != arguments.parser) continue;
      std::vector<Value> values;
      std::string error;  // stays empty, since the plan was checked
      for (size_t i = 0; i < arguments.values.size(); ++i) {
        values.push_back(read_argument(schema.arguments[i], arguments.values[i], &error).value());
      }
      engine_->set_arguments(parser, query, values);
    }
  }
}

void ParserStage::begin_end(uint64_t queries) {
  ending_ = queries;
  ending_at_ns_ = engine_->now_ns();
  engine_->begin_end(queries);
}

bool ParserStage::continue_end() {
  if (ending_ == 0) return true;
  if (!engine_->continue_end(may_wait_ ? UINT32_MAX : kConnectionsPerStep)) return false;
  for (uint32_t query : SetBits(ending_)) {
    output_->end_query(query, ending_at_ns_);
  }
  active_ &= ~ending_;
  ending_ = 0;
  choose_parsers();
  return true;
}

void ParserStage::tick(int64_t monotonic_ns) {
  engine_->continue_work();
  output_->tick(monotonic_ns, engine_->now_ns());
  if (monotonic_ns - published_at_ns_ < kPublishEveryNs) return;
  published_at_ns_ = monotonic_ns;
  publish();
}

Status ParserStage::finish() {
  Status status = output_->finish();
  publish();
  return status;
}

void ParserStage::publish() {
  published_.update([this](UnitSnapshot* snapshot) {
    snapshot->accounts = *accounts_;
    snapshot->engine = engine_->stats();
    const auto parsers = engine_->parser_stats();
    snapshot->parsers.assign(parsers.begin(), parsers.end());
    snapshot->output = output_->stats();
  });
}

uint64_t ParserStage::done(uint64_t queries) const {
  uint64_t done = 0;
  for (uint32_t query : SetBits(queries)) {
    if (output_->done(query)) done |= uint64_t{1} << query;
  }
  return done;
}

}  // namespace tapline
