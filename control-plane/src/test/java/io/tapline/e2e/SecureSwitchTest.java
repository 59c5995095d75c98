package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.Certificates;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a real Open vSwitch whose certificate names only one of its two bridges. */
@MakesNetworkDevices
class SecureSwitchTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final String OWN = "tlsecure1";
  private static final String FOREIGN = "tlsecure2";

  @TempDir Path folder;
  private final List<Cli.Running> running = new ArrayList<>();
  private int port;

  @BeforeEach
  void start() throws Exception {
    assumeTrue("root".equals(System.getProperty("user.name")), "SKIPPED: bridges need root");
    assumeTrue(
        Files.isExecutable(Path.of("/usr/sbin/ovs-vswitchd")), "SKIPPED: Open vSwitch is missing");
    Certificates controls = Certificates.authority(folder, "controls");
    controls.sign("control", "DNS:control");
    Certificates switches = Certificates.authority(folder, "switches");
    switches.sign("switch", "URI:tapline:datapath:0x51");
    port = Server.freePort();
    running.add(
        Cli.start(
            Map.of(),
            "controller",
            "--openflow-port=" + port,
            "--status=" + folder.resolve("status.json"),
            "--tls=openflow",
            "--tls-ca=" + controls.file(),
            "--tls-certificate=" + folder.resolve("control.pem"),
            "--tls-key=" + folder.resolve("control.key"),
            "--openflow-client-ca=" + switches.file()));
    Path database = folder.resolve("conf.db");
    done("ovsdb-tool", "create", database.toString(), "/usr/share/openvswitch/vswitch.ovsschema");
    daemon("ovsdb-server", database.toString(), "--remote=punix:" + socket());
    Await.until("the database", TIMEOUT, () -> Files.exists(socket()));
    vsctl("--no-wait", "init");
    vsctl(
        "--no-wait",
        "set-ssl",
        folder.resolve("switch.key").toString(),
        folder.resolve("switch.pem").toString(),
        controls.file().toString());
    daemon("ovs-vswitchd", "unix:" + socket());
  }

  @AfterEach
  void stop() {
    for (int last = running.size() - 1; last >= 0; last--) {
      running.get(last).close();
    }
  }

  private Path socket() {
    return folder.resolve("db.sock");
  }

  private Cli.Running ovs(String... command) {
    String directory = folder.toString();
    return Cli.startCommand(
        Map.of("OVS_RUNDIR", directory, "OVS_DBDIR", directory, "OVS_LOGDIR", directory),
        List.of(command));
  }

  private void daemon(String program, String argument, String... more) {
    List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL", program));
    command.add(argument);
    command.addAll(List.of(more));
    running.add(ovs(command.toArray(String[]::new)));
  }

  private void done(String... command) {
    try (Cli.Running one = ovs(command)) {
      one.await(TIMEOUT.toSeconds()).expectSuccess();
    }
  }

  private void vsctl(String... arguments) {
    List<String> command = new ArrayList<>(List.of("ovs-vsctl", "--db=unix:" + socket()));
    command.addAll(List.of(arguments));
    done(command.toArray(String[]::new));
  }

  private void bridge(String name, int datapath) {
    vsctl("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev");
    vsctl("set", "bridge", name, "protocols=OpenFlow13", "fail_mode=secure");
    vsctl("set", "bridge", name, "other-config:datapath-id=%016x".formatted(datapath));
    vsctl("set-controller", name, "ssl:127.0.0.1:" + port);
    vsctl("set", "controller", name, "max_backoff=1000", "connection_mode=out-of-band");
  }

  private JsonNode status() throws IOException {
    Path file = folder.resolve("status.json");
    return Cli.parse(Files.exists(file) ? Files.readString(file) : "{}");
  }

  private List<String> switches() throws IOException {
    return status().path("switches").findValuesAsText("datapath");
  }

  @Test
  void onlyTheBridgeNamedInTheCertificateIsAccepted() throws Exception {
    bridge(OWN, 0x51);
    Await.until("its own bridge", TIMEOUT, () -> switches().size() == 1);
    bridge(FOREIGN, 0x52);
    Await.until("refusals", TIMEOUT, () -> refusals() >= 3);
    assertThat(switches()).hasSize(1);
    assertThat(switches().get(0)).endsWith("51");
    String refused = "the certificate of CN=switch is not valid for datapath 0x52";
    assertThat(running.get(0).stderr().lines().filter(line -> line.contains(refused)).count())
        .as("only some of the rejections are logged")
        .isBetween(1L, refusals() - 1L);
  }

  private int refusals() throws IOException {
    return status().path("counters").path("foreign_datapaths").asInt();
  }
}
