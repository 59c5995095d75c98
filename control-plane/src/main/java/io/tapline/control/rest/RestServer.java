package io.tapline.control.rest;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.Handler;
import io.javalin.http.HandlerType;
import io.javalin.util.JavalinBindException;
import io.javalin.util.JavalinException;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.diagnose.DiagnosisService;
import io.tapline.control.drill.DrillService;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.control.rest.events.EventStreams;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.OpenApi;
import io.tapline.control.rest.http.Problems;
import io.tapline.control.rest.http.Revocation;
import io.tapline.control.rest.http.Route;
import io.tapline.control.rest.nodes.DiagnosisRoutes;
import io.tapline.control.rest.nodes.DrillRoutes;
import io.tapline.control.rest.nodes.NodeRoutes;
import io.tapline.control.rest.nodes.QueueRoutes;
import io.tapline.control.rest.nodes.WatchRoutes;
import io.tapline.control.rest.queries.Metrics;
import io.tapline.control.rest.queries.QueryRoutes;
import io.tapline.control.rest.system.CatalogueRoutes;
import io.tapline.control.rest.system.DashboardRoutes;
import io.tapline.control.rest.system.LinkEventRoutes;
import io.tapline.control.rest.system.LinkRoutes;
import io.tapline.control.rest.system.SystemRoutes;
import io.tapline.control.rest.system.TopologyRoutes;
import java.io.IOException;
import java.net.UnknownHostException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane's REST server. Closing it ends event streams, lets running requests finish, and
 * frees the port.
 */
