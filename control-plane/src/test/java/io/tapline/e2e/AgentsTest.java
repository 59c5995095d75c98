package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Certificates;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests a server whose agents capture for queries: one agent on a link on which a client
 * continuously requests pages from a web server, and one on the loopback interface.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class AgentsTest {
  private static final long SECONDS = 120;
  private static final int SOME = 40;

  private WebLink link;
  private Server server;
  private String registry;
  private final List<Cli.Running> agents = new ArrayList<>();

  /** Address of the busy host's MultiLog node. */
  private String multilog;

  private Cli.Running node;

  @TempDir static Path folder;

  @BeforeAll
  void start() throws Exception {
    Certificates authority = Certificates.authority(folder, "authority");
    authority.sign("busy", "IP:127.0.0.1");
    Files.writeString(folder.resolve("token"), "of-this-test-and-no-other\n");
    link = WebLink.open();
    registry = "127.0.0.1:" + Server.freePort();
    multilog = "127.0.0.1:" + Server.freePort();
    node = node("busy");
    server =
        Server.start(
            "--agents",
            registry,
            "--agents-tls-certificate",
            folder.resolve("busy.pem").toString(),
            "--agents-tls-key",
            folder.resolve("busy.key").toString(),
            "--agents-token-file",
            folder.resolve("token").toString(),
            "--agents-grace",
            "8s",
            "--multilog-ca",
            authority.file().toString(),
            "--multilog-token-file",
            folder.resolve("token").toString());
  }

  private Cli.Running node(String name) {
    return Cli.startCommand(
        Map.of(),
        List.of(
            Cli.root().resolve("build/bin/tapline-multilog").toString(),
            "--node",
            name,
            "--pcap",
            Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString(),
            "--memory-mib",
            "64",
            "--listen",
            multilog,
            "--tls-certificate",
            folder.resolve(name + ".pem").toString(),
            "--tls-key",
            folder.resolve(name + ".key").toString(),
            "--token-file",
            folder.resolve("token").toString()));
  }

  @AfterAll
  void stop() throws Exception {
    agents.forEach(Cli.Running::close);
    if (node != null) {
      node.close();
    }
    if (server != null) {
      server.close();
    }
    if (link != null) {
      link.close();
    }
  }

  private Cli.Running agent(String name, String networkInterface, String... settings)
      throws Exception {
    Cli.Running agent = start("token", name, networkInterface, settings);
    await(name + " is up", () -> "up".equals(known(name).path("state").asText()));
    return agent;
  }

  private Cli.Running start(
      String tokens, String name, String networkInterface, String... settings) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Cli.root().resolve("build/bin/tapline-agent").toString(),
                "--name",
                name,
                "--interface",
                networkInterface,
                "--control-plane",
                registry,
                "--control-plane-ca",
                folder.resolve("authority.pem").toString(),
                "--token-file",
                folder.resolve(tokens).toString(),
                "--hugepages",
                "never",
                "--memory-mib",
                "64",
                "--max-connections",
                "16384"));
    command.addAll(List.of(settings));
    Cli.Running agent = Cli.startCommand(Map.of(), command);
    agents.add(agent);
    return agent;
  }

  private static void await(String awaited, Callable<Boolean> true_) throws Exception {
    long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (!true_.call()) {
      assertThat(System.nanoTime()).as(awaited).isLessThan(deadline);
      Thread.sleep(200);
    }
  }

  private JsonNode known(String agent) throws Exception {
    return known("agents", "agent", agent);
  }

  /** Returns an agent's MultiLog node; an empty object if there is none. */
  private JsonNode nodeOf(String agent) throws Exception {
    return known("nodes", "node", agent);
  }

  private JsonNode known(String kind, String field, String name) throws Exception {
    for (JsonNode knownNode : Cli.parse(server.get("/api/v1/nodes").body()).path(kind)) {
      if (knownNode.path(field).asText().equals(name)) {
        return knownNode;
      }
    }
    return Cli.parse("{}");
  }

  private Cli.Result drill() {
    return Cli.run("drill", "dst_port == 80", "--limit", "5", "--server", server.url());
  }

  private String submit() {
    return server.submit(
        "PARSE http_get FROM * TO %s:%d LIMIT 1h SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"
            .formatted(link.address(), WebLink.PORT));
  }

  private JsonNode query(String id) throws Exception {
    return Cli.parse(server.get("/api/v1/queries/" + id).body());
  }

  private List<String> urls(String id) throws Exception {
    return server.rows(id).stream().map(row -> row.path("key").path("url").asText()).toList();
  }

  private static List<Long> monitors(Cli.Running agent) {
    return agent
        .process()
        .children()
        .filter(child -> child.info().command().orElse("").endsWith("tapline-monitor"))
        .map(ProcessHandle::pid)
        .toList();
  }

  /** Returns a monitor's metrics; empty while it does not answer. */
  private static String scraped(String address) throws InterruptedException {
    try {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("http://" + address + "/metrics")).build();
      return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
    } catch (IOException notYet) {
      return "";
    }
  }

  private void awaitResult(String id, int request) throws Exception {
    await("request " + request, () -> urls(id).contains(WebLink.url(request)));
  }

  @Test
  void anAgentWithAnotherTokenIsRejected() throws Exception {
    Files.writeString(folder.resolve("other"), "of-another-deployment\n");
    Cli.Running stranger = start("other", "stranger", "lo");
    await("the error is reported", () -> stranger.stderr().contains("the token is invalid"));
    assertThat(known("stranger")).isEmpty();
    stranger.close();
  }

  @Test
  void hostsCaptureAndDeadProcessesAreNamed() throws Exception {
    Cli.Result refusedResult =
        Cli.run(
            "query",
            "submit",
            "PARSE http_get FROM * TO h:80 LIMIT 1h SAMPLE *".replace("h:80", "10.0.0.1:80")
                + " PROCESS (top-k)",
            "--server",
            server.url());
    assertThat(refusedResult.exitCode()).isEqualTo(1);
    assertThat(refusedResult.stderr()).contains("no host's agent holds a lease");

    Cli.Result nobody = drill();
    assertThat(nobody.exitCode()).isEqualTo(1);
    assertThat(nobody.stderr()).contains("has no MultiLog node");

    String metrics = "127.0.0.1:" + Server.freePort();
    Cli.Running busy =
        agent("busy", link.networkInterface(), "--multilog", multilog, "--metrics", metrics);
    agent("idle", "lo");
    // A MultiLog node that an agent reports is listed and queried.
    await("the node", () -> "up".equals(nodeOf("busy").path("state").asText()));
    assertThat(nodeOf("idle").isEmpty()).as("an agent without a MultiLog node").isTrue();
    assertThat(drill().expectSuccess().stdout().lines()).hasSize(1 + 5);

    String id = submit();
    server.awaitState(id, "running");
    int first = link.done() + 1;
    int last = link.awaitMore(SOME) - 1;
    awaitResult(id, last);
    List<String> counted = urls(id);
    assertThat(counted)
        .containsAll(IntStream.range(first, last).mapToObj(WebLink::url).toList())
        .doesNotHaveDuplicates();
    assertThat(known("busy").path("queries").get(0).asText()).isEqualTo(id);
    await(
        "metrics",
        () -> scraped(metrics).contains("tapline_monitor_query_tuples_total{query=\"" + id));
    assertThat(Math.abs(known("busy").path("clock_offset_ns").asLong()))
        .as("both read the same clock")
        .isLessThanOrEqualTo(known("busy").path("clock_error_ns").asLong());

    // If a monitor dies, it is restarted, and the query continues.
    assertThat(monitors(busy)).hasSize(1);
    long killed = monitors(busy).get(0);
    ProcessHandle.of(killed).orElseThrow().destroyForcibly();
    await("another monitor", () -> !monitors(busy).isEmpty() && monitors(busy).get(0) != killed);
    int second = link.done() + SOME;
    awaitAfter(id, second);

    Cli.run("query", "stop", id, "--server", server.url()).expectSuccess();
    assertThat(query(id).path("state").asText()).isEqualTo("stopped");
    await("nothing is assigned", () -> known("busy").path("queries").isEmpty());

    // If an agent dies and does not return, its queries fail with an error that names its host.
    String lost = submit();
    server.awaitState(lost, "running");
    busy.process().destroyForcibly().waitFor();
    await("the failure", () -> query(lost).path("state").asText().equals("failed"));
    assertThat(query(lost).path("error").asText()).contains("busy");
    assertThat(known("busy").path("state").asText()).isEqualTo("lost");
    // The host's MultiLog node counts as dead although it is running.
    assertThat(node.process().isAlive()).isTrue();
    assertThat(nodeOf("busy").path("error").asText()).contains("lease");
    assertThat(drill().exitCode()).isEqualTo(1);
    assertThat(drill().stderr()).contains("the lease of its host's agent has ended");
    await("nothing is left", () -> known("idle").path("queries").isEmpty());

    agent("busy", link.networkInterface(), "--multilog", multilog);
    await("the node again", () -> "up".equals(nodeOf("busy").path("state").asText()));
    assertThat(drill().expectSuccess().stdout().lines()).hasSize(1 + 5);
    String resubmitted = submit();
    server.awaitState(resubmitted, "running");
    awaitResult(resubmitted, link.awaitMore(SOME) - 1);
    Cli.run("query", "stop", resubmitted, "--server", server.url()).expectSuccess();
  }

  /** Waits until some request with this or a higher number is counted. */
  private void awaitAfter(String id, int request) throws Exception {
    await(
        "requests after " + request,
        () -> {
          List<String> shown = urls(id);
          return IntStream.range(request, link.done())
              .mapToObj(WebLink::url)
              .anyMatch(shown::contains);
        });
  }
}
