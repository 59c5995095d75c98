#pragma once

namespace tapline::rates {

// An estimate with bounds, which hold for at least 95 of 100 estimates. `high` is infinite where nothing bounds it.
struct Bounded {
  double value = 0;
  double low = 0;
  double high = 0;
};

}  // namespace tapline::rates
