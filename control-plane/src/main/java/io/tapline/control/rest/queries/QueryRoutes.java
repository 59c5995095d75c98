package io.tapline.control.rest.queries;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.compiler.access.Rights;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.TooManyQueries;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.rest.events.EventStreams;
import io.tapline.control.rest.events.Events;
import io.tapline.control.rest.events.StreamPosition;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.ProblemException;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import io.tapline.control.rest.http.Schemas;
import io.tapline.control.rest.queries.Metrics.Rejection;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** {@code /api/v1/queries}: the life cycle of queries, and their results. */
public final class QueryRoutes {
  private static final Logger LOG = LoggerFactory.getLogger(QueryRoutes.class);
  private static final String ALL = "/api/v1/queries";
  private static final String ONE = ALL + "/{id}";

  /** IDs as in schema/plan.schema.json; others would address other keys in Redis. */
  private static final Pattern ID = Pattern.compile("[a-z0-9][a-z0-9-]{0,199}");

  private static final String UNAVAILABLE = "Redis does not answer";

  private final QueryService queries;
  private final Source source;
  private final RowCounts counts;
  private final EventStreams streams;
  private final Metrics metrics;

  /**
   * Creates the routes of a service.
   *
   * @param source source of submitted queries; null for none
   */
  public QueryRoutes(QueryService queries, Source source, EventStreams streams, Metrics metrics) {
    this.queries = queries;
    this.source = source;
    this.counts = new RowCounts(queries);
    this.streams = streams;
    this.metrics = metrics;
  }

  public List<Route> routes() {
    return List.of(
        submitRoute(), listRoute(), showRoute(), stopRoute(), resultsRoute(), eventsRoute());
  }

  private Route submitRoute() {
    return Route.post(ALL, "submitQuery")
        .summary("Compiles a query and starts it.")
        .takes(Json.MEDIA_TYPE, "QueryText")
        .takes(RequestBody.TEXT, "PlainText")
        .answers(201, "Query", "Started; Location is its URL.")
        .problem(400, "The query can't be compiled, or the request is invalid.")
        .problem(409, "The server captures no traffic.")
        .problem(413, "The body is too long.")
        .problem(415, "The body is neither JSON nor plain text.")
        .problem(
            429,
            "The server or the tenant has reached its maximum number of running queries; Retry-After says when to try again.")
        .problem(503, UNAVAILABLE + ", or Kafka does not, if the query sends alerts to a topic")
        .to(this::submit);
  }

  private void submit(Context ctx) throws QueryRejected, TooManyQueries, PipelineException {
    String text = RequestBody.query(ctx);
    String detail =
        source == null
            ? "this server has no data path: start it with --interface, --pcap, --tap or --agents"
            : source.unavailable();
    if (!detail.isEmpty()) {
      metrics.rejected(Rejection.NO_DATA_PATH);
      throw Problem.of(409, "no-data-path", "The server captures no traffic", detail).asException();
    }
    String id = submitCounted(text, Access.rights(ctx), Access.quota(ctx).queries());
    QueryInfo query = queries.find(id).orElseThrow(() -> unknown(id));
    ctx.header("Location", ALL + "/" + id);
    Json.answer(ctx, 201, QueryJson.full(query, queries, Access.rights(ctx)));
  }

  private String submitCounted(String text, Rights rights, int maxQueries)
      throws QueryRejected, TooManyQueries, PipelineException {
    try {
      String id = queries.submit(text, source, new WarningLog(), rights, maxQueries);
      metrics.submitted();
      return id;
    } catch (QueryRejected e) {
      metrics.rejected(Rejection.WRONG);
      throw e;
    } catch (TooManyQueries e) {
      metrics.rejected(Rejection.TOO_MANY);
      throw e;
    }
  }

  /** Logs warnings, since a server has no user at a terminal. */
  private static final class WarningLog implements ProgressListener {
    @Override
    public void progress(String stage, double fraction, long packets, long bytes) {}

    @Override
    public void warning(String message) {
      LOG.warn("{}", message);
    }
  }

  private Route listRoute() {
    return Route.get(ALL, "listQueries")
        .summary("The token's stored queries, latest first.")
        .answers(200, "QueryList", "The queries, without their plans.")
        .problem(503, UNAVAILABLE)
        .to(this::list);
  }

