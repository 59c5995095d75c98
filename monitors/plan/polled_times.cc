#include "monitors/plan/polled_times.h"

namespace tapline {

std::optional<std::string> polled_times_warning(const QuerySpec& query, bool polled_times) {
  if (!query.measures_queues || !polled_times) return std::nullopt;
  return "query '" + query.name +
         "' measures queues, and this port timestamps packets when they are polled, so waiting times are off by up to "
         "about a millisecond; use interfaces (--tap, --interface), for which the kernel provides timestamps";
}

}  // namespace tapline
