// Derives the parts of a run from the configuration: queries, threads, sources, outputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monitors/config/config.h"
#include "monitors/control/message_reporter.h"
#include "monitors/events/event_ring.h"
#include "monitors/lane/lane.h"
#include "monitors/lane/parser_unit.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/monitor_taps.h"
#include "monitors/plan/queries.h"
#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/status.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

// Reads the query of --parser or the queries of the plan files. After a crash, the plans come from the page that the
// dead process has left.
Status load_queries(const MonitorConfig& config, MonitorPage* page, Queries* queries);
// Returns the parsers that the queries name, without duplicates, or all parsers if queries may be added later.
std::vector<std::string> parsers_for(const MonitorConfig& config, const Queries& queries);
std::vector<std::unique_ptr<Parser>> make_parsers(const std::vector<std::string>& names);
// Chooses the layout of the flags or, if they specify none, that of the plans, which must agree.
Status choose_layout(const MonitorConfig& config, const Queries& queries, ThreadLayout* layout);
// Fails if the configuration or a query does not allow the layout.
Status check_layout(const MonitorConfig& config, const Queries& queries, const ThreadLayout& layout, bool supervised);
// Restricts the queries to the taps of their queues. Fails if taps are missing.
Status bind_queries(MonitorTaps* taps, Queries* queries);
// Makes one source per lane.
std::vector<std::unique_ptr<PacketSource>> make_sources(const MonitorConfig& config, uint32_t lanes, Reporter* reporter,
                                                        const MonitorPage* page);
// Makes the output of the unit with this number.
std::unique_ptr<TupleOutput> make_output(const MonitorConfig& config, const Queries& queries, uint32_t unit,
                                         bool is_live, uint64_t incarnation, std::span<const Schema* const> schemas,
                                         QueryAccounts* accounts, BatchLedger* ledger, EventRing* events);
// Returns the options for each of `sharing` engines that share the flows.
EngineOptions engine_options_of(const MonitorConfig& config, uint32_t sharing, UnitPage* page);
// Returns options if there are several taps and one of them names its switch. The taps then belong to one network, so a
// packet that several of them show must be counted once.
std::optional<ViewOptions> view_options_of(const MonitorConfig& config, std::span<const Tap> taps);

}  // namespace tapline
