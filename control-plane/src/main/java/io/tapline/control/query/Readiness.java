package io.tapline.control.query;

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
 * Whether the services that queries need do their part, asked all at once and waited for a short
 * while. A service that owes an answer is not asked a second time until it came. Thread-safe.
 */
final class Readiness implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Readiness.class);

  /** Longer than a busy host takes, shorter than those who ask wait. */
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  private static final String SILENT = "does not answer";

  private final Map<String, Service> services = new LinkedHashMap<>();
  private final Duration patience;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "readiness");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * Of these services.
   *
   * @param questions by name: each tells what is wrong, empty for nothing, and may take its time
   */
  Readiness(Map<String, Supplier<String>> questions) {
    this(questions, PATIENCE);
  }

  Readiness(Map<String, Supplier<String>> questions, Duration patience) {
    this.patience = patience;
    questions.forEach((name, question) -> services.put(name, new Service(question)));
  }

  /** What is wrong with each service; an empty text for one that is well. */
  Map<String, String> faults() {
    long deadline = System.nanoTime() + patience.toNanos();
    Map<String, CompletableFuture<String>> asked = new LinkedHashMap<>();
    services.forEach((name, service) -> asked.put(name, service.ask()));
    Map<String, String> faults = new LinkedHashMap<>();
    asked.forEach((name, answer) -> faults.put(name, fault(answer, deadline)));
    return faults;
  }

  /**
   * The same as the last answers told, without waiting for the next ones, which are asked for;
   * without services that have never been asked.
   */
  Map<String, String> lastFaults() {
    Map<String, String> faults = new LinkedHashMap<>();
    services.forEach((name, service) -> service.last().ifPresent(last -> faults.put(name, last)));
    return faults;
  }

  private static String fault(CompletableFuture<String> answer, long deadline) {
    try {
      return answer.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return SILENT;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "was not asked";
    }
  }

  private final class Service {
    private final Supplier<String> question;
    private CompletableFuture<String> answer;
    private long askedNs;
    private volatile String last;

    Service(Supplier<String> question) {
      this.question = question;
    }

    synchronized CompletableFuture<String> ask() {
      if (answer == null || answer.isDone()) {
        askedNs = System.nanoTime();
        answer = CompletableFuture.supplyAsync(this::answered, threads);
      }
      return answer;
    }

    private String answered() {
      try {
        last = question.get();
      } catch (RuntimeException e) {
        LOG.error("a service can't be asked", e);
        last = "does not answer as it should";
      }
      return last;
    }

    synchronized Optional<String> last() {
      boolean owes = answer != null && !answer.isDone();
      boolean silent = owes && System.nanoTime() - askedNs > patience.toNanos();
      Optional<String> known = silent ? Optional.of(SILENT) : Optional.ofNullable(last);
      ask();
      return known;
    }
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
