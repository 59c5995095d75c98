#include "parsers/api/parser.h"

namespace tapline {
namespace {

// Emits the monitor's own metrics as tuples once per second of packet time, so that queries can watch the monitors.
class MonitorStats final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {
        .name = "monitor_stats",
        .description = "The monitor's own metrics, as at /metrics, once per second",
        .layer = Layer::kApplication,
        .fields = {{"metric", FieldType::kString, "", "Name, as at /metrics without tapline_monitor_"},
                   {"labels", FieldType::kString, "", "Labels of the metric, for example stage=received"},
                   {"value", FieldType::kF64, "", "Value of the metric; counters count from the monitor's start"}},
        .main_fields = {"metric", "labels"},
        .value_field = "value",
        .interval_ns = kNsPerSecond,
        .example = {"packets_total", "stage=received", "486.000000"},
    };
    return schema;
  }

  Needs needs() const override { return {.packets = false, .interval_ns = kNsPerSecond}; }
  void set_statistics(const StatisticsSource* source) override { source_ = source; }

  void on_interval(int64_t /*end_ns*/, Emitter& out) override {
    if (source_ == nullptr) return;
    TupleHeader header;
    header.time_ns = out.now_ns();
    header.queries = ~0ull;
    source_->for_each([&](const Statistic& statistic) {
      out.emit(header, {Value::string(statistic.name), Value::string(statistic.labels), Value::f64(statistic.value)});
    });
  }

 private:
  const StatisticsSource* source_ = nullptr;
};

}  // namespace

std::unique_ptr<Parser> make_monitor_stats() { return std::make_unique<MonitorStats>(); }

}  // namespace tapline
