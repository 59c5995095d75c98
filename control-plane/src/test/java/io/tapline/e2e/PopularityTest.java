package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the tutorial about servers for popular content, NetAlytics' third use case, with nginx as
 * load balancer and as web servers. The experiment itself compares contents, logs and rows.
 */
@MakesNetworkDevices
class PopularityTest {
  @TempDir Path folder;

  @Test
  void serversAreAddedForAHotPageAndRemovedAfterwards() throws Exception {
    Fabric.requireNamespaces();
    String options = "--figures " + folder + " --calm 3 --hot 3 --after 2";
    try (Tutorial tutorial =
        new Tutorial(
            "more-servers-for-what-is-popular.md",
            Map.of("--figures figures", options),
            Map.of())) {
      tutorial.run(ignored -> {});
      assertThat(tutorial.sessions()).isEqualTo(1);
    }
    List<String> servers = Captures.lines(folder.resolve("figure-17-servers.csv"));
    assertThat(servers.get(0)).isEqualTo("seconds,servers,pages,reason");
    assertThat(servers).anyMatch(line -> line.matches("[0-9.]+,3,10,\"/video/05.*"));
    List<String> loads = Captures.lines(folder.resolve("figure-17.csv"));
    assertThat(loads.get(1)).as("before the rush").matches("0,\\d+,0,0");
    assertThat(loads).anyMatch(line -> line.matches("\\d+,\\d{2,},\\d{2,},\\d{2,}"));
    assertThat(Files.readString(folder.resolve("figure-17.svg"))).contains("3 servers");
  }
}
