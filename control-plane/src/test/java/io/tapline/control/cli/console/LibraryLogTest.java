package io.tapline.control.cli.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LibraryLogTest {
  private static final String NAME = "io.grpc.LibraryLogTest";

  private final List<String> logged = new ArrayList<>();
  private final org.apache.logging.log4j.core.Logger log4j =
      (org.apache.logging.log4j.core.Logger) org.apache.logging.log4j.LogManager.getLogger(NAME);
  private final AbstractAppender appender =
      new AbstractAppender("library", null, null, true, Property.EMPTY_ARRAY) {
        @Override
        public void append(LogEvent event) {
          logged.add(event.getLevel() + " " + event.getMessage().getFormattedMessage());
        }
      };

  @BeforeEach
  void installs() throws Exception {
    new LibraryLog();
    appender.start();
    log4j.addAppender(appender);
  }

  @AfterEach
  void putsBack() throws Exception {
    log4j.removeAppender(appender);
    LogManager.getLogManager().readConfiguration();
  }

  @Test
  void nothingIsLoggedByDefault() {
    PrintStream previousStream = System.err;
    ByteArrayOutputStream stderr = new ByteArrayOutputStream();
    System.setErr(new PrintStream(stderr, true, StandardCharsets.UTF_8));
    try {
      Configurator.setLevel(NAME, Level.OFF);
      Logger.getLogger(NAME).warning("Stream Error");
    } finally {
      System.setErr(previousStream);
    }
    assertThat(logged).isEmpty();
    assertThat(stderr.toString(StandardCharsets.UTF_8)).isEmpty();
  }

  @Test
  void requestedMessagesGoToTheCommonLog() {
    Configurator.setLevel(NAME, Level.WARN);
    Logger logger = Logger.getLogger(NAME);
    logger.log(java.util.logging.Level.WARNING, "Stream {0}", "Error");
    logger.info("a stream");
    logger.severe("no stream");
    assertThat(logged).containsExactly("WARN Stream Error", "ERROR no stream");
  }
}
