// measured_run REPORT PROGRAM [ARGUMENT…]: runs the program and writes its CPU seconds (user and kernel) and its peak
// memory in bytes, both including its children's, to REPORT. Exits with the program's exit code. It is a small program
// because Linux counts the memory of the process that calls exec() towards the peak of the program that follows; a
// large caller would hide the program's own peak.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

int main(int count, char** values) {
  if (count < 3) {
    std::fprintf(stderr, "usage: measured_run REPORT PROGRAM [ARGUMENT…]\n");
    return 2;
  }
  const pid_t child = fork();
  if (child == 0) {
    execvp(values[2], values + 2);
    std::perror(values[2]);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    std::perror("measured_run");
    return 1;
  }
  std::FILE* report = std::fopen(values[1], "w");
  if (report == nullptr) {
    std::perror(values[1]);
    return 1;
  }
  std::fprintf(report, "%.6f %lld\n", seconds(usage.ru_utime) + seconds(usage.ru_stime),
               static_cast<long long>(usage.ru_maxrss) * 1024);
  std::fclose(report);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
