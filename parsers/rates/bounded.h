#pragma once

namespace tapline::rates {

// An estimate with bounds, which contain the true value in at least 95 % of cases. `high` is infinite if unbounded.
struct Bounded {
  double value = 0;
  double low = 0;
  double high = 0;
};

}  // namespace tapline::rates
