#include "bench/monitor/measure.h"

#include <fcntl.h>
#include <poll.h>
#include <rte_cycles.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "bench/monitor/traffic_library.h"
#include "monitors/control/message_reporter.h"
#include "monitors/monitor.h"
#include "packet_io/base/clock.h"
#include "packet_io/dpdk/port_source.h"

namespace tapline::bench {
namespace {

constexpr double kTimeoutS = 20;
constexpr uint32_t kSampleEveryPackets = 1 << 13;
// After this number of rounds, every flow has sent packets, and the memory for its connection has been touched.
constexpr uint64_t kWarmUpRounds = 3;
constexpr char kHugepagesFile[] = "/proc/sys/vm/nr_hugepages";
constexpr int kHugepages = 512;

std::atomic<bool> stop{false};

// The mapped file to which the measured process writes its samples.
class SharedFile {
 public:
  explicit SharedFile(const TrafficOptions& traffic) {
    char name[] = "/dev/shm/tapline-bench-XXXXXX";
    const int fd = mkstemp(name);
    path_ = name;
    if (fd < 0 || ftruncate(fd, sizeof(Shared)) != 0) return;
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) return;
    shared_ = static_cast<Shared*>(memory);
    shared_->traffic = traffic;
    shared_->sample_every_packets = kSampleEveryPackets;
  }
  ~SharedFile() {
    if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
    unlink(path_.c_str());
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  const std::string& path() const { return path_; }
  Shared* get() const { return shared_; }

 private:
  std::string path_;
  Shared* shared_ = nullptr;
};

std::string null_device(const Trial& trial) {
  return "net_null0,size=" + std::to_string(trial.traffic.frame_bytes) + ",copy=0";
}

// ---- In the measured process ----

int receive_loop(const Trial& trial) {
  PortOptions options;
  options.vdev = null_device(trial);
  options.memory_mib = trial.monitor.memory_mib;
  PortSource source(std::make_shared<Port>(options), 0);
  Status status = source.start();
  if (!status.ok()) {
    dprintf(STDERR_FILENO, "error: %s\n", status.message().c_str());
    return 1;
  }
  std::array<RawPacket, kBurstPackets> burst;
  while (!stop.load(std::memory_order_relaxed)) source.poll(burst);
  source.stop();
  return 0;
}

// Runs the monitor, which reports on standard error; the parent reads these reports.
int monitor(const Trial& trial) {
  MonitorConfig config = trial.monitor;
  config.vdev = null_device(trial);
  config.busy = true;
  MessageReporter reporter(-1, Reporter::Format::kJson);
  Status status = run_monitor(config, &reporter, &stop);
  if (!status.ok()) dprintf(STDERR_FILENO, "error: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}

[[noreturn]] void testpmd(const Trial& trial, int report_fd) {
  setenv("LD_PRELOAD", kTrafficLibrary, 1);
  // The pool is like PortSource's: the same number and size of buffers, and the same cache. Two logical cores share one
  // CPU, and one of them only waits.
  const std::string device = "--vdev=" + null_device(trial);
  const std::string buffers = "--total-num-mbufs=" + std::to_string((uint64_t{trial.monitor.memory_mib} << 19) / 2432);
  const char* arguments[] = {"dpdk-testpmd",
                             "--lcores=0@1,1@1",
                             "--no-pci",
                             "--no-telemetry",
                             "--in-memory",
                             "--single-file-segments",
                             "-m",
                             "256",
                             device.c_str(),
                             "--",
                             "--forward-mode=rxonly",
                             "--burst=64",
                             "--mbuf-size=2176",
                             "--mbcache=256",
                             "--rxd=1024",
                             "--auto-start",
                             buffers.c_str(),
                             nullptr};
  dup2(report_fd, STDOUT_FILENO);
  dup2(report_fd, STDERR_FILENO);
  execvp(arguments[0], const_cast<char**>(arguments));
  _exit(127);
}

void stay_on(int first_core, int cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < cores; ++i) CPU_SET(first_core + i, &set);
  sched_setaffinity(0, sizeof set, &set);
}

[[noreturn]] void run_child(const Trial& trial, const std::string& shared_path, int report_fd, int input_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv(kSharedVariable, shared_path.c_str(), 1);
  std::signal(SIGTERM, [](int) { stop = true; });
  setpriority(PRIO_PROCESS, 0, -10);
  if (trial.subject == Subject::kTestpmd) {
    dup2(input_fd, STDIN_FILENO);
    testpmd(trial, report_fd);
  }
  stay_on(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - trial.cores, trial.cores);
  dup2(report_fd, STDERR_FILENO);
  _exit(trial.subject == Subject::kMonitor ? monitor(trial) : receive_loop(trial));
}

// ---- In the benchmark ----

// Reads for `for_ms`, or until all writers have closed the pipe.
void read_for(int fd, int for_ms, std::string* text) {
  pollfd wanted = {fd, POLLIN, 0};
  const int64_t until_ns = monotonic_ns() + for_ms * int64_t{1'000'000};
  char buffer[4096];
  while (true) {
    const auto left_ms = static_cast<int>((until_ns - monotonic_ns()) / 1'000'000);
    if (left_ms < 0 || poll(&wanted, 1, left_ms) <= 0) return;
    const ssize_t bytes_read = read(fd, buffer, sizeof buffer);
    if (bytes_read <= 0) return;
    text->append(buffer, static_cast<size_t>(bytes_read));
  }
}

bool wait_for_traffic(pid_t child, const volatile uint32_t* samples, int report_fd, std::string* report) {
  const int64_t until_ns = monotonic_ns() + static_cast<int64_t>(kTimeoutS * 1e9);
  while (*samples == 0 && monotonic_ns() < until_ns) {
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child) break;
    read_for(report_fd, 10, report);
  }
  return *samples != 0;
}

// Reads until the warm-up has lasted its minimum time and number of rounds, and then for the measured time.
void read_while_measured(const QueueSamples& queue, const Trial& trial, int report_fd, std::string* report) {
  const int64_t min_ns = monotonic_ns() + static_cast<int64_t>(trial.warm_up_s * 1e9);
  const int64_t max_ns = min_ns + static_cast<int64_t>(kTimeoutS * 1e9);
  const auto is_warm = [&] {
    const uint32_t count = *const_cast<const volatile uint32_t*>(&queue.count);
    return queue.samples[count - 1].packets >= kWarmUpRounds * trial.traffic.flows;
  };
  while (monotonic_ns() < min_ns || (!is_warm() && monotonic_ns() < max_ns)) read_for(report_fd, 10, report);
  read_for(report_fd, static_cast<int>(trial.seconds * 1000) + 20, report);
}

// Terminates the child, and kills it if that takes too long. Returns true if it exited with code 0.
bool end(pid_t child, int report_fd, std::string* report) {
  kill(child, SIGTERM);
  const int64_t until_ns = monotonic_ns() + static_cast<int64_t>(kTimeoutS * 1e9);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (monotonic_ns() > until_ns) kill(child, SIGKILL);
    read_for(report_fd, 5, report);
  }
  read_for(report_fd, 0, report);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Adds the queue's samples after the warm-up, for the requested time.
void add_queue(const QueueSamples& queue, const Trial& trial, Measurement* measured) {
  const double hz = tsc_hz();
  if (queue.count == 0) return;
  const Sample* first = nullptr;
  const Sample* last = nullptr;
  uint32_t warm = 0;
  while (warm + 1 < queue.count && queue.samples[warm].packets < kWarmUpRounds * trial.traffic.flows) ++warm;
  const uint64_t begin_tsc =
      std::max(queue.samples[0].tsc + static_cast<uint64_t>(trial.warm_up_s * hz), queue.samples[warm].tsc);
  const uint64_t end_tsc = begin_tsc + static_cast<uint64_t>(trial.seconds * hz);
  for (uint32_t i = 0; i < queue.count; ++i) {
    const Sample& sample = queue.samples[i];
    if (sample.tsc < begin_tsc || sample.tsc > end_tsc) continue;
    if (first == nullptr) first = &sample;
    if (last != nullptr) {
      const double cpu_cycles = static_cast<double>(sample.cpu_ns - last->cpu_ns) * hz / 1e9;
      measured->windows.push_back({static_cast<double>(sample.tsc - begin_tsc) / hz,
                                   cpu_cycles / static_cast<double>(sample.packets - last->packets)});
    }
    last = &sample;
  }
  if (first == last) {
    measured->error = "too few packets were received";
    return;
  }
  const double cpu_s = static_cast<double>(last->cpu_ns - first->cpu_ns) / 1e9;
  const auto packets = static_cast<double>(last->packets - first->packets);
  const double wall_s = static_cast<double>(last->tsc - first->tsc) / hz;
  measured->packets_per_second += packets / (trial.monitor.workers.empty() ? cpu_s : wall_s);
  measured->cycles_per_packet = cpu_s * hz / packets;
}

nlohmann::json accounting_of(const std::string& report) {
  const size_t position = report.rfind("{\"event\":\"end\"");
  if (position == std::string::npos) return {};
  const auto event =
      nlohmann::json::parse(report.substr(position, report.find('\n', position) - position), nullptr, false);
  return event.is_object() ? event["accounting"] : nlohmann::json();
}

int hugepages_now() {
  std::ifstream file(kHugepagesFile);
  int pages = 0;
  file >> pages;
  return pages;
}
void reserve_hugepages(int pages) { std::ofstream(kHugepagesFile) << pages << std::endl; }

}  // namespace

double tsc_hz() {
  static const double hz = [] {
    const int64_t begin_ns = monotonic_ns();
    const uint64_t begin = rte_rdtsc();
    usleep(100'000);
    return static_cast<double>(rte_rdtsc() - begin) * 1e9 / static_cast<double>(monotonic_ns() - begin_ns);
  }();
  return hz;
}

bool provide_hugepages() {
  static const int previous_hugepages = hugepages_now();
  if (previous_hugepages < kHugepages) {
    reserve_hugepages(kHugepages);
    std::atexit([] { reserve_hugepages(previous_hugepages); });
  }
  return hugepages_now() >= kHugepages / 2;
}

Measurement run(const Trial& trial) {
  Measurement measured;
  SharedFile shared(trial.traffic);
  int report[2], input[2];
  if (shared.get() == nullptr || pipe2(report, O_CLOEXEC) != 0 || pipe2(input, O_CLOEXEC) != 0) {
    measured.error = "no memory or descriptors";
    return measured;
  }
  const pid_t child = fork();
  if (child == 0) run_child(trial, shared.path(), report[1], input[0]);
  close(report[1]);
  close(input[0]);
  std::string text;
  const bool was_started = wait_for_traffic(child, &shared.get()->queues[0].count, report[0], &text);
  if (was_started) read_while_measured(shared.get()->queues[0], trial, report[0], &text);
  const bool ended_well = end(child, report[0], &text);
  close(report[0]);
  close(input[1]);
  if (!was_started || !ended_well) {
    measured.error =
        text.empty() ? "the measured process failed" : text.substr(text.size() - std::min<size_t>(text.size(), 500));
    return measured;
  }
  for (const QueueSamples& queue : shared.get()->queues) add_queue(queue, trial, &measured);
  measured.accounting = accounting_of(text);
  if (measured.accounting.is_object()) {
    const auto& query = measured.accounting["queries"].begin().value();
    measured.lost_share = 1 - query["packets_out"].get<double>() / query["packets_in"].get<double>();
    measured.packets_per_second *= 1 - measured.lost_share;
  }
  return measured;
}

}  // namespace tapline::bench
