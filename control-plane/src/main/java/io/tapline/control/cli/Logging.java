package io.tapline.control.cli;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.config.Configurator;

/** How much is logged to standard error; log4j2.xml says how much is without being asked. */
final class Logging {
  private Logging() {}

  /**
   * Reads the configuration of logging on a thread of its own, so that it is ready when it is
   * needed.
   */
  static void begin() {
    Thread thread = new Thread(() -> LogManager.getLogger(Logging.class), "logging-start");
    thread.setDaemon(true);
    thread.start();
  }

  /** Logs what Tapline does; from level 2 on also what the servers within its process do. */
  static void verbose(int level) {
    Configurator.setLevel("io.tapline", Level.DEBUG);
    if (level > 1) {
      Configurator.setRootLevel(Level.INFO);
    }
  }
}
