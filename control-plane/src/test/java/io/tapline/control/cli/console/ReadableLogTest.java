package io.tapline.control.cli.console;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.ConfigurationFactory;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;

/** Tests the log format of the programs' Log4j configuration. */
class ReadableLogTest {
  private static String line(String appender, Log4jLogEvent event) throws Exception {
    Configuration configuration =
        ConfigurationFactory.getInstance()
            .getConfiguration(
                new LoggerContext("test"),
                "test",
                ReadableLogTest.class.getResource("/tapline-log4j2.xml").toURI());
    configuration.initialize();
    return new String(configuration.getAppender(appender).getLayout().toByteArray(event), "UTF-8");
  }

  private static Log4jLogEvent.Builder event(String message) {
    return Log4jLogEvent.newBuilder().setLoggerName("x.Y").setMessage(new SimpleMessage(message));
  }

  @Test
  void aMessageIsOneLine() throws Exception {
    Log4jLogEvent event = event("no host web\u202e1\u2028\r\nerror: forged").build();
    for (String appender : new String[] {"stderr", "audit"}) {
      assertThat(line(appender, event))
          .endsWith(": no host web\\u{202e}1\\u{2028}\\u{d}\\u{a}error: forged\n");
    }
  }

  @Test
  void aStackTraceKeepsItsLines() throws Exception {
    String text =
        line("stderr", event("failed").setThrown(new IllegalStateException("\u202ex")).build());
    assertThat(text)
        .contains("failed\n", "java.lang.IllegalStateException: \\u{202e}x\n\tat ")
        .doesNotContain("\u202e");
  }
}
