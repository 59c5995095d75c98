package io.tapline.control.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Explain;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.network.NetworkExplain;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.text.Note;
import io.tapline.control.PipelineException;
import io.tapline.control.query.QueryPlanner;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import io.tapline.control.rest.queries.QueryJson;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Lists the parsers and processors that queries can use, and explains queries. */
public final class CatalogueRoutes {
  private final QueryService queries;
  private final Optional<Source> source;
  private final byte[] parsers;
  private final byte[] processors;

  /**
   * Creates the routes of a service.
   *
   * @param source source of submitted queries; empty for none
   */
  public CatalogueRoutes(QueryService queries, Optional<Source> source) {
    this.queries = queries;
    this.source = source;
    // The lists never change, so they are serialized only once.
    this.parsers =
        list(
            "parsers", queries.planner().catalogue().parsers().stream().map(CatalogueJson::parser));
    this.processors =
        list("processors", ProcessorCatalogue.all().stream().map(CatalogueJson::processor));
  }

  public List<Route> routes() {
    return List.of(explainRoute(), parsersRoute(), processorsRoute());
  }

  private Route explainRoute() {
    return Route.post("/api/v1/explain", "explainQuery")
        .summary("Compiles a query without running it.")
        .takes(Json.MEDIA_TYPE, "QueryText")
        .takes(RequestBody.TEXT, "PlainText")
        .answers(200, "Explanation", "The plan, as JSON and as text.")
        .problem(400, "The query can't be compiled, or the request is invalid.")
        .problem(413, "The body is too long.")
        .problem(415, "The body is neither JSON nor plain text.")
        .problem(503, "Kafka does not answer, and the query sends alerts to a topic.")
        .to(this::explain);
  }

  private void explain(Context ctx) throws QueryRejected, PipelineException, IOException {
    String query = RequestBody.query(ctx);
    QueryPlanner.Preview preview = queries.planner().preview(query, Access.rights(ctx), source);
    CompileResult compiled = preview.result();
    if (compiled.plan().isEmpty()) {
      throw new QueryRejected(query, compiled.errors());
    }
    boolean network = Access.rights(ctx).scope().isEverything();
    Plan plan = compiled.plan().get();
    Optional<NetworkPlan> placement = preview.placement().filter(ignored -> network);
    List<Note> notes = compiled.notes();
    ObjectNode json = Json.object();
    JsonNode wholeNode = Json.parse(Explain.json(plan));
    json.set("plan", network ? wholeNode : QueryJson.withoutNetwork(wholeNode));
    json.set("notes", Json.strings(notes.stream().map(Note::message).toList()));
    placement.ifPresent(known -> json.set("placement", NetworkExplain.json(known)));
    String placed = placement.map(known -> "\n" + NetworkExplain.text(known)).orElse("");
    String text = network ? Explain.render(plan, notes) : Explain.renderWithoutNetwork(plan, notes);
    String copies = network ? queries.planner().copies(plan) : "";
    json.put("text", text + placed + copies);
    Json.answer(ctx, 200, json);
  }

  private Route parsersRoute() {
    return Route.get("/api/v1/parsers", "listParsers")
        .summary("The parsers, with the fields of their tuples.")
        .answers(200, "ParserList", "The parsers.")
        .to(ctx -> Json.answer(ctx, 200, parsers));
  }

  private Route processorsRoute() {
    return Route.get("/api/v1/processors", "listProcessors")
        .summary("The processors, with their arguments.")
        .answers(200, "ProcessorList", "The processors.")
        .to(ctx -> Json.answer(ctx, 200, processors));
  }

  private static byte[] list(String name, Stream<? extends JsonNode> items) {
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray(name);
    items.forEach(array::add);
    return Json.bytes(json);
  }
}
