#include "monitors/plan/polled_times.h"

namespace tapline {

std::optional<std::string> polled_times_warning(const QuerySpec& query, bool polled_times) {
  if (!query.measures_queues || !polled_times) return std::nullopt;
  return "query '" + query.name +
         "' measures queues, and this port stamps packets when they are polled: waits are off by up to about a "
         "millisecond; use interfaces (--tap, --interface), whose packets the kernel stamps";
}

}  // namespace tapline
