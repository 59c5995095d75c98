package io.tapline.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Objects of processes that other users might access: their ports, their socket files, and the
 * files that they have open or mapped. Works on Linux only, as the processes' user or as root.
 */
final class ProcessTree {
  /** Public files without secrets, in addition to those of the installation. */
  private static final List<String> PUBLIC =
      List.of(
          "/usr/", "/lib", "/proc/", "/sys/", "/etc/", "/dev/null", "/dev/urandom", "/dev/pts/");

  private static final int LISTENS = 0x0A;

  private final Set<Integer> ports = new TreeSet<>();
  private final Set<String> sockets = new TreeSet<>();
  private final Set<String> files = new TreeSet<>();

  /** Returns the objects of these processes. */
  static ProcessTree of(List<ProcessHandle> processes) {
    ProcessTree openTree = new ProcessTree();
    processes.forEach(process -> openTree.add(Path.of("/proc", Long.toString(process.pid()))));
    return openTree;
  }

  Set<Integer> ports() {
    return ports;
  }

  Set<String> sockets() {
    return sockets;
  }

  Set<String> files() {
    return files;
  }

  private void add(Path process) {
    String program = program(process);
    Set<String> inodes = new HashSet<>();
    for (String target : descriptors(process)) {
      if (target.startsWith("socket:[")) {
        inodes.add(target.substring(8, target.length() - 1));
      } else {
        addFile(target);
      }
    }
    lines(process.resolve("maps")).stream()
        .map(line -> line.split(" +", 6))
        .filter(words -> words.length == 6 && !words[5].equals(program))
        .forEach(words -> addFile(words[5]));
    for (String table : List.of("tcp", "tcp6", "udp", "udp6")) {
      rows(process.resolve("net").resolve(table)).stream()
          .filter(row -> inodes.contains(row[9]))
          .filter(row -> table.startsWith("udp") || Integer.parseInt(row[3], 16) == LISTENS)
          .forEach(row -> ports.add(portOf(row[1])));
    }
    rows(process.resolve("net/unix")).stream()
        .filter(row -> row.length > 7 && inodes.contains(row[6]))
        .forEach(row -> sockets.add(row[7]));
  }

  private static String program(Path process) {
    try {
      return Files.readSymbolicLink(process.resolve("exe")).toString();
    } catch (IOException ended) {
      return "";
    }
  }

  private static int portOf(String address) {
    return Integer.parseInt(address.substring(address.indexOf(':') + 1), 16);
  }

  private void addFile(String path) {
    boolean isPublic =
        PUBLIC.stream().anyMatch(path::startsWith) || path.startsWith(Cli.root() + "/");
    if (path.startsWith("/") && !isPublic && Files.isRegularFile(Path.of(path))) {
      files.add(path);
    }
  }

  private static List<String> descriptors(Path process) {
    List<String> targets = new ArrayList<>();
    try (Stream<Path> all = Files.list(process.resolve("fd"))) {
      for (Path descriptor : all.toList()) {
        if (Files.isSymbolicLink(descriptor)) {
          targets.add(Files.readSymbolicLink(descriptor).toString());
        }
      }
    } catch (IOException closedConcurrently) {
      return targets;
    }
    return targets;
  }

  /** Returns the rows of a table, without its heading. */
  private static List<String[]> rows(Path table) {
    return lines(table).stream().skip(1).map(line -> line.strip().split(" +")).toList();
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
