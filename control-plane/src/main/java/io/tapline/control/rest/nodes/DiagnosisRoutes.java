package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.http.Context;
import io.tapline.control.access.Role;
import io.tapline.control.diagnose.DiagnosisService;
import io.tapline.control.diagnose.QueueReports;
import io.tapline.control.drill.DrillException;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Runs diagnoses on the packet headers that hosts kept, and on the bursts that queries reported.
 */
public final class DiagnosisRoutes {
  private static final long USUAL_SPAN_NS = 1_000_000_000;
  private static final long USUAL_STEP_NS = 10_000_000;
  private static final long MAX_DATAPATH_ID = 0xffff_ffffL;
  private static final Set<String> MEMBERS =
      Set.of(
          "program",
          "queue",
          "from_ns",
          "to_ns",
          "limit",
          "reorder_ns",
          "filter",
          "avoid",
          "through",
          "to",
          "for_ns",
          "every_ns");

  private final DiagnosisService diagnosis;
  private final QueueReports queues;

  public DiagnosisRoutes(DiagnosisService diagnosis, QueueReports queues) {
    this.diagnosis = diagnosis;
    this.queues = queues;
  }

  public List<Route> routes() {
    return List.of(
        Route.post("/api/v1/diagnoses", "diagnose")
            .needs(Role.ADMIN)
            .summary(
                "Diagnoses faults from the headers that hosts kept at one point in time, or from the bursts that queries reported.")
            .takes(Json.MEDIA_TYPE, "DiagnosisRequest")
            .answers(200, "Diagnosis", "The findings.")
            .problem(400, "The request is invalid.")
            .problem(404, "Retransmissions are not tracked, or no query measured the queue.")
            .problem(413, "The body is too long.")
            .problem(415, "The body is not JSON.")
            .problem(503, "No node answers, or no snapshot is available at the moment.")
            .to(this::diagnose));
  }

  private void diagnose(Context ctx) {
    JsonNode body = RequestBody.object(ctx, MEMBERS);
    try {
      Json.answer(ctx, 200, Reports.json(report(body)));
    } catch (DrillException e) {
      throw DrillRoutes.problem(e).asException();
    }
  }

  private Object report(JsonNode body) throws DrillException {
    long fromNs = number(body, "from_ns", 0);
    long toNs = number(body, "to_ns", 0);
    return switch (Members.text(body, "program")) {
      case "track" ->
          Json.object()
              .put(
                  "watch",
                  diagnosis.track(number(body, "limit", 0), number(body, "reorder_ns", 0)));
      case "loss" -> diagnosis.losses(fromNs, toNs);
      case "path" ->
          diagnosis.path(
              Members.text(body, "filter"),
              switches(body, "avoid"),
              switches(body, "through"),
              fromNs,
              toNs);
      case "outcast" ->
          diagnosis.outcast(
              destination(body),
              fromNs,
              number(body, "for_ns", USUAL_SPAN_NS),
              number(body, "every_ns", USUAL_STEP_NS));
      case "queue" -> queues.of(Members.text(body, "queue"), fromNs, toNs, anyQuery -> true);
      default ->
          throw Problem.badRequest(
                  "member \"program\" must be one of track, loss, path, outcast, queue")
              .asException();
    };
  }

  private static long number(JsonNode body, String name, long usual) {
    return Members.number(body, name, usual, Long.MAX_VALUE / 2);
  }

  /** Returns the destination, which must be an address, since it becomes part of an expression. */
  private static String destination(JsonNode body) {
    String destination = Members.text(body, "to");
    if (!destination.matches("\\d{1,3}(\\.\\d{1,3}){3}")) {
      throw Problem.badRequest("member \"to\" is not an IPv4 address: '" + destination + "'")
          .asException();
    }
    return destination;
  }

  private static List<Long> switches(JsonNode body, String name) {
    List<Long> switches = new ArrayList<>();
    for (JsonNode number : body.path(name)) {
      if (!number.isIntegralNumber() || number.asLong() < 0 || number.asLong() > MAX_DATAPATH_ID) {
        throw Problem.badRequest("member \"" + name + "\" must be a list of switch IDs")
            .asException();
      }
      switches.add(number.asLong());
    }
    return switches;
  }
}
