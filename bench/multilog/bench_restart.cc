// Measures the time to load a log's records from its journal and its archive.
#include <cstdio>

#include "bench/multilog/workload.h"

namespace tapline::multilog {

void run_restart(const Arguments& arguments) {
  for (const bool archived : {false, true}) {
    Options options(paper_schema());
    options.storage.directory = arguments.restart + (archived ? "/archived" : "/journal");
    options.memory_bytes = archived ? size_t{128} << 20 : arguments.records * 72 + (size_t{256} << 20);
    check(posix_file_system()->make_directory(arguments.restart));
    auto log = MultiLog::open(options);
    check(log.status());
    check((*log)->add_index("src_ip"));
    Writer* writer = *(*log)->add_writer();
    std::vector<PaperRow> rows = make_rows(0);
    const uint64_t write_begin = clock_ns();
    for (uint64_t done = 0; done < arguments.records;) {
      const AppendResult result = writer->append(bytes_of(rows.data() + done / kBatch % kBatches * kBatch), kBatch);
      done += result.accepted;
      if (result.dropped > 0) check((*log)->maintain());
    }
    check((*log)->close());
    const double write_s = static_cast<double>(clock_ns() - write_begin) / 1e9;
    log->reset();
    const uint64_t begin = clock_ns();
    auto reopened = MultiLog::open(options);
    check(reopened.status());
    const double load_ms = static_cast<double>(clock_ns() - begin) / 1e6;
    std::printf(
        "{\"restart\": \"%s\", \"records\": %llu, \"journal_records\": %llu, \"write_s\": %.4g, \"load_ms\": %.4g}\n",
        archived ? "mostly archived" : "journal", static_cast<unsigned long long>((*reopened)->writer(0)->tail()),
        static_cast<unsigned long long>((*reopened)->recovery().journal_rows), write_s, load_ms);
  }
}

}  // namespace tapline::multilog
