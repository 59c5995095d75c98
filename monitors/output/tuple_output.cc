#include "monitors/output/tuple_output.h"

#include "parsers/api/bits.h"

namespace tapline {

void count_loss(LossReason reason, uint64_t count, uint64_t queries, QueryAccounts* accounts) {
  int index = index_of(reason);
  bool tuples = reason_info(index).unit == DropUnit::kTuples;
  for (uint32_t query : SetBits(queries)) {
    if (query >= accounts->size()) return;
    if (tuples) {
      (*accounts)[query].lose_tuples(index, count);
    } else {
      (*accounts)[query].dropped[index] += count;
    }
  }
}

}  // namespace tapline
