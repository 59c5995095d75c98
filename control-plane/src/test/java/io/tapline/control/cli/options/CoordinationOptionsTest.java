package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.cli.console.UsageException;
import io.tapline.flink.TlsFiles;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class CoordinationOptionsTest {
  private static final Optional<TlsFiles> TLS = Optional.of(new TlsFiles("ca", "own", "key"));

  private static void speak(Optional<TlsFiles> tls, String... arguments) {
    CoordinationOptions options = new CoordinationOptions();
    new CommandLine(options).parseArgs(arguments);
    options.speakTls(tls);
  }

  @Test
  void subjectsAreSpelledAsInZooKeeper() {
    assertThatCode(
            () ->
                speak(
                    TLS,
                    "--zookeeper=zk1:2281",
                    "--zookeeper-creator=CN=flink",
                    "--zookeeper-creator=CN=kafka,O=Example"))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> speak(TLS, "--zookeeper=zk1:2281", "--zookeeper-creator=cn=a, O=b"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("'cn=a, O=b' is spelled 'CN=a,O=b'");
    assertThatThrownBy(() -> speak(TLS, "--zookeeper=zk1:2281", "--zookeeper-creator=flink"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("'flink' is not a subject of a certificate, such as CN=flink");
    assertThatThrownBy(
            () -> speak(Optional.empty(), "--zookeeper=zk1:2281", "--zookeeper-creator=CN=flink"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("requires --tls zookeeper");
  }
}
