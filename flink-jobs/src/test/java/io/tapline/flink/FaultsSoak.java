package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.support.Deployment;
import io.tapline.flink.support.ProcessKiller;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Part of {@code make soak}: kills each server repeatedly, except ZooKeeper. */
class FaultsSoak {
  private static final int ROUNDS = Integer.getInteger("tapline.soak.rounds", 3);

  @TempDir Path directory;

  @Test
  void resultsSurviveTheDeathOfEachServer() throws Exception {
    try (Deployment deployment = new Deployment(directory)) {
      ProcessKiller kills = new ProcessKiller(deployment, 60 * ROUNDS, 3000 * ROUNDS);
      assertThat(kills.run(ROUNDS)).isEqualTo(4 * ROUNDS);
      kills.log().forEach(System.out::println);
    }
  }
}
