package io.tapline.control.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Explain;
import io.tapline.compiler.Note;
import io.tapline.compiler.ProcessorCatalogue;
import io.tapline.compiler.network.NetworkExplain;
import io.tapline.control.query.QueryPlanner;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.Source;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What can be asked, and what asking would do: parsers, processors, explain. */
final class CatalogueRoutes {
  private final QueryService queries;
  private final Optional<Source> source;
  private final byte[] parsers;
  private final byte[] processors;

  /**
   * Routes to a service.
   *
   * @param source what submitted queries would look at
   */
  CatalogueRoutes(QueryService queries, Optional<Source> source) {
    this.queries = queries;
    this.source = source;
    // They stay as they are: written once, however often they are asked for.
    this.parsers =
        list(
            "parsers", queries.planner().catalogue().parsers().stream().map(CatalogueJson::parser));
    this.processors =
        list("processors", ProcessorCatalogue.all().stream().map(CatalogueJson::processor));
  }

  List<Route> routes() {
    return List.of(explainRoute(), parsersRoute(), processorsRoute());
  }

  private Route explainRoute() {
    return Route.post("/api/v1/explain", "explainQuery")
        .summary("Compiles a query without running it.")
        .takes(Json.MEDIA_TYPE, "QueryText")
        .takes(RequestBody.TEXT, "PlainText")
        .answers(200, "Explanation", "The plan, for programs and for people.")
        .problem(400, "The query can't be compiled, or the request is not understood.")
        .problem(413, "The body is too long.")
        .problem(415, "The body is neither JSON nor plain text.")
        .to(this::explain);
  }

  private void explain(Context ctx) throws QueryRejected, IOException {
    String text = RequestBody.query(ctx);
    QueryPlanner.Explanation explanation =
        queries.planner().explain(text, Access.rights(ctx), source);
    CompileResult compiled = explanation.result();
    if (compiled.plan().isEmpty()) {
      throw new QueryRejected(text, compiled.errors());
    }
    Plan plan = compiled.plan().get();
    ObjectNode json = Json.object();
    json.set("plan", Json.parse(Explain.json(plan)));
    json.set("notes", Json.strings(compiled.notes().stream().map(Note::message).toList()));
    explanation
        .placement()
        .ifPresent(placement -> json.set("placement", NetworkExplain.json(placement)));
    String placed = explanation.placement().map(p -> "\n" + NetworkExplain.text(p)).orElse("");
    json.put("text", Explain.render(plan, compiled.notes()) + placed);
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
