// Simulations are built as C++17 and run the same estimators, so these headers must compile as C++17, too.
#include "parsers/rates/burst_windows.h"
#include "parsers/rates/flow_rate_estimate.h"
#include "parsers/rates/flow_table.h"
#include "parsers/rates/link_sum.h"
