#include "monitors/supervisor/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tapline {
namespace {

constexpr int64_t kWatchdogNs = 150'000'000;

std::atomic<bool> stop{false};
volatile sig_atomic_t worker_signals = 0;

// The result of a supervised run, and the warnings that it reported.
struct Outcome {
  Status status;
  int exit_code = -1;
  std::vector<std::string> warnings;
};

Outcome supervise(const std::function<int(MonitorPage*)>& work) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  Outcome outcome;
  {
    Reporter reporter(ends[1], Reporter::Format::kJson);
    SupervisorOptions options;
    options.watchdog_ns = kWatchdogNs;
    options.plugins = {"a.so", "b.so"};
    Supervisor supervisor(options, &reporter, &stop);
    outcome.status = supervisor.run(work, &outcome.exit_code);
  }
  close(ends[1]);
  std::string text(65536, 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  close(ends[0]);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    outcome.warnings.push_back(nlohmann::json::parse(line)["message"]);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a worker is still running";
  return outcome;
}

void be_lane(MonitorPage* page) {
  page->lanes[0].thread_id.store(gettid());
  set_call_mark(&page->lanes[0].call);
  page->phase.store(MonitorPage::Phase::kRunning);
}

// Runs `body` in the second plug-in until that plug-in is disabled; the exit code is 0 if this took two workers.
Outcome supervise_within(const std::function<void()>& body) {
  return supervise([&](MonitorPage* page) {
    be_lane(page);
    if (page->plugins[1].left_out) return page->worker == 3 ? 0 : 1;
    MarkedCall marked(1);
    body();
    return 2;
  });
}

TEST(Supervisor, ReturnsTheExitCodeOfTheWork) {
  const Outcome outcome = supervise([](MonitorPage* page) { return page->worker == 1 ? 7 : 8; });
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_TRUE(outcome.warnings.empty());
}

TEST(Supervisor, APluginThatCrashesTwiceIsDisabledAndNamed) {
  const std::function<void()> ways[] = {[] { raise(SIGSEGV); }, [] { std::abort(); }, [] { _exit(0); }};
  for (const auto& way : ways) {
    const Outcome outcome = supervise_within(way);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.exit_code, 0);
    ASSERT_EQ(outcome.warnings.size(), 2u);
    EXPECT_NE(outcome.warnings[0].find("b.so"), std::string::npos);
    EXPECT_EQ(outcome.warnings[0].find("is disabled"), std::string::npos);
    EXPECT_NE(outcome.warnings[1].find("is disabled"), std::string::npos);
  }
}

TEST(Supervisor, APluginThatHangsTwiceIsDisabled) {
  const std::function<void()> ways[] = {[] {
                                          for (volatile bool forever = true; forever;) {
                                          }
                                        },
                                        [] {
                                          while (true) pause();
                                        }};
  for (const auto& way : ways) {
    const Outcome outcome = supervise_within(way);
    EXPECT_EQ(outcome.exit_code, 0);
    ASSERT_EQ(outcome.warnings.size(), 2u);
    EXPECT_NE(outcome.warnings[0].find("did not return"), std::string::npos);
  }
}

