package io.tapline.control.cli.console;

import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Treats SIGTERM and SIGINT as requests for an orderly shutdown. A shutdown hook would not suffice:
 * hooks run concurrently, and Flink's would close a task manager whose job has yet to emit its
 * results. Java has no supported API for signals, hence the suppressed warning.
 */
@SuppressWarnings("sunapi")
public final class StopSignals {
  private static final int KILLED_BY_SIGNAL = 128;

  private static volatile boolean ending;

  private StopSignals() {}

  /**
   * Runs an action on the first signal; the next one has its default effect and ends the process
   * immediately.
   */
  public static void handle(Runnable stop) {
    atTheFirst(signal -> stop.run());
  }

  /**
   * Runs an action on the first signal, and then ends the process with the exit code of a process
   * killed by the signal.
   */
  public static void closeBeforeTheEnd(Runnable close) {
    atTheFirst(
        signal -> {
          ending = true;
          close.run();
          System.exit(KILLED_BY_SIGNAL + signal.getNumber());
        });
  }

  /** Returns true if {@link #closeBeforeTheEnd} is ending the process. */
  public static boolean areEndingTheProcess() {
    return ending;
  }

  /**
   * Returns immediately, unless a signal is ending the process: then blocks until the process has
   * exited with the signal's code.
   */
  public static void leaveTheEndToThem() {
    while (ending) {
      LockSupport.park();
    }
  }

  private static void atTheFirst(Consumer<sun.misc.Signal> action) {
    List<String> names = List.of("TERM", "INT");
    for (String name : names) {
      sun.misc.Signal.handle(
          new sun.misc.Signal(name),
          signal -> {
            names.forEach(signalName -> handleByDefault(new sun.misc.Signal(signalName)));
            action.accept(signal);
          });
    }
  }

  private static void handleByDefault(sun.misc.Signal signal) {
    sun.misc.Signal.handle(signal, sun.misc.SignalHandler.SIG_DFL);
  }
}
