package io.tapline.flink.ingest;

import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaClients;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/**
 * Fetches the end offsets of partitions from the broker in a separate thread: once per period, and
 * not again until the last response has been processed.
 *
 * <p>REQUIRES: {@link #start}, {@link #poll}, {@link #news} and {@link #next} are called by one
 * thread.
 */
class TopicEnds implements AutoCloseable {
  private static final int RESPONSE_MS = 5_000;

  private final Endpoints endpoints;
  private final String topic;
  private final Duration period;
  private final Semaphore wanted = new Semaphore(1);
  private volatile CompletableFuture<Answer> answer = new CompletableFuture<>();
  private volatile Throwable failure;
  private Thread thread;

  /**
   * The broker's response.
   *
   * @param ends for each partition, the offset up to which it must be read; null if there was no
   *     response
   */
  record Answer(Map<Integer, Long> ends) {}

  TopicEnds(Endpoints endpoints, String topic, Duration period) {
    this.endpoints = endpoints;
    this.topic = topic;
    this.period = period;
  }

  /** Starts to fetch the end offsets of these partitions. */
  void start(Collection<Integer> partitions) {
    thread = new Thread(() -> run(partitions), "ends of " + topic);
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Fetches offsets until interrupted. A failure of the client itself makes {@link #poll} throw.
   */
  private void run(Collection<Integer> partitions) {
    try {
      pollForever(partitions);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      failure = e;
      // Wakes the reader. A future that completes exceptionally would not.
      answer.complete(new Answer(null));
    }
  }

  private void pollForever(Collection<Integer> partitions) throws InterruptedException {
    Map<String, Object> settings = KafkaClients.settings(endpoints.kafka());
    settings.put("client.id", "tapline-ends-" + topic);
    settings.put("request.timeout.ms", RESPONSE_MS);
    settings.put("default.api.timeout.ms", RESPONSE_MS);
    try (Admin admin = Admin.create(settings)) {
      while (true) {
        wanted.acquire();
        TimeUnit.NANOSECONDS.sleep(period.toNanos());
        answer.complete(fetchEnds(admin, partitions));
      }
    }
  }

  private Answer fetchEnds(Admin admin, Collection<Integer> partitions)
      throws InterruptedException {
    try {
      Map<TopicPartition, ListOffsetsResultInfo> begins =
          list(admin, partitions, OffsetSpec.earliest()).get();
      Map<TopicPartition, ListOffsetsResultInfo> ends =
          list(admin, partitions, OffsetSpec.latest()).get();
      Map<Integer, Long> needed = new HashMap<>();
      ends.forEach(
          (partition, end) -> {
            // A partition whose records have all been deleted has nothing to read.
            boolean empty = begins.get(partition).offset() == end.offset();
            needed.put(partition.partition(), empty ? 0 : end.offset());
          });
      return new Answer(needed);
    } catch (ExecutionException e) {
      return new Answer(null);
    }
  }

  private KafkaFuture<Map<TopicPartition, ListOffsetsResultInfo>> list(
      Admin admin, Collection<Integer> partitions, OffsetSpec offsetSpec) {
    Map<TopicPartition, OffsetSpec> wantedOffsets = new HashMap<>();
    partitions.forEach(
        partition -> wantedOffsets.put(new TopicPartition(topic, partition), offsetSpec));
    return admin.listOffsets(wantedOffsets).all();
  }

  /** Returns a future that completes when {@link #poll} has a response. */
  CompletableFuture<?> news() {
    return answer;
  }

  /**
   * Takes the response; returns null if there is none.
   *
   * @throws IllegalStateException if the end offsets can no longer be read: silent monitors would
   *     not be detected, and windows would wait for them forever
   */
  Answer poll() {
    if (failure != null) {
      throw new IllegalStateException(
          "cannot read the end offsets of topic %s from the broker at %s: %s"
              .formatted(topic, endpoints.kafka().brokers(), reason(failure)),
          failure);
    }
    Answer taken = answer.getNow(null);
    if (taken != null) {
      answer = new CompletableFuture<>();
    }
    return taken;
  }

  /**
   * Returns the message of the innermost cause, since Kafka's outer exceptions don't give the
   * reason.
   */
  private static String reason(Throwable failure) {
    Throwable innermost = failure;
    while (innermost.getCause() != null) {
      innermost = innermost.getCause();
    }
    return innermost.getMessage() == null ? innermost.toString() : innermost.getMessage();
  }

  /** Marks the last response as processed; the next request follows after one period. */
  void next() {
    wanted.release();
  }

  @Override
  public void close() {
    if (thread != null) {
      thread.interrupt();
    }
  }
}
