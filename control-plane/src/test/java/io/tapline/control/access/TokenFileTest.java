package io.tapline.control.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenFileTest {
  private static final String NAME = TokenFile.class.getName();
  private static final String GOOD =
      "tokens: [{tenant: ops, role: admin, sha256: " + Token.hash("secret") + "}]";

  @TempDir Path folder;
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final AbstractAppender appender =
      new AbstractAppender("lines", null, null, true, Property.EMPTY_ARRAY) {
        @Override
        public void append(LogEvent event) {
          lines.add(event.getMessage().getFormattedMessage());
        }
      };

  @BeforeEach
  void listen() {
    appender.start();
    Configurator.setLevel(NAME, Level.WARN);
    ((Logger) LogManager.getLogger(NAME)).addAppender(appender);
  }

  @AfterEach
  void stop() {
    ((Logger) LogManager.getLogger(NAME)).removeAppender(appender);
    Configurator.setLevel(NAME, (Level) null);
  }

  @Test
  void aMissingOrInvalidFileIsReportedOnce() throws Exception {
    Path file = Files.writeString(folder.resolve("tokens.yaml"), GOOD);
    TokenFile tokens = new TokenFile(file);
    Files.delete(file);
    readRepeatedly(tokens);
    Files.writeString(file, "tokens: what");
    readRepeatedly(tokens);
    assertThat(lines).hasSize(2);
    assertThat(lines.get(0))
        .isEqualTo("keeping the old tokens: " + file + ": can't be read; does it exist?");
    assertThat(lines.get(1)).startsWith("keeping the old tokens: " + file + ": it must contain ");
    Files.writeString(file, GOOD);
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(5)));
    readRepeatedly(tokens);
    Files.delete(file);
    readRepeatedly(tokens);
    assertThat(lines).as("removed again").hasSize(3);
  }

  private static void readRepeatedly(TokenFile tokens) {
    for (int i = 0; i < 5; i++) {
      assertThat(tokens.find("secret")).isPresent();
    }
  }

  @Test
  void aMissingFileIsNamed() {
    Path file = folder.resolve("none.yaml");
    assertThatThrownBy(() -> new TokenFile(file))
        .isInstanceOf(IOException.class)
        .hasMessage(file + ": can't be read; does it exist?");
  }
}
