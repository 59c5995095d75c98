package io.tapline.control.cli.console;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.config.Configurator;

/** Sets the level of the log on standard error; log4j2.xml defines the default. */
public final class Logging {
  private Logging() {}

  /** Reads the logging configuration in a separate thread, before it is needed. */
  public static void begin() {
    Thread thread = new Thread(() -> LogManager.getLogger(Logging.class), "logging-start");
    thread.setDaemon(true);
    thread.start();
  }

  /** Enables the logs of Tapline and, from level 2, of the servers within its process. */
  public static void verbose(int level) {
    Configurator.setLevel("io.tapline", Level.DEBUG);
    if (level > 1) {
      Configurator.setRootLevel(Level.INFO);
    }
  }
}
