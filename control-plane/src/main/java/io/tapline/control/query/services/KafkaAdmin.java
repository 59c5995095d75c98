package io.tapline.control.query.services;

import io.tapline.control.PipelineException;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;

/** The control plane's admin connection to the brokers; translates their errors. Thread-safe. */
final class KafkaAdmin implements AutoCloseable {
  static final int TIMEOUT_SECONDS = 10;
  static final int REQUEST_MS = 3_000;

  private final String brokers;
  private final Admin client;

  KafkaAdmin(KafkaEndpoint kafka) throws PipelineException {
    this.brokers = kafka.brokers();
    Map<String, Object> settings = KafkaClients.settings(kafka);
    settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, REQUEST_MS);
    settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, TIMEOUT_SECONDS * 1_000);
    try {
      this.client = Admin.create(settings);
    } catch (KafkaException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new PipelineException(
          PipelineException.Kind.USER,
          "Kafka broker '" + brokers + "' is not a host:port that resolves: " + cause.getMessage(),
          e);
    }
  }

  Admin client() {
    return client;
  }

  /**
   * Waits for a response.
   *
   * @param action description of the request for error messages, such as "create topic x"
   * @throws PipelineException with the broker's error or a timeout as its cause
   */
  <T> T await(KafkaFuture<T> future, String action) throws PipelineException {
    try {
      return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw failure(action, e.getCause());
    } catch (TimeoutException e) {
      throw failure(action, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure(action, e);
    }
  }

  PipelineException failure(String action, Throwable cause) {
    String reason = cause.getMessage() == null ? "no answer" : cause.getMessage();
    return new PipelineException(
        PipelineException.Kind.RESOURCES,
        "can't %s on the Kafka broker at %s: %s; %s"
            .formatted(action, brokers, reason.replaceFirst("\\.$", ""), remedy(cause)),
        cause);
  }

  private static String remedy(Throwable cause) {
    if (cause instanceof AuthorizationException) {
      return "make this control plane's certificate name one of the brokers' super.users";
    } else if (cause instanceof AuthenticationException) {
      return "check that the brokers trust this control plane's certificate";
    }
    return "check that it is running and that the address is right";
  }

  @Override
  public void close() {
    client.close(Duration.ofSeconds(1));
  }
}
