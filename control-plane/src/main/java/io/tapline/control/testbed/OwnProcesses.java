package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * Finds and ends the testbed's processes. Processes that the supervisor recorded are identified by
 * PID and start time. Before it runs, Open vSwitch's processes are found through their PID files;
 * their command lines must contain the testbed's folder.
 */
final class OwnProcesses {
  private static final long TIMEOUT_NS = 10_000_000_000L;
  private static final int LOOKS = 20;
  private static final long LOOK_NS = 10_000_000;

  /** Indexes of fields after the name in /proc/PID/stat. */
  private static final int STATE = 0;

  private static final int STARTED = 19;

  private final Path folder;

  OwnProcesses(Path folder) {
    this.folder = folder;
  }

  /** Returns the supervisor's records, its own first; empty if there are none yet. */
  List<Supervised> noted() {
    try {
      byte[] text = Files.readAllBytes(folder.resolve("processes.json"));
      return List.of(new ObjectMapper().readValue(text, Supervised[].class));
    } catch (IOException e) {
      return List.of();
    }
  }

  List<TestbedProcess> all() {
    return noted().stream()
        .map(
            process ->
                new TestbedProcess(
                    process.name(),
                    running(process).isPresent(),
                    process.pid() == null ? 0 : process.pid(),
                    process.restarts()))
        .toList();
  }

  Optional<ProcessHandle> find(String name) {
    return noted().stream()
        .filter(process -> process.name().equals(name))
        .findFirst()
        .flatMap(OwnProcesses::running)
        .or(() -> byPidFile(name));
  }

  private static Optional<ProcessHandle> running(Supervised process) {
    if (process.pid() == null || process.started() == null) {
      return Optional.empty();
    }
    return fields(process.pid())
        .filter(f -> Long.parseLong(f[STARTED]) == process.started() && !hasEnded(f))
        .flatMap(f -> ProcessHandle.of(process.pid()));
  }

  private Optional<ProcessHandle> byPidFile(String daemon) {
    try {
      long pid = Long.parseLong(Files.readString(folder.resolve(daemon + ".pid")).strip());
      return commandOf(pid).contains(folder + "/") ? ProcessHandle.of(pid) : Optional.empty();
    } catch (IOException | NumberFormatException e) {
      return Optional.empty();
    }
  }

  /**
   * Returns a process's command line. Waits while it is empty, as it is briefly during exec, and
   * permanently for a zombie.
   */
  private static String commandOf(long pid) throws IOException {
    Path file = Path.of("/proc", Long.toString(pid), "cmdline");
    String command = Files.readString(file, StandardCharsets.UTF_8);
    for (int attempt = 0; command.isEmpty() && attempt < LOOKS; attempt++) {
      LockSupport.parkNanos(LOOK_NS);
      command = Files.readString(file, StandardCharsets.UTF_8);
    }
    return command;
  }

  /**
   * Ends all processes, gracefully if possible; returns those that are still running. Processes
   * that start others end first.
   */
  List<String> endAll() {
    List<String> left = new ArrayList<>(end(List.of(Supervisor.NAME)));
    List<String> openVswitch = List.of(Daemons.SWITCHES, Daemons.DATABASE);
    left.addAll(
        end(noted().stream().map(Supervised::name).filter(n -> !openVswitch.contains(n)).toList()));
    for (String daemon : openVswitch) {
      left.addAll(end(List.of(daemon)));
    }
    return left;
  }

  /** Ends several processes at once; returns those that are still running. */
  private List<String> end(List<String> names) {
    List<ProcessHandle> handles = names.stream().flatMap(name -> find(name).stream()).toList();
    handles.forEach(ProcessHandle::destroy);
    if (!haveExited(handles)) {
      handles.stream().filter(OwnProcesses::lives).forEach(ProcessHandle::destroyForcibly);
      haveExited(handles);
    }
    return names.stream().filter(name -> find(name).isPresent()).toList();
  }

  private static boolean haveExited(List<ProcessHandle> processes) {
    long deadline = System.nanoTime() + TIMEOUT_NS;
    while (processes.stream().anyMatch(OwnProcesses::lives)) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      LockSupport.parkNanos(LOOK_NS);
    }
    return true;
  }

  /** Returns true if a process is running; zombies don't count. */
  private static boolean lives(ProcessHandle process) {
    return process.isAlive() && fields(process.pid()).map(f -> !hasEnded(f)).orElse(false);
  }

  private static boolean hasEnded(String[] fields) {
    return "ZX".contains(fields[STATE]);
  }

  /** Returns the fields after the name in /proc/PID/stat; empty if the process does not exist. */
  private static Optional<String[]> fields(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      return Optional.of(stat.substring(stat.lastIndexOf(')') + 2).split(" "));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** Returns the last lines of a daemon's log. */
  String lastWords(String daemon) {
    try {
      List<String> lines = Files.readAllLines(folder.resolve(daemon + ".log"));
      return String.join("; ", lines.subList(Math.max(0, lines.size() - 3), lines.size()));
    } catch (IOException e) {
      return "";
    }
  }
}
