#include "monitors/config/broker_login_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tapline {
namespace {

class BrokerLoginFileTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string path = ::testing::TempDir() + "/broker.login";
    std::ofstream(path) << text;
    return path;
  }

  BrokerLogin login_;
};

TEST_F(BrokerLoginFileTest, AUserAndAPassword) {
  ASSERT_TRUE(read_broker_login(file("web-1:a:b=\n"), &login_).ok());
  EXPECT_EQ(login_, (BrokerLogin{"web-1", "a:b="}));
}

TEST_F(BrokerLoginFileTest, HasNoLoginWithoutAFile) {
  ASSERT_TRUE(read_broker_login("", &login_).ok());
  EXPECT_EQ(login_, BrokerLogin());
}

TEST_F(BrokerLoginFileTest, ErrorsDoNotContainTheText) {
  for (const char* wrong : {"", "secret", ":secret", "secret:", "a:secret b"}) {
    const Status status = read_broker_login(file(wrong), &login_);
    EXPECT_NE(status.message().find("USER:PASSWORD"), std::string::npos) << wrong;
    EXPECT_EQ(status.message().find("secret"), std::string::npos) << wrong;
  }
  EXPECT_NE(read_broker_login("/no/such.login", &login_).message().find("does it exist?"), std::string::npos);
}

}  // namespace
}  // namespace tapline
