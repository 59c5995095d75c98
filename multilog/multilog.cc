// Opens and closes a MultiLog, and adds writers. The other files in this folder implement the rest of MultiLog, by
// topic.
#include <algorithm>

#include "multilog/multilog_impl.h"

namespace tapline::multilog {

const Number& AggregateValue::operator[](std::string_view name) const {
  static const Number none;
  const auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? none : values[static_cast<size_t>(it - names.begin())];
}

Status Writer::commit() {
  const uint64_t wanted = tail();
  while (durable() < wanted) {
    if (Status status = owner_->maintain(); !status.ok()) return status;
    if (owner_->options_.storage.durability == Durability::kMemory || owner_->storage_ == nullptr) return {};
  }
  return {};
}

uint64_t Writer::durable() const { return owner_->storage_ == nullptr ? 0 : owner_->storage_->durable(log_->number()); }

Result<std::unique_ptr<MultiLog>> MultiLog::open(Options options) {
  if (options.segment_rows < 64 || options.segment_rows > kMaxSegmentRows || options.segment_rows % 64 != 0)
    return Status(Code::kInvalid, "segment_rows must be a multiple of 64 from 64 to 65536");
  for (const Field& field : options.schema.fields()) {
    // The bytes of strings would be stored outside the row.
    if (field.spec.type == FieldType::kText)
      return Status(Code::kInvalid, "field " + field.spec.name + " is a string, which can't be stored");
  }
  auto log = std::make_unique<MultiLogImpl>(std::move(options));
  if (Status status = log->start(); !status.ok()) return status;
  return std::unique_ptr<MultiLog>(std::move(log));
}

Status MultiLogImpl::start() {
  const size_t rows = size_t{options_.segment_rows} * options_.schema.row_bytes();
  // Arenas have an additional sixth of the rows' size for postings; postings that don't fit go to the heap.
  ArenaPool probe(rows + rows / 6, 1);
  const size_t arenas = options_.memory_bytes / probe.arena_bytes();
  if (arenas < 2)
    return {Code::kInvalid, "memory_bytes must have room for two segments: " + std::to_string(2 * probe.arena_bytes())};
  arenas_ = std::make_unique<ArenaPool>(probe.arena_bytes(), arenas);
  arenas_->provision(options_.preallocate_bytes / probe.arena_bytes());
  rebuild();
  triggers_ = std::make_unique<TriggerEngine>(
      TriggerEngine::Log{[this] { return take_snapshot(); },
                         [this](const Snapshot& snapshot, const tapline::multilog::Aggregate& aggregate, uint64_t begin,
                                uint64_t end) {
                           std::vector<uint64_t> state(aggregate.function->words());
                           uint64_t unreadable = 0;
                           fold(aggregate, snapshot, nullptr, begin, end - 1, &state, &unreadable);
                           return state;
                         },
                         [this](const Snapshot& snapshot, uint64_t time) { return next_time(snapshot, time); }},
      [this](const Alert& alert) { push(alert); });
  if (!options_.storage.directory.empty()) {
    storage_ = std::make_unique<Storage>(options_.storage, options_.schema, options_.segment_rows);
    if (Status status = storage_->open(); !status.ok()) return status;
    const auto catalogue = storage_->read_catalogue();
    if (!catalogue.ok()) return catalogue.status();
    loading_ = true;
    if (Status status = load_catalogue(*catalogue); !status.ok()) recovery_.problems.push_back(status);
    storage_->load({[this](uint32_t, uint64_t first) { return add_log(first); },
                    [this](WriterLog* log, const uint8_t* journal, uint64_t count) -> Status {
                      while (count > 0) {
                        const AppendResult result = log->append(journal, count);
                        journal += result.accepted * options_.schema.row_bytes();
                        count -= result.accepted;
                        if (result.dropped > 0 && !free_memory().ok())
                          return {Code::kMemoryFull, "the journal doesn't fit in memory"};
                      }
                      return {};
                    },
                    [this] { return indexes_; }},
                   &recovery_);
    loading_ = false;
  }
  if (options_.background_threads) {
    trigger_thread_ = std::thread([this] { run_triggers(); });
    storage_thread_ = std::thread([this] { run_storage(); });
  }
  return {};
}

Status MultiLogImpl::close() {
  if (std::exchange(closed_, true)) return {};
  stop_.store(true, std::memory_order_release);
  trigger_work_.ring();
  storage_work_.ring();
  if (trigger_thread_.joinable()) trigger_thread_.join();
  if (storage_thread_.joinable()) storage_thread_.join();
  return maintain();
}

MultiLogImpl::~MultiLogImpl() {
  (void)close().ok();
  epochs_.collect();
  delete pipeline_.load();
  delete freeze_.load();
}

WriterLog* MultiLogImpl::add_log(uint64_t first) {
  const uint32_t number = writer_count_.load(std::memory_order_relaxed);
  if (number >= kMaxWriters) return nullptr;
  logs_[number] = std::make_unique<WriterLog>(WriterLog::Shared{&options_.schema, arenas_.get(), &epochs_, &pipeline_,
                                                                options_.segment_rows, &heap_bytes_, &storage_work_},
                                              number, first);
  writers_[number] = std::unique_ptr<Writer>(new Writer(this, logs_[number].get()));
  for (const auto& aggregate : aggregates_) make_per_writer(aggregate.get(), number);
  writer_count_.store(number + 1, std::memory_order_release);
  return logs_[number].get();
}

Result<Writer*> MultiLogImpl::add_writer() {
  const std::lock_guard lock(control_);
  if (writer_count_.load() >= kMaxWriters) return Status(Code::kInvalid, "there can be at most 64 writers");
  for (const auto& aggregate : aggregates_)
    aggregate_bytes_ += 8 * (aggregate->function->words() + 3) * (aggregate->slots + size_t{1});
  add_log(0);
  return writers_[writer_count_.load() - 1].get();
}

Writer* MultiLogImpl::writer(uint32_t number) { return number < writers() ? writers_[number].get() : nullptr; }

MultiLogImpl::Statistics MultiLogImpl::statistics() const {
  Statistics statistics;
  for (uint32_t i = 0; i < writers(); ++i) {
    statistics.appended += logs_[i]->tail();
    statistics.dropped += logs_[i]->dropped();
  }
  statistics.removed = removed_.load(std::memory_order_relaxed);
  statistics.segment_bytes = arenas_->taken() * arenas_->arena_bytes();
  statistics.heap_bytes = heap_bytes_.load(std::memory_order_relaxed);
  statistics.wakeups = wakeups_.load(std::memory_order_relaxed);
  statistics.late_wakeups = late_wakeups_.load(std::memory_order_relaxed);
  statistics.trigger_cpu_ns = trigger_cpu_ns_.load(std::memory_order_relaxed);
  statistics.freezes = freezes_.load(std::memory_order_relaxed);
  statistics.frozen_ns = frozen_ns_.load(std::memory_order_relaxed);
  statistics.frozen = is_frozen();
  const std::lock_guard lock(control_);
  statistics.aggregate_bytes = aggregate_bytes_;
  return statistics;
}

}  // namespace tapline::multilog
