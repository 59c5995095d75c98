#include "packet_io/dpdk/eal.h"

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

namespace tapline {
namespace {

// Receives DPDK's log in place of standard error, and keeps the last line.
class LogTail {
 public:
  static LogTail& get() {
    static LogTail tail;
    return tail;
  }

  void install() {
    cookie_io_functions_t functions = {};
    functions.write = [](void* cookie, const char* text, size_t size) {
      static_cast<LogTail*>(cookie)->add({text, size});
      return static_cast<ssize_t>(size);
    };
    FILE* stream = fopencookie(this, "w", functions);
    if (stream == nullptr) return;
    setvbuf(stream, nullptr, _IOLBF, kMaxBytes);
    rte_openlog_stream(stream);
  }

  std::string last() {
    std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  static constexpr size_t kMaxBytes = 1024;

  void add(std::string_view text) {
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    text = text.substr(text.rfind('\n') + 1);
    if (text.empty()) return;
    std::lock_guard lock(mutex_);
    last_ = text.substr(0, kMaxBytes);
  }

  std::mutex mutex_;
  std::string last_;
};

// Tries to allocate the pages, since pages that /proc/meminfo shows as free may be reserved or unavailable to this
// process.
bool hugepages_are_free(uint32_t memory_mib) {
  size_t bytes = size_t{memory_mib} << 20;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

// Returns an --lcores argument for one logical core that may run on any of this process's CPUs, such as "0@(0,1,5)".
std::string cores_of_this_process() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  std::string list;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) list += (list.empty() ? "" : ",") + std::to_string(core);
  }
  return "0@(" + list + ")";
}

std::vector<std::string> arguments_of(const EalOptions& options, bool hugepages) {
  std::vector<std::string> arguments = {"tapline-monitor", "--no-telemetry", "--lcores=" + cores_of_this_process(),
                                        "--file-prefix=tapline-monitor"};
  if (hugepages) {
    arguments.insert(arguments.end(), {"--in-memory", "--single-file-segments"});
  } else {
    arguments.insert(arguments.end(), {"--no-huge", "--no-shconf", "--iova-mode=va"});
  }
  arguments.push_back("-m");
  arguments.push_back(std::to_string(options.memory_mib));
  if (options.pci_address.empty()) {
    arguments.insert(arguments.end(), {"--no-pci", "--vdev=" + options.vdev});
  } else {
    arguments.insert(arguments.end(), {"-a", options.pci_address});
  }
  return arguments;
}

Status describe_failure(const EalOptions& options, int error) {
  const std::string device = options.vdev.empty() ? "port " + options.pci_address : "device " + options.vdev;
  if (error == EACCES || error == EPERM) {
    return Status::resources("no permission to start DPDK with " + device + ": run as root" + eal_reason());
  }
  if (error == ENOMEM) {
    return Status::resources("not enough memory to start DPDK: " + std::to_string(options.memory_mib) +
                             " MiB are needed; free some, or lower --memory-mib" + eal_reason());
  }
  return Status::resources("DPDK can't start with " + device + eal_reason());
}

}  // namespace

std::string eal_reason() {
  const std::string log = LogTail::get().last();
  return log.empty() ? "" : "; DPDK says: " + log;
}

Status start_eal(const EalOptions& options) {
  static bool was_started = false;
  if (was_started) {
    const int error = rte_dev_probe((options.vdev.empty() ? options.pci_address : options.vdev).c_str());
    return error == 0 ? Status() : describe_failure(options, -error);
  }
  LogTail::get().install();
  bool hugepages = options.may_use_hugepages && hugepages_are_free(options.memory_mib);
  if (options.may_use_hugepages && !hugepages && options.warn) {
    options.warn("fewer than " + std::to_string(options.memory_mib) +
                 " MiB of hugepages are free: using ordinary memory, which is slower; reserve some with "
                 "'echo " +
                 std::to_string(options.memory_mib / 2) +
                 " > /proc/sys/vm/nr_hugepages', or silence this with --hugepages never");
  }
  auto arguments = arguments_of(options, hugepages);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  rte_log_set_global_level(RTE_LOG_NOTICE);
  if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) >= 0) {
    was_started = true;
    return {};
  }
  return describe_failure(options, rte_errno);
}

}  // namespace tapline
