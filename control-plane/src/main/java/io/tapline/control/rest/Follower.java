package io.tapline.control.rest;

import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.Problems;
import java.util.List;
import java.util.Optional;

/**
 * Redirects requests to the leader if this control plane is a follower, except reads that any
 * server can answer: queries with their results, the catalogue, and everything outside the API,
 * such as the dashboard, health and metrics.
 */
final class Follower {
  private static final List<String> OWN =
      List.of("/api/v1/queries", "/api/v1/parsers", "/api/v1/processors");

  private final Leader leader;

  Follower(Leader leader) {
    this.leader = leader;
  }

  void check(Context ctx) {
    Optional<String> elsewhere = leader.elsewhere();
    if (elsewhere.isEmpty() || answersItself(ctx)) {
      return;
    }
    String url = elsewhere.get();
    if (url.isEmpty()) {
      throw Problems.notReady("no control plane is the leader at the moment; try again soon")
          .asException();
    }
    String query = ctx.queryString() == null ? "" : "?" + ctx.queryString();
    throw Problem.of(
            307,
            "not-leading",
            "Another control plane is the leader",
            "this control plane is a follower: use the leader at " + url)
        .withHeader("Location", url + ctx.path() + query)
        .asException();
  }

  private static boolean answersItself(Context ctx) {
    boolean reads = ctx.method() == HandlerType.GET || ctx.method() == HandlerType.HEAD;
    String path = ctx.path();
    return reads && (!path.startsWith("/api/") || OWN.stream().anyMatch(path::startsWith));
  }
}
