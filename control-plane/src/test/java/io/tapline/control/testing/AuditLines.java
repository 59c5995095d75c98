package io.tapline.control.testing;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;

/** Collects this process's audit log until closed. */
public final class AuditLines implements AutoCloseable {
  private static final String NAME = "tapline.audit";

  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final AbstractAppender appender =
      new AbstractAppender("audit-lines", null, null, true, Property.EMPTY_ARRAY) {
        @Override
        public void append(LogEvent event) {
          lines.add(event.getMessage().getFormattedMessage());
        }
      };

  /** Starts collecting. */
  public AuditLines() {
    appender.start();
    Configurator.setLevel(NAME, Level.INFO);
    logger().addAppender(appender);
  }

  private static Logger logger() {
    return (Logger) LogManager.getLogger(NAME);
  }

  /** Returns the lines that contain all of these strings. */
  public List<String> with(String... texts) {
    return lines.stream().filter(line -> Stream.of(texts).allMatch(line::contains)).toList();
  }

  @Override
  public void close() {
    logger().removeAppender(appender);
  }
}
