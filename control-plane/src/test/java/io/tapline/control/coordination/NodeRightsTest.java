package io.tapline.control.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.HashKey;
import io.tapline.control.PipelineException;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRecord;
import io.tapline.control.query.QueryState;
import io.tapline.control.testing.Certificates;
import io.tapline.control.testing.SecureZooKeeper;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.HighAvailabilityOptions;
import org.apache.flink.runtime.highavailability.zookeeper.CuratorFrameworkWithUnhandledErrorListener;
import org.apache.flink.runtime.util.ZooKeeperUtils;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests znodes' ACLs on a real ZooKeeper server that identifies clients by their certificates. */
class NodeRightsTest {
  private static final Duration SESSION = Duration.ofSeconds(30);
  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final byte[] NOTHING = {};

  /** Additional settings of Flink's ZooKeeper client. */
  private static final Map<String, String> MORE =
      Map.of(
          "zookeeper.ssl.protocol", "TLSv1.3",
          "zookeeper.ssl.ciphersuites", "TLS_AES_128_GCM_SHA256",
          "zookeeper.sasl.client", "false");

  @TempDir Path folder;
  private Certificates control;
  private Certificates flink;
  private SecureZooKeeper server;

  @BeforeEach
  void start() throws Exception {
    Certificates own = Certificates.authority(folder, "zookeepers");
    own.sign("zookeeper", "DNS:localhost");
    control = Certificates.authority(folder, "controls");
    control.sign("control-1", "control", "DNS:control-1");
    control.sign("control-2", "control", "DNS:control-2");
    control.sign("other", "DNS:control-1");
    flink = Certificates.authority(folder, "flinks");
    flink.sign("flink", "DNS:jobmanager");
    Path clients = folder.resolve("clients.pem");
    Files.writeString(clients, Files.readString(control.file()) + Files.readString(flink.file()));
    server = new SecureZooKeeper(folder, "zookeeper", clients);
    connect("control-1").close();
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
  }

  private TlsFiles tls(String name) {
    return new TlsFiles(
        folder.resolve("zookeepers.pem").toString(),
        folder.resolve(name + ".pem").toString(),
        folder.resolve(name + ".key").toString());
  }

  private String address() {
    return "localhost:" + server.port();
  }

  private Leadership connect(String name, String... creators) throws PipelineException {
    return Leadership.connect(address(), SESSION, tls(name), List.of(creators), TIMEOUT);
  }

  private interface Work {
    void with(ZooKeeper client) throws Exception;
  }

