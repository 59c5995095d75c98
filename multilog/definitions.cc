// Adds and removes filters, aggregates and triggers, and builds the pipeline that writers run.
#include <algorithm>

#include "multilog/multilog_impl.h"

namespace tapline::multilog {
namespace {

Status check_name(const std::string& name) {
  const bool sound =
      !name.empty() && name.size() <= 128 && !(name[0] >= '0' && name[0] <= '9') &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
      });
  return sound ? Status() : Status(Code::kInvalid, "'" + name + "' is not a valid name: use letters, digits, _ and .");
}

}  // namespace

void MultiLogImpl::make_per_writer(tapline::multilog::Aggregate* aggregate, uint32_t writer) {
  auto mine = std::make_unique<tapline::multilog::Aggregate::PerWriter>();
  mine->buckets = std::make_unique<Buckets>(aggregate->function, aggregate->bucket_ns, aggregate->slots);
  aggregate->per_writer[writer].store(mine.get(), std::memory_order_release);
  aggregate->owned.push_back(std::move(mine));
}

std::shared_ptr<tapline::multilog::Aggregate> MultiLogImpl::find_aggregate(std::string_view name) const {
  for (const auto& aggregate : aggregates_) {
    if (aggregate->name == name) return aggregate;
  }
  return nullptr;
}

std::shared_ptr<Filter> MultiLogImpl::find_filter(std::string_view name) const {
  for (const auto& filter : filters_) {
    if (filter->name == name && !name.empty()) return filter;
  }
  return nullptr;
}

// Resolves NAME.OUTPUT, NAME (the first output), or an output's own name.
std::optional<AggregateRef> MultiLogImpl::resolve(std::string_view name) const {
  for (const auto& aggregate : aggregates_) {
    for (uint32_t i = 0; i < aggregate->outputs.size(); ++i) {
      const std::string& output = aggregate->outputs[i];
      if ((i == 0 && name == aggregate->name) || name == output || name == aggregate->name + "." + output)
        return AggregateRef{static_cast<uint32_t>(aggregate->id), i};
    }
  }
  return std::nullopt;
}

bool MultiLogImpl::is_referenced(const tapline::multilog::Aggregate& aggregate) const {
  return std::any_of(filters_.begin(), filters_.end(), [&](const auto& filter) {
    const auto references = filter->expression.aggregates();
    return std::any_of(references.begin(), references.end(),
                       [&](const AggregateRef& r) { return r.aggregate == aggregate.id; });
  });
}

// Builds a new pipeline from the definitions. Each writer switches to it at its next piece, and the old pipeline is
// freed once no writer uses it.
void MultiLogImpl::rebuild() {
  auto pipeline = std::make_unique<Pipeline>(options_.schema);
  pipeline->serial = ++pipelines_;
  pipeline->time_column = pipeline->program.add_column(options_.schema.time());
  for (const Index& index : indexes_) pipeline->indexes.push_back({index, pipeline->program.add_column(index.column)});
  for (const auto& filter : filters_) {
    Pipeline::Stage stage;
    stage.filter = filter;
    stage.number = pipeline->program.add(filter->expression);
    stage.dependent = filter->expression.depends_on_aggregate();
    pipeline->has_dependent = pipeline->has_dependent || stage.dependent;
    const auto place = static_cast<uint32_t>(pipeline->stages.size());
    pipeline->dispatch.add(place, filter->expression);
    stage.is_set = RowDispatch::is_set(filter->expression);
    if (stage.is_set) pipeline->sets.add(place, filter->expression);
    for (const auto& aggregate : aggregates_) {
      if (aggregate->filter != filter) continue;
      stage.aggregates.push_back(aggregate);
      if (!is_referenced(*aggregate)) continue;
      stage.live.push_back(aggregate);
      if (pipeline->references.size() <= aggregate->id) pipeline->references.resize(aggregate->id + 1);
      pipeline->references[aggregate->id] = aggregate;
    }
    pipeline->stages.push_back(std::move(stage));
  }
  pipeline->dispatch.finish();
  pipeline->sets.finish();
  const Pipeline* old_pipeline = pipeline_.exchange(pipeline.release(), std::memory_order_seq_cst);
  if (old_pipeline != nullptr) epochs_.retire([old_pipeline] { delete old_pipeline; });
  epochs_.collect();
}

Status MultiLogImpl::add_filter_locked(const std::string& name, Result<Expression> compiled) {
  if (find_filter(name) != nullptr) return {Code::kExists, "there is already a filter " + name};
  if (filters_.size() >= kMaxFilters) return {Code::kInvalid, "there can be at most 1024 filters"};
  if (!compiled.ok()) return compiled.status();
  auto filter = std::make_shared<Filter>();
  filter->id = next_id_++;
  filter->name = name;
  filter->everything = compiled->root().kind == Node::Kind::kTrue;
  filter->expression = std::move(*compiled);
  // Postings are stored by ID modulo kMaxFilters, so two filters must never use the same slot at the same time.
  while (std::any_of(filters_.begin(), filters_.end(),
                     [&](const auto& f) { return f->id % kMaxFilters == filter->id % kMaxFilters; }))
    filter->id = next_id_++;
  filters_.push_back(std::move(filter));
  return {};
}

