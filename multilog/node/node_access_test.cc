// Tests which settings are accepted. NodeAccessTest (control-plane) tests their enforcement with real nodes.
#include "multilog/node/node_access.h"

#include <gtest/gtest.h>

#include "packet_io/base/loopback.h"

namespace tapline::multilog {
namespace {

TEST(NodeAccess, RecognizesLoopbackAddresses) {
  for (const char* listen : {"127.0.0.1:7400", "127.8.9.1:1", "localhost:7400", "[::1]:7400", "unix:/run/h1"})
    EXPECT_TRUE(is_loopback(listen)) << listen;
  for (const char* listen :
       {"0.0.0.0:7400", "[::]:7400", "10.0.0.1:7400", "h1:7400", "1127.0.0.1:1", "localhost.org:1"})
    EXPECT_FALSE(is_loopback(listen)) << listen;
}

TEST(NodeAccess, SettingsThatRequireEachOther) {
  const AccessConfig none, tls{.certificate = "c", .key = "k"}, all{.certificate = "c", .key = "k", .tokens = "t"},
      certificates{"c", "k", "", "ca", {"control"}};
  EXPECT_TRUE(validate_access(none, "unix:/run/h1").ok());
  EXPECT_TRUE(validate_access(tls, "127.0.0.1:7400").ok());
  EXPECT_TRUE(validate_access(all, "0.0.0.0:7400").ok());
  EXPECT_TRUE(validate_access(certificates, "0.0.0.0:7400").ok());
  for (const AccessConfig& wrong_config :
       {AccessConfig{.certificate = "c"}, AccessConfig{.key = "k"}, AccessConfig{.tokens = "t"},
        AccessConfig{.client_ca = "ca"}, AccessConfig{"c", "k", "t", "", {"control"}}})
    EXPECT_EQ(validate_access(wrong_config, "127.0.0.1:7400").exit_code(), 2);
  EXPECT_EQ(validate_access(none, "0.0.0.0:7400").exit_code(), 2);
  EXPECT_EQ(validate_access(tls, "0.0.0.0:7400").exit_code(), 2) << "without a token, any client would get a response";
  EXPECT_EQ(validate_access({"c", "k", "", "", {"control"}}, "0.0.0.0:7400").exit_code(), 2);
}

// TLS alone proves the node's identity to callers, not theirs to the node.
TEST(NodeAccess, WithoutTokenOrCertificateOnlyTheOwnUserIsServed) {
  EXPECT_TRUE(serves_only_own_user({}, "127.0.0.1:7400"));
  EXPECT_TRUE(serves_only_own_user({"c", "k", "", "", {}}, "127.0.0.1:7400"));
  EXPECT_FALSE(serves_only_own_user({"c", "k", "t", "", {}}, "127.0.0.1:7400"));
  EXPECT_FALSE(serves_only_own_user({"c", "k", "", "ca", {}}, "127.0.0.1:7400"));
  EXPECT_FALSE(serves_only_own_user({}, "unix:/run/h1")) << "the socket's file has permissions";
}

}  // namespace
}  // namespace tapline::multilog
