// Measures the alternatives that were considered for the layout of rows and indexes.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/multilog/workload.h"
#include "multilog/log/arena_pool.h"
#include "multilog/log/copy_rows.h"
#include "multilog/log/postings.h"

namespace tapline::multilog {

// Prints the nanoseconds per row that each building block takes, the minimum of nine rounds.
void run_layout() {
  constexpr size_t kRows = 4 * kMaxSegmentRows;
  const std::vector<PaperRow> rows = make_rows(1);
  ArenaPool pool(kRows * 64, 2);
  uint8_t* target = pool.take();
  const Schema schema = paper_schema();
  auto measure = [](const char* name, size_t count, auto&& run) {
    uint64_t min = ~uint64_t{0};
    for (int i = 0; i < 9; ++i) {
      const uint64_t begin = clock_ns();
      run();
      min = std::min(min, clock_ns() - begin);
    }
    std::printf("{\"step\": \"%s\", \"ns_per_row\": %.3f}\n", name,
                static_cast<double>(min) / static_cast<double>(count));
  };
  auto batches = [&](auto&& copy) {
    for (size_t offset = 0; offset < kRows; offset += kBatch)
      copy(offset, bytes_of(rows.data() + offset % (kBatch * kBatches)));
  };
  measure("copy rows, memcpy", kRows, [&] {
    batches(
        [&](size_t row, const uint8_t* batch) { std::memcpy(target + row * kRowBytes, batch, kBatch * kRowBytes); });
  });
  measure("copy rows, past the cache", kRows, [&] {
    batches([&](size_t row, const uint8_t* batch) { copy_rows(target + row * kRowBytes, batch, kBatch * kRowBytes); });
  });
  measure("all columns apart", kRows, [&] {
    batches([&](size_t row, const uint8_t* batch) {
      for (const Field& field : schema.fields()) {
        uint8_t* column = target + field.column.offset * kRows + row * field.column.bytes;
        switch (field.column.bytes) {
          case 1:
            for (size_t i = 0; i < kBatch; ++i) column[i] = batch[i * kRowBytes + field.column.offset];
            break;
          case 2:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 2 * i, batch + i * kRowBytes + field.column.offset, 2);
            break;
          case 4:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 4 * i, batch + i * kRowBytes + field.column.offset, 4);
            break;
          case 8:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 8 * i, batch + i * kRowBytes + field.column.offset, 8);
            break;
          default:
            for (size_t i = 0; i < kBatch; ++i)
              std::memcpy(column + 20 * i, batch + i * kRowBytes + field.column.offset, 20);
            break;
        }
      }
    });
  });
  std::vector<uint8_t> keys(kRows * 8);
  measure("one column of 4 bytes", kRows, [&] {
    batches([&](size_t row, const uint8_t* batch) {
      extract_keys(schema.find("src_ip")->column, batch, kRowBytes, kBatch, keys.data() + row * 4);
    });
  });
  for (const simd::Kernels* kernels : simd::available()) {
    uint64_t bits[kBatch / 64];
    measure((std::string("compare 4-byte keys, ") + kernels->name).c_str(), kRows, [&] {
      batches([&](size_t row, const uint8_t*) {
        kernels->range32(keys.data() + row * 4, kBatch, ~uint64_t{0}, kPaperNet + 7, 0, bits);
      });
    });
  }
  PostingsBuilder builder;
  std::vector<std::vector<uint8_t>> blocks;
  auto build = [&](const char* name, const char* field) {
    const Column& column = schema.find(field)->column;
    std::vector<uint8_t> all(size_t{kMaxSegmentRows} * column.key_bytes());
    for (size_t offset = 0; offset < kMaxSegmentRows; offset += kBatch)
      extract_keys(column, bytes_of(rows.data() + offset % (kBatch * kBatches)), kRowBytes, kBatch,
                   all.data() + offset * column.key_bytes());
    measure(name, kMaxSegmentRows, [&] {
      size_t next = 0;
      builder.build(all.data(), column.key_bytes(), kMaxSegmentRows, nullptr, [&](size_t bytes) {
        if (blocks.size() <= next) blocks.emplace_back(size_t{1} << 20);
        return blocks[next].resize(std::max(bytes, blocks[next].size())), blocks[next++].data();
      });
    });
  };
  build("postings, 10 ports", "dst_port");
  build("postings, addresses of a /24", "src_ip");
  build("postings, random 32 bits", "ack");
}

}  // namespace tapline::multilog
