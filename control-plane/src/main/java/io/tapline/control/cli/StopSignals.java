package io.tapline.control.cli;

import java.util.List;
import sun.misc.Signal;

/**
 * SIGTERM and SIGINT as a request to end in order. A shutdown hook would not do: hooks run side by
 * side, and the process's exit code would say that it was killed.
 */
final class StopSignals {
  private StopSignals() {}

  /**
   * Runs an action at the first of them; the next one ends the process at once, as it would have.
   */
  static void handle(Runnable stop) {
    List<String> names = List.of("TERM", "INT");
    for (String name : names) {
      Signal.handle(
          new Signal(name),
          signal -> {
            names.forEach(each -> Signal.handle(new Signal(each), sun.misc.SignalHandler.SIG_DFL));
            stop.run();
          });
    }
  }
}
