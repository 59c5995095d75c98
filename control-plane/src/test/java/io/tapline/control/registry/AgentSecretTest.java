package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.HashKey;
import io.tapline.control.HashKeys;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.FreePort;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the secrets of a real agent and of the real monitor that it starts. */
class AgentSecretTest {
  private static final Path PROGRAMS =
      Path.of(System.getProperty("tapline.root", "..")).resolve("build/bin");
  private static final String FLOWS = "00112233445566778899aabbccddeeff";
  private static final String TEXTS = "ffeeddccbbaa99887766554433221100";

  @TempDir private Path folder;

  private record ObservedAgent(String commandLine, String keys) {}

  /** Returns the agent's child process once it runs the monitor. */
  private static Optional<ObservedAgent> monitor(Process agent) {
    return agent.children().flatMap(child -> seen(child.pid()).stream()).findFirst();
  }

  private static Optional<ObservedAgent> seen(long process) {
    Path about = Path.of("/proc/" + process);
    try {
      String line = Files.readString(about.resolve("cmdline")).replace('\0', ' ');
      return line.contains("tapline-monitor --control")
          ? Optional.of(new ObservedAgent(line, Files.readString(about.resolve("fd/3"))))
          : Optional.empty();
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private Process agent(int port) throws IOException {
    return new ProcessBuilder(
            PROGRAMS.resolve("tapline-agent").toString(),
            "--name",
            "h1",
            "--vdev",
            "net_null0",
            "--control-plane",
            "127.0.0.1:" + port,
            "--hugepages",
            "never")
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("agent.log").toFile())
        .start();
  }

  @Test
  void theMonitorGetsTheKeysOutsideOfItsCommandLine() throws Exception {
    RegistryOptions options =
        RegistryOptions.usual(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                "127.0.0.1:" + FreePort.any())
            .withHashKeys(new HashKeys(HashKey.of(FLOWS), HashKey.of(TEXTS)));
    try (AgentRegistry registry = AgentRegistry.start(options, LeaseListener.NONE)) {
      Process agent = agent(registry.port());
      try {
        registry.assign("h1", "q", 1, Plan.getDefaultInstance(), new IgnoredEvents());
        Await.until("a monitor", Duration.ofSeconds(60), () -> monitor(agent).isPresent());
        ObservedAgent monitor = monitor(agent).orElseThrow();
        assertThat(monitor.commandLine()).doesNotContain(FLOWS, TEXTS);
        assertThat(monitor.keys()).isEqualTo(FLOWS + "\n" + TEXTS + "\n");
      } finally {
        // Shuts the agent down cleanly, which also ends its monitor.
        agent.destroy();
        agent.waitFor();
      }
    }
  }

  /** Ignores the query's events, which another test covers. */
  private static final class IgnoredEvents implements AssignmentEvents {
    @Override
    public void lost(String reason) {}

    @Override
    public void disconnected() {}

    @Override
    public void running() {}

    @Override
    public void credits(MonitorStatus.Credits usage) {}

    @Override
    public void triggers(MonitorStatus.Triggers response) {}

    @Override
    public void limited(double rate) {}

    @Override
    public void ended(QueryAccounting accounting) {}

    @Override
    public void failed(String kind, String reason) {}

    @Override
    public void warning(String message) {}
  }
}
