package io.tapline.flink;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;

/** Fails jobs permanently if brokers refuse their requests, since a restart would not help. */
public final class KafkaRefusal {
  private static final long PAUSE_MS = 100;

  private KafkaRefusal() {}

  /**
   * Retries a call while brokers refuse it, since a new user or ACL may not have reached all
   * brokers yet.
   *
   * @throws SuppressRestartsException if brokers still refuse the call after {@code timeout}
   */
  public static <T> T retried(
      Callable<T> call, Duration timeout, KafkaEndpoint kafka, String action) throws Exception {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (true) {
      try {
        return call.call();
      } catch (Exception e) {
        if (!isRefusal(e)) {
          throw e;
        } else if (System.nanoTime() > deadline) {
          throw end(e, kafka, action);
        }
        Thread.sleep(PAUSE_MS);
      }
    }
  }

  /** Returns true if brokers refused the user or its request. */
  public static boolean isRefusal(Throwable fault) {
    return refusal(fault) != null;
  }

  private static Throwable refusal(Throwable fault) {
    for (Throwable cause = fault; cause != null; cause = cause.getCause()) {
      if (cause instanceof AuthorizationException || cause instanceof AuthenticationException) {
        return cause;
      }
    }
    return null;
  }

  /**
   * Returns an exception that fails the job permanently. Its cause has a user-facing message, since
   * users see the innermost exception.
   *
   * @param action the refused action, such as "read topic x"
   */
  public static SuppressRestartsException end(Throwable fault, KafkaEndpoint kafka, String action) {
    String who =
        kafka.login().isNone() ? "the stream jobs' certificate" : "user " + kafka.login().user();
    return new SuppressRestartsException(
        new IOException(
            "Kafka at %s does not allow %s to %s: %s. The control plane creates the ACLs when a query starts. Were they deleted, or does another ACL deny access?"
                .formatted(
                    kafka.brokers(),
                    who,
                    action,
                    String.valueOf(refusal(fault).getMessage()).replaceFirst("\\.$", ""))));
  }
}
