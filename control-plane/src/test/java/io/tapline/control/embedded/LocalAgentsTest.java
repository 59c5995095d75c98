package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.LeaseListener;
import io.tapline.control.registry.RegistryOptions;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.FreePort;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests real agents with a real registry, without queries. */
class LocalAgentsTest {
  private static final Path PROGRAMS =
      Path.of(System.getProperty("tapline.root", "..")).resolve("build/bin");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private AgentRegistry registry;

  @BeforeEach
  void open() throws Exception {
    registry =
        AgentRegistry.start(
            RegistryOptions.usual(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                "127.0.0.1:" + FreePort.any()),
            LeaseListener.NONE);
  }

  @AfterEach
  void close() {
    registry.close();
  }

  private LocalAgents start(Path program, String... names) throws IOException {
    return LocalAgents.start(
        new LocalAgents.Settings(program, Optional.of("lo"), List.of(), List.of(), TlsFiles.NONE),
        List.of(names),
        registry);
  }

  private static List<ProcessHandle> agents() {
    return ProcessHandle.current()
        .descendants()
        .filter(child -> child.info().command().orElse("").endsWith("tapline-agent"))
        .toList();
  }

  private List<String> up() {
    return registry.states().stream().filter(AgentState::up).map(AgentState::name).toList();
  }

  @Test
  void enoughAgentsForTheMaximumNumberOfQueries() {
    assertThat(LocalAgents.names(1)).containsExactly("local-0");
    assertThat(LocalAgents.names(64)).containsExactly("local-0");
    assertThat(LocalAgents.names(65)).containsExactly("local-0", "local-1");
  }

  @Test
  void agentsHaveLeasesUntilTheyAreClosed() throws Exception {
    try (LocalAgents agents = start(PROGRAMS.resolve("tapline-agent"), "local-0", "local-1")) {
      assertThat(up()).containsExactly("local-0", "local-1");
      assertThat(registry.states().get(0).networkInterface()).isEqualTo("lo");
    }
    assertThat(agents()).isEmpty();
  }

  @Test
  void aKilledAgentIsRestarted() throws Exception {
    try (LocalAgents agents = start(PROGRAMS.resolve("tapline-agent"), "local-0")) {
      for (int i = 0; i < 2; i++) {
        List<ProcessHandle> previousAgents = agents();
        long sinceNs = registry.states().get(0).sinceNs();
        assertThat(previousAgents).hasSize(1);
        previousAgents.get(0).destroyForcibly();
        Await.until(
            "another agent has the lease",
            TIMEOUT,
            () -> registry.states().get(0).sinceNs() != sinceNs && !up().isEmpty());
        assertThat(agents()).hasSize(1).isNotEqualTo(previousAgents);
      }
    }
  }

  @Test
  void aFailedStartIsReportedWithTheAgentsOutput() {
    assertThatThrownBy(() -> start(PROGRAMS.resolve("no-such-program"), "local-0"))
        .hasMessageContaining("can't start tapline-agent")
        .hasMessageContaining("no-such-program");
    assertThatThrownBy(() -> start(PROGRAMS.resolve("tapline-agent"), "No Name"))
        .hasMessageContaining("is not a valid host name");
    assertThat(agents()).isEmpty();
  }
}
