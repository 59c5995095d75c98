#include "monitors/output/tuple_output.h"

#include <bit>

namespace tapline {

void CountLoss(LossReason reason, uint64_t count, uint64_t queries, QueryAccounts* accounts) {
  int index = IndexOf(reason);
  bool tuples = reason_info(index).unit == DropUnit::kTuples;
  for (; queries != 0; queries &= queries - 1) {
    const auto query = static_cast<size_t>(std::countr_zero(queries));
    if (query >= accounts->size()) return;
    if (tuples) {
      (*accounts)[query].LoseTuples(index, count);
    } else {
      (*accounts)[query].dropped[index] += count;
    }
  }
}

}  // namespace tapline