Status MultiLogImpl::add_filter(const std::string& name, const std::string& expression) {
  if (Status status = check_name(name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = add_filter_locked(name, compile(expression)); !status.ok()) return status;
  rebuild();
  return save_catalogue();
}

Status MultiLogImpl::add_filter(const std::string& name, const Tree& condition) {
  if (Status status = check_name(name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = add_filter_locked(name, compile(condition)); !status.ok()) return status;
  rebuild();
  return save_catalogue();
}

Status MultiLogImpl::remove_filter(const std::string& name) {
  const std::lock_guard lock(control_);
  const auto filter = find_filter(name);
  if (filter == nullptr) return {Code::kNotFound, "no filter " + name};
  for (const auto& aggregate : aggregates_) {
    if (aggregate->filter == filter) return {Code::kInUse, "aggregate " + aggregate->name + " uses filter " + name};
  }
  std::erase(filters_, filter);
  rebuild();
  return save_catalogue();
}

Status MultiLogImpl::add_aggregate_locked(const AggregateSpec& spec) {
  if (find_aggregate(spec.name) != nullptr || options_.schema.find(spec.name) != nullptr)
    return {Code::kExists, "there is already an aggregate or field " + spec.name};
  if (spec.bucket_ns == 0) return {Code::kInvalid, "bucket_ns must be at least 1"};
  if (spec.buckets < 2 || spec.buckets > (1u << 20))
    return {Code::kInvalid, "the number of buckets must be 2 to 1048576"};
  auto function = make_function(spec.function, options_.schema, options_.user_functions);
  if (!function.ok()) return function.status();
  auto aggregate = std::make_shared<tapline::multilog::Aggregate>();
  aggregate->outputs = spec.outputs.empty() ? (*function)->output_names() : spec.outputs;
  if (aggregate->outputs.size() != (*function)->output_names().size())
    return {Code::kInvalid,
            spec.function.function + " has " + std::to_string((*function)->output_names().size()) + " outputs"};
  const size_t bytes = 8 * ((*function)->words() + 3) * (spec.buckets + size_t{1}) * std::max(1u, writers());
  if (aggregate_bytes_ + bytes > options_.aggregate_bytes)
    return {Code::kMemoryFull,
            "aggregate " + spec.name + " takes " + std::to_string(bytes) + " bytes; use fewer buckets or groups"};
  aggregate->filter = find_filter(spec.filter);
  if (aggregate->filter == nullptr) {
    if (!spec.filter.empty()) return {Code::kNotFound, "no filter " + spec.filter};
    // Aggregates over all rows share an unnamed filter, which the first one creates.
    for (const auto& filter : filters_) {
      if (filter->name.empty()) aggregate->filter = filter;
    }
    if (aggregate->filter == nullptr) {
      if (Status status = add_filter_locked("", compile(std::string())); !status.ok()) return status;
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
  for (uint32_t writer = 0; writer < writers(); ++writer) make_per_writer(aggregate.get(), writer);
  aggregate_bytes_ += bytes;
  aggregates_.push_back(std::move(aggregate));
  aggregate_specs_[spec.name] = spec;
  return {};
}

Status MultiLogImpl::add_aggregate(const AggregateSpec& spec) {
  if (Status status = check_name(spec.name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = add_aggregate_locked(spec); !status.ok()) return status;
  rebuild();
  return save_catalogue();
}

Status MultiLogImpl::remove_aggregate(const std::string& name) {
  const std::lock_guard lock(control_);
  const auto aggregate = find_aggregate(name);
  if (aggregate == nullptr) return {Code::kNotFound, "no aggregate " + name};
  if (is_referenced(*aggregate)) return {Code::kInUse, "a filter refers to aggregate " + name};
  if (triggers_->uses(name)) return {Code::kInUse, "a trigger watches aggregate " + name};
  aggregate_bytes_ -= std::min(aggregate_bytes_, 8 * (aggregate->function->words() + 3) *
                                                     (aggregate->slots + size_t{1}) * aggregate->owned.size());
  std::erase(aggregates_, aggregate);
  aggregate_specs_.erase(name);
  rebuild();
  return save_catalogue();
}

Status MultiLogImpl::add_trigger_locked(const TriggerSpec& spec) {
  const auto aggregate = find_aggregate(spec.aggregate);
  if (aggregate == nullptr) return {Code::kNotFound, "no aggregate " + spec.aggregate};
  return triggers_->add(spec, aggregate);
}

Status MultiLogImpl::add_trigger(const TriggerSpec& spec) {
  if (Status status = check_name(spec.name); !status.ok()) return status;
  const std::lock_guard lock(control_);
  if (Status status = add_trigger_locked(spec); !status.ok()) return status;
  trigger_work_.ring();
  return save_catalogue();
}

Status MultiLogImpl::remove_trigger(const std::string& name) {
  const std::lock_guard lock(control_);
  if (Status status = triggers_->remove(name); !status.ok()) return status;
  return save_catalogue();
}

std::vector<std::string> MultiLogImpl::filters() const {
  const std::lock_guard lock(control_);
  std::vector<std::string> names;
  for (const auto& filter : filters_) {
    if (!filter->name.empty()) names.push_back(filter->name);
  }
  return names;
}

}  // namespace tapline::multilog
