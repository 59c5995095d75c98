#include "packet_io/config/hash_key_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tapline {
namespace {

const std::string kDigits = "00112233445566778899aabbCCDDEEFF";
const std::string kOthers = "f0112233445566778899aabbCCDDEEF1";

class HashKeyFileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Status read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_hash_keys(path_, &keys_);
  }

  // Expects kInvalid, with a message that ends with these words and contains no part of the file.
  void expect_refused(const std::string& text, const std::string& words) {
    const Status status = read(text);
    EXPECT_EQ(status.code(), Code::kInvalid) << text;
    EXPECT_EQ(status.message(), "--hash-key-file " + path_ + ": a key is 32 hexadecimal digits; " + words);
    EXPECT_EQ(keys_, HashKeys()) << "a wrong file changes nothing";
  }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("tapline-test-" + std::to_string(getpid()));
  const std::string path_ = folder_ + "/hash.key";
  HashKeys keys_;
};

TEST_F(HashKeyFileTest, OneKeyIsForFlowsAndStrings) {
  for (const std::string& text : {kDigits, kDigits + "\n", "\r\n " + kDigits + " \n\n"}) {
    keys_ = {};
    ASSERT_TRUE(read(text).ok()) << text;
    EXPECT_EQ(keys_.flows, (HashKey{0x8899aabbccddeeff, 0x0011223344556677}));
    EXPECT_EQ(keys_.texts, keys_.flows);
  }
}

TEST_F(HashKeyFileTest, ASecondKeyIsForStrings) {
  ASSERT_TRUE(read(kDigits + "\n" + kOthers + "\n").ok());
  EXPECT_EQ(keys_.flows, *HashKey::parse(kDigits));
  EXPECT_EQ(keys_.texts, *HashKey::parse(kOthers));
}

TEST_F(HashKeyFileTest, WithoutAFileTheKeysStay) {
  EXPECT_TRUE(read_hash_keys("", &keys_).ok());
  EXPECT_EQ(keys_, HashKeys());
}

TEST_F(HashKeyFileTest, ErrorsDoNotContainTheText) {
  expect_refused("", "the file has 0 words; it must have one or two");
  expect_refused("  \n", "the file has 0 words; it must have one or two");
  expect_refused(kDigits + " " + kOthers + " " + kDigits, "the file has 3 words; it must have one or two");
  expect_refused("facade123", "it has 9 characters");
  expect_refused(kDigits + "0", "it has 33 characters");
  expect_refused(kDigits + "\n" + kOthers.substr(1), "it has 31 characters");
  expect_refused("g" + kDigits.substr(1), "not all of its 32 characters are hexadecimal digits");
}

TEST_F(HashKeyFileTest, AMissingFile) {
  for (const std::string& path : {folder_ + "/none", folder_}) {
    const Status status = read_hash_keys(path, &keys_);
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(status.message(), "--hash-key-file " + path + ": can't be read; does it exist?");
  }
}

}  // namespace
}  // namespace tapline
