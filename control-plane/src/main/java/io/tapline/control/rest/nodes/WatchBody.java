package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.http.Context;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.WatchRun;
import io.tapline.control.drill.WatchSpec;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.ProblemException;
import io.tapline.control.rest.http.RequestBody;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
          "together",
          "run",
          "after",
          "clear",
          "cooldown_ns");
  private static final Set<String> SEVERAL = Set.of(WATCHES);

  private WatchBody() {}

  /** Returns true if the body has a list of watches. */
  static boolean isList(JsonNode body) {
    return body.has(WATCHES);
  }

  /**
   * Returns the watch in a body, within the caller's scope.
   *
   * @throws ProblemException 400
   */
  static WatchSpec one(Context ctx, JsonNode body, DrillService drill) throws DrillException {
    return one(ctx, body, drill, new HashMap<>());
  }

  /** The requested place of evaluation, and the condition, which also determines the place. */
  private record RequestedRun(String run, String when) {}

  /**
   * Returns the watch in a list entry.
   *
   * @param runs places chosen for earlier watches, so that equal conditions are parsed only once
   */
  private static WatchSpec one(
      Context ctx, JsonNode body, DrillService drill, Map<RequestedRun, WatchRun> runs)
      throws DrillException {
    RequestBody.requireMembers(body, MEMBERS);
    String when = Members.text(body, "when");
    RequestedRun asked = new RequestedRun(Members.text(body, "run"), when);
    WatchRun run = runs.containsKey(asked) ? runs.get(asked) : WatchRun.choose(asked.run(), when);
    runs.put(asked, run);
    if (run.inMonitor()) {
      return inMonitor(ctx, body, run);
    }
    Access.requireOutputs(ctx, when);
    String function = body.hasNonNull("aggregate") ? Members.text(body, "aggregate") : "COUNT";
    return new WatchSpec(
        Access.filter(ctx, Members.text(body, "filter"), drill, WatchSpec.PROGRESS_NAMES::contains),
        DrillAggregate.parse(function, Members.texts(body, "group_by")),
        when,
        Members.number(body, "window_ns", USUAL_WINDOW_NS, Long.MAX_VALUE),
        Members.number(body, "every_ns", USUAL_EVERY_NS, Long.MAX_VALUE),
        severity(body),
        Members.texts(body, "nodes"),
        Members.flag(body, "together"),
        run,
        rules(body));
  }

  private static WatchSpec.Rules rules(JsonNode body) {
    return new WatchSpec.Rules(
        (int) Members.number(body, "after", 1, Integer.MAX_VALUE),
        Members.text(body, "clear"),
        Members.number(body, "cooldown_ns", 0, Long.MAX_VALUE));
  }

  /** Returns a watch that runs in a monitor; its query validates the filter and the groups. */
  private static WatchSpec inMonitor(Context ctx, JsonNode body, WatchRun run)
      throws DrillException {
    long every = Members.number(body, "every_ns", 0, Long.MAX_VALUE);
    long window = Members.number(body, "window_ns", 0, Long.MAX_VALUE);
    long usual = every != 0 ? every : window != 0 ? window : USUAL_WINDOW_NS;
    String function = body.hasNonNull("aggregate") ? Members.text(body, "aggregate") : "COUNT";
    return new WatchSpec(
        new HeaderFilter(
            Members.text(body, "filter"), Optional.empty(), Access.rights(ctx).scope()),
        DrillAggregate.parse(function, Members.texts(body, "group_by")),
        Members.text(body, "when"),
        window != 0 ? window : usual,
        every != 0 ? every : usual,
        severity(body),
        Members.texts(body, "nodes"),
        Members.flag(body, "together"),
        run,
        rules(body));
  }

  private static String severity(JsonNode body) {
    return body.hasNonNull("severity") ? Members.text(body, "severity") : "warning";
  }

  /**
   * Returns the watches in a body with a list.
   *
   * @throws ProblemException 400, with the index in the list
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
    Map<RequestedRun, WatchRun> runs = new HashMap<>();
    for (JsonNode member : all) {
      String place = "watches[%d]: ".formatted(specs.size());
      if (!member.isObject()) {
        throw Problem.badRequest(place + "it is not a JSON object").asException();
      }
      try {
        specs.add(one(ctx, member, drill, runs));
      } catch (ProblemException e) {
        throw e.at(place);
      } catch (DrillException e) {
        throw e.at(place);
      }
    }
    return specs;
  }
}
