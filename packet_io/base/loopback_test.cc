#include "packet_io/base/loopback.h"

#include <gtest/gtest.h>

namespace tapline {
namespace {

TEST(Loopback, IsRecognizedByItsText) {
  for (const char* address : {"127.0.0.1:1", "127.9.8.7:1", "localhost:1", "[::1]:1", "unix:/run/x", "unix-abstract:x"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"10.0.0.1:1", "0.0.0.0:1", "[::]:1", "kafka:1", "127.evil.example:1", "127.1:1", ":1",
                              "1", "", "[fd00::1]:1", "1127.0.0.1:1", "localhost.org:1"})
    EXPECT_FALSE(is_loopback(address)) << address;
}

TEST(CheckClear, RejectsTheFirstAddressBeyondLoopbackAndNamesTheFix) {
  const Status refused_status =
      check_clear({"metrics"}, "kafka", "--brokers", "127.0.0.1:1,k2:9092", "--broker-ca FILE");
  EXPECT_EQ(refused_status.exit_code(), 2);
  EXPECT_EQ(refused_status.message(),
            "--brokers k2:9092: the address is not on loopback; it requires --broker-ca FILE; in a trusted network, "
            "--clear kafka permits it unencrypted");
  EXPECT_TRUE(check_clear({"kafka"}, "kafka", "--brokers", "k2:9092", "").ok());
  EXPECT_TRUE(check_clear({}, "kafka", "--brokers", "127.0.0.1:1,[::1]:2", "").ok());
  EXPECT_TRUE(check_clear({}, "kafka", "--brokers", "", "").ok());
}

TEST(CheckServices, ListsTheExistingServices) {
  EXPECT_TRUE(check_services({"a", "b"}, {"b", "a"}).ok());
  EXPECT_EQ(check_services({"c"}, {"a", "b"}).message(), "--clear c: unknown service (known: a, b)");
}

}  // namespace
}  // namespace tapline
