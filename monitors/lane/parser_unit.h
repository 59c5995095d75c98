// An engine with every parser that may be requested, and the engine's output. There is one unit per parsing thread.
// Only the counts of triggers (SharedTriggers) are modified by more than one unit.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "monitors/lane/parser_stage.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "monitors/supervisor/monitor_page.h"
#include "parsers/engine/engine.h"

namespace tapline {

class ParserUnit {
 public:
  using MakeOutput =
      std::function<std::unique_ptr<TupleOutput>(std::span<const Schema* const> schemas, QueryAccounts* accounts)>;

  // `queries` are the query slots; they must outlive the unit. If `page` is not null, the accounts are stored there.
  ParserUnit(std::span<const QuerySpec> queries, std::vector<std::unique_ptr<Parser>> parsers,
             const EngineOptions& options, bool may_wait, const MakeOutput& make_output, UnitPage* page = nullptr)
      : queries_(queries),
        resource_(page == nullptr ? nullptr : std::make_unique<PageResource>(page)),
        accounts_(page == nullptr ? QueryAccounts(queries.size()) : resource_->accounts()) {
    for (const auto& parser : parsers) {
      schemas_.push_back(&parser->schema());
      const Needs needs = parser->needs();
      wants_all_views_ |= needs.all_views;
      wants_fragments_ |= needs.fragments;
      wants_losses_ |= needs.losses;
      follows_flows_ |= needs.all_views || needs.connections || needs.streams || needs.connection_state_bytes > 0;
    }
    output_ = make_output(schemas_, &accounts_);
    engine_ = std::make_unique<Engine>(std::move(parsers), output_.get(), options);
    stage_ = std::make_unique<ParserStage>(queries, engine_.get(), output_.get(), &accounts_, may_wait);
  }

  TupleOutput& output() { return *output_; }
  ParserStage& stage() { return *stage_; }
  const Engine& engine() const { return *engine_; }
  QueryAccounts& accounts() { return accounts_; }

  // Returns true if some parser needs all packets of a flow.
  bool follows_flows() const { return follows_flows_; }
  // Returns true if some parser asks for repeated views of packets.
  bool wants_all_views() const { return wants_all_views_; }
  // Returns true if some parser asks for fragments.
  bool wants_fragments() const { return wants_fragments_; }
  // Returns true if some parser asks for losses.
  bool wants_losses() const { return wants_losses_; }
  // Returns true if the unit has one of the query's parsers.
  bool serves(uint32_t query) const {
    const auto& wanted = queries_[query].parsers;
    return std::any_of(schemas_.begin(), schemas_.end(), [&](const Schema* schema) {
      return std::find(wanted.begin(), wanted.end(), schema->name) != wanted.end();
    });
  }

 private:
  // Places the accounts in the page's memory and keeps their values.
  class PageResource {
   public:
    explicit PageResource(UnitPage* page)
        : page_(page), memory_(&page->accounts, sizeof page->accounts, std::pmr::null_memory_resource()) {}
    QueryAccounts accounts() {
      const auto kept = std::make_unique<std::array<Accounting, kMaxQueries>>(page_->accounts);
      return QueryAccounts(kept->begin(), kept->end(), &memory_);
    }

   private:
    UnitPage* page_;
    std::pmr::monotonic_buffer_resource memory_;
  };

  std::span<const QuerySpec> queries_;
  bool follows_flows_ = false;
  bool wants_all_views_ = false;
  bool wants_fragments_ = false;
  bool wants_losses_ = false;
  std::unique_ptr<PageResource> resource_;
  QueryAccounts accounts_;
  std::vector<const Schema*> schemas_;
  std::unique_ptr<TupleOutput> output_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ParserStage> stage_;
};

}  // namespace tapline
