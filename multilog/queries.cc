// Converts a query to a plan, and a plan to rows.
#include "multilog/multilog_impl.h"

namespace tapline::multilog {

Result<Tree> MultiLogImpl::condition_of(const QuerySpec& spec) const {
  std::vector<Tree> parts;
  std::vector<const std::string*> texts{&spec.expression};
  for (const std::string& inner : spec.within) texts.push_back(&inner);
  for (const std::string* text : texts) {
    if (text->empty()) continue;
    auto compiled = compile(*text);
    if (!compiled.ok()) return compiled.status();
    parts.push_back(compiled->tree());
  }
  const bool sees_all = spec.scope.nodes_size() == 0;
  auto condition = sees_all ? compile(spec.condition) : Expression::compile(spec.condition, options_.schema);
  if (!condition.ok()) return condition.status();
  if (auto scope = Expression::compile(spec.scope, options_.schema); !scope.ok()) return scope.status();
  parts.push_back(spec.condition);
  parts.push_back(spec.scope);
  return conjunction(parts);
}

// Compiles a query's conditions. Most queries have only an expression or a stored filter, and skip the trees, since
// building these would take longer than finding a few rows.
Result<MultiLogImpl::Selection> MultiLogImpl::selection_of(const QuerySpec& spec) const {
  const bool has_trees = !spec.within.empty() || spec.condition.nodes_size() > 0 || spec.scope.nodes_size() > 0;
  const std::shared_ptr<Filter> stored = find_filter(spec.filter);
  if (stored == nullptr && !spec.filter.empty()) return Status(Code::kNotFound, "no filter " + spec.filter);
  if (stored != nullptr && !has_trees && spec.expression.empty())
    return Selection{.expression = {stored, &stored->expression}, .stored = stored};
  Tree extra;
  if (stored != nullptr || has_trees) {
    auto condition = condition_of(spec);
    if (!condition.ok()) return condition.status();
    extra = std::move(*condition);
  }
  auto compiled = stored != nullptr ? compile(conjunction({stored->expression.tree(), extra}))
                  : has_trees       ? compile(extra)
                                    : compile(spec.expression);
  if (!compiled.ok()) return compiled.status();
  Selection selection{.expression = std::make_shared<const Expression>(std::move(*compiled)), .stored = stored};
  if (stored != nullptr && extra.nodes_size() > 0)
    selection.residual = std::make_shared<const Expression>(*compile(extra));
  return selection;
}

Result<std::shared_ptr<QueryPlan>> MultiLogImpl::plan_of(const QuerySpec& spec) const {
  const std::lock_guard lock(control_);
  const auto selection = selection_of(spec);
  if (!selection.ok()) return selection.status();
  const auto& [expression, stored, residual] = *selection;
  Expression::Values values;
  if (expression->depends_on_aggregate()) {
    // The query compares with the aggregates' current values, over all writers.
    auto now = std::make_shared<std::map<std::pair<uint32_t, uint32_t>, Number>>();
    for (const AggregateRef& reference : expression->aggregates()) {
      for (const auto& aggregate : aggregates_) {
        if (aggregate->id != reference.aggregate) continue;
        std::vector<uint64_t> state(aggregate->function->words());
        uint64_t unreadable = 0;
        fold(*aggregate, take_snapshot(), nullptr, 0, kAllTime, &state, &unreadable);
        const auto outputs = aggregate->function->outputs(Cells(state.data()));
        (*now)[{reference.aggregate, reference.output}] = outputs[reference.output];
      }
    }
    values = [now](const AggregateRef& reference) { return (*now)[{reference.aggregate, reference.output}]; };
  }
  auto plan = make_plan(options_.schema, expression, spec.time_low, spec.time_high, indexes_, values);
  if (!plan.ok()) return plan.status();
  if (stored == nullptr && (*plan)->clauses) {
    for (const auto& filter : filters_) {
      const auto clauses =
          filter->everything || filter->expression.depends_on_aggregate() ? std::nullopt : filter->expression.dnf();
      if (clauses && same_clauses(*clauses, *(*plan)->clauses)) (*plan)->stored = filter;
    }
  } else if (stored != nullptr && !stored->everything) {
    (*plan)->stored = stored;
    (*plan)->residual = residual;
    // Such a filter's matches depend on the aggregates' values when the rows arrived, so they are found only in its
    // postings.
    if (stored->expression.depends_on_aggregate()) (*plan)->values = {};
  }
  return plan;
}

Result<Cursor> MultiLogImpl::query(const QuerySpec& spec, Snapshot snapshot) const {
  auto plan = plan_of(spec);
  if (!plan.ok()) return plan.status();
  return Cursor(std::move(snapshot), std::move(*plan));
}

Result<std::string> MultiLogImpl::explain(const QuerySpec& spec) const {
  auto plan = plan_of(spec);
  if (!plan.ok()) return plan.status();
  return tapline::multilog::explain(take_snapshot(), *plan);
}

Result<AggregateValue> MultiLogImpl::aggregate(const QuerySpec& spec, const FunctionSpec& spec_of_function,
                                               Snapshot snapshot, bool with_states) const {
  auto function = make_function(spec_of_function, options_.schema, options_.user_functions);
  if (!function.ok()) return function.status();
  auto cursor = query(spec, std::move(snapshot));
  if (!cursor.ok()) return cursor.status();
  std::vector<uint64_t> state((*function)->words());
  for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) (*function)->add(Cells(state.data()), rows);
  AggregateValue value;
  value.names = (*function)->output_names();
  value.values = (*function)->outputs(Cells(state.data()));
  if (const auto* grouped = dynamic_cast<const GroupedFunction*>(function->get()))
    value.groups = grouped->groups(Cells(state.data()), with_states);
  else if (with_states)
    value.state = state;
  value.unreadable = cursor->statistics().unreadable;
  return value;
}

}  // namespace tapline::multilog
