#include "monitors/plan/monitor_taps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "parsers/registry.h"

namespace tapline {
namespace {

bool measures_queues(const std::string& parser) { return make_parser(parser)->schema().queues; }

QueueSides sides_among(const QueueName& queue, std::span<const Tap> taps) {
  QueueSides sides;
  for (size_t i = 0; i < taps.size(); ++i) {
    if (taps[i].switch_name != queue.switch_name || taps[i].port != queue.port) continue;
    if (taps[i].side == TapSide::kArrivals) sides.arrivals |= uint64_t{1} << i;
    if (taps[i].side == TapSide::kDepartures) sides.departures |= uint64_t{1} << i;
  }
  return sides;
}

std::string list_of(std::span<const Tap> taps) {
  std::string names;
  for (const Tap& tap : taps) names += (names.empty() ? "" : ", ") + tap.name();
  return names;
}

// Fails if there are taps on sides of queues, but no queue has taps on both. Without taps on sides, the queues
// are those that switches report in packets (INT).
Status check_any_queue(const std::string& parser, std::span<const Tap> taps) {
  bool any_side = false;
  for (const Tap& tap : taps) {
    const QueueSides sides = sides_among({tap.switch_name, tap.port}, taps);
    if (sides.arrivals != 0 && sides.departures != 0) return {};
    any_side |= tap.side == TapSide::kArrivals || tap.side == TapSide::kDepartures;
  }
  if (!any_side) return {};
  return Status::usage("parser '" + parser +
                       "' requires taps on both sides of a port's queue: --tap SWITCH:PORT:arrivals=SOURCE and --tap"
                       " SWITCH:PORT:departures=SOURCE; given: " +
                       list_of(taps));
}

// Rounds up to an even number, so that the numbers of a pair's two taps differ only in the lowest bit.
uint8_t first_pair(size_t configured) { return static_cast<uint8_t>((configured + 1) / 2 * 2); }

}  // namespace

MonitorTaps::MonitorTaps(std::vector<Tap> configured, bool marked)
    : taps_(std::move(configured)), configured_(taps_.size()), marks_(first_pair(taps_.size())) {
  for (const Tap& tap : taps_) names_.push_back({tap.switch_name, tap.port, std::string(name_of(tap.side))});
  if (!marked) return;
  // A pair that is not bound yet has only a number for a name.
  for (size_t tap = configured_; tap < kMaxTaps; ++tap) {
    const TapSide side = tap % 2 == 0 ? TapSide::kArrivals : TapSide::kDepartures;
    const std::string number = "copies" + std::to_string(tap / 2);
    const bool in_pair = tap >= marks_.first();
    taps_.push_back({.side = in_pair ? side : TapSide::kDepartures, .source = number});
    names_.push_back({"", number, std::string(name_of(taps_.back().side))});
  }
}

Status MonitorTaps::bind_marked(const QueueName& queue, QueueSides* sides) {
  if (marks() == nullptr) {
    return Status::usage("AT " + queue.text() +
                         ": this queue requires a monitor that accepts marked copies, but this one has only configured "
                         "taps; start it with --marked-copies");
  }
  const auto arrivals = marks_.bind(queue.mark);
  if (!arrivals) {
    return Status::resources("AT " + queue.text() + ": this monitor has measured " + std::to_string(marks_.room()) +
                             " other queues, and cannot measure another one until all its queries have ended");
  }
  *sides = {uint64_t{1} << *arrivals, uint64_t{2} << *arrivals};
  for (TapNames* names : {&names_[*arrivals], &names_[*arrivals + 1]}) {
    if (names->switch_name == queue.switch_name && names->port == queue.port) continue;
    names->switch_name = queue.switch_name;
    names->port = queue.port;
  }
  return {};
}

Status MonitorTaps::sides_of(const QueueName& queue, QueueSides* sides) {
  if (queue.mark != 0) return bind_marked(queue, sides);
  *sides = sides_among(queue, configured());
  if (sides->arrivals != 0 && sides->departures != 0) return {};
  const std::string missing =
      sides->arrivals == 0 ? (sides->departures == 0 ? "tap" : "arrivals tap") : "departures tap";
  return Status::usage("AT " + queue.text() + ": this monitor has no " + missing + " at " + queue.text() +
                       "; add --tap " + queue.text() + ":" + (sides->arrivals == 0 ? "arrivals" : "departures") +
                       "=SOURCE; given: " + list_of(configured()));
}

Status MonitorTaps::bind(QuerySpec* spec) {
  const auto parser = std::find_if(spec->parsers.begin(), spec->parsers.end(), measures_queues);
  spec->measures_queues = parser != spec->parsers.end();
  if (spec->queues.empty()) {
    if (marks() != nullptr) spec->match.ignore_taps(~uint64_t{0} << configured_);
    return spec->measures_queues ? check_any_queue(*parser, configured()) : Status();
  }
  QueueSides all;
  for (const QueueName& queue : spec->queues) {
    QueueSides sides;
    if (Status status = sides_of(queue, &sides); !status.ok()) return status;
    all.arrivals |= sides.arrivals;
    all.departures |= sides.departures;
  }
  spec->match.restrict_to_queues(all.arrivals, all.departures);
  return {};
}

}  // namespace tapline
