package io.tapline.control.rest.queries;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.network.NetworkExplain;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Json;
import java.util.List;

/** Queries as JSON. */
public final class QueryJson {
  private QueryJson() {}

  /** Returns a query as it appears in lists. */
  static ObjectNode brief(QueryInfo query) {
    ObjectNode json =
        Json.object()
            .put("id", query.id())
            .put("text", query.text())
            .put("state", query.state().text())
            .put("submitted_ns", query.submittedNs())
            .put("started_ns", query.startedNs())
            .put("ended_ns", query.endedNs())
            .put("error", query.error());
    json.set("notes", Json.strings(query.notes()));
    return json;
  }

  /**
   * Returns a query with its plan, its placement in the network while it runs, and its known
   * totals. Callers with a restricted scope get no placement, and a plan without hosts, switches
   * and servers.
   */
  static ObjectNode full(QueryInfo query, QueryService queries, Rights rights) {
    ObjectNode json = brief(query);
    boolean network = rights.scope().isEverything();
    queries
        .plan(query.id())
        .ifPresent(plan -> json.set("plan", network ? plan : withoutNetwork(plan)));
    queries
        .placement(query.id())
        .filter(placement -> network)
        .ifPresent(placement -> json.set("placement", NetworkExplain.json(placement)));
    json.set("totals", queries.results().totals(query.id()));
    return json;
  }

  /** Returns a plan without hosts, switches and servers. */
  public static JsonNode withoutNetwork(JsonNode plan) {
    ObjectNode shownNode = plan.deepCopy();
    shownNode.remove(List.of("rules", "stream"));
    shownNode.path("monitors").forEach(monitor -> ((ObjectNode) monitor).remove("host"));
    return shownNode;
  }
}
