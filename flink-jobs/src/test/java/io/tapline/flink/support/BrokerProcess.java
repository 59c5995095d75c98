package io.tapline.flink.support;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** A Kafka broker in a separate process, which keeps its log when it is killed. */
public final class BrokerProcess implements AutoCloseable {
  private final ServerProcess process;
  private final TopicClient client;

  public BrokerProcess(Path directory) throws Exception {
    Files.createDirectories(directory);
    BrokerFolder folder = new BrokerFolder(directory.resolve("log"));
    // Quotas take effect within a second, and cleanup is immediate.
    folder.settings.put("quota.window.num", "2");
    folder.settings.put("log.segment.delete.delay.ms", "0");
    folder.settings.put("log.retention.check.interval.ms", "200");
    folder.settings.put("log.initial.task.delay.ms", "200");
    Path file = directory.resolve("server.properties");
    Files.writeString(
        file,
        folder.settings.entrySet().stream()
            .map(entry -> entry.getKey() + "=" + entry.getValue() + "\n")
            .collect(Collectors.joining()));
    process =
        ServerProcess.java(
            directory.resolve("broker.log"),
            List.of("-Xmx256m"),
            "kafka.Kafka",
            List.of(file.toString()));
    process.start();
    client = new TopicClient(folder.brokers);
    awaitReady();
  }

  private void awaitReady() throws Exception {
    Deadline.await(
        "the broker",
        () -> {
          process.requireAlive();
          return client.answers();
        });
  }

  public TopicClient client() {
    return client;
  }

  /** Kills the broker with SIGKILL and restarts it immediately; returns once it answers. */
  public void replace() throws Exception {
    process.kill();
    process.start();
    awaitReady();
  }

  @Override
  public void close() throws InterruptedException {
    client.close();
    process.close();
  }
}
