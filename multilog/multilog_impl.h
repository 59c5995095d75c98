// The implementation of MultiLog: its state, and the functions that its source files share.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "multilog/base/doorbell.h"
#include "multilog/multilog.h"

namespace tapline::multilog {

class MultiLogImpl final : public MultiLog {
 public:
  explicit MultiLogImpl(Options options) : options_(std::move(options)) {}
  ~MultiLogImpl() override;
  // Loads the directory's content, if a directory is given, and starts the threads.
  Status start();

  using MultiLog::aggregate;
  using MultiLog::query;
  Status close() override;
  Result<Writer*> add_writer() override;
  Writer* writer(uint32_t number) override;
  Status add_filter(const std::string& name, const std::string& expression) override;
  Status add_filter(const std::string& name, const Tree& condition) override;
  Status remove_filter(const std::string& name) override;
  Status add_aggregate(const AggregateSpec& spec) override;
  Status remove_aggregate(const std::string& name) override;
  Status add_trigger(const TriggerSpec& spec) override;
  Status remove_trigger(const std::string& name) override;
  Status add_index(const std::string& field) override;
  Status remove_index(const std::string& field) override;
  std::vector<std::string> filters() const override;
  Definitions definitions() const override;
  std::vector<std::string> indexes() const override;
  Snapshot take_snapshot() const override;
  Result<Cursor> query(const QuerySpec& spec, Snapshot snapshot) const override;
  Result<std::string> explain(const QuerySpec& spec) const override;
  Result<AggregateValue> aggregate(const QuerySpec& spec, const FunctionSpec& function, Snapshot snapshot,
                                   bool with_states) const override;
  Result<AggregateValue> read_aggregate(const std::string& name, uint64_t time_low, uint64_t time_high) const override;
  Result<AggregateValue> read_aggregate(const std::string& name, const Snapshot& snapshot, uint64_t time_low,
                                        uint64_t time_high) const override;
  Result<FreezeToken> freeze(uint64_t expiry_ns) override;
  Result<bool> unfreeze(uint64_t token) override;
  void on_alert(std::function<void(const Alert&)> callback) override;
  std::vector<Alert> take_alerts() override;
  Status maintain() override;
  Statistics statistics() const override;
  Status storage_status() const override;
  uint32_t writers() const override { return writer_count_.load(std::memory_order_acquire); }
  uint64_t lost_alerts() const override { return lost_alerts_.load(std::memory_order_relaxed); }
  TriggerStatistics trigger_statistics() override { return triggers_->statistics(); }
  uint64_t evaluate_triggers(uint64_t now_ns) override { return triggers_->evaluate(now_ns); }
  const RecoveryReport& recovery() const override { return recovery_; }
  const Schema& schema() const override { return options_.schema; }

 private:
  friend class Writer;
  struct FreezeRecord {
    uint64_t id = 0;
    int64_t begin_ns = 0, expires_ns = 0;
    std::atomic<const std::vector<uint64_t>*> tails{nullptr};
    ~FreezeRecord() { delete tails.load(std::memory_order_relaxed); }
  };

