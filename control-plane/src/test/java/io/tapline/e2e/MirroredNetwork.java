package io.tapline.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.Collector;
import io.tapline.control.testbed.FatTreePlan;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A {@link Fabric} controlled by a Tapline server, with agents and web servers on some of its
 * hosts:
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
  private static final int FEW_CONNECTIONS = 16_384;
  static final String H1 = "h-0-0-0";
  static final String H2 = "h-1-0-0";
  static final String H1_ADDRESS = "10.0.0.2";
  static final String H2_ADDRESS = "10.1.0.2";
  static final String H3_ADDRESS = "10.0.0.3";
  static final Set<String> WATCHERS = Set.of(H1, "h-0-0-1", H2, "h-1-0-1", "h-3-1-0");

  final Fabric fabric;
  private final Set<String> watchers;
  private final List<AutoCloseable> open = new ArrayList<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<String, Cli.Running> running = new HashMap<>();

  /** For each control plane, the address at which agents reach it. */
  private final List<String> registries = new ArrayList<>();

  private final List<Server> servers = new ArrayList<>();
  private Coordinated shared;
  private ZooKeepers zooKeepers;
  private int maxConnections = FEW_CONNECTIONS;
  private Server server;

  private MirroredNetwork(Fabric fabric, Set<String> watchers) {
    this.fabric = fabric;
    this.watchers = watchers;
    open.add(fabric);
  }

  /**
   * Starts a network with all agents and web servers; skips the test if this host can't run a
   * testbed.
   */
  static MirroredNetwork up() throws Exception {
    return up(WATCHERS, MirroredNetwork::startServer);
  }

  /** Starts a network with agents on the given hosts, and no web servers. */
  static MirroredNetwork upWithAgents(Set<String> hosts) throws Exception {
    return up(hosts, MirroredNetwork::startServer);
  }

  /** Returns the options of a control plane that other hosts reach at this address. */
  interface Options {
    List<String> at(String address) throws Exception;
  }

  /** Starts a network with agents on the given hosts, no web servers, and the caller's services. */
  static MirroredNetwork upWith(Set<String> hosts, Options options) throws Exception {
    return upWith(hosts, FEW_CONNECTIONS, options);
  }

  /** Starts a network whose monitors each track at most this number of connections. */
  static MirroredNetwork upWith(Set<String> hosts, int connections, Options options)
      throws Exception {
    return up(
        hosts,
        network -> {
          network.maxConnections = connections;
          network.startServer(options.at(network.address()));
        });
  }

  /**
   * Starts a network with agents on the given hosts, no web servers, and server options that depend
   * on the testbed.
   */
  static MirroredNetwork onHosts(Set<String> hosts, Function<Fabric, List<String>> options)
      throws Exception {
    return up(hosts, network -> network.startServer(options.apply(network.fabric)));
  }

  /**
   * Starts a network with two control planes, one of which leads, three ZooKeeper servers and a
   * Flink cluster.
   */
  static MirroredNetwork upCoordinated(Path folder) throws Exception {
    return up(WATCHERS, network -> network.startServers(folder));
  }

  private interface ControlPlane {
    void start(MirroredNetwork network) throws Exception;
  }

  /**
   * Starts a network with agents on the given hosts, no web servers, and links with the given rate
   * and queue length.
   */
  static MirroredNetwork upWithQueues(Set<String> hosts, int linkMbit, int queuePackets)
      throws Exception {
    return upWithQueues(hosts, linkMbit, queuePackets, List.of(), fabric -> {});
  }

  /** Changes a testbed before its control plane starts. */
  interface Wiring {
    void change(Fabric fabric) throws Exception;
  }

  /**
   * Starts a network with queues in a testbed that {@code wiring} changes. Open vSwitch polls the
   * ports of the switches in {@code polled}.
   */
  static MirroredNetwork upWithQueues(
      Set<String> hosts, int linkMbit, int queuePackets, List<String> polled, Wiring wiring)
      throws Exception {
    List<String> links = new ArrayList<>(List.of("--no-controller", "--link-mbit", "" + linkMbit));
    links.addAll(List.of("--queue-packets", "" + queuePackets));
    links.addAll(polled.isEmpty() ? List.of() : List.of("--poll", String.join(",", polled)));
    return up(
        Fabric.up(links.toArray(String[]::new)),
        hosts,
        network -> {
          wiring.change(network.fabric);
          network.startServer();
        });
  }

  /** Starts a network with the testbed's collector, and agents on the given hosts. */
  static MirroredNetwork upWithCollector(Set<String> hosts, String... options) throws Exception {
    return upWithCollector(hosts, fabric -> {}, options);
  }

  /**
   * Starts a network with the collector of a testbed that {@code wiring} changes, and agents on the
   * given hosts.
   */
  static MirroredNetwork upWithCollector(Set<String> hosts, Wiring wiring, String... options)
      throws Exception {
    Fabric fabric = Fabric.named();
    String registry = new FatTreePlan(fabric.name, 4, 0).controlAddress() + ":" + Server.freePort();
    List<String> words = new ArrayList<>(List.of("--collector", "--control-plane", registry));
    words.addAll(List.of(options));
    try {
      fabric.testbed("up", words.toArray(String[]::new)).expectSuccess();
    } catch (AssertionError e) {
      fabric.close();
      throw e;
    }
    Set<String> watchers = new TreeSet<>(hosts);
    watchers.add(Collector.NAME);
    return up(
        fabric,
        watchers,
        network -> {
          network.registries.add(registry);
          wiring.change(network.fabric);
          network.startServer();
        });
  }

  private static MirroredNetwork up(Set<String> watchers, ControlPlane controlPlane)
      throws Exception {
    return up(Fabric.up("--no-controller"), watchers, controlPlane);
  }

  private static MirroredNetwork up(Fabric fabric, Set<String> watchers, ControlPlane controlPlane)
      throws Exception {
    MirroredNetwork network = new MirroredNetwork(fabric, watchers);
    try {
      controlPlane.start(network);
      network.startHosts();
      return network;
    } catch (Exception | AssertionError e) {
      network.close();
      throw e;
    }
  }

  private String registry(int number) throws IOException {
    while (registries.size() <= number) {
      registries.add(address() + ":" + Server.freePort());
    }
    return registries.get(number);
  }

  private String address() {
    return fabric.status().path("control_address").asText();
  }

  private void startHosts() throws Exception {
    watchers.stream().filter(host -> !host.equals(Collector.NAME)).forEach(this::startAgent);
    if (watchers.equals(WATCHERS)) {
      startWebServers();
    }
    fabric.awaitForwarding();
    Fabric.await("agents are up", () -> agentsWith("state", "up").equals(watchers));
  }

  private void startWebServers() throws Exception {
    open.add(Requests.serve(fabric, H1, H1_ADDRESS, 80));
    open.add(Requests.serve(fabric, H1, H1_ADDRESS, 81));
    open.add(Requests.serve(fabric, "h-0-0-1", H3_ADDRESS, 80));
    open.add(Requests.serve(fabric, H2, H2_ADDRESS, 8080));
  }

  void startServer() throws Exception {
    startServer(List.of());
  }

  private void startServer(List<String> furtherArguments) throws Exception {
    List<String> options = new ArrayList<>(List.of("--agents", registry(0)));
    options.addAll(furtherArguments);
    server = opened(Server.start(asController(options.toArray(String[]::new))));
  }

  private void startServers(Path folder) throws Exception {
    ZooKeepers three = new ZooKeepers(Files.createDirectory(folder.resolve("zookeepers")));
    open.add(three);
    guard(three.processes());
    zooKeepers = three;
    shared = new Coordinated(folder, address(), three);
    open.add(shared);
    guard(shared.flink.processes());
    servers.add(null);
    servers.add(null);
    startServer(0);
    startServer(1);
    awaitLeader();
  }

  private void guard(List<Process> processes) throws IOException {
    for (Process process : processes) {
      fabric.guards(process);
    }
  }

  /** Starts one of the control planes. */
  void startServer(int number) throws Exception {
    List<String> options = shared.options(registry(number));
    Server startedServer = Server.start(asController(options.toArray(String[]::new)));
    servers.set(number, opened(startedServer));
  }

  private String[] asController(String... options) {
    List<String> all = new ArrayList<>(List.of(options));
    all.addAll(List.of("--openflow-port", Integer.toString(fabric.openFlowPort)));
    all.addAll(List.of("--inventory", fabric.inventory()));
    all.addAll(List.of("--clear", "agents,kafka,redis,zookeeper,flink"));
    return all.toArray(String[]::new);
  }

  private Server opened(Server startedServer) throws IOException {
    open.add(startedServer);
    fabric.guards(startedServer.process());
    return startedServer;
  }

  /** Waits for a leader, which receives all further requests. */
  void awaitLeader() throws Exception {
    Fabric.await("a control plane leads", () -> leader() >= 0);
    server = servers.get(leader());
  }

  /** Returns the number of the leading control plane; -1 if none leads. */
  int leader() throws Exception {
    for (int i = 0; i < servers.size(); i++) {
      if (servers.get(i).process().isAlive() && Coordinated.leads(servers.get(i))) {
        return i;
      }
    }
    return -1;
  }

  /** Kills a control plane with SIGKILL. */
  void killServer(int number) throws InterruptedException {
    servers.get(number).process().destroyForcibly().waitFor();
  }

  Coordinated shared() {
    return shared;
  }

  ZooKeepers zooKeepers() {
    return zooKeepers;
  }

  void startAgent(String host) {
    List<String> words = new ArrayList<>();
    words.add(Cli.root().resolve("build/bin/tapline-agent").toString());
    words.addAll(List.of("--name", host, "--interface", "mirror0", "--hugepages", "never"));
    words.addAll(List.of("--clear", "control-plane,kafka"));
    words.addAll(
        List.of("--idle-s", "1", "--memory-mib", "64", "--max-connections", "" + maxConnections));
    registries.forEach(registry -> words.addAll(List.of("--control-plane", registry)));
    Cli.Running agent = fabric.start(host, words.toArray(String[]::new));
    open.add(agent);
    running.put(host, agent);
  }

  void killAgent(String host) throws InterruptedException {
    running.get(host).process().destroyForcibly().waitFor();
  }

  /** Starts a client, which ends when the network is closed. */
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
    HttpResponse<String> response = http.send(built, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() >= 300) {
      throw new AssertionError(path + ": " + response.body());
    }
    return Cli.parse(response.body().isEmpty() ? "{}" : response.body());
  }

  String submit(String query) throws Exception {
    HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(query);
    HttpRequest.Builder request =
        HttpRequest.newBuilder().header("Content-Type", "text/plain").POST(body);
    return send(request, "/queries").path("id").asText();
  }

  /** Returns the headers that a JSON request selects from MultiLog nodes. */
  JsonNode drill(String request) throws Exception {
    HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(request);
    return send(
        HttpRequest.newBuilder().header("Content-Type", "application/json").POST(body),
        "/drilldown");
  }

  JsonNode explain(String query) throws Exception {
    HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(query);
    HttpRequest.Builder request =
        HttpRequest.newBuilder().header("Content-Type", "text/plain").POST(body);
    return send(request, "/explain");
  }

  /** Requests that a query be stopped. */
  void requestStop(String query) throws Exception {
    send(HttpRequest.newBuilder().DELETE(), "/queries/" + query);
  }

  /** Stops queries and waits until they have stopped. */
  void stop(String... queries) throws Exception {
    for (String query : queries) {
      requestStop(query);
    }
    for (String query : queries) {
      Fabric.await(
          query + " has stopped",
          () -> get("/queries/" + query).path("state").asText().equals("stopped"));
    }
  }

  /** Returns the agents whose field equals or, if it is a list, contains a value. */
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

  /** Returns the hosts on which a monitor is running. */
  Set<String> hostsWithMonitors() {
    Set<String> hosts = new TreeSet<>(watchers);
    hosts.removeIf(host -> monitors(host).isEmpty());
    return hosts;
  }

  /** Returns the process IDs of the monitors on a host. */
  List<Long> monitors(String host) {
    String script =
        "for p in $(ip netns pids $0); do readlink /proc/$p/exe | grep -q /tapline-monitor && echo $p; done; true";
    String pids =
        Fabric.run(List.of("sh", "-c", script, fabric.name + "-" + host)).expectSuccess().stdout();
    return pids.lines().map(Long::valueOf).toList();
  }

  /**
   * Returns how often a query that counts requests has counted each URL. Omits requests that were
   * in progress when mirroring began, since their URL is unknown.
   */
  Map<String, Long> counted(String query) throws Exception {
    Map<String, Long> counts = new TreeMap<>();
    String cursor = "";
    while (true) {
      JsonNode page = get("/queries/" + query + "/results" + cursor);
      for (JsonNode row : page.path("rows")) {
        JsonNode url = row.path("key").path("url");
        // A response whose request preceded the query's rules has no URL.
        if (url.isTextual()) {
          counts.merge(url.asText(), row.path("value").asLong(), Long::sum);
        }
      }
      if (page.path("rows").isEmpty()) {
        return counts;
      }
      cursor = "?after=" + page.path("last_entry").asText();
    }
  }

  /**
   * Returns the numbers of TCP connections that failed or were reset, and of resets sent, for all
   * hosts without an agent. On the other hosts, a monitor that ends may reset its connections to
   * the broker.
   */
  Map<String, String> resets() {
    String script =
        "for n in $(ip netns list | cut -d' ' -f1 | grep ^$0-h- | grep -vxF \"$1\"); do"
            + " echo $n $(ip netns exec $n awk '/^Tcp: [0-9]/"
            + " { print \"failed=\" $8 \",reset=\" $9 \",sent=\" $15 }' /proc/net/snmp); done";
    String others =
        watchers.stream().map(host -> fabric.name + "-" + host).collect(Collectors.joining("\n"));
    return Fabric.run(List.of("sh", "-c", script, fabric.name, others))
        .expectSuccess()
        .stdout()
        .lines()
        .map(line -> line.split(" ", 2))
        .collect(Collectors.toMap(host -> host[0], host -> host[1]));
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
