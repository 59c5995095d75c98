package io.tapline.control.cli;

import java.util.List;

/**
 * SIGTERM and SIGINT as a request to end in order. A shutdown hook would not do: hooks run side by
 * side, and the process's exit code would say that it was killed. Java has no other API for
 * signals, hence the suppressed warning.
 */
@SuppressWarnings("sunapi")
final class StopSignals {
  private StopSignals() {}

  /**
   * Runs an action at the first of them; the next one ends the process at once, as it would have.
   */
  static void handle(Runnable stop) {
    List<String> names = List.of("TERM", "INT");
    for (String name : names) {
      sun.misc.Signal.handle(
          new sun.misc.Signal(name),
          signal -> {
            names.forEach(each -> handleByDefault(new sun.misc.Signal(each)));
            stop.run();
          });
    }
  }

  private static void handleByDefault(sun.misc.Signal signal) {
    sun.misc.Signal.handle(signal, sun.misc.SignalHandler.SIG_DFL);
  }
}
