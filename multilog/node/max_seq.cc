#include "multilog/node/max_seq.h"

namespace tapline::multilog {
namespace {

// A state of zeros means that there are no rows.
enum Word : size_t { kRows, kSeq, kTime };

void take(Cells state, uint32_t end, uint64_t time_ns) {
  const auto ahead = static_cast<int32_t>(end - static_cast<uint32_t>(state.get(kSeq)));
  if (state.get(kRows) != 0 && (ahead < 0 || (ahead == 0 && time_ns >= state.get(kTime)))) return;
  state.set(kRows, 1);
  state.set(kSeq, end);
  state.set(kTime, time_ns);
}

}  // namespace

UserFunction max_seq_function(const Schema& schema) {
  const Column time = schema.time(), seq = schema.find("seq")->column, bytes = schema.find("payload_bytes")->column;
  UserFunction function;
  function.words = 3;
  function.outputs = {"SEQ", "TS"};
  function.add = [=](Cells state, const Schema& row_schema, const uint8_t* row) {
    const auto payload_bytes = load_as<uint32_t>(row + bytes.offset);
    if (payload_bytes == 0 || !is_present(seq, row, row_schema.presence_offset())) return;
    take(state, load_as<uint32_t>(row + seq.offset) + payload_bytes, load_as<uint64_t>(row + time.offset));
  };
  function.merge = [](Cells target, Cells source) {
    if (source.get(kRows) != 0) take(target, static_cast<uint32_t>(source.get(kSeq)), source.get(kTime));
  };
  function.values = [](Cells state) {
    if (state.get(kRows) == 0) return std::vector<Number>(2);
    return std::vector<Number>{Number::of_whole(state.get(kSeq)), Number::of_whole(state.get(kTime))};
  };
  return function;
}

}  // namespace tapline::multilog
