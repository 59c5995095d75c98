// What the settings allow; that a node keeps to them is shown with real nodes (control-plane, NodeAccessTest).
#include "multilog/node/node_access.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "monitors/base/loopback.h"

namespace tapline::multilog {
namespace {

TEST(NodeAccess, OnlyThisMachineReachesIt) {
  for (const char* listen : {"127.0.0.1:7400", "127.8.9.1:1", "localhost:7400", "[::1]:7400", "unix:/run/h1"})
    EXPECT_TRUE(IsLoopback(listen)) << listen;
  for (const char* listen :
       {"0.0.0.0:7400", "[::]:7400", "10.0.0.1:7400", "h1:7400", "1127.0.0.1:1", "localhost.org:1"})
    EXPECT_FALSE(IsLoopback(listen)) << listen;
}

TEST(NodeAccess, WhatGoesTogether) {
  const AccessConfig none, tls{"c", "k", ""}, all{"c", "k", "t"};
  EXPECT_TRUE(ValidateAccess(none, "unix:/run/h1").ok());
  EXPECT_TRUE(ValidateAccess(tls, "127.0.0.1:7400").ok());
  EXPECT_TRUE(ValidateAccess(all, "0.0.0.0:7400").ok());
  for (const AccessConfig& wrong : {AccessConfig{"c", "", ""}, AccessConfig{"", "k", ""}, AccessConfig{"", "", "t"}})
    EXPECT_EQ(ValidateAccess(wrong, "127.0.0.1:7400").exit_code(), 2);
  EXPECT_EQ(ValidateAccess(none, "0.0.0.0:7400").exit_code(), 2);
  EXPECT_EQ(ValidateAccess(tls, "0.0.0.0:7400").exit_code(), 2) << "without a token, anybody would be answered";
}

TEST(NodeAccess, SameToken) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(IsSameToken(token, token));
  for (const std::string wrong : {"", "0", "0123456789abcdeF", "1123456789abcdef", "0123456789abcdef0"})
    EXPECT_FALSE(IsSameToken(token, wrong)) << wrong;
  EXPECT_FALSE(IsSameToken(token, token + token)) << "repeated";
  EXPECT_FALSE(IsSameToken(token, token + std::string(1, '\0')));
}

TEST(NodeAccess, TokensAreLines) {
  const std::string path = ::testing::TempDir() + "tapline-tokens-" + std::to_string(getpid());
  const auto read = [&](const std::string& text, std::vector<std::string>* tokens) {
    std::ofstream(path) << text;
    return ReadTokens(path, tokens);
  };
  std::vector<std::string> tokens;
  EXPECT_TRUE(read("0123456789abcdef\n\nfedcba9876543210", &tokens).ok());
  EXPECT_EQ(tokens, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  for (const char* wrong : {"", "\n", "short\n", "0123456789 abcdef\n", "0123456789abcdef\r\n"}) {
    tokens.clear();
    EXPECT_EQ(read(wrong, &tokens).exit_code(), 1) << wrong;
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(ReadTokens(path, &tokens).ok());
}

}  // namespace
}  // namespace tapline::multilog
