#include "multilog/node/max_seq.h"

namespace tapline::multilog {
namespace {

// A state of zeros is that of no rows.
enum Word : size_t { kRows, kSeq, kTime };

void Take(Cells state, uint32_t end, uint64_t time_ns) {
  const auto ahead = static_cast<int32_t>(end - static_cast<uint32_t>(state.Get(kSeq)));
  if (state.Get(kRows) != 0 && (ahead < 0 || (ahead == 0 && time_ns >= state.Get(kTime)))) return;
  state.Set(kRows, 1);
  state.Set(kSeq, end);
  state.Set(kTime, time_ns);
}

}  // namespace

UserFunction MaxSeqFunction(const Schema& schema) {
  const Column time = schema.time(), seq = schema.Find("seq")->column, bytes = schema.Find("payload_bytes")->column;
  UserFunction function;
  function.words = 3;
  function.outputs = {"SEQ", "TS"};
  function.add = [=](Cells state, const Schema& of, const uint8_t* row) {
    const auto payload_bytes = LoadAs<uint32_t>(row + bytes.offset);
    if (payload_bytes == 0 || !IsPresent(seq, row, of.presence_offset())) return;
    Take(state, LoadAs<uint32_t>(row + seq.offset) + payload_bytes, LoadAs<uint64_t>(row + time.offset));
  };
  function.merge = [](Cells into, Cells from) {
    if (from.Get(kRows) != 0) Take(into, static_cast<uint32_t>(from.Get(kSeq)), from.Get(kTime));
  };
  function.values = [](Cells state) {
    if (state.Get(kRows) == 0) return std::vector<Number>(2);
    return std::vector<Number>{Number::Whole(state.Get(kSeq)), Number::Whole(state.Get(kTime))};
  };
  return function;
}

}  // namespace tapline::multilog
