// Tests SIGKILL under load. A child process appends, and reports through a pipe which rows are guaranteed to be
// durable, until it is killed at a random moment. Each writer's rows that are loaded afterwards must be a prefix that
// includes these. There are ten kills per durability mode; MULTILOG_KILLS sets another number.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "multilog/multilog.h"
#include "multilog/testing/paper_records.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kWriters = 2;
constexpr size_t kDirectoryBytes = size_t{512} << 20;

struct Promise {
  uint32_t writer;
  uint64_t rows;
};

Options options_for(const std::string& directory, Durability durability) {
  Options options(paper_schema());
  options.segment_rows = 4096;
  options.memory_bytes = size_t{16} << 20;
  options.storage.directory = directory;
  options.storage.durability = durability;
  options.storage.interval_ns = 10000000;
  return options;
}

[[noreturn]] void run_until_killed(const std::string& directory, Durability durability, int pipe) {
  auto opened = MultiLog::open(options_for(directory, durability));
  if (!opened.ok()) _exit(3);
  MultiLog& log = **opened;
  while (log.writers() < kWriters) (void)log.add_writer().ok();
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < kWriters; ++number) {
    threads.emplace_back([&log, number, durability, pipe] {
      Writer* writer = log.writer(number);
      std::vector<PaperRow> rows(500);
      while (true) {
        const uint64_t position = writer->tail();
        for (size_t i = 0; i < rows.size(); ++i) rows[i] = make_paper_row(position + i, 1000 * (position + i), number);
        if (writer->append(bytes_of(rows.data()), rows.size()).dropped > 0) usleep(1000);
        if (durability == Durability::kGroupCommit && !writer->commit().ok()) _exit(4);
        if (durability != Durability::kGroupCommit) usleep(200);
        const Promise promise{number, writer->durable()};
        if (write(pipe, &promise, sizeof promise) != sizeof promise) _exit(5);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  _exit(0);
}

// Runs a child for `ms`, then kills it. Returns its last report for each writer.
std::vector<uint64_t> run_and_kill(const std::string& directory, Durability durability, unsigned ms) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_until_killed(directory, durability, ends[1]);
  }
  close(ends[1]);
  std::vector<uint64_t> promised(kWriters, 0);
  std::thread killer;
  Promise promise;
  while (read(ends[0], &promise, sizeof promise) == sizeof promise) {
    // The time starts at the first report, so that even a slow machine has rows to lose.
    if (!killer.joinable()) {
      killer = std::thread([child, ms] {
        usleep(ms * 1000);
        kill(child, SIGKILL);
      });
    }
    promised[promise.writer] = std::max(promised[promise.writer], promise.rows);
  }
  if (killer.joinable()) killer.join();
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      << "the child ended on its own: " << WEXITSTATUS(status);
  return promised;
}

void check_loaded(const std::string& directory, Durability durability, const std::vector<uint64_t>& promised) {
  Options options = options_for(directory, durability);
  options.background_threads = false;
  auto opened = MultiLog::open(std::move(options));
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  for (const Status& problem : (*opened)->recovery().problems) ADD_FAILURE() << problem.to_string();
  for (uint32_t writer = 0; writer < (*opened)->writers(); ++writer)
    ASSERT_GE((*opened)->writer(writer)->tail(), promised[writer]);
  auto cursor = (*opened)->query({});
  std::vector<uint64_t> next(kWriters, 0);
  for (auto rows = cursor->next(); !rows.empty(); rows = cursor->next()) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t position = next[cursor->writer()]++;
      ASSERT_EQ(cursor->position(i), position);
      const PaperRow expected = make_paper_row(position, 1000 * position, cursor->writer());
      ASSERT_EQ(std::memcmp(rows[i], &expected, sizeof expected), 0);
    }
  }
  ASSERT_EQ(cursor->statistics().unreadable, 0u);
  for (uint32_t writer = 0; writer < (*opened)->writers(); ++writer)
    ASSERT_EQ((*opened)->writer(writer)->tail(), next[writer]);
}

size_t bytes_in(const std::string& directory) {
  size_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) bytes += entry.file_size();
  return bytes;
}

class Crashes : public testing::TestWithParam<Durability> {};

TEST_P(Crashes, NoPromisedRowIsLost) {
  const char* kills_text = std::getenv("MULTILOG_KILLS");
  const int kills = kills_text != nullptr ? std::atoi(kills_text) : 10;
  const std::string directory = testing::TempDir() + "/multilog_crash_" + std::to_string(getpid()) + "_" +
                                std::to_string(static_cast<int>(GetParam()));
  std::mt19937 random(static_cast<uint32_t>(GetParam()) + 5);
  std::filesystem::create_directory(directory);
  std::vector<uint64_t> promised(kWriters, 0);
  uint64_t promised_in_all = 0;
  for (int i = 0; i < kills && !HasFatalFailure(); ++i) {
    if (bytes_in(directory) > kDirectoryBytes / 16) {
      std::filesystem::remove_all(directory);
      std::filesystem::create_directory(directory);
      promised.assign(kWriters, 0);
    }
    const std::vector<uint64_t> now = run_and_kill(directory, GetParam(), 5 + random() % 60);
    for (uint32_t writer = 0; writer < kWriters; ++writer) promised[writer] = std::max(promised[writer], now[writer]);
    check_loaded(directory, GetParam(), promised);
    promised_in_all += promised[0] + promised[1];
  }
  if (GetParam() != Durability::kMemory) {
    EXPECT_GT(promised_in_all, 0u);
  }
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Modes, Crashes,
                         testing::Values(Durability::kMemory, Durability::kInterval, Durability::kGroupCommit));

}  // namespace
}  // namespace tapline::multilog
