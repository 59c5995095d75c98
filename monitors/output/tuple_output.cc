#include "monitors/output/tuple_output.h"

namespace tapline {

void CountLoss(LossReason reason, uint64_t count, uint64_t queries, QueryAccounts* accounts) {
  int index = IndexOf(reason);
  bool tuples = reason_info(index).unit == DropUnit::kTuples;
  for (size_t query = 0; query < accounts->size(); ++query) {
    if ((queries >> query & 1) == 0) continue;
    if (tuples) {
      (*accounts)[query].LoseTuples(index, count);
    } else {
      (*accounts)[query].dropped[index] += count;
    }
  }
}

}  // namespace tapline
