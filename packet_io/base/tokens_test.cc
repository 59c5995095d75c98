#include "packet_io/base/tokens.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tapline {
namespace {

TEST(Tokens, SameToken) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(is_same_token(token, token));
  for (const std::string wrong : {"", "0", "0123456789abcdeF", "1123456789abcdef", "0123456789abcdef0"})
    EXPECT_FALSE(is_same_token(token, wrong)) << wrong;
  EXPECT_FALSE(is_same_token(token, token + token)) << "repeated";
  EXPECT_FALSE(is_same_token(token, token + std::string(1, '\0')));
}

TEST(Tokens, AHeaderMustContainAToken) {
  const std::vector<std::string> tokens = {"0123456789abcdef", "fedcba9876543210"};
  EXPECT_TRUE(has_token(tokens, "Bearer 0123456789abcdef"));
  EXPECT_TRUE(has_token(tokens, "Bearer fedcba9876543210"));
  for (const char* wrong : {"", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcdefX"})
    EXPECT_FALSE(has_token(tokens, wrong)) << wrong;
}

TEST(Tokens, EachLineIsAToken) {
  const std::string path = ::testing::TempDir() + "tapline-tokens-" + std::to_string(getpid());
  const auto read = [&](const std::string& text, std::vector<std::string>* tokens) {
    std::ofstream(path) << text;
    return read_tokens("--token-file", path, tokens);
  };
  std::vector<std::string> tokens;
  EXPECT_TRUE(read("0123456789abcdef\n\nfedcba9876543210", &tokens).ok());
  EXPECT_EQ(tokens, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  for (const char* wrong : {"", "\n", "short\n", "0123456789 abcdef\n", "0123456789abcdef\r\n"}) {
    tokens.clear();
    const Status status = read(wrong, &tokens);
    EXPECT_EQ(status.exit_code(), 1) << wrong;
    EXPECT_EQ(status.message().rfind("--token-file " + path, 0), 0u) << status.message();
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(read_tokens("--token-file", path, &tokens).ok());
}

}  // namespace
}  // namespace tapline
