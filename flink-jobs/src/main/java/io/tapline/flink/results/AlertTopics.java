package io.tapline.flink.results;

import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends alerts to Kafka topics. If a topic was deleted or the job may not write to it, the job
 * fails permanently within seconds, with an error that names the topic, since a restart would not
 * help. Calls wait for unresponsive brokers, for up to a minute to send and two minutes to flush;
 * they can be interrupted. Used by one thread in addition to the producer's.
 *
 * <p>Flink's {@code KafkaSink}, which serves the results topic, can't distinguish these cases: a
 * deleted topic blocks each write for as long as unresponsive brokers do, and then restarts the
 * job. Alerts sent before their topic was deleted would block its flush for the producer's delivery
 * timeout of two minutes.
 */
final class AlertTopics implements AutoCloseable {
  /**
   * Time for which a topic must be unwritable before the job fails, since brokers learn of new
   * topics and ACLs one by one.
   */
  private static final Duration MISSING_AFTER = Duration.ofSeconds(3);

  private static final Duration SILENCE = Duration.ofSeconds(60);
  private static final int BLOCK_MS = 1_000;
  private static final int PAUSE_MS = 100;

  private final KafkaProducer<byte[], byte[]> producer;

  /** Number of alerts that no broker has acknowledged yet, by topic. */
  private final Map<String, Integer> unsent = new TreeMap<>();

  private String failedTopic;
  private Exception failure;

  AlertTopics(String query, KafkaEndpoint kafka) {
    Map<String, Object> settings = KafkaClients.settings(kafka);
    settings.put(ProducerConfig.CLIENT_ID_CONFIG, "tapline-alerts-" + query);
    settings.put(ProducerConfig.LINGER_MS_CONFIG, 0);
    settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, BLOCK_MS);
    producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /**
   * Sends an alert. {@link #flush} verifies that it has arrived.
   *
   * @throws SuppressRestartsException if the topic is not writable
   * @throws IOException if no broker answers
   */
  void send(String topic, String json) throws IOException, InterruptedException {
    requireWritable(topic);
    synchronized (this) {
      unsent.merge(topic, 1, Integer::sum);
    }
    byte[] value = json.getBytes(StandardCharsets.UTF_8);
    producer.send(new ProducerRecord<>(topic, value), (metadata, fault) -> sent(topic, fault));
  }

  private synchronized void sent(String topic, Exception fault) {
    unsent.compute(topic, (name, count) -> count == 1 ? null : count - 1);
    if (fault != null && failure == null) {
      failedTopic = topic;
      failure = fault;
    }
    notifyAll();
  }

  /** Waits until the producer has the topic's metadata, which takes no time while it is cached. */
  private void requireWritable(String topic) throws IOException, InterruptedException {
    long begin = System.nanoTime();
    while (true) {
      try {
        producer.partitionsFor(topic);
        return;
      } catch (TopicAuthorizationException | InvalidTopicException | TimeoutException e) {
        Exception reason = e.getCause() instanceof ApiException known ? known : e;
        Duration waited = Duration.ofNanos(System.nanoTime() - begin);
        if (isFinal(reason) && waited.compareTo(MISSING_AFTER) >= 0) {
          throw unwritable(topic, reason);
        } else if (waited.compareTo(SILENCE) >= 0) {
          throw undelivered(topic, reason);
        }
        Thread.sleep(PAUSE_MS);
      }
    }
  }

  private static boolean isFinal(Exception reason) {
    return reason instanceof UnknownTopicOrPartitionException
        || reason instanceof TopicAuthorizationException
        || reason instanceof InvalidTopicException
        || reason instanceof RecordTooLargeException;
  }

  private static SuppressRestartsException unwritable(String topic, Exception reason) {
    String message = reason.getMessage();
    if (reason instanceof UnknownTopicOrPartitionException) {
      message = "it no longer exists";
    } else if (reason instanceof TopicAuthorizationException) {
      message = "the job may not write to it";
    }
    // The query shows the innermost cause as its error.
    return new SuppressRestartsException(
        new IOException("cannot send alerts to topic %s: %s".formatted(topic, message)));
  }

  private static IOException undelivered(String topic, Exception reason) {
    return new IOException(
        "cannot send alerts to topic %s: %s".formatted(topic, reason.getMessage()));
  }

  /**
   * Waits until all alerts have arrived.
   *
   * @throws SuppressRestartsException if a topic is not writable
   * @throws IOException if an alert did not arrive within the producer's delivery timeout
   */
  void flush() throws IOException, InterruptedException {
    Map<String, Integer> waiting = awaitSent();
    while (!waiting.isEmpty()) {
      for (String topic : waiting.keySet()) {
        requireWritable(topic);
      }
      waiting = awaitSent();
    }
  }

  /** Waits for at most a second; returns the number of alerts that have not arrived, by topic. */
  private synchronized Map<String, Integer> awaitSent() throws IOException, InterruptedException {
    long deadline = System.nanoTime() + BLOCK_MS * 1_000_000L;
    long leftMs = BLOCK_MS;
    while (!unsent.isEmpty() && failure == null && leftMs > 0) {
      wait(leftMs);
      leftMs = (deadline - System.nanoTime()) / 1_000_000;
    }
    if (failure != null && isFinal(failure)) {
      throw unwritable(failedTopic, failure);
    } else if (failure != null) {
      throw undelivered(failedTopic, failure);
    }
    return Map.copyOf(unsent);
  }

  /**
   * Closes without waiting. Unacknowledged alerts are sent again after a restart, since no
   * checkpoint has completed after them.
   */
  @Override
  public void close() {
    producer.close(Duration.ZERO);
  }
}