// Many calls that together exceed the watchdog's timeout, and long waits outside of plug-ins, do not count as hanging.
TEST(Supervisor, SlowIsNotHanging) {
  const Outcome outcome = supervise([](MonitorPage* page) {
    be_lane(page);
    for (int i = 0; i < 20; ++i) {
      MarkedCall marked(0);
      usleep(kWatchdogNs / 1000 / 8);
    }
    MarkedCall marked(0);
    UnmarkedCall elsewhere;
    usleep(kWatchdogNs / 1000 * 3);
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.warnings.empty());
}

TEST(Supervisor, StoppedIsNotHanging) {
  const Outcome outcome = supervise([](MonitorPage* page) {
    be_lane(page);
    const pid_t worker = getpid();
    if (fork() == 0) {
      usleep(kWatchdogNs / 1000 * 4);
      kill(worker, SIGCONT);
      _exit(0);
    }
    MarkedCall marked(0);
    raise(SIGSTOP);
    return 5;
  });
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_TRUE(outcome.warnings.empty());
}

TEST(Supervisor, GivesUpOnCrashesThatNoPluginExplains) {
  const Outcome outcome = supervise([](MonitorPage* page) {
    be_lane(page);
    raise(SIGKILL);
    return 0;
  });
  EXPECT_FALSE(outcome.status.ok());
  EXPECT_NE(outcome.status.message().find("SIGKILL"), std::string::npos);
  EXPECT_EQ(outcome.warnings.size(), 5u);
}

TEST(Supervisor, ForwardsASignalOnce) {
  signal(SIGALRM, [](int) { stop.store(true); });
  alarm(1);
  const Outcome outcome = supervise([](MonitorPage* page) {
    be_lane(page);
    signal(SIGTERM, [](int) { worker_signals = worker_signals + 1; });
    while (worker_signals == 0) pause();
    usleep(100'000);
    return worker_signals == 1 ? 0 : 1;
  });
  stop.store(false);
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST(Settle, PacketsInProgressAreLostAndTheAccountsBalance) {
  const MonitorPagePointer page = map_monitor_page();
  LanePage& lane = page->lanes[0];
  UnitPage& unit = page->units[0];
  lane.thread_id.store(1);
  lane.burst_left[0] = 2;
  lane.burst_left[1] = 1;
  lane.taps[0].received = 8;  // one packet has been received but not yet accounted for
  lane.taps[0].passed = 7;
  lane.taps[1].received = 5;
  lane.taps[1].repeated = 5;
  lane.accounting.received = 13;  // one packet has been received but not yet accounted for
  lane.accounting.matched = 10;
  lane.accounting.unmatched = 2;
  unit.ledger.known = 3;
  for (Accounting* account : {&unit.accounts[0], &unit.accounts[1]}) {
    account->packets_in = 11;  // one packet has been received but not yet accounted for
    account->packets_out = 8;
    account->dropped[index_of(Drop::kUnsampled)] = 2;
  }
  unit.parsed[0] = 6;
  unit.parsed[1] = 8;
  unit.live_flows[0] = 4;
  lane.done = 2;
  settle_after_exit(page.get());
  EXPECT_TRUE(lane.accounting.balanced());
  EXPECT_EQ(lane.accounting.received, 16u);
  EXPECT_TRUE(lane.taps[0].balanced());
  EXPECT_EQ(lane.taps[0].lost[index_of(Drop::kMonitorRestarted)], 3u);
  EXPECT_TRUE(lane.taps[1].balanced());
  EXPECT_EQ(lane.taps[1].received, 6u);
  EXPECT_EQ(lane.accounting.lost[index_of(Drop::kMonitorRestarted)], 4u);
  const Accounting& going_on = unit.accounts[0];
  EXPECT_TRUE(going_on.balanced());
  EXPECT_EQ(going_on.packets_out, 6u);
  EXPECT_EQ(going_on.dropped[index_of(Drop::kMonitorRestarted)], 3u + 2u + 1u);
  EXPECT_EQ(going_on.dropped[index_of(Drop::kMonitorRestartedFlows)], 4u);
  EXPECT_TRUE(unit.accounts[1].balanced());
  EXPECT_EQ(unit.accounts[1].dropped[index_of(Drop::kMonitorRestarted)], 1u);
  const Accounting once = going_on;
  lane.thread_id.store(1);
  settle_after_exit(page.get());
  EXPECT_EQ(unit.accounts[0], once) << "settling again changes nothing";
}

// Two batches were sent but not acknowledged, tuples are waiting, and packets have been counted since. Together, the
// outstanding batches report every count that no delivered batch reported.
TEST(Settle, UnreportedLossesAreReported) {
  const MonitorPagePointer page = map_monitor_page();
  BatchLedger& ledger = page->units[0].ledger;
  page->lanes[0].thread_id.store(1);
  ledger.known = 1;
  ledger.batches = true;
  Accounting& account = page->units[0].accounts[0];
  account.packets_in = account.packets_out = page->units[0].parsed[0] = 100;
  account.tuples_in = account.tuples_out = 30;
  Accounting batch;
  batch.packets_in = batch.packets_out = 20;
  batch.tuples_in = batch.tuples_out = 10;
  ledger.streams[0] = {77, 5, 1000, 8, 6, account};
  ledger.streams[0].reported.packets_in = ledger.streams[0].reported.packets_out = 90;
  ledger.tickets = 3;
  ledger.debts[1] = {true, false, 0, 10, 77, 4, 1000, batch};
  ledger.debts[2] = {true, false, 0, 10, 77, 3, 900, batch};
  settle_after_exit(page.get());
  EXPECT_TRUE(account.balanced());
  EXPECT_EQ(account.tuples_in, 36u);
  EXPECT_EQ(account.tuples_out, 10u);
  std::vector<BatchLedger::OutstandingBatch> debts;
  for (uint32_t ticket : outstanding_of(0, ledger)) debts.push_back(ledger.debts[ticket]);
  ASSERT_EQ(debts.size(), 3u);
  constexpr int kLost = index_of(Drop::kMonitorRestartedTuples);
  for (size_t i = 0; i < debts.size(); ++i) {
    EXPECT_EQ(debts[i].incarnation, 77u);
    EXPECT_EQ(debts[i].sequence, 3 + i);
    EXPECT_TRUE(debts[i].accounting.balanced());
    EXPECT_EQ(debts[i].accounting.tuples_out, 0u);
    EXPECT_EQ(debts[i].accounting.dropped[kLost], i < 2 ? 10u : 6u);
  }
  EXPECT_EQ(debts[2].accounting.packets_in, 10u);
}

}  // namespace
}  // namespace tapline
