package io.tapline.control.rest.http;

import io.javalin.http.Context;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.conditions.ConditionSyntaxException;
import io.tapline.control.LocalPeer;
import io.tapline.control.access.Quota;
import io.tapline.control.access.Role;
import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.WatchSpec;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.server.ConnectionMetaData;

/**
 * Checks tokens and returns their holders' rights. Without a token file, this process's user and
 * root may do everything, and other users of the host may do nothing.
 */
public final class Access {
  private static final String HOLDER = "holder";
  private static final String SCHEME = "Bearer ";
  private static final String OWN_USER = Access.class.getName();
  private static final Token ADMIN = new Token("", Role.ADMIN, Rights.ALL, "", null, Quota.NONE);

  private final Optional<TokenFile> tokens;
  private final RateLimits limits = new RateLimits();

  public Access(Optional<TokenFile> tokens) {
    this.tokens = tokens;
  }

  /** Throws if the caller may not use a route. */
  public void require(Context ctx, Route route) {
    if (route.role().isEmpty()) {
      return;
    }
    Token token = tokens.map(known -> configured(ctx, known)).orElseGet(() -> ownUser(ctx));
    ctx.attribute(HOLDER, token);
    requireAllowance(token);
    if (!token.role().mayActAs(route.role().get())) {
      throw Problem.of(
              403,
              "forbidden",
              "The token does not allow this",
              "this requires the role "
                  + route.role().get().label()
                  + ", but the token has the role "
                  + token.role().label())
          .asException();
    }
  }

  /** Returns true if a token is still valid and unchanged. */
  public boolean isValid(Token token) {
    return tokens.isEmpty() || tokens.get().holds(token);
  }

  /**
   * Throws if the caller's tenant exceeds its rate limit, which applies to all of its requests
   * together.
   */
  private void requireAllowance(Token token) {
    String tenant = token.rights().tenant();
    int perSecond = token.quota().requestsPerSecond();
    int wait = limits.take(tenant, perSecond, System.nanoTime());
    if (wait > 0) {
      throw Problem.of(
              429,
              "too-many-requests",
              "Too many requests from this tenant",
              "tenant %s exceeds its quota of %d requests per second".formatted(tenant, perSecond))
          .withHeader("Retry-After", Integer.toString(wait))
          .asException();
    }
  }

  /**
   * Returns an admin's token if the caller's process runs as root, as this process's user, or as
   * the user who ran sudo to start this process. The owner is looked up once per connection,
   * because each lookup scans the kernel's entire connection table.
   */
  private static Token ownUser(Context ctx) {
    ConnectionMetaData connection =
        ServletContextRequest.getServletContextRequest(ctx.req()).getConnectionMetaData();
    if (connection.getAttribute(OWN_USER) == null) {
      boolean isOwn =
          LocalPeer.isOwnUser(
              (InetSocketAddress) connection.getRemoteSocketAddress(),
              (InetSocketAddress) connection.getLocalSocketAddress());
      connection.setAttribute(OWN_USER, isOwn);
    }
    if (!Boolean.TRUE.equals(connection.getAttribute(OWN_USER))) {
      throw Problem.of(
              403,
              "another-user",
              "This server belongs to another user",
              "without --tokens a server answers only processes of the server's user and of root: start"
                  + " it with --tokens FILE")
          .asException();
    }
    return ADMIN;
  }

  private static Token configured(Context ctx, TokenFile tokens) {
    String header = ctx.header("Authorization");
    String secret =
        header == null || !header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
            ? ""
            : header.substring(SCHEME.length()).strip();
    if (secret.isEmpty()) {
      throw unknown("no token: send Authorization: Bearer TOKEN");
    }
    return tokens
        .find(secret)
        .orElseThrow(
            () ->
                unknown(
                    "the token is unknown or has expired: ask the administrators of this server"));
  }

  private static ProblemException unknown(String detail) {
    return Problem.of(401, "no-token", "A token is required", detail)
        .withHeader("WWW-Authenticate", "Bearer realm=\"tapline\"")
        .asException();
  }

  /** Returns the caller's rights. */
  public static Rights rights(Context ctx) {
    return holder(ctx).rights();
  }

  /** Returns the caller's quota. */
  public static Quota quota(Context ctx) {
    return holder(ctx).quota();
  }

  /** Returns true if the caller may see a query and its results. */
  public static boolean owns(Context ctx, String query) {
    Token token = holder(ctx);
    return token.role() == Role.ADMIN || token.rights().owns(query);
  }

  /**
   * Parses a filter over headers and restricts it to the caller's scope.
   *
   * @param drill provides the fields of headers
   * @param aggregates names that a filter of a restricted caller may use in addition to fields
   */
  public static HeaderFilter filter(
      Context ctx, String filter, DrillService drill, Predicate<String> aggregates) {
    try {
      return HeaderFilter.parse(filter, fields(drill), rights(ctx).scope(), aggregates);
    } catch (ConditionSyntaxException e) {
      throw refused("filter", e);
    }
  }

  /** Throws if a restricted caller's condition compares anything but the aggregate's outputs. */
  public static void requireOutputs(Context ctx, String condition) {
    try {
      HeaderFilter.parse(
          condition, Set.of(), rights(ctx).scope(), WatchSpec.OUTPUTS.asMatchPredicate());
    } catch (ConditionSyntaxException e) {
      throw refused("condition", e);
    }
  }

  private static ProblemException refused(String subject, ConditionSyntaxException e) {
    String detail = "the " + subject + " is invalid: " + e.sentence();
    return Problem.of(400, "drill-rejected", "The request is invalid", detail).asException();
  }

  private static Set<String> fields(DrillService drill) {
    Set<String> fields = new HashSet<>();
    for (DrillService.NodeState state : drill.states()) {
      if (state.description() != null) {
        state
            .description()
            .getSchema()
            .lines()
            .map(line -> line.split(" ")[0])
            .forEach(fields::add);
      }
    }
    return fields;
  }

  /**
   * Returns the caller's token; null if the route needs none or the caller presented no valid one.
   */
  public static Token known(Context ctx) {
    return ctx.attribute(HOLDER);
  }

  private static Token holder(Context ctx) {
    Token token = known(ctx);
    if (token == null) {
      throw new IllegalStateException("the token has not been checked yet");
    }
    return token;
  }
}
