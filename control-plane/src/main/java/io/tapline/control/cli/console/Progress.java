package io.tapline.control.cli.console;

import io.tapline.compiler.text.ReadableText;
import io.tapline.control.ProgressListener;
import java.io.PrintWriter;
import java.util.Locale;

/**
 * Shows progress to a waiting user: on a terminal, one line that is overwritten; elsewhere, a line
 * every few seconds. Thread-safe.
 */
public final class Progress implements ProgressListener {
  private static final long TERMINAL_INTERVAL_NS = 100_000_000L;
  private static final long LINE_INTERVAL_NS = 5_000_000_000L;
  private static final String ERASE = "\r\u001b[K";

  private final PrintWriter err;
  private final boolean terminal;
  private String lastStage = "";

  /** The latest report of the stage; empty if it has been shown. */
  private String pending = "";

  private String lastLine = "";

  private long lastNs = System.nanoTime() - LINE_INTERVAL_NS;
  private boolean shown;
  private long stageNs = System.nanoTime();
  private long stagePackets;
  private Timings timings;

  Progress(PrintWriter err, boolean terminal) {
    this.err = err;
    this.terminal = terminal;
  }

  @Override
  public synchronized void progress(String stage, double fraction, long packets, long bytes) {
    long now = System.nanoTime();
    boolean isDue = now - lastNs >= (terminal ? TERMINAL_INTERVAL_NS : LINE_INTERVAL_NS);
    boolean begins = !stage.equals(lastStage);
    if (begins) {
      finishStage();
      stageNs = now;
      stagePackets = packets;
    }
    lastStage = stage;
    double packetsPerSecond = (packets - stagePackets) / ((now - stageNs) / 1e9);
    String line = text(stage, fraction, packets, bytes, packetsPerSecond);
    if (isDue || begins) {
      lastNs = now;
      show(line);
    } else {
      pending = line;
    }
  }

  /** Shows the final state of the stage, even if the previous line was printed just before. */
  private void finishStage() {
    if (!pending.isEmpty() && !pending.equals(lastLine)) {
      show(pending);
    }
    pending = "";
  }

  private void show(String line) {
    pending = "";
    lastLine = line;
    if (terminal) {
      err.print(ERASE + line);
      err.flush();
      shown = true;
    } else {
      err.println(line);
    }
  }

  /** Formats one line; omits the rate unless it is positive and finite. */
  static String text(
      String stage, double fraction, long packets, long bytes, double packetsPerSecond) {
    StringBuilder text = new StringBuilder(ReadableText.of(stage)).append('…');
    if (!Double.isNaN(fraction)) {
      text.append(String.format(Locale.ROOT, " %3.0f %%", 100 * fraction));
    }
    if (packets > 0) {
      text.append(String.format(Locale.ROOT, "  %,d packets, %,.1f MB", packets, bytes / 1e6));
    }
    if (packetsPerSecond > 0 && !Double.isInfinite(packetsPerSecond)) {
      text.append(String.format(Locale.ROOT, "  %,.0f packets/s", packetsPerSecond));
    }
    return text.toString();
  }

  /** Starts measuring phases. */
  public synchronized void measure(Timings newTimings) {
    timings = newTimings;
  }

  @Override
  public Phase phase(String name) {
    Timings current;
    synchronized (this) {
      current = timings;
    }
    return current == null ? ProgressListener.super.phase(name) : current.begin(name);
  }

  @Override
  public synchronized void warning(String message) {
    clear();
    err.println("warning: " + ReadableText.ofLines(message));
  }

  /** Shows the last stage's final state; on a terminal, then erases the line. */
  public synchronized void finish() {
    finishStage();
    clear();
  }

  /** Erases the line from the terminal. */
  synchronized void clear() {
    if (shown) {
      err.print(ERASE);
      err.flush();
      shown = false;
    }
  }
}
