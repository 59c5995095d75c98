package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.tapline.compiler.Compiler;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.HashKeys;
import io.tapline.control.JobKey;
import io.tapline.control.OwnerFiles;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.EmbeddedKafka;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.KafkaAccess;
import io.tapline.control.query.services.TopicPolicy;
import io.tapline.control.query.services.TopicRights;
import io.tapline.control.query.services.Topics;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.FreePort;
import io.tapline.control.testing.NoFlink;
import io.tapline.flink.Endpoints;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import io.tapline.schema.proto.Plan;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real monitors on loopback, with a real broker. */
class MonitorsTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final Source LOOPBACK = Source.networkInterface("lo");
  private static final int MOST_SHARED = 2;

  @TempDir private static Path folder;
  private static EmbeddedKafka broker;
  private static Endpoints endpoints;
  private static KafkaAccess access;
  private static Topics topics;

  @BeforeAll
  static void open() throws Exception {
    broker = EmbeddedKafka.start(folder, "", reason -> {});
    endpoints =
        new Endpoints(broker.endpoint(), RedisEndpoint.parse("127.0.0.1:" + FreePort.any()));
    Login login = broker.monitorLogin();
    access =
        new KafkaAccess(
            broker.endpoint(),
            Optional.empty(),
            Optional.of(
                new KafkaAccess.LoginFile(
                    login, OwnerFiles.write(folder.resolve("monitor.login"), login.format()))),
            Optional.empty());
    topics = new Topics(broker.endpoint(), access);
  }

  @AfterAll
  static void close() {
    topics.close();
    broker.close();
  }

  private static Plan plan(String id) throws Exception {
    Catalogue catalogue =
        Catalogue.fromJson(Files.readString(ROOT.resolve("build/share/tapline/parsers.json")));
    String text = "PARSE http_get FROM * TO * SAMPLE * PROCESS (group-count: group=method)";
    return Compiler.compile(text, catalogue, Inventory.empty(), Compiler.Options.local(id))
        .plan()
        .orElseThrow();
  }

  private QueryMonitor start(Monitors monitors, String id) throws Exception {
    Plan plan = plan(id);
    TopicRights.Users users = new TopicRights.Users(Set.of(broker.monitorLogin().user()), Set.of());
    topics.create(
        new Topics.Wanted(plan.getTopic(), 1, true, List.of(), users), TopicPolicy.defaults());
    return monitors.start(plan, LOOPBACK, ProgressListener.SILENT, () -> {});
  }

  @Test
  void queriesBeyondWhatAMonitorTakesGetAnotherAndFreedPlacesAreTakenFirst() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"), "SKIPPED: listening on lo needs root");
    Backend backend =
        new Backend(
            endpoints,
            "",
            access,
            NoFlink.alone(),
            ROOT.resolve("build/bin/tapline-monitor"),
            List.of(),
            HashKeys.drawn().write(folder.resolve("hash.key")),
            folder,
            TopicPolicy.defaults(),
            4,
            JobKey.random());
    try (Monitors monitors = new Monitors(backend, MOST_SHARED)) {
      QueryMonitor first = start(monitors, "q-1");
      start(monitors, "q-2");
      assertThat(monitors.running()).isEqualTo(1);
      start(monitors, "q-3");
      assertThat(monitors.running()).isEqualTo(2);
      first.stop();
      Await.until("q-1 has ended", Duration.ofSeconds(60), () -> first.end().isDone());
      start(monitors, "q-4");
      start(monitors, "q-5");
      assertThat(monitors.running()).isEqualTo(2);
      start(monitors, "q-6");
      assertThat(monitors.running()).isEqualTo(3);
    }
  }
}
