package io.tapline.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A {@link Fabric} whose controller is a server, with agents in some of its hosts and web servers
 * in others:
 *
 * <pre>
 * edge-0-0   h-0-0-0  10.0.0.2   agent, web servers on 80 and 81
 *            h-0-0-1  10.0.0.3   agent, web server on 80
 * edge-1-0   h-1-0-0  10.1.0.2   agent, web server on 8080
 *            h-1-0-1  10.1.0.3   agent
 * edge-3-1   h-3-1-0  10.3.1.2   agent
 *            h-3-1-1  10.3.1.3   a client
 * </pre>
 */
final class MirroredNetwork implements AutoCloseable {
  static final String H1 = "h-0-0-0";
  static final String H2 = "h-1-0-0";
  static final String H1_ADDRESS = "10.0.0.2";
  static final String H2_ADDRESS = "10.1.0.2";
  static final String H3_ADDRESS = "10.0.0.3";
  static final Set<String> WATCHERS = Set.of(H1, "h-0-0-1", H2, "h-1-0-1", "h-3-1-0");

  final Fabric fabric;
  private final List<AutoCloseable> open = new ArrayList<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<String, Cli.Running> running = new HashMap<>();
  private String agents;
  private Server server;

  private MirroredNetwork(Fabric fabric) {
    this.fabric = fabric;
    open.add(fabric);
  }

  /** Skips the test where there can be none; else returns when all of it is up. */
  static MirroredNetwork up() throws Exception {
    MirroredNetwork network = new MirroredNetwork(Fabric.up("--no-controller"));
    try {
      network.start();
      return network;
    } catch (Exception | AssertionError e) {
      network.close();
      throw e;
    }
  }

  private void start() throws Exception {
    agents = fabric.status().path("control_address").asText() + ":" + Server.freePort();
    startServer();
    WATCHERS.forEach(this::startAgent);
    open.add(Requests.serve(fabric, H1, H1_ADDRESS, 80));
    open.add(Requests.serve(fabric, H1, H1_ADDRESS, 81));
    open.add(Requests.serve(fabric, "h-0-0-1", H3_ADDRESS, 80));
    open.add(Requests.serve(fabric, H2, H2_ADDRESS, 8080));
    fabric.awaitForwarding();
    Fabric.await("agents are up", () -> agentsWith("state", "up").equals(WATCHERS));
  }

  void startServer() throws Exception {
    server =
        Server.start(
            "--agents",
            agents,
            "--openflow-port",
            Integer.toString(fabric.openFlowPort),
            "--inventory",
            fabric.inventory());
    open.add(server);
    fabric.guards(server.process());
  }

  void startAgent(String host) {
    Cli.Running agent =
        fabric.start(
            host,
            Cli.root().resolve("build/bin/tapline-agent").toString(),
            "--name",
            host,
            "--interface",
            "mirror0",
            "--control-plane",
            agents,
            "--hugepages",
            "never",
            "--idle-s",
            "1",
            "--memory-mib",
            "64",
            "--max-connections",
            "16384");
    open.add(agent);
    running.put(host, agent);
  }

  void killAgent(String host) throws InterruptedException {
    running.get(host).process().destroyForcibly().waitFor();
  }

  /** A client that goes when the network does. */
  Requests requests(String client, String address, int port, String name, int count) {
    Requests requests = Requests.start(fabric, client, address, port, name, count);
    open.add(requests);
    return requests;
  }

  Server server() {
    return server;
  }

  JsonNode get(String path) throws Exception {
    return Cli.parse(server.get("/api/v1" + path).body());
  }

  private JsonNode send(HttpRequest.Builder request, String path) throws Exception {
    HttpRequest built = request.uri(URI.create(server.url() + "/api/v1" + path)).build();
    HttpResponse<String> answer = http.send(built, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() >= 300) {
      throw new AssertionError(path + ": " + answer.body());
    }
    return Cli.parse(answer.body().isEmpty() ? "{}" : answer.body());
  }

  String submit(String query) throws Exception {
    HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(query);
    HttpRequest.Builder request =
        HttpRequest.newBuilder().header("Content-Type", "text/plain").POST(body);
    return send(request, "/queries").path("id").asText();
  }

  /** Asks it to stop, and waits until it has. */
  void stop(String query) throws Exception {
    send(HttpRequest.newBuilder().DELETE(), "/queries/" + query);
    Fabric.await(
        query + " has stopped",
        () -> get("/queries/" + query).path("state").asText().equals("stopped"));
  }

  /** Agents whose field is, or holds, a value. */
  Set<String> agentsWith(String field, String value) throws Exception {
    Set<String> names = new TreeSet<>();
    for (JsonNode agent : get("/nodes").path("agents")) {
      JsonNode is = agent.path(field);
      if (is.isArray() ? is.toString().contains(value) : is.asText().equals(value)) {
        names.add(agent.path("agent").asText());
      }
    }
    return names;
  }

  /** Hosts in which a monitor's process runs. */
  Set<String> hostsWithMonitors() {
    Set<String> hosts = new TreeSet<>();
    for (String host : WATCHERS) {
      String script = "for p in $(ip netns pids $0); do readlink /proc/$p/exe; done";
      String namespace = fabric.name + "-" + host;
      if (Fabric.run(List.of("sh", "-c", script, namespace)).stdout().contains("tapline-monitor")) {
        hosts.add(host);
      }
    }
    return hosts;
  }

  /**
   * By URL, how often a query that counts them has. Without requests that were under way when
   * mirroring began: of these nobody knows the URL.
   */
  Map<String, Long> counted(String query) throws Exception {
    Map<String, Long> counts = new TreeMap<>();
    String after = "";
    while (true) {
      JsonNode page = get("/queries/" + query + "/results" + after);
      for (JsonNode row : page.path("rows")) {
        counts.merge(row.path("key").path("url").asText(), row.path("value").asLong(), Long::sum);
      }
      if (page.path("rows").isEmpty()) {
        counts.remove("");
        return counts;
      }
      after = "?after=" + page.path("last_entry").asText();
    }
  }

  /** TCP connections of any host that ended with a reset, and resets sent. */
  long resets() {
    String script =
        "for n in $(ip netns list | cut -d' ' -f1 | grep ^$0-h-); do"
            + " ip netns exec $n grep ^Tcp: /proc/net/snmp | tail -n 1; done"
            + " | awk '{ sum += $9 + $15 } END { print sum }'";
    return Long.parseLong(
        Fabric.run(List.of("sh", "-c", script, fabric.name)).expectSuccess().stdout().strip());
  }

  @Override
  public void close() throws Exception {
    AssertionError failure = null;
    for (int i = open.size() - 1; i >= 0; i--) {
      try {
        open.get(i).close();
      } catch (AssertionError e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
