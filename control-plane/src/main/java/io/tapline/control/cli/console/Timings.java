package io.tapline.control.cli.console;

import io.tapline.control.ProgressListener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * Records when the phases of a command began and ended, and the CPU time of this process and its
 * ended children in each phase. CPU time is that of all threads, so it counts in each of several
 * overlapping phases. Thread-safe.
 */
public final class Timings {
  /** Clock ticks of proc(5) per second, the same on every Linux platform that Java supports. */
  private static final double TICKS_PER_SECOND = 100;

  private static final Path STAT = Path.of("/proc/self/stat");
  private static final Path UPTIME = Path.of("/proc/uptime");

  private final long processStartNs;
  private final List<Entry> entries = new ArrayList<>();

  /**
   * A phase, in seconds since the start of the process.
   *
   * @param to NaN while the phase lasts
   * @param cpu seconds of CPU time; NaN while the phase lasts
   */
  record Entry(String name, double from, double to, double cpu) {}

  /**
   * Creates the timings of a process.
   *
   * @param processStartNs start on the clock of {@link System#nanoTime}
   */
  Timings(long processStartNs) {
    this.processStartNs = processStartNs;
  }

  /** Returns the timings of this process; the time so far is the first phase. */
  public static Timings ofProcess(String firstPhase) {
    Timings timings = new Timings(System.nanoTime() - Math.round(ageSeconds() * 1e9));
    timings.add(new Entry(firstPhase, 0, timings.now(), cpuSeconds()));
    return timings;
  }

  /** Begins a phase; closing it more than once has no further effect. */
  ProgressListener.Phase begin(String name) {
    double cpu = cpuSeconds();
    Entry begun = new Entry(name, now(), Double.NaN, Double.NaN);
    add(begun);
    return () -> end(begun, cpu);
  }

  private double now() {
    return (System.nanoTime() - processStartNs) / 1e9;
  }

  private synchronized void add(Entry entry) {
    entries.add(entry);
  }

  private synchronized void end(Entry begun, double cpu) {
    int index = entries.indexOf(begun);
    if (index >= 0) {
      entries.set(index, new Entry(begun.name(), begun.from(), now(), cpuSeconds() - cpu));
    }
  }

  /** Returns the phases that have ended, in the order in which they began. */
  synchronized List<Entry> ended() {
    return entries.stream()
        .filter(entry -> !Double.isNaN(entry.to()))
        .sorted(Comparator.comparingDouble(Entry::from))
        .toList();
  }

  /** Returns a table of the phases that have ended; its last row is the process so far. */
  public String table() {
    StringBuilder table = new StringBuilder();
    table.append(
        String.format(Locale.ROOT, "%-28s %6s %6s %6s %6s%n", "phase", "from", "to", "s", "CPU s"));
    ended().forEach(entry -> append(table, entry));
    append(table, new Entry("all", 0, now(), cpuSeconds()));
    return table.toString();
  }

  private static void append(StringBuilder table, Entry entry) {
    table.append(
        String.format(
            Locale.ROOT,
            "%-28s %6.2f %6.2f %6.2f %6.2f%n",
            entry.name(),
            entry.from(),
            entry.to(),
            entry.to() - entry.from(),
            entry.cpu()));
  }

  /**
   * Returns the time since the start of this process, with a resolution of 10 ms; 0 if unknown.
   * {@link ProcessHandle} can be a second off, since it adds the process's start to a boot time in
   * whole seconds.
   */
  private static double ageSeconds() {
    try {
      String uptime = Files.readString(UPTIME);
      double sinceBoot = Double.parseDouble(uptime.substring(0, uptime.indexOf(' ')));
      return sinceBoot - ticks(20, 20) / TICKS_PER_SECOND;
    } catch (IOException e) {
      return 0;
    }
  }

  /** Returns the CPU time of this process and of its ended children; NaN if unknown. */
  private static double cpuSeconds() {
    try {
      return ticks(12, 15) / TICKS_PER_SECOND;
    } catch (IOException e) {
      return Double.NaN;
    }
  }

  /** Returns the sum of a range of fields in /proc/self/stat; field 1 is the one after the name. */
  private static long ticks(int firstField, int lastField) throws IOException {
    String stat = Files.readString(STAT);
    String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    long ticks = 0;
    for (int field = firstField; field <= lastField; field++) {
      ticks += Long.parseLong(afterName[field - 1]);
    }
    return ticks;
  }
}
