// Tests indexes, groups and distinct counts of fields wider than 8 bytes, such as IPv6 addresses, against plain code
// that examines every row.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "multilog/multilog.h"

namespace tapline::multilog {
namespace {

using Address = std::string;  // 16 bytes

Schema wide_schema() {
  return *Schema::make({{.name = "t", .type = FieldType::kTime},
                        {.name = "src", .type = FieldType::kIpv6},
                        {.name = "dst", .type = FieldType::kIpv6, .optional = true},
                        {.name = "tag", .type = FieldType::kBytes, .bytes = 20},
                        {.name = "bytes", .type = FieldType::kU16}});
}

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

struct Row {
  Address src, dst;  // dst is empty if it is missing
  std::string tag;
  uint16_t bytes = 0;
};

// Returns the address of one of 40 hosts in one of a few networks, which differ in either half of the address.
Address make_address(std::mt19937& random) {
  Address address("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  address[5] = static_cast<char>(random() % 3);
  address[7] = static_cast<char>(random() % 2 ? 0xff : 0);
  address[8] = static_cast<char>(random() % 4 == 0 ? 0xff : 0);
  address[15] = static_cast<char>(random() % 40);
  return address;
}

struct Condition {
  std::string text;
  std::function<bool(const Row&)> holds;
};

bool in_prefix(const Address& address, const Address& network, uint32_t bits) {
  for (uint32_t i = 0; i < bits; ++i) {
    const auto bit = static_cast<uint8_t>(0x80u >> i % 8);
    if ((static_cast<uint8_t>(address[i / 8]) & bit) != (static_cast<uint8_t>(network[i / 8]) & bit)) return false;
  }
  return true;
}

Condition make_condition(std::mt19937& random) {
  const Address a = make_address(random), b = make_address(random);
  const Address &low = std::min(a, b), &high = std::max(a, b);
  constexpr uint32_t kBits[] = {0, 20, 32, 47, 48, 56, 64, 65, 72, 96, 120, 125, 128};
  const uint32_t bits = kBits[random() % std::size(kBits)];
  switch (random() % 9) {
    case 0:
      return {"src == " + text_of(a), [=](const Row& r) { return r.src == a; }};
    case 1:
      return {"src in " + text_of(a) + "/" + std::to_string(bits),
              [=](const Row& r) { return in_prefix(r.src, a, bits); }};
    case 2:
      return {"src in [" + text_of(low) + ", " + text_of(high) + "]",
              [=](const Row& r) { return r.src >= low && r.src <= high; }};
    case 3:
      return {"dst not in {" + text_of(a) + ", " + text_of(b) + "}",
              [=](const Row& r) { return !r.dst.empty() && r.dst != a && r.dst != b; }};
    case 4:
      return {"src == " + text_of(a) + " || dst == " + text_of(b),
              [=](const Row& r) { return r.src == a || r.dst == b; }};
    case 5:
      return {"src like 2001:db8:*:*:0:*:0:" + std::to_string(a[15]), [=](const Row& r) {
                char digits[4];
                std::snprintf(digits, sizeof digits, "%x", static_cast<uint8_t>(r.src[15]));
                return r.src[8] == 0 && digits == std::to_string(a[15]);
              }};
    case 6:
      return {"dst < " + text_of(a) + " && src in " + text_of(b) + "/64",
              [=](const Row& r) { return !r.dst.empty() && r.dst < a && in_prefix(r.src, b, 64); }};
    case 7:
      return {"src == dst", [](const Row& r) { return r.src == r.dst; }};
    default: {
      const std::string min = "switch-1" + std::to_string(random() % 10) + "-port-0";
      return {"tag >= \"" + min + "\" && src != " + text_of(a),
              [=](const Row& r) { return r.tag >= min && r.src != a; }};
    }
  }
}

class Wide : public testing::Test {
 protected:
  void open(size_t memory_bytes = size_t{64} << 20, const std::string& directory = "") {
    log_.reset();
    Options options(schema_);
    options.segment_rows = 1024;
    options.memory_bytes = memory_bytes;
    options.background_threads = false;
    options.storage.directory = directory;
    auto opened = MultiLog::open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    log_ = std::move(*opened);
    if (log_->writers() == 0) {
      ASSERT_TRUE(log_->add_writer().ok());
    }
  }

  void append(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Row row{make_address(random_), random_() % 5 == 0 ? "" : make_address(random_),
              "switch-" + std::to_string(random_() % 30) + "-port-" + std::to_string(random_() % 4),
              static_cast<uint16_t>(random_() % 1500)};
      if (random_() % 10 == 0) row.dst = row.src;
      RowBuilder builder(schema_);
      builder.set("t", 1000 * rows_.size()).set_bytes("src", row.src).set_bytes("tag", row.tag).set("bytes", row.bytes);
      if (!row.dst.empty()) builder.set_bytes("dst", row.dst);
      const AppendResult result = log_->writer(0)->append(builder.row().data(), 1);
      if (result.dropped > 0) {
        ASSERT_TRUE(log_->maintain().ok());
        ASSERT_EQ(log_->writer(0)->append(builder.row().data(), 1).dropped, 0u);
      }
      rows_.push_back(std::move(row));
    }
  }

  void compare(const Condition& condition) {
    std::vector<uint64_t> expected, found;
    for (uint64_t i = 0; i < rows_.size(); ++i) {
      if (condition.holds(rows_[i])) expected.push_back(i);
    }
    auto cursor = log_->query({.expression = condition.text});
    ASSERT_TRUE(cursor.ok()) << condition.text << ": " << cursor.status().to_string();
    for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
      for (size_t i = 0; i < rows.size(); ++i) found.push_back(cursor->position(i));
    }
    EXPECT_EQ(found, expected) << condition.text;
  }