  private void list(Context ctx) {
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray("queries");
    queries.list().stream()
        .filter(query -> Access.owns(ctx, query.id()))
        .forEach(query -> array.add(QueryJson.brief(query)));
    Json.answer(ctx, 200, json);
  }

  private Route showRoute() {
    return one(Route.get(ONE, "getQuery"))
        .summary("One query, with its plan and counts.")
        .answers(200, "Query", "The query.")
        .to(ctx -> Json.answer(ctx, 200, QueryJson.full(query(ctx), queries, Access.rights(ctx))));
  }

  private Route stopRoute() {
    return one(Route.delete(ONE, "stopQuery"))
        .summary("Stops a query; its results are kept. Repeats have no effect.")
        .answers(202, "QueryBrief", "The query is stopping; its state shows when it has ended.")
        .answersWithoutBody(204, "It has ended.")
        .to(this::stop);
  }

  private void stop(Context ctx) {
    QueryInfo query = query(ctx);
    if (query.state().ended()) {
      ctx.status(204);
      return;
    }
    queries.stop(query.id());
    Json.answer(ctx, 202, QueryJson.brief(query));
  }

  private Route resultsRoute() {
    return one(Route.get(ONE + "/results", "getResults"))
        .summary("Result rows: all, page by page, or the latest ones.")
        .parameter(
            "query",
            "processor",
            Schemas.string(),
            "Only this processor: its index in PROCESS, or its name.")
        .parameter(
            "query",
            "limit",
            Schemas.integer(1, Results.MAX_ROWS),
            "Only this many of the latest rows. Default: all rows, in pages of "
                + Results.MAX_ROWS
                + " rows plus the rest of the last window.")
        .parameter(
            "query",
            "after",
            Schemas.string(),
            "Only windows after this entry: last_entry of the previous page.")
        .answers(200, "Results", "The rows, in the order of windows.")
        .problem(400, "A parameter is wrong.")
        .to(this::results);
  }

  private void results(Context ctx) {
    QueryInfo query = query(ctx);
    JsonNode plan = queries.plan(query.id()).orElseThrow(() -> unknown(query.id()));
    Json.answer(ctx, 200, Results.json(queries, counts, query, Results.Selection.of(ctx, plan)));
  }

  private Route eventsRoute() {
    return one(Route.get(ONE + "/events", "followQuery"))
        .summary(
            "Server-sent events: each change of state, the rows of each window, and the events of parsers. The stream ends after the final state, or within a second after the token is revoked.")
        .parameter(
            "header",
            "Last-Event-ID",
            Schemas.string(),
            "ID of the last event seen: the stream continues after it.")
        .answers(
            200,
            Events.MEDIA_TYPE,
            Route.Content.NO_SCHEMA,
            "Server-sent events. The data of `state` is a StateEvent, that of `window` a WindowEvent, and that of `events` a ParserEvents. An ID marks how far the client has read.")
        .answersWithoutBody(
            204, "Last-Event-ID is the ID of the stream's last event, so nothing more follows.")
        .problem(400, "Last-Event-ID is not an ID of this stream.")
        .problem(
            429,
            "The server or the tenant has reached its maximum number of open streams; Retry-After says when to try again.")
        .to(this::events);
  }

  private void events(Context ctx) {
    QueryInfo query = query(ctx);
    String last = ctx.header("Last-Event-ID");
    if (EventStreams.END.equals(last)) {
      ctx.status(204);
      return;
    }
    streams.follow(ctx, query.id(), StreamPosition.parse(last));
  }

  private static Route.Builder one(Route.Builder route) {
    return route
        .parameter("path", "id", Schemas.string(), "The query's ID.")
        .problem(404, "There is no such query.")
        .problem(503, UNAVAILABLE);
  }

  private QueryInfo query(Context ctx) {
    String id = ctx.pathParam("id");
    // Another tenant's query must be indistinguishable from a missing one.
    if (!ID.matcher(id).matches() || !Access.owns(ctx, id)) {
      throw unknown(id);
    }
    return queries.find(id).orElseThrow(() -> unknown(id));
  }

  private static ProblemException unknown(String id) {
    return Problem.notFound("no query " + id + ": GET " + ALL + " lists the stored queries")
        .asException();
  }
}
