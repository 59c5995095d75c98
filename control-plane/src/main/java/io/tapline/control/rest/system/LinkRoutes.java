package io.tapline.control.rest.system;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.query.LinkLoad;
import io.tapline.control.query.LinkLoads;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.Route;
import java.util.List;

/** {@code /api/v1/links}: the latest link loads that the caller's queries measured. */
public final class LinkRoutes {
  private static final String ALL = "/api/v1/links";
  private static final String UNAVAILABLE = "Redis does not answer.";

  private final LinkLoads loads;

  public LinkRoutes(QueryService queries) {
    this.loads = new LinkLoads(queries);
  }

  public List<Route> routes() {
    return List.of(
        Route.get(ALL, "listLinks")
            .summary("Link loads in the latest windows of the token's link_load queries.")
            .parameter("query", "switch", Json.object().put("type", "string"), "Links of a switch.")
            .parameter(
                "query",
                "min_share",
                Json.object().put("type", "number").put("minimum", 0).put("maximum", 1),
                "Only links with at least this share, by any statistic.")
            .answers(200, "LinkList", "The measured links, by switch and port.")
            .problem(503, UNAVAILABLE)
            .to(this::list),
        Route.get(ALL + "/{switch}/{port}", "getLink")
            .summary("The loads of one link.")
            .parameter("path", "switch", Json.object().put("type", "string"), "Name of the switch.")
            .parameter(
                "path", "port", Json.object().put("type", "string"), "Port, as taps name it.")
            .answers(
                200, "LinkList", "The link; two entries if its taps show both sides of its queue.")
            .problem(404, "No query of this token has measured it.")
            .problem(503, UNAVAILABLE)
            .to(this::show));
  }

  private List<LinkLoads.Link> links(Context ctx) {
    return loads.read(query -> Access.owns(ctx, query));
  }

  private void list(Context ctx) {
    String switchName = ctx.queryParam("switch");
    double minShare = minShare(ctx.queryParam("min_share"));
    answer(
        ctx,
        links(ctx).stream()
            .filter(link -> switchName == null || link.switchName().equals(switchName))
            .filter(link -> minShare == 0 || isAtLeast(link, minShare))
            .toList());
  }

  private void show(Context ctx) {
    String switchName = ctx.pathParam("switch");
    String port = ctx.pathParam("port");
    List<LinkLoads.Link> links =
        links(ctx).stream()
            .filter(link -> link.switchName().equals(switchName) && link.port().equals(port))
            .toList();
    if (links.isEmpty()) {
      throw Problem.notFound(
              "no query has measured a link %s:%s; GET %s lists the measured ones"
                  .formatted(switchName, port, ALL))
          .asException();
    }
    answer(ctx, links);
  }

  private static double minShare(String text) {
    if (text == null) {
      return 0;
    }
    if (!text.matches("0(\\.\\d{1,9})?|1(\\.0{1,9})?|\\.\\d{1,9}")) {
      throw Problem.badRequest(
              "min_share=" + text + ": it must be a share from 0 to 1, such as 0.8")
          .asException();
    }
    return Double.parseDouble(text);
  }

  private static boolean isAtLeast(LinkLoads.Link link, double minShare) {
    return link.loads().stream()
        .filter(load -> load.field().equals("share"))
        .anyMatch(load -> load.value().orElse(-1) >= minShare);
  }

  private static void answer(Context ctx, List<LinkLoads.Link> links) {
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray("links");
    links.forEach(link -> array.add(json(link)));
    Json.answer(ctx, 200, json);
  }

  private static ObjectNode json(LinkLoads.Link link) {
    ObjectNode json = Json.object().put("switch", link.switchName());
    putUnlessEmpty(json, "port", link.port());
    putUnlessEmpty(json, "side", link.side());
    putUnlessEmpty(json, "neighbour", link.neighbour());
    ArrayNode array = json.putArray("loads");
    link.loads().forEach(load -> array.add(json(load)));
    return json;
  }

  private static void putUnlessEmpty(ObjectNode json, String name, String value) {
    if (!value.isEmpty()) {
      json.put(name, value);
    }
  }

  private static ObjectNode json(LinkLoad load) {
    ObjectNode json = Json.object().put("field", load.field()).put("statistic", load.statistic());
    if (load.value().isPresent()) {
      json.put("value", load.value().getAsDouble());
    } else {
      json.putNull("value");
    }
    return json.put("window_start_ns", load.windowStartNs())
        .put("window_end_ns", load.windowEndNs())
        .put("partial", load.partial())
        .put("query", load.query())
        .put("state", load.state().text())
        .put("processor", load.processor());
  }
}
