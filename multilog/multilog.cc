#include "multilog/multilog.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace tapline::multilog {
namespace {

constexpr int kReadAttempts = 64;
constexpr size_t kKeptAlerts = 1024;
constexpr uint64_t kLateNs = 100000;

int64_t ClockNs(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

void SleepUntil(int64_t monotonic_ns) {
  const timespec until{monotonic_ns / 1000000000, monotonic_ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

Status CheckName(const std::string& name) {
  const bool sound =
      !name.empty() && name.size() <= 128 && !(name[0] >= '0' && name[0] <= '9') &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
      });
  return sound ? Status() : Status(Code::kInvalid, "'" + name + "' is no name: letters, digits, _ and . only");
}

// Words of a catalogue line: percent-escaped, so that none has spaces.
std::string Escaped(const std::string& text) {
  std::string out;
  char code[4];
  for (const char c : text) {
    if (c > ' ' && c != '%' && c != ';' && c < 127) {
      out += c;
    } else {
      std::snprintf(code, sizeof code, "%%%02x", static_cast<uint8_t>(c));
      out += code;
    }
  }
  return out.empty() ? "%" : out;
}
std::string Unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%')
      out += text[i];
    else if (i + 2 < text.size() + 0 && text.size() > 1)
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)), i += 2;
  }
  return out;
}
std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ";") + Escaped(word);
  return out.empty() ? "%" : out;
}
std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  if (text == "%") return words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ';');) words.push_back(Unescaped(word));
  return words;
}

}  // namespace

const Number& AggregateValue::operator[](std::string_view name) const {
  static const Number none;
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? none : values[static_cast<size_t>(found - names.begin())];
}

Status Writer::Commit() {
  const uint64_t wanted = tail();
  while (durable() < wanted) {
    if (Status status = owner_->Maintain(); !status.ok()) return status;
    if (owner_->options_.storage.durability == Durability::kMemory || owner_->storage_ == nullptr) return {};
  }
  return {};
}

uint64_t Writer::durable() const { return owner_->storage_ == nullptr ? 0 : owner_->storage_->durable(log_->number()); }

MultiLog::MultiLog(Options options) : options_(std::move(options)) {}

Result<std::unique_ptr<MultiLog>> MultiLog::Open(Options options) {
  if (options.segment_rows < 64 || options.segment_rows > kMaxSegmentRows || options.segment_rows % 64 != 0)
    return Status(Code::kInvalid, "segment_rows is 64 to 65536, a multiple of 64");
  std::unique_ptr<MultiLog> log(new MultiLog(std::move(options)));
  if (Status status = log->Start(); !status.ok()) return status;
  return log;
}

Status MultiLog::Start() {
  const size_t rows = size_t{options_.segment_rows} * options_.schema.row_bytes();
  // A sixth more for postings; what doesn't fit goes to the heap.
  ArenaPool probe(rows + rows / 6, 1);
  const size_t arenas = options_.memory_bytes / probe.arena_bytes();
  if (arenas < 2)
    return {Code::kInvalid, "memory_bytes must hold two segments: " + std::to_string(2 * probe.arena_bytes())};
  arenas_ = std::make_unique<ArenaPool>(probe.arena_bytes(), arenas);
  arenas_->Provision(options_.preallocate_bytes / probe.arena_bytes());
  Rebuild();
  triggers_ = std::make_unique<TriggerEngine>(
      TriggerEngine::Log{[this] { return TakeSnapshot(); },
                         [this](const Snapshot& snapshot, const tapline::multilog::Aggregate& aggregate, uint64_t begin,
                                uint64_t end) {
                           std::vector<uint64_t> state(aggregate.function->words());
                           uint64_t unreadable = 0;
                           Fold(aggregate, snapshot, nullptr, begin, end - 1, &state, &unreadable);
                           return state;
                         },
                         [this](const Snapshot& snapshot, uint64_t time) { return NextTime(snapshot, time); }},
      [this](const Alert& alert) { Push(alert); });
  if (!options_.storage.directory.empty()) {
    storage_ = std::make_unique<Storage>(options_.storage, options_.schema, options_.segment_rows);
    if (Status status = storage_->Open(); !status.ok()) return status;
    const auto catalogue = storage_->ReadCatalogue();
    if (!catalogue.ok()) return catalogue.status();
    loading_ = true;
    if (Status status = LoadCatalogue(*catalogue); !status.ok()) recovery_.problems.push_back(status);
    storage_->Load({[this](uint32_t, uint64_t first) { return AddLog(first); },
                    [this](WriterLog* log, const uint8_t* journal, uint64_t count) -> Status {
                      while (count > 0) {
                        const AppendResult result = log->Append(journal, count);
                        journal += result.accepted * options_.schema.row_bytes();
                        count -= result.accepted;
                        if (result.dropped > 0 && !FreeMemory().ok())
                          return {Code::kMemoryFull, "the journal doesn't fit memory"};
                      }
                      return {};
                    },
                    [this] { return indexes_; }},
                   &recovery_);
    loading_ = false;
  }
  if (options_.background_threads) {
    trigger_thread_ = std::thread([this] { RunTriggers(); });
    storage_thread_ = std::thread([this] { RunStorage(); });
  }
  return {};
}

Status MultiLog::Close() {
  if (std::exchange(closed_, true)) return {};
  stop_.store(true, std::memory_order_release);
  if (trigger_thread_.joinable()) trigger_thread_.join();
  if (storage_thread_.joinable()) storage_thread_.join();
  return Maintain();
}

MultiLog::~MultiLog() {
  (void)Close().ok();
  epochs_.Collect();
  delete pipeline_.load();
  delete freeze_.load();
}

