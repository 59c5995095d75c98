package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the tutorial "Find the page that is too fast", NetAlytics' second use case, with a web
 * application and a MariaDB server. The experiment itself compares rows with the requests made.
 */
@MakesNetworkDevices
class RentalsTest {
  @TempDir Path folder;

  @Test
  void queriesFindThePageWithoutDatabaseRequests() throws Exception {
    Fabric.requireNamespaces();
    String options = "--figures " + folder + " --seconds 8";
    try (Tutorial tutorial =
        new Tutorial(
            "find-the-page-that-is-too-fast.md", Map.of("--figures figures", options), Map.of())) {
      tutorial.run(ignored -> {});
      assertThat(tutorial.sessions()).isEqualTo(1);
    }
    assertThat(counts("figure-12.csv")).as("connections").isGreaterThan(20);
    assertThat(counts("figure-15.csv")).as("statements").isGreaterThan(20);
    assertThat(pages("figure-13.csv"))
        .containsExactly("/customer/{id}", "/film/{id}", "/films", "/overdue");
    assertThat(pages("figure-14.csv")).containsExactly("/overdue", "/overdue-bug");
    for (int figure = 12; figure <= 15; figure++) {
      assertThat(folder.resolve("figure-" + figure + ".svg"))
          .content()
          .startsWith("<svg")
          .endsWith("</svg>\n");
    }
  }

  private List<String[]> lines(String file) {
    return Captures.lines(folder.resolve(file)).stream()
        .skip(1)
        .map(line -> line.split(","))
        .toList();
  }

  private int counts(String file) {
    return lines(file).stream().mapToInt(cells -> Integer.parseInt(cells[2])).sum();
  }

  /** Returns the pages whose distribution in a figure ends at 100 %. */
  private List<String> pages(String file) {
    return lines(file).stream()
        .filter(cells -> Double.parseDouble(cells[2]) == 1)
        .map(cells -> cells[0].replace("\"", ""))
        .toList();
  }
}