public final class RestServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RestServer.class);

  private final Revocation revocation;
  private final EventStreams streams;
  private final Metrics metrics;
  private final Guard guard;
  private final Follower follower;
  private final Access access;
  private final Optional<Audit> audit;
  private final List<Route> routes = new ArrayList<>();
  private final Javalin javalin;

  private RestServer(QueryService queries, Source source, DrillService drill, RestOptions options)
      throws PipelineException {
    this.guard = guard(options);
    SSLContext tls = tls(options);
    this.follower = new Follower(options.leader());
    this.access = new Access(options.tokens());
    this.audit = options.tokens().map(tokens -> new Audit(options.proxies()));
    revocation = new Revocation(access::isValid);
    streams = new EventStreams(queries, revocation, options.maxStreams());
    metrics = new Metrics(queries, streams, () -> agents(source));
    tlsEnd(options).ifPresent(metrics::certificateEnds);
    routes.addAll(new QueryRoutes(queries, source, streams, metrics).routes());
    routes.addAll(new CatalogueRoutes(queries, Optional.ofNullable(source)).routes());
    routes.addAll(new DrillRoutes(drill, queries).routes());
    routes.addAll(new NodeRoutes(drill, () -> agents(source), queries.accounting()).routes());
    routes.addAll(new TopologyRoutes(queries).routes());
    routes.addAll(new LinkRoutes(queries).routes());
    routes.addAll(new LinkEventRoutes(queries).routes());
    routes.addAll(new WatchRoutes(drill).routes());
    QueueReporter queues = new QueueReporter(queries);
    routes.addAll(new QueueRoutes(queues).routes());
    routes.addAll(new DiagnosisRoutes(new DiagnosisService(drill), queues).routes());
    routes.addAll(new DashboardRoutes().routes());
    routes.addAll(new SystemRoutes(queries, metrics, this::document).routes());
    javalin =
        Javalin.create(
            config -> {
              configure(config);
              if (tls != null) {
                JettySettings.encrypt(config.jetty, options, tls);
              }
            });
  }

  private static List<AgentState> agents(Source source) {
    return source == null ? List.of() : source.hosts().map(AgentRegistry::states).orElse(List.of());
  }

  /** Starts serving requests, without access to MultiLog nodes. */
  public static RestServer start(QueryService queries, Source source, RestOptions options)
      throws PipelineException {
    return start(queries, source, new DrillService(List.of()), options);
  }

  /**
   * Starts serving requests.
   *
   * @param source source of submitted queries; null if this server accepts none
   * @param drill access to the MultiLog nodes, owned by the caller
   * @throws PipelineException if the server can't listen on the address
   */
  public static RestServer start(
      QueryService queries, Source source, DrillService drill, RestOptions options)
      throws PipelineException {
    RestServer server = new RestServer(queries, source, drill, options);
    try {
      server.javalin.start(options.bind(), options.port());
      return server;
    } catch (JavalinException e) {
      server.close();
      throw cannotListen(options, e);
    }
  }

  private static Guard guard(RestOptions options) throws PipelineException {
    try {
      return new Guard(options);
    } catch (UnknownHostException e) {
      throw new PipelineException(
          Kind.USER,
          "can't listen on "
              + options.bind()
              + ": it is not an address of this host; use 127.0.0.1 to serve this host alone",
          e);
    }
  }

  /** Returns the TLS context; null for plain HTTP. */
  private static SSLContext tls(RestOptions options) throws PipelineException {
    try {
      return options.tls().isPresent() ? options.tls().get().context() : null;
    } catch (IOException e) {
      throw new PipelineException(Kind.USER, e.getMessage(), e);
    }
  }

  private static Optional<Instant> tlsEnd(RestOptions options) throws PipelineException {
    try {
      return options.tls().isPresent()
          ? Optional.of(options.tls().get().notAfter())
          : Optional.empty();
    } catch (IOException e) {
      throw new PipelineException(Kind.USER, e.getMessage(), e);
    }
  }

  private static PipelineException cannotListen(RestOptions options, JavalinException e) {
    String place = "port " + options.port() + " of " + options.bind();
    String reason =
        e instanceof JavalinBindException
            ? "it is in use or not permitted: choose another with --port, or stop the program that uses it (ss -ltnp shows it)"
            : String.valueOf(e.getCause());
    return new PipelineException(Kind.RESOURCES, "can't listen on " + place + ": " + reason, e);
  }

  private JsonNode document() {
    return OpenApi.document(routes);
  }

  private void configure(JavalinConfig config) {
    config.startup.showJavalinBanner = false;
    config.startup.showOldJavalinVersionWarning = false;
    config.startup.startupWatcherEnabled = false;
    config.http.compressionStrategy = CompressionStrategy.NONE;
    config.http.prefer405over404 = true;
    config.router.javaLangErrorHandler(Problems::error);
    JettySettings.apply(config.jetty);
    config.requestLogger.http(this::answered);
    config.routes.before(ctx -> metrics.begin());
    config.routes.before(guard::check);
    new Problems(routes).install(config.routes);
    routes.forEach(route -> add(config, route));
  }

  private void answered(Context ctx, float milliseconds) {
    metrics.request(ctx, milliseconds);
    audit.ifPresent(log -> log.answered(ctx));
  }

  private void add(JavalinConfig config, Route route) {
    Handler handler =
        ctx -> {
          Metrics.route(ctx, route);
          access.require(ctx, route);
          follower.check(ctx);
          route.checkParameters(ctx);
          try (Revocation.Answer watched = revocation.watch(ctx)) {
            route.handler().handle(ctx);
          }
        };
    config.routes.addHttpHandler(route.method(), route.path(), handler);
    if (route.method() == HandlerType.GET) {
      config.routes.addHttpHandler(HandlerType.HEAD, route.path(), handler);
    }
  }

  /** Returns the TCP port that the server listens on. */
  public int port() {
    return javalin.port();
  }

  @Override
  public void close() {
    streams.close();
    stop();
    revocation.close();
    audit.ifPresent(Audit::close);
    metrics.close();
  }

  private void stop() {
    try {
      javalin.stop();
    } catch (JavalinException e) {
      LOG.warn("aborted requests that did not finish in time", e);
    }
  }
}
