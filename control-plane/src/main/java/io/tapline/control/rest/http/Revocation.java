package io.tapline.control.rest.http;

import io.javalin.http.Context;
import io.tapline.control.access.Token;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends running responses within a second after their token has expired or has been revoked or
 * changed. Thread-safe.
 */
public final class Revocation implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Revocation.class);

  /**
   * Interval of checks. A response that does not end at the first check is ended again at the next.
   */
  private static final long CHECK_MS = 250;

  private final Predicate<Token> valid;
  private final Set<Answer> answers = ConcurrentHashMap.newKeySet();
  private final ScheduledExecutorService checks =
      Executors.newSingleThreadScheduledExecutor(Revocation::thread);

  /**
   * Creates an instance that does not watch any response yet.
   *
   * @param valid returns true if a token is still valid and unchanged
   */
  public Revocation(Predicate<Token> valid) {
    this.valid = valid;
    checks.scheduleWithFixedDelay(this::check, CHECK_MS, CHECK_MS, TimeUnit.MILLISECONDS);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "revocation");
    thread.setDaemon(true);
    return thread;
  }

  /** A running response, which is watched until this object is closed. */
  public final class Answer implements AutoCloseable {
    private final Token token;
    private final Runnable end;

    private Answer(Token token, Runnable end) {
      this.token = token;
      this.end = end;
    }

    @Override
    public void close() {
      answers.remove(this);
    }
  }

  /** Watches a response: closes its connection if the caller's token is revoked while it runs. */
  public Answer watch(Context ctx) {
    return watch(Access.known(ctx), () -> disconnect(ctx));
  }

  /**
   * Ends a response if its token is revoked while it runs.
   *
   * @param token null for a response that needs none
   * @param end called repeatedly, once the token is revoked, until the response is closed
   */
  public Answer watch(Token token, Runnable end) {
    Answer response = new Answer(token, end);
    if (token != null) {
      answers.add(response);
    }
    return response;
  }

  /** Closes a request's connection, which also ends a wait for a client that does not read. */
  public static void disconnect(Context ctx) {
    ServletContextRequest.getServletContextRequest(ctx.req())
        .getConnectionMetaData()
        .getConnection()
        .getEndPoint()
        .close();
  }

  private void check() {
    Map<Token, Boolean> known = new HashMap<>();
    for (Answer response : answers) {
      try {
        if (!known.computeIfAbsent(response.token, valid::test)) {
          LOG.info("ending a response: token {} is no longer valid", response.token.id());
          response.end.run();
        }
      } catch (RuntimeException e) {
        LOG.error("can't end a response to token {}", response.token.id(), e);
      }
    }
  }

  @Override
  public void close() {
    checks.shutdown();
  }
}
