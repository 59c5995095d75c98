package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests two control planes, one of which leads, with an agent that knows both and captures on a
 * link.
 */
@MakesNetworkDevices
class CoordinationTest {
  private static final int SOME = 40;

  @TempDir Path folder;

  private WebLink link;
  private Coordinated shared;
  private final List<String> registries = new ArrayList<>();
  private final List<AutoCloseable> open = new ArrayList<>();

  @BeforeEach
  void start() throws Exception {
    link = WebLink.open();
    open.add(link);
    registries.add("127.0.0.1:" + Server.freePort());
    registries.add("127.0.0.1:" + Server.freePort());
  }

  @AfterEach
  void stop() throws Exception {
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
  }

  private void share(Coordinated.Start flink) throws Exception {
    shared = new Coordinated(folder, flink);
    open.add(shared);
  }

  private Server server(int number) {
    return server(Cli.root(), number);
  }

  /** Starts a server from the checkout of a version. */
  private Server server(Path version, int number) {
    try {
      List<String> options = shared.options(registries.get(number));
      return Server.startVersion(version, options.toArray(String[]::new));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private Cli.Running agent() {
    return agent(Cli.root());
  }

  private Cli.Running agent(Path version) {
    String[] command = {
      version.resolve("build/bin/tapline-agent").toString(),
      "--name=busy",
      "--interface=" + link.networkInterface(),
      "--control-plane=" + registries.get(0),
      "--control-plane=" + registries.get(1),
      "--hugepages=never",
      "--memory-mib=64",
      "--max-connections=16384"
    };
    Cli.Running agent = Cli.startCommand(Map.of(), List.of(command));
    open.add(agent);
    return agent;
  }

  /**
   * Kills the agent and waits until its monitor has sent its remaining data and ended. If another
   * agent started earlier, two monitors would capture on the link.
   */
  private static void kill(Cli.Running agent) throws Exception {
    List<ProcessHandle> monitor = agent.process().descendants().toList();
    agent.process().destroyForcibly().waitFor();
    Fabric.await("its monitor has ended", () -> monitor.stream().noneMatch(ProcessHandle::isAlive));
  }

  private static JsonNode get(Server server, String path) throws Exception {
    return Cli.parse(server.get("/api/v1" + path).body());
  }

  private static boolean isUp(Server server) throws Exception {
    return Coordinated.leads(server)
        && get(server, "/nodes").path("agents").path(0).path("state").asText().equals("up");
  }

  /**
   * Returns how often each request was counted, by request number; omits requests with an unknown
   * URL.
   */
  private static Map<Integer, Long> counted(Server server, String id) throws Exception {
    Map<Integer, Long> counts = new HashMap<>();
    for (String cursor = ""; ; ) {
      JsonNode page = get(server, "/queries/" + id + "/results" + cursor);
      for (JsonNode row : page.path("rows")) {
        JsonNode path = row.path("key").path("url");
        if (path.isTextual()) {
          String url = path.asText();
          int number = Integer.parseInt(url.substring(url.lastIndexOf('/') + 1));
          counts.merge(number, row.path("value").asLong(), Long::sum);
        }
      }
      if (page.path("rows").isEmpty()) {
        return counts;
      }
      cursor = "?after=" + page.path("last_entry").asText();
    }
  }

  private static void awaitCounted(Server server, String id, int request) throws Exception {
    Fabric.await("request " + request, () -> counted(server, id).containsKey(request));
  }

  @Test
  void aQuerySurvivesAnyFailureAndNothingIsCountedTwice() throws Exception {
    share(FlinkCluster::new);
    CompletableFuture<Server> one = CompletableFuture.supplyAsync(() -> server(0));
    CompletableFuture<Server> two = CompletableFuture.supplyAsync(() -> server(1));
    open.add(one.join());
    open.add(two.join());
    Fabric.await("one leads", () -> Coordinated.leads(one.join()) || Coordinated.leads(two.join()));
    Server first = Coordinated.leads(one.join()) ? one.join() : two.join();
    Server second = first == one.join() ? two.join() : one.join();
    assertThat(second.get("/api/v1/nodes").headers().firstValue("Location"))
        .contains(first.url() + "/api/v1/nodes");
    Cli.Running agent = agent();
    Fabric.await("the agent is up", () -> isUp(first));

    // The query is submitted to the follower.
    String id =
        second.submit(
            "PARSE http_get FROM * TO %s:%d LIMIT 1h SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"
                .formatted(link.address(), WebLink.PORT));
    second.awaitState(id, "running");
    int begin = link.done() + 1;
    awaitCounted(second, id, link.awaitMore(SOME) - 1);

    long killedNs = System.nanoTime();
    first.process().destroyForcibly().waitFor();
    Fabric.await("the other leads, and has the agent", () -> isUp(second));
    System.out.printf(
        "Coordination: another control plane leads and has the agents %.1f s after SIGKILL%n",
        (System.nanoTime() - killedNs) / 1e9);
    int end = link.awaitMore(SOME) - 1;
    awaitCounted(second, id, end);
    Map<Integer, Long> whole = counted(second, id);
    assertThat(whole.values()).as("each once").containsOnly(1L);
    assertThat(whole.keySet())
        .as("none is missing across the takeover")
        .containsAll(IntStream.range(begin, end).boxed().toList());

    kill(agent);
    agent();
    int back = link.awaitMore(SOME);
    Fabric.await(
        "requests after the agent was restarted",
        () -> counted(second, id).keySet().stream().anyMatch(epoch -> epoch > back));
    assertThat(get(second, "/queries/" + id).path("state").asText()).isEqualTo("running");

    HttpRequest delete =
        HttpRequest.newBuilder(URI.create(second.url() + "/api/v1/queries/" + id)).DELETE().build();
    HttpClient.newHttpClient().send(delete, HttpResponse.BodyHandlers.discarding());
    Fabric.await(
        "it has stopped",
        () -> get(second, "/queries/" + id).path("state").asText().equals("stopped"));
    assertThat(counted(second, id).values()).as("each once").containsOnly(1L);
    assertThat(get(second, "/queries/" + id).path("totals").toString())
        .as("the gap is reported")
        .contains("\"monitor_replaced\"");
    assertThat(shared.flink.get("/jobs/overview")).doesNotContain("RUNNING");
    Fabric.await("the query's record is gone", () -> shared.records().isEmpty());
  }

  /** Upgrades the control planes, then the agent. */
  @Test
  void aQueryOutlivesAnUpgrade() throws Exception {
    String previousEnvironment = System.getenv("TAPLINE_BEFORE");
    assumeTrue(
        previousEnvironment != null,
        "SKIPPED: TAPLINE_BEFORE must name a checkout of the previous version, built with make build");
    share(folder -> FlinkCluster.ofVersion(Path.of(previousEnvironment), folder));
    Server first = server(Path.of(previousEnvironment), 0);
    open.add(first);
    Fabric.await("it leads", () -> Coordinated.leads(first));
    Cli.Running agent = agent(Path.of(previousEnvironment));
    Fabric.await("the agent is up", () -> isUp(first));
    String id =
        first.submit(
            "PARSE http_get FROM * TO %s:%d WHERE method = GET LIMIT 1h SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"
                .formatted(link.address(), WebLink.PORT));
    first.awaitState(id, "running");
    int begin = link.done() + 1;
    awaitCounted(first, id, link.awaitMore(SOME) - 1);

    Server second = server(1);
    open.add(second);
    open.remove(first);
    first.close();
    Fabric.await(
        "the new server leads, and the old agent is registered with it", () -> isUp(second));
    int end = link.awaitMore(SOME) - 1;
    awaitCounted(second, id, end);
    Map<Integer, Long> whole = counted(second, id);
    assertThat(whole.values()).as("each once").containsOnly(1L);
    assertThat(whole.keySet())
        .as("none is missing across the takeover")
        .containsAll(IntStream.range(begin, end).boxed().toList());

    // A query that begins between the two upgrades runs on the old agent.
    String laterQuery =
        second.submit(
            "PARSE http_get FROM * TO %s:%d WHERE method = (GET, HEAD) LIMIT 1h SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"
                .formatted(link.address(), WebLink.PORT));
    second.awaitState(laterQuery, "running");
    awaitCounted(second, laterQuery, link.awaitMore(SOME) - 1);

    kill(agent);
    agent();
    int back = link.awaitMore(SOME);
    for (String query : List.of(id, laterQuery)) {
      Fabric.await(
          "requests after the agent was replaced",
          () -> counted(second, query).keySet().stream().anyMatch(request -> request > back));
      assertThat(get(second, "/queries/" + query).path("state").asText()).isEqualTo("running");
      assertThat(counted(second, query).values()).as("each once").containsOnly(1L);
    }
  }
}
