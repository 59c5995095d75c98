// Names flows in events.
#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

void Sweep::name_exemplars(uint32_t bit, Event* event) const {
  if (event->scope != EventScope::kGroup) return name_cell_exemplars(bit, &event->exemplars);
  if (counted_.empty()) return;
  if (channel_.by.is_whole_flow()) {
    event->exemplars.add(event->group);
  } else {
    name_group_exemplars(bit, &event->exemplars);
  }
}

// Names the first flow of each counter, then sampled flows.
void Sweep::name_group_exemplars(uint32_t bit, ExemplarFlows* exemplars) const {
  for (const Counted& counted : counted_) {
    if (!counted.sets->contains(*counted.cell, bit)) continue;
    const uint32_t number = counted.window->groups()->number_of(*counted.entry);
    if (!exemplars->add(counted.window->group_exemplars()->first(number))) return;
  }
  for (const Counted& counted : counted_) {
    if (!counted.sets->contains(*counted.cell, bit)) continue;
    const uint32_t number = counted.window->groups()->number_of(*counted.entry);
    counted.window->group_exemplars()->visit(
        [&](uint32_t counter, const GroupKey& flow) { return counter != number || exemplars->add(flow); });
  }
}

// Names the first flow of the trigger's first cell, then sampled flows. A trigger that is true without packets may have
// been tested without a cell.
void Sweep::name_cell_exemplars(uint32_t bit, ExemplarFlows* exemplars) const {
  const Place& first = first_[bit - channel_.first_bit()];
  if (first.part == kNoPart) return;
  exemplars->add(parts_[first.part].window->cell_exemplars().first(first.touched));
  for (const Part& part : parts_) {
    part.window->cell_exemplars().visit([&](uint32_t cell, const GroupKey& flow) {
      return !part.sets->contains(part.sets->cell(channel_number_, cell), bit) || exemplars->add(flow);
    });
  }
}

}  // namespace tapline::trigger
