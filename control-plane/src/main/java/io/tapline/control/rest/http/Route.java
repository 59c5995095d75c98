package io.tapline.control.rest.http;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.http.Context;
import io.javalin.http.Handler;
import io.javalin.http.HandlerType;
import io.tapline.control.access.Role;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * One operation: its path, its parameters, its responses and its handler.
 *
 * @param path path with parameters in braces
 * @param id OpenAPI's operationId
 * @param body schema names of the accepted bodies by media type; empty for none
 * @param answers successful responses and problems
 * @param role role that the caller needs if the server has tokens; empty for none
 */
public record Route(
    HandlerType method,
    String path,
    String id,
    String summary,
    List<Parameter> parameters,
    List<Content> body,
    List<Answer> answers,
    Optional<Role> role,
    Handler handler) {

  /**
   * A parameter.
   *
   * @param in "path", "query" or "header"
   */
  record Parameter(String in, String name, String description, JsonNode schema) {}

  /**
   * The body of a request or response.
   *
   * @param schema name in the document's components; {@code ""} if OpenAPI can't express it
   */
  public record Content(String mediaType, String schema) {
    public static final String NO_SCHEMA = "";
  }

  /**
   * A response.
   *
   * @param content null for an empty response
   */
  record Answer(int status, String description, Content content) {}

  public static Builder get(String path, String id) {
    return new Builder(HandlerType.GET, path, id);
  }

  public static Builder post(String path, String id) {
    return new Builder(HandlerType.POST, path, id);
  }

  public static Builder delete(String path, String id) {
    return new Builder(HandlerType.DELETE, path, id);
  }

  /** Returns true if a request's path belongs to this route, for any method. */
  boolean matches(String requestPath) {
    StringBuilder regex = new StringBuilder();
    for (String segment : path.substring(1).split("/")) {
      regex.append('/').append(segment.startsWith("{") ? "[^/]+" : Pattern.quote(segment));
    }
    return requestPath.matches(regex + "/?");
  }

  /**
   * Rejects unknown parameters: a misspelled one would otherwise be silently ignored. Pages and the
   * endpoints that monitoring systems scrape accept any query string.
   *
   * @throws ProblemException 400
   */
  public void checkParameters(Context ctx) {
    if (!isApi(path) || ctx.queryString() == null) {
      return;
    }
    List<String> known =
        parameters.stream().filter(one -> one.in().equals("query")).map(Parameter::name).toList();
    for (String one : ctx.queryString().split("&")) {
      String name = decoded(one).split("=", 2)[0];
      if (!name.isEmpty() && !known.contains(name)) {
        throw Problem.badRequest("unknown parameter " + name + ": " + thereAre(known))
            .asException();
      }
    }
  }

  private static String decoded(String parameter) {
    try {
      return URLDecoder.decode(parameter, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw Problem.badRequest(parameter + ": a % must precede two hexadecimal digits")
          .asException();
    }
  }

  private static String thereAre(List<String> known) {
    return known.isEmpty() ? "this resource has none" : "there are " + String.join(", ", known);
  }

  private static boolean isApi(String path) {
    return path.startsWith("/api/");
  }

  /** Returns the methods that the route serves: GET implies HEAD. */
  Stream<String> methods() {
    return method == HandlerType.GET ? Stream.of("GET", "HEAD") : Stream.of(method.name());
  }

  /** Builds a route; {@link #to} completes it. */
  public static final class Builder {
    private final HandlerType method;
    private final String path;
    private final String id;
    private final List<Parameter> parameters = new ArrayList<>();
    private final List<Content> body = new ArrayList<>();
    private final List<Answer> answers = new ArrayList<>();
    private String summary = "";
    private Optional<Role> role;

    private Builder(HandlerType method, String path, String id) {
      this.method = method;
      this.path = path;
      this.id = id;
      this.role = Optional.of(method == HandlerType.GET ? Role.VIEWER : Role.ANALYST);
    }

    /** Requires a role other than the default: viewer for reads, analyst for changes. */
    public Builder needs(Role needed) {
      role = Optional.of(needed);
      return this;
    }

    /** Requires no token. */
    public Builder open() {
      role = Optional.empty();
      return this;
    }

    public Builder summary(String text) {
      summary = text;
      return this;
    }

    public Builder parameter(String in, String name, JsonNode schema, String description) {
      parameters.add(new Parameter(in, name, description, schema));
      return this;
    }

    public Builder takes(String mediaType, String schema) {
      body.add(new Content(mediaType, schema));
      return this;
    }

    public Builder answers(int status, String mediaType, String schema, String description) {
      answers.add(new Answer(status, description, new Content(mediaType, schema)));
      return this;
    }

    public Builder answers(int status, String schema, String description) {
      return answers(status, Json.MEDIA_TYPE, schema, description);
    }

    public Builder answersWithoutBody(int status, String description) {
      answers.add(new Answer(status, description, null));
      return this;
    }

    public Builder problem(int status, String when) {
      return answers(status, Problem.MEDIA_TYPE, "Problem", when);
    }

    public Route to(Handler handler) {
      if (isApi(path) && answers.stream().noneMatch(response -> response.status() == 400)) {
        problem(400, "A parameter is unknown or invalid.");
      }
      if (role.isPresent()) {
        problem(401, "The server requires a token, and the request has none, or an unknown one.");
        problem(403, "The token does not allow this.");
        problem(
            429, "The token's tenant sends too many requests; Retry-After says when to try again.");
      }
      return new Route(
          method,
          path,
          id,
          summary,
          List.copyOf(parameters),
          List.copyOf(body),
          List.copyOf(answers),
          role,
          handler);
    }
  }
}
