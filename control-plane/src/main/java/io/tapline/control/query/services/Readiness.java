package io.tapline.control.query.services;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks whether the services that queries depend on are healthy: all of them in parallel, with a
 * short timeout. A service that has not answered yet is not checked again until it does.
 * Thread-safe.
 */
public final class Readiness implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Readiness.class);

  /** Maximum wait, longer than a busy host takes to answer and shorter than callers wait. */
  private static final Duration TIMEOUT = Duration.ofSeconds(3);

  private static final String SILENT = "does not answer";

  private final Map<String, Service> services = new LinkedHashMap<>();
  private final Duration timeout;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "readiness");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * Creates a check of these services.
   *
   * @param questions checks by service name: each returns the fault, or an empty string, and may
   *     block
   */
  public Readiness(Map<String, Supplier<String>> questions) {
    this(questions, TIMEOUT);
  }

  Readiness(Map<String, Supplier<String>> questions, Duration timeout) {
    this.timeout = timeout;
    questions.forEach((name, question) -> services.put(name, new Service(question)));
  }

  /** Returns what is wrong with each service; an empty string for a healthy one. */
  public Map<String, String> faults() {
    long deadline = System.nanoTime() + timeout.toNanos();
    Map<String, CompletableFuture<String>> pending = new LinkedHashMap<>();
    services.forEach((name, service) -> pending.put(name, service.ask()));
    Map<String, String> faults = new LinkedHashMap<>();
    pending.forEach((name, answer) -> faults.put(name, fault(answer, deadline)));
    return faults;
  }

  /**
   * Returns the faults as of the last responses, without waiting, and starts new checks in the
   * background; services that have never been checked are missing.
   */
  public Map<String, String> lastFaults() {
    Map<String, String> faults = new LinkedHashMap<>();
    services.forEach((name, service) -> service.last().ifPresent(last -> faults.put(name, last)));
    return faults;
  }

  private static String fault(CompletableFuture<String> response, long deadline) {
    try {
      return response.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return SILENT;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "was not checked";
    }
  }

  private final class Service {
    private final Supplier<String> question;
    private CompletableFuture<String> answer;
    private long requestedNs;
    private volatile String last;

    Service(Supplier<String> question) {
      this.question = question;
    }

    synchronized CompletableFuture<String> ask() {
      if (answer == null || answer.isDone()) {
        requestedNs = System.nanoTime();
        answer = CompletableFuture.supplyAsync(this::answered, threads);
      }
      return answer;
    }

    private String answered() {
      try {
        last = question.get();
      } catch (RuntimeException e) {
        LOG.error("can't check a service", e);
        last = "sent an unexpected response";
      }
      return last;
    }

    synchronized Optional<String> last() {
      boolean owes = answer != null && !answer.isDone();
      boolean isSilent = owes && System.nanoTime() - requestedNs > timeout.toNanos();
      Optional<String> known = isSilent ? Optional.of(SILENT) : Optional.ofNullable(last);
      ask();
      return known;
    }
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
