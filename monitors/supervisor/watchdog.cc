#include "monitors/supervisor/watchdog.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "parsers/api/time.h"

namespace tapline {

ThreadState read_thread_state(int process, int thread) {
  ThreadState result;
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return result;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  int64_t user_ticks = 0, system_ticks = 0;
  fields >> result.state;
  for (int i = 0; i < 10; ++i) fields >> skipped;
  fields >> user_ticks >> system_ticks;
  result.cpu_ns = (user_ticks + system_ticks) * (kNsPerSecond / sysconf(_SC_CLK_TCK));
  return result;
}

uint32_t Watchdog::look(const MonitorPage& page, int process, int64_t now_ns) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (page.lanes[i].thread_id.load(std::memory_order_relaxed) == 0) continue;
    if (hangs(&lanes_[i], page.lanes[i], process, now_ns)) return lanes_[i].plugin;
  }
  return 0;
}

bool Watchdog::hangs(Seen* seen, const LanePage& lane, int process, int64_t now_ns) const {
  uint32_t plugin = lane.call.plugin.load(std::memory_order_relaxed);
  uint64_t calls = lane.call.calls.load(std::memory_order_relaxed);
  bool is_same = plugin != 0 && seen->plugin == plugin && seen->calls == calls;
  if (is_same && now_ns - seen->since_ns < timeout_ns_) return false;
  if (!is_same && plugin == 0) {
    seen->plugin = 0;
    return false;
  }
  ThreadState thread = read_thread_state(process, lane.thread_id.load(std::memory_order_relaxed));
  bool stopped = thread.state == 'T' || thread.state == 't';
  if (!is_same || stopped) {
    *seen = {calls, plugin, now_ns, thread.cpu_ns};
    return false;
  }
  return thread.state != 'R' || thread.cpu_ns - seen->cpu_ns >= timeout_ns_ / 2;
}

}  // namespace tapline
