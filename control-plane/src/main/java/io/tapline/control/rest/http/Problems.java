package io.tapline.control.rest.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.config.RoutesConfig;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.tapline.compiler.text.QueryError;
import io.tapline.control.PipelineException;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.TooManyQueries;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/** Maps exceptions to problems. */
public final class Problems {
  private static final Logger LOG = LoggerFactory.getLogger(Problems.class);

  /** Value of Retry-After where the time at which a retry would succeed can't be predicted. */
  private static final String RETRY_SECONDS = "5";

  private final List<Route> routes;

  public Problems(List<Route> routes) {
    this.routes = routes;
  }

  public void install(RoutesConfig config) {
    config.exception(ProblemException.class, (e, ctx) -> answer(ctx, e.problem()));
    config.exception(QueryRejected.class, (e, ctx) -> answer(ctx, rejected(e)));
    config.exception(
        TooManyQueries.class, (e, ctx) -> answer(ctx, tooMany("queries", e.getMessage())));
    config.exception(JedisException.class, (e, ctx) -> answer(ctx, unavailable(e)));
    config.exception(PipelineException.class, (e, ctx) -> answer(ctx, notReady(e.getMessage())));
    config.exception(UncheckedIOException.class, (e, ctx) -> answer(ctx, notReady(e.getMessage())));
    config.exception(HttpResponseException.class, (e, ctx) -> answer(ctx, unrouted(ctx, e)));
    config.exception(Exception.class, this::internal);
  }

  private void internal(Exception e, Context ctx) {
    LOG.error("{} {} failed", ctx.method(), ctx.path(), e);
    answer(ctx, Problem.internal());
  }

  /**
   * Responds to a request that failed with an error of the JVM, such as a stack overflow, in the
   * same way as to other internal errors.
   */
  public static void error(HttpServletResponse response, Error error) {
    LOG.error("a request failed", error);
    byte[] body = Json.bytes(Problem.internal().json(""));
    response.setStatus(500);
    response.setContentType(Problem.MEDIA_TYPE);
    try {
      response.getOutputStream().write(body);
    } catch (IOException e) {
      LOG.debug("its client disconnected", e);
    }
  }

  static void answer(Context ctx, Problem problem) {
    problem.headers().forEach(ctx::header);
    ctx.status(problem.status())
        .contentType(Problem.MEDIA_TYPE)
        .result(Json.bytes(problem.json(ctx.path())));
  }

  static Problem rejected(QueryRejected rejected) {
    ArrayNode errors = Json.array();
    rejected.errors().forEach(error -> errors.add(error(error)));
    String detail = rejected.errors().get(0).message();
    int furtherErrors = rejected.errors().size() - 1;
    return Problem.of(
            400,
            "query-rejected",
            "The query can't be compiled",
            furtherErrors == 0 ? detail : detail + " (and " + furtherErrors + " more)")
        .withMember("errors", errors)
        .withMember("rendered", errors.textNode(rejected.rendered()));
  }

  private static ObjectNode error(QueryError error) {
    return Json.object()
        .put("line", error.line())
        .put("column", error.column())
        .put("length", error.length())
        .put("message", error.message())
        .put("expected", error.expected())
        .put("suggestion", error.suggestion())
        .put("code", error.code().name().toLowerCase(Locale.ROOT));
  }

  /** Returns the problem for a limit that has been reached. */
  public static Problem tooMany(String resource, String detail) {
    return Problem.of(429, "too-many-" + resource, "The server is at its limit", detail)
        .withHeader("Retry-After", RETRY_SECONDS);
  }

  private static Problem unavailable(JedisException e) {
    LOG.warn("Redis: {}", e.getMessage());
    return notReady("can't use Redis: " + e.getMessage());
  }

  public static Problem notReady(String detail) {
    return Problem.of(503, "unavailable", "A service that queries need is unavailable", detail)
        .withHeader("Retry-After", RETRY_SECONDS);
  }

  /** Returns the problem for a request that the router rejects. */
  private Problem unrouted(Context ctx, HttpResponseException e) {
    if (e.getStatus() != 404 && e.getStatus() != 405) {
      return Problem.of(e.getStatus(), "refused", "The request is rejected", e.getMessage());
    }
    String path = ctx.path();
    List<String> methods =
        routes.stream().filter(route -> route.matches(path)).flatMap(Route::methods).toList();
    if (methods.isEmpty()) {
      return Problem.notFound("no resource at " + path + ": /openapi.json lists all resources");
    }
    String allow = String.join(", ", methods);
    String detail = "%s is not allowed here, only %s".formatted(ctx.req().getMethod(), allow);
    return Problem.of(405, "method-not-allowed", "The method is not allowed", detail)
        .withHeader("Allow", allow);
  }
}
