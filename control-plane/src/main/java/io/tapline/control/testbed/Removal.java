package io.tapline.control.testbed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Removes everything that a testbed has created, even if it is incomplete; ignores missing parts.
 */
final class Removal {
  private static final int LOOKS = 100;
  private static final long LOOK_NS = 20_000_000;

  private final Path folder;
  private final Programs programs;
  private final OwnProcesses processes;

  Removal(Path folder, Programs programs, OwnProcesses processes) {
    this.folder = folder;
    this.programs = programs;
    this.processes = processes;
  }

  void remove(TestbedState state) throws TestbedException {
    FatTreePlan plan = state.plan();
    List<String> left = new ArrayList<>();
    processes.endAll().forEach(process -> left.add("process " + process));
    List<List<String>> commands = new ArrayList<>();
    for (String namespace : plan.namespaces()) {
      if (Files.exists(Path.of("/run/netns", namespace))) {
        endProcesses(namespace);
        commands.add(List.of("ip", "netns", "del", namespace));
      }
    }
    left.addAll(programs.runAll(commands));
    List<String> devices = new ArrayList<>(plan.devices());
    devices.addAll(state.devices());
    removeDevices(devices, left);
    KernelSettings.restore(state.kernel());
    if (!left.isEmpty()) {
      throw new TestbedException("could not be removed: " + left + "; try again");
    }
    deleteFolder();
    try {
      Testbed.makeFolder(folder);
    } catch (IOException e) {
      throw new TestbedException("can't use " + folder, e);
    }
  }

  /**
   * Removes the remaining devices, such as the bridges' own, which Open vSwitch leaves behind.
   * Others may disappear meanwhile: removing one end of a cable removes the other, and removing a
   * namespace removes its devices a little later.
   */
  private void removeDevices(List<String> devices, List<String> left) {
    for (String device : devices) {
      if (Testbed.isDevice(device)) {
        List<String> failures = programs.runAll(List.of(List.of("ip", "link", "del", device)));
        left.addAll(Testbed.isDevice(device) ? failures : List.of());
      }
    }
  }

  /** Kills the processes in a namespace, including those started in the meantime. */
  private void endProcesses(String namespace) throws TestbedException {
    for (int look = 0; look < LOOKS; look++) {
      String pids = programs.run("ip", "netns", "pids", namespace);
      if (pids.isEmpty()) {
        return;
      }
      for (String pid : pids.split("\\s+")) {
        ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
      }
      LockSupport.parkNanos(LOOK_NS);
    }
  }

  void deleteFolder() throws TestbedException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new TestbedException("can't remove " + folder + ": " + e.getMessage(), e);
    }
  }
}