WriterLog* MultiLog::AddLog(uint64_t first) {
  const uint32_t number = writer_count_.load(std::memory_order_relaxed);
  if (number >= kMaxWriters) return nullptr;
  logs_[number] = std::make_unique<WriterLog>(
      WriterLog::Shared{&options_.schema, arenas_.get(), &epochs_, &pipeline_, options_.segment_rows, &heap_bytes_},
      number, first);
  writers_[number] = std::unique_ptr<Writer>(new Writer(this, logs_[number].get()));
  for (const auto& aggregate : aggregates_) MakePerWriter(aggregate.get(), number);
  writer_count_.store(number + 1, std::memory_order_release);
  return logs_[number].get();
}

Result<Writer*> MultiLog::AddWriter() {
  const std::lock_guard lock(control_);
  if (writer_count_.load() >= kMaxWriters) return Status(Code::kInvalid, "at most 64 writers");
  for (const auto& aggregate : aggregates_)
    aggregate_bytes_ += 8 * (aggregate->function->words() + 3) * (aggregate->slots + size_t{1});
  AddLog(0);
  return writers_[writer_count_.load() - 1].get();
}

Writer* MultiLog::writer(uint32_t number) { return number < writers() ? writers_[number].get() : nullptr; }

// ---- What is defined

void MultiLog::MakePerWriter(tapline::multilog::Aggregate* aggregate, uint32_t writer) {
  auto mine = std::make_unique<tapline::multilog::Aggregate::PerWriter>();
  mine->buckets = std::make_unique<Buckets>(aggregate->function, aggregate->bucket_ns, aggregate->slots);
  aggregate->per_writer[writer].store(mine.get(), std::memory_order_release);
  aggregate->owned.push_back(std::move(mine));
}

std::shared_ptr<tapline::multilog::Aggregate> MultiLog::FindAggregate(std::string_view name) const {
  for (const auto& aggregate : aggregates_) {
    if (aggregate->name == name) return aggregate;
  }
  return nullptr;
}

std::shared_ptr<Filter> MultiLog::FindFilter(std::string_view name) const {
  for (const auto& filter : filters_) {
    if (filter->name == name && !name.empty()) return filter;
  }
  return nullptr;
}

// name.OUTPUT, the name alone for its first output, or an output's own name.
std::optional<AggregateRef> MultiLog::Resolve(std::string_view name) const {
  for (const auto& aggregate : aggregates_) {
    for (uint32_t i = 0; i < aggregate->outputs.size(); ++i) {
      const std::string& output = aggregate->outputs[i];
      if ((i == 0 && name == aggregate->name) || name == output || name == aggregate->name + "." + output)
        return AggregateRef{static_cast<uint32_t>(aggregate->id), i};
    }
  }
  return std::nullopt;
}

bool MultiLog::IsReferenced(const tapline::multilog::Aggregate& aggregate) const {
  return std::any_of(filters_.begin(), filters_.end(), [&](const auto& filter) {
    const auto references = filter->expression.aggregates();
    return std::any_of(references.begin(), references.end(),
                       [&](const AggregateRef& r) { return r.aggregate == aggregate.id; });
  });
}

// A new pipeline from what is defined; writers take it at their next piece, the old one is freed after the last of
// them.
void MultiLog::Rebuild() {
  auto pipeline = std::make_unique<Pipeline>(options_.schema);
  pipeline->time_column = pipeline->program.AddColumn(options_.schema.time());
  for (const Index& index : indexes_) pipeline->indexes.push_back({index, pipeline->program.AddColumn(index.column)});
  for (const auto& filter : filters_) {
    Pipeline::Stage stage;
    stage.filter = filter;
    stage.number = pipeline->program.Add(filter->expression);
    stage.dependent = filter->expression.depends_on_aggregate();
    pipeline->has_dependent = pipeline->has_dependent || stage.dependent;
    for (const auto& aggregate : aggregates_) {
      if (aggregate->filter != filter) continue;
      stage.aggregates.push_back(aggregate);
      if (!IsReferenced(*aggregate)) continue;
      stage.live.push_back(aggregate);
      if (pipeline->references.size() <= aggregate->id) pipeline->references.resize(aggregate->id + 1);
      pipeline->references[aggregate->id] = aggregate;
    }
    pipeline->stages.push_back(std::move(stage));
  }
  const Pipeline* old = pipeline_.exchange(pipeline.release(), std::memory_order_seq_cst);
  if (old != nullptr) epochs_.Retire([old] { delete old; });
  epochs_.Collect();
}

Status MultiLog::AddFilterLocked(const std::string& name, const std::string& expression) {
  if (FindFilter(name) != nullptr) return {Code::kExists, "there is a filter " + name};
  if (filters_.size() >= kMaxFilters) return {Code::kInvalid, "at most 1024 filters"};
  auto filter = std::make_shared<Filter>();
  auto compiled = Expression::Compile(expression, options_.schema, [this](std::string_view n) { return Resolve(n); });
  if (!compiled.ok()) return compiled.status();
  filter->id = next_id_++;
  filter->name = name;
  filter->everything = compiled->root().kind == Node::Kind::kTrue;
  filter->expression = std::move(*compiled);
  // Postings are kept by id modulo kMaxFilters: no two filters at once may share a place.
  while (std::any_of(filters_.begin(), filters_.end(),
                     [&](const auto& f) { return f->id % kMaxFilters == filter->id % kMaxFilters; }))
    filter->id = next_id_++;
  filters_.push_back(std::move(filter));
  return {};
}

