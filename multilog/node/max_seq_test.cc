#include "multilog/node/max_seq.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "multilog/headers/header_row.h"

namespace tapline::multilog {
namespace {

class MaxSeqTest : public ::testing::Test {
 protected:
  void add(uint64_t* state, uint32_t seq, uint32_t payload_bytes, uint64_t time_ns) {
    std::vector<uint8_t> row(schema_.row_bytes());
    std::memcpy(row.data() + schema_.time().offset, &time_ns, sizeof time_ns);
    std::memcpy(row.data() + schema_.find("seq")->column.offset, &seq, sizeof seq);
    std::memcpy(row.data() + schema_.find("payload_bytes")->column.offset, &payload_bytes, sizeof payload_bytes);
    const auto bit = static_cast<uint32_t>(schema_.find("seq")->column.presence_bit);
    row[schema_.presence_offset() + bit / 8] |= static_cast<uint8_t>(1 << bit % 8);
    function_.add(Cells(state), schema_, row.data());
  }
  void expect(uint64_t* state, uint64_t seq, uint64_t time_ns) {
    const std::vector<Number> values = function_.values(Cells(state));
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(static_cast<uint64_t>(values[0].whole), seq);
    EXPECT_EQ(static_cast<uint64_t>(values[1].whole), time_ns);
  }

  const Schema schema_ = HeaderLayout(0).schema();
  const UserFunction function_ = max_seq_function(schema_);
  uint64_t state_[3] = {}, other_[3] = {};
};

TEST_F(MaxSeqTest, IsTheEndAndTimeOfTheGreatestSegment) {
  EXPECT_FALSE(function_.values(Cells(state_))[0].present);
  add(state_, 1000, 100, 1);
  add(state_, 1300, 100, 2);
  add(state_, 1100, 100, 3);  // arrives late
  add(state_, 9000, 0, 4);    // an acknowledgement
  expect(state_, 1400, 2);
  add(state_, 1300, 100, 5);  // a retransmission, since an earlier packet covered this segment
  expect(state_, 1400, 2);
  add(state_, 1300, 100, 1);  // from another writer, which saw the packet earlier
  expect(state_, 1400, 1);
}

TEST_F(MaxSeqTest, SequenceNumbersWrap) {
  add(state_, 0xffffff00, 0x80, 1);
  add(state_, 0xffffff80, 0x180, 2);
  expect(state_, 0x100, 2);
  add(state_, 0xffffff00, 0x80, 3);
  expect(state_, 0x100, 2);
}

TEST_F(MaxSeqTest, MergesInAnyOrder) {
  add(state_, 1000, 100, 1);
  add(other_, 2000, 100, 2);
  uint64_t empty[3] = {}, forward[3] = {}, back[3] = {};
  for (uint64_t* source : {empty, state_, other_}) function_.merge(Cells(forward), Cells(source));
  for (uint64_t* source : {other_, state_, empty}) function_.merge(Cells(back), Cells(source));
  expect(forward, 2100, 2);
  expect(back, 2100, 2);
}

}  // namespace
}  // namespace tapline::multilog
