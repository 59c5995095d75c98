// The main function of every GoogleTest program. GoogleTest reports success if all tests were skipped; this function
// then exits with the code that ctest reports as skipped.
#include <gtest/gtest.h>

constexpr int kAllSkipped = 77;

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int outcome = RUN_ALL_TESTS();
  const ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  const bool all_skipped = tests.skipped_test_count() > 0 && tests.skipped_test_count() == tests.test_to_run_count();
  return outcome == 0 && all_skipped ? kAllSkipped : outcome;
}