Status MultiLog::AddFilter(const std::string& name, const std::string& expression) {
  if (Status status = CheckName(name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = AddFilterLocked(name, expression); !status.ok()) return status;
  Rebuild();
  return SaveCatalogue();
}

Status MultiLog::RemoveFilter(const std::string& name) {
  const std::lock_guard lock(control_);
  const auto filter = FindFilter(name);
  if (filter == nullptr) return {Code::kNotFound, "no filter " + name};
  for (const auto& aggregate : aggregates_) {
    if (aggregate->filter == filter) return {Code::kInUse, "aggregate " + aggregate->name + " is of filter " + name};
  }
  std::erase(filters_, filter);
  Rebuild();
  return SaveCatalogue();
}

Status MultiLog::AddAggregateLocked(const AggregateSpec& spec) {
  if (FindAggregate(spec.name) != nullptr || options_.schema.Find(spec.name) != nullptr)
    return {Code::kExists, "there is an aggregate or field " + spec.name};
  if (spec.bucket_ns == 0) return {Code::kInvalid, "a bucket is at least 1 ns"};
  if (spec.buckets < 2 || spec.buckets > (1u << 20)) return {Code::kInvalid, "2 to 1048576 buckets"};
  auto function = MakeFunction(spec.function, options_.schema, options_.user_functions);
  if (!function.ok()) return function.status();
  auto aggregate = std::make_shared<tapline::multilog::Aggregate>();
  aggregate->outputs = spec.outputs.empty() ? (*function)->output_names() : spec.outputs;
  if (aggregate->outputs.size() != (*function)->output_names().size())
    return {Code::kInvalid,
            spec.function.function + " has " + std::to_string((*function)->output_names().size()) + " outputs"};
  const size_t bytes = 8 * ((*function)->words() + 3) * (spec.buckets + size_t{1}) * std::max(1u, writers());
  if (aggregate_bytes_ + bytes > options_.aggregate_bytes)
    return {Code::kMemoryFull,
            "aggregate " + spec.name + " takes " + std::to_string(bytes) + " bytes; fewer buckets or groups?"};
  aggregate->filter = FindFilter(spec.filter);
  if (aggregate->filter == nullptr) {
    if (!spec.filter.empty()) return {Code::kNotFound, "no filter " + spec.filter};
    // All rows: a filter without a name, made once.
    for (const auto& filter : filters_) {
      if (filter->name.empty()) aggregate->filter = filter;
    }
    if (aggregate->filter == nullptr) {
      if (Status status = AddFilterLocked("", ""); !status.ok()) return status;
      aggregate->filter = filters_.back();
    }
  }
  aggregate->id = next_id_++;
  aggregate->name = spec.name;
  aggregate->spec = spec.function;
  aggregate->function = *function;
  aggregate->grouped = dynamic_cast<const GroupedFunction*>(function->get());
  aggregate->bucket_ns = spec.bucket_ns;
  aggregate->slots = spec.buckets;
  for (uint32_t writer = 0; writer < writers(); ++writer) MakePerWriter(aggregate.get(), writer);
  aggregate_bytes_ += bytes;
  aggregates_.push_back(std::move(aggregate));
  aggregate_specs_[spec.name] = spec;
  return {};
}

Status MultiLog::AddAggregate(const AggregateSpec& spec) {
  if (Status status = CheckName(spec.name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = AddAggregateLocked(spec); !status.ok()) return status;
  Rebuild();
  return SaveCatalogue();
}

Status MultiLog::RemoveAggregate(const std::string& name) {
  const std::lock_guard lock(control_);
  const auto aggregate = FindAggregate(name);
  if (aggregate == nullptr) return {Code::kNotFound, "no aggregate " + name};
  if (IsReferenced(*aggregate)) return {Code::kInUse, "a filter compares with aggregate " + name};
  if (triggers_->Uses(name)) return {Code::kInUse, "a trigger watches aggregate " + name};
  aggregate_bytes_ -= std::min(aggregate_bytes_, 8 * (aggregate->function->words() + 3) *
                                                     (aggregate->slots + size_t{1}) * aggregate->owned.size());
  std::erase(aggregates_, aggregate);
  aggregate_specs_.erase(name);
  Rebuild();
  return SaveCatalogue();
}

Status MultiLog::AddTriggerLocked(const TriggerSpec& spec) {
  const auto aggregate = FindAggregate(spec.aggregate);
  if (aggregate == nullptr) return {Code::kNotFound, "no aggregate " + spec.aggregate};
  return triggers_->Add(spec, aggregate);
}

Status MultiLog::AddTrigger(const TriggerSpec& spec) {
  if (Status status = CheckName(spec.name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = AddTriggerLocked(spec); !status.ok()) return status;
  return SaveCatalogue();
}

Status MultiLog::RemoveTrigger(const std::string& name) {
  const std::lock_guard lock(control_);
  if (Status status = triggers_->Remove(name); !status.ok()) return status;
  return SaveCatalogue();
}

Status MultiLog::AddIndexLocked(const std::string& name, bool backfill) {
  const size_t bracket = name.find('[');
  const Field* field = options_.schema.Find(name.substr(0, bracket));
  if (field == nullptr) return {Code::kInvalid, "unknown field '" + name + "'"};
  const uint32_t element =
      bracket == std::string::npos ? 0 : static_cast<uint32_t>(std::strtoul(name.c_str() + bracket + 1, nullptr, 10));
  if (element >= field->spec.elements || (bracket == std::string::npos && field->spec.elements > 1))
    return {Code::kInvalid, "no single element '" + name + "'"};
  const Index index{0, name, field->element(element)};
  if (!index.column.keyed()) return {Code::kInvalid, "no index on '" + name + "': longer than 8 bytes"};
  for (const Index& present : indexes_) {
    if (present.column == index.column) return {Code::kExists, "there is an index on " + name};
  }
  if (indexes_.size() >= kMaxIndexes) return {Code::kInvalid, "at most 64 indexes"};
  indexes_.push_back(index);
  Index& added = indexes_.back();
  auto taken = [&] {
    return std::any_of(indexes_.begin(), indexes_.end() - 1,
                       [&](const Index& other) { return other.id % kMaxIndexes == added.id % kMaxIndexes; });
  };
  do added.id = next_id_++;
  while (taken());
  if (!backfill) return {};
  Rebuild();
  Backfill(added);
  return {};
}

Status MultiLog::AddIndex(const std::string& field) {
  const std::lock_guard lock(control_);
  if (Status status = AddIndexLocked(field, true); !status.ok()) return status;
  return SaveCatalogue();
}

Status MultiLog::RemoveIndex(const std::string& field) {
  const std::lock_guard lock(control_);
  if (std::erase_if(indexes_, [&](const Index& index) { return index.field == field; }) == 0)
    return {Code::kNotFound, "no index on " + field};
  Rebuild();
  return SaveCatalogue();
}

// Full segments get their postings now; those that writers fill from here on get them from the writers.
void MultiLog::Backfill(const Index& index) {
  const Snapshot snapshot = TakeSnapshot();
  PostingsBuilder builder;
  for (const Snapshot::View& view : snapshot.views()) {
    const uint32_t size = view.log->segment_rows();
    for (uint64_t at = view.first; at + size <= view.tail; at += size) {
      Segment* segment = view.log->SegmentAt(at);
      if (segment == nullptr || segment->IndexOf(index.id) != nullptr) continue;
      std::shared_ptr<const uint8_t> keep;
      const uint8_t* rows = segment->rows();
      if (segment->source != nullptr) {
        keep = segment->source->Rows(~uint64_t{0} >> (64 - segment->zones()));
        rows = keep.get();
      }
      if (rows == nullptr) continue;
      const Postings* postings = BuildPostings(options_.schema, index, rows, size, nullptr, &builder, segment);
      if (postings != nullptr) segment->SetIndex(postings);
    }
  }
}

std::vector<std::string> MultiLog::filters() const {
  const std::lock_guard lock(control_);
  std::vector<std::string> names;
  for (const auto& filter : filters_) {
    if (!filter->name.empty()) names.push_back(filter->name);
  }
  return names;
}

std::vector<std::string> MultiLog::indexes() const {
  const std::lock_guard lock(control_);
  std::vector<std::string> names;
  for (const Index& index : indexes_) names.push_back(index.field);
  return names;
}

// ---- Reading

std::vector<uint64_t> MultiLog::ReadTails() const {
  std::vector<uint64_t> tails(writers());
  for (size_t i = 0; i < tails.size(); ++i) tails[i] = logs_[i]->tail();
  return tails;
}

// The tails of a freeze are read after it was announced, by whoever comes first; one set of them wins.
const std::vector<uint64_t>* MultiLog::FrozenTails(FreezeRecord* record) const {
  const std::vector<uint64_t>* tails = record->tails.load(std::memory_order_acquire);
  if (tails != nullptr) return tails;
  auto mine = std::make_unique<const std::vector<uint64_t>>(ReadTails());
  if (record->tails.compare_exchange_strong(tails, mine.get(), std::memory_order_acq_rel)) return mine.release();
  return tails;
}

// Order: a reader that found no freeze, read the tails, and still finds none read them before any freeze was announced,
// hence tails no greater than the frozen ones; one that finds a freeze uses its tails. Nobody waits for the freezer.
Snapshot MultiLog::TakeSnapshot() const {
  Snapshot snapshot;
  snapshot.pin_ = epochs_.Enter();
  while (true) {
    FreezeRecord* record = freeze_.load(std::memory_order_seq_cst);
    if (record != nullptr && ClockNs(CLOCK_MONOTONIC) >= record->expires_ns) {
      // Expired: whoever notices ends it, and Unfreeze will find it gone.
      FreezeRecord* expected = record;
      if (freeze_.compare_exchange_strong(expected, nullptr, std::memory_order_seq_cst))
        epochs_.Retire([record] { delete record; });
      continue;
    }
    // Before the tails, so that no row is taken for kept that was removed.
    snapshot.views_.clear();
    const uint32_t count = writers();
    for (uint32_t i = 0; i < count; ++i) snapshot.views_.push_back({logs_[i].get(), logs_[i]->first(), 0});
    const std::vector<uint64_t> now = record == nullptr ? ReadTails() : *FrozenTails(record);
    if (record == nullptr && freeze_.load(std::memory_order_seq_cst) != nullptr) continue;
    snapshot.frozen_ = record != nullptr;
    snapshot.views_.resize(std::min(snapshot.views_.size(), now.size()));
    for (size_t i = 0; i < snapshot.views_.size(); ++i) {
      snapshot.views_[i].tail = now[i];
      snapshot.views_[i].first = std::min(snapshot.views_[i].first, now[i]);
    }
    return snapshot;
  }
}

Result<FreezeToken> MultiLog::Freeze(uint64_t expiry_ns) {
  const auto pin = epochs_.Enter();
  auto record = std::make_unique<FreezeRecord>();
  record->id = freezes_.fetch_add(1) + 1;
  record->expires_ns =
      ClockNs(CLOCK_MONOTONIC) + static_cast<int64_t>(std::min<uint64_t>(expiry_ns, uint64_t{3600} * 1000000000));
  FreezeRecord* present = nullptr;
  while (!freeze_.compare_exchange_strong(present, record.get(), std::memory_order_seq_cst)) {
    if (present == nullptr) continue;
    const int64_t rest = present->expires_ns - ClockNs(CLOCK_MONOTONIC);
    if (rest > 0) return Status(Code::kFrozen, "frozen by another for " + std::to_string(rest) + " ns more");
    FreezeRecord* expired = present;
    if (freeze_.compare_exchange_strong(present, nullptr, std::memory_order_seq_cst))
      epochs_.Retire([expired] { delete expired; });
    present = nullptr;
  }
  FreezeRecord* mine = record.release();
  return FreezeToken{mine->id, *FrozenTails(mine)};
}

Result<bool> MultiLog::Unfreeze(uint64_t token) {
  const auto pin = epochs_.Enter();
  if (token == 0 || token > freezes_.load()) return Status(Code::kNotFound, "no such freeze");
  FreezeRecord* present = freeze_.load(std::memory_order_seq_cst);
  if (present == nullptr || present->id != token) return false;
  const bool in_time = ClockNs(CLOCK_MONOTONIC) < present->expires_ns;
  FreezeRecord* record = present;
  if (!freeze_.compare_exchange_strong(present, nullptr, std::memory_order_seq_cst)) return false;
  epochs_.Retire([record] { delete record; });
  return in_time;
}

Result<std::shared_ptr<QueryPlan>> MultiLog::Plan(const QuerySpec& spec) const {
  const std::lock_guard lock(control_);
  const auto resolve = [this](std::string_view name) { return Resolve(name); };
  std::string extra = spec.expression.empty() ? "" : "(" + spec.expression + ")";
  for (const std::string& inner : spec.within) extra += (extra.empty() ? "(" : " && (") + inner + ")";
  // Each part by itself first, so that errors have positions in what was written.
  for (const std::string* part = &spec.expression; part != nullptr;) {
    if (auto compiled = Expression::Compile(*part, options_.schema, resolve); !compiled.ok()) return compiled.status();
    const size_t next = part == &spec.expression ? 0 : static_cast<size_t>(part - spec.within.data()) + 1;
    part = next < spec.within.size() ? &spec.within[next] : nullptr;
  }
  std::shared_ptr<Filter> stored = FindFilter(spec.filter);
  if (stored == nullptr && !spec.filter.empty()) return Status(Code::kNotFound, "no filter " + spec.filter);
  std::string all = extra;
  if (stored != nullptr && !stored->expression.text().empty())
    all = "(" + stored->expression.text() + ")" + (extra.empty() ? "" : " && " + extra);
  auto compiled = Expression::Compile(all, options_.schema, resolve);
  if (!compiled.ok()) return compiled.status();
  auto expression = std::make_shared<const Expression>(std::move(*compiled));
  Expression::Values values;
  if (expression->depends_on_aggregate()) {
    // Against values as they are now, over all writers.
    auto now = std::make_shared<std::map<std::pair<uint32_t, uint32_t>, Number>>();
    for (const AggregateRef& reference : expression->aggregates()) {
      for (const auto& aggregate : aggregates_) {
        if (aggregate->id != reference.aggregate) continue;
        std::vector<uint64_t> state(aggregate->function->words());
        uint64_t unreadable = 0;
        Fold(*aggregate, TakeSnapshot(), nullptr, 0, kAllTime, &state, &unreadable);
        const auto outputs = aggregate->function->Outputs(Cells(state.data()));
        (*now)[{reference.aggregate, reference.output}] = outputs[reference.output];
      }
    }
    values = [now](const AggregateRef& reference) { return (*now)[{reference.aggregate, reference.output}]; };
  }
  auto plan = MakePlan(options_.schema, expression, spec.time_low, spec.time_high, indexes_, values);
  if (!plan.ok()) return plan.status();
  if (stored == nullptr && (*plan)->clauses) {
    for (const auto& filter : filters_) {
      const auto clauses =
          filter->everything || filter->expression.depends_on_aggregate() ? std::nullopt : filter->expression.Dnf();
      if (clauses && SameClauses(*clauses, *(*plan)->clauses)) (*plan)->stored = filter;
    }
  } else if (stored != nullptr && !stored->everything) {
    (*plan)->stored = stored;
    if (!extra.empty())
      (*plan)->residual = std::make_shared<const Expression>(*Expression::Compile(extra, options_.schema, resolve));
    // What such a filter selected depends on when a row came: only its postings know.
    if (stored->expression.depends_on_aggregate()) (*plan)->values = {};
  }
  return plan;
}

Result<Cursor> MultiLog::Query(const QuerySpec& spec, Snapshot snapshot) const {
  auto plan = Plan(spec);
  if (!plan.ok()) return plan.status();
  return Cursor(std::move(snapshot), std::move(*plan));
}

Result<std::string> MultiLog::Explain(const QuerySpec& spec) const {
  auto plan = Plan(spec);
  if (!plan.ok()) return plan.status();
  return tapline::multilog::Explain(TakeSnapshot(), *plan);
}

Result<AggregateValue> MultiLog::Aggregate(const QuerySpec& spec, const FunctionSpec& spec_of_function) const {
  auto function = MakeFunction(spec_of_function, options_.schema, options_.user_functions);
  if (!function.ok()) return function.status();
  auto cursor = Query(spec);
  if (!cursor.ok()) return cursor.status();
  std::vector<uint64_t> state((*function)->words());
  for (auto rows = cursor->Next(); !rows.empty(); rows = cursor->Next()) (*function)->Add(Cells(state.data()), rows);
  AggregateValue value;
  value.names = (*function)->output_names();
  value.values = (*function)->Outputs(Cells(state.data()));
  if (const auto* grouped = dynamic_cast<const GroupedFunction*>(function->get()))
    value.groups = grouped->Groups(Cells(state.data()));
  value.unreadable = cursor->statistics().unreadable;
  return value;
}

// A snapshot of the same tails, that may outlive the other.
Snapshot MultiLog::Borrow(const Snapshot& snapshot, const Snapshot::View* only) const {
  Snapshot borrowed;
  borrowed.pin_ = epochs_.Enter();
  borrowed.views_ = only == nullptr ? snapshot.views_ : std::vector<Snapshot::View>{*only};
  borrowed.frozen_ = snapshot.frozen_;
  return borrowed;
}

// From the rows: those of the aggregate's filter since it began, with times in [low, high].
void MultiLog::Fold(const tapline::multilog::Aggregate& aggregate, const Snapshot& snapshot, const Snapshot::View* only,
                    uint64_t low, uint64_t high, std::vector<uint64_t>* state, uint64_t* unreadable) const {
  auto expression = std::make_shared<const Expression>(aggregate.filter->expression);
  auto plan = MakePlan(options_.schema, std::move(expression), low, high, {}, {});
  if (!plan.ok()) return;
  if (!aggregate.filter->everything) (*plan)->stored = aggregate.filter;
  (*plan)->from.assign(kMaxWriters, kNotYet);
  for (uint32_t i = 0; i < kMaxWriters; ++i) {
    if (const auto* mine = aggregate.per_writer[i].load(std::memory_order_acquire))
      (*plan)->from[i] = mine->covered_from.load(std::memory_order_acquire);
  }
  Cursor cursor(Borrow(snapshot, only), std::move(*plan));
  for (auto rows = cursor.Next(); !rows.empty(); rows = cursor.Next())
    aggregate.function->Add(Cells(state->data()), rows);
  *unreadable += cursor.statistics().unreadable;
}

// One writer's, from its buckets; what they can't tell goes to `rest` as ranges of time. False if the ring turned
// meanwhile.
bool MultiLog::ReadCached(const tapline::multilog::Aggregate& aggregate, const Snapshot& snapshot, uint64_t low,
                          uint64_t high, std::vector<uint64_t>* state, std::vector<std::pair<uint64_t, uint64_t>>* rest,
                          const Snapshot::View& view) const {
  (void)snapshot;
  const auto* mine = aggregate.per_writer[view.log->number()].load(std::memory_order_acquire);
  if (mine == nullptr || mine->covered_from.load(std::memory_order_acquire) >= view.tail) return true;
  const Buckets& buckets = *mine->buckets;
  const uint64_t width = buckets.width_ns();
  Buckets::Copy evicted, copy;
  if (!buckets.Read(buckets.slots(), &evicted) || evicted.version > view.tail) return false;
  if (evicted.used) {
    if (low != 0 || high != kAllTime) return false;
    aggregate.function->Merge(Cells(state->data()), Cells(evicted.state.data()));
  }
  for (uint32_t slot = 0; slot < buckets.slots(); ++slot) {
    if (!buckets.Read(slot, &copy)) return false;
    if (!copy.used) continue;
    const uint64_t begin = copy.bucket * width, end = begin + (width - 1);
    if (end < low || begin > high) continue;
    if (copy.version > view.tail || begin < low || end > high)
      rest->emplace_back(std::max(begin, low), std::min(end, high));
    else
      aggregate.function->Merge(Cells(state->data()), Cells(copy.state.data()));
  }
  // Had a bucket left the ring in between, it would be counted twice, or not at all.
  return buckets.Version(buckets.slots()) == evicted.version;
}

AggregateValue MultiLog::ValueOf(const tapline::multilog::Aggregate& aggregate, std::vector<uint64_t>* state) const {
  AggregateValue value;
  value.names = aggregate.outputs;
  value.values = aggregate.function->Outputs(Cells(state->data()));
  if (aggregate.grouped != nullptr) value.groups = aggregate.grouped->Groups(Cells(state->data()));
  return value;
}

Result<AggregateValue> MultiLog::ReadAggregate(const std::string& name, uint64_t low, uint64_t high) const {
  return ReadAggregate(name, TakeSnapshot(), low, high);
}

Result<AggregateValue> MultiLog::ReadAggregate(const std::string& name, const Snapshot& snapshot, uint64_t low,
                                               uint64_t high) const {
  std::shared_ptr<tapline::multilog::Aggregate> aggregate;
  {
    const std::lock_guard lock(control_);
    aggregate = FindAggregate(name);
  }
  if (aggregate == nullptr) return Status(Code::kNotFound, "no aggregate " + name);
  if (low > high) return Status(Code::kInvalid, "the time ends before it begins");
  std::vector<uint64_t> total(aggregate->function->words());
  uint64_t unreadable = 0;
  for (const Snapshot::View& view : snapshot.views()) {
    std::vector<uint64_t> state(total.size());
    std::vector<std::pair<uint64_t, uint64_t>> rest;
    bool cached = false;
    for (int attempt = 0; attempt < kReadAttempts && !cached; ++attempt) {
      state.assign(total.size(), 0);
      rest.clear();
      cached = ReadCached(*aggregate, snapshot, low, high, &state, &rest, view);
      const auto* mine = aggregate->per_writer[view.log->number()].load(std::memory_order_acquire);
      // No use in trying again what has gone ahead of this snapshot, or left the ring.
      if (!cached && (mine->buckets->Version(mine->buckets->slots()) > view.tail || low != 0 || high != kAllTime))
        break;
    }
    if (!cached) {
      state.assign(total.size(), 0);
      rest.assign(1, {low, high});
    }
    for (const auto& [from, to] : rest) Fold(*aggregate, snapshot, &view, from, to, &state, &unreadable);
    aggregate->function->Merge(Cells(total.data()), Cells(state.data()));
  }
  AggregateValue value = ValueOf(*aggregate, &total);
  value.unreadable = unreadable;
  return value;
}

// Zones say where there may be one; those that reach across `time` are looked through, unless they are archived.
uint64_t MultiLog::NextTime(const Snapshot& snapshot, uint64_t time) const {
  uint64_t next = kAllTime;
  for (const Snapshot::View& view : snapshot.views()) {
    const uint32_t size = view.log->segment_rows();
    for (uint64_t at = view.first; at < view.tail; at = (at / size + 1) * size) {
      const Segment* segment = view.log->SegmentAt(at);
      if (segment == nullptr || segment->greatest_time() < time || segment->least_time() >= next) continue;
      const auto end = static_cast<uint32_t>(std::min<uint64_t>(size, view.tail - segment->first()));
      for (uint32_t zone = 0; zone * kChunkRows < end; ++zone) {
        if (segment->ZoneHigh(zone) < time || segment->ZoneLow(zone) >= next) continue;
        if (segment->ZoneLow(zone) >= time || segment->source != nullptr) {
          next = std::max(time, segment->ZoneLow(zone));
          continue;
        }
        for (uint32_t row = zone * kChunkRows; row < std::min(end, (zone + 1) * kChunkRows); ++row) {
          const uint64_t of_row = TimeOf(options_.schema, segment->row(row));
          if (of_row >= time && of_row < next) next = of_row;
        }
      }
    }
  }
  return next;
}

// ---- Alerts and threads

void MultiLog::OnAlert(std::function<void(const Alert&)> callback) {
  const std::lock_guard lock(alert_mutex_);
  on_alert_ = std::move(callback);
}

void MultiLog::Push(const Alert& alert) {
  const std::lock_guard lock(alert_mutex_);
  if (on_alert_) on_alert_(alert);
  if (alerts_.size() == kKeptAlerts) {
    alerts_.pop_front();
    lost_alerts_.fetch_add(1, std::memory_order_relaxed);
  }
  alerts_.push_back(alert);
}

std::vector<Alert> MultiLog::TakeAlerts() {
  const std::lock_guard lock(alert_mutex_);
  std::vector<Alert> alerts(alerts_.begin(), alerts_.end());
  alerts_.clear();
  return alerts;
}

void MultiLog::RunTriggers() {
  constexpr int64_t kIdleNs = 10000000;
  int64_t next = ClockNs(CLOCK_MONOTONIC);
  while (!stop_.load(std::memory_order_acquire)) {
    const int64_t now = ClockNs(CLOCK_MONOTONIC);
    const uint64_t due = triggers_->Evaluate(static_cast<uint64_t>(now));
    next = due == ~uint64_t{0} ? now + kIdleNs : std::min(static_cast<int64_t>(due), now + kIdleNs);
    trigger_cpu_ns_.store(static_cast<uint64_t>(ClockNs(CLOCK_THREAD_CPUTIME_ID)), std::memory_order_relaxed);
    SleepUntil(next);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (ClockNs(CLOCK_MONOTONIC) > next + static_cast<int64_t>(kLateNs))
      late_wakeups_.fetch_add(1, std::memory_order_relaxed);
  }
}

void MultiLog::RunStorage() {
  constexpr int64_t kTurnNs = 5000000;
  int64_t flushed = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    SleepUntil(ClockNs(CLOCK_MONOTONIC) + kTurnNs);
    const int64_t now = ClockNs(CLOCK_MONOTONIC);
    const bool due = storage_ != nullptr && options_.storage.durability != Durability::kMemory &&
                     now - flushed >= static_cast<int64_t>(options_.storage.interval_ns);
    if (due) {
      flushed = now;
      (void)Maintain().ok();
      continue;
    }
    const std::lock_guard lock(maintain_);
    (void)FreeMemory().ok();
  }
}

Status MultiLog::Maintain() {
  const std::lock_guard lock(maintain_);
  Status status;
  if (storage_ != nullptr && options_.storage.durability != Durability::kMemory) {
    for (uint32_t i = 0; i < writers() && status.ok(); ++i) status = storage_->Flush(*logs_[i]);
  }
  const Status memory = FreeMemory();
  {
    const std::lock_guard control(alert_mutex_);
    storage_status_ = status.ok() ? memory : status;
  }
  return status.ok() ? memory : status;
}

Status MultiLog::storage_status() const {
  const std::lock_guard lock(alert_mutex_);
  return storage_status_;
}

// Keeps some memory free for writers: archives the oldest complete segments or, where that can't be, lets them go.
Status MultiLog::FreeMemory() {
  epochs_.Collect();
  const size_t most = arenas_->max_arenas();
  const size_t wanted_free = std::max<size_t>(1, most / 8);
  auto free = [&] {
    const size_t heap =
        (heap_bytes_.load(std::memory_order_relaxed) + arenas_->arena_bytes() - 1) / arenas_->arena_bytes();
    const size_t used = arenas_->taken() + heap;
    return used < most ? most - used : 0;
  };
  Status status;
  // What readers still hold is freed later; no use in releasing more meanwhile.
  while (free() < wanted_free && epochs_.Collect() == 0) {
    WriterLog* oldest = nullptr;
    Segment* segment = nullptr;
    for (uint32_t i = 0; i < writers(); ++i) {
      Segment* candidate = nullptr;
      for (uint64_t at = logs_[i]->first(); at < logs_[i]->tail() && candidate == nullptr;
           at = (at / options_.segment_rows + 1) * options_.segment_rows) {
        Segment* present = logs_[i]->SegmentAt(at);
        if (present != nullptr && present->source == nullptr) candidate = present;
      }
      if (candidate == nullptr || !candidate->complete.load(std::memory_order_acquire)) continue;
      if (segment == nullptr || candidate->least_time() < segment->least_time())
        segment = candidate, oldest = logs_[i].get();
    }
    if (segment == nullptr) break;
    Status archived(Code::kStopped, "no directory");
    if (storage_ != nullptr) {
      archived = storage_->Archive(oldest, segment, indexes_copy());
      if (!archived.ok()) status = archived;
    }
    if (!archived.ok()) {
      if (options_.when_full == Options::WhenFull::kRefuse) break;
      const uint64_t end = segment->first() + segment->capacity();
      removed_.fetch_add(end - oldest->first(), std::memory_order_relaxed);
      oldest->RemoveBefore(end);
    }
    epochs_.Collect();
  }
  // Ahead of need, a few at a time.
  if (options_.background_threads && !loading_) arenas_->Provision(std::min<size_t>(wanted_free, 4));
  if (storage_ != nullptr && status.ok() && !loading_) status = Retain();
  return status;
}

std::vector<Index> MultiLog::indexes_copy() const {
  if (loading_) return indexes_;
  const std::lock_guard lock(control_);
  return indexes_;
}

Status MultiLog::Retain() {
  uint64_t newest = 0;
  for (uint32_t i = 0; i < writers(); ++i) newest = std::max(newest, logs_[i]->newest_time());
  const StorageOptions& options = storage_->options();
  for (uint32_t i = 0; i < writers(); ++i) {
    const uint64_t over = options.retain_bytes != 0 && storage_->archived_bytes() > options.retain_bytes
                              ? storage_->archived_bytes() - options.retain_bytes
                              : 0;
    const auto removed = storage_->Retain(logs_[i].get(), newest, over);
    if (!removed.ok()) return removed.status();
    removed_.fetch_add(*removed, std::memory_order_relaxed);
  }
  return {};
}

MultiLog::Statistics MultiLog::statistics() const {
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
  const std::lock_guard lock(control_);
  statistics.aggregate_bytes = aggregate_bytes_;
  return statistics;
}

// ---- The catalogue: a line per definition, words percent-escaped, in an order in which they can be made again.

std::string MultiLog::CatalogueText() const {
  std::ostringstream out;
  for (const Index& index : indexes_) out << index.id << " index " << Escaped(index.field) << '\n';
  for (const auto& filter : filters_) {
    if (!filter->name.empty())
      out << filter->id << " filter " << Escaped(filter->name) << ' ' << Escaped(filter->expression.text()) << '\n';
  }
  for (const auto& aggregate : aggregates_) {
    const AggregateSpec& spec = aggregate_specs_.at(aggregate->name);
    out << aggregate->id << " aggregate " << Escaped(spec.name) << ' ' << Escaped(spec.filter) << ' '
        << Escaped(spec.function.function) << ' ' << Escaped(spec.function.field) << ' '
        << Joined(spec.function.group_by) << ' ' << spec.function.max_groups << ' ' << spec.bucket_ns << ' '
        << spec.buckets << ' ' << Joined(spec.outputs);
    for (const double quantile : spec.function.quantiles) out << ' ' << quantile;
    out << '\n';
  }
  for (const TriggerSpec& spec : triggers_->List()) {
    out << ~uint64_t{0} << " trigger " << Escaped(spec.name) << ' ' << Escaped(spec.aggregate) << ' '
        << Escaped(spec.condition) << ' ' << spec.window_ns << ' ' << spec.period_ns << ' '
        << static_cast<int>(spec.severity) << ' ' << spec.cooldown_ns << '\n';
  }
  // A filter may compare with an aggregate of another filter: made in the order of their ids.
  std::istringstream lines(out.str());
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    sorted.emplace_back(std::stoull(line.substr(0, space)), line.substr(space + 1));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [id, line] : sorted) text += line + "\n";
  return text;
}

Status MultiLog::SaveCatalogue() {
  if (storage_ == nullptr || loading_) return {};
  return storage_->WriteCatalogue(CatalogueText());
}

Status MultiLog::LoadDefinition(const std::string& line) {
  std::istringstream words(line);
  std::string kind, name, a, b, c, d, e;
  words >> kind >> name;
  name = Unescaped(name);
  if (kind == "index") return AddIndexLocked(name, false);
  if (kind == "filter") return words >> a, AddFilterLocked(name, Unescaped(a));
  if (kind == "aggregate") {
    AggregateSpec spec;
    spec.name = name;
    words >> a >> b >> c >> d >> spec.function.max_groups >> spec.bucket_ns >> spec.buckets >> e;
    spec.filter = Unescaped(a);
    spec.function.function = Unescaped(b);
    spec.function.field = Unescaped(c);
    spec.function.group_by = Split(d);
    spec.outputs = Split(e);
    spec.function.quantiles.clear();
    for (double quantile; words >> quantile;) spec.function.quantiles.push_back(quantile);
    return AddAggregateLocked(spec);
  }
  if (kind != "trigger") return {Code::kCorrupt, "unknown definition"};
  TriggerSpec spec;
  int severity = 1;
  words >> a >> b >> spec.window_ns >> spec.period_ns >> severity >> spec.cooldown_ns;
  spec.name = name;
  spec.aggregate = Unescaped(a);
  spec.condition = Unescaped(b);
  spec.severity = static_cast<Severity>(std::clamp(severity, 0, 2));
  return AddTriggerLocked(spec);
}

// Each definition that can't be made again is a problem of its own.
Status MultiLog::LoadCatalogue(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (Status status = LoadDefinition(line); !status.ok())
      recovery_.problems.push_back({status.code(), "catalogue: " + line + ": " + status.message()});
  }
  Rebuild();
  return {};
}

}  // namespace tapline::multilog