  void compare_many(int count) {
    for (int i = 0; i < count && !HasFailure(); ++i) compare(make_condition(random_));
  }

  const Schema schema_ = wide_schema();
  std::mt19937 random_{5};
  std::unique_ptr<MultiLog> log_;
  std::vector<Row> rows_;
};

TEST_F(Wide, IndexesAgreeWithRows) {
  open();
  append(3000);
  compare_many(40);
  ASSERT_TRUE(log_->add_index("src").ok());  // backfilled
  append(2500);
  ASSERT_TRUE(log_->add_index("dst").ok());
  ASSERT_TRUE(log_->add_index("tag").ok());
  EXPECT_EQ(log_->add_index("src").code(), Code::kExists);
  append(2500);
  compare_many(150);
  EXPECT_EQ(log_->indexes(), (std::vector<std::string>{"src", "dst", "tag"}));
  ASSERT_TRUE(log_->remove_index("src").ok());
  EXPECT_EQ(log_->indexes(), (std::vector<std::string>{"dst", "tag"}));
  compare_many(40);
}

TEST_F(Wide, QueriesUseTheIndex) {
  open();
  append(3 * 1024);
  ASSERT_TRUE(log_->add_index("src").ok());
  auto by_index = [&](const std::string& expression) {
    auto cursor = log_->query({.expression = expression});
    while (!cursor->next().empty()) {
    }
    return cursor->statistics().by_index + cursor->statistics().skipped;
  };
  EXPECT_EQ(by_index("src == 2001:db8:0:ff::7"), 3u);
  EXPECT_EQ(by_index("src in 2001:db8:0:ff:0:0:0:20/124"), 3u);
  EXPECT_EQ(by_index("src in 2001:db9::/64"), 3u);
  EXPECT_EQ(by_index("bytes == 7"), 0u);
  EXPECT_NE(log_->explain({.expression = "src == ::1"})->find("[indexed]"), std::string::npos);
}

TEST_F(Wide, LoadsArchivedSegments) {
  const std::string directory = testing::TempDir() + "/multilog_wide_" + std::to_string(getpid());
  std::filesystem::remove_all(directory);
  open(size_t{1} << 20, directory);
  ASSERT_TRUE(log_->add_index("src").ok());
  append(12000);
  compare_many(60);
  ASSERT_TRUE(log_->close().ok());
  open(size_t{1} << 20, directory);
  EXPECT_TRUE(log_->recovery().problems.empty());
  EXPECT_EQ(log_->indexes(), std::vector<std::string>{"src"});
  compare_many(60);
  log_.reset();
  std::filesystem::remove_all(directory);
}

TEST_F(Wide, GroupsAndDistinct) {
  open();
  ASSERT_TRUE(log_->add_aggregate({.name = "talkers",
                                   .function = {.function = "SUM", .field = "bytes", .group_by = {"src", "dst"}},
                                   .bucket_ns = 1000000})
                  .ok());
  ASSERT_TRUE(log_->add_aggregate({.name = "sources", .function = {.function = "DISTINCT", .field = "src"}}).ok());
  ASSERT_TRUE(log_->add_aggregate({.name = "with", .function = {.function = "COUNT", .field = "dst"}}).ok());
  EXPECT_FALSE(log_->add_aggregate({.name = "no", .function = {.function = "SUM", .field = "src"}}).ok());
  // Appends the same rows repeatedly, so that the number of pairs stays below max_groups.
  for (int i = 0; i < 4; ++i) {
    random_.seed(7);
    append(900);
  }
  std::map<std::pair<Address, Address>, uint64_t> sums;
  std::set<Address> sources;
  uint64_t matching = 0;
  for (const Row& row : rows_) {
    sources.insert(row.src);
    if (row.dst.empty()) continue;
    ++matching;
    sums[{row.src, row.dst}] += row.bytes;
  }
  const auto value = log_->read_aggregate("talkers");
  ASSERT_TRUE(value.ok());
  std::map<std::pair<Address, Address>, uint64_t> counts;
  for (const Group& group : value->groups) {
    ASSERT_FALSE(group.is_rest);
    ASSERT_EQ(group.keys.size(), 4u);
    std::string bytes;
    for (const uint64_t key : group.keys) {
      for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(key >> shift));
    }
    ASSERT_EQ(format_keys(schema_, {"src", "dst"}, group.keys),
              (std::vector<std::string>{text_of(bytes.substr(0, 16)), text_of(bytes.substr(16))}));
    counts[{bytes.substr(0, 16), bytes.substr(16)}] = static_cast<uint64_t>(group.outputs[0].whole);
  }
  EXPECT_EQ(counts, sums);
  EXPECT_EQ(static_cast<uint64_t>(log_->read_aggregate("with")->values[0].whole), matching);
  const double distinct = log_->read_aggregate("sources")->values[0].as_double();
  EXPECT_NEAR(distinct, static_cast<double>(sources.size()), 0.08 * static_cast<double>(sources.size()));
}

}  // namespace
}  // namespace tapline::multilog
