// The metrics of a running monitor, assembled from the copies that its threads publish ten times a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "monitors/lane/dispatch_stage.h"
#include "monitors/lane/lane.h"
#include "monitors/lane/parser_unit.h"
#include "monitors/plan/queries.h"
#include "packet_io/base/tap.h"
#include "packet_io/metrics/metric.h"

namespace tapline {

class MonitorMetrics {
 public:
  // All arguments must outlive this object; `dispatch` may be null.
  MonitorMetrics(Queries* queries, std::span<const Tap> taps, std::span<const std::unique_ptr<Lane>> lanes,
                 std::span<const std::unique_ptr<ParserUnit>> units, const DispatchStage* dispatch);

  // Visits every metric, family by family. Any thread.
  void for_each(const MetricVisitor& visit) const;

 private:
  struct Sums;
  Sums collect() const;
  void visit_lanes(const Sums& sums, const MetricVisitor& visit) const;
  void visit_taps(const Sums& sums, const MetricVisitor& visit) const;
  void visit_parsers(const Sums& sums, const MetricVisitor& visit) const;
  static void visit_triggers(const TriggerTotals& totals, const MetricVisitor& visit);
  void visit_queries(const Sums& sums, const MetricVisitor& visit) const;
  void visit_output(const Sums& sums, const MetricVisitor& visit) const;
  void visit_rings(const MetricVisitor& visit) const;
  void visit_process(const Sums& sums, const MetricVisitor& visit) const;

  Queries* queries_;
  std::span<const Tap> taps_;
  std::span<const std::unique_ptr<Lane>> lanes_;
  std::span<const std::unique_ptr<ParserUnit>> units_;
  const DispatchStage* dispatch_;
};

}  // namespace tapline
