package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.http.Context;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.WatchSpec;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.ProblemException;
import io.tapline.control.rest.http.RequestBody;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The body of a request that adds a watch, or several of them. */
final class WatchBody {
  private static final long USUAL_WINDOW_NS = 1_000_000_000;
  private static final long USUAL_EVERY_NS = 1_000_000;
  private static final String WATCHES = "watches";
  private static final Set<String> MEMBERS =
      Set.of(
          "filter",
          "aggregate",
          "group_by",
          "when",
          "window_ns",
          "every_ns",
          "severity",
          "nodes",
          "together");
  private static final Set<String> SEVERAL = Set.of(WATCHES);

  private WatchBody() {}

  /** Returns true if the body has a list of watches. */
  static boolean isList(JsonNode body) {
    return body.has(WATCHES);
  }

  /**
   * Returns the watch of a body, within the caller's scope.
   *
   * @throws ProblemException 400
   */
  static WatchSpec one(Context ctx, JsonNode body, DrillService drill) throws DrillException {
    RequestBody.requireMembers(body, MEMBERS);
    Access.requireOutputs(ctx, Members.text(body, "when"));
    String function = body.hasNonNull("aggregate") ? Members.text(body, "aggregate") : "COUNT";
    return new WatchSpec(
        Access.filter(ctx, Members.text(body, "filter"), drill, WatchSpec.PROGRESS_NAMES::contains),
        DrillAggregate.parse(function, Members.texts(body, "group_by")),
        Members.text(body, "when"),
        Members.number(body, "window_ns", USUAL_WINDOW_NS, Long.MAX_VALUE),
        Members.number(body, "every_ns", USUAL_EVERY_NS, Long.MAX_VALUE),
        body.hasNonNull("severity") ? Members.text(body, "severity") : "warning",
        Members.texts(body, "nodes"),
        Members.flag(body, "together"));
  }

  /**
   * Returns the watches of a body with a list.
   *
   * @throws ProblemException 400, with the place in the list
   */
  static List<WatchSpec> list(Context ctx, JsonNode body, DrillService drill)
      throws DrillException {
    RequestBody.requireMembers(body, SEVERAL);
    JsonNode all = body.path(WATCHES);
    if (!all.isArray() || all.isEmpty()) {
      throw Problem.badRequest("member \"watches\" must be a list of at least one watch")
          .asException();
    }
    List<WatchSpec> specs = new ArrayList<>();
    for (JsonNode each : all) {
      String place = "watches[%d]: ".formatted(specs.size());
      if (!each.isObject()) {
        throw Problem.badRequest(place + "it is not a JSON object").asException();
      }
      try {
        specs.add(one(ctx, each, drill));
      } catch (ProblemException e) {
        throw e.at(place);
      } catch (DrillException e) {
        throw e.at(place);
      }
    }
    return specs;
  }
}
