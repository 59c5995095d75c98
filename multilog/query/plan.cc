// Converts an expression to the parts of a plan: its normal form, its time range, and the look-ups that indexes can
// serve.
#include <algorithm>

#include "conditions/expr/wide.h"
#include "multilog/base/conditions.h"
#include "multilog/query/query.h"

namespace tapline::multilog {
namespace {

Clause lookup_of(const Clause& clause, const std::vector<Index>& indexes) {
  Clause lookup;
  for (const Leaf& leaf : clause) {
    const bool indexed =
        leaf.kind == Leaf::Kind::kWide && !leaf.negated &&
        std::any_of(indexes.begin(), indexes.end(), [&](const Index& i) { return i.column == leaf.column.part(0); });
    if (!indexed || !add_parts(leaf, &lookup)) lookup.push_back(leaf);
  }
  return lookup;
}

// Narrows the plan's time range if every clause limits the time, so that zone maps can be used.
void narrow_time(QueryPlan* plan) {
  if (!plan->clauses) return;
  uint64_t low = ~uint64_t{0}, high = 0;
  for (const Clause& clause : *plan->clauses) {
    const auto leaf = std::find_if(clause.begin(), clause.end(), [&](const Leaf& l) {
      return l.kind == Leaf::Kind::kKeys && l.column == plan->schema.time() && l.mask == ~uint64_t{0};
    });
    if (leaf == clause.end()) return;
    low = std::min(low, leaf->ranges.front().low);
    high = std::max(high, leaf->ranges.back().high);
  }
  plan->time_low = std::max(plan->time_low, low);
  plan->time_high = std::min(plan->time_high, high);
}

}  // namespace

bool same_clauses(const std::vector<Clause>& a, const std::vector<Clause>& b) {
  auto same = [](const Clause& x, const Clause& y) {
    return x.size() == y.size() && std::all_of(x.begin(), x.end(), [&](const Leaf& leaf) {
             return std::any_of(y.begin(), y.end(), [&](const Leaf& other_leaf) { return leaf.same_as(other_leaf); });
           });
  };
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Clause& x) {
           return std::any_of(b.begin(), b.end(), [&](const Clause& y) { return same(x, y); });
         });
}

Result<std::shared_ptr<QueryPlan>> make_plan(const Schema& schema, std::shared_ptr<const Expression> expression,
                                             uint64_t time_low, uint64_t time_high, std::vector<Index> indexes,
                                             Expression::Values values) {
  if (time_low > time_high) return Status(Code::kInvalid, "the time range ends before it begins");
  auto plan = std::make_shared<QueryPlan>(schema);
  plan->expression = std::move(expression);
  plan->clauses = plan->expression->dnf();
  plan->time_low = time_low;
  plan->time_high = time_high;
  plan->indexes = std::move(indexes);
  plan->values = std::move(values);
  plan->program.add(*plan->expression);
  narrow_time(plan.get());
  if (plan->clauses) {
    for (const Clause& clause : *plan->clauses) plan->lookups.push_back(lookup_of(clause, plan->indexes));
  }
  return plan;
}

}  // namespace tapline::multilog