  /**
   * Runs an action with ZooKeeper's own client and this certificate, without {@link Leadership}.
   */
  private void as(String name, Work work) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    try (ZooKeeperTls tls = new ZooKeeperTls(tls(name));
        ZooKeeper client =
            new ZooKeeper(
                address(),
                (int) SESSION.toMillis(),
                event -> {
                  if (event.getState() == KeeperState.SyncConnected) {
                    connected.countDown();
                  }
                },
                tls.settings())) {
      assertThat(connected.await(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
      work.with(client);
    }
  }

  private static void refused(String action, Work work, ZooKeeper client) {
    assertThatThrownBy(() -> work.with(client))
        .as(action)
        .isInstanceOf(KeeperException.NoAuthException.class);
  }

  private static QueryRecord record(String id) {
    Plan plan = Plan.newBuilder().setFormat(1).setQuery(id).setEpoch(1).build();
    QueryInfo info =
        new QueryInfo(id, "PARSE …", QueryState.RUNNING, 1, 2, 0, "", List.of("a note"));
    return new QueryRecord(info, "0".repeat(32), plan, true, List.of(plan), false);
  }

  private static void lead(Leadership leadership, String url) throws Exception {
    leadership.campaign(url);
    leadership.led().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
  }

  /** Checks that a client has no rights to the existing znodes. */
  private static void hasNoRights(ZooKeeper client) throws Exception {
    List<String> paths =
        List.of(
            "/tapline",
            "/tapline/leader",
            "/tapline/term",
            "/tapline/queries",
            "/tapline/queries/q",
            "/tapline/agents",
            "/tapline/agents/h1",
            "/tapline/text-key");
    for (String path : paths) {
      refused("read " + path, any -> any.getData(path, false, new Stat()), client);
      refused("list " + path, any -> any.getChildren(path, false), client);
      refused("write " + path, any -> any.setData(path, NOTHING, -1), client);
      refused("take " + path, any -> any.setACL(path, Ids.OPEN_ACL_UNSAFE, -1), client);
      refused(
          "create below " + path,
          any -> any.create(path + "/x", NOTHING, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
          client);
    }
    refused("delete a query", any -> any.delete("/tapline/queries/q", -1), client);
  }

  @Test
  void onlyControlPlanesHaveRights() throws Exception {
    HashKey key = HashKey.random();
    try (Leadership second = connect("control-2")) {
      try (Leadership first = connect("control-1")) {
        lead(first, "https://first");
        ZooKeeperStateStore store = first.claim();
        store.put(record("q"));
        store.addAgent("h1");
        store.textKey(key);
        second.campaign("https://second");
        assertThat(second.leader()).isEqualTo("https://first");
        as("flink", NodeRightsTest::hasNoRights);
        as("other", NodeRightsTest::hasNoRights);
      }
      second.led().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      ZooKeeperStateStore now = second.claim();
      assertThat(now.queries()).containsExactly(record("q"));
      assertThat(now.agents()).containsExactly("h1");
      assertThat(now.textKey(HashKey.random()).digits()).isEqualTo(key.digits());
      now.put(record("q"));
      now.put(record("r"));
      now.remove("r");
      as("flink", NodeRightsTest::hasNoRights);
    }
  }

  @Test
  void nodesOfAnOlderVersionAreRestricted() throws Exception {
    Map<String, byte[]> open =
        Map.of(
            "/tapline/leader", NOTHING,
            "/tapline/queries", NOTHING,
            "/tapline/queries/q", record("q").bytes(),
            "/tapline/agents", NOTHING,
            "/tapline/agents/h1", NOTHING,
            "/tapline/term", new byte[] {'7'},
            "/tapline/text-key", "0123456789abcdef0123456789abcdef".getBytes());
    as(
        "control-1",
        old -> {
          old.setACL("/tapline", Ids.OPEN_ACL_UNSAFE, -1);
          for (String path : open.keySet().stream().sorted().toList()) {
            old.create(path, open.get(path), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
          }
        });
    as("flink", flinkClient -> assertThat(flinkClient.getChildren("/tapline", false)).isNotEmpty());
    try (Leadership next = connect("control-2")) {
      lead(next, "https://next");
      ZooKeeperStateStore store = next.claim();
      assertThat(store.queries()).containsExactly(record("q"));
      as("flink", NodeRightsTest::hasNoRights);
      store.remove("q");
    }
  }

  @Test
  void onlyNamedSubjectsCreateOtherNodes() throws Exception {
    try (Leadership leader = connect("control-1", "CN=flink")) {
      lead(leader, "https://leader");
      leader.claim();
      Work createsOne =
          any -> any.create("/flink", NOTHING, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
      as("other", otherClient -> refused("create a node", createsOne, otherClient));
      as(
          "flink",
          named -> {
            refused("list /", any -> any.getChildren("/", false), named);
            refused("take /", any -> any.setACL("/", Ids.OPEN_ACL_UNSAFE, -1), named);
          });
      flinkStarts();
      as(
          "flink",
          named -> assertThat(named.getChildren("/flink", false)).containsExactly("default"));
      as(
          "control-2",
          otherClient ->
              refused("list Flink's", any -> any.getChildren("/flink", false), otherClient));
      as("flink", NodeRightsTest::mayNotEnter);
    }
  }

  private static void mayNotEnter(ZooKeeper client) {
    refused("list /tapline", any -> any.getChildren("/tapline", false), client);
  }

  /** Starts Flink's client with the settings that job managers use, and creates a znode. */
  private void flinkStarts() throws Exception {
    try (ZooKeeperTls tls = new ZooKeeperTls(tls("flink"))) {
      ZKClientConfig settings = tls.settings();
      List<String> names =
          List.of(
              "zookeeper.client.secure",
              "zookeeper.clientCnxnSocket",
              "zookeeper.ssl.keyStore.type",
              "zookeeper.ssl.keyStore.location",
              "zookeeper.ssl.trustStore.type",
              "zookeeper.ssl.trustStore.location");
      names.forEach(name -> System.setProperty(name, settings.getProperty(name)));
      MORE.forEach(System::setProperty);
      try (CuratorFrameworkWithUnhandledErrorListener client =
          ZooKeeperUtils.startCuratorFramework(
              new Configuration()
                  .set(HighAvailabilityOptions.HA_MODE, "zookeeper")
                  .set(HighAvailabilityOptions.HA_ZOOKEEPER_QUORUM, address())
                  .set(HighAvailabilityOptions.ZOOKEEPER_CLIENT_ACL, "creator"),
              failure -> {
                throw new AssertionError(failure);
              })) {
        client.asCuratorFramework().create().forPath("/leader", NOTHING);
      } finally {
        names.forEach(System::clearProperty);
        MORE.keySet().forEach(System::clearProperty);
      }
    }
  }

  @Test
  void nodesOfAnotherSubjectAreReported() throws Exception {
    try (Leadership leader = connect("control-1")) {
      lead(leader, "https://leader");
      leader.claim();
    }
    assertThatThrownBy(() -> connect("flink"))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("/tapline: another certificate's subject owns it");
    as(
        "control-1",
        own -> {
          own.delete("/tapline/agents", -1);
          own.setACL("/tapline", Ids.OPEN_ACL_UNSAFE, -1);
        });
    as(
        "flink",
        otherClient ->
            otherClient.create(
                "/tapline/agents", NOTHING, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
    try (Leadership leader = connect("control-2")) {
      lead(leader, "https://leader");
      assertThatThrownBy(leader::claim)
          .isInstanceOf(IOException.class)
          .hasMessageContaining("/agents: another certificate's subject owns it");
    }
  }
}
