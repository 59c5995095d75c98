package io.tapline.control.rest;

import io.javalin.http.Context;
import io.tapline.control.access.Token;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.RateLimits;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Audit log: one line for each completed request that may have changed something, or that was
 * refused; at level DEBUG, also for reads.
 *
 * <pre>
 * 2026-11-22T18:15:00.123Z audit: 403 GET /api/v1/nodes tenant=web role=analyst token=5e884898 name=- from=10.0.0.7
 * </pre>
 *
 * Refused clients can repeat their requests indefinitely. Lines about refusals are therefore
 * rate-limited, per tenant and for all unknown clients together. Thread-safe.
 */
final class Audit implements AutoCloseable {
  /**
   * Maximum number of refusals that are logged per second, per tenant and for all clients without a
   * valid token.
   */
  static final int REFUSALS_PER_SECOND = 10;

  private static final Logger LOG = LoggerFactory.getLogger("tapline.audit");
  private static final Set<Integer> REFUSALS = Set.of(401, 403, 429);
  private static final String NO_TENANT = "";
  private static final int LONGEST = 256;

  private final TrustedProxies proxies;
  private final RateLimits refusals = new RateLimits();
  private final AtomicLong leftOut = new AtomicLong();

  Audit(TrustedProxies proxies) {
    this.proxies = proxies;
  }

  /** Logs a completed request, with the status that the client received. */
  void answered(Context ctx) {
    Token token = Access.known(ctx);
    String method = ctx.req().getMethod();
    if (REFUSALS.contains(ctx.statusCode())) {
      refused(ctx, token);
    } else if (token != null && !List.of("GET", "HEAD").contains(method)) {
      LOG.info("{}", line(ctx, token));
    } else if (token != null && LOG.isDebugEnabled()) {
      LOG.debug("{}", line(ctx, token));
    }
  }

  private void refused(Context ctx, Token token) {
    String tenant = token == null ? NO_TENANT : token.rights().tenant();
    if (refusals.take(tenant, REFUSALS_PER_SECOND, System.nanoTime()) > 0) {
      leftOut.incrementAndGet();
    } else if (LOG.isInfoEnabled()) {
      LOG.info("{}", line(ctx, token));
    }
  }

  private String line(Context ctx, Token token) {
    String who =
        token == null
            ? "tenant=- role=- token=- name=-"
            : "tenant=%s role=%s token=%s name=%s"
                .formatted(
                    token.rights().tenant(),
                    token.role().label(),
                    token.id(),
                    token.name().isEmpty() ? "-" : token.name());
    long unwritten = leftOut.getAndSet(0);
    return "%d %s %s %s from=%s%s"
        .formatted(
            ctx.statusCode(),
            printable(ctx.req().getMethod()),
            printable(ctx.path()),
            who,
            printable(proxies.client(ctx.ip(), forwarded(ctx))),
            unwritten == 0 ? "" : " left_out=" + unwritten);
  }

  /**
   * Returns all X-Forwarded-For headers, in order: a proxy may add a separate header rather than
   * extend an existing one.
   */
  private static List<String> forwarded(Context ctx) {
    return Collections.list(ctx.req().getHeaders("X-Forwarded-For"));
  }

  /** Replaces all characters of a client's text that could end the word or the line. */
  private static String printable(String text) {
    StringBuilder word = new StringBuilder();
    text.codePoints()
        .limit(LONGEST)
        .map(c -> c > ' ' && c < 0x7f ? c : '?')
        .forEach(word::appendCodePoint);
    return word.toString();
  }

  /** Logs the number of refusals left out since the last line. */
  @Override
  public void close() {
    long unwritten = leftOut.getAndSet(0);
    if (unwritten > 0) {
      LOG.info("the server is shutting down left_out={}", unwritten);
    }
  }
}
