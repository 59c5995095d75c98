package io.tapline.control.rest;

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
 * Ends answers under way within a second after their token was revoked or changed, or has expired.
 * Thread-safe.
 */
final class Revocation implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Revocation.class);

  /** An answer that does not end at the first of these is ended once more at the next. */
  private static final long CHECK_MS = 250;

  private final Predicate<Token> valid;
  private final Set<Answer> answers = ConcurrentHashMap.newKeySet();
  private final ScheduledExecutorService checks =
      Executors.newSingleThreadScheduledExecutor(Revocation::thread);

  /**
   * Ends nothing yet.
   *
   * @param valid whether a token still is what it was
   */
  Revocation(Predicate<Token> valid) {
    this.valid = valid;
    checks.scheduleWithFixedDelay(this::check, CHECK_MS, CHECK_MS, TimeUnit.MILLISECONDS);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "revocation");
    thread.setDaemon(true);
    return thread;
  }

  /** An answer under way, until it is closed. */
  final class Answer implements AutoCloseable {
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

  /** Cuts the request's connection if its token, if it needs one, is revoked meanwhile. */
  Answer watch(Context ctx) {
    return watch(Access.known(ctx), () -> disconnect(ctx));
  }

  /**
   * Ends an answer if its token is revoked meanwhile.
   *
   * @param token null for an answer that needs none
   * @param end called again until the answer is closed
   */
  Answer watch(Token token, Runnable end) {
    Answer answer = new Answer(token, end);
    if (token != null) {
      answers.add(answer);
    }
    return answer;
  }

  /** Also ends a wait for a client that does not read. */
  static void disconnect(Context ctx) {
    ServletContextRequest.getServletContextRequest(ctx.req())
        .getConnectionMetaData()
        .getConnection()
        .getEndPoint()
        .close();
  }

  private void check() {
    Map<Token, Boolean> known = new HashMap<>();
    for (Answer answer : answers) {
      try {
        if (!known.computeIfAbsent(answer.token, valid::test)) {
          LOG.info("an answer ends: token {} is no longer valid", answer.token.id());
          answer.end.run();
        }
      } catch (RuntimeException e) {
        LOG.error("an answer to token {} can't be ended", answer.token.id(), e);
      }
    }
  }

  @Override
  public void close() {
    checks.shutdown();
  }
}
