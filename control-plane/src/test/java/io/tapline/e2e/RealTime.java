package io.tapline.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Sets priorities and chooses processors so that polls of a kernel queue can be compared with
 * copies of its packets.
 */
final class RealTime {
  private static final String POLLING = "pmd-c";

  /**
   * Script that sets the scheduling policy of the kernel threads that process received packets and
   * queues.
   */
  private static final String SOFTIRQS =
      "for comm in /proc/[0-9]*/comm; do case $(cat $comm 2>/dev/null) in ksoftirqd/*) pid=${comm%%/comm}; chrt %s ${pid#/proc/} || exit 1;; esac; done";

  private RealTime() {}

  /**
   * Gives the kernel's transmission from its queues priority over a switch's polling thread.
   * Otherwise, a queue pauses while that thread, which has a real-time priority, occupies the
   * processor.
   *
   * @return an object that restores the normal priority when it is closed
   */
  static AutoCloseable softirqsFirst() {
    softirqs("--fifo --pid 2");
    return () -> softirqs("--other --pid 0");
  }

  /**
   * Gives all threads of a process, and those that they start, priority over normal programs, as if
   * it were running on a dedicated machine.
   */
  static void first(Process process) {
    String script = "renice -n -15 -p $(ls /proc/%d/task)".formatted(process.pid());
    Fabric.run(List.of("sh", "-c", script)).expectSuccess();
  }

  private static void softirqs(String priority) {
    Fabric.run(List.of("sh", "-c", SOFTIRQS.formatted(priority))).expectSuccess();
  }

  /**
   * Returns a command that runs the given one on the processor of a switch's polling thread. So the
   * command never runs between the copying of a packet and the sending of the packet itself.
   */
  static List<String> besidePolling(Fabric fabric, List<String> command) throws IOException {
    List<String> words = new ArrayList<>(List.of("taskset", "-c", "" + pollingProcessor(fabric)));
    words.addAll(command);
    return words;
  }

  private static int pollingProcessor(Fabric fabric) throws IOException {
    String pid = Files.readString(fabric.folder().resolve("ovs-vswitchd.pid")).strip();
    try (Stream<Path> threads = Files.list(Path.of("/proc", pid, "task"))) {
      for (Path thread : threads.toList()) {
        String name = Files.readString(thread.resolve("comm"));
        if (name.startsWith(POLLING)) {
          return Integer.parseInt(name.substring(POLLING.length(), name.indexOf('/')));
        }
      }
    }
    throw new AssertionError("no thread of process " + pid + " polls ports");
  }
}