  WriterLog* add_log(uint64_t first);
  void rebuild();
  // Compiles a condition, which may refer to the existing aggregates.
  template <typename Condition>
  Result<Expression> compile(const Condition& condition) const {
    return Expression::compile(condition, options_.schema, [this](std::string_view name) { return resolve(name); });
  }
  // Returns a query's conditions without its stored filter. Each part is compiled separately first, so that errors have
  // positions in the text as written.
  Result<Tree> condition_of(const QuerySpec& spec) const;
  struct Selection {
    std::shared_ptr<const Expression> expression = {};
    std::shared_ptr<Filter> stored = {};
    // The conditions in addition to the stored filter; null if there are none.
    std::shared_ptr<const Expression> residual = {};
  };
  Result<Selection> selection_of(const QuerySpec& spec) const;
  Status add_filter_locked(const std::string& name, Result<Expression> compiled);
  Status add_aggregate_locked(const AggregateSpec& spec);
  Status add_trigger_locked(const TriggerSpec& spec);
  Status add_index_locked(const std::string& field, bool backfill);
  std::optional<AggregateRef> resolve(std::string_view name) const;
  std::shared_ptr<tapline::multilog::Aggregate> find_aggregate(std::string_view name) const;
  std::shared_ptr<Filter> find_filter(std::string_view name) const;
  bool is_referenced(const tapline::multilog::Aggregate& aggregate) const;
  void make_per_writer(tapline::multilog::Aggregate* aggregate, uint32_t writer);
  void add_part(Index index);
  void backfill_index(const Index& index);
  Result<std::shared_ptr<QueryPlan>> plan_of(const QuerySpec& spec) const;
  std::vector<uint64_t> read_tails() const;
  bool is_frozen() const;
  const std::vector<uint64_t>* frozen_tails(FreezeRecord* record) const;
  bool end_freeze(FreezeRecord* record, int64_t now_ns) const;
  bool read_cached(const tapline::multilog::Aggregate& aggregate, const Snapshot& snapshot, uint64_t low, uint64_t high,
                   std::vector<uint64_t>* state, std::vector<std::pair<uint64_t, uint64_t>>* rest,
                   const Snapshot::View& view) const;
  void fold(const tapline::multilog::Aggregate& aggregate, const Snapshot& snapshot, const Snapshot::View* view,
            uint64_t low, uint64_t high, std::vector<uint64_t>* state, uint64_t* unreadable) const;
  Snapshot borrow(const Snapshot& snapshot, const Snapshot::View* view) const;
  AggregateValue value_of(const tapline::multilog::Aggregate& aggregate, std::vector<uint64_t>* state) const;
  uint64_t next_time(const Snapshot& snapshot, uint64_t time) const;
  void push(const Alert& alert);
  void run_triggers();
  void run_storage();
  Status free_memory();
  size_t free_arenas() const;
  size_t wanted_arenas() const { return std::max<size_t>(1, arenas_->max_arenas() / 8); }
  Status save_catalogue();
  Status load_catalogue(const std::string& text);
  Status load_definition(const std::string& line);
  Status retain();
  std::vector<Index> indexes_copy() const;
  std::string catalogue_text() const;

  Options options_;
  mutable Epochs epochs_;
  std::unique_ptr<ArenaPool> arenas_;
  std::atomic<size_t> heap_bytes_{0};
  std::atomic<const Pipeline*> pipeline_{nullptr};
  std::array<std::unique_ptr<WriterLog>, kMaxWriters> logs_;
  std::array<std::unique_ptr<Writer>, kMaxWriters> writers_;
  std::atomic<uint32_t> writer_count_{0};
  mutable std::atomic<FreezeRecord*> freeze_{nullptr};
  std::atomic<uint64_t> freezes_{0};
  mutable std::atomic<uint64_t> frozen_ns_{0};

  // Guards the definitions below.
  mutable std::mutex control_;
  std::vector<std::shared_ptr<Filter>> filters_;
  std::vector<std::shared_ptr<tapline::multilog::Aggregate>> aggregates_;
  std::map<std::string, AggregateSpec> aggregate_specs_;
  std::vector<Index> indexes_;
  uint64_t next_id_ = 1;
  uint64_t pipelines_ = 0;
  size_t aggregate_bytes_ = 0;
  bool loading_ = false;

  std::unique_ptr<TriggerEngine> triggers_;
  mutable std::mutex alert_mutex_;
  Status storage_status_;
  std::atomic<uint64_t> removed_{0};
  std::function<void(const Alert&)> on_alert_;
  std::deque<Alert> alerts_;
  std::atomic<uint64_t> lost_alerts_{0};

  std::unique_ptr<Storage> storage_;
  RecoveryReport recovery_;
  std::mutex maintain_;
  std::atomic<bool> stop_{false};
  Doorbell trigger_work_, storage_work_;
  std::thread trigger_thread_, storage_thread_;
  std::atomic<uint64_t> wakeups_{0}, late_wakeups_{0}, trigger_cpu_ns_{0};
  bool closed_ = false;
};

}  // namespace tapline::multilog
