package io.tapline.control.cli.console;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;

/**
 * Forwards the logs of libraries that use java.util.logging, such as gRPC, to Log4j, which drops
 * them unless they are enabled, like the logs of all other libraries. Java's LogManager creates an
 * instance when the first logger is requested.
 */
public final class LibraryLog {
  private static final String SETTINGS = "handlers=%s\n.level=INFO\n";

  public LibraryLog() throws IOException {
    String settings = SETTINGS.formatted(ToLog4j.class.getName());
    java.util.logging.LogManager.getLogManager()
        .readConfiguration(
            new ByteArrayInputStream(settings.getBytes(StandardCharsets.ISO_8859_1)));
  }

  /** Installs this configuration. REQUIRES: no java.util.logging logger has been requested yet. */
  public static void install() {
    System.setProperty("java.util.logging.config.class", LibraryLog.class.getName());
  }

  /** Forwards each record to the Log4j logger of the same name. */
  public static final class ToLog4j extends Handler {
    private static final Formatter TEXT = new SimpleFormatter();

    @Override
    public void publish(LogRecord record) {
      LogManager.getLogger(String.valueOf(record.getLoggerName()))
          .log(level(record), () -> TEXT.formatMessage(record), record.getThrown());
    }

    private static Level level(LogRecord record) {
      int value = record.getLevel().intValue();
      if (value >= java.util.logging.Level.SEVERE.intValue()) {
        return Level.ERROR;
      }
      return value >= java.util.logging.Level.WARNING.intValue() ? Level.WARN : Level.INFO;
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
