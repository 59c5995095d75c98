package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class EmbeddedPipelineTest {
  private static final String CATALOGUE =
      """
      {"parsers": [{"name": "any", "description": "any", "layer": "network", "main_fields": ["size"], "value_field": null,
        "duration": null, "fields": [{"name": "size", "type": "u64", "unit": "bytes", "description": "any",
        "additive": true, "common": false}]}]}
      """;
  private static final EmbeddedOptions OPTIONS =
      EmbeddedOptions.of(Path.of("no-monitor"), Catalogue.fromJson(CATALOGUE), Inventory.empty());

  @Test
  void startsAndLeavesNothingBehind() throws Exception {
    List<Path> previousFolders = folders();
    List<Long> childrenBefore = children();
    try (EmbeddedPipeline pipeline = EmbeddedPipeline.start(OPTIONS, ProgressListener.SILENT)) {
      assertThat(pipeline.queries().services().ready()).isTrue();
      assertThat(pipeline.queries().list()).isEmpty();
      // The pipeline's folder, and the folder in memory for Kafka's metadata.
      assertThat(folders()).hasSize(previousFolders.size() + 2);
      assertThat(children()).hasSize(childrenBefore.size() + 1);
    }
    assertThat(folders()).isEqualTo(previousFolders);
    assertThat(children()).isEqualTo(childrenBefore);
  }

  @Test
  void twoPipelinesDoNotInterfere() throws Exception {
    try (EmbeddedPipeline first = EmbeddedPipeline.start(OPTIONS, ProgressListener.SILENT)) {
      try (EmbeddedPipeline second = EmbeddedPipeline.start(OPTIONS, ProgressListener.SILENT)) {
        assertThat(second.queries().services().ready()).isTrue();
      }
      assertThat(first.queries().services().ready()).isTrue();
    }
  }

  @Test
  void listensOnLoopbackOnly() throws Exception {
    // A broker that another test abandoned may still be listening.
    List<String> previousListening = listening();
    try (EmbeddedPipeline pipeline = EmbeddedPipeline.start(OPTIONS, ProgressListener.SILENT)) {
      assertThat(pipeline.queries().services().ready()).isTrue();
      // The broker listens for clients and for controllers; Redis and Flink have no ports.
      assertThat(listening()).hasSize(previousListening.size() + 2).containsOnly("127.0.0.1");
    }
  }

  private static List<String> listening() throws Exception {
    List<String> addresses = new ArrayList<>(ListeningSockets.of("self"));
    for (long child : children()) {
      addresses.addAll(ListeningSockets.of(Long.toString(child)));
    }
    return addresses;
  }

  @Test
  void queriesAreAcceptedWhileFlinkStarts() throws Exception {
    List<Path> previousFolders = folders();
    List<Long> childrenBefore = children();
    try (EmbeddedPipeline pipeline =
        EmbeddedPipeline.begin(OPTIONS, ProgressListener.SILENT, close -> {})) {
      assertThat(pipeline.queries().list()).isEmpty();
    }
    assertThat(folders()).isEqualTo(previousFolders);
    assertThat(children()).isEqualTo(childrenBefore);
  }

  @Test
  void leavesNoFilesOrProcessesAfterExit() throws Exception {
    List<Path> previousFolders = folders();
    List<Long> childrenBefore = children();
    EmbeddedPipeline pipeline = EmbeddedPipeline.start(OPTIONS, ProgressListener.SILENT);
    pipeline.abandon();
    assertThat(folders()).isEqualTo(previousFolders);
    assertThat(children()).isEqualTo(childrenBefore);
  }

  @Test
  void aFailedBrokerIsNamedAndTheOthersAreStopped() throws Exception {
    List<Path> previousFolders = folders();
    List<Long> childrenBefore = children();
    // No host has this address (RFC 5737), so the broker can't listen on it.
    EmbeddedOptions unreachable = at("192.0.2.1");
    assertThatThrownBy(() -> EmbeddedPipeline.start(unreachable, ProgressListener.SILENT))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("can't start the embedded Kafka broker");
    assertThat(folders()).isEqualTo(previousFolders);
    assertThat(children()).isEqualTo(childrenBefore);
  }

  @Test
  void aFailedFlinkIsNamedAndTheOthersAreStopped() throws Exception {
    List<Path> previousFolders = folders();
    List<Long> childrenBefore = children();
    assertThatThrownBy(() -> EmbeddedPipeline.start(noFlink(), ProgressListener.SILENT))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("can't start the embedded Flink cluster");
    assertThat(folders()).isEqualTo(previousFolders);
    assertThat(children()).isEqualTo(childrenBefore);
  }

  @Test
  void canBeClosedAfterFlinkFailedToStart() throws Exception {
    List<Path> previousFolders = folders();
    List<Long> childrenBefore = children();
    try (EmbeddedPipeline pipeline =
        EmbeddedPipeline.begin(noFlink(), ProgressListener.SILENT, close -> {})) {
      assertThat(pipeline.queries().list()).isEmpty();
    }
    assertThat(folders()).isEqualTo(previousFolders);
    assertThat(children()).isEqualTo(childrenBefore);
  }

  /** Returns options with more slots than Flink accepts. */
  private static EmbeddedOptions noFlink() {
    return options(OPTIONS.address(), Integer.MAX_VALUE / 2);
  }

  private static EmbeddedOptions at(String address) {
    return options(address, OPTIONS.maxQueries());
  }

  private static EmbeddedOptions options(String address, int maxQueries) {
    return new EmbeddedOptions(
        OPTIONS.monitor(),
        OPTIONS.plugins(),
        OPTIONS.catalogue(),
        OPTIONS.inventory(),
        OPTIONS.network(),
        OPTIONS.brokers(),
        OPTIONS.jobBrokers(),
        OPTIONS.kafkaTls(),
        address,
        OPTIONS.redis(),
        OPTIONS.flink(),
        OPTIONS.flinkTls(),
        OPTIONS.checkpoints(),
        OPTIONS.topics(),
        OPTIONS.hashKeys(),
        OPTIONS.jobKey(),
        maxQueries);
  }

  /** Returns this process's temporary folders, on disk and in memory. */
  private static List<Path> folders() throws Exception {
    String own = "tapline-%d-\\d+-\\d+-\\d+".formatted(ProcessHandle.current().pid());
    List<Path> folders = new ArrayList<>();
    for (Path parent : List.of(TemporaryFolder.parent(), TemporaryFolder.MEMORY)) {
      try (Stream<Path> all = Files.list(parent)) {
        all.filter(file -> file.getFileName().toString().matches(own)).forEach(folders::add);
      }
    }
    folders.sort(null);
    return folders;
  }

  private static List<Long> children() {
    return ProcessHandle.current()
        .children()
        .filter(ProcessHandle::isAlive)
        .map(ProcessHandle::pid)
        .sorted()
        .toList();
  }
}
